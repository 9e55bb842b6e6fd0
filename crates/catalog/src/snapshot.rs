//! The catalog as one immutable value.

use crate::references::{References, referring};
use crate::routine::{RoutineDef, RoutineKind, RoutineName};
use crate::{DatabaseId, ForeignKey, ReferencedColumns, TableDef, TableEntry, TableId, TriggerDef};
use squall_types::CollationId;
use std::collections::BTreeMap;
use std::sync::Arc;

/// All databases and what is in them, at one version.
#[derive(Clone, Debug, Default)]
pub struct Catalog {
    /// Counts every published change.
    pub version: u64,
    /// The next free [`DatabaseId`].
    pub next_database_id: u32,
    /// The next free [`TableId`].
    pub next_table_id: u32,
    /// By exact name.
    databases: BTreeMap<String, Arc<Database>>,
    /// Kept up by whatever puts tables in and takes them out.
    references: Arc<References>,
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
    /// Stored procedures and functions.
    pub routines: BTreeMap<RoutineName, Arc<RoutineDef>>,
}

impl Database {
    /// An empty one.
    pub fn new(id: DatabaseId, name: impl Into<String>, collation: CollationId) -> Database {
        Database { id, name: name.into(), collation, tables: BTreeMap::new(), routines: BTreeMap::new() }
    }
}

/// A foreign key that refers to a table.
#[derive(Clone, Copy, Debug)]
pub struct Reference<'c> {
    /// The database of the table that has the key.
    pub database: &'c Arc<Database>,
    /// The table that has the key.
    pub table: &'c Arc<TableDef>,
    /// The key.
    pub key: &'c ForeignKey,
}

impl Catalog {
    /// An empty one at a version, with the next free ids.
    pub fn new(version: u64, next_database_id: u32, next_table_id: u32) -> Catalog {
        Catalog { version, next_database_id, next_table_id, ..Catalog::default() }
    }

    /// All databases, by exact name.
    pub fn databases(&self) -> &BTreeMap<String, Arc<Database>> {
        &self.databases
    }

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

    /// The base table that has a storage: the table of that id, or the one with that partition.
    pub fn table_of_storage(&self, id: TableId) -> Option<&Arc<TableDef>> {
        self.databases.values().find_map(|database| {
            database.tables.values().find_map(|entry| match entry {
                TableEntry::Table(table) if table.storages().any(|storage| storage == id) => Some(table),
                _ => None,
            })
        })
    }

    /// The base table that a foreign key refers to.
    pub fn parent_of(&self, key: &ForeignKey) -> Option<&Arc<TableDef>> {
        self.table(&key.parent_database, &key.parent_table)
    }

