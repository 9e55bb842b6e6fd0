//! Values of Parquet's types as fields of LOAD DATA.

use crate::field::{FieldKind, push_bits, push_field, push_text_field};
use arrow::array::{Array, ArrayRef, ArrowPrimitiveType, AsArray};
use arrow::datatypes::{
    DataType, Date32Type, Date64Type, Decimal32Type, Decimal64Type, Decimal128Type, Decimal256Type, Field, Float16Type,
    Float32Type, Float64Type, Int8Type, Int16Type, Int32Type, Int64Type, Time32MillisecondType, Time32SecondType,
    Time64MicrosecondType, Time64NanosecondType, TimeUnit, TimestampMicrosecondType, TimestampMillisecondType,
    TimestampNanosecondType, TimestampSecondType, UInt8Type, UInt16Type, UInt32Type, UInt64Type,
};
use arrow::record_batch::RecordBatch;
use arrow_buffer::i256;
use squall_types::convert::write_text;
use squall_types::hex::write_uuid;
use squall_types::{Date, DateTime, Decimal, SqlType, Time, Value};

const MILLIS_PER_DAY: i64 = 86_400_000;

/// How a column's values become fields.
#[derive(Debug)]
pub(super) struct ColumnForm {
    /// Which array of a batch.
    at: usize,
    kind: FieldKind,
    is_uuid: bool,
}

impl ColumnForm {
    /// # Errors
    /// The column has a type that no column of a table takes.
    pub(super) fn new(at: usize, field: &Field, kind: FieldKind, is_uuid: bool) -> Result<ColumnForm, String> {
        if !is_supported(field.data_type()) {
            let what = match field.data_type() {
                DataType::List(_) | DataType::LargeList(_) => "lists".to_owned(),
                DataType::Struct(_) => "structures".to_owned(),
                DataType::Map(..) => "maps".to_owned(),
                other => format!("values of the type {other}"),
            };
            return Err(format!("its column '{}' has {what}, which no column of a table takes", field.name()));
        }
        Ok(ColumnForm { at, kind, is_uuid })
    }

    /// Appends the value of a row.
    pub(super) fn push(&self, batch: &RecordBatch, row: usize, out: &mut Vec<u8>) -> Result<(), String> {
        let array = batch.column(self.at);
        if array.data_type() == &DataType::Null || array.is_null(row) {
            push_field(None, out);
            return Ok(());
        }
        if self.is_uuid && self.kind == FieldKind::Text {
            let bytes = array.as_fixed_size_binary().value(row);
            write_uuid(bytes, out);
            return Ok(());
        }
        match bytes_at(array, row) {
            Some(bytes) => push_field(Some(bytes), out),
            None => match (self.kind, whole_number(array, row)) {
                (FieldKind::Bits, Some(Value::UInt(number))) => push_bits(number, out),
                (FieldKind::Bits, Some(Value::Int(number))) if number >= 0 => push_bits(number as u64, out),
                (_, Some(number)) => write_text(&number, &SqlType::Null, out),
                (kind, None) => {
                    let mut text = Vec::new();
                    write_other(array, row, &mut text)?;
                    push_text_field(Some(&text), kind, out);
                }
            },
        }
        Ok(())
    }
}

fn is_supported(data_type: &DataType) -> bool {
    use DataType as D;
    matches!(data_type, D::Null | D::Boolean | D::Float16 | D::Float32 | D::Float64)
        || data_type.is_integer()
        || matches!(data_type, D::Decimal32(_, s) | D::Decimal64(_, s) | D::Decimal128(_, s) | D::Decimal256(_, s) if *s >= 0)
        || matches!(data_type, D::Date32 | D::Date64 | D::Time32(_) | D::Time64(_) | D::Timestamp(..))
        || matches!(data_type, D::Utf8 | D::LargeUtf8 | D::Utf8View)
        || matches!(data_type, D::Binary | D::LargeBinary | D::BinaryView | D::FixedSizeBinary(_))
}

fn bytes_at(array: &ArrayRef, row: usize) -> Option<&[u8]> {
    Some(match array.data_type() {
        DataType::Utf8 => array.as_string::<i32>().value(row).as_bytes(),
        DataType::LargeUtf8 => array.as_string::<i64>().value(row).as_bytes(),
        DataType::Utf8View => array.as_string_view().value(row).as_bytes(),
        DataType::Binary => array.as_binary::<i32>().value(row),
        DataType::LargeBinary => array.as_binary::<i64>().value(row),
        DataType::BinaryView => array.as_binary_view().value(row),
        DataType::FixedSizeBinary(_) => array.as_fixed_size_binary().value(row),
        _ => return None,
    })
}

fn at<T: ArrowPrimitiveType>(array: &ArrayRef, row: usize) -> T::Native {
    array.as_primitive::<T>().value(row)
}

