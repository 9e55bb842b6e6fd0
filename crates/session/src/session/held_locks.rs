//! Locks that a session holds for longer than a statement.

use crate::state::backup::Backing;
use crate::state::write_locked_tables::WriteLocked;
use squall_catalog::LockedNames;
use squall_row_store::{GlobalReadLock, SessionLocks};

/// LOCK TABLES in force.
#[derive(Debug)]
pub(crate) struct HeldTableLocks {
    /// Given back when it goes.
    pub _locks: SessionLocks,
    /// The tables that others do not read; given back, too.
    pub _write_locked: WriteLocked,
    /// The tables that may be used.
    pub names: LockedNames,
}

/// Locks that statements took for their session. They go with it.
#[derive(Debug, Default)]
pub(crate) struct HeldLocks {
    /// FLUSH TABLES WITH READ LOCK.
    pub global_read: Option<GlobalReadLock>,
    /// LOCK INSTANCE FOR BACKUP.
    pub backup: Option<SessionLocks>,
    /// The backup that the session makes.
    pub backup_stage: Option<Backing>,
    /// LOCK TABLES.
    pub tables: Option<HeldTableLocks>,
}
