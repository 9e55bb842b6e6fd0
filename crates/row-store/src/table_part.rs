//! The part of a table in a level outside the store, and its entries in the table's keyspace.

use crate::engine::Slice;
use crate::index_key::{KeyRange, index_range, push_index_id, split_index_id, successor};
use squall_catalog::{IndexId, TableDef};
use std::ops::Bound;

/// The number of the index that is the manifest; real ones are counted from 1.
const LIST: IndexId = IndexId(u32::MAX);

/// The byte behind the number of an index that is a column copy: entries of its manifest, and marks of rows.
const COPY_LIST: u8 = 0;
const COPY_MARK: u8 = 1;

/// The part of a table that a level has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TablePart {
    /// Its rows: those that the store does not have. The store has delta rows, and markers of those that are gone.
    Rows,
    /// A copy of columns, by the index that it is: of all rows, which the store has too. An index of the table keeps the manifest, and a mark for each row that is
    /// not what was copied: the index's number, 1, and the row's key behind the number of its index. Marks are empty.
    Copy(IndexId),
}

impl TablePart {
    /// All that a table has.
    pub(crate) fn all(def: &TableDef) -> impl Iterator<Item = TablePart> {
        std::iter::once(TablePart::Rows).chain(def.column_copy().map(|index| TablePart::Copy(index.id)))
    }

    /// The key of an entry of the manifest.
    pub(crate) fn manifest_key(self, name: &[u8]) -> Vec<u8> {
        let mut key = Vec::with_capacity(6 + name.len());
        match self {
            TablePart::Rows => push_index_id(LIST, &mut key),
            TablePart::Copy(index) => {
                push_index_id(index, &mut key);
                key.push(COPY_LIST);
            }
        }
        key.extend_from_slice(name);
        key
    }

    /// The keys of the manifest.
    pub(crate) fn manifest_range(self) -> KeyRange {
        prefix_range(self.manifest_key(&[]))
    }

    /// The keys of what the level does not have yet.
    pub(crate) fn delta_range(self) -> KeyRange {
        match self {
            TablePart::Rows => index_range(IndexId(0)),
            TablePart::Copy(index) => prefix_range(mark_prefix(index)),
        }
    }

    /// Whether a key is that of an entry of the manifest.
    pub(crate) fn is_manifest_key(self, key: &[u8]) -> bool {
        key.starts_with(&self.manifest_key(&[]))
    }

    /// Whether a key is one of [`TablePart::delta_range`].
    pub(crate) fn is_delta_key(self, key: &[u8]) -> bool {
        match self {
            TablePart::Rows => crate::index_key::is_row_key(key),
            TablePart::Copy(index) => key.starts_with(&mark_prefix(index)),
        }
    }

    /// The key of the row that a key of [`TablePart::delta_range`] is about.
    pub(crate) fn row_key(self, key: &Slice) -> Slice {
        match self {
            TablePart::Rows => key.clone(),
            TablePart::Copy(index) => {
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
            let keys = TablePart::Copy(index);
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
