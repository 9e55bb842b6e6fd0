//! Reads in one snapshot: committed rows as of a sequence number, merged with a transaction's own writes.

mod cursor;
mod merged;

pub use self::cursor::{Cursor, IndexEntry};
use crate::engine::{SeqNo, Slice, Snapshot};
use crate::error::{corrupted, engine_error};
use crate::index_key::{Direction, KeyRange, row_key_of_entry};
use crate::locks::{LockKey, UncommittedWrites};
use crate::table::Table;
use crate::table::row::{Row, has_large_values};
use crate::table::segment_level::{DeltaRow, SegmentSnapshot, changed_manifest};
use crate::table_part::TablePart;
use crate::validation::ReadSet;
use crate::write_set::WriteSet;
use crate::written::{Change, Written};
use parking_lot::{Mutex, RwLock, RwLockWriteGuard};
use squall_catalog::{IndexId, TableId};
use squall_types::{SqlError, SqlResult};
use std::ops::Bound;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// The state that a transaction shares with its scans.
#[derive(Default)]
pub(crate) struct Uncommitted {
    pub writes: RwLock<WriteSet>,
    /// Whether there are any; saves readers the lock.
    pub any: AtomicBool,
    /// Whether a manifest was changed.
    pub any_manifest: AtomicBool,
    /// The last manifest that was asked for.
    pub manifest: Mutex<Option<OwnManifest>>,
    /// The record of reads, for SERIALIZABLE.
    pub reads: Option<ReadSet>,
    /// Its locks that other transactions have made explicit.
    pub explicit: Mutex<ExplicitLocks>,
}

/// Locks of ranges that other transactions have given this one for its writes there.
#[derive(Default)]
pub(crate) struct ExplicitLocks {
    keys: Vec<LockKey>,
    /// No caller waits for it any more.
    has_ended: bool,
}

/// A table's manifest as its transaction has changed it.
pub(crate) struct OwnManifest {
    table: TableId,
    /// The manifest that was changed.
    seqno: SeqNo,
    /// When it was changed last.
    step: u64,
    rows: Arc<dyn SegmentSnapshot>,
}

impl Uncommitted {
    /// Locks that others have given it.
    pub fn explicit_locks(&self) -> Vec<LockKey> {
        self.explicit.lock().keys.clone()
    }

    /// Up to `limit` writes of a range of a table as of a step, in order, or from its end; `None` if they have been handed over to be
    /// committed.
    pub fn range(
        &self,
        table: TableId,
        bounds: (Bound<&[u8]>, Bound<&[u8]>),
        reverse: bool,
        step: u64,
        limit: usize,
    ) -> SqlResult<Option<Vec<Written>>> {
        let mut writes = self.writes.read();
        if writes.has_buffered_postings(table, bounds) {
            drop(writes);
            let mut changed = self.writes.write();
            changed.flush_postings(table)?;
            writes = RwLockWriteGuard::downgrade(changed);
        }
        if writes.is_taken() {
            return Ok(None);
        }
        writes.range(table, bounds, reverse, step, limit).map(Some)
    }

    /// The segment rows of a table as the transaction has changed them up to a step, from what they were at a sequence number; `None`
    /// if it has not.
    pub fn segment_rows(&self, table: &Table, seqno: SeqNo, step: u64) -> SqlResult<Option<Arc<dyn SegmentSnapshot>>> {
        let Some(level) = table.data.segment_level().filter(|_| self.any_manifest.load(Ordering::Acquire)) else {
            return Ok(None);
        };
        let mut kept = self.manifest.lock();
        let (step, changes) = {
            let writes = self.writes.read();
            let Some(step) = writes.manifest_changed_at(step) else { return Ok(None) };
            if let Some(manifest) = &*kept
                && (manifest.table, manifest.seqno, manifest.step) == (table.storage_id(), seqno, step)
            {
                return Ok(Some(manifest.rows.clone()));
            }
            (step, writes.manifest_changes(table.storage_id(), step)?)
        };
        if changes.is_empty() {
            return Ok(None);
        }
        let rows = level.source().open(changed_manifest(&table.data.keyspace, seqno, changes)?)?;
        *kept = Some(OwnManifest { table: table.storage_id(), seqno, step, rows: rows.clone() });
        Ok(Some(rows))
    }
}

impl UncommittedWrites for Uncommitted {
    fn add_explicit(&self, lock: &LockKey) -> bool {
        let mut explicit = self.explicit.lock();
        if !explicit.has_ended {
            explicit.keys.push(lock.clone());
        }
        !explicit.has_ended
    }

    fn take_explicit(&self) -> Vec<LockKey> {
        let mut explicit = self.explicit.lock();
        explicit.has_ended = true;
        std::mem::take(&mut explicit.keys)
    }

