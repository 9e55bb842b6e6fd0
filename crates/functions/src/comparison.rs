//! Comparison of values.

use squall_types::{SqlError, SqlResult, Value};
use std::cmp::Ordering;

/// The comparison operators.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum CompareOp {
    /// `=`.
    Equal,
    /// `<=>`.
    NullSafeEqual,
    /// `<>`.
    NotEqual,
    /// `<`.
    Less,
    /// `<=`.
    LessOrEqual,
    /// `>`.
    Greater,
    /// `>=`.
    GreaterOrEqual,
}

impl CompareOp {
    /// As SQL writes it.
    pub fn symbol(self) -> &'static str {
        match self {
            CompareOp::Equal => "=",
            CompareOp::NullSafeEqual => "<=>",
            CompareOp::NotEqual => "<>",
            CompareOp::Less => "<",
            CompareOp::LessOrEqual => "<=",
            CompareOp::Greater => ">",
            CompareOp::GreaterOrEqual => ">=",
        }
    }

    /// The operator with its sides swapped.
    pub fn swapped(self) -> CompareOp {
        match self {
            CompareOp::Less => CompareOp::Greater,
            CompareOp::LessOrEqual => CompareOp::GreaterOrEqual,
            CompareOp::Greater => CompareOp::Less,
            CompareOp::GreaterOrEqual => CompareOp::LessOrEqual,
            other => other,
        }
    }

    /// Whether values in this order satisfy the operator.
    pub fn accepts(self, ordering: Ordering) -> bool {
        match self {
            CompareOp::Equal | CompareOp::NullSafeEqual => ordering == Ordering::Equal,
            CompareOp::NotEqual => ordering != Ordering::Equal,
            CompareOp::Less => ordering == Ordering::Less,
            CompareOp::LessOrEqual => ordering != Ordering::Greater,
            CompareOp::Greater => ordering == Ordering::Greater,
            CompareOp::GreaterOrEqual => ordering != Ordering::Less,
        }
    }
}

/// The order of two values of one physical type; `None` if either is NULL.
pub(crate) fn physical_order(left: &Value, right: &Value) -> SqlResult<Option<Ordering>> {
    Ok(Some(match (left, right) {
        (Value::Null, _) | (_, Value::Null) => return Ok(None),
        (Value::Int(a), Value::Int(b)) => a.cmp(b),
        (Value::UInt(a), Value::UInt(b)) => a.cmp(b),
        (Value::Int(a), Value::UInt(b)) => i128::from(*a).cmp(&i128::from(*b)),
        (Value::UInt(a), Value::Int(b)) => i128::from(*a).cmp(&i128::from(*b)),
        (Value::Double(a), Value::Double(b)) => a.partial_cmp(b).unwrap_or_else(|| a.total_cmp(b)),
        (Value::Decimal(a), Value::Decimal(b)) => a.cmp(b),
        (Value::String(a), Value::String(b)) => a.as_bytes().cmp(b.as_bytes()),
        // Documents are compared as such by `operators::json_compare`, as texts elsewhere.
        (Value::Json(a), Value::Json(b)) => a.text().cmp(&b.text()),
        (Value::Bytes(a), Value::Bytes(b)) => a.cmp(b),
        (Value::Time(a), Value::Time(b)) => a.cmp(b),
        (Value::Date(a), Value::Date(b)) => a.cmp(b),
        (Value::Date(_) | Value::DateTime(_), Value::Date(_) | Value::DateTime(_)) => packed(left).cmp(&packed(right)),
        _ => return Err(SqlError::internal(format!("comparison of {left:?} with {right:?}"))),
    }))
}

fn packed(value: &Value) -> i64 {
    match value {
        Value::Date(date) => i64::from(date.to_packed()) << 37,
        Value::DateTime(value) => value.to_packed(),
        _ => 0,
    }
}
