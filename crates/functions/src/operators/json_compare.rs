//! Comparison of JSON documents, and SQL values as documents.

use super::coerce;
use crate::comparison::CompareOp;
use squall_registry::ScalarKernel;
use squall_statement_context::StatementContext;
use squall_types::json::{Json, compare_stored};
use squall_types::{SqlError, SqlResult, SqlType, Value};

/// `left op right` of two documents.
#[derive(Debug)]
pub struct JsonCompareKernel {
    /// The operator.
    pub op: CompareOp,
}

impl ScalarKernel for JsonCompareKernel {
    fn eval(&self, arguments: &[Value], _context: &StatementContext) -> SqlResult<Value> {
        let (Some(left), Some(right)) = (arguments.first(), arguments.get(1)) else { return Ok(Value::Null) };
        if left.is_null() || right.is_null() {
            return Ok(match self.op {
                CompareOp::NullSafeEqual => Value::from(left.is_null() && right.is_null()),
                _ => Value::Null,
            });
        }
        let (Value::Json(left), Value::Json(right)) = (left, right) else {
            return Err(SqlError::internal(format!("not JSON documents: {left:?}, {right:?}")));
        };
        Ok(Value::from(self.op.accepts(compare_stored(left.stored(), right.stored()))))
    }
}

/// A SQL value as a document: numbers are numbers, conditions booleans, everything else is its text as a string.
pub fn to_json(value: &Value, from: &SqlType) -> Json {
    match value {
        Value::UInt(_) if matches!(from, SqlType::Enum { .. } | SqlType::Set { .. }) => {
            Json::String(coerce::to_text(value, from).unwrap_or_default().into_owned())
        }
        Value::Bytes(_) if from.digit_bytes().is_some() => {
            Json::String(coerce::to_text(value, from).unwrap_or_default().into_owned())
        }
        _ => Json::of(value, from),
    }
}