    fn has_written(&self, table: TableId, key: &[u8], may_wait: bool) -> SqlResult<Option<bool>> {
        let writes = match self.writes.try_read() {
            Some(writes) => writes,
            None if may_wait => self.writes.read(),
            None => return Ok(None),
        };
        Ok(Some(writes.is_taken() || writes.get_of_table(table, key)?.is_some()))
    }

    fn is_busy(&self, table: TableId, bounds: (Bound<&[u8]>, Bound<&[u8]>)) -> bool {
        self.writes
            .try_read()
            .is_none_or(|writes| writes.storages_of(table).any(|storage| writes.has_buffered_postings(storage, bounds)))
    }

    fn writes_of(
        &self,
        table: TableId,
        bounds: (Bound<&[u8]>, Bound<&[u8]>),
        limit: usize,
    ) -> SqlResult<Option<Vec<Written>>> {
        let storages: Vec<TableId> = {
            let writes = self.writes.read();
            if writes.is_taken() {
                return Ok(None);
            }
            writes.storages_of(table).collect()
        };
        let mut all = Vec::new();
        for storage in storages {
            match self.range(storage, bounds, false, u64::MAX, limit)? {
                Some(writes) => all.extend(writes),
                None => return Ok(None),
            }
        }
        // Those of each partition are in order, and as many as there may be.
        all.sort_by(|left, right| left.key.cmp(&right.key));
        all.truncate(limit);
        Ok(Some(all))
    }
}

/// Reading in one snapshot. Cheap to clone; may be sent to other threads and may outlive the statement, not the
/// transaction's commit (own writes are gone then).
#[derive(Clone)]
pub struct ReadView {
    pub(crate) snapshot: Snapshot,
    pub(crate) own: Option<Arc<Uncommitted>>,
    /// Own writes of later steps are not seen.
    pub(crate) step: u64,
}

impl ReadView {
    /// Tells this view's sequence number from those of other views of the same statement: commits, and steps of its own transaction.
    pub fn version(&self) -> (u64, u64) {
        (self.snapshot.seqno(), self.step)
    }

    /// The row at a storage key.
    pub fn get(&self, table: &Table, key: &[u8]) -> SqlResult<Option<Row>> {
        self.row_at(table, key, true)
    }

    /// The row at a storage key; `keep` it for the next reader too.
    pub(crate) fn row_at(&self, table: &Table, key: &[u8], keep: bool) -> SqlResult<Option<Row>> {
        self.note(table, || KeyRange::point(key));
        if let Some(partitions) = &table.partitions {
            let storages = table.storages_for_key(partitions, key);
            return first_found(storages, |storage| self.row_at(storage, key, keep));
        }
        table.check_seqno(key, self.snapshot.seqno())?;
        let value = match self.own_change(table, key)? {
            Some(own) => own,
            None => match self.own_segment_rows(table)? {
                Some(rows) => table.row_above(key, self.snapshot.seqno(), &*rows)?,
                None => table.row_at(key, self.snapshot.seqno(), keep)?,
            },
        };
        value.map(|value| self.row(table, Slice::new(key), value)).transpose()
    }

    /// The row that a unique index has at `entry_key`, as [`Table::unique_key`] makes it.
    pub fn get_by_unique(&self, table: &Table, entry_key: &[u8]) -> SqlResult<Option<Row>> {
        self.note(table, || KeyRange::point(entry_key));
        if let Some(partitions) = &table.partitions {
            let storages = table.storages_for_key(partitions, entry_key);
            return first_found(storages, |storage| self.get_by_unique(storage, entry_key));
        }
        table.check_seqno(entry_key, self.snapshot.seqno())?;
        let value = match self.own_change(table, entry_key)? {
            Some(own) => own,
            None => self.snapshot.get(&table.data.keyspace, entry_key).map_err(engine_error)?,
        };
        let Some(value) = value else { return Ok(None) };
        let row_key = row_key_of_entry(entry_key, &value).ok_or_else(|| corrupted(&table.def().name))?;
        self.get(table, &row_key)
    }

    /// The row with a key and a value that were read in this view; `table` is the storage that has it.
    fn row(&self, table: &Table, key: Slice, value: Slice) -> SqlResult<Row> {
        let row = Row::check(table, key, value)?;
        if !row.has_large_values() {
            return Ok(row);
        }
        match self.own_change(table, &row.key)? {
            Some(_) => {
                // Chunks of the newest version may be ones that the transaction has found there and left, later than its snapshot. No other
                // session changes them, because the row is locked.
                let read = |key: &[u8]| match self.own_change(table, key)? {
                    Some(change) => Ok(change),
                    None => table.data.keyspace.get(key).map_err(engine_error),
                };
                row.with_large_values(table, &read)
            }
            None => Ok(row.in_snapshot(table, &self.snapshot)),
        }
    }

    fn own_change(&self, table: &Table, key: &[u8]) -> SqlResult<Option<Change>> {
        match self.own.as_ref().filter(|own| own.any.load(Ordering::Acquire)) {
            Some(own) => own.writes.read().get_at(table.storage_id(), key, self.step),
            None => Ok(None),
        }
    }

