//! The form of columns in Parquet: other readers see dates as dates, and numbers in their width.
//!
//! Each type has a *native* form. If a segment has a value that the native form cannot hold (a zero date, a TIME beyond a day, a
//! document with a DECIMAL), the column is *raw* in that segment: it has execution's own integers or texts. The directory tells the
//! form of each column.

use crate::domain::ColumnType;
use arrow::array::{Array, ArrayRef, ArrowPrimitiveType, AsArray, PrimitiveArray};
use arrow::compute::{CastOptions, cast_with_options};
use arrow::datatypes::{
    DECIMAL128_MAX_PRECISION, DataType, Date32Type, Float64Type, Int64Type, Time64MicrosecondType, TimeUnit,
    TimestampMicrosecondType,
};
use arrow::error::ArrowError;
use squall_types::json::typed::has_marks;
use squall_types::temporal::{MICROS_PER_DAY, Time};
use squall_types::{Date, DateTime};
use std::sync::Arc;

/// How a column's values are written. The codes are part of the file format.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Form {
    /// Parquet's own type for such values.
    Native,
    /// Execution's form as it is.
    Raw,
}

impl Form {
    /// The native form if every value has one.
    pub(super) fn choose(column_type: ColumnType, parts: &[ArrayRef]) -> Form {
        let all = |has_native: fn(i64) -> bool| {
            let native = |value: Option<i64>| value.is_none_or(has_native);
            let all_of =
                |array: &ArrayRef| array.as_primitive_opt::<Int64Type>().is_some_and(|array| array.iter().all(native));
            parts.iter().all(all_of)
        };
        let native = match column_type {
            ColumnType::Date => all(|packed| days(packed).is_some()),
            ColumnType::DateTime | ColumnType::Timestamp => all(|packed| epoch_micros(packed).is_some()),
            ColumnType::Time => all(|micros| (0..MICROS_PER_DAY).contains(&micros)),
            ColumnType::Float => parts.iter().all(|array| {
                let array = array.as_primitive_opt::<Float64Type>();
                array.is_some_and(|array| array.iter().flatten().all(|value| f64::from(value as f32) == value))
            }),
            ColumnType::Document => parts.iter().all(|array| {
                let array = array.as_string_view_opt();
                array.is_some_and(|array| array.iter().flatten().all(|stored| !has_marks(stored)))
            }),
            _ => true,
        };
        if native { Form::Native } else { Form::Raw }
    }
}

/// The Arrow type that is written to Parquet.
pub(super) fn parquet_type(column_type: ColumnType, form: Form) -> DataType {
    match (column_type, form) {
        (ColumnType::Signed(1), _) => DataType::Int8,
        (ColumnType::Signed(2), _) => DataType::Int16,
        (ColumnType::Signed(4), _) => DataType::Int32,
        (ColumnType::Unsigned(1), _) => DataType::UInt8,
        (ColumnType::Unsigned(2), _) => DataType::UInt16,
        (ColumnType::Unsigned(4), _) => DataType::UInt32,
        (ColumnType::Unsigned(_), _) => DataType::UInt64,
        (ColumnType::Float, Form::Native) => DataType::Float32,
        (ColumnType::Float, Form::Raw) | (ColumnType::Double, _) => DataType::Float64,
        (ColumnType::Decimal { precision, scale }, _) if precision <= DECIMAL128_MAX_PRECISION => {
            DataType::Decimal128(precision, scale as i8)
        }
        (ColumnType::Decimal { precision, scale }, _) => DataType::Decimal256(precision, scale as i8),
        (ColumnType::Date, Form::Native) => DataType::Date32,
        (ColumnType::DateTime, Form::Native) => DataType::Timestamp(TimeUnit::Microsecond, None),
        (ColumnType::Timestamp, Form::Native) => DataType::Timestamp(TimeUnit::Microsecond, Some("UTC".into())),
        (ColumnType::Time, Form::Native) => DataType::Time64(TimeUnit::Microsecond),
        (ColumnType::Signed(_), _)
        | (ColumnType::Date | ColumnType::DateTime | ColumnType::Timestamp | ColumnType::Time, Form::Raw) => {
            DataType::Int64
        }
        (ColumnType::Text | ColumnType::Document, _) => DataType::Utf8View,
        (ColumnType::Bytes, _) => DataType::BinaryView,
    }
}