    /// The foreign keys that refer to the table of a name, its own ones among them, in the order of their tables' names.
    pub fn references_to<'c>(&'c self, database: &'c str, table: &'c str) -> impl Iterator<Item = Reference<'c>> {
        let children = self.references.to(database, table).filter_map(|(owner, child)| {
            let owner = self.databases.get(owner)?;
            match owner.tables.get(child)? {
                TableEntry::Table(def) => Some((owner, def)),
                TableEntry::View(_) => None,
            }
        });
        children.flat_map(move |(owner, def)| {
            let keys = def.foreign_keys.iter().filter(move |key| key.refers_to(database, table));
            keys.map(move |key| Reference { database: owner, table: def, key })
        })
    }

    /// Puts a database with what is in it, in the place of the one of its name.
    pub fn put_database(&mut self, database: Database) {
        self.remove_database(&database.name);
        for table in database.tables.values().filter_map(referring) {
            Arc::make_mut(&mut self.references).add(&database.name, table);
        }
        self.databases.insert(database.name.clone(), Arc::new(database));
    }

    /// Takes a database out with what is in it.
    pub fn remove_database(&mut self, name: &str) -> Option<Arc<Database>> {
        let database = self.databases.remove(name)?;
        for table in database.tables.values().filter_map(referring) {
            Arc::make_mut(&mut self.references).remove(name, table);
        }
        Some(database)
    }

    /// Gives a database another collation; tells whether there is one.
    pub fn set_collation(&mut self, name: &str, collation: CollationId) -> bool {
        let Some(database) = self.databases.get_mut(name) else { return false };
        Arc::make_mut(database).collation = collation;
        true
    }

    /// Puts a table or view, in the place of what has its name; tells whether there is the database.
    pub fn put_entry(&mut self, database: &str, entry: TableEntry) -> bool {
        self.remove_entry(database, entry.name());
        let Some(owner) = self.databases.get_mut(database) else { return false };
        if let Some(table) = referring(&entry) {
            Arc::make_mut(&mut self.references).add(database, table);
        }
        Arc::make_mut(owner).tables.insert(entry.name().to_string(), entry);
        true
    }

    /// Takes a table or view out.
    pub fn remove_entry(&mut self, database: &str, name: &str) -> Option<TableEntry> {
        let owner = self.databases.get_mut(database)?;
        owner.tables.get(name)?;
        let removed = Arc::make_mut(owner).tables.remove(name)?;
        if let Some(table) = referring(&removed) {
            Arc::make_mut(&mut self.references).remove(database, table);
        }
        Some(removed)
    }

    /// The trigger of that name in a database, with its table.
    pub fn trigger(&self, database: &str, name: &str) -> Option<(&Arc<TableDef>, &TriggerDef)> {
        self.databases.get(database)?.tables.values().find_map(|entry| match entry {
            TableEntry::Table(table) => Some((table, table.trigger(name)?)),
            TableEntry::View(_) => None,
        })
    }

    /// The stored procedure or function of that name, in any letter case.
    pub fn routine(&self, database: &str, kind: RoutineKind, name: &str) -> Option<&Arc<RoutineDef>> {
        let routines = &self.databases.get(database)?.routines;
        if routines.is_empty() {
            return None;
        }
        routines.get(&(kind, name.to_lowercase()))
    }

    /// Puts a routine, in the place of what has its name; tells whether there is the database.
    pub fn put_routine(&mut self, database: &str, routine: RoutineDef) -> bool {
        let Some(owner) = self.databases.get_mut(database) else { return false };
        Arc::make_mut(owner).routines.insert(routine.key(), Arc::new(routine));
        true
    }

    /// Takes a routine out.
    pub fn remove_routine(&mut self, database: &str, name: &RoutineName) -> Option<Arc<RoutineDef>> {
        let owner = self.databases.get_mut(database)?;
        owner.routines.get(name)?;
        Arc::make_mut(owner).routines.remove(name)
    }

    /// Gives foreign keys that name the columns of tables which are there their ids, as records of before version 2 need.
    /// Tells which tables have been changed by it.
    pub fn resolve_references(&mut self) -> Vec<(DatabaseId, Arc<TableDef>)> {
        let mut resolved = Vec::new();
        for database in self.databases.values() {
            for table in database.tables.values().filter_map(referring) {
                if let Some(table) = self.with_resolved_keys(table) {
                    resolved.push((database.clone(), Arc::new(table)));
                }
            }
        }
        for (database, table) in &resolved {
            self.put_entry(&database.name, TableEntry::Table(table.clone()));
        }
        resolved.into_iter().map(|(database, table)| (database.id, table)).collect()
    }

    fn with_resolved_keys(&self, table: &TableDef) -> Option<TableDef> {
        let mut resolved: Option<TableDef> = None;
        for (at, key) in table.foreign_keys.iter().enumerate() {
            let ReferencedColumns::Names(_) = &key.parent_columns else { continue };
            let Some(parent) = self.parent_of(key) else { continue };
            let Some(ordinals) = key.parent_columns.ordinals(parent) else { continue };
            let ids = ordinals.into_iter().map(|ordinal| parent.columns[ordinal].id).collect();
            let table = resolved.get_or_insert_with(|| table.clone());
            table.foreign_keys[at].parent_columns = ReferencedColumns::Ids(ids);
        }
        resolved
    }
}

#[cfg(test)]
#[path = "snapshot_tests.rs"]
mod tests;