    /// A range of the table itself or of one of its indexes, in the order of its keys.
    pub fn scan(&self, table: &Arc<Table>, range: &KeyRange, direction: Direction) -> Cursor {
        self.note(table, || range.clone());
        Cursor::open(self, table, range, direction)
    }

    /// The segment rows of a table, in the version that the view reads; `None` if it has no such level.
    pub fn segment_rows(&self, table: &Table) -> SqlResult<Option<Arc<dyn SegmentSnapshot>>> {
        if let Some(own) = self.own_segment_rows(table)? {
            return Ok(Some(own));
        }
        table.check_seqno(&[], self.snapshot.seqno())?;
        let level = table.data.segment_level();
        level.map(|level| level.at(&table.data.keyspace, self.snapshot.seqno())).transpose()
    }

    fn own_segment_rows(&self, table: &Table) -> SqlResult<Option<Arc<dyn SegmentSnapshot>>> {
        match &self.own {
            Some(own) => own.segment_rows(table, self.snapshot.seqno(), self.step),
            None => Ok(None),
        }
    }

    /// The rows that the store itself has, the transaction's own among them, and the keys of segment rows that are hidden
    /// by others or deleted: together with [`ReadView::segment_rows`] all rows of the table.
    pub fn delta_rows(&self, table: &Arc<Table>) -> SqlResult<DeltaRows> {
        let range = crate::index_key::index_range(IndexId(0));
        self.note(table, || range.clone());
        let level = table.data.segment_level().map(|level| &**level);
        Ok(DeltaRows { changes: Cursor::open_delta(self, table, level, &range), copy: None })
    }

    /// The rows that a copy of columns has, in whatever version of them; `None` if the table has no copy.
    pub fn copied_rows(&self, table: &Table) -> SqlResult<Option<Arc<dyn SegmentSnapshot>>> {
        // Where the copy itself came later, its manifest at that sequence number says that it is not complete.
        table.check_seqno(&[], self.snapshot.seqno())?;
        let level = table.data.copy();
        level.map(|level| level.at(&table.data.keyspace, self.snapshot.seqno())).transpose()
    }

    /// The current versions of rows that have changed since they were copied, and the keys of deleted ones. With
    /// [`ReadView::copied_rows`] these are all rows of the table.
    pub fn changes_since_copied(&self, table: &Arc<Table>) -> SqlResult<DeltaRows> {
        let level = table.data.copy().ok_or_else(|| SqlError::internal("a table without a copy"))?;
        self.note(table, || crate::index_key::index_range(IndexId(0)));
        let marks = Cursor::open_delta(self, table, Some(&level), &level.part.delta_range());
        Ok(DeltaRows { changes: marks, copy: Some((level.part, self.clone(), table.clone())) })
    }

    /// The row that an index entry stands for; `keep` it for the next reader too.
    pub(crate) fn row_of_entry(&self, table: &Table, key: &[u8], value: &[u8], keep: bool) -> SqlResult<Row> {
        let row_key = row_key_of_entry(key, value).ok_or_else(|| corrupted(&table.def().name))?;
        self.row_at(table, &row_key, keep)?.ok_or_else(|| corrupted(&table.def().name))
    }

    /// Records the reads, if a commit must be checked against them.
    pub(crate) fn note(&self, table: &Table, range: impl FnOnce() -> KeyRange) {
        if let Some(reads) = self.own.as_ref().and_then(|own| own.reads.as_ref()) {
            reads.add(table.id(), range());
        }
    }
}

/// The answer of the first storage that has one.
pub(crate) fn first_found<T, E>(
    storages: &[Arc<Table>],
    mut read: impl FnMut(&Arc<Table>) -> Result<Option<T>, E>,
) -> Result<Option<T>, E> {
    for storage in storages {
        if let Some(found) = read(storage)? {
            return Ok(Some(found));
        }
    }
    Ok(None)
}

/// The store's own entries of a table, or the changes since it was copied, in key order.
pub struct DeltaRows {
    changes: Cursor,
    /// Changes are marks of a copy.
    copy: Option<(TablePart, ReadView, Arc<Table>)>,
}

impl DeltaRows {
    /// The next one.
    pub fn next_row(&mut self) -> SqlResult<Option<DeltaRow>> {
        let Some((key, row)) = self.changes.next_change()? else { return Ok(None) };
        let Some((keys, view, table)) = &self.copy else {
            // Segment rows have no values out of them.
            return Ok(Some(DeltaRow { key, row, with_large_values: None }));
        };
        let key = keys.row_key(&key);
        let row = match view.own_change(table, &key)? {
            Some(own) => own,
            None => table.row_at(&key, view.snapshot.seqno(), false)?,
        };
        let with_large_values = match &row {
            Some(value) if has_large_values(value) => Some(view.row(table, key.clone(), value.clone())?),
            _ => None,
        };
        Ok(Some(DeltaRow { key, row, with_large_values }))
    }
}
