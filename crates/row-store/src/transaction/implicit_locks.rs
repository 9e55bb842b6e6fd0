//! A transaction that has locked very many rows keeps no locks of those that it has written.

use super::Transaction;
use crate::error::StoreResult;
use crate::locks::LockKey;
use crate::table::Table;

/// Locks of rows from which on a transaction lets those go that it has by what it has written.
const LOCKS_MAX: usize = 100_000;
/// Locks that are looked through at a time.
const LOCKS_AT_A_TIME: usize = 16 << 10;

impl Transaction {
    /// Whether a key that this transaction has just locked is one that large writers of other sessions have locked by writing it. Their
    /// locks are explicit then.
    pub(super) fn meet_large_writers(&self, table: &Table, key: &LockKey) -> StoreResult<bool> {
        if table.data.large_writers.is_empty() {
            return Ok(false);
        }
        let mut any = false;
        for (owner, written) in table.data.large_writers.others(self.locks.owner) {
            let has_written = {
                let writes = written.writes.read();
                // What is being committed cannot be looked into any more: its end is waited for.
                writes.is_taken() || writes.get(key.table, &key.key)?.is_some()
            };
            if has_written {
                self.locks.table.make_explicit(owner, &written, key);
                any = true;
            }
        }
        Ok(any)
    }

    /// Gives locks back whose keys have been written, if there are very many; `table` has been locked a row of last.
    pub(super) fn let_written_locks_go(&mut self, table: &Table) {
        let locks = &mut self.locks;
        // Locks that were given back may have been among those that were looked at.
        let looked_at = locks.rows_looked_at.min(locks.rows.len());
        if locks.rows.len() < LOCKS_MAX && locks.large.is_empty() || locks.rows.len() - looked_at < LOCKS_AT_A_TIME {
            return;
        }
        if locks.large.iter().all(|data| data.id != table.id()) {
            table.data.large_writers.add(locks.owner, &self.own);
            locks.large.push(table.data.clone());
            locks.rows_looked_at = 0;
        }
        let writes = self.own.writes.read();
        let looked_at = locks.rows_looked_at.min(locks.rows.len());
        let mut kept = looked_at;
        for at in looked_at..locks.rows.len() {
            let key = &locks.rows[at];
            let is_large = locks.large.iter().any(|data| data.id == key.table);
            // What cannot be read is taken for not written: its lock stays.
            if is_large && matches!(writes.get(key.table, &key.key), Ok(Some(_))) {
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
