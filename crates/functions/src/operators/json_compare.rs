//! Comparison of JSON documents, and SQL values as documents.

use super::coerce;
use crate::expr::CompareOp;
use crate::library::support::{document_text, tree_charge};
use squall_registry::{Charge, ScalarKernel, StatementContext};
use squall_types::json::Json;
use squall_types::{SqlError, SqlResult, SqlType, Value};
use std::cmp::Ordering;

/// `left op right` of two documents.
#[derive(Debug)]
pub struct JsonCompareKernel {
    /// The operator.
    pub op: CompareOp,
}

impl ScalarKernel for JsonCompareKernel {
    fn eval(&self, arguments: &[Value], context: &StatementContext) -> SqlResult<Value> {
        let (Some(left), Some(right)) = (arguments.first(), arguments.get(1)) else { return Ok(Value::Null) };
        if left.is_null() || right.is_null() {
            return Ok(match self.op {
                CompareOp::NullSafeEqual => Value::from(left.is_null() && right.is_null()),
                _ => Value::Null,
            });
        }
        // A document has one stored form.
        if let (Value::Json(left), Value::Json(right)) = (left, right)
            && left.stored() == right.stored()
        {
            return Ok(Value::from(self.op.accepts(Ordering::Equal)));
        }
        let _charges = (charge(left, context)?, charge(right, context)?);
        Ok(Value::from(self.op.accepts(parse(left)?.compare(&parse(right)?))))
    }
}

fn charge(value: &Value, context: &StatementContext) -> SqlResult<Option<Charge>> {
    document_text(value).map_or(Ok(None), |text| tree_charge(text, context))
}

fn parse(value: &Value) -> SqlResult<Json> {
    match value {
        Value::Json(document) => {
            document.to_json().map_err(|error| SqlError::internal(format!("not a JSON document: {error:?}")))
        }
        other => Err(SqlError::internal(format!("not a JSON document: {other:?}"))),
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
