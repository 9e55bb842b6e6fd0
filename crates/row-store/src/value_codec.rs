//! Values as parts of records.

use crate::bytes::{Malformed, Reader, Writer};
use arrow_buffer::i256;
use squall_types::json::Document;
use squall_types::{Date, DateTime, Decimal, Time, Value};

/// Appends a value.
pub fn write_value(out: &mut Writer, value: &Value) {
    match value {
        Value::Null => out.u8(0),
        Value::Int(number) => {
            out.u8(1);
            out.i64(*number);
        }
        Value::UInt(number) => {
            out.u8(2);
            out.uint(*number);
        }
        Value::Double(number) => {
            out.u8(3);
            out.i64(number.to_bits() as i64);
        }
        Value::Decimal(number) => {
            out.u8(4);
            out.bytes(&number.unscaled().to_le_bytes());
            out.u8(number.scale());
        }
        Value::String(text) => {
            out.u8(5);
            out.str(text);
        }
        Value::Bytes(bytes) => {
            out.u8(6);
            out.bytes(bytes);
        }
        Value::Date(date) => {
            out.u8(7);
            out.uint(u64::from(date.to_packed()));
        }
        Value::DateTime(at) => {
            out.u8(8);
            out.i64(at.to_packed());
        }
        Value::Time(time) => {
            out.u8(9);
            out.i64(time.to_micros());
        }
        Value::Json(document) => {
            out.u8(10);
            out.str(document.stored());
        }
    }
}

/// Takes a value off.
///
/// # Errors
/// When there is none.
pub fn read_value(reader: &mut Reader<'_>) -> Result<Value, Malformed> {
    Ok(match reader.u8()? {
        0 => Value::Null,
        1 => Value::Int(reader.i64()?),
        2 => Value::UInt(reader.uint()?),
        3 => Value::Double(f64::from_bits(reader.i64()? as u64)),
        4 => {
            let unscaled = reader.bytes()?.try_into().map_err(|_| Malformed)?;
            Value::Decimal(Decimal::new(i256::from_le_bytes(unscaled), reader.u8()?))
        }
        5 => Value::String(reader.string()?),
        6 => Value::Bytes(reader.bytes()?.to_vec()),
        7 => Value::Date(Date::from_packed(reader.u32()?)),
        8 => Value::DateTime(DateTime::from_packed(reader.i64()?)),
        9 => Value::Time(Time::from_micros(reader.i64()?).ok_or(Malformed)?),
        10 => Value::Json(Document::from_stored(reader.string()?)),
        _ => return Err(Malformed),
    })
}
