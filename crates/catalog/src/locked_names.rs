//! The tables that a session may use under LOCK TABLES.

use squall_types::{ErrorCode, SqlError, SqlResult};

/// A table or view that LOCK TABLES has locked.
#[derive(Clone, Debug)]
pub struct LockedName {
    /// Database and table.
    pub table: (String, String),
    /// Its alias, which statements have to call it by.
    pub alias: String,
    /// Whether it may be written.
    pub writable: bool,
}

/// The tables and views that LOCK TABLES has locked.
#[derive(Clone, Debug, Default)]
pub struct LockedNames(Vec<LockedName>);

impl LockedNames {
    /// Of tables in the order in which they were named.
    pub fn new(names: Vec<LockedName>) -> LockedNames {
        LockedNames(names)
    }

    /// Databases and tables, in the order in which they were named; one that has several names comes several times.
    pub fn names(&self) -> impl Iterator<Item = &(String, String)> {
        self.0.iter().map(|locked| &locked.table)
    }

    /// A table is gone, and with it all its names.
    pub fn forget(&mut self, database: &str, table: &str) {
        self.0.retain(|locked| !locked.is(database, table));
    }

    /// Whether a table may be defined anew, by whatever name it is locked.
    ///
    /// # Errors
    /// 1100 for a table that is not locked, 1099 for one that is locked for reading only.
    pub fn check_defined(&self, database: &str, table: &str) -> SqlResult<()> {
        self.check(table, true, |locked| locked.is(database, table))
    }

    /// Whether a table may be used by an alias, which is its name if the statement gives it no other.
    ///
    /// # Errors
    /// Those of [`LockedNames::check_defined`].
    pub fn check_used(&self, (database, table): (&str, &str), alias: &str, write: bool) -> SqlResult<()> {
        self.check(alias, write, |locked| locked.is(database, table) && locked.alias == alias)
    }

    fn check(&self, shown: &str, write: bool, is_meant: impl Fn(&LockedName) -> bool) -> SqlResult<()> {
        let mut found = self.0.iter().filter(|locked| is_meant(locked)).peekable();
        if found.peek().is_none() {
            return Err(SqlError::new(ErrorCode::TableNotLocked, &[&shown]));
        }
        match !write || found.any(|locked| locked.writable) {
            true => Ok(()),
            false => Err(SqlError::new(ErrorCode::TableNotLockedForWrite, &[&shown])),
        }
    }
}

impl LockedName {
    fn is(&self, database: &str, table: &str) -> bool {
        self.table.0 == database && self.table.1 == table
    }
}
