//! Index keys: values as bytes whose order is MySQL's order.
//!
//! A key is its parts one after the other. A part is one byte for a nullable column (0 for NULL, 1 otherwise), then the value:
//!
//! ```text
//! integers, DECIMAL, BIT, YEAR, ENUM, SET   fixed width by type, big-endian, sign bit turned over
//! FLOAT, DOUBLE                             4 or 8 bytes, IEEE bits turned so that they order
//! DATE, TIME, DATETIME, TIMESTAMP           3, 6 and 8 bytes of the packed form
//! HEX, UUID                                 their bytes
//! strings                                   sort key (bytes for binary ones) with 00 -> 01 01, 01 -> 01 02, then 00
//! ```
//!
//! A descending part has all its bytes inverted. A string can be decoded from a key only in the collations `binary` and
//! `utf8mb4_0900_bin`.

use crate::{CollationId, Date, DateTime, Decimal, SqlError, SqlResult, SqlType, Time, Value, collation};
use arrow_buffer::i256;

/// One part of a key.
#[derive(Clone, Debug, PartialEq)]
pub struct KeyPart {
    /// The column's type.
    pub sql_type: SqlType,
    /// Characters (bytes of binary strings) that count, for `KEY (column(10))`.
    pub prefix_length: Option<u32>,
    /// DESC.
    pub descending: bool,
    /// Whether the column may be NULL.
    pub nullable: bool,
}

/// Bytes after a string that end it: without them its encoding begins those of all strings whose keys begin so.
pub const STRING_END_BYTES: usize = 1;

/// Ends a string.
const END: u8 = 0;
/// Begins the two bytes that stand for a 0 or 1 in a string.
const ESCAPE: u8 = 1;

impl KeyPart {
    /// A whole column in ascending order.
    pub fn ascending(sql_type: SqlType, nullable: bool) -> KeyPart {
        KeyPart { sql_type, prefix_length: None, descending: false, nullable }
    }

    /// Appends the value. It must be of the column's type and in its range, as stored values are; anything else is an
    /// internal error, so callers convert what they look up to the column's type first.
    pub fn encode(&self, value: &Value, out: &mut Vec<u8>) -> SqlResult<()> {
        let start = out.len();
        match (value, self.nullable) {
            (Value::Null, true) => out.push(0),
            (Value::Null, false) => return Err(misfit("NULL", &self.sql_type)),
            (_, nullable) => {
                if nullable {
                    out.push(1);
                }
                self.encode_value(value, out)?;
            }
        }
        if self.descending {
            out[start..].iter_mut().for_each(|byte| *byte = !*byte);
        }
        Ok(())
    }

    /// Appends a text by its sort key, made by the column's collation before.
    pub fn encode_sort_key(&self, sort_key: &[u8], out: &mut Vec<u8>) {
        let start = out.len();
        if self.nullable {
            out.push(1);
        }
        push_escaped(sort_key, out);
        if self.descending {
            out[start..].iter_mut().for_each(|byte| *byte = !*byte);
        }
    }

    fn encode_value(&self, value: &Value, out: &mut Vec<u8>) -> SqlResult<()> {
        match (&self.sql_type, value) {
            (SqlType::Int { width, unsigned, .. }, Value::Int(_) | Value::UInt(_)) => {
                let number = integer(value);
                let bytes = width.bits() as usize / 8;
                let bits = 8 * bytes as u32;
                let (low, high) = if *unsigned {
                    (0, (1i128 << bits) - 1)
                } else {
                    (-(1i128 << (bits - 1)), (1i128 << (bits - 1)) - 1)
                };
                if !(low..=high).contains(&number) {
                    return Err(misfit(number, &self.sql_type));
                }
                push_number((number - low) as u64, bytes, out);
            }
            (SqlType::Decimal { precision, scale, .. }, Value::Decimal(decimal)) => {
                encode_decimal(*decimal, *precision, *scale, out).ok_or_else(|| misfit(decimal, &self.sql_type))?;
            }
            (SqlType::Float { .. }, Value::Double(number)) => {
                let bits = ((*number as f32) + 0.0).to_bits();
                let ordered = if bits >> 31 == 1 { !bits } else { bits | 1 << 31 };
                out.extend_from_slice(&ordered.to_be_bytes());
            }
            (SqlType::Double { .. }, Value::Double(number)) => {
                // Adding zero makes -0 and 0 one key.
                let bits = (number + 0.0).to_bits();
                let ordered = if bits >> 63 == 1 { !bits } else { bits | 1 << 63 };
                out.extend_from_slice(&ordered.to_be_bytes());
            }
            (
                SqlType::Bit { .. } | SqlType::Year | SqlType::Enum { .. } | SqlType::Set { .. },
                Value::UInt(_) | Value::Int(_),
            ) => {
                let number = u64::try_from(integer(value)).map_err(|_| misfit("a negative number", &self.sql_type))?;
                let bytes = unsigned_bytes(&self.sql_type);
                let number = if self.sql_type == SqlType::Year { number.saturating_sub(1900) } else { number };
                if bytes < 8 && number >> (8 * bytes) != 0 {
                    return Err(misfit(number, &self.sql_type));
                }
                push_number(number, bytes, out);
            }
            (SqlType::Date, Value::Date(date)) => push_number(u64::from(date.to_packed()), 3, out),
            (SqlType::Time { .. }, Value::Time(time)) => {
                push_number((time.to_micros() + TIME_OFFSET) as u64, 6, out);
            }
            (SqlType::DateTime { .. } | SqlType::Timestamp { .. }, Value::DateTime(moment)) => {
                push_number(moment.to_packed() as u64, 8, out);
            }
            (SqlType::Hex { .. } | SqlType::Uuid, Value::Bytes(bytes)) => {
                if self.sql_type.digit_bytes() != Some(bytes.len()) {
                    return Err(misfit("a value of another length", &self.sql_type));
                }
                out.extend_from_slice(bytes);
            }
            (SqlType::String { collation, .. }, Value::String(text)) => self.encode_text(*collation, text, out),
            (SqlType::String { collation, .. }, Value::Bytes(bytes)) => {
                if *collation == CollationId::BINARY {
                    let length = self.prefix_length.map_or(bytes.len(), |prefix| bytes.len().min(prefix as usize));
                    push_escaped(&bytes[..length], out);
                } else {
                    self.encode_text(*collation, &String::from_utf8_lossy(bytes), out);
                }
            }
            (sql_type, _) => return Err(misfit("a value of another type", sql_type)),
        }
        Ok(())
    }

