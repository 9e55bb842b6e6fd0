//! The three kinds of values that storage knows: everything MySQL declares is one of them.

use crate::bytes::{DecodeResult, Decoder, Encoder};
use squall_types::{IntWidth, SqlType};
use std::cmp::Ordering;

/// How a column's values are compared and coded.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Domain {
    /// Whole numbers: integers, packed dates, times, DECIMALs of up to 18 digits by their unscaled value.
    Integer,
    /// FLOAT and DOUBLE.
    Float,
    /// Byte strings in memcmp order: text by its UTF-8, DECIMALs of more than 18 digits in an order-preserving form.
    Bytes,
}

/// The stored type of a column: what of a MySQL type decides the bytes. Its codes are part of the file format.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ColumnType {
    /// A signed integer of 1, 2, 4 or 8 bytes.
    Signed(u8),
    /// An unsigned integer of 1, 2, 4 or 8 bytes: integers, BIT, YEAR, an ENUM's ordinal, a SET's mask.
    Unsigned(u8),
    /// FLOAT.
    Float,
    /// DOUBLE.
    Double,
    /// DECIMAL.
    Decimal {
        /// Digits in all, 1..=65.
        precision: u8,
        /// Digits after the point, 0..=30.
        scale: u8,
    },
    /// DATE.
    Date,
    /// DATETIME.
    DateTime,
    /// TIMESTAMP, in UTC.
    Timestamp,
    /// TIME.
    Time,
    /// UTF-8.
    Text,
    /// Byte strings.
    Bytes,
    /// Documents in their stored form, which is UTF-8.
    Document,
}

/// DECIMALs of more digits than this do not fit 64 bits.
const INTEGER_DIGITS_MAX: u8 = 18;

impl ColumnType {
    /// The stored type of a MySQL type; `None` for the type of a bare NULL, which no column has.
    pub fn of(sql_type: &SqlType) -> Option<ColumnType> {
        Some(match sql_type {
            SqlType::Null => return None,
            SqlType::Int { width, unsigned, .. } => {
                let bytes = match width {
                    IntWidth::Tiny => 1,
                    IntWidth::Small => 2,
                    IntWidth::Medium | IntWidth::Int => 4,
                    IntWidth::Big => 8,
                };
                if *unsigned { ColumnType::Unsigned(bytes) } else { ColumnType::Signed(bytes) }
            }
            SqlType::Decimal { precision, scale, .. } => ColumnType::Decimal { precision: *precision, scale: *scale },
            SqlType::Float { .. } => ColumnType::Float,
            SqlType::Double { .. } => ColumnType::Double,
            SqlType::Bit { width } => ColumnType::Unsigned(width.div_ceil(8).next_power_of_two().clamp(1, 8)),
            SqlType::Year | SqlType::Enum { .. } => ColumnType::Unsigned(2),
            SqlType::Set { .. } => ColumnType::Unsigned(8),
            SqlType::Date => ColumnType::Date,
            SqlType::Time { .. } => ColumnType::Time,
            SqlType::DateTime { .. } => ColumnType::DateTime,
            SqlType::Timestamp { .. } => ColumnType::Timestamp,
            SqlType::String { .. } if sql_type.is_binary_string() => ColumnType::Bytes,
            SqlType::String { .. } => ColumnType::Text,
            SqlType::Json => ColumnType::Document,
            SqlType::Hex { .. } | SqlType::Uuid => ColumnType::Bytes,
        })
    }

    /// How values are compared and coded.
    pub fn domain(self) -> Domain {
        match self {
            ColumnType::Float | ColumnType::Double => Domain::Float,
            ColumnType::Text | ColumnType::Bytes | ColumnType::Document => Domain::Bytes,
            ColumnType::Decimal { precision, .. } if precision > INTEGER_DIGITS_MAX => Domain::Bytes,
            _ => Domain::Integer,
        }
    }

