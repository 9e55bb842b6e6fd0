//! The state that resolving a definition may read.

use squall_catalog::{Catalog, TableDef};
use squall_registry::Registry;
use squall_row_store::{EngineTraits, Engines};
use squall_statement_context::StatementContext;
use squall_types::{CollationId, SqlMode, SqlResult};

/// The context in which a definition is resolved.
#[derive(Clone, Copy, Debug)]
pub struct DdlContext<'a> {
    /// The statement: sql_mode, warnings, the time.
    pub statement: &'a StatementContext,
    /// The catalog as it stands.
    pub catalog: &'a Catalog,
    /// The database of names without one.
    pub database: &'a str,
    /// Collation of tables that name none.
    pub database_collation: CollationId,
    /// `foreign_key_checks`.
    pub foreign_key_checks: bool,
    /// Functions, for the expressions of keys.
    pub registry: &'a Registry,
    /// Storage engines.
    pub engines: &'a Engines,
}

impl DdlContext<'_> {
    /// `sql_mode`.
    pub fn sql_mode(&self) -> SqlMode {
        self.statement.settings.sql_mode
    }

    /// The traits of a table's engine.
    ///
    /// # Errors
    /// 1286 if it is not there.
    pub fn engine_traits(&self, table: &TableDef) -> SqlResult<EngineTraits> {
        Ok(self.engines.get(&table.engine)?.traits())
    }
}
