//! Comparison of JSON documents, and SQL values as documents.

use super::coerce;
use crate::expr::CompareOp;
use serde_json::Value as Json;
use squall_registry::{ScalarKernel, StatementContext};
use squall_types::{Decimal, SqlError, SqlResult, SqlType, Value};
use std::cmp::Ordering;

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
        Ok(Value::from(self.op.accepts(compare(&parse(left)?, &parse(right)?))))
    }
}

fn parse(value: &Value) -> SqlResult<Json> {
    match value {
        Value::Json(text) | Value::String(text) => {
            serde_json::from_str(text).map_err(|error| SqlError::internal(format!("not a JSON document: {error}")))
        }
        other => Err(SqlError::internal(format!("not a JSON document: {other:?}"))),
    }
}

/// The order of documents: by kind first, then within it.
fn compare(left: &Json, right: &Json) -> Ordering {
    match (left, right) {
        (Json::Number(left), Json::Number(right)) => {
            Decimal::parse(&left.to_string()).value.cmp(&Decimal::parse(&right.to_string()).value)
        }
        (Json::String(left), Json::String(right)) => left.cmp(right),
        (Json::Bool(left), Json::Bool(right)) => left.cmp(right),
        (Json::Array(left), Json::Array(right)) => {
            let differing =
                left.iter().zip(right).map(|(left, right)| compare(left, right)).find(|order| order.is_ne());
            differing.unwrap_or_else(|| left.len().cmp(&right.len()))
        }
        (Json::Object(left), Json::Object(right)) => {
            let equal = left.len() == right.len()
                && left.iter().all(|(key, value)| right.get(key).is_some_and(|other| compare(value, other).is_eq()));
            // Objects that differ have no order that is promised, only a stable one.
            if equal { Ordering::Equal } else { left.len().cmp(&right.len()).then_with(|| text_order(left, right)) }
        }
        _ => rank(left).cmp(&rank(right)),
    }
}

fn text_order(left: &serde_json::Map<String, Json>, right: &serde_json::Map<String, Json>) -> Ordering {
    let text = |map: &serde_json::Map<String, Json>| {
        let mut entries: Vec<String> = map.iter().map(|(key, value)| format!("{key}:{value}")).collect();
        entries.sort_unstable();
        entries
    };
    match text(left).cmp(&text(right)) {
        Ordering::Equal => Ordering::Less,
        order => order,
    }
}

/// Kinds from the lowest to the highest.
fn rank(json: &Json) -> u8 {
    match json {
        Json::Null => 0,
        Json::Number(_) => 1,
        Json::String(_) => 2,
        Json::Object(_) => 3,
        Json::Array(_) => 4,
        Json::Bool(_) => 5,
    }
}

/// A SQL value as a document: numbers are numbers, everything else is its text as a string.
pub fn to_json(value: &Value, from: &SqlType) -> SqlResult<Value> {
    Ok(match value {
        Value::Null => Value::Null,
        Value::Json(text) => Value::Json(text.clone()),
        Value::Int(number) if is_boolean(from) => Value::Json((*number != 0).to_string()),
        Value::Int(_) | Value::UInt(_) | Value::Decimal(_) | Value::Double(_) if from.is_numeric() => {
            Value::Json(coerce::to_text(value, from).unwrap_or_default().into_owned())
        }
        _ => {
            let text = coerce::to_text(value, from).unwrap_or_default();
            Value::Json(Json::String(text.into_owned()).to_string())
        }
    })
}

/// The type that conditions have.
fn is_boolean(sql_type: &SqlType) -> bool {
    *sql_type == SqlType::BOOL
}
