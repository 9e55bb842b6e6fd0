//! Carrying definition statements out: locks, the next catalog, the commit that makes it durable.
//!
//! Everything here may wait for locks and disks, so the session runs it where blocking is allowed. The order is always:
//! exclusive locks of the tables concerned, then the DDL mutex, then the catalog is read again, edited and committed.

use super::DdlContext;
use crate::database::Shared;
use squall_catalog::{Catalog, Database, DatabaseId, TableDef, TableEntry, TableId};
use squall_parser::ast::ObjectName;
use squall_registry::{Registry, StatementContext};
use squall_row_store::{DdlChanges, LockWait, SessionLocks, TableLock};
use squall_types::{CollationId, ErrorCode, Level, SqlError, SqlResult};
use std::sync::Arc;

/// What a definition statement runs with, owned so that it can move to another thread.
#[derive(Clone)]
pub struct DdlEnv {
    /// The statement.
    pub context: Arc<StatementContext>,
    /// The session, for its locks.
    pub session: u64,
    /// `lock_wait_timeout`.
    pub wait: LockWait,
    /// `foreign_key_checks`.
    pub foreign_key_checks: bool,
    /// `collation_server`.
    pub server_collation: CollationId,
    /// `sql_require_primary_key`.
    pub require_primary_key: bool,
    /// `default_storage_engine`.
    pub default_engine: String,
    /// `table_compression`.
    pub table_compression: String,
    /// Functions, for the expressions of keys.
    pub registry: Arc<Registry>,
}

/// A table by database and name.
pub type QualifiedName = (String, String);

impl DdlEnv {
    /// The database and the name of a table (1046).
    pub fn qualify(&self, name: &ObjectName) -> SqlResult<QualifiedName> {
        let database = match (&name.schema, &self.context.database) {
            (Some(schema), _) => schema.to_string(),
            (None, Some(database)) => database.to_string(),
            (None, None) => return Err(SqlError::new(ErrorCode::NoDatabase, &[])),
        };
        Ok((database, name.name.to_string()))
    }

    /// Adds a note.
    pub fn note(&self, error: SqlError) {
        self.context.diagnostics.push(Level::Note, error);
    }

    /// What definitions in a database are resolved with.
    pub fn ddl_context<'a>(&'a self, catalog: &'a Catalog, database: &'a str) -> DdlContext<'a> {
        DdlContext {
            statement: &self.context,
            catalog,
            database,
            database_collation: catalog.database(database).map_or(self.server_collation, |database| database.collation),
            foreign_key_checks: self.foreign_key_checks,
            registry: &self.registry,
        }
    }
}

/// "Table 'd.t' doesn't exist".
pub fn no_such_table(name: &QualifiedName) -> SqlError {
    SqlError::new(ErrorCode::NoSuchTable, &[&name.0, &name.1])
}

/// The base table of that name (1146; 1347 for a view).
pub fn base_table<'c>(catalog: &'c Catalog, name: &QualifiedName) -> SqlResult<&'c Arc<TableDef>> {
    match catalog.entry(&name.0, &name.1) {
        Some(TableEntry::Table(table)) => Ok(table),
        Some(TableEntry::View(_)) => Err(SqlError::new(ErrorCode::WrongObject, &[&name.0, &name.1, &"BASE TABLE"])),
        None => Err(missing(catalog, name)),
    }
}

/// 1049 if the database is missing, otherwise 1146.
pub fn missing(catalog: &Catalog, name: &QualifiedName) -> SqlError {
    if catalog.database(&name.0).is_none() {
        SqlError::new(ErrorCode::BadDatabase, &[&name.0])
    } else {
        no_such_table(name)
    }
}

/// The database to edit.
pub fn database_mut<'c>(catalog: &'c mut Catalog, name: &str) -> SqlResult<&'c mut Database> {
    match catalog.databases.get_mut(name) {
        Some(database) => Ok(Arc::make_mut(database)),
        None => Err(SqlError::new(ErrorCode::BadDatabase, &[&name])),
    }
}