    fn encode_text(&self, collation: CollationId, text: &str, out: &mut Vec<u8>) {
        let text = match self.prefix_length {
            Some(prefix) if collation == CollationId::BINARY => {
                let length = text.len().min(prefix as usize);
                return push_escaped(&text.as_bytes()[..length], out);
            }
            Some(prefix) if text.len() > prefix as usize => {
                text.char_indices().nth(prefix as usize).map_or(text, |(end, _)| &text[..end])
            }
            _ => text,
        };
        // The key is written in place; only if it has bytes to escape is it written again.
        let start = out.len();
        collation::sort_key(collation, text, out);
        if out[start..].iter().any(|byte| *byte <= ESCAPE) {
            let key = out.split_off(start);
            push_escaped(&key, out);
        } else {
            out.push(END);
        }
    }

    /// Whether [`KeyPart::decode`] gives values back.
    pub fn is_reversible(&self) -> bool {
        match &self.sql_type {
            SqlType::String { collation, .. } => {
                self.prefix_length.is_none()
                    && matches!(*collation, CollationId::BINARY | CollationId::UTF8MB4_0900_BIN)
            }
            SqlType::Json | SqlType::Null => false,
            _ => true,
        }
    }

    /// Reads the part from the front of `key` and moves `key` past it. `None` stands for a value that its key does not
    /// give back; NULL is always given back.
    pub fn decode(&self, key: &mut &[u8]) -> SqlResult<Option<Value>> {
        let mut reader = Reader { rest: key, inverted: self.descending };
        if self.nullable {
            match reader.number(1)? {
                0 => {
                    *key = reader.rest;
                    return Ok(Some(Value::Null));
                }
                1 => {}
                _ => return Err(corrupt()),
            }
        }
        let value = self.decode_value(&mut reader)?;
        *key = reader.rest;
        Ok(value)
    }

    fn decode_value(&self, reader: &mut Reader<'_>) -> SqlResult<Option<Value>> {
        Ok(Some(match &self.sql_type {
            SqlType::Int { width, unsigned, .. } => {
                let bytes = width.bits() as usize / 8;
                let number = reader.number(bytes)?;
                if *unsigned {
                    Value::UInt(number)
                } else {
                    Value::Int((i128::from(number) - (1i128 << (8 * bytes - 1))) as i64)
                }
            }
            SqlType::Decimal { precision, scale, .. } => {
                let bytes = decimal_bytes(*precision);
                let mut wide = [0u8; 32];
                let encoded = &mut wide[32 - bytes..];
                for byte in encoded.iter_mut() {
                    *byte = reader.number(1)? as u8;
                }
                encoded[0] ^= 0x80;
                if encoded[0] & 0x80 != 0 {
                    wide[..32 - bytes].fill(0xFF);
                }
                Value::Decimal(Decimal::new(i256::from_be_bytes(wide), *scale))
            }
            SqlType::Float { .. } => {
                let bits = reader.number(4)? as u32;
                let bits = if bits >> 31 == 1 { bits & !(1 << 31) } else { !bits };
                Value::Double(f64::from(f32::from_bits(bits)))
            }
            SqlType::Double { .. } => {
                let bits = reader.number(8)?;
                Value::Double(f64::from_bits(if bits >> 63 == 1 { bits & !(1 << 63) } else { !bits }))
            }
            SqlType::Year => Value::UInt(match reader.number(1)? {
                0 => 0,
                years => years + 1900,
            }),
            SqlType::Bit { .. } | SqlType::Enum { .. } | SqlType::Set { .. } => {
                Value::UInt(reader.number(unsigned_bytes(&self.sql_type))?)
            }
            SqlType::Date => Value::Date(Date::from_packed(reader.number(3)? as u32)),
            SqlType::Time { .. } => {
                let micros = reader.number(6)? as i64 - TIME_OFFSET;
                Value::Time(Time::from_micros(micros).ok_or_else(corrupt)?)
            }
            SqlType::DateTime { .. } | SqlType::Timestamp { .. } => {
                Value::DateTime(DateTime::from_packed(reader.number(8)? as i64))
            }
            SqlType::String { collation, .. } => {
                let bytes = reader.string()?;
                if !self.is_reversible() {
                    return Ok(None);
                }
                if *collation == CollationId::BINARY {
                    Value::Bytes(bytes)
                } else {
                    Value::String(String::from_utf8(bytes).map_err(|_| corrupt())?)
                }
            }
            SqlType::Hex { .. } | SqlType::Uuid => {
                Value::Bytes(reader.bytes(self.sql_type.digit_bytes().unwrap_or_default())?)
            }
            SqlType::Json | SqlType::Null => return Err(corrupt()),
        }))
    }
}

