//! `@name` and `@name := value`.

use super::context::Context;
use squall_catalog::NameKey;
use squall_functions::expr::{BoundExpr, Call};
use squall_functions::operators::convert::convert_value;
use squall_parser::ast;
use squall_registry::{ExprType, ScalarKernel, Volatility};
use squall_statement_context::{StatementContext, held_by_variable};
use squall_types::{SqlResult, SqlType, Value};
use std::sync::Arc;

/// Reads a user variable as a value of the type that it was bound with.
#[derive(Debug)]
struct ReadVariable {
    name: NameKey,
    sql_type: SqlType,
}

impl ScalarKernel for ReadVariable {
    fn eval(&self, _arguments: &[Value], context: &StatementContext) -> SqlResult<Value> {
        let found = context.user_variables.lock().get(&self.name).cloned();
        match found {
            None => Ok(Value::Null),
            Some((value, sql_type)) if sql_type == self.sql_type => Ok(value),
            Some((value, sql_type)) => convert_value(&value, &sql_type, &self.sql_type, context),
        }
    }
}

/// Assigns a user variable and gives the value.
#[derive(Debug)]
struct AssignVariable {
    name: NameKey,
    sql_type: SqlType,
}

impl ScalarKernel for AssignVariable {
    fn eval(&self, arguments: &[Value], context: &StatementContext) -> SqlResult<Value> {
        let value = arguments.first().cloned().unwrap_or_default();
        context.user_variables.assign(self.name.clone(), value.clone(), self.sql_type.clone())?;
        Ok(value)
    }

    fn assigns_variables(&self) -> bool {
        true
    }
}

impl Context<'_> {
    /// Binds `@name`.
    pub fn bind_user_variable(&mut self, name: &str) -> SqlResult<BoundExpr> {
        self.is_told_by_text = false;
        let key = NameKey::new(name);
        let assigned = self.assigned_variables.get(key.as_str()).cloned();
        let stored = self.binder.context.user_variables.lock().get(&key).cloned();
        let sql_type = match (assigned, &stored) {
            (Some(sql_type), _) => sql_type,
            (None, Some((_, sql_type))) if *sql_type != SqlType::Null => sql_type.clone(),
            // A variable that was never set is a string that is NULL.
            _ => SqlType::longtext(self.binder.context.settings.collation),
        };
        let ty = ExprType::of_column(sql_type.clone(), true);
        // Functions that are called may assign it, row by row.
        self.binder.context.programs.note_variable();
        self.row_order_matters |= self.binder.context.programs.may_assign();
        // What the statement does not assign stays the same throughout, so it is a constant to plan with.
        if !self.row_order_matters
            && !self.assigns_variables
            && let Some((value, stored_type)) = stored
            && stored_type == sql_type
        {
            return Ok(BoundExpr::Literal(value, ty));
        }
        let kernel = ReadVariable { name: key, sql_type };
        Ok(BoundExpr::call(Call::new(format!("@{name}"), Arc::new(kernel), Vec::new(), ty, Volatility::Volatile)))
    }

    /// Binds `@name := value`.
    pub fn bind_assignment(&mut self, name: &str, value: &ast::Expr) -> SqlResult<BoundExpr> {
        self.is_told_by_text = false;
        self.row_order_matters = true;
        let value = self.bind_expr(value)?;
        let value = self.binder.builder().unrounded(value);
        let mut ty = ExprType { nullable: true, ..value.ty() };
        let key = NameKey::new(name);
        if ty.sql_type == SqlType::Null {
            ty.sql_type = SqlType::longtext(self.binder.context.settings.collation);
        }
        let (_, held) = held_by_variable(Value::Null, ty.sql_type);
        ty.sql_type = held;
        let value = self.binder.builder().convert(value, &ty)?;
        self.assigned_variables.insert(key.as_str().to_string(), ty.sql_type.clone());
        let kernel = AssignVariable { name: key, sql_type: ty.sql_type.clone() };
        let call = Call::new(format!("@{name}:="), Arc::new(kernel), vec![value], ty, Volatility::Volatile);
        Ok(BoundExpr::call(call))
    }
}
