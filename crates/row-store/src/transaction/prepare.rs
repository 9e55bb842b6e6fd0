//! Prepared transactions: their writes and locks stay until any session commits them or rolls them back.

use super::Transaction;
use crate::commit::{CommitRequest, HeldLocks};
use crate::engine::Slice;
use crate::error::StoreResult;
use crate::index_key::is_row_key;
use crate::locks::{OWN_FAMILY, is_range_lock};
use crate::options::{IsolationLevel, LockMode, LockRequest, LockWait, TransactionOptions};
use crate::store::{RowStore, is_temporary};
use crate::table::Table;
use crate::ticket::{CommitTicket, TicketSender};
use crate::write_set::WriteSet;
use crate::written::Change;
use squall_catalog::TableId;
use squall_types::{ErrorCode, SqlError, SqlResult};
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// The states of a prepared transaction, in their order.
pub(crate) enum PreparedItem<'a> {
    /// Rows of a table, more or less.
    Table(TableId, i64),
    /// A key of the last table, and what it has from now on.
    Change(&'a [u8], Option<&'a [u8]>),
    /// A key that is locked, of any table, and whether for itself alone.
    Lock(TableId, &'a [u8], bool),
}

impl Transaction {
    /// Makes sure that a later commit cannot fail: checks the reads of a SERIALIZABLE transaction, and locks them.
    ///
    /// # Errors
    /// 1213 if a read has changed, and errors of waiting; 4091 for TEMPORARY tables, which end with their session; 1235 for bulk
    /// changes of column tables.
    pub(crate) fn ready(&mut self) -> StoreResult<()> {
        self.check_alive()?;
        {
            let writes = self.own.writes.read();
            writes.check()?;
            if writes.tables().any(is_temporary) {
                return Err(SqlError::new(ErrorCode::XaTempTable, &[]).into());
            }
            if writes.has_manifest_changes() {
                let what = "XA PREPARE of a change of many rows of a column table (use XA COMMIT … ONE PHASE)";
                return Err(SqlError::unsupported(what).into());
            }
        }
        let Some(since) = self.validated_since else { return Ok(()) };
        let read = self.own.reads.as_ref().map(|reads| reads.ranges()).unwrap_or_default();
        for (id, ranges) in read {
            let table = self.store.0.known_table(id);
            // A table that is gone is not changed.
            let Some(table) = table.filter(|table| !table.is_retired()) else { continue };
            let request = LockRequest { mode: LockMode::Shared, wait: self.lock_wait };
            self.lock_ranges(&table, &ranges, request)?;
        }
        let is_valid = {
            let log = self.store.committer().log.lock();
            self.own.reads.as_ref().is_none_or(|reads| log.is_valid(reads, since))
        };
        if !is_valid {
            self.abort();
            return Err(SqlError::new(ErrorCode::Deadlock, &[]).into());
        }
        Ok(())
    }

    /// Gives all its writes, table by table, and all keys that it has locked.
    ///
    /// # Errors
    /// Errors of reading spilled writes, and errors of `take`.
    pub(crate) fn for_each_prepared(&self, take: &mut dyn FnMut(PreparedItem<'_>) -> SqlResult<()>) -> SqlResult<()> {
        let mut writes = self.own.writes.write();
        writes.for_each_table(&mut |table, row_delta, newest| {
            take(PreparedItem::Table(table, row_delta))?;
            while let Some(written) = newest.next()? {
                take(PreparedItem::Change(&written.key, written.change.as_deref()))?;
            }
            Ok(())
        })?;
        let locks = &self.locks;
        // Ranges that were searched are no rows: they are locked until a restart.
        for lock in locks.rows.iter().filter(|lock| !is_range_lock(&lock.key)) {
            take(PreparedItem::Lock(lock.table, &lock.key, locks.table.is_exclusive(locks.owner, lock)))?;
        }
        Ok(())
    }

    /// Is no session's from now on: its locks are held against all of them, and it reads no more.
    pub(crate) fn detach(&mut self) {
        self.end();
        let before = self.locks.owner;
        let family = OWN_FAMILY | before.id;
        self.locks.owner.family = family;
        let locks = &self.locks;
        let keys = locks.rows.iter().cloned().chain(self.own.explicit_locks());
        keys.for_each(|key| locks.table.change_family(before.id, &key, family));
        for (table, _) in &locks.tables {
            locks.table.change_table_family(before.id, *table, family);
        }
        for data in &locks.searched {
            data.searched.change_family(before, family);
        }
        for data in &locks.large {
            data.large_writers.change_family(before, family);
        }
    }

    /// One that was prepared before a restart, without what it has written.
    pub(crate) fn recovered(store: &RowStore) -> Transaction {
        let options = TransactionOptions::new(IsolationLevel::ReadCommitted);
        Transaction::new(store.clone(), options, store.new_owner(None))
    }

    /// Locks a key that it had locked.
    pub(crate) fn lock_again(&mut self, table: &Table, key: &[u8], exclusive: bool) -> StoreResult<()> {
        let mode = if exclusive { LockMode::Exclusive } else { LockMode::Shared };
        let request = LockRequest { mode, wait: LockWait::Nowait };
        self.lock_row(table, &Slice::new(key), request).map(|_| ())
    }

    /// Has written again what it had written; `row_delta` is that of the whole table, said once.
    pub(crate) fn write_again(
        &mut self,
        table: &Table,
        (key, change): (&[u8], Option<&[u8]>),
        row_delta: i64,
    ) -> StoreResult<()> {
        if is_row_key(key) {
            self.lock_again(table, key, true)?;
        }
        self.own.any.store(true, Ordering::Release);
        let change: Change = change.map(Slice::new);
        let mut writes = self.own.writes.write();
        writes.put(&table.data, Slice::new(key), change, row_delta);
        Ok(writes.spill_if_large(table.storage_id(), self.store.spill_place())?)
    }

    /// Forgets what it has written, to have it [written again](Transaction::write_again). Locks stay.
    pub(crate) fn begin_again_prepared(&mut self) {
        *self.own.writes.write() = WriteSet::default();
    }

    /// Begins to commit a prepared transaction, for a session; `record` of the store's own goes with it. The locks stay, so
    /// that it can be [written again](Transaction::write_again) if that fails.
    pub(crate) fn commit_prepared(&mut self, session: u64, record: Vec<u8>) -> CommitTicket {
        let ticket = TicketSender(CommitTicket::new());
        let answer = ticket.0.clone();
        let writes = self.own.writes.write().take();
        let locks: HeldLocks = self.store.new_owner(Some(session));
        let request = CommitRequest {
            writes,
            segment_rows: Vec::new(),
            reads: None,
            since: None,
            locks,
            allows_commit_delay: false,
            removes: Some(record),
            ticket,
        };
        drop(self.store.committer().commit(request, crate::Durability::Full));
        answer
    }
}

impl RowStore {
    /// The table of a number, which the catalog has.
    pub(crate) fn table_of(&self, id: TableId) -> SqlResult<Arc<Table>> {
        let gone = || SqlError::internal(format_args!("a prepared transaction of table {}, which is gone", id.0));
        let def = self.load_catalog().table_of_storage(id).cloned().ok_or_else(gone)?;
        let table = self.table(&def)?;
        if def.id == id {
            return Ok(table);
        }
        let partition = table.partitions().unwrap_or_default().iter().find(|partition| partition.storage_id() == id);
        partition.cloned().ok_or_else(gone)
    }
}
