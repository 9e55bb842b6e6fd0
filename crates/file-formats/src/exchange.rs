//! Columns in the forms that others know: plain Arrow types, for Parquet files and for clients.

use arrow::array::{Array, ArrayRef, ArrowPrimitiveType, AsArray, PrimitiveArray, StringViewArray, StringViewBuilder};
use arrow::compute::{CastOptions, cast_with_options};
use arrow::datatypes::{
    DataType, Date32Type, Int64Type, Time64MicrosecondType, TimeUnit, TimestampMicrosecondType, UInt64Type,
};
use squall_functions::arrow_map::arrow_type;
use squall_types::convert::to_text;
use squall_types::hex::write_hex;
use squall_types::json::printed;
use squall_types::json::typed::has_marks;
use squall_types::temporal::{MICROS_PER_DAY, TimeZone};
use squall_types::{DateTime, IntWidth, SqlError, SqlResult, SqlType, Value};
use std::sync::Arc;

/// The Arrow type that values of a MySQL type are sent and stored in.
pub fn exchange_type(sql_type: &SqlType) -> DataType {
    match sql_type {
        SqlType::Null => DataType::Null,
        SqlType::Int { width, unsigned, .. } => match (width, unsigned) {
            (IntWidth::Tiny, false) => DataType::Int8,
            (IntWidth::Tiny, true) => DataType::UInt8,
            (IntWidth::Small, false) => DataType::Int16,
            (IntWidth::Small, true) => DataType::UInt16,
            (IntWidth::Medium | IntWidth::Int, false) => DataType::Int32,
            (IntWidth::Medium | IntWidth::Int, true) => DataType::UInt32,
            (IntWidth::Big, false) => DataType::Int64,
            (IntWidth::Big, true) => DataType::UInt64,
        },
        SqlType::Bit { .. } => DataType::UInt64,
        SqlType::Year => DataType::UInt16,
        SqlType::Float { .. } => DataType::Float32,
        SqlType::Date => DataType::Date32,
        SqlType::Time { .. } => DataType::Time64(TimeUnit::Microsecond),
        SqlType::DateTime { .. } => DataType::Timestamp(TimeUnit::Microsecond, None),
        SqlType::Timestamp { .. } => DataType::Timestamp(TimeUnit::Microsecond, Some("UTC".into())),
        SqlType::Enum { .. } | SqlType::Set { .. } | SqlType::Hex { .. } => DataType::Utf8View,
        SqlType::Uuid => DataType::FixedSizeBinary(16),
        SqlType::Decimal { .. } | SqlType::Double { .. } | SqlType::String { .. } | SqlType::Json => {
            arrow_type(sql_type)
        }
    }
}

/// A column of execution's form, without TIMESTAMPs, as it is sent; NULL for what has no form.
///
/// # Errors
/// When a value does not fit the type, which is a bug of the caller.
pub fn exchange_array(array: &ArrayRef, sql_type: &SqlType, target: &DataType) -> SqlResult<ArrayRef> {
    converted(array, sql_type, target, &TimeZone::utc())
}

/// A column of execution's form as it is written; NULL for what has no form.
pub(crate) fn converted(
    array: &ArrayRef,
    sql_type: &SqlType,
    target: &DataType,
    zone: &TimeZone,
) -> SqlResult<ArrayRef> {
    // DataFusion's own operators make Booleans, narrower integers and other layouts of strings.
    let array = cast_exactly(array, &arrow_type(sql_type))?;
    Ok(match sql_type {
        SqlType::Date => mapped::<Int64Type, Date32Type>(&array, target, |packed| {
            let moment = DateTime::from_packed(packed);
            moment.date().unix_days().filter(|_| moment.micros_of_day() == 0)
        }),
        SqlType::DateTime { .. } => mapped::<Int64Type, TimestampMicrosecondType>(&array, target, |packed| {
            DateTime::from_packed(packed).unix_micros()
        }),
        SqlType::Timestamp { .. } => mapped::<Int64Type, TimestampMicrosecondType>(&array, target, |packed| {
            let local = DateTime::from_packed(packed);
            local.unix_micros().map(|_| zone.to_unix_micros(local).unix_micros)
        }),
        SqlType::Time { .. } => mapped::<Int64Type, Time64MicrosecondType>(&array, target, |micros| {
            (0..MICROS_PER_DAY).contains(&micros).then_some(micros)
        }),
        SqlType::Enum { .. } | SqlType::Set { .. } => {
            let mut builder = StringViewBuilder::with_capacity(array.len()).with_deduplicate_strings();
            for value in array.as_primitive::<UInt64Type>() {
                builder.append_option(value.map(|value| to_text(&Value::UInt(value), sql_type)));
            }
            Arc::new(builder.finish())
        }
        SqlType::Json if array.as_string_view().iter().flatten().any(has_marks) => {
            let texts = array.as_string_view().iter().map(|stored| stored.map(printed));
            Arc::new(texts.collect::<StringViewArray>())
        }
        SqlType::Hex { .. } => {
            let mut builder = StringViewBuilder::with_capacity(array.len());
            let mut digits = Vec::new();
            for value in array.as_binary_view() {
                digits.clear();
                write_hex(value.unwrap_or_default(), &mut digits);
                builder.append_option(value.map(|_| String::from_utf8_lossy(&digits)));
            }
            Arc::new(builder.finish())
        }
        _ => cast_exactly(&array, target)?,
    })
}

fn mapped<From: ArrowPrimitiveType, To: ArrowPrimitiveType>(
    array: &ArrayRef,
    target: &DataType,
    value: impl Fn(From::Native) -> Option<To::Native>,
) -> ArrayRef {
    let values = array.as_primitive::<From>().iter().map(|source| source.and_then(&value));
    Arc::new(values.collect::<PrimitiveArray<To>>().with_data_type(target.clone()))
}

/// A cast that fails rather than make NULL of a value.
fn cast_exactly(array: &ArrayRef, target: &DataType) -> SqlResult<ArrayRef> {
    if array.data_type() == target {
        return Ok(array.clone());
    }
    let options = CastOptions { safe: false, ..CastOptions::default() };
    cast_with_options(array, target, &options).map_err(SqlError::internal)
}
