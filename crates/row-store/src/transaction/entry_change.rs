//! What goes with a change of a row: entries of indexes, and chunks of large values.

use crate::index_key::{Entry, IndexCodec};
use crate::table_part::mark_key;

/// The key of an index entry, and what it has from now on.
pub(super) struct EntryChange {
    pub key: Vec<u8>,
    /// `None` if it goes.
    pub value: Option<Vec<u8>>,
    /// It is one of many that a row has, which are never looked up by their keys.
    pub is_posting: bool,
}

impl EntryChange {
    /// A chunk of a value that lies out of its row, or `None` if it goes.
    pub(super) fn chunk(key: Vec<u8>, value: Option<Vec<u8>>) -> EntryChange {
        EntryChange { key, value, is_posting: false }
    }

    /// A row is marked as one that others have read from a copy.
    pub(super) fn mark(codec: &IndexCodec, key: &[u8]) -> EntryChange {
        EntryChange { key: mark_key(codec.id, key), value: Some(Vec::new()), is_posting: false }
    }
}

impl IndexCodec {
    pub(super) fn put(&self, entry: Entry) -> EntryChange {
        EntryChange { key: entry.key, value: Some(entry.value), is_posting: self.has_postings() }
    }

    pub(super) fn removed(&self, entry: Entry) -> EntryChange {
        EntryChange { key: entry.key, value: None, is_posting: self.has_postings() }
    }

    fn has_postings(&self) -> bool {
        self.has_terms() && !self.unique
    }
}
