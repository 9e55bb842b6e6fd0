//! `squall check`: CHECK TABLE of every table of a data directory.

use crate::commands::damages;
use crate::database::Database;
use squall_catalog::TableEntry;
use squall_definitions::locked::hold_table;
use squall_row_store::{BACKGROUND_FAMILY, LockWait};
use squall_types::{ErrorCode, SqlError, SqlResult};
use std::time::{Duration, Instant};

/// Nobody but work in the background holds a table, and that not for long.
const LOCK_WAIT: LockWait = LockWait::Timeout(Duration::from_secs(600));

/// A table that was checked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CheckedTable {
    /// Its database and its name.
    pub name: (String, String),
    /// What is wrong with it, as CHECK TABLE words it.
    pub faults: Vec<String>,
    /// How long that took.
    pub elapsed: Duration,
}

impl Database {
    /// The base tables of the catalog, by name, those of the server too.
    pub fn base_tables(&self) -> Vec<(String, String)> {
        let catalog = self.0.catalog.load();
        let names = catalog.databases().values().flat_map(|database| {
            let tables = database.tables.iter().filter(|(_, entry)| matches!(entry, TableEntry::Table(_)));
            tables.map(|(name, _)| (database.name.clone(), name.clone()))
        });
        names.collect()
    }

    /// Reads all rows of a table, and compares its indexes, segments and copies by column with them.
    ///
    /// # Errors
    /// When it is not there, or a file cannot be read for another reason than damage.
    pub fn check_table(&self, database: &str, table: &str) -> SqlResult<CheckedTable> {
        let start = Instant::now();
        let name = (database.to_owned(), table.to_owned());
        let held = hold_table(&self.0, BACKGROUND_FAMILY, &name, LOCK_WAIT);
        let checked = held.and_then(|table| damages(&self.0, &table, &|| Ok(())));
        let faults = match checked {
            Ok(notes) => notes.into_iter().map(|(_, text)| text).collect(),
            Err(error) if is_damage(&error) => vec![error.message],
            Err(error) => return Err(error),
        };
        Ok(CheckedTable { name, faults, elapsed: start.elapsed() })
    }
}

fn is_damage(error: &SqlError) -> bool {
    error.is(ErrorCode::CorruptedRow)
}
