//! Rows of the binary protocol, the answers of prepared statements.
//!
//! ```text
//! +------+---------------------------------+-----------------------------+
//! | 0x00 | NULL bitmap, 2 bits left unused | the values that are not NULL |
//! +------+---------------------------------+-----------------------------+
//! ```

use crate::bytes::{DecodeError, Reader, put_lenenc_bytes};
use crate::constants::ColumnType;
use crate::parameters::BinaryValue;

/// The bitmap of a row begins two bits late; that of parameters does not.
const NULL_BITMAP_OFFSET: usize = 2;

/// How far a row is, for encoders that cannot keep the buffer between two values.
#[derive(Debug, Clone, Copy, Default)]
pub struct BinaryRowPosition {
    /// Where the NULL bitmap begins.
    bitmap: usize,
    column_ordinal: usize,
}

/// Appends the values of one binary row to a packet, in column order.
#[derive(Debug)]
pub struct BinaryRowEncoder<'b> {
    buf: &'b mut Vec<u8>,
    position: BinaryRowPosition,
}

impl<'b> BinaryRowEncoder<'b> {
    /// Appends the head of a row of `column_count` values to `buf`, which is inside a packet.
    pub fn new(buf: &'b mut Vec<u8>, column_count: usize) -> Self {
        buf.push(0);
        let bitmap = buf.len();
        buf.resize(bitmap + (column_count + NULL_BITMAP_OFFSET).div_ceil(8), 0);
        Self { buf, position: BinaryRowPosition { bitmap, column_ordinal: 0 } }
    }

    /// Goes on with a row that [`BinaryRowEncoder::position`] left.
    #[inline]
    pub fn resume(buf: &'b mut Vec<u8>, position: BinaryRowPosition) -> Self {
        Self { buf, position }
    }

    /// Where the row is now.
    #[inline]
    pub fn position(&self) -> BinaryRowPosition {
        self.position
    }

    /// NULL.
    #[inline]
    pub fn null(&mut self) {
        let bit = self.position.column_ordinal + NULL_BITMAP_OFFSET;
        self.buf[self.position.bitmap + bit / 8] |= 1 << (bit % 8);
        self.position.column_ordinal += 1;
    }

    /// An integer of a column of this type, signed or not: two's complement of the type's width.
    #[inline]
    pub fn int(&mut self, column_type: ColumnType, value: i64) {
        let bytes = value.to_le_bytes();
        let width = match column_type {
            ColumnType::Tiny => 1,
            ColumnType::Short | ColumnType::Year => 2,
            ColumnType::Long | ColumnType::Int24 => 4,
            _ => 8,
        };
        self.put(&bytes[..width]);
    }

    /// A FLOAT.
    pub fn float(&mut self, value: f32) {
        self.put(&value.to_le_bytes());
    }

    /// A DOUBLE.
    pub fn double(&mut self, value: f64) {
        self.put(&value.to_le_bytes());
    }

    /// A string, DECIMAL, ENUM, SET, BIT or JSON.
    #[inline]
    pub fn bytes(&mut self, value: &[u8]) {
        put_lenenc_bytes(self.buf, value);
        self.position.column_ordinal += 1;
    }

    /// A date.
    pub fn date(&mut self, year: u16, month: u8, day: u8) {
        self.datetime(year, month, day, 0, 0, 0, 0);
    }

    /// A date and time.
    #[expect(clippy::too_many_arguments, reason = "the parts of a date and time")]
    pub fn datetime(&mut self, year: u16, month: u8, day: u8, hour: u8, minute: u8, second: u8, micros: u32) {
        let [y0, y1] = year.to_le_bytes();
        let [m0, m1, m2, m3] = micros.to_le_bytes();
        let parts = [0, y0, y1, month, day, hour, minute, second, m0, m1, m2, m3];
        let length = if micros != 0 {
            11
        } else if (hour, minute, second) != (0, 0, 0) {
            7
        } else if (year, month, day) != (0, 0, 0) {
            4
        } else {
            0
        };
        self.put_parts(parts, length);
    }

