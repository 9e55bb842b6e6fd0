//! The physical form of a column's values in a row.

use squall_types::hex::UUID_BYTES;
use squall_types::{IntWidth, SqlType};

/// The stored form of a column. Its byte codes are part of the file format.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Physical {
    /// A two's complement integer of 1..=8 bytes.
    Signed(u8),
    /// An unsigned integer of 1..=8 bytes: integers, BIT, YEAR, ENUM, SET.
    Unsigned(u8),
    /// FLOAT.
    Float,
    /// DOUBLE.
    Double,
    /// An unscaled DECIMAL of 4, 8, 16 or 32 bytes.
    Decimal {
        /// Bytes.
        bytes: u8,
        /// Digits after the point.
        scale: u8,
    },
    /// A packed DATE, 4 bytes.
    Date,
    /// A packed DATETIME or TIMESTAMP, 8 bytes.
    DateTime,
    /// TIME in microseconds, 8 bytes.
    Time,
    /// UTF-8 of any length.
    String,
    /// Bytes of any length.
    Bytes,
    /// JSON text of any length.
    Json,
    /// This many bytes: HEX and UUID.
    Digits(u8),
}

impl Physical {
    /// The stored form of a type.
    pub fn of(sql_type: &SqlType) -> Physical {
        match sql_type {
            // A column of the NULL type holds nothing but NULL; its one byte is never read.
            SqlType::Null => Physical::Signed(1),
            SqlType::Int { width, unsigned, .. } => {
                let bytes = match width {
                    IntWidth::Tiny => 1,
                    IntWidth::Small => 2,
                    IntWidth::Medium => 3,
                    IntWidth::Int => 4,
                    IntWidth::Big => 8,
                };
                if *unsigned { Physical::Unsigned(bytes) } else { Physical::Signed(bytes) }
            }
            SqlType::Decimal { precision, scale, .. } => {
                let bytes = match precision {
                    0..=9 => 4,
                    10..=18 => 8,
                    19..=38 => 16,
                    _ => 32,
                };
                Physical::Decimal { bytes, scale: *scale }
            }
            SqlType::Float { .. } => Physical::Float,
            SqlType::Double { .. } => Physical::Double,
            SqlType::Bit { width } => Physical::Unsigned(width.div_ceil(8).clamp(1, 8)),
            SqlType::Year | SqlType::Enum { .. } => Physical::Unsigned(2),
            SqlType::Set { members, .. } => Physical::Unsigned((members.len().div_ceil(8)).clamp(1, 8) as u8),
            SqlType::Date => Physical::Date,
            SqlType::Time { .. } => Physical::Time,
            SqlType::DateTime { .. } | SqlType::Timestamp { .. } => Physical::DateTime,
            SqlType::String { .. } if sql_type.is_binary_string() => Physical::Bytes,
            SqlType::String { .. } => Physical::String,
            SqlType::Json => Physical::Json,
            // A HEX has at most 255 bytes.
            SqlType::Hex { digits } => Physical::Digits((digits / 2) as u8),
            SqlType::Uuid => Physical::Digits(UUID_BYTES as u8),
        }
    }

    /// Bytes in the fixed part of a row, or `None` for values of any length.
    pub fn fixed_bytes(self) -> Option<usize> {
        match self {
            Physical::Signed(bytes)
            | Physical::Unsigned(bytes)
            | Physical::Decimal { bytes, .. }
            | Physical::Digits(bytes) => Some(usize::from(bytes)),
            Physical::Float | Physical::Date => Some(4),
            Physical::Double | Physical::DateTime | Physical::Time => Some(8),
            Physical::String | Physical::Bytes | Physical::Json => None,
        }
    }

    /// The form as three bytes of the layout record.
    pub(crate) fn code(self) -> [u8; 3] {
        match self {
            Physical::Signed(bytes) => [1, bytes, 0],
            Physical::Unsigned(bytes) => [2, bytes, 0],
            Physical::Float => [3, 0, 0],
            Physical::Double => [4, 0, 0],
            Physical::Decimal { bytes, scale } => [5, bytes, scale],
            Physical::Date => [6, 0, 0],
            Physical::DateTime => [7, 0, 0],
            Physical::Time => [8, 0, 0],
            Physical::String => [9, 0, 0],
            Physical::Bytes => [10, 0, 0],
            Physical::Json => [11, 0, 0],
            Physical::Digits(bytes) => [12, bytes, 0],
        }
    }

    /// The form of a code.
    pub(crate) fn from_code(code: [u8; 3]) -> Option<Physical> {
        Some(match code {
            [1, bytes @ 1..=8, 0] => Physical::Signed(bytes),
            [2, bytes @ 1..=8, 0] => Physical::Unsigned(bytes),
            [3, 0, 0] => Physical::Float,
            [4, 0, 0] => Physical::Double,
            [5, bytes @ (4 | 8 | 16 | 32), scale @ 0..=30] => Physical::Decimal { bytes, scale },
            [6, 0, 0] => Physical::Date,
            [7, 0, 0] => Physical::DateTime,
            [8, 0, 0] => Physical::Time,
            [9, 0, 0] => Physical::String,
            [10, 0, 0] => Physical::Bytes,
            [11, 0, 0] => Physical::Json,
            [12, bytes @ 1..=255, 0] => Physical::Digits(bytes),
            _ => return None,
        })
    }
}
