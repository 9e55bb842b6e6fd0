//! Locks that a session holds over its statements.

use crate::state::backup::Backing;
use squall_catalog::LockedNames;
use squall_row_store::{GlobalReadLock, SessionLocks};

/// LOCK TABLES in force.
#[derive(Debug)]
pub(crate) struct HeldTableLocks {
    /// Given back when it goes; a session inside of a statement has none of its own.
    pub _locks: Option<SessionLocks>,
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

impl HeldLocks {
    /// The locks of a session inside of this one's statement: it may use the same tables, and gives nothing back.
    pub fn within(&self) -> HeldLocks {
        let names = |held: &HeldTableLocks| HeldTableLocks { _locks: None, names: held.names.clone() };
        HeldLocks { global_read: None, backup: None, backup_stage: None, tables: self.tables.as_ref().map(names) }
    }
}
