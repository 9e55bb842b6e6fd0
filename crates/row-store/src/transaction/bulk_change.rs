//! Changes many segment rows of a column table at a time, by its manifest and by entries of its indexes.

use super::Transaction;
use crate::StoreError;
use crate::engine::{AbstractTree, Slice, Snapshot};
use crate::error::{StoreResult, engine_error};
use crate::locks::BACKGROUND_FAMILY;
use crate::options::{LockWait, TableLock};
use crate::read_view::ReadView;
use crate::table::Table;
use crate::table::segment_level::read_manifest;
use crate::table_part::TablePart;
use crate::write_set::ManifestChange;
use squall_catalog::IndexId;
use squall_types::{ErrorCode, SqlError, SqlResult, Value};
use std::sync::Arc;
use std::sync::atomic::Ordering;

impl Transaction {
    /// Readies the transaction for changing segment rows by the table's manifest: no other session changes the table until it ends.
    /// The view is of the table as it is, with the transaction's own changes. `None` if rows have to be changed one by one:
    /// other sessions have locks in the table, or it has changed since the transaction's snapshot. Entries of its indexes are the
    /// caller's to mind: [`Transaction::delete_entries`], [`Transaction::change_entries`].
    pub fn begin_bulk_change(&mut self, table: &Arc<Table>) -> StoreResult<Option<ReadView>> {
        if !self.take_alone(table)? {
            return Ok(None);
        }
        if self.own.reads.is_none() && self.may_begin_again() {
            // The statement has read nothing yet that it goes by.
            self.snapshot = None;
        }
        let snapshot = self.snapshot().clone();
        let unchanged = self.is_unchanged_since(table, &snapshot)?;
        Ok(unchanged.then(|| self.view_at(snapshot)))
    }

    /// The same for a statement that has already found rows in its own view. Tells whether it can continue.
    ///
    /// # Errors
    /// 1020 if the table has changed since that view, even if only rows have moved, and the statement may begin again.
    pub fn begin_bulk_change_since(&mut self, table: &Arc<Table>, view: &ReadView) -> StoreResult<bool> {
        if !self.take_alone(table)? {
            return Ok(false);
        }
        let unchanged = self.is_unchanged_since(table, &view.snapshot)?;
        if !unchanged && self.may_begin_again() {
            return Err(SqlError::new(ErrorCode::RecordChanged, &[&table.def().name]).into());
        }
        Ok(unchanged)
    }

    /// Locks a table that has segment rows for the transaction alone, without waiting for other sessions.
    fn take_alone(&mut self, table: &Table) -> StoreResult<bool> {
        if table.data.segment_level().is_none() || self.store.gate().is_stopped() {
            return Ok(false);
        }
        self.check_writable(table)?;
        match self.lock_table(table, TableLock::Exclusive, LockWait::Nowait) {
            Ok(()) => {}
            Err(StoreError::Sql(error)) if error.is(ErrorCode::LockNowait) => {
                if !self.locks.table.is_shared_only_with(self.locks.owner, table.id(), BACKGROUND_FAMILY) {
                    return Ok(false);
                }
                self.lock_table(table, TableLock::Exclusive, self.lock_wait)?;
            }
            Err(error) => return Err(error),
        }
        Ok(true)
    }

    /// Whether a table, which no other session may change, is unchanged since a snapshot.
    fn is_unchanged_since(&self, table: &Table, snapshot: &Snapshot) -> SqlResult<bool> {
        if let Some(partitions) = table.partitions() {
            for partition in partitions {
                if !self.is_unchanged_since(partition, snapshot)? {
                    return Ok(false);
                }
            }
            return Ok(true);
        }
        let present = self.store.snapshot();
        let keyspace = &table.data.keyspace;
        if present.seqno() == snapshot.seqno() {
            return Ok(true);
        }
        let list = |seqno| read_manifest(TablePart::Rows, keyspace, seqno);
        if list(present.seqno())? != list(snapshot.seqno())? {
            return Ok(false);
        }
        for entry in present.range(keyspace, crate::index_key::index_range(IndexId(0)).to_slices()) {
            let key = entry.key().map_err(engine_error)?;
            let newest = keyspace.tree.get_internal_entry(&key, present.seqno());
            let newest = newest.map_err(|error| engine_error(error.into()))?;
            if newest.is_some_and(|newest| newest.key.seqno >= snapshot.seqno()) {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Takes away the entries that a row has in the table's indexes beside the primary key, after
    /// [`Transaction::begin_bulk_change`]: no other session can be at one of them. `values` has the row's stored values by ordinal, those at
    /// least that the indexes are of.
    pub fn delete_entries(&mut self, table: &Table, key: &[u8], values: &[Value]) -> StoreResult<()> {
        let mut entries = Vec::with_capacity(table.secondary_codecs().len());
        for codec in table.secondary_codecs() {
            if codec.has_terms() {
                entries.extend(codec.term_entries(values, key)?.into_iter().map(|entry| codec.removed(entry)));
            } else if !codec.is_copy {
                entries.push(codec.removed(codec.entry(values, key)?));
            }
        }
        self.put_entries(self.own.writes.write(), table, entries).inspect_err(|_| self.abort_if_lost())
    }

    /// Gives a row, which keeps its key, other entries in the table's indexes beside the primary key, likewise. Both `old` and
    /// `values` have stored values by ordinal, those at least that the indexes are of.
    ///
    /// # Errors
    /// 1062 if another row has a value of a unique key that is new; nothing is changed then.
    pub fn change_entries(&mut self, table: &Table, key: &[u8], old: &[Value], values: &[Value]) -> StoreResult<()> {
        let key = Slice::new(key);
        let changes = self.entry_changes(table, (old, &key), (values, &key), false)?;
        if changes.is_empty() {
            return Ok(());
        }
        self.check_writable(table)?;
        self.own.any.store(true, Ordering::Release);
        self.put_entries(self.own.writes.write(), table, changes).inspect_err(|_| self.abort_if_lost())
    }

    /// Changes the manifest of a table or partition, after [`Transaction::begin_bulk_change`].
    pub fn change_list(&mut self, table: &Table, change: ManifestChange) -> StoreResult<()> {
        self.check_alive()?;
        if !self.locks.tables.contains(&(table.id(), TableLock::Exclusive)) {
            return Err(SqlError::internal("a list of Segment rows that others may change").into());
        }
        // A change that only removes rows frees space, as the DELETE of a row does.
        if change.row_delta.unsigned_abs() < change.changed {
            self.check_room(table)?;
        }
        if change.entries.is_empty() {
            return Ok(());
        }
        self.own.writes.write().change_list(&table.data, change);
        self.own.any_manifest.store(true, Ordering::Release);
        self.own.any.store(true, Ordering::Release);
        Ok(())
    }
}
