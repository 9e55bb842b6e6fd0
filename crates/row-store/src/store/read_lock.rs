//! The global read lock: while a session holds it, no other session commits or changes a definition.
//!
//! It is two locks of the lock table, as in MySQL. Definitions, LOCK TABLES … WRITE and bulk loads take `GLOBAL`, so the read lock
//! waits for them. A change of rows waits for it while a session holds or wants the read lock, and does not keep it. Commits take
//! `COMMIT` and keep it until they are done.
//!
//! While no session has or wants the read lock, changes of rows take neither: they read one number that only those sessions write. A
//! commit may check this number before the read lock is taken, and reach the log after it. Then it waits at the log until the lock is
//! released; the log's lock orders the two.
//!
//! The backup lock (LOCK INSTANCE FOR BACKUP) is a third lock, `BACKUP_LOCK`: definitions wait for it, changes of rows and commits do
//! not. Several sessions may hold it at once.

use super::{RowStore, SessionLocks};
use crate::commit::HeldLocks;
use crate::error::StoreResult;
use crate::locks::OWN_FAMILY;
use crate::locks::{LockFailure, LockTable, Owner};
use crate::options::{LockWait, TableLock};
use squall_catalog::TableId;

/// In the lock table: changes and definitions. No table of the catalog has this number.
pub const GLOBAL_LOCK: TableId = TableId(0);
/// In the lock table: commits. No table has this number.
pub const COMMIT_LOCK: TableId = TableId(u32::MAX);

/// In the lock table: definitions, for the backup lock. No table has this number.
pub const BACKUP_LOCK: TableId = TableId(u32::MAX - 1);

/// Numbers from here on are those of temporary tables, which the read lock is not about.
const FIRST_TEMPORARY: u32 = 1 << 31;

/// Whether a number is a temporary table's.
pub(crate) fn is_temporary(table: TableId) -> bool {
    table.0 >= FIRST_TEMPORARY
}

/// No other session's changes until it is dropped.
pub struct GlobalReadLock {
    store: RowStore,
    locks: HeldLocks,
}

impl std::fmt::Debug for GlobalReadLock {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("GlobalReadLock").field(&self.locks.owner).finish()
    }
}

impl Drop for GlobalReadLock {
    fn drop(&mut self) {
        self.locks.release();
        let committer = self.store.committer();
        let waiting = {
            let _log = committer.log.lock();
            match self.locks.table.end_read_lock() {
                0 => std::mem::take(&mut *committer.deferred.lock()),
                _ => Vec::new(),
            }
        };
        // One that meets the next read lock is deferred again.
        waiting.into_iter().for_each(|commit| committer.commit_prepared(commit));
    }
}

impl RowStore {
    /// Takes the global read lock for a session. From then on no other session's commits or definitions take place, and what was committed
    /// before can be seen. Blocks.
    ///
    /// # Errors
    /// Those of waiting: 1205, 1213, 1317.
    pub fn global_read_lock(&self, session: u64, wait: LockWait) -> StoreResult<GlobalReadLock> {
        let locks = self.new_owner(Some(session));
        locks.table.begin_read_lock();
        // Releases its locks, and ends an acquisition that has begun, also if waiting fails.
        let mut lock = GlobalReadLock { store: self.clone(), locks };
        for what in [GLOBAL_LOCK, COMMIT_LOCK] {
            let held = &mut lock.locks;
            if held.table.lock_table(held.owner, what, TableLock::ReadOnly, wait)?.is_new() {
                held.tables.push((what, TableLock::ReadOnly));
            }
        }
        let committer = self.committer();
        // Commits that came to the log before are applied by now, and are waited for; others find the lock.
        let snapshot = {
            let _log = committer.log.lock();
            committer.db.snapshot()
        };
        committer.advance_or_sync(snapshot)?;
        Ok(lock)
    }

    /// Takes the backup lock for a session. From then on, until it is dropped, no other session's definitions take place. Blocks.
    ///
    /// # Errors
    /// Those of waiting: 1205, 1213, 1317.
    pub fn backup_lock(&self, session: u64, wait: LockWait) -> StoreResult<SessionLocks> {
        let mut locks = self.session_locks(session);
        locks.hold(BACKUP_LOCK, TableLock::ReadOnly, wait)?;
        Ok(locks)
    }

    /// The lock of a definition while it runs, which keeps out a global read lock and a backup lock. Blocks.
    ///
    /// # Errors
    /// 1223 where the session itself holds the read lock, and those of waiting.
    pub fn definition_pass(&self, session: u64, wait: LockWait) -> StoreResult<SessionLocks> {
        let mut locks = self.read_lock_pass(session, wait)?;
        // As in MySQL, the session that has locked the instance may change it.
        let held = &locks.0;
        if !held.table.family_holds(held.owner.family, BACKUP_LOCK, TableLock::ReadOnly) {
            locks.hold(BACKUP_LOCK, TableLock::Write, wait)?;
        }
        Ok(locks)
    }

    /// Whether a session holds the global read lock.
    pub fn holds_read_lock(&self, session: u64) -> bool {
        self.session_locks(session).0.table.family_holds(session, GLOBAL_LOCK, TableLock::ReadOnly)
    }

    /// The lock of a commit for another session while it runs, which keeps out a global read lock. Blocks.
    ///
    /// # Errors
    /// As those of [`definition_pass`](Self::definition_pass).
    pub fn read_lock_pass(&self, session: u64, wait: LockWait) -> StoreResult<SessionLocks> {
        let mut locks = self.session_locks(session);
        locks.pass(wait)?;
        Ok(locks)
    }
}

impl LockTable {
    /// Takes a lock that the global read lock stands against, unless the owner's own family has that.
    pub fn pass(&self, owner: Owner, what: TableId, wait: LockWait) -> Result<bool, LockFailure> {
        if self.family_holds(owner.family, GLOBAL_LOCK, TableLock::ReadOnly) {
            return Err(LockFailure::OwnReadLock);
        }
        Ok(self.lock_table(owner, what, TableLock::Write, wait)?.is_new())
    }

    /// Whether a family's changes wait for no read lock, because it holds what the lock stands against, or is the store's own.
    pub fn has_passed(&self, family: u64) -> bool {
        family & OWN_FAMILY != 0
            || [COMMIT_LOCK, GLOBAL_LOCK].into_iter().any(|what| self.family_holds(family, what, TableLock::Write))
    }

    /// Whether a commit of these tables is to be deferred. Asked under the lock of the log.
    pub fn holds_up(&self, owner: Owner, mut tables: impl Iterator<Item = TableId>) -> bool {
        self.is_read_locked() && tables.any(|table| !is_temporary(table)) && !self.has_passed(owner.family)
    }
}

impl SessionLocks {
    /// Takes a lock that is no table's.
    fn hold(&mut self, what: TableId, mode: TableLock, wait: LockWait) -> StoreResult<()> {
        let held = &mut self.0;
        if held.table.lock_table(held.owner, what, mode, wait)?.is_new() {
            held.tables.push((what, mode));
        }
        Ok(())
    }

    /// Holds off the global read lock.
    pub(crate) fn pass(&mut self, wait: LockWait) -> StoreResult<()> {
        let held = &mut self.0;
        if held.owner.family & OWN_FAMILY == 0 && held.table.pass(held.owner, GLOBAL_LOCK, wait)? {
            held.tables.push((GLOBAL_LOCK, TableLock::Write));
        }
        Ok(())
    }
}
