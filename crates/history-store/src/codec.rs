//! Encodes columns of values.
//!
//! A column begins with its kind; with NULLs among its values a bitmap follows, a bit for each row that has a value. Whole numbers
//! are variable-length (7 bits a byte, low ones first; signed ones zigzag); texts are their lengths, then their bytes.

use squall_types::json::Document;
use squall_types::{Date, DateTime, Time, Value};

/// Bytes that are read and may be anything.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Input<'a>(pub &'a [u8]);

/// The bytes are not what was written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Damaged;

type Decoded<T> = Result<T, Damaged>;

impl<'a> Input<'a> {
    pub fn take(&mut self, count: usize) -> Decoded<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(count).ok_or(Damaged)?;
        self.0 = rest;
        Ok(taken)
    }

    pub fn byte(&mut self) -> Decoded<u8> {
        Ok(self.take(1)?[0])
    }

    pub fn array<const N: usize>(&mut self) -> Decoded<[u8; N]> {
        self.take(N)?.try_into().map_err(|_| Damaged)
    }

    pub fn varint(&mut self) -> Decoded<u64> {
        let mut number = 0u64;
        for shift in (0..64).step_by(7) {
            let byte = self.byte()?;
            number |= u64::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                return Ok(number);
            }
        }
        Err(Damaged)
    }

    /// A count or length of things of which each takes at least `unit_bits` bits of what is left.
    pub fn length(&mut self, unit_bits: usize) -> Decoded<usize> {
        let length = usize::try_from(self.varint()?).map_err(|_| Damaged)?;
        let bits = length.checked_mul(unit_bits).ok_or(Damaged)?;
        if bits > self.0.len() * 8 { Err(Damaged) } else { Ok(length) }
    }

    pub fn signed(&mut self) -> Decoded<i64> {
        let number = self.varint()?;
        Ok((number >> 1) as i64 ^ -((number & 1) as i64))
    }

    pub fn bytes(&mut self) -> Decoded<&'a [u8]> {
        let length = self.length(8)?;
        self.take(length)
    }

    pub fn text(&mut self) -> Decoded<String> {
        String::from_utf8(self.bytes()?.to_vec()).map_err(|_| Damaged)
    }
}

pub(crate) fn put_varint(out: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        out.push(number as u8 | 0x80);
        number >>= 7;
    }
    out.push(number as u8);
}

fn put_signed(out: &mut Vec<u8>, number: i64) {
    put_varint(out, ((number << 1) ^ (number >> 63)) as u64);
}

pub(crate) fn put_bytes(out: &mut Vec<u8>, bytes: &[u8]) {
    put_varint(out, bytes.len() as u64);
    out.extend_from_slice(bytes);
}

/// What the values of a column are, NULLs aside.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Nothing = 0,
    UInt = 1,
    Int = 2,
    Double = 3,
    Text = 4,
    Bytes = 5,
    DateTime = 6,
    Time = 7,
    Date = 8,
    Json = 9,
    /// Each value has its kind before it.
    Mixed = 10,
}

const KINDS: [Kind; 11] = [
    Kind::Nothing,
    Kind::UInt,
    Kind::Int,
    Kind::Double,
    Kind::Text,
    Kind::Bytes,
    Kind::DateTime,
    Kind::Time,
    Kind::Date,
    Kind::Json,
    Kind::Mixed,
];

/// Some values are NULL.
const WITH_NULLS: u8 = 0x80;

fn kind_of(value: &Value) -> Kind {
    match value {
        Value::Null => Kind::Nothing,
        Value::UInt(_) => Kind::UInt,
        Value::Int(_) => Kind::Int,
        Value::Double(_) => Kind::Double,
        // No table that is kept has decimals so far; their text says the same.
        Value::String(_) | Value::Decimal(_) => Kind::Text,
        Value::Bytes(_) => Kind::Bytes,
        Value::DateTime(_) => Kind::DateTime,
        Value::Time(_) => Kind::Time,
        Value::Date(_) => Kind::Date,
        Value::Json(_) => Kind::Json,
    }
}

/// Adds a column.
pub(crate) fn encode<'v>(values: impl Iterator<Item = &'v Value> + Clone, out: &mut Vec<u8>) {
    let mut kind = Kind::Nothing;
    let mut nulls = false;
    for value in values.clone() {
        match kind_of(value) {
            Kind::Nothing => nulls = true,
            own if kind == Kind::Nothing => kind = own,
            own if own != kind => {
                kind = Kind::Mixed;
            }
            _ => {}
        }
    }
    let nulls = nulls && kind != Kind::Nothing;
    out.push(kind as u8 | if nulls { WITH_NULLS } else { 0 });
    if nulls {
        let start = out.len();
        for (row, value) in values.clone().enumerate() {
            if row % 8 == 0 {
                out.push(0);
            }
            out[start + row / 8] |= u8::from(!value.is_null()) << (row % 8);
        }
    }
    for value in values.filter(|value| !value.is_null()) {
        if kind == Kind::Mixed {
            out.push(kind_of(value) as u8);
        }
        put_value(value, out);
    }
}

