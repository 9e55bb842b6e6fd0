//! A transaction that has locked very many rows gives up the locks of the rows that it has written.

use super::Transaction;
use crate::error::{StoreError, StoreResult};
use crate::locks::LockKey;
use crate::options::LockWait;
use crate::table::Table;

/// Number of row locks from which a transaction releases the locks of rows that it has written.
const LOCKS_MAX: usize = 100_000;

impl Transaction {
    /// Whether a key that this transaction has just locked is one that large writers of other sessions have locked by writing it. Their
    /// locks are explicit then.
    ///
    /// # Errors
    /// [`StoreError::WouldBlock`] where that would be to wait for a large writer's file.
    pub(super) fn meet_large_writers(&self, table: &Table, key: &LockKey, wait: LockWait) -> StoreResult<bool> {
        if table.data.logical.large_writers.is_empty() {
            return Ok(false);
        }
        let mut any = false;
        for (owner, written) in table.data.logical.large_writers.others(self.locks.owner) {
            let may_wait = wait != LockWait::WouldBlock;
            // What is being committed cannot be looked into any more: its end is waited for.
            let has_written = written.has_written(key.table, &key.key, may_wait)?.ok_or(StoreError::WouldBlock)?;
            if has_written {
                self.locks.table.make_explicit(owner, &*written, key);
                any = true;
            }
        }
        Ok(any)
    }

    /// Gives locks back whose keys have been written, if there are very many; `table` is the table whose row was locked last.
    ///
    /// Locks of earlier statements stay: the client may have seen their rows, and may roll back the writes since.
    pub(super) fn let_written_locks_go(&mut self, table: Option<&Table>) {
        let locks = &mut self.locks;
        if locks.rows.len() < LOCKS_MAX && locks.large.is_empty() {
            return;
        }
        if let Some(table) = table.filter(|table| locks.large.iter().all(|large| large.id != table.id())) {
            table.data.logical.large_writers.add(locks.owner, self.own.clone());
            locks.large.push(table.data.logical.clone());
        }
        let writes = self.own.writes.read();
        // The released locks may have been among the locks that were examined.
        let looked_at = locks.rows_looked_at.min(locks.rows.len());
        let mut kept = looked_at;
        for at in looked_at..locks.rows.len() {
            let key = &locks.rows[at];
            let is_large = locks.large.iter().any(|large| large.id == key.table);
            // What cannot be read is taken for not written: its lock stays.
            if is_large && matches!(writes.get_of_table(key.table, &key.key), Ok(Some(_))) {
                locks.table.release(locks.owner, key);
            } else {
                locks.rows.swap(kept, at);
                kept += 1;
            }
        }
        locks.rows.truncate(kept);
        locks.rows_looked_at = kept;
    }
}
