//! Stores values into HEX and UUID, and casts to them.

use super::context::{ConversionContext, Stored};
use super::text::to_text;
use crate::{ErrorCode, SqlError, SqlType, Value};

/// The name that messages have for a HEX or UUID.
fn name_of(target: &SqlType) -> &'static str {
    if *target == SqlType::Uuid { "uuid" } else { "hex" }
}

/// What a value is as a HEX or UUID: bytes of the right number are those, text is read as digits. `None` if it is none.
fn digits_of(value: &Value, source: &SqlType, target: &SqlType) -> Option<Vec<u8>> {
    match value {
        Value::Bytes(bytes) if target.digit_bytes() == Some(bytes.len()) => Some(bytes.clone()),
        Value::Bytes(bytes) if source.digit_bytes().is_none() => target.parse_digits(bytes),
        Value::String(text) => target.parse_digits(text.as_bytes()),
        _ => None,
    }
}

/// "Incorrect uuid value: 'x'" (1292).
fn incorrect(value: &Value, source: &SqlType, target: &SqlType) -> SqlError {
    SqlError::new(ErrorCode::IncorrectWrongValue, &[&name_of(target), &to_text(value, source)])
}

pub(super) fn store_digits(
    value: Value,
    source: &SqlType,
    target: &SqlType,
    context: &ConversionContext<'_>,
) -> Stored {
    match digits_of(&value, source, target) {
        Some(bytes) => Stored::plain(Value::Bytes(bytes)),
        None => {
            let error = context.incorrect_value(name_of(target), &to_text(&value, source));
            Stored::strict(Value::Null, error)
        }
    }
}

/// A value as a HEX or UUID.
///
/// # Errors
/// "Incorrect uuid value: 'x'" (1292).
pub fn cast_digits(value: &Value, source: &SqlType, target: &SqlType) -> Result<Value, SqlError> {
    digits_of(value, source, target).map(Value::Bytes).ok_or_else(|| incorrect(value, source, target))
}