    /// A time; `hours` may exceed a day.
    pub fn time(&mut self, negative: bool, hours: u16, minute: u8, second: u8, micros: u32) {
        let [d0, d1] = (hours / 24).to_le_bytes();
        let [m0, m1, m2, m3] = micros.to_le_bytes();
        let mut parts = [0; 13];
        parts[1..].copy_from_slice(&[
            u8::from(negative),
            d0,
            d1,
            0,
            0,
            (hours % 24) as u8,
            minute,
            second,
            m0,
            m1,
            m2,
            m3,
        ]);
        let length = if micros != 0 {
            12
        } else if (hours, minute, second) != (0, 0, 0) {
            8
        } else {
            0
        };
        self.put_parts(parts, length);
    }

    #[inline]
    fn put(&mut self, bytes: &[u8]) {
        self.buf.extend_from_slice(bytes);
        self.position.column_ordinal += 1;
    }

    /// Puts a length byte and that many of the parts behind it.
    fn put_parts<const N: usize>(&mut self, mut parts: [u8; N], length: u8) {
        parts[0] = length;
        self.put(&parts[..=usize::from(length)]);
    }
}

/// Reads the values of one binary row; `types` gives each column's type and whether it is unsigned.
pub fn decode_binary_row<'a>(
    payload: &'a [u8],
    types: &[(ColumnType, bool)],
) -> Result<Vec<BinaryValue<'a>>, DecodeError> {
    let mut reader = Reader::new(payload);
    if reader.u8()? != 0 {
        return Err(DecodeError::Malformed("binary row"));
    }
    let bitmap = reader.take((types.len() + NULL_BITMAP_OFFSET).div_ceil(8))?;
    types
        .iter()
        .enumerate()
        .map(|(ordinal, &(column_type, unsigned))| {
            let bit = ordinal + NULL_BITMAP_OFFSET;
            if bitmap[bit / 8] & 1 << (bit % 8) != 0 {
                return Ok(BinaryValue::Null);
            }
            BinaryValue::decode(&mut reader, column_type, unsigned)
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn row_round_trips() {
        let mut buf = Vec::new();
        let mut row = BinaryRowEncoder::new(&mut buf, 9);
        row.int(ColumnType::Tiny, -1);
        row.null();
        row.int(ColumnType::LongLong, u64::MAX as i64);
        row.bytes(b"text");
        row.date(2026, 11, 21);
        row.datetime(2026, 11, 21, 1, 2, 3, 4);
        row.time(true, 838, 59, 59, 999_999);
        row.double(0.5);
        row.null();
        let types = [
            (ColumnType::Tiny, false),
            (ColumnType::Long, false),
            (ColumnType::LongLong, true),
            (ColumnType::VarString, false),
            (ColumnType::Date, false),
            (ColumnType::DateTime, false),
            (ColumnType::Time, false),
            (ColumnType::Double, false),
            (ColumnType::Tiny, false),
        ];
        let values = decode_binary_row(&buf, &types).expect("a row");
        assert_eq!(
            values,
            [
                BinaryValue::Int(-1),
                BinaryValue::Null,
                BinaryValue::UInt(u64::MAX),
                BinaryValue::Bytes(b"text"),
                BinaryValue::DateTime { year: 2026, month: 11, day: 21, hour: 0, minute: 0, second: 0, micros: 0 },
                BinaryValue::DateTime { year: 2026, month: 11, day: 21, hour: 1, minute: 2, second: 3, micros: 4 },
                BinaryValue::Time { negative: true, hours: 838, minute: 59, second: 59, micros: 999_999 },
                BinaryValue::Double(0.5),
                BinaryValue::Null,
            ]
        );
    }

    #[test]
    fn zero_temporal_values_take_one_byte() {
        let mut buf = Vec::new();
        let mut row = BinaryRowEncoder::new(&mut buf, 2);
        row.date(0, 0, 0);
        row.time(false, 0, 0, 0, 0);
        assert_eq!(buf, [0, 0, 0, 0]);
    }

    proptest! {
        #[test]
        fn arbitrary_bytes_never_panic(
            bytes in proptest::collection::vec(any::<u8>(), 0..100),
            codes in proptest::collection::vec((any::<u8>(), any::<bool>()), 0..20),
        ) {
            let types: Vec<_> = codes
                .into_iter()
                .filter_map(|(code, unsigned)| Some((ColumnType::from_code(code)?, unsigned)))
                .collect();
            let _ = decode_binary_row(&bytes, &types);
        }
    }
}
