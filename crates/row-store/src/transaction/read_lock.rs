//! Lets a transaction wait while a session has the global read lock; see [`crate::store::read_lock`].

use super::Transaction;
use crate::error::StoreResult;
use crate::options::{LockWait, TableLock};
use crate::store::{COMMIT_LOCK, GLOBAL_LOCK, is_temporary};
use crate::table::Table;

impl Transaction {
    /// Waits before a change of a table's rows while a session has the global read lock.
    ///
    /// # Errors
    /// 1223 where that is the session itself, and those of waiting.
    pub(super) fn heed_read_lock(&mut self, table: &Table, wait: LockWait) -> StoreResult<()> {
        let locks = &self.locks;
        if !locks.table.is_read_locked() || table.def().temporary || locks.table.has_passed(locks.owner.family) {
            return Ok(());
        }
        let wait = match wait {
            LockWait::Timeout(_) => LockWait::Timeout(self.options.table_lock_wait),
            other => other,
        };
        match locks.table.pass(locks.owner, GLOBAL_LOCK, wait) {
            // Released at once: what counts is the commit, and a transaction must not hold the lock off until its end.
            Ok(_) => {
                locks.table.release_table(locks.owner, GLOBAL_LOCK);
                Ok(())
            }
            Err(failure) => Err(self.lock_failed(failure)),
        }
    }

    /// Whether its commit has to [wait](Transaction::pass_read_lock) for a global read lock.
    pub fn meets_read_lock(&self) -> bool {
        let locks = &self.locks;
        locks.table.is_read_locked()
            && self.own.writes.read().tables().any(|table| !is_temporary(table))
            && !locks.table.has_passed(locks.owner.family)
    }

    /// Waits until its commit may take place, which has to follow. Blocks.
    ///
    /// # Errors
    /// 1223 where the session itself has the read lock, and those of waiting.
    pub fn pass_read_lock(&mut self) -> StoreResult<()> {
        let (locks, wait) = (&self.locks, LockWait::Timeout(self.options.table_lock_wait));
        match locks.table.pass(locks.owner, COMMIT_LOCK, wait) {
            Ok(is_new) => {
                if is_new {
                    self.locks.tables.push((COMMIT_LOCK, TableLock::Write));
                }
                Ok(())
            }
            Err(failure) => Err(self.lock_failed(failure)),
        }
    }
}