impl Shared {
    /// Locks tables against everyone else. Names without a table are left to the statement to complain about.
    pub fn lock_for_ddl(&self, env: &DdlEnv, names: &[QualifiedName]) -> SqlResult<SessionLocks> {
        let catalog = self.catalog.load();
        let mut ids: Vec<TableId> =
            names.iter().filter_map(|(database, table)| catalog.table(database, table)).map(|table| table.id).collect();
        // One order for all, so that two statements cannot wait for each other.
        ids.sort_unstable();
        ids.dedup();
        let mut locks = self.store.session_locks(env.session);
        for id in ids {
            locks.lock(id, TableLock::Exclusive, env.wait).map_err(SqlError::from)?;
        }
        Ok(locks)
    }

    /// Makes the next catalog durable and publishes it.
    pub fn change_catalog<T>(&self, change: impl FnOnce(&mut Catalog) -> SqlResult<(T, DdlChanges)>) -> SqlResult<T> {
        let _changing = self.ddl.lock();
        let mut next = (*self.catalog.load()).clone();
        let (value, changes) = change(&mut next)?;
        next.version += 1;
        self.store.commit_ddl(&next, &changes)?;
        let version = next.version;
        self.catalog.publish(next);
        self.plans.catalog_changed(version);
        Ok(value)
    }

    /// As [`Shared::change_catalog`] where tables were locked by name before: fails with 1412 when another statement has
    /// put another table in such a place meanwhile.
    pub fn change_locked<T>(
        &self,
        names: &[QualifiedName],
        seen: &Catalog,
        change: impl FnOnce(&mut Catalog) -> SqlResult<(T, DdlChanges)>,
    ) -> SqlResult<T> {
        self.change_catalog(|catalog| {
            for (database, table) in names {
                let id = |catalog: &Catalog| catalog.table(database, table).map(|table| (table.id, table.version));
                if id(catalog) != id(seen) {
                    return Err(SqlError::new(ErrorCode::DoesNotSupportSchemaChange, &[]));
                }
            }
            change(catalog)
        })
    }
}

/// Puts a new table into the catalog and gives it its id.
pub fn insert_table(catalog: &mut Catalog, database: &str, mut table: TableDef) -> SqlResult<TableId> {
    let id = TableId(catalog.next_table_id);
    catalog.next_table_id += 1;
    table.id = id;
    let name = table.name.clone();
    database_mut(catalog, database)?.tables.insert(name, TableEntry::Table(Arc::new(table)));
    Ok(id)
}

/// Puts another definition in the place of a table.
pub fn replace_table(catalog: &mut Catalog, database: &str, table: TableDef) -> SqlResult<()> {
    let name = table.name.clone();
    database_mut(catalog, database)?.tables.insert(name, TableEntry::Table(Arc::new(table)));
    Ok(())
}

/// A new database.
pub fn insert_database(catalog: &mut Catalog, name: &str, collation: CollationId) {
    let id = DatabaseId(catalog.next_database_id);
    catalog.next_database_id += 1;
    let database = Database { id, name: name.to_string(), collation, tables: Default::default() };
    catalog.databases.insert(name.to_string(), Arc::new(database));
}

/// Foreign keys of other tables that refer to a table: database, table, constraint.
pub fn referring_keys(catalog: &Catalog, name: &QualifiedName) -> Vec<(String, String, String)> {
    let mut found = Vec::new();
    for (database, definition) in &catalog.databases {
        for entry in definition.tables.values() {
            let TableEntry::Table(table) = entry else { continue };
            if *database == name.0 && table.name == name.1 {
                continue;
            }
            for key in &table.foreign_keys {
                if key.parent_database == name.0 && key.parent_table == name.1 {
                    found.push((database.clone(), table.name.clone(), key.name.clone()));
                }
            }
        }
    }
    found
}
