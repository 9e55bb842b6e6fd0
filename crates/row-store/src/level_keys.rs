//! Where a table's keyspace has what belongs to a level of rows outside of the store.

use crate::engine::Slice;
use crate::index_key::{KeyRange, index_range, push_index_id, split_index_id, successor};
use squall_catalog::IndexId;
use std::ops::Bound;

/// The number of the index that is the manifest of sealed rows; real ones are counted from 1.
const LIST: IndexId = IndexId(u32::MAX);

/// What follows the number of an index that is a column copy: entries of its manifest, and marks of rows.
const COPY_LIST: u8 = 0;
const COPY_MARK: u8 = 1;

/// Which rows a level has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LevelKeys {
    /// Rows that the store does not have; it has delta rows, and markers of those that are gone.
    Rows,
    /// Columns of all rows, which the store has too. An index of the table keeps the manifest, and a mark for each row that is
    /// not what was copied: the index's number, 1, and the row's key behind the number of its index. Marks are empty.
    Copy(IndexId),
}

impl LevelKeys {
    /// The key of an entry of the manifest.
    pub fn manifest_key(self, name: &[u8]) -> Vec<u8> {
        let mut key = Vec::with_capacity(6 + name.len());
        match self {
            LevelKeys::Rows => push_index_id(LIST, &mut key),
            LevelKeys::Copy(index) => {
                push_index_id(index, &mut key);
                key.push(COPY_LIST);
            }
        }
        key.extend_from_slice(name);
        key
    }

    /// The keys of the manifest.
    pub fn manifest_range(self) -> KeyRange {
        prefix_range(self.manifest_key(&[]))
    }

    /// The keys of what the level does not have yet.
    pub fn delta_range(self) -> KeyRange {
        match self {
            LevelKeys::Rows => index_range(IndexId(0)),
            LevelKeys::Copy(index) => prefix_range(mark_prefix(index)),
        }
    }

    /// Whether a key is that of an entry of the manifest.
    pub fn is_manifest_key(self, key: &[u8]) -> bool {
        key.starts_with(&self.manifest_key(&[]))
    }

    /// Whether a key is one of [`LevelKeys::delta_range`].
    pub fn is_delta_key(self, key: &[u8]) -> bool {
        match self {
            LevelKeys::Rows => crate::index_key::is_row_key(key),
            LevelKeys::Copy(index) => key.starts_with(&mark_prefix(index)),
        }
    }

    /// The key of the row that a key of [`LevelKeys::delta_range`] is about.
    pub fn row_key(self, key: &Slice) -> Slice {
        match self {
            LevelKeys::Rows => key.clone(),
            LevelKeys::Copy(index) => {
                let mut row_key = Vec::with_capacity(key.len());
                push_index_id(IndexId(0), &mut row_key);
                row_key.extend_from_slice(key.get(mark_prefix(index).len()..).unwrap_or_default());
                row_key.into()
            }
        }
    }
}

fn mark_prefix(index: IndexId) -> Vec<u8> {
    let mut prefix = Vec::with_capacity(6);
    push_index_id(index, &mut prefix);
    prefix.push(COPY_MARK);
    prefix
}

/// The mark of a row.
pub(crate) fn mark_key(index: IndexId, row_key: &[u8]) -> Vec<u8> {
    let mut key = mark_prefix(index);
    key.extend_from_slice(split_index_id(row_key).map_or(row_key, |(_, rest)| rest));
    key
}

fn prefix_range(prefix: Vec<u8>) -> KeyRange {
    let end = successor(&prefix);
    KeyRange { start: Bound::Included(prefix), end: end.map_or(Bound::Unbounded, Bound::Excluded) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mark_leads_to_its_row() {
        for index in [IndexId(3), IndexId(70_000)] {
            let keys = LevelKeys::Copy(index);
            let row_key = [0, 7, 8, 9];
            let mark = Slice::from(mark_key(index, &row_key));
            assert_eq!(keys.row_key(&mark)[..], row_key);
            assert!(keys.is_delta_key(&mark) && keys.delta_range().contains(&mark) && !keys.is_manifest_key(&mark));
            let entry = keys.manifest_key(b"x");
            assert!(
                keys.is_manifest_key(&entry) && keys.manifest_range().contains(&entry) && !keys.is_delta_key(&entry)
            );
            assert!(index_range(index).contains(&mark) && index_range(index).contains(&entry));
        }
    }
}
