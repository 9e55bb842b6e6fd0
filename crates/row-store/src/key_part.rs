//! Order-preserving bytes for one part of a key.
//!
//! ```text
//! nullable part:  00 (NULL) | 01 payload        other part:  payload        descending: every byte inverted
//! ```
//!
//! Each payload tells its own end, so parts follow one another directly and a prefix of parts is a prefix of bytes.

use crate::physical::Physical;
use crate::row::unscaled_at;
use arrow_buffer::i256;
use squall_types::{CollationId, Date, DateTime, Decimal, SqlError, SqlResult, Time, Value};

/// What is needed to encode one part of a key.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct KeyPart {
    /// Ordinal of the column in the table definition.
    pub ordinal: usize,
    pub physical: Physical,
    pub nullable: bool,
    pub descending: bool,
    /// Longest prefix taken, in characters (bytes for byte strings).
    pub prefix: Option<u32>,
    /// For character strings.
    pub collation: CollationId,
}

impl KeyPart {
    /// Whether the column's value can be had back from the key.
    pub fn is_reversible(&self) -> bool {
        match self.physical {
            Physical::String | Physical::Json => false,
            Physical::Bytes => self.prefix.is_none(),
            _ => true,
        }
    }

    /// Appends the value.
    pub fn encode(&self, value: &Value, out: &mut Vec<u8>) -> SqlResult<()> {
        let start = out.len();
        if value.is_null() {
            if !self.nullable {
                return Err(SqlError::internal("NULL in a key part that has none"));
            }
            out.push(0);
        } else {
            if self.nullable {
                out.push(1);
            }
            self.payload(value, out)
                .ok_or_else(|| SqlError::internal(format_args!("value {value:?} in a key of {:?}", self.physical)))?;
        }
        if self.descending {
            out[start..].iter_mut().for_each(|byte| *byte = !*byte);
        }
        Ok(())
    }

    fn payload(&self, value: &Value, out: &mut Vec<u8>) -> Option<()> {
        match (self.physical, value) {
            (Physical::Signed(bytes), _) => {
                let number = match value {
                    Value::Int(number) => *number,
                    Value::UInt(number) => i64::try_from(*number).ok()?,
                    _ => return None,
                };
                push_signed(number, bytes, out)
            }
            (Physical::Unsigned(bytes), _) => {
                let number = match value {
                    Value::UInt(number) => *number,
                    Value::Int(number) => u64::try_from(*number).ok()?,
                    _ => return None,
                };
                let wide = number.to_be_bytes();
                let (unused, used) = wide.split_at(8 - usize::from(bytes));
                out.extend_from_slice(used);
                unused.iter().all(|byte| *byte == 0).then_some(())
            }
            (Physical::Float, Value::Double(number)) => {
                push_double(f64::from(*number as f32), out);
                Some(())
            }
            (Physical::Double, Value::Double(number)) => {
                push_double(*number, out);
                Some(())
            }
            (Physical::Decimal { bytes, scale }, Value::Decimal(number)) => {
                let unscaled = unscaled_at(*number, scale)?;
                if bytes <= 8 {
                    return push_signed(i64::try_from(unscaled.to_i128()?).ok()?, bytes, out);
                }
                let mut wide = unscaled.to_be_bytes();
                wide[32 - usize::from(bytes)] ^= 0x80;
                out.extend_from_slice(&wide[32 - usize::from(bytes)..]);
                Some(())
            }
            (Physical::Date, Value::Date(date)) => {
                out.extend_from_slice(&date.to_packed().to_be_bytes());
                Some(())
            }
            (Physical::DateTime, Value::DateTime(at)) => push_signed(at.to_packed(), 8, out),
            (Physical::Time, Value::Time(time)) => push_signed(time.to_micros(), 8, out),
            (Physical::Bytes, Value::Bytes(bytes)) => {
                push_escaped(&bytes[..self.prefix.map_or(bytes.len(), |most| bytes.len().min(most as usize))], out);
                Some(())
            }
            (Physical::Bytes, Value::String(text)) => self.payload(&Value::Bytes(text.as_bytes().to_vec()), out),
            (Physical::String | Physical::Json, Value::String(text) | Value::Json(text)) => {
                let text = match self.prefix {
                    Some(most) => text.char_indices().nth(most as usize).map_or(&text[..], |(end, _)| &text[..end]),
                    None => text,
                };
                crate::sort_key::append(self.collation, text, out, push_escaped);
                Some(())
            }
            // A sort key that was made elsewhere, as for a join.
            (Physical::String, Value::Bytes(sort_key)) => {
                push_escaped(sort_key, out);
                Some(())
            }
            _ => None,
        }
    }