fn whole_number(array: &ArrayRef, row: usize) -> Option<Value> {
    Some(match array.data_type() {
        DataType::Boolean => Value::UInt(u64::from(array.as_boolean().value(row))),
        DataType::Int8 => Value::Int(at::<Int8Type>(array, row).into()),
        DataType::Int16 => Value::Int(at::<Int16Type>(array, row).into()),
        DataType::Int32 => Value::Int(at::<Int32Type>(array, row).into()),
        DataType::Int64 => Value::Int(at::<Int64Type>(array, row)),
        DataType::UInt8 => Value::UInt(at::<UInt8Type>(array, row).into()),
        DataType::UInt16 => Value::UInt(at::<UInt16Type>(array, row).into()),
        DataType::UInt32 => Value::UInt(at::<UInt32Type>(array, row).into()),
        DataType::UInt64 => Value::UInt(at::<UInt64Type>(array, row)),
        _ => return None,
    })
}

/// Fractions, dates and times.
fn write_other(array: &ArrayRef, row: usize, out: &mut Vec<u8>) -> Result<(), String> {
    let plain = SqlType::Null;
    match array.data_type() {
        DataType::Float16 => write_text(&Value::Double(at::<Float16Type>(array, row).into()), &plain, out),
        DataType::Float32 => {
            let number = at::<Float32Type>(array, row);
            // The fewest digits that mean this number among those of its width, unless they mean more than the greatest.
            let shortest = format!("{number:e}").parse().ok().filter(|double: &f64| double.abs() <= f32::MAX.into());
            write_text(&Value::Double(shortest.unwrap_or(number.into())), &plain, out);
        }
        DataType::Float64 => write_text(&Value::Double(at::<Float64Type>(array, row)), &plain, out),
        DataType::Decimal32(_, scale) => write_decimal(i256::from(at::<Decimal32Type>(array, row)), *scale, out),
        DataType::Decimal64(_, scale) => write_decimal(i256::from(at::<Decimal64Type>(array, row)), *scale, out),
        DataType::Decimal128(_, scale) => {
            write_decimal(i256::from_i128(at::<Decimal128Type>(array, row)), *scale, out);
        }
        DataType::Decimal256(_, scale) => write_decimal(at::<Decimal256Type>(array, row), *scale, out),
        DataType::Date32 => write_date(at::<Date32Type>(array, row).into(), out)?,
        DataType::Date64 => write_date(at::<Date64Type>(array, row).div_euclid(MILLIS_PER_DAY), out)?,
        DataType::Time32(TimeUnit::Second) => {
            write_time(i64::from(at::<Time32SecondType>(array, row)) * 1_000_000, out)?
        }
        DataType::Time32(_) => write_time(i64::from(at::<Time32MillisecondType>(array, row)) * 1000, out)?,
        DataType::Time64(TimeUnit::Nanosecond) => write_time(rounded(at::<Time64NanosecondType>(array, row)), out)?,
        DataType::Time64(_) => write_time(at::<Time64MicrosecondType>(array, row), out)?,
        DataType::Timestamp(unit, zone) => {
            let micros = match unit {
                TimeUnit::Second => at::<TimestampSecondType>(array, row).checked_mul(1_000_000),
                TimeUnit::Millisecond => at::<TimestampMillisecondType>(array, row).checked_mul(1000),
                TimeUnit::Microsecond => Some(at::<TimestampMicrosecondType>(array, row)),
                TimeUnit::Nanosecond => Some(rounded(at::<TimestampNanosecondType>(array, row))),
            };
            let moment = micros.and_then(DateTime::from_unix_micros);
            let moment = moment.ok_or("a moment outside of the years 1 to 9999")?;
            write_text(&Value::DateTime(moment), &plain, out);
            if zone.is_some() {
                out.extend_from_slice(b"+00:00");
            }
        }
        other => return Err(format!("a value of the type {other}")),
    }
    Ok(())
}

/// Nanoseconds as microseconds.
fn rounded(nanos: i64) -> i64 {
    nanos.div_euclid(1000) + i64::from(nanos.rem_euclid(1000) >= 500)
}

fn write_decimal(unscaled: i256, scale: i8, out: &mut Vec<u8>) {
    Decimal::new(unscaled, scale.unsigned_abs()).write_text(out);
}

fn write_date(unix_days: i64, out: &mut Vec<u8>) -> Result<(), String> {
    let date = Date::from_unix_days(unix_days).ok_or("a date outside of the years 1 to 9999")?;
    date.write_text(out);
    Ok(())
}

fn write_time(micros: i64, out: &mut Vec<u8>) -> Result<(), String> {
    let time = Time::from_micros(micros).ok_or("a time beyond those of TIME")?;
    write_text(&Value::Time(time), &SqlType::Null, out);
    Ok(())
}