/// Added to a TIME's microseconds so that six bytes without a sign hold it.
const TIME_OFFSET: i64 = 1 << 42;

fn misfit(value: impl std::fmt::Display, sql_type: &SqlType) -> SqlError {
    SqlError::internal(format_args!("{value} does not fit a key of type {sql_type:?}"))
}

fn corrupt() -> SqlError {
    SqlError::internal("an index key is malformed")
}

fn integer(value: &Value) -> i128 {
    match value {
        Value::Int(number) => i128::from(*number),
        Value::UInt(number) => i128::from(*number),
        _ => 0,
    }
}

/// Bytes of the types that are held as unsigned numbers.
fn unsigned_bytes(sql_type: &SqlType) -> usize {
    match sql_type {
        SqlType::Bit { width } => usize::from(*width).div_ceil(8).clamp(1, 8),
        SqlType::Year => 1,
        SqlType::Enum { .. } => 2,
        _ => 8,
    }
}

/// Bytes that hold every number of this many digits and a sign.
fn decimal_bytes(precision: u8) -> usize {
    // log2(10) = 3.3219…
    (usize::from(precision.clamp(1, Decimal::PRECISION_MAX)) * 33_220 / 10_000 + 2).div_ceil(8)
}

fn encode_decimal(decimal: Decimal, precision: u8, scale: u8, out: &mut Vec<u8>) -> Option<()> {
    let fitted = decimal.fit(precision, scale);
    if fitted.clamped || fitted.rounded {
        return None;
    }
    let wide = fitted.value.unscaled().to_be_bytes();
    let start = out.len();
    out.extend_from_slice(&wide[32 - decimal_bytes(precision)..]);
    out[start] ^= 0x80;
    Some(())
}

/// Appends the low `bytes` bytes, the highest first.
fn push_number(number: u64, bytes: usize, out: &mut Vec<u8>) {
    out.extend_from_slice(&number.to_be_bytes()[8 - bytes..]);
}

fn push_escaped(bytes: &[u8], out: &mut Vec<u8>) {
    out.reserve(bytes.len() + 1);
    for byte in bytes {
        if *byte <= ESCAPE {
            out.extend_from_slice(&[ESCAPE, byte + 1]);
        } else {
            out.push(*byte);
        }
    }
    out.push(END);
}

/// Reads a part, turning inverted bytes back.
struct Reader<'a> {
    rest: &'a [u8],
    inverted: bool,
}

impl Reader<'_> {
    fn number(&mut self, bytes: usize) -> SqlResult<u64> {
        let (bytes, rest) = self.rest.split_at_checked(bytes).ok_or_else(corrupt)?;
        self.rest = rest;
        let turn = if self.inverted { 0xFF } else { 0 };
        Ok(bytes.iter().fold(0, |number, byte| number << 8 | u64::from(byte ^ turn)))
    }

    fn bytes(&mut self, bytes: usize) -> SqlResult<Vec<u8>> {
        let (bytes, rest) = self.rest.split_at_checked(bytes).ok_or_else(corrupt)?;
        self.rest = rest;
        let turn = if self.inverted { 0xFF } else { 0 };
        Ok(bytes.iter().map(|byte| byte ^ turn).collect())
    }

    fn string(&mut self) -> SqlResult<Vec<u8>> {
        let mut string = Vec::new();
        loop {
            match self.number(1)? as u8 {
                END => return Ok(string),
                ESCAPE => match self.number(1)? {
                    escaped @ 1..=2 => string.push(escaped as u8 - 1),
                    _ => return Err(corrupt()),
                },
                byte => string.push(byte),
            }
        }
    }
}

#[cfg(test)]
#[path = "key_codec_tests.rs"]
mod tests;
