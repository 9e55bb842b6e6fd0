//! Changes of the catalog, made by nobody but who may make them.

use super::execute::{DdlEnv, QualifiedName, missing, referring_keys};
use super::locked::{LockedTable, LockedTables};
use crate::database::Shared;
use squall_catalog::{Catalog, Database, DatabaseId, TableDef, TableEntry, TableId, ViewDef};
use squall_row_store::DdlChanges;
use squall_types::{CollationId, ErrorCode, SqlError, SqlResult};
use std::ops::Deref;
use std::sync::Arc;

/// The next catalog while a definition makes it. Everybody may look at it; tables that were there before are changed by
/// who has them locked.
pub struct CatalogEdit<'a> {
    catalog: &'a mut Catalog,
    changes: DdlChanges,
    /// Tables that this statement has brought, which nobody else knows yet.
    own: Vec<TableId>,
}

impl Deref for CatalogEdit<'_> {
    type Target = Catalog;

    fn deref(&self) -> &Catalog {
        self.catalog
    }
}

/// A number for a table that comes into the catalog later, when it is filled: nobody but its statement knows it.
#[derive(Debug)]
pub struct ReservedId(TableId);

impl ReservedId {
    /// The number.
    pub fn id(&self) -> TableId {
        self.0
    }
}

impl Shared {
    /// Makes the next catalog durable and publishes it.
    pub fn change_catalog<T>(&self, change: impl FnOnce(&mut CatalogEdit<'_>) -> SqlResult<T>) -> SqlResult<T> {
        let _changing = self.ddl.lock();
        let mut next = (*self.catalog.load()).clone();
        let mut edit = CatalogEdit { catalog: &mut next, changes: DdlChanges::default(), own: Vec::new() };
        let value = change(&mut edit)?;
        let changes = edit.changes;
        next.version += 1;
        self.store.commit_ddl(&next, &changes)?;
        let version = next.version;
        self.catalog.publish(next);
        self.plans.catalog_changed(version);
        Ok(value)
    }

    /// A definition that is a change of the catalog alone: locks the tables that are concerned and makes the change; both anew
    /// where the change meets tables that have come meanwhile and are not locked.
    pub fn define<T>(
        &self,
        env: &DdlEnv,
        wanted: impl Fn(&Catalog) -> SqlResult<Vec<QualifiedName>>,
        change: impl Fn(&LockedTables, &mut CatalogEdit<'_>) -> SqlResult<T>,
    ) -> SqlResult<T> {
        loop {
            let tables = self.lock_tables(env, &wanted)?;
            match self.change_catalog(|catalog| change(&tables, catalog)) {
                Err(error)
                    if error.is(ErrorCode::DoesNotSupportSchemaChange)
                        && self.catalog.version() != tables.catalog().version =>
                {
                    env.context.kill.check()?;
                }
                result => return result,
            }
        }
    }

    /// A number that no table of the catalog has or will have.
    pub fn reserve_table_id(&self) -> SqlResult<ReservedId> {
        self.change_catalog(|catalog| Ok(ReservedId(catalog.next_id())))
    }
}

impl CatalogEdit<'_> {
    fn database_mut(&mut self, name: &str) -> SqlResult<&mut Database> {
        database_mut(self.catalog, name)
    }

    fn next_id(&mut self) -> TableId {
        let id = TableId(self.catalog.next_table_id);
        self.catalog.next_table_id += 1;
        id
    }

    /// 1412 unless a table is among the locked ones, or is this statement's own.
    fn check_locked(&self, tables: &LockedTables, id: TableId) -> SqlResult<()> {
        if self.own.contains(&id) { Ok(()) } else { tables.by_id(id).map(|_| ()) }
    }

    // ---- tables ----

    /// Puts a new table where nothing is.
    pub fn create_table(&mut self, database: &str, mut table: TableDef) -> SqlResult<()> {
        table.id = self.next_id();
        self.put_new(database, Arc::new(table))
    }

    /// Puts a new table, which has been filled under its reserved number, where nothing is.
    pub fn create_filled(&mut self, database: &str, id: &ReservedId, table: Arc<TableDef>) -> SqlResult<()> {
        if table.id != id.0 {
            return Err(SqlError::internal("a filled table has another number"));
        }
        self.put_new(database, table)
    }

    fn put_new(&mut self, database: &str, table: Arc<TableDef>) -> SqlResult<()> {
        let name = table.name.clone();
        if self.catalog.entry(database, &name).is_some() {
            return Err(SqlError::new(ErrorCode::TableExists, &[&name]));
        }
        self.own.push(table.id);
        self.database_mut(database)?.tables.insert(name, TableEntry::Table(table));
        Ok(())
    }

    /// The place of a locked table, wherever this statement has put it (1412 if it is gone).
    fn place_of(&self, table: &LockedTable) -> SqlResult<QualifiedName> {
        let name = table.name();
        if self.catalog.table(&name.0, &name.1).is_some_and(|found| found.id == table.id) {
            return Ok(name.clone());
        }
        let found = self.catalog.table_by_id(table.id);
        let place = found.map(|(database, found)| (database.name.clone(), found.name.clone()));
        place.ok_or_else(|| SqlError::new(ErrorCode::DoesNotSupportSchemaChange, &[]))
    }

    /// Gives a locked table another definition.
    pub fn replace(&mut self, table: &LockedTable, def: TableDef) -> SqlResult<()> {
        if def.id != table.id {
            return Err(SqlError::internal("a definition of another table"));
        }
        let (database, name) = self.place_of(table)?;
        self.database_mut(&database)?.tables.insert(name, TableEntry::Table(Arc::new(def)));
        Ok(())
    }

    /// Gives the table of a name, which has to be among the locked ones, another definition.
    pub fn replace_named(&mut self, name: &QualifiedName, def: TableDef, tables: &LockedTables) -> SqlResult<()> {
        if self.catalog.table(&name.0, &name.1).is_none_or(|table| table.id != def.id) {
            return Err(SqlError::new(ErrorCode::DoesNotSupportSchemaChange, &[]));
        }
        self.check_locked(tables, def.id)?;
        self.database_mut(&name.0)?.tables.insert(name.1.clone(), TableEntry::Table(Arc::new(def)));
        Ok(())
    }

    /// Puts a copy, which has been filled under its reserved number, in the place of a locked table.
    pub fn replace_by_copy(&mut self, table: &LockedTable, id: &ReservedId, copy: TableDef) -> SqlResult<()> {
        if copy.id != id.0 {
            return Err(SqlError::internal("a filled table has another number"));
        }
        let (database, name) = self.place_of(table)?;
        self.own.push(copy.id);
        self.database_mut(&database)?.tables.insert(name, TableEntry::Table(Arc::new(copy)));
        Ok(())
    }

    /// Empties a locked table, which gets another definition.
    pub fn truncate(&mut self, table: &LockedTable, def: TableDef) -> SqlResult<()> {
        self.replace(table, def)?;
        self.changes.truncated.push(table.id);
        Ok(())
    }

    /// Drops a locked table.
    pub fn drop_table(&mut self, table: &LockedTable) -> SqlResult<()> {
        let (database, name) = self.place_of(table)?;
        self.database_mut(&database)?.tables.remove(&name);
        Ok(())
    }

    /// Fails with 1412 if others have begun or ceased to refer to a table by foreign keys since it was locked: what a
    /// definition was checked against does not hold any more.
    pub fn check_references(&self, tables: &LockedTables, table: &LockedTable) -> SqlResult<()> {
        match referring_keys(self.catalog, table.name()) == referring_keys(tables.catalog(), table.name()) {
            true => Ok(()),
            false => Err(SqlError::new(ErrorCode::DoesNotSupportSchemaChange, &[])),
        }
    }

    /// Takes a table or view out of its place, to be put into another one. A table has to be among the locked ones.
    pub fn take(&mut self, name: &QualifiedName, tables: &LockedTables) -> SqlResult<TableEntry> {
        let entry = self.catalog.entry(&name.0, &name.1).cloned().ok_or_else(|| missing(self.catalog, name))?;
        if let TableEntry::Table(table) = &entry {
            self.check_locked(tables, table.id)?;
        }
        self.database_mut(&name.0)?.tables.remove(&name.1);
        Ok(entry)
    }

    /// Puts what was [taken](CatalogEdit::take) where nothing is.
    pub fn put(&mut self, name: &QualifiedName, entry: TableEntry, tables: &LockedTables) -> SqlResult<()> {
        if self.catalog.entry(&name.0, &name.1).is_some() {
            return Err(SqlError::new(ErrorCode::TableExists, &[&name.1]));
        }
        if let TableEntry::Table(table) = &entry {
            self.check_locked(tables, table.id)?;
        }
        self.database_mut(&name.0)?.tables.insert(name.1.clone(), entry);
        Ok(())
    }

    // ---- views ----

    /// Puts a view where nothing or another view is.
    pub fn put_view(&mut self, database: &str, view: ViewDef) -> SqlResult<()> {
        if self.catalog.table(database, &view.name).is_some() {
            return Err(SqlError::new(ErrorCode::WrongObject, &[&database, &view.name, &"VIEW"]));
        }
        let name = view.name.clone();
        self.database_mut(database)?.tables.insert(name, TableEntry::View(Arc::new(view)));
        Ok(())
    }

    /// Drops a view (1347 for a table).
    pub fn drop_view(&mut self, name: &QualifiedName) -> SqlResult<()> {
        match self.catalog.entry(&name.0, &name.1) {
            None => return Ok(()),
            Some(TableEntry::Table(_)) => {
                return Err(SqlError::new(ErrorCode::WrongObject, &[&name.0, &name.1, &"VIEW"]));
            }
            Some(TableEntry::View(_)) => {}
        }
        self.database_mut(&name.0)?.tables.remove(&name.1);
        Ok(())
    }

    // ---- databases ----

    /// Makes a database.
    pub fn create_database(&mut self, name: &str, collation: CollationId) {
        insert_database(self.catalog, name, collation);
    }

    /// Gives a database another collation.
    pub fn alter_database(&mut self, name: &str, collation: CollationId) -> SqlResult<()> {
        self.database_mut(name)?.collation = collation;
        Ok(())
    }

    /// Drops a database and what is in it, all of whose tables have to be locked (1412).
    pub fn drop_database(&mut self, name: &str, tables: &LockedTables) -> SqlResult<()> {
        let entries = self.catalog.database(name).map(|database| database.tables.values()).into_iter().flatten();
        for entry in entries {
            if let TableEntry::Table(table) = entry {
                tables.by_id(table.id)?;
            }
        }
        self.catalog.databases.remove(name);
        Ok(())
    }
}

/// The database to edit.
pub(crate) fn database_mut<'c>(catalog: &'c mut Catalog, name: &str) -> SqlResult<&'c mut Database> {
    match catalog.databases.get_mut(name) {
        Some(database) => Ok(Arc::make_mut(database)),
        None => Err(SqlError::new(ErrorCode::BadDatabase, &[&name])),
    }
}

/// A new database.
pub(crate) fn insert_database(catalog: &mut Catalog, name: &str, collation: CollationId) {
    let id = DatabaseId(catalog.next_database_id);
    catalog.next_database_id += 1;
    let database = Database { id, name: name.to_string(), collation, tables: Default::default() };
    catalog.databases.insert(name.to_string(), Arc::new(database));
}
