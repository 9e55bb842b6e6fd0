//! Durable records of modules, beside tables.

use super::WeakDatabase;
use squall_row_store::{SystemChange, SystemRecords};
use squall_types::{ErrorCode, SqlError, SqlResult};

/// Records of one kind, by their keys. They survive restarts, and are in no table.
#[derive(Clone, Debug)]
pub struct ModuleRecords {
    database: WeakDatabase,
    space: &'static str,
}

impl ModuleRecords {
    pub(super) fn new(database: WeakDatabase, space: &'static str) -> Self {
        Self { database, space }
    }

    fn database(&self) -> SqlResult<super::Database> {
        self.database.upgrade().ok_or_else(|| SqlError::new(ErrorCode::ServerShutdown, &[]))
    }

    /// All keys and records, by key.
    ///
    /// # Errors
    /// When they cannot be read.
    pub fn all(&self) -> SqlResult<Vec<(Vec<u8>, Vec<u8>)>> {
        self.database()?.0.store.system_records(self.space)
    }

    /// One record.
    ///
    /// # Errors
    /// When it cannot be read.
    pub fn get(&self, key: &[u8]) -> SqlResult<Option<Vec<u8>>> {
        self.database()?.0.store.system_get(self.space, key)
    }

    /// Keeps a record, or removes it; durable when this returns.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn put(&self, key: &[u8], value: Option<Vec<u8>>) -> SqlResult<()> {
        self.database()?.0.store.commit_system(&[SystemChange { space: self.space, key: key.to_vec(), value }])
    }
}