fn put_value(value: &Value, out: &mut Vec<u8>) {
    match value {
        Value::Null => {}
        Value::UInt(number) => put_varint(out, *number),
        Value::Int(number) => put_signed(out, *number),
        Value::Double(number) => out.extend_from_slice(&number.to_le_bytes()),
        Value::Decimal(number) => put_bytes(out, number.to_string().as_bytes()),
        Value::String(text) => put_bytes(out, text.as_bytes()),
        Value::Json(document) => put_bytes(out, document.stored().as_bytes()),
        Value::Bytes(bytes) => put_bytes(out, bytes),
        Value::DateTime(moment) => put_signed(out, moment.to_packed()),
        Value::Time(time) => put_signed(out, time.to_micros()),
        Value::Date(date) => put_varint(out, u64::from(date.to_packed())),
    }
}

/// Reads a column of this many rows.
pub(crate) fn decode(input: &mut Input<'_>, rows: usize) -> Decoded<Vec<Value>> {
    let first = input.byte()?;
    let kind = *KINDS.get(usize::from(first & !WITH_NULLS)).ok_or(Damaged)?;
    if kind == Kind::Nothing {
        return Ok(vec![Value::Null; rows]);
    }
    let present = if first & WITH_NULLS != 0 { Some(input.take(rows.div_ceil(8))?) } else { None };
    let mut values = Vec::with_capacity(rows.min(input.0.len() * 8 + 1));
    for row in 0..rows {
        if present.is_some_and(|bits| bits[row / 8] >> (row % 8) & 1 == 0) {
            values.push(Value::Null);
            continue;
        }
        let own = match kind {
            Kind::Mixed => *KINDS.get(usize::from(input.byte()?)).ok_or(Damaged)?,
            kind => kind,
        };
        values.push(value(own, input)?);
    }
    Ok(values)
}

fn value(kind: Kind, input: &mut Input<'_>) -> Decoded<Value> {
    Ok(match kind {
        Kind::UInt => Value::UInt(input.varint()?),
        Kind::Int => Value::Int(input.signed()?),
        Kind::Double => Value::Double(f64::from_le_bytes(input.array()?)),
        Kind::Text => Value::String(input.text()?),
        Kind::Json => Value::Json(Document::from_stored(input.text()?)),
        Kind::Bytes => Value::Bytes(input.bytes()?.to_vec()),
        Kind::DateTime => Value::DateTime(DateTime::from_packed(input.signed()?)),
        Kind::Time => Value::Time(Time::from_micros(input.signed()?).ok_or(Damaged)?),
        Kind::Date => Value::Date(Date::from_packed(u32::try_from(input.varint()?).map_err(|_| Damaged)?)),
        Kind::Nothing | Kind::Mixed => return Err(Damaged),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use squall_test_support::random::Random;

    fn round_trip(values: &[Value]) {
        let mut bytes = Vec::new();
        encode(values.iter(), &mut bytes);
        let mut input = Input(&bytes);
        assert_eq!(decode(&mut input, values.len()).as_deref(), Ok(values));
        assert!(input.0.is_empty());
        // No part of it is taken for the whole, and none makes the reader fall.
        for end in 0..bytes.len() {
            let _ = decode(&mut Input(&bytes[..end]), values.len());
        }
    }

    #[test]
    fn columns_come_back() {
        let text = |text: &str| Value::from(text);
        round_trip(&[]);
        round_trip(&[Value::Null, Value::Null]);
        round_trip(&[Value::UInt(0), Value::UInt(u64::MAX), Value::UInt(127), Value::UInt(128)]);
        round_trip(&[Value::Int(i64::MIN), Value::Null, Value::Int(-1), Value::Int(i64::MAX)]);
        round_trip(&[text(""), text("naïve"), Value::Null]);
        round_trip(&[Value::Double(1.5), Value::Double(-0.25)]);
        round_trip(&[text("a"), Value::UInt(1), Value::Null, Value::Bytes(vec![0, 255])]);
        round_trip(&[Value::DateTime(DateTime::from_unix_micros(1_424_000_000_123_456).expect("a moment"))]);
        round_trip(&[Value::Time(Time::from_micros(-5).expect("a time")), Value::Json(Document::from_stored("{}"))]);
    }

    #[test]
    fn any_bytes_are_read_without_harm() {
        let mut random = Random::of_run("any_bytes_are_read_without_harm");
        for _ in 0..20_000 {
            let bytes: Vec<u8> = (0..24).map(|_| random.below(256) as u8).collect();
            let _ = decode(&mut Input(&bytes), 9);
        }
    }
}
