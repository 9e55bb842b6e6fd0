//! Segments of a transaction that has not yet committed them to a manifest.

use super::ColumnTable;
use crate::entry::entry_number;
use squall_row_store::{ManifestEntry, UncommittedRows};
use std::sync::Arc;

/// Segments that are in no manifest yet. Dropped, they are removed.
pub(crate) struct UncommittedSegments {
    column_table: Arc<ColumnTable>,
    numbers: Vec<u64>,
}

impl UncommittedSegments {
    pub fn new(column_table: Arc<ColumnTable>) -> UncommittedSegments {
        UncommittedSegments { column_table, numbers: Vec::new() }
    }

    pub fn push(&mut self, entry: &ManifestEntry) {
        self.numbers.extend(entry_number(&entry.name));
    }
}

impl UncommittedRows for UncommittedSegments {
    fn keep(mut self: Box<Self>) {
        self.numbers.clear();
        // There are segments that are not full, or of which many rows are deleted.
        self.column_table.wake();
    }
}

impl Drop for UncommittedSegments {
    fn drop(&mut self) {
        for number in &self.numbers {
            // What cannot be removed now is removed by the next start.
            let _ = std::fs::remove_file(self.column_table.path(*number));
        }
    }
}
