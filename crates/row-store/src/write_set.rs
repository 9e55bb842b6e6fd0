//! What a transaction has written and not committed.
//!
//! Every write carries the number of the step it belongs to. A savepoint is such a number: rolling back to it drops the
//! later ones. A scan is opened at a number too, so a statement never meets its own later writes.

use crate::entries::{Entries, Version, Versions};
use crate::table::TableData;
use fjall::Slice;
use rustc_hash::FxHashMap;
use squall_catalog::TableId;
use std::ops::Bound;
use std::sync::Arc;

/// Memory of an entry beyond its key and value, roughly.
const ENTRY_OVERHEAD_BYTES: usize = 200;

/// A value, or its absence.
pub(crate) type Change = Option<Slice>;

/// One table's writes.
#[derive(Debug)]
pub(crate) struct TableWrites {
    pub data: Arc<TableData>,
    entries: Entries,
    /// Rows inserted less rows deleted.
    pub row_delta: i64,
}

#[derive(Debug)]
struct Undo {
    step: u64,
    table: TableId,
    key: Slice,
    row_delta: i8,
}

/// What a transaction has written and not committed.
#[derive(Debug, Default)]
pub(crate) struct WriteSet {
    tables: FxHashMap<TableId, TableWrites>,
    undo: Vec<Undo>,
    step: u64,
    bytes: usize,
}

impl WriteSet {
    /// Ends the current step and returns it.
    pub fn next_step(&mut self) -> u64 {
        self.step += 1;
        self.step - 1
    }

    /// Memory taken, roughly.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    pub fn is_empty(&self) -> bool {
        self.undo.is_empty()
    }

    /// Writes a key.
    pub fn put(&mut self, data: &Arc<TableData>, key: Slice, change: Change, row_delta: i8) {
        let table = self.tables.entry(data.id).or_insert_with(|| TableWrites {
            data: data.clone(),
            entries: Entries::default(),
            row_delta: 0,
        });
        self.bytes += key.len() + change.as_ref().map_or(0, |value| value.len()) + ENTRY_OVERHEAD_BYTES;
        table.row_delta += i64::from(row_delta);
        self.undo.push(Undo { step: self.step, table: data.id, key: key.clone(), row_delta });
        let version = Version { step: self.step, change };
        match table.entries.get_mut(&key) {
            Some(versions) => {
                let previous = std::mem::replace(&mut versions.newest, version);
                if previous.step != self.step {
                    versions.older.push(previous);
                }
            }
            None => table.entries.insert(key, Versions { newest: version, older: Vec::new() }),
        }
    }

    /// The newest write of a key.
    pub fn get(&self, table: TableId, key: &[u8]) -> Option<&Change> {
        Some(&self.tables.get(&table)?.entries.get(key)?.newest.change)
    }

    /// The write of a key as of a step.
    pub fn get_at(&self, table: TableId, key: &[u8], step: u64) -> Option<&Change> {
        self.tables.get(&table)?.entries.get(key)?.at(step)
    }

    /// Whether a table has been written to.
    pub fn touches(&self, table: TableId) -> bool {
        self.tables.get(&table).is_some_and(|writes| !writes.entries.is_empty())
    }

    /// Up to `limit` writes of a range as of a step, in order, or from its end; and whether that was all of them.
    pub fn range(
        &self,
        table: TableId,
        bounds: (Bound<&[u8]>, Bound<&[u8]>),
        reverse: bool,
        step: u64,
        limit: usize,
    ) -> Vec<(Slice, Change)> {
        let Some(writes) = self.tables.get(&table) else { return Vec::new() };
        writes.entries.range(bounds, reverse, step, limit)
    }

    /// Drops what was written after a step.
    pub fn rollback_to(&mut self, step: u64) {
        while let Some(undo) = self.undo.pop_if(|undo| undo.step > step) {
            let Some(table) = self.tables.get_mut(&undo.table) else { continue };
            table.row_delta -= i64::from(undo.row_delta);
            let Some(versions) = table.entries.get_mut(&undo.key) else { continue };
            // A key written twice in one step has two undo records and one version.
            if versions.newest.step <= step {
                continue;
            }
            match versions.older.pop() {
                Some(previous) => versions.newest = previous,
                None => {
                    let len = undo.key.len() + ENTRY_OVERHEAD_BYTES;
                    self.bytes = self.bytes.saturating_sub(len);
                    table.entries.remove(&undo.key);
                }
            }
        }
        if self.undo.is_empty() {
            self.bytes = 0;
        }
    }

    /// Hands everything over, table by table.
    pub fn into_tables(self) -> impl Iterator<Item = TableWrites> {
        self.tables.into_values()
    }
}

impl TableWrites {
    /// The newest write of every key, in order.
    pub fn into_changes(self) -> impl Iterator<Item = (Slice, Change)> {
        self.entries.into_changes()
    }
}
