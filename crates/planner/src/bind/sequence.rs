//! NEXT VALUE FOR, PREVIOUS VALUE FOR and SETVAL of a sequence.

use super::context::Context;
use arrow::array::{ArrayRef, Int64Array};
use squall_catalog::{AccountKey, Invoker, TableEntry};
use squall_functions::build::CastTarget;
use squall_functions::expr::{BoundExpr, Call};
use squall_parser::ast::{Expr, ObjectName, SequenceOperation};
use squall_registry::{ExprType, ScalarKernel, Volatility};
use squall_statement_context::{NestedStatements, SequenceCall, StatementContext};
use squall_types::{ErrorCode, SqlError, SqlResult, SqlType, Value};
use std::sync::Arc;

/// A call that names a sequence. The name is looked up when it is called, so plans outlive the sequence.
#[derive(Debug)]
struct SequenceKernel {
    database: Box<str>,
    name: Box<str>,
    /// The definer of the view that it stands in.
    definer: Option<AccountKey>,
    operation: Operation,
}

#[derive(Clone, Copy, Debug)]
enum Operation {
    Next,
    Previous,
    Set,
}

impl SequenceKernel {
    /// Calls with the session, as the account whose privileges count.
    fn with_session<T>(
        &self,
        context: &StatementContext,
        call: impl FnOnce(&dyn NestedStatements) -> SqlResult<T>,
    ) -> SqlResult<T> {
        let outside = || SqlError::internal("a sequence outside of a session");
        let session = context.nested.as_ref().ok_or_else(outside)?;
        match &self.definer {
            Some(account) => {
                let missing = || SqlError::new(ErrorCode::NoSuchUser, &[&account.user, &account.host]);
                call(&*session.as_account(account).ok_or_else(missing)?)
            }
            None => call(&**session),
        }
    }
}

impl ScalarKernel for SequenceKernel {
    fn eval(&self, arguments: &[Value], context: &StatementContext) -> SqlResult<Value> {
        let call = match self.operation {
            Operation::Next => SequenceCall::Next,
            Operation::Previous => SequenceCall::Previous,
            Operation::Set => {
                let integer = |at: usize, otherwise: i64| match arguments.get(at) {
                    None => Some(otherwise),
                    Some(Value::Int(value)) => Some(*value),
                    Some(_) => None,
                };
                let (value, is_used, round) = (integer(0, 0), integer(1, 1), integer(2, 0));
                let (Some(value), Some(is_used), Some(round)) = (value, is_used, round) else { return Ok(Value::Null) };
                SequenceCall::Set { value, is_used: is_used != 0, round }
            }
        };
        let value =
            self.with_session(context, |session| session.sequence_value(&self.database, &self.name, call, context))?;
        Ok(value.map_or(Value::Null, Value::Int))
    }

    fn eval_rows(&self, row_count: usize, context: &StatementContext) -> Option<SqlResult<ArrayRef>> {
        if !matches!(self.operation, Operation::Next) {
            return None;
        }
        let mut values = Vec::with_capacity(row_count);
        let taken = self.with_session(context, |session| {
            let mut take = |value| values.push(value);
            session.next_sequence_values(&self.database, &self.name, row_count, context, &mut take)
        });
        Some(taken.map(|()| Arc::new(Int64Array::from(values)) as ArrayRef))
    }

    fn waits(&self) -> bool {
        true
    }

    fn is_external(&self) -> bool {
        true
    }
}

impl Context<'_> {
    /// The call of a sequence.
    ///
    /// # Errors
    /// 1046 and 1049 without a database, 4091 if there is no such sequence, 4089 if it is something else, 1582 for another number of
    /// arguments.
    pub(super) fn bind_sequence(&mut self, operation: &SequenceOperation, name: &ObjectName) -> SqlResult<BoundExpr> {
        let database = self.database_of(name)?;
        self.check_sequence(&database, &name.name)?;
        let (shown, operation, values): (_, _, &[Expr]) = match operation {
            SequenceOperation::Next => ("NEXTVAL", Operation::Next, &[]),
            SequenceOperation::Previous => ("LASTVAL", Operation::Previous, &[]),
            SequenceOperation::Set(values) => ("SETVAL", Operation::Set, values),
        };
        if matches!(operation, Operation::Set) && !(1..=3).contains(&values.len()) {
            return Err(SqlError::new(ErrorCode::WrongParamCountToNativeFct, &[&shown]));
        }
        let mut arguments = Vec::with_capacity(values.len());
        for value in values {
            let value = self.bind_expr(value)?;
            arguments.push(self.binder.builder().cast(value, &CastTarget::Integer { unsigned: false })?);
        }
        let definer = match &self.invoker {
            Invoker::Session => None,
            Invoker::Definer(account) => Some(account.clone()),
        };
        let kernel =
            SequenceKernel { database: (&*database).into(), name: name.name.as_str().into(), definer, operation };
        let ty = ExprType::numeric(SqlType::BIGINT, true);
        Ok(BoundExpr::call(Call::new(shown, Arc::new(kernel), arguments, ty, Volatility::Volatile)))
    }

    /// Expressions of tables are bound without a catalog: their sequences are looked for when they are called.
    fn check_sequence(&self, database: &Arc<str>, name: &str) -> SqlResult<()> {
        if self.views.is_empty() {
            self.binder.tables.check_known(database, name)?;
        }
        let catalog = self.binder.catalog;
        match catalog.entry(database, name) {
            Some(TableEntry::Table(table)) if table.is_sequence() => Ok(()),
            Some(_) => Err(SqlError::new(ErrorCode::NotSequence, &[database, &name])),
            None if self.binder.tables.has_catalog() => Err(match catalog.database(database) {
                Some(_) => SqlError::new(ErrorCode::UnknownSequence, &[&name]),
                None => SqlError::new(ErrorCode::BadDatabase, &[database]),
            }),
            None => Ok(()),
        }
    }
}
