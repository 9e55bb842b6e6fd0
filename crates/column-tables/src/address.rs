//! The address of a segment row. A scan by column gives it for a row that will be changed, instead of the row's key.
//!
//! A change of many rows needs their segments and positions. With keys it would have to search every segment.
//!
//! ```text
//! 0xFF | segment's number u64 | position u32   (big-endian)
//! ```
//!
//! Storage keys begin with the number of the row index, which is 0, so the two can be told apart.

use crate::rows::SegmentRows;
use crate::snapshot::ColumnSnapshot;
use squall_row_store::Table;
use squall_types::SqlResult;

const MARK: u8 = 0xFF;

/// A segment row: the number of its segment, and its position in it. Good for readers of the same manifest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RowAddress {
    /// The segment's number.
    pub segment: u64,
    /// The row's position.
    pub position: u32,
}

impl RowAddress {
    /// In place of the row's key.
    pub fn encode(self) -> [u8; 13] {
        let mut out = [MARK; 13];
        out[1..9].copy_from_slice(&self.segment.to_be_bytes());
        out[9..].copy_from_slice(&self.position.to_be_bytes());
        out
    }

    /// `None` if the bytes are a storage key.
    pub fn decode(bytes: &[u8]) -> Option<RowAddress> {
        let (mark, rest) = bytes.split_first()?;
        let (segment, position) = rest.split_first_chunk::<8>()?;
        let position: [u8; 4] = position.try_into().ok()?;
        let address = RowAddress { segment: u64::from_be_bytes(*segment), position: u32::from_be_bytes(position) };
        (*mark == MARK).then_some(address)
    }
}

impl ColumnSnapshot {
    /// Which segment has the row of a storage key, and at which position; `None` if it is in none, or not any more.
    pub fn find(&self, table: &Table, key: &[u8]) -> SqlResult<Option<(usize, u32)>> {
        for (at, visible) in self.segments.iter().enumerate() {
            let rows = SegmentRows { table, segment: &visible.segment, cache: &self.cache };
            if let Some(position) = rows.find(key)?.filter(|position| !visible.hidden.contains(*position)) {
                return Ok(Some((at, position)));
            }
        }
        Ok(None)
    }
}

#[cfg(test)]
mod tests {
    use super::RowAddress;

    #[test]
    fn addresses_come_back() {
        let address = RowAddress { segment: 1 << 40, position: u32::MAX - 1 };
        assert_eq!(RowAddress::decode(&address.encode()), Some(address));
        assert_eq!(RowAddress::decode(&[0; 13]), None);
        assert_eq!(RowAddress::decode(&[0xFF; 12]), None);
        assert_eq!(RowAddress::decode(&[]), None);
    }
}
