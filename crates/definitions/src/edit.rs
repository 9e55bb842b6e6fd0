//! Changes of the catalog, made only by a session that holds the right lock.

use crate::constraint::check_parent;
use crate::execute::{DdlEnv, QualifiedName, missing};
use crate::locked::lock_tables;
use crate::locked::{LockedTable, LockedTables};
use crate::partition::{assign_storages, exchanged, forget_storages};
use squall_catalog::{
    Catalog, Database, DatabaseId, ForeignKey, ReferencedColumns, RoutineDef, RoutineName, TableDef, TableEntry,
    TableId, ViewDef,
};
use squall_row_store::{DdlChanges, SystemChange};
use squall_server_state::ServerState;
use squall_types::{CollationId, ErrorCode, SqlError, SqlResult};
use std::ops::Deref;
use std::sync::Arc;

/// The next catalog while a definition makes it. All threads may read it; tables that were there before are changed by
/// who has them locked.
pub struct CatalogEdit<'a> {
    catalog: &'a mut Catalog,
    changes: DdlChanges,
    /// Tables that this statement has brought, which no other session knows yet.
    own: Vec<TableId>,
}

impl Deref for CatalogEdit<'_> {
    type Target = Catalog;

    fn deref(&self) -> &Catalog {
        self.catalog
    }
}

/// A number for a table that comes into the catalog later, when it is filled: only its statement knows it.
#[derive(Debug)]
pub struct ReservedId(TableId);

impl ReservedId {
    /// The number.
    pub fn id(&self) -> TableId {
        self.0
    }
}

/// The catalog of now. Where that has the version given it may be about to be followed: the store goes by a definition from when that
/// is durable, shortly before the catalog is published. Then the next one.
pub fn newer_catalog(state: &ServerState, version: u64) -> Arc<Catalog> {
    let catalog = state.catalog.load();
    if catalog.version != version {
        return catalog;
    }
    drop(state.ddl.lock());
    state.catalog.load()
}

