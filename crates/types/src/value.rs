//! One SQL value, outside of any array.

use crate::json::Document;
use crate::{Date, DateTime, Decimal, Time};

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
