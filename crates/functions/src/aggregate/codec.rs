//! Encodes values for the states that one operator of a query hands to the next. The bytes are never stored.

use squall_types::json::Document;
use squall_types::{Date, DateTime, Decimal, SqlError, SqlResult, Time, Value};

/// Appends a value.
pub fn encode_value(value: &Value, out: &mut Vec<u8>) {
    match value {
        Value::Null => out.push(0),
        Value::Int(value) => tagged(1, &value.to_le_bytes(), out),
        Value::UInt(value) => tagged(2, &value.to_le_bytes(), out),
        Value::Double(value) => tagged(3, &value.to_bits().to_le_bytes(), out),
        Value::Decimal(value) => {
            tagged(4, &value.unscaled().to_le_bytes(), out);
            out.push(value.scale());
        }
        Value::String(text) => counted(5, text.as_bytes(), out),
        Value::Bytes(bytes) => counted(6, bytes, out),
        Value::Json(document) => counted(7, document.stored().as_bytes(), out),
        Value::Date(value) => tagged(8, &value.to_packed().to_le_bytes(), out),
        Value::DateTime(value) => tagged(9, &value.to_packed().to_le_bytes(), out),
        Value::Time(value) => tagged(10, &value.to_micros().to_le_bytes(), out),
    }
}

fn tagged(tag: u8, bytes: &[u8], out: &mut Vec<u8>) {
    out.push(tag);
    out.extend_from_slice(bytes);
}

fn counted(tag: u8, bytes: &[u8], out: &mut Vec<u8>) {
    out.push(tag);
    encode_bytes(bytes, out);
}

/// Appends bytes after their count.
pub fn encode_bytes(bytes: &[u8], out: &mut Vec<u8>) {
    out.extend_from_slice(&(bytes.len() as u64).to_le_bytes());
    out.extend_from_slice(bytes);
}

/// Takes a value off the front.
pub fn decode_value(input: &mut &[u8]) -> SqlResult<Value> {
    let [tag] = take::<1>(input)?;
    Ok(match tag {
        0 => Value::Null,
        1 => Value::Int(i64::from_le_bytes(take(input)?)),
        2 => Value::UInt(u64::from_le_bytes(take(input)?)),
        3 => Value::Double(f64::from_bits(u64::from_le_bytes(take(input)?))),
        4 => {
            let unscaled = arrow_buffer::i256::from_le_bytes(take(input)?);
            let [scale] = take::<1>(input)?;
            Value::Decimal(Decimal::new(unscaled, scale))
        }
        5 => Value::String(decode_text(input)?),
        6 => Value::Bytes(decode_bytes(input)?.to_vec()),
        7 => Value::Json(Document::from_stored(decode_text(input)?)),
        8 => Value::Date(Date::from_packed(u32::from_le_bytes(take(input)?))),
        9 => Value::DateTime(DateTime::from_packed(i64::from_le_bytes(take(input)?))),
        10 => Value::Time(Time::from_micros(i64::from_le_bytes(take(input)?)).unwrap_or_default()),
        _ => return Err(broken()),
    })
}

/// Takes bytes that stand after their count.
pub fn decode_bytes<'a>(input: &mut &'a [u8]) -> SqlResult<&'a [u8]> {
    let count = usize::try_from(u64::from_le_bytes(take(input)?)).map_err(|_| broken())?;
    let (bytes, rest) = input.split_at_checked(count).ok_or_else(broken)?;
    *input = rest;
    Ok(bytes)
}

fn decode_text(input: &mut &[u8]) -> SqlResult<String> {
    String::from_utf8(decode_bytes(input)?.to_vec()).map_err(|_| broken())
}

/// Takes a fixed number of bytes.
pub fn take<const N: usize>(input: &mut &[u8]) -> SqlResult<[u8; N]> {
    let (bytes, rest) = input.split_first_chunk::<N>().ok_or_else(broken)?;
    *input = rest;
    Ok(*bytes)
}

fn broken() -> SqlError {
    SqlError::internal("a broken state of an aggregate")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_round_trip() {
        let values = [
            Value::Null,
            Value::Int(-5),
            Value::UInt(u64::MAX),
            Value::Double(-0.5),
            Value::Decimal(Decimal::from_i128(-12345, 3)),
            Value::from("日本"),
            Value::Bytes(vec![0, 255]),
            Value::Json(Document::from_stored("[]")),
            Value::Date(Date::ZERO),
            Value::Time(Time::from_micros(-1).unwrap()),
        ];
        let mut bytes = Vec::new();
        values.iter().for_each(|value| encode_value(value, &mut bytes));
        let mut input = bytes.as_slice();
        for value in &values {
            assert_eq!(decode_value(&mut input).as_ref(), Ok(value));
        }
        assert!(decode_value(&mut input).is_err());
    }
}