/// Execution's type for a stored type.
pub(super) fn execution_type(column_type: ColumnType) -> DataType {
    match column_type {
        ColumnType::Unsigned(_) => DataType::UInt64,
        ColumnType::Float | ColumnType::Double => DataType::Float64,
        ColumnType::Decimal { .. } | ColumnType::Text | ColumnType::Bytes | ColumnType::Document => {
            parquet_type(column_type, Form::Native)
        }
        _ => DataType::Int64,
    }
}

/// From execution's form to what is written.
pub(super) fn to_parquet(column_type: ColumnType, form: Form, array: &ArrayRef) -> Result<ArrayRef, ArrowError> {
    let target = parquet_type(column_type, form);
    match (column_type, form) {
        (ColumnType::Date, Form::Native) => convert::<Int64Type, Date32Type>(array, &target, days),
        (ColumnType::DateTime | ColumnType::Timestamp, Form::Native) => {
            convert::<Int64Type, TimestampMicrosecondType>(array, &target, epoch_micros)
        }
        (ColumnType::Time, Form::Native) => convert::<Int64Type, Time64MicrosecondType>(array, &target, Some),
        _ => cast_exactly(array, &target),
    }
}

/// From what was written to execution's form.
pub(super) fn from_parquet(column_type: ColumnType, form: Form, array: &ArrayRef) -> Result<ArrayRef, ArrowError> {
    let target = execution_type(column_type);
    match (column_type, form) {
        (ColumnType::Date, Form::Native) => convert::<Date32Type, Int64Type>(array, &target, |days| {
            Some(Date::from_unix_days(days.into())?.at_midnight().to_packed())
        }),
        (ColumnType::DateTime | ColumnType::Timestamp, Form::Native) => {
            convert::<TimestampMicrosecondType, Int64Type>(array, &target, |micros| {
                DateTime::from_unix_micros(micros).map(DateTime::to_packed)
            })
        }
        (ColumnType::Time, Form::Native) => convert::<Time64MicrosecondType, Int64Type>(array, &target, |micros| {
            Time::from_micros(micros).map(Time::to_micros)
        }),
        // Byte arrays are coded from whichever Arrow type the reader makes of them.
        (ColumnType::Text | ColumnType::Bytes | ColumnType::Document, _) => Ok(array.clone()),
        _ => cast_exactly(array, &target),
    }
}

/// Days since 1970 of a packed date at midnight, if the date exists.
fn days(packed: i64) -> Option<i32> {
    let moment = DateTime::from_packed(packed);
    moment.date().unix_days().filter(|_| moment.micros_of_day() == 0)
}

/// Microseconds since 1970 of a packed moment, if its date exists.
fn epoch_micros(packed: i64) -> Option<i64> {
    DateTime::from_packed(packed).unix_micros()
}

fn convert<From: ArrowPrimitiveType, To: ArrowPrimitiveType>(
    array: &ArrayRef,
    target: &DataType,
    value: impl Fn(From::Native) -> Option<To::Native>,
) -> Result<ArrayRef, ArrowError> {
    let wrong = || ArrowError::CastError(format!("a value of {} does not fit {target}", array.data_type()));
    let source = array.as_primitive_opt::<From>().ok_or_else(wrong)?;
    let values = source.iter().map(|source| source.map(|source| value(source).ok_or_else(wrong)).transpose());
    let converted = values.collect::<Result<PrimitiveArray<To>, ArrowError>>()?;
    Ok(Arc::new(converted.with_data_type(target.clone())))
}

/// A cast that fails rather than make NULL of a value.
fn cast_exactly(array: &ArrayRef, target: &DataType) -> Result<ArrayRef, ArrowError> {
    if array.data_type() == target {
        return Ok(array.clone());
    }
    cast_with_options(array, target, &CastOptions { safe: false, ..CastOptions::default() })
}
