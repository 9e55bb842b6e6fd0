//! A segment's entry in the row store.
//!
//! ```text
//! version u8 | file bytes u64 | footer checksum u64 | rows u32 | first key | last key | deleted positions   (little-endian)
//! key: length u32, bytes       deleted positions: a roaring bitmap in its portable form, to the end
//! ```

use roaring::RoaringBitmap;
use squall_column_store::SegmentIdentity;

const VERSION: u8 = 1;

/// What the row store says of a segment.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct SegmentEntry {
    pub identity: SegmentIdentity,
    /// Storage keys of its first and last row, deleted ones included.
    pub first_key: Vec<u8>,
    pub last_key: Vec<u8>,
    /// Positions of rows that are deleted, or that a later segment has in another version.
    pub deleted: RoaringBitmap,
}

/// The name of an entry, and of the segment's file: segments are counted from 1.
pub(crate) fn entry_name(number: u64) -> Vec<u8> {
    number.to_be_bytes().to_vec()
}

/// The name of the entry, without contents, that says that all rows of a table have been copied: segments begin with 1.
pub(crate) fn complete_name() -> Vec<u8> {
    entry_name(0)
}

/// Whether a name is that of [`complete_name`].
pub(crate) fn is_complete_name(name: &[u8]) -> bool {
    *name == complete_name()
}

/// The number in an entry's name.
pub(crate) fn entry_number(name: &[u8]) -> Option<u64> {
    name.try_into().ok().map(u64::from_be_bytes)
}

impl SegmentEntry {
    pub fn encode(&self) -> Vec<u8> {
        let mut out = vec![VERSION];
        out.extend(self.identity.file_bytes.to_le_bytes());
        out.extend(self.identity.footer_checksum.to_le_bytes());
        out.extend(self.identity.rows.to_le_bytes());
        for key in [&self.first_key, &self.last_key] {
            out.extend((key.len() as u32).to_le_bytes());
            out.extend(key);
        }
        // Writing to a vector cannot fail.
        let _ = self.deleted.serialize_into(&mut out);
        out
    }

    /// `None` if the bytes are no entry.
    pub fn decode(mut bytes: &[u8]) -> Option<SegmentEntry> {
        if take(&mut bytes)? != [VERSION] {
            return None;
        }
        let identity = SegmentIdentity {
            file_bytes: u64::from_le_bytes(take(&mut bytes)?),
            footer_checksum: u64::from_le_bytes(take(&mut bytes)?),
            rows: u32::from_le_bytes(take(&mut bytes)?),
        };
        let mut key = || {
            let length = u32::from_le_bytes(take(&mut bytes)?) as usize;
            let (key, rest) = bytes.split_at_checked(length)?;
            bytes = rest;
            Some(key.to_vec())
        };
        let (first_key, last_key) = (key()?, key()?);
        let deleted = RoaringBitmap::deserialize_from(bytes).ok()?;
        let in_order = deleted.max().is_none_or(|last| last < identity.rows) && first_key <= last_key;
        in_order.then_some(SegmentEntry { identity, first_key, last_key, deleted })
    }

    /// Whether no row is left.
    pub fn is_empty(&self) -> bool {
        self.deleted.len() == u64::from(self.identity.rows)
    }

    /// Whether a key is between those of the first and the last row.
    pub fn may_have(&self, key: &[u8]) -> bool {
        self.first_key[..] <= *key && *key <= self.last_key[..]
    }
}

fn take<const N: usize>(bytes: &mut &[u8]) -> Option<[u8; N]> {
    let (taken, rest) = bytes.split_first_chunk::<N>()?;
    *bytes = rest;
    Some(*taken)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn entries_come_back(rows in 1..200u32, deleted in prop::collection::vec(0..200u32, 0..20), a: Vec<u8>, b: Vec<u8>) {
            let identity = SegmentIdentity { file_bytes: 7, footer_checksum: 8, rows };
            let deleted = deleted.into_iter().filter(|position| *position < rows).collect();
            let entry = SegmentEntry { identity, first_key: a.clone().min(b.clone()), last_key: a.max(b), deleted };
            let bytes = entry.encode();
            prop_assert_eq!(SegmentEntry::decode(&bytes), Some(entry));
        }

        #[test]
        fn damaged_entries_are_no_panic(bytes: Vec<u8>, flip in 0..40usize) {
            SegmentEntry::decode(&bytes);
            let identity = SegmentIdentity { file_bytes: 7, footer_checksum: 8, rows: 9 };
            let entry = SegmentEntry { identity, first_key: vec![1], last_key: vec![2], deleted: [3, 4].into() };
            let mut bytes = entry.encode();
            let at = flip % bytes.len();
            bytes[at] ^= 0x55;
            SegmentEntry::decode(&bytes);
            SegmentEntry::decode(&bytes[..at]);
        }
    }
}
