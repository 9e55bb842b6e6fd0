//! Reads values from arrays.

use arrow::array::{Array, ArrayRef, AsArray};
use arrow::compute::cast;
use arrow::datatypes::{DataType, Decimal128Type, Decimal256Type, Float64Type, Int64Type, UInt64Type};
use arrow_buffer::i256;
use squall_types::json::Document;
use squall_types::{Date, DateTime, Decimal, SqlError, SqlResult, SqlType, Time, Value};

/// The value at `row` of an array that holds values of `sql_type`.
///
/// Arrays of other Arrow types than the one the type maps to are read too where the meaning is plain: DataFusion's own
/// operators make Booleans, narrower integers and other string layouts.
pub fn value_at(array: &dyn Array, row: usize, sql_type: &SqlType) -> SqlResult<Value> {
    if row >= array.len() {
        return Err(SqlError::internal("a row outside of its array"));
    }
    if array.is_null(row) {
        return Ok(Value::Null);
    }
    Ok(match array.data_type() {
        DataType::Null => Value::Null,
        DataType::Boolean => int_value(i64::from(array.as_boolean().value(row)), sql_type),
        DataType::Int64 => int_value(array.as_primitive::<Int64Type>().value(row), sql_type),
        DataType::UInt64 => uint_value(array.as_primitive::<UInt64Type>().value(row), sql_type),
        DataType::Float64 => Value::Double(array.as_primitive::<Float64Type>().value(row)),
        DataType::Decimal128(_, scale) => {
            let unscaled = i256::from_i128(array.as_primitive::<Decimal128Type>().value(row));
            Value::Decimal(Decimal::new(unscaled, u8::try_from(*scale).unwrap_or(0)))
        }
        DataType::Decimal256(_, scale) => {
            let unscaled = array.as_primitive::<Decimal256Type>().value(row);
            Value::Decimal(Decimal::new(unscaled, u8::try_from(*scale).unwrap_or(0)))
        }
        DataType::Utf8View => string_value(array.as_string_view().value(row), sql_type),
        DataType::BinaryView => bytes_value(array.as_binary_view().value(row), sql_type),
        DataType::Utf8 => string_value(array.as_string::<i32>().value(row), sql_type),
        DataType::LargeUtf8 => string_value(array.as_string::<i64>().value(row), sql_type),
        DataType::Binary => bytes_value(array.as_binary::<i32>().value(row), sql_type),
        DataType::LargeBinary => bytes_value(array.as_binary::<i64>().value(row), sql_type),
        other => {
            let one = widened(&array.slice(row, 1), other)?;
            return value_at(&one, 0, sql_type);
        }
    })
}

fn widened(array: &ArrayRef, data_type: &DataType) -> SqlResult<ArrayRef> {
    let wide = match data_type {
        DataType::Int8 | DataType::Int16 | DataType::Int32 => DataType::Int64,
        DataType::UInt8 | DataType::UInt16 | DataType::UInt32 => DataType::UInt64,
        DataType::Float16 | DataType::Float32 => DataType::Float64,
        DataType::Decimal32(precision, scale) | DataType::Decimal64(precision, scale) => {
            DataType::Decimal128(*precision, *scale)
        }
        DataType::Dictionary(_, value) => value.as_ref().clone(),
        other => return Err(SqlError::internal(format!("no MySQL value in an Arrow array of {other}"))),
    };
    cast(array, &wide).map_err(|error| SqlError::internal(error.to_string()))
}

fn int_value(value: i64, sql_type: &SqlType) -> Value {
    match sql_type {
        SqlType::Date => Value::Date(Date::from_packed((value >> 37) as u32)),
        SqlType::DateTime { .. } | SqlType::Timestamp { .. } => Value::DateTime(DateTime::from_packed(value)),
        SqlType::Time { .. } => Value::Time(Time::from_micros(value).unwrap_or_default()),
        _ if sql_type.is_unsigned() && value >= 0 && !is_decimal(sql_type) => Value::UInt(value as u64),
        _ => Value::Int(value),
    }
}

fn uint_value(value: u64, sql_type: &SqlType) -> Value {
    match sql_type {
        SqlType::Int { unsigned: false, .. } => i64::try_from(value).map_or(Value::UInt(value), Value::Int),
        _ => Value::UInt(value),
    }
}

fn is_decimal(sql_type: &SqlType) -> bool {
    matches!(sql_type, SqlType::Decimal { .. } | SqlType::Float { .. } | SqlType::Double { .. })
}

fn string_value(text: &str, sql_type: &SqlType) -> Value {
    match sql_type {
        SqlType::Json => Value::Json(Document::from_stored(text)),
        _ if sql_type.is_binary_string() => Value::Bytes(text.as_bytes().to_vec()),
        _ => Value::String(text.to_string()),
    }
}

fn bytes_value(bytes: &[u8], sql_type: &SqlType) -> Value {
    match sql_type {
        SqlType::String { .. } if !sql_type.is_binary_string() => match std::str::from_utf8(bytes) {
            Ok(text) => Value::String(text.to_string()),
            Err(_) => Value::Bytes(bytes.to_vec()),
        },
        _ => Value::Bytes(bytes.to_vec()),
    }
}
