//! The tables that a session may use under LOCK TABLES.

use squall_types::{ErrorCode, SqlError, SqlResult};

/// The tables and views that LOCK TABLES names, and whether they may be written.
#[derive(Clone, Debug, Default)]
pub struct LockedNames(Vec<((String, String), bool)>);

impl LockedNames {
    /// Of databases with tables, and whether they may be written.
    pub fn new(names: Vec<((String, String), bool)>) -> LockedNames {
        LockedNames(names)
    }

    /// Databases and tables, in the order in which they were named; one that has several names comes several times.
    pub fn names(&self) -> impl Iterator<Item = &(String, String)> {
        self.0.iter().map(|(name, _)| name)
    }

    /// A table is gone, and with it all its names.
    pub fn forget(&mut self, database: &str, table: &str) {
        self.0.retain(|(name, _)| name.0 != database || name.1 != table);
    }

    /// Whether a table may be used.
    ///
    /// # Errors
    /// 1100 for a table that is not locked, 1099 for one that is locked for reading only.
    pub fn check(&self, database: &str, table: &str, write: bool) -> SqlResult<()> {
        let mut found = self.0.iter().filter(|(name, _)| name.0 == database && name.1 == table).peekable();
        if found.peek().is_none() {
            return Err(SqlError::new(ErrorCode::TableNotLocked, &[&table]));
        }
        match !write || found.any(|(_, writable)| *writable) {
            true => Ok(()),
            false => Err(SqlError::new(ErrorCode::TableNotLockedForWrite, &[&table])),
        }
    }
}