    pub(crate) fn encode(self, out: &mut Encoder) {
        let code = match self {
            ColumnType::Signed(bytes) => [1, bytes, 0],
            ColumnType::Unsigned(bytes) => [2, bytes, 0],
            ColumnType::Float => [3, 0, 0],
            ColumnType::Double => [4, 0, 0],
            ColumnType::Decimal { precision, scale } => [5, precision, scale],
            ColumnType::Date => [6, 0, 0],
            ColumnType::DateTime => [7, 0, 0],
            ColumnType::Timestamp => [8, 0, 0],
            ColumnType::Time => [9, 0, 0],
            ColumnType::Text => [10, 0, 0],
            ColumnType::Bytes => [11, 0, 0],
            ColumnType::Document => [12, 0, 0],
        };
        code.into_iter().for_each(|byte| out.u8(byte));
    }

    pub(crate) fn decode(input: &mut Decoder<'_>) -> DecodeResult<ColumnType> {
        Ok(match [input.u8()?, input.u8()?, input.u8()?] {
            [1, bytes @ (1 | 2 | 4 | 8), 0] => ColumnType::Signed(bytes),
            [2, bytes @ (1 | 2 | 4 | 8), 0] => ColumnType::Unsigned(bytes),
            [3, 0, 0] => ColumnType::Float,
            [4, 0, 0] => ColumnType::Double,
            [5, precision @ 1..=65, scale @ 0..=30] => ColumnType::Decimal { precision, scale },
            [6, 0, 0] => ColumnType::Date,
            [7, 0, 0] => ColumnType::DateTime,
            [8, 0, 0] => ColumnType::Timestamp,
            [9, 0, 0] => ColumnType::Time,
            [10, 0, 0] => ColumnType::Text,
            [11, 0, 0] => ColumnType::Bytes,
            [12, 0, 0] => ColumnType::Document,
            code => return Err(format!("unknown column type {code:?}")),
        })
    }
}

/// One value of a domain, outside of any column. Values of one column have one variant.
#[derive(Clone, Debug, PartialEq)]
pub enum Datum {
    /// A value of [`Domain::Integer`].
    Integer(i128),
    /// A value of [`Domain::Float`]; never NaN, which SQL does not have.
    Float(f64),
    /// A value of [`Domain::Bytes`].
    Bytes(Box<[u8]>),
}

impl Datum {
    /// The order of two values of one domain; values of different domains order by domain.
    pub fn order(&self, other: &Datum) -> Ordering {
        match (self, other) {
            (Datum::Integer(a), Datum::Integer(b)) => a.cmp(b),
            (Datum::Float(a), Datum::Float(b)) => a.partial_cmp(b).unwrap_or_else(|| a.total_cmp(b)),
            (Datum::Bytes(a), Datum::Bytes(b)) => a.cmp(b),
            _ => (self.domain() as u8).cmp(&(other.domain() as u8)),
        }
    }

    /// The domain.
    pub fn domain(&self) -> Domain {
        match self {
            Datum::Integer(_) => Domain::Integer,
            Datum::Float(_) => Domain::Float,
            Datum::Bytes(_) => Domain::Bytes,
        }
    }

    pub(crate) fn encode(&self, out: &mut Encoder) {
        match self {
            Datum::Integer(value) => out.i128(*value),
            Datum::Float(value) => out.u64(value.to_bits()),
            Datum::Bytes(value) => out.counted(value),
        }
    }

    pub(crate) fn decode(domain: Domain, input: &mut Decoder<'_>) -> DecodeResult<Datum> {
        Ok(match domain {
            Domain::Integer => Datum::Integer(input.i128()?),
            Domain::Float => match f64::from_bits(input.u64()?) {
                value if value.is_nan() => return Err("has a number that is none".to_string()),
                value => Datum::Float(value),
            },
            Domain::Bytes => Datum::Bytes(input.counted()?.into()),
        })
    }

    /// The fewest bytes that [`Datum::encode`] writes for a value of a domain.
    pub(crate) fn encoded_bytes_min(domain: Domain) -> usize {
        match domain {
            Domain::Integer => 16,
            Domain::Float => 8,
            Domain::Bytes => 4,
        }
    }
}

/// The least byte string above all that begin with `prefix`; `None` if there is none, because every byte is 0xff.
pub fn prefix_successor(prefix: &[u8]) -> Option<Box<[u8]>> {
    let last = prefix.iter().rposition(|byte| *byte != 0xff)?;
    let mut successor = prefix[..=last].to_vec();
    successor[last] += 1;
    Some(successor.into())
}
