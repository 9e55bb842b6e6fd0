//! The catalog as one immutable value.

use crate::{DatabaseId, TableDef, TableId, ViewDef};
use squall_types::CollationId;
use std::collections::BTreeMap;
use std::sync::Arc;

/// All databases and what is in them, at one version.
#[derive(Clone, Debug, Default)]
pub struct Catalog {
    /// Counts every published change.
    pub version: u64,
    /// By exact name.
    pub databases: BTreeMap<String, Arc<Database>>,
    /// The next free [`DatabaseId`].
    pub next_database_id: u32,
    /// The next free [`TableId`].
    pub next_table_id: u32,
}

/// A database.
#[derive(Clone, Debug)]
pub struct Database {
    /// Its id.
    pub id: DatabaseId,
    /// Its name.
    pub name: String,
    /// Default collation of new tables.
    pub collation: CollationId,
    /// Tables and views by exact name.
    pub tables: BTreeMap<String, TableEntry>,
}

/// What a table name stands for.
#[derive(Clone, Debug)]
pub enum TableEntry {
    /// A base table.
    Table(Arc<TableDef>),
    /// A view.
    View(Arc<ViewDef>),
}

impl Catalog {
    /// The database of that name.
    pub fn database(&self, name: &str) -> Option<&Arc<Database>> {
        self.databases.get(name)
    }

    /// The table or view of that name.
    pub fn entry(&self, database: &str, table: &str) -> Option<&TableEntry> {
        self.databases.get(database)?.tables.get(table)
    }

    /// The base table of that name.
    pub fn table(&self, database: &str, table: &str) -> Option<&Arc<TableDef>> {
        match self.entry(database, table)? {
            TableEntry::Table(table) => Some(table),
            TableEntry::View(_) => None,
        }
    }

    /// The base table with that id, with its database.
    pub fn table_by_id(&self, id: TableId) -> Option<(&Arc<Database>, &Arc<TableDef>)> {
        self.databases.values().find_map(|database| {
            database.tables.values().find_map(|entry| match entry {
                TableEntry::Table(table) if table.id == id => Some((database, table)),
                _ => None,
            })
        })
    }
}
