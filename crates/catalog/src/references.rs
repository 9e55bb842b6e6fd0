//! References between tables by foreign keys, in both directions.

use crate::{TableDef, TableEntry};
use std::collections::{BTreeMap, BTreeSet};

/// The tables with foreign keys to each table, by database and name of the referenced table, which need not exist.
#[derive(Clone, Debug, Default)]
pub(crate) struct References(BTreeMap<String, BTreeMap<String, BTreeSet<(String, String)>>>);

impl References {
    /// Database and name of the tables that refer to a table, itself perhaps among them.
    pub(crate) fn to(&self, database: &str, table: &str) -> impl Iterator<Item = &(String, String)> {
        self.0.get(database).and_then(|tables| tables.get(table)).into_iter().flatten()
    }

    /// Notes the foreign keys of a table.
    pub(crate) fn add(&mut self, database: &str, table: &TableDef) {
        for key in &table.foreign_keys {
            let tables = self.0.entry(key.parent_database.clone()).or_default();
            let children = tables.entry(key.parent_table.clone()).or_default();
            children.insert((database.to_string(), table.name.clone()));
        }
    }

    /// Forgets the foreign keys of a table.
    pub(crate) fn remove(&mut self, database: &str, table: &TableDef) {
        let child = (database.to_string(), table.name.clone());
        for key in &table.foreign_keys {
            let Some(tables) = self.0.get_mut(&key.parent_database) else { continue };
            let Some(children) = tables.get_mut(&key.parent_table) else { continue };
            children.remove(&child);
            if children.is_empty() {
                tables.remove(&key.parent_table);
            }
            if tables.is_empty() {
                self.0.remove(&key.parent_database);
            }
        }
    }
}

/// The table with foreign keys that an entry is.
pub(crate) fn referring(entry: &TableEntry) -> Option<&TableDef> {
    match entry {
        TableEntry::Table(table) if !table.foreign_keys.is_empty() => Some(table),
        _ => None,
    }
}
