//! Stores values into columns of vectors.

use super::context::{ConversionContext, Severity, Stored};
use super::text::{spelled_out, to_text};
use crate::vector::{dimensions, is_finite, shown};
use crate::{ErrorCode, SqlError, SqlType, Value};

/// A byte string that is a vector with no more than a column's bytes; anything else is an error in every mode, as there is no
/// vector that could stand in its place.
pub(super) fn store_vector(value: Value, source: &SqlType, length: u32, context: &ConversionContext<'_>) -> Stored {
    let error = match &value {
        Value::Bytes(bytes) if source.is_binary_string() => match dimensions(bytes) {
            Some(_) if bytes.len() > length as usize => context.error(ErrorCode::DataTooLong),
            Some(_) if is_finite(bytes) => return Stored::plain(value),
            _ => SqlError::new(ErrorCode::ToVectorConversion, &[&shown(bytes)]),
        },
        _ => no_bytes(value, source),
    };
    Stored::with(Value::Null, Severity::Always, error.clone(), error)
}

fn no_bytes(value: Value, source: &SqlType) -> SqlError {
    /// Bytes of a decimal in MySQL's memory, which is what it says of one.
    const DECIMAL_BYTES: usize = 64;
    let (name, size) = match spelled_out(value, source) {
        Value::Int(_) | Value::UInt(_) if source.is_numeric() => ("longlong", 8),
        Value::Double(_) => ("double", 8),
        Value::Decimal(_) => ("decimal", DECIMAL_BYTES),
        value => ("string", to_text(&value, source).len()),
    };
    SqlError::new(ErrorCode::DataIncompatibleWithVector, &[&name, &size])
}
