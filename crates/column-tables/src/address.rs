//! The address of a segment row. A scan by column gives it for a row that will be changed, instead of the row's key.
//!
//! A change of many rows needs their segments and positions. With keys it would have to search every segment.
//!
//! ```text
//! 0xFF | table or partition u32 | segment's number u64 | position u32   (big-endian)
//! ```
//!
//! Storage keys begin with the number of the row index, which is 0, so the two can be told apart.

use squall_catalog::TableId;

const MARK: u8 = 0xFF;

/// Bytes of an encoded address.
const BYTES: usize = 17;

/// A segment row: its segment, and its position in it. Good for readers of the same manifest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RowAddress {
    /// The table or partition that has the segment.
    pub storage: TableId,
    /// The segment's number.
    pub segment: u64,
    /// The row's position.
    pub position: u32,
}

impl RowAddress {
    /// In place of the row's key.
    pub fn encode(self) -> [u8; BYTES] {
        let mut out = [MARK; BYTES];
        out[1..5].copy_from_slice(&self.storage.0.to_be_bytes());
        out[5..13].copy_from_slice(&self.segment.to_be_bytes());
        out[13..].copy_from_slice(&self.position.to_be_bytes());
        out
    }

    /// `None` if the bytes are a storage key.
    pub fn decode(bytes: &[u8]) -> Option<RowAddress> {
        let (mark, rest) = bytes.split_first()?;
        let (storage, rest) = rest.split_first_chunk::<4>()?;
        let (segment, position) = rest.split_first_chunk::<8>()?;
        let position: [u8; 4] = position.try_into().ok()?;
        let (storage, segment) = (TableId(u32::from_be_bytes(*storage)), u64::from_be_bytes(*segment));
        (*mark == MARK).then(|| RowAddress { storage, segment, position: u32::from_be_bytes(position) })
    }
}

#[cfg(test)]
mod tests {
    use super::RowAddress;
    use squall_catalog::TableId;

    #[test]
    fn addresses_come_back() {
        let address = RowAddress { storage: TableId(7), segment: 1 << 40, position: u32::MAX - 1 };
        assert_eq!(RowAddress::decode(&address.encode()), Some(address));
        assert_eq!(RowAddress::decode(&[0; 17]), None);
        assert_eq!(RowAddress::decode(&[0xFF; 16]), None);
        assert_eq!(RowAddress::decode(&[]), None);
    }
}
