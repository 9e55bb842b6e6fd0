//! Runs definition statements: locks, the next catalog, the commit that makes it durable.
//!
//! Everything here may wait for locks and disks, so the session runs it where blocking is allowed. The order is always:
//! exclusive locks of the tables concerned ([`crate::locked`]), then the DDL mutex, then the catalog is read again, edited
//! and committed ([`crate::edit`]).

use crate::context::DdlContext;
use squall_catalog::{AccessMap, AccountKey, Catalog, TableDef, TableEntry};
use squall_parser::ast::{AlterAction, AlterTable, ObjectName, TableOption};
use squall_registry::Registry;
use squall_row_store::{Engines, LockWait};
use squall_statement_context::StatementContext;
use squall_system_tables::Who;
use squall_types::{CollationId, ErrorCode, Level, SqlError, SqlResult};
use std::sync::Arc;

/// The environment of a definition statement, owned so that it can move to another thread.
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
    /// Storage engines.
    pub engines: Arc<Engines>,
    /// The account that matched.
    pub account: AccountKey,
    /// The host that the client comes from.
    pub client_host: Box<str>,
    /// The account's grants.
    pub access: Arc<AccessMap>,
}

/// A table by database and name.
pub type QualifiedName = (String, String);

impl DdlEnv {
    /// Whose statement it is.
    pub fn who(&self) -> Who<'_> {
        Who { account: &self.account, client_host: &self.client_host, access: &self.access, locked: None }
    }

    /// The database and the name of a table (1046).
    pub fn qualify(&self, name: &ObjectName) -> SqlResult<QualifiedName> {
        let database = match (&name.schema, &self.context.settings.database) {
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

    /// The context in which definitions of a database are resolved.
    pub fn ddl_context<'a>(&'a self, catalog: &'a Catalog, database: &'a str) -> DdlContext<'a> {
        DdlContext {
            statement: &self.context,
            catalog,
            database,
            database_collation: catalog.database(database).map_or(self.server_collation, |database| database.collation),
            foreign_key_checks: self.foreign_key_checks,
            registry: &self.registry,
            engines: &self.engines,
        }
    }
}

/// "Table 'd.t' doesn't exist".
pub fn no_such_table(name: &QualifiedName) -> SqlError {
    SqlError::new(ErrorCode::NoSuchTable, &[&name.0, &name.1])
}

/// The base table of that name (1146; 1347 for a view or a sequence).
pub fn base_table<'c>(catalog: &'c Catalog, name: &QualifiedName) -> SqlResult<&'c Arc<TableDef>> {
    match catalog.entry(&name.0, &name.1) {
        Some(TableEntry::Table(table)) if !table.is_sequence() => Ok(table),
        Some(TableEntry::Table(_) | TableEntry::View(_)) => {
            Err(SqlError::new(ErrorCode::WrongObject, &[&name.0, &name.1, &"BASE TABLE"]))
        }
        None => Err(missing(catalog, name)),
    }
}

/// The same for ALTER TABLE, of a sequence too if the statement leaves its columns alone.
///
/// # Errors
/// As of [`base_table`]; 4086 for other changes of a sequence.
pub fn altered_table<'c>(
    catalog: &'c Catalog,
    name: &QualifiedName,
    statement: &AlterTable,
) -> SqlResult<&'c Arc<TableDef>> {
    let Some(TableEntry::Table(table)) = catalog.entry(&name.0, &name.1).filter(|entry| is_sequence(entry)) else {
        return base_table(catalog, name);
    };
    let is_allowed = |action: &AlterAction| match action {
        AlterAction::EnableKeys | AlterAction::DisableKeys | AlterAction::RenameTable(_) => true,
        AlterAction::Options(options) => options.iter().all(|option| matches!(option, TableOption::Comment(_))),
        _ => false,
    };
    if statement.actions.iter().all(is_allowed) {
        return Ok(table);
    }
    let reason = "ALTER SEQUENCE changes its options, and nothing its columns";
    Err(SqlError::new(ErrorCode::SequenceInvalidTable, &[&name.0, &name.1, &reason]))
}

fn is_sequence(entry: &TableEntry) -> bool {
    matches!(entry, TableEntry::Table(table) if table.is_sequence())
}

/// 1049 if the database is missing, otherwise 1146.
pub fn missing(catalog: &Catalog, name: &QualifiedName) -> SqlError {
    if catalog.database(&name.0).is_none() {
        SqlError::new(ErrorCode::BadDatabase, &[&name.0])
    } else {
        no_such_table(name)
    }
}

/// Foreign keys of other tables that refer to a table: database, table, constraint.
pub fn referring_keys(catalog: &Catalog, name: &QualifiedName) -> Vec<(String, String, String)> {
    let of_others = catalog
        .references_to(&name.0, &name.1)
        .filter(|reference| reference.database.name != name.0 || reference.table.name != name.1);
    of_others
        .map(|reference| (reference.database.name.clone(), reference.table.name.clone(), reference.key.name.clone()))
        .collect()
}
