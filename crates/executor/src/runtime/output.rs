//! Writes the rows of batches in the encoding of the writer that sends them.

use arrow::array::{Array, AsArray};
use arrow::datatypes::{DataType, Float64Type, Int64Type, UInt64Type};
use arrow::record_batch::RecordBatch;
use squall_functions::arrow_map::value_at;
use squall_types::hex::{write_hex, write_uuid};
use squall_types::json::printed;
use squall_types::{Date, DateTime, RowWriter, SqlResult, SqlType, Time, Value};

/// Writes rows of a batch; `types` are the MySQL types of its columns.
pub fn write_batch(
    batch: &RecordBatch,
    types: &[SqlType],
    rows: std::ops::Range<usize>,
    writer: &mut dyn RowWriter,
) -> SqlResult<()> {
    for row in rows {
        writer.begin_row();
        for (array, sql_type) in batch.columns().iter().zip(types) {
            write_cell(array.as_ref(), row, sql_type, writer)?;
        }
        writer.end_row();
    }
    Ok(())
}

fn write_cell(array: &dyn Array, row: usize, sql_type: &SqlType, writer: &mut dyn RowWriter) -> SqlResult<()> {
    if array.is_null(row) {
        writer.put_null();
        return Ok(());
    }
    match (array.data_type(), sql_type) {
        (DataType::Int64, SqlType::Int { unsigned: false, .. }) => {
            writer.put_int(array.as_primitive::<Int64Type>().value(row));
        }
        (DataType::Int64, SqlType::Date) => {
            let packed = array.as_primitive::<Int64Type>().value(row);
            writer.put_date(Date::from_packed((packed >> 37) as u32));
        }
        (DataType::Int64, SqlType::DateTime { .. } | SqlType::Timestamp { .. }) => {
            writer.put_datetime(DateTime::from_packed(array.as_primitive::<Int64Type>().value(row)));
        }
        (DataType::Int64, SqlType::Time { .. }) => {
            let micros = array.as_primitive::<Int64Type>().value(row);
            writer.put_time(Time::from_micros_clamped(micros));
        }
        (DataType::UInt64, SqlType::Int { unsigned: true, .. } | SqlType::Bit { .. } | SqlType::Year) => {
            writer.put_uint(array.as_primitive::<UInt64Type>().value(row));
        }
        (DataType::UInt64, SqlType::Enum { .. } | SqlType::Set { .. }) => {
            let code = array.as_primitive::<UInt64Type>().value(row);
            writer.put_bytes(member_text(sql_type, code).as_bytes());
        }
        (DataType::Float64, SqlType::Float { .. } | SqlType::Double { .. }) => {
            writer.put_double(array.as_primitive::<Float64Type>().value(row));
        }
        (DataType::Utf8View, SqlType::Json) => {
            writer.put_bytes(printed(array.as_string_view().value(row)).as_bytes());
        }
        (DataType::Utf8View, SqlType::String { .. }) => {
            writer.put_bytes(array.as_string_view().value(row).as_bytes());
        }
        (DataType::BinaryView, SqlType::Hex { .. } | SqlType::Uuid) => {
            put_bytes(array.as_binary_view().value(row), sql_type, writer);
        }
        (DataType::BinaryView, SqlType::String { .. }) => writer.put_bytes(array.as_binary_view().value(row)),
        _ => write_value(&value_at(array, row, sql_type)?, sql_type, writer),
    }
    Ok(())
}

/// Writes one value of a column of a type.
pub fn write_value(value: &Value, sql_type: &SqlType, writer: &mut dyn RowWriter) {
    match value {
        Value::Null => writer.put_null(),
        Value::Int(number) => writer.put_int(*number),
        Value::UInt(code) if matches!(sql_type, SqlType::Enum { .. } | SqlType::Set { .. }) => {
            writer.put_bytes(member_text(sql_type, *code).as_bytes());
        }
        Value::UInt(number) => writer.put_uint(*number),
        Value::Double(number) => writer.put_double(*number),
        Value::Decimal(number) => writer.put_decimal(*number),
        Value::String(text) => writer.put_bytes(text.as_bytes()),
        Value::Json(document) => writer.put_bytes(document.text().as_bytes()),
        Value::Bytes(bytes) => put_bytes(bytes, sql_type, writer),
        // A date beside dates with times is kept as it is.
        Value::Date(date) if matches!(sql_type, SqlType::DateTime { .. } | SqlType::Timestamp { .. }) => {
            writer.put_datetime(date.at_midnight());
        }
        Value::Date(date) => writer.put_date(*date),
        Value::DateTime(moment) => writer.put_datetime(*moment),
        Value::Time(time) => writer.put_time(*time),
    }
}

/// Writes the bytes of a string, or the digits of a HEX or UUID.
pub fn put_bytes(bytes: &[u8], sql_type: &SqlType, writer: &mut dyn RowWriter) {
    if sql_type.digit_bytes().is_none() {
        return writer.put_bytes(bytes);
    }
    let mut digits = Vec::with_capacity(2 * bytes.len() + 4);
    match sql_type {
        SqlType::Uuid => write_uuid(bytes, &mut digits),
        _ => write_hex(bytes, &mut digits),
    }
    writer.put_bytes(&digits);
}

/// The text of an ENUM's or SET's number.
pub fn member_text(sql_type: &SqlType, code: u64) -> std::borrow::Cow<'_, str> {
    match sql_type {
        SqlType::Enum { members, .. } => {
            let member = usize::try_from(code).ok().and_then(|code| members.get(code.checked_sub(1)?));
            member.map_or("", String::as_str).into()
        }
        SqlType::Set { members, .. } => {
            let chosen: Vec<_> = members
                .iter()
                .enumerate()
                .filter(|(bit, _)| *bit < 64 && code >> bit & 1 == 1)
                .map(|(_, member)| member.as_str())
                .collect();
            chosen.join(",").into()
        }
        _ => code.to_string().into(),
    }
}
