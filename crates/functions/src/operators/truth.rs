//! The truth of strings and documents.

use super::coerce;
use squall_registry::ScalarKernel;
use squall_statement_context::StatementContext;
use squall_types::{SqlResult, SqlType, Value};

/// Whether a string's number is other than zero.
#[derive(Debug)]
pub struct TruthKernel;

impl ScalarKernel for TruthKernel {
    fn eval(&self, arguments: &[Value], context: &StatementContext) -> SqlResult<Value> {
        let Some(value) = arguments.first() else { return Ok(Value::Null) };
        Ok(match coerce::to_double(value, &SqlType::Null, context)? {
            Some(number) => Value::from(number != 0.0),
            None => Value::Null,
        })
    }
}
