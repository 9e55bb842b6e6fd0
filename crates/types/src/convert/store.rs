//! Stores a value of any type into a column.

use super::context::{ConversionContext, Stored};
use super::store_geometry::store_geometry;
use super::store_hex::store_digits;
use super::store_numeric::{store_bit, store_decimal, store_double, store_float, store_integer, store_year};
use super::store_temporal::{store_date, store_datetime, store_time, store_timestamp, temporal_source};
use super::store_text::{store_enum, store_json, store_set, store_string};
use super::store_vector::store_vector;
use super::text::spelled_out;
use crate::{SqlType, StringKind, Value};

/// Converts a value of the type `source` for a column of the type `target`, as INSERT does.
///
/// NULL stays NULL: whether the column takes it is the caller's question. For a TIMESTAMP column the result is in UTC,
/// as the stores hold it, while a TIMESTAMP that comes in is in the session's time zone. What was wrong with the value
/// is a condition beside it, for [`Stored::resolve`].
pub fn store_value(value: Value, source: &SqlType, target: &SqlType, context: &ConversionContext<'_>) -> Stored {
    if value.is_null() {
        return Stored::plain(value);
    }
    let value = match target {
        SqlType::Hex { .. } | SqlType::Uuid => value,
        _ if target.is_binary_string() => value,
        _ if target.is_temporal() => temporal_source(&value, source).into_owned(),
        _ => spelled_out(value, source),
    };
    match target {
        SqlType::Null => Stored::plain(Value::Null),
        SqlType::Int { width, unsigned, .. } => store_integer(value, *width, *unsigned, context),
        SqlType::Decimal { precision, scale, unsigned, .. } => {
            store_decimal(value, *precision, *scale, *unsigned, context)
        }
        SqlType::Float { unsigned, digits, .. } => store_float(value, *unsigned, *digits, context),
        SqlType::Double { unsigned, digits, .. } => store_double(value, *unsigned, *digits, context),
        SqlType::Bit { width } => store_bit(value, *width, context),
        SqlType::Year => store_year(value, context),
        SqlType::Date => store_date(value, context),
        SqlType::Time { fsp } => store_time(value, *fsp, context),
        SqlType::DateTime { fsp } => store_datetime(value, *fsp, context),
        SqlType::Timestamp { fsp } => store_timestamp(value, *fsp, context),
        SqlType::String { kind: StringKind::Geometry(geometry), .. } => store_geometry(value, *geometry, context),
        SqlType::String { kind: StringKind::Vector, length, .. } => store_vector(value, source, *length, context),
        SqlType::String { kind, length, collation } => store_string(value, source, *kind, *length, *collation, context),
        SqlType::Enum { members, collation } => store_enum(value, source, target, members, *collation, context),
        SqlType::Set { members, collation } => store_set(value, source, target, members, *collation, context),
        SqlType::Hex { .. } | SqlType::Uuid => store_digits(value, source, target, context),
        SqlType::Json => store_json(value, source, context),
    }
}

#[cfg(test)]
#[path = "store_tests.rs"]
mod tests;
