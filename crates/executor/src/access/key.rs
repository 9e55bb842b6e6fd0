//! An index as range analysis sees it.

use super::range::{EncodedRange, KeyParts, after_prefix};
use squall_catalog::{IndexDef, IndexId, TableDef};
use squall_row_store::{KeyRange, Table, ValueRange};
use squall_types::{SqlResult, Value};
use std::ops::Bound;

/// Bytes that end the encoding of a text; it sorts below whatever may follow in a longer text.
const TERMINATOR_BYTES: usize = squall_types::key_codec::STRING_END_BYTES;

/// One index of a table, with what encoding its keys needs.
pub struct IndexKey<'a> {
    table: &'a Table,
    /// The index.
    pub index: &'a IndexDef,
    /// Ordinals of its columns.
    pub columns: Vec<usize>,
}

impl<'a> IndexKey<'a> {
    /// An index of a table.
    pub fn new(table: &'a Table, index: &'a IndexDef) -> IndexKey<'a> {
        IndexKey { table, index, columns: table.def().index_ordinals(index) }
    }

    fn def(&self) -> &TableDef {
        self.table.def()
    }

    /// The number that the store knows the index by.
    pub fn id(&self) -> IndexId {
        storage_index_id(self.index)
    }

    /// A range in storage.
    pub fn storage_range(&self, range: &EncodedRange) -> SqlResult<KeyRange> {
        storage_range(self.table, self.id(), range)
    }
}

/// The number that the store knows an index by.
pub fn storage_index_id(index: &IndexDef) -> IndexId {
    if index.primary { IndexId(0) } else { index.id }
}

/// The bytes that every key of an index begins with.
pub fn index_prefix(table: &Table, index: IndexId) -> SqlResult<Vec<u8>> {
    match table.range(index, ValueRange::ALL)?.start {
        Bound::Included(prefix) | Bound::Excluded(prefix) => Ok(prefix),
        Bound::Unbounded => Ok(Vec::new()),
    }
}

/// A range of an index in storage.
pub fn storage_range(table: &Table, index: IndexId, range: &EncodedRange) -> SqlResult<KeyRange> {
    let prefix = index_prefix(table, index)?;
    let join = |tail: &[u8]| [prefix.as_slice(), tail].concat();
    let end = match &range.high {
        Some(high) => Some(join(high)),
        None => after_prefix(&prefix),
    };
    Ok(KeyRange { start: Bound::Included(join(&range.low)), end: end.map_or(Bound::Unbounded, Bound::Excluded) })
}

impl KeyParts for IndexKey<'_> {
    fn columns(&self) -> &[usize] {
        &self.columns
    }

    fn is_descending(&self, part: usize) -> bool {
        self.index.parts[part].descending
    }

    fn is_nullable(&self, part: usize) -> bool {
        self.def().columns[self.columns[part]].nullable
    }

    fn elements_part(&self) -> Option<usize> {
        self.columns.iter().position(|column| self.def().columns[*column].element_type().is_some())
    }

    fn is_prefix(&self, part: usize) -> bool {
        self.index.parts[part].prefix.is_some()
    }

    fn encode(&self, part: usize, value: &Value) -> Option<Vec<u8>> {
        self.table.encode_part(self.id(), part, value).ok()
    }

    fn encode_sort_keys(&self, part: usize, from: &[u8], to: Option<&[u8]>) -> Option<EncodedRange> {
        // Without its terminator a key is a bound for all that begin with it.
        let bound = |sort_key: &[u8]| {
            let mut bytes = self.encode(part, &Value::Bytes(sort_key.to_vec()))?;
            bytes.truncate(bytes.len().checked_sub(TERMINATOR_BYTES)?);
            Some(bytes)
        };
        let high = match to {
            Some(to) => Some(bound(to)?),
            // The end of the texts. In a nullable column, texts have the mark of present values.
            None => None,
        };
        Some(EncodedRange { low: bound(from)?, high })
    }
}
