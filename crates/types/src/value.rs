//! One SQL value, outside of any array.

use crate::json::Document;
use crate::{Date, DateTime, Decimal, Time};
use std::cmp::Ordering;

/// A value. Which [`SqlType`](crate::SqlType) it belongs to stands beside it; see there how each type is held.
#[derive(Clone, Debug, PartialEq, Default)]
pub enum Value {
    /// NULL.
    #[default]
    Null,
    /// A signed integer.
    Int(i64),
    /// An unsigned integer, also BIT, YEAR, an ENUM's ordinal and a SET's mask.
    UInt(u64),
    /// FLOAT and DOUBLE.
    Double(f64),
    /// DECIMAL.
    Decimal(Decimal),
    /// A character string, always UTF-8 inside.
    String(String),
    /// A byte string.
    Bytes(Vec<u8>),
    /// DATE.
    Date(Date),
    /// DATETIME and TIMESTAMP.
    DateTime(DateTime),
    /// TIME.
    Time(Time),
    /// JSON.
    Json(Document),
}

impl Value {
    /// The order of two values of one type as their keys have it: NULL first, strings and documents by their bytes. Values of
    /// different types are equal.
    pub fn total_cmp(&self, other: &Value) -> Ordering {
        match (self, other) {
            (Value::Null, Value::Null) => Ordering::Equal,
            (Value::Null, _) => Ordering::Less,
            (_, Value::Null) => Ordering::Greater,
            (Value::Int(a), Value::Int(b)) => a.cmp(b),
            (Value::UInt(a), Value::UInt(b)) => a.cmp(b),
            (Value::Double(a), Value::Double(b)) => a.total_cmp(b),
            (Value::Decimal(a), Value::Decimal(b)) => a.cmp(b),
            (Value::String(a), Value::String(b)) => a.cmp(b),
            (Value::Json(a), Value::Json(b)) => a.stored().cmp(b.stored()),
            (Value::Bytes(a), Value::Bytes(b)) => a.cmp(b),
            (Value::Date(a), Value::Date(b)) => a.cmp(b),
            (Value::DateTime(a), Value::DateTime(b)) => a.cmp(b),
            (Value::Time(a), Value::Time(b)) => a.cmp(b),
            _ => Ordering::Equal,
        }
    }

    /// Whether the value is NULL.
    pub fn is_null(&self) -> bool {
        matches!(self, Value::Null)
    }

    /// Memory that it holds beside itself, bytes.
    pub fn heap_bytes(&self) -> usize {
        match self {
            Value::String(text) => text.capacity(),
            Value::Bytes(bytes) => bytes.capacity(),
            Value::Json(document) => document.stored().len(),
            _ => 0,
        }
    }
}

impl From<bool> for Value {
    fn from(value: bool) -> Self {
        Value::Int(i64::from(value))
    }
}

impl From<&str> for Value {
    fn from(value: &str) -> Self {
        Value::String(value.to_string())
    }
}
