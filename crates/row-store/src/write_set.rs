//! What a transaction has written and not committed.
//!
//! Every write carries the number of the step it belongs to. A savepoint is such a number: rolling back to it drops the
//! later ones. A scan is opened at a number too, so a statement never meets its own later writes.

use crate::engine::Slice;
use crate::entries::{Entries, Version, Versions};
use crate::index_key::KeyRange;
use crate::level_keys::LevelKeys;
use crate::sealed::UncommittedRows;
use crate::table::TableData;
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
    /// Sealed rows that were changed many at a time.
    pub sealed_changes: u64,
}

#[derive(Debug)]
struct Undo {
    step: u64,
    table: TableId,
    key: Slice,
    row_delta: i64,
    sealed_changes: u64,
}

/// A change of a table's list of sealed rows.
#[derive(Default)]
pub struct ListChange {
    /// New contents of entries; `None` removes an entry.
    pub entries: Vec<(Vec<u8>, Option<Vec<u8>>)>,
    /// What the new entries stand for.
    pub rows: Option<Box<dyn UncommittedRows>>,
    /// Rows more, or less.
    pub row_delta: i64,
    /// Rows that are others now, or gone.
    pub changed: u64,
}

/// What a transaction has written and not committed.
#[derive(Default)]
pub(crate) struct WriteSet {
    tables: FxHashMap<TableId, TableWrites>,
    undo: Vec<Undo>,
    step: u64,
    bytes: usize,
    /// It has been handed over, to be committed.
    is_taken: bool,
    /// The steps at which lists of sealed rows were changed, and what the changes' new entries stand for.
    list_changes: Vec<(u64, Option<Box<dyn UncommittedRows>>)>,
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

    /// The tables that were written to.
    pub fn tables(&self) -> impl Iterator<Item = TableId> {
        self.tables.keys().copied()
    }

    pub fn is_empty(&self) -> bool {
        self.undo.is_empty()
    }

    /// Writes a key.
    pub fn put(&mut self, data: &Arc<TableData>, key: Slice, change: Change, row_delta: i64) {
        self.put_counted(data, key, change, row_delta, 0);
    }

    /// Changes a table's list of sealed rows. Nobody else may until the end of the transaction.
    pub fn change_list(&mut self, data: &Arc<TableData>, change: ListChange) {
        let (mut row_delta, mut changed) = (change.row_delta, change.changed);
        for (name, content) in change.entries {
            let key = Slice::from(LevelKeys::Rows.list_key(&name));
            let (rows, counted) = (std::mem::take(&mut row_delta), std::mem::take(&mut changed));
            self.put_counted(data, key, content.map(Slice::from), rows, counted);
        }
        self.list_changes.push((self.step, change.rows));
    }

    /// The last step up to `step` at which a list of sealed rows was changed.
    pub fn list_changed_at(&self, step: u64) -> Option<u64> {
        self.list_changes.iter().rev().map(|(at, _)| *at).find(|at| *at <= step)
    }

    /// Changes of a table's list of sealed rows as of a step, in the order of the keys.
    pub fn list_changes(&self, table: TableId, step: u64) -> Vec<(Slice, Change)> {
        let range = LevelKeys::Rows.list_range();
        let bounds = (range.start.as_ref().map(Vec::as_slice), range.end.as_ref().map(Vec::as_slice));
        self.range(table, bounds, false, step, usize::MAX)
    }

    /// Takes out what new entries of lists stand for, to be kept if they are committed.
    pub fn take_sealed_rows(&mut self) -> Vec<Box<dyn UncommittedRows>> {
        self.list_changes.drain(..).filter_map(|(_, rows)| rows).collect()
    }

    fn put_counted(&mut self, data: &Arc<TableData>, key: Slice, change: Change, row_delta: i64, sealed_changes: u64) {
        let table = self.tables.entry(data.id).or_insert_with(|| TableWrites {
            data: data.clone(),
            entries: Entries::default(),
            row_delta: 0,
            sealed_changes: 0,
        });
        self.bytes += key.len() + change.as_ref().map_or(0, |value| value.len()) + ENTRY_OVERHEAD_BYTES;
        table.row_delta += row_delta;
        table.sealed_changes += sealed_changes;
        self.undo.push(Undo { step: self.step, table: data.id, key: key.clone(), row_delta, sealed_changes });
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
        self.list_changes.retain(|(at, _)| *at <= step);
        while let Some(undo) = self.undo.pop_if(|undo| undo.step > step) {
            let Some(table) = self.tables.get_mut(&undo.table) else { continue };
            table.row_delta -= undo.row_delta;
            table.sealed_changes -= undo.sealed_changes;
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

    /// Takes everything out, to be committed.
    pub fn take(&mut self) -> WriteSet {
        std::mem::replace(self, WriteSet { is_taken: true, ..WriteSet::default() })
    }

    /// Whether everything has been taken out.
    pub fn is_taken(&self) -> bool {
        self.is_taken
    }

    /// Keys in a range that have got a value.
    pub fn keys_put(&self, table: TableId, range: &KeyRange) -> Vec<Slice> {
        let bounds = (range.start.as_ref().map(Vec::as_slice), range.end.as_ref().map(Vec::as_slice));
        let written = self.range(table, bounds, false, u64::MAX, usize::MAX);
        written.into_iter().filter_map(|(key, change)| change.map(|_| key)).collect()
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