    /// Takes the part off the front of a key: its value if the part is reversible, and what follows it.
    pub fn decode<'k>(&self, key: &'k [u8]) -> Option<(Option<Value>, &'k [u8])> {
        let flip = if self.descending { 0xFF } else { 0 };
        let mut rest = key;
        if self.nullable {
            let (marker, tail) = rest.split_first()?;
            rest = tail;
            if marker ^ flip == 0 {
                return Some((Some(Value::Null), rest));
            }
        }
        match self.physical.fixed_bytes() {
            Some(len) => {
                let len = match self.physical {
                    Physical::Float => 8,
                    _ => len,
                };
                let (payload, tail) = rest.split_at_checked(len)?;
                let mut bytes = [0; 32];
                bytes[32 - len..].copy_from_slice(payload);
                bytes[32 - len..].iter_mut().for_each(|byte| *byte ^= flip);
                Some((Some(self.fixed_value(&bytes, len)?), tail))
            }
            None => {
                let (bytes, tail) = take_escaped(rest, flip)?;
                Some((self.is_reversible().then_some(Value::Bytes(bytes)), tail))
            }
        }
    }

    fn fixed_value(&self, wide: &[u8; 32], len: usize) -> Option<Value> {
        let low: [u8; 8] = wide[24..].try_into().ok()?;
        let unsigned = u64::from_be_bytes(low);
        let signed = || {
            let unused = 64 - 8 * len as u32;
            // The sign bit was flipped for order; flip it back and extend it.
            (((unsigned ^ 1 << (8 * len - 1)) << unused) as i64) >> unused
        };
        Some(match self.physical {
            Physical::Signed(_) => Value::Int(signed()),
            Physical::Unsigned(_) => Value::UInt(unsigned),
            Physical::Float | Physical::Double => {
                let bits = if unsigned >> 63 == 1 { unsigned ^ 1 << 63 } else { !unsigned };
                Value::Double(f64::from_bits(bits))
            }
            Physical::Decimal { bytes, scale } if bytes <= 8 => {
                Value::Decimal(Decimal::new(i256::from_i128(i128::from(signed())), scale))
            }
            Physical::Decimal { bytes, scale } => {
                let mut number = *wide;
                let first = 32 - usize::from(bytes);
                number[first] ^= 0x80;
                let sign = if number[first] & 0x80 == 0 { 0 } else { 0xFF };
                number[..first].fill(sign);
                Value::Decimal(Decimal::new(i256::from_be_bytes(number), scale))
            }
            Physical::Date => Value::Date(Date::from_packed(unsigned as u32)),
            Physical::DateTime => Value::DateTime(DateTime::from_packed(signed())),
            Physical::Time => Value::Time(Time::from_micros(signed())?),
            Physical::String | Physical::Bytes | Physical::Json => return None,
        })
    }
}

fn push_signed(number: i64, bytes: u8, out: &mut Vec<u8>) -> Option<()> {
    let unused = 64 - 8 * u32::from(bytes);
    if number << unused >> unused != number {
        return None;
    }
    let mut wide = number.to_be_bytes();
    let first = 8 - usize::from(bytes);
    wide[first] ^= 0x80;
    out.extend_from_slice(&wide[first..]);
    Some(())
}

fn push_double(number: f64, out: &mut Vec<u8>) {
    // -0.0 and 0.0 are one value to SQL.
    let bits = (number + 0.0).to_bits();
    let ordered = if bits >> 63 == 0 { bits ^ 1 << 63 } else { !bits };
    out.extend_from_slice(&ordered.to_be_bytes());
}

/// Bytes with an end: `00 01` ends them, `00 FF` is a zero byte within.
fn push_escaped(bytes: &[u8], out: &mut Vec<u8>) {
    let mut rest = bytes;
    while let Some(at) = rest.iter().position(|byte| *byte == 0) {
        out.extend_from_slice(&rest[..=at]);
        out.push(0xFF);
        rest = &rest[at + 1..];
    }
    out.extend_from_slice(rest);
    out.extend_from_slice(&[0, 1]);
}

fn take_escaped(key: &[u8], flip: u8) -> Option<(Vec<u8>, &[u8])> {
    let mut bytes = Vec::new();
    let mut at = 0;
    loop {
        let byte = key.get(at)? ^ flip;
        if byte != 0 {
            bytes.push(byte);
            at += 1;
            continue;
        }
        match key.get(at + 1)? ^ flip {
            0xFF => bytes.push(0),
            1 => return Some((bytes, &key[at + 2..])),
            _ => return None,
        }
        at += 2;
    }
}
