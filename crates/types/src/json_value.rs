//! Documents as SQL values, and SQL values as documents.

use crate::json::{BIT, BLOB, Document, Json, LONG_BLOB, MEDIUM_BLOB, TINY_BLOB, VARBINARY};
use crate::{SqlType, StringKind, TextSize, Value};

impl Json {
    /// The JSON form of an SQL value, as `JSON_ARRAY()` takes its arguments: text becomes a string, JSON stays JSON.
    pub fn from_value(value: &Value) -> Json {
        match value {
            Value::Null => Json::Null,
            Value::Int(number) => Json::Int(*number),
            Value::UInt(number) => i64::try_from(*number).map_or(Json::UInt(*number), Json::Int),
            Value::Double(number) => Json::Double(*number),
            Value::Decimal(number) => Json::Decimal(Box::new(*number)),
            Value::String(text) => Json::String(text.clone()),
            Value::Bytes(bytes) => Json::Opaque(VARBINARY, bytes.clone()),
            Value::Date(date) => Json::Date(*date),
            Value::DateTime(moment) => Json::DateTime(*moment),
            Value::Time(time) => Json::Time(*time),
            Value::Json(document) => document.to_json().unwrap_or_else(|_| Json::String(document.text().into_owned())),
        }
    }

    /// Like [`Json::from_value`] where the value's type is known: conditions are booleans, BIT and BLOB are bytes of their own
    /// types.
    pub fn of(value: &Value, sql_type: &SqlType) -> Json {
        match (value, sql_type) {
            (Value::Int(number), _) if *sql_type == SqlType::BOOL => Json::Bool(*number != 0),
            (Value::UInt(bits), SqlType::Bit { width }) => {
                let unused = 8 - usize::from(width.div_ceil(8)).min(8);
                Json::Opaque(BIT, bits.to_be_bytes()[unused..].to_vec())
            }
            (Value::Bytes(bytes), SqlType::String { kind: StringKind::Text(size), .. }) => {
                let type_number = match size {
                    TextSize::Tiny => TINY_BLOB,
                    TextSize::Normal => BLOB,
                    TextSize::Medium => MEDIUM_BLOB,
                    TextSize::Long => LONG_BLOB,
                };
                Json::Opaque(type_number, bytes.clone())
            }
            _ => Json::from_value(value),
        }
    }

    /// As an SQL value of type JSON.
    pub fn to_value(&self) -> Value {
        Value::Json(Document::from(self))
    }

    /// What a number is made of: numbers as they are, strings as text, booleans as 1 and 0. `None` for anything else, which is no number (3156).
    pub fn to_number_value(&self) -> Option<Value> {
        Some(match self {
            Json::Bool(truth) => Value::Int(i64::from(*truth)),
            Json::Int(number) => Value::Int(*number),
            Json::UInt(number) => Value::UInt(*number),
            Json::Double(number) => Value::Double(*number),
            Json::Decimal(number) => Value::Decimal(**number),
            Json::String(text) => Value::String(text.clone()),
            _ => return None,
        })
    }

    /// The value of a date, time or moment.
    pub fn to_temporal_value(&self) -> Option<Value> {
        Some(match self {
            Json::Date(date) => Value::Date(*date),
            Json::Time(time) => Value::Time(*time),
            Json::DateTime(moment) => Value::DateTime(*moment),
            _ => return None,
        })
    }
}
