//! The arguments of a CALL: evaluates them, converts them to the parameters' types, and gives OUT parameters back.

use super::{Parameter, ParameterMode};
use crate::converted::converted;
use crate::session::{Session, SessionState, StatementRun};
use squall_catalog::NameKey;
use squall_parser::ast::Expr;
use squall_types::{ErrorCode, SqlError, SqlResult, Value};

/// Where the value of an OUT or INOUT parameter goes.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Destination {
    /// It is an IN parameter, or the value is not wanted.
    Nowhere,
    /// A user variable.
    UserVariable(NameKey),
    /// A variable of the stored program that calls.
    Local(Box<str>),
    /// A column of NEW, of the BEFORE trigger that calls.
    NewColumn(Box<str>),
    /// A `?` of a prepared statement: a result set of its own.
    Placeholder,
}

impl Session {
    /// The values that a procedure begins with.
    pub(super) async fn argument_values(
        &mut self,
        parameters: &[Parameter],
        arguments: &[Expr],
        run: &StatementRun<'_>,
    ) -> SqlResult<Vec<Value>> {
        let mut values = Vec::with_capacity(arguments.len());
        for (parameter, argument) in parameters.iter().zip(arguments) {
            if parameter.mode == ParameterMode::Out {
                values.push(Value::Null);
                continue;
            }
            let (value, from) = self.evaluate(argument, run.request.sql, run.request.parameters, &run.context).await?;
            values.push(converted(value, &from, &parameter.sql_type, &parameter.name, &run.context)?);
        }
        Ok(values)
    }
}

impl SessionState {
    /// Where the values of OUT parameters go (1318, 1414).
    pub(super) fn destinations(
        &self,
        shown: &str,
        parameters: &[Parameter],
        arguments: &[Expr],
    ) -> SqlResult<Vec<Destination>> {
        if parameters.len() != arguments.len() {
            let (expected, got) = (parameters.len(), arguments.len());
            return Err(SqlError::new(ErrorCode::SpWrongArgumentCount, &[&"PROCEDURE", &shown, &expected, &got]));
        }
        let destination = |(at, (parameter, argument)): (usize, (&Parameter, &Expr))| match (parameter.mode, argument) {
            (ParameterMode::In, _) => Ok(Destination::Nowhere),
            (_, Expr::UserVariable(name)) => Ok(Destination::UserVariable(NameKey::new(name))),
            (_, Expr::Placeholder(_)) => Ok(Destination::Placeholder),
            (_, Expr::Column(name)) if name.table.is_none() && self.has_local(&name.column) => {
                Ok(Destination::Local(name.column.as_str().into()))
            }
            (_, Expr::Column(name)) if self.is_settable_new(name) => {
                Ok(Destination::NewColumn(name.column.as_str().into()))
            }
            (ParameterMode::InOutOrValue, _) => Ok(Destination::Nowhere),
            _ => Err(SqlError::new(ErrorCode::SpNotVariableArgument, &[&(at + 1), &shown])),
        };
        parameters.iter().zip(arguments).enumerate().map(destination).collect()
    }
}