/// Makes the next catalog durable and publishes it.
pub fn change_catalog<T>(
    state: &ServerState,
    change: impl FnOnce(&mut CatalogEdit<'_>) -> SqlResult<T>,
) -> SqlResult<T> {
    let _changing = state.ddl.lock();
    let mut next = (*state.catalog.load()).clone();
    let mut edit = CatalogEdit { catalog: &mut next, changes: DdlChanges::default(), own: Vec::new() };
    let value = change(&mut edit)?;
    let changes = edit.changes;
    next.version += 1;
    state.store.commit_ddl(&next, &changes)?;
    let version = next.version;
    state.catalog.publish(next);
    state.tell_of_catalog(version);
    Ok(value)
}

/// A definition that changes only the catalog. Locks the affected tables and makes the change. Does both again if the change meets
/// new tables that are not locked.
pub fn define<T>(
    state: &ServerState,
    env: &DdlEnv,
    wanted: impl Fn(&Catalog) -> SqlResult<Vec<QualifiedName>>,
    change: impl Fn(&LockedTables, &mut CatalogEdit<'_>) -> SqlResult<T>,
) -> SqlResult<T> {
    define_after(state, env, wanted, |_| Ok(()), change)
}

/// [`define`]; `prepare` is done with the tables locked, and in no other definition's way. What it gives is held until the change is published.
pub fn define_after<T, P>(
    state: &ServerState,
    env: &DdlEnv,
    wanted: impl Fn(&Catalog) -> SqlResult<Vec<QualifiedName>>,
    prepare: impl Fn(&LockedTables) -> SqlResult<P>,
    change: impl Fn(&LockedTables, &mut CatalogEdit<'_>) -> SqlResult<T>,
) -> SqlResult<T> {
    loop {
        let tables = lock_tables(state, env, &wanted)?;
        let _prepared = prepare(&tables)?;
        match change_catalog(state, |catalog| change(&tables, catalog)) {
            Err(error)
                if error.is(ErrorCode::DoesNotSupportSchemaChange)
                    && state.catalog.version() != tables.catalog().version =>
            {
                env.context.kill.check()?;
            }
            result => return result,
        }
    }
}

/// Gives a table, and each of its storages, a number that nothing of the catalog has or will have.
pub fn reserve_table_id(state: &ServerState, table: &mut TableDef) -> SqlResult<ReservedId> {
    change_catalog(state, |catalog| {
        table.id = catalog.next_id();
        forget_storages(table);
        assign_storages(table, || catalog.next_id());
        Ok(ReservedId(table.id))
    })
}

impl CatalogEdit<'_> {
    fn put_entry(&mut self, database: &str, entry: TableEntry) -> SqlResult<()> {
        match self.catalog.put_entry(database, entry) {
            true => Ok(()),
            false => Err(SqlError::new(ErrorCode::BadDatabase, &[&database])),
        }
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
    pub fn create_table(&mut self, database: &str, mut table: TableDef, tables: &LockedTables) -> SqlResult<()> {
        table.id = self.next_id();
        // LIKE has those of another table.
        forget_storages(&mut table);
        assign_storages(&mut table, || self.next_id());
        self.put_new(database, Arc::new(table), tables)
    }

    /// Puts a new table, which has been filled under its reserved number, where nothing is.
    pub fn create_filled(
        &mut self,
        database: &str,
        id: &ReservedId,
        table: Arc<TableDef>,
        tables: &LockedTables,
    ) -> SqlResult<()> {
        if table.id != id.0 {
            return Err(SqlError::internal("a filled table has another number"));
        }
        self.put_new(database, table, tables)
    }

    fn put_new(&mut self, database: &str, table: Arc<TableDef>, tables: &LockedTables) -> SqlResult<()> {
        let name = table.name.clone();
        if self.catalog.entry(database, &name).is_some() {
            return Err(SqlError::new(ErrorCode::TableExists, &[&name]));
        }
        self.own.push(table.id);
        self.put_entry(database, TableEntry::Table(table.clone()))?;
        self.begin_references(None, &table, tables)?;
        self.resolve_keys_to(&(database.to_string(), name), tables)
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
    pub fn replace(&mut self, table: &LockedTable, mut def: TableDef, tables: &LockedTables) -> SqlResult<()> {
        if def.id != table.id {
            return Err(SqlError::internal("a definition of another table"));
        }
        let (database, _) = self.place_of(table)?;
        assign_storages(&mut def, || self.next_id());
        let def = Arc::new(def);
        self.put_entry(&database, TableEntry::Table(def.clone()))?;
        self.begin_references(Some(table.def()), &def, tables)
    }

    /// Puts a copy, which has been filled under its reserved number, in the place of a locked table.
    pub fn replace_by_copy(
        &mut self,
        table: &LockedTable,
        id: &ReservedId,
        copy: TableDef,
        tables: &LockedTables,
    ) -> SqlResult<()> {
        if copy.id != id.0 {
            return Err(SqlError::internal("a filled table has another number"));
        }
        let (database, _) = self.place_of(table)?;
        self.own.push(copy.id);
        let copy = Arc::new(copy);
        self.put_entry(&database, TableEntry::Table(copy.clone()))?;
        self.begin_references(Some(table.def()), &copy, tables)
    }

    /// Empties a locked table, which gets another definition.
    pub fn truncate(&mut self, table: &LockedTable, def: TableDef, tables: &LockedTables) -> SqlResult<()> {
        self.changes.truncated.extend(def.storages());
        self.replace(table, def, tables)
    }

    /// Empties some of the storages of a locked table, which gets another definition.
    pub fn truncate_storages(
        &mut self,
        table: &LockedTable,
        def: TableDef,
        storages: Vec<TableId>,
        tables: &LockedTables,
    ) -> SqlResult<()> {
        self.replace(table, def, tables)?;
        self.changes.truncated.extend(storages);
        Ok(())
    }

    /// Lets a storage of a partitioned table and another table's change places: both are locked.
    pub fn exchange(&mut self, whole: &LockedTable, number: usize, table: &LockedTable) -> SqlResult<()> {
        let (of_whole, of_table) = (self.place_of(whole)?.0, self.place_of(table)?.0);
        let (whole, table) = exchanged(whole, number, table)?;
        self.own.push(table.id);
        self.put_entry(&of_whole, TableEntry::Table(Arc::new(whole)))?;
        self.put_entry(&of_table, TableEntry::Table(Arc::new(table)))
    }

    /// Drops a locked table. Foreign keys of others that are left refer to its name from now on; they are locked too.
    pub fn drop_table(&mut self, table: &LockedTable, tables: &LockedTables) -> SqlResult<()> {
        let place = self.place_of(table)?;
        self.unresolve_keys_to(&place, tables)?;
        self.catalog.remove_entry(&place.0, &place.1);
        Ok(())
    }

    // ---- foreign keys ----

    /// Gives another version to the tables that a table's new foreign keys refer to, so that a statement that was planned before is
    /// planned again and looks for children. They are locked, as their rows must not change meanwhile.
    fn begin_references(&mut self, old: Option<&TableDef>, table: &TableDef, tables: &LockedTables) -> SqlResult<()> {
        for key in &table.foreign_keys {
            let is_same = |before: &ForeignKey| {
                before.refers_to(&key.parent_database, &key.parent_table)
                    && before.columns == key.columns
                    && before.parent_columns == key.parent_columns
            };
            if old.is_some_and(|old| old.foreign_keys.iter().any(is_same)) {
                continue;
            }
            let Some(parent) = self.catalog.parent_of(key).filter(|parent| parent.id != table.id) else { continue };
            if matches!(key.parent_columns, ReferencedColumns::Names(_)) {
                // It has come since the definition was made.
                return Err(SqlError::new(ErrorCode::DoesNotSupportSchemaChange, &[]));
            }
            let mut parent = (**parent).clone();
            parent.version += 1;
            self.check_locked(tables, parent.id)?;
            self.put_entry(&key.parent_database, TableEntry::Table(Arc::new(parent)))?;
        }
        Ok(())
    }

    /// Resolves foreign keys that were waiting for a table, and checks that it has their columns (3734, 3780, 6125).
    pub fn resolve_keys_to(&mut self, name: &QualifiedName, tables: &LockedTables) -> SqlResult<()> {
        let Some(parent) = self.catalog.table(&name.0, &name.1).cloned() else { return Ok(()) };
        self.change_keys_to(name, tables, &|table, key| {
            if matches!(key.parent_columns, ReferencedColumns::Ids(_)) {
                return Ok(None);
            }
            let ids = check_parent(table, key, &parent, false)?;
            Ok(Some(ForeignKey { parent_columns: ReferencedColumns::Ids(ids), ..key.clone() }))
        })
    }

    /// Has foreign keys of others refer by name to a table that goes.
    fn unresolve_keys_to(&mut self, name: &QualifiedName, tables: &LockedTables) -> SqlResult<()> {
        let Some(parent) = self.catalog.table(&name.0, &name.1).cloned() else { return Ok(()) };
        self.change_keys_to(name, tables, &|table, key| {
            if table.id == parent.id {
                return Ok(None);
            }
            let names = key.parent_columns.names(Some(&parent)).into_iter().map(str::to_string).collect();
            Ok(Some(ForeignKey { parent_columns: ReferencedColumns::Names(names), ..key.clone() }))
        })
    }

    /// Has foreign keys that refer to a table refer to another name, which it has from now on.
    pub fn rename_parent(&mut self, from: &QualifiedName, to: &QualifiedName, tables: &LockedTables) -> SqlResult<()> {
        self.change_keys_to(from, tables, &|_, key| {
            let (parent_database, parent_table) = to.clone();
            Ok(Some(ForeignKey { parent_database, parent_table, ..key.clone() }))
        })
    }

    /// Lets `change` replace the foreign keys of locked tables that refer to a name.
    fn change_keys_to(
        &mut self,
        name: &QualifiedName,
        tables: &LockedTables,
        change: &dyn Fn(&TableDef, &ForeignKey) -> SqlResult<Option<ForeignKey>>,
    ) -> SqlResult<()> {
        let mut children: Vec<(String, Arc<TableDef>)> = Vec::new();
        for reference in self.catalog.references_to(&name.0, &name.1) {
            if children.last().is_none_or(|(_, table)| table.id != reference.table.id) {
                children.push((reference.database.name.clone(), reference.table.clone()));
            }
        }
        for (database, child) in children {
            let mut changed = (*child).clone();
            for key in changed.foreign_keys.iter_mut().filter(|key| key.refers_to(&name.0, &name.1)) {
                if let Some(other) = change(&child, key)? {
                    *key = other;
                }
            }
            if changed.foreign_keys != child.foreign_keys {
                self.check_locked(tables, child.id)?;
                changed.version += 1;
                self.put_entry(&database, TableEntry::Table(Arc::new(changed)))?;
            }
        }
        Ok(())
    }

    /// Takes a table or view out of its place, to be put into another one. A table has to be among the locked ones.
    pub fn take(&mut self, name: &QualifiedName, tables: &LockedTables) -> SqlResult<TableEntry> {
        let entry = self.catalog.entry(&name.0, &name.1).cloned().ok_or_else(|| missing(self.catalog, name))?;
        if let TableEntry::Table(table) = &entry {
            self.check_locked(tables, table.id)?;
        }
        self.catalog.remove_entry(&name.0, &name.1);
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
        self.put_entry(&name.0, entry)
    }

    // ---- views ----

    /// Puts a view where nothing or another view is.
    pub fn put_view(&mut self, database: &str, view: ViewDef) -> SqlResult<()> {
        if self.catalog.table(database, &view.name).is_some() {
            return Err(SqlError::new(ErrorCode::WrongObject, &[&database, &view.name, &"VIEW"]));
        }
        self.put_entry(database, TableEntry::View(Arc::new(view)))
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
        self.catalog.remove_entry(&name.0, &name.1);
        Ok(())
    }

    // ---- routines ----

    /// Puts a routine, in the place of what has its name (1049).
    pub fn put_routine(&mut self, database: &str, routine: RoutineDef) -> SqlResult<()> {
        match self.catalog.put_routine(database, routine) {
            true => Ok(()),
            false => Err(SqlError::new(ErrorCode::BadDatabase, &[&database])),
        }
    }

    /// Drops a routine; tells whether there was one.
    pub fn drop_routine(&mut self, database: &str, name: &RoutineName) -> bool {
        self.catalog.remove_routine(database, name).is_some()
    }

    /// Has other records of the server change together with the catalog.
    pub fn change_system(&mut self, changes: Vec<SystemChange>) {
        self.changes.system.extend(changes);
    }

    // ---- databases ----

    /// Makes a database.
    pub fn create_database(&mut self, name: &str, collation: CollationId) {
        insert_database(self.catalog, name, collation);
    }

    /// Gives a database another collation.
    pub fn alter_database(&mut self, name: &str, collation: CollationId) -> SqlResult<()> {
        match self.catalog.set_collation(name, collation) {
            true => Ok(()),
            false => Err(SqlError::new(ErrorCode::BadDatabase, &[&name])),
        }
    }

    /// Drops a database and what is in it, all of whose tables have to be locked (1412).
    pub fn drop_database(&mut self, name: &str, tables: &LockedTables) -> SqlResult<()> {
        let entries = self.catalog.database(name).map(|database| database.tables.values()).into_iter().flatten();
        let mut places = Vec::new();
        for entry in entries {
            if let TableEntry::Table(table) = entry {
                tables.by_id(table.id)?;
                places.push((name.to_string(), table.name.clone()));
            }
        }
        places.iter().try_for_each(|place| self.unresolve_keys_to(place, tables))?;
        self.catalog.remove_database(name);
        Ok(())
    }
}

/// A new database.
pub fn insert_database(catalog: &mut Catalog, name: &str, collation: CollationId) {
    let id = DatabaseId(catalog.next_database_id);
    catalog.next_database_id += 1;
    catalog.put_database(Database::new(id, name, collation));
}
