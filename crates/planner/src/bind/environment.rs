//! The input of the binder: catalog, registry, settings and tables.

use super::trigger::RowTriggers;
use datafusion::catalog::TableProvider;
use squall_catalog::{Invoker, TableDef};
use squall_functions::expr::BoundExpr;
use squall_parser::ast::{ColumnName, DataType, IndexHint, LockStrength, LockWait, SystemVariable};
use squall_registry::{AggregateFunction, ScalarFunction};
use squall_types::{SqlError, SqlResult, SqlType, Value};
use std::sync::Arc;

/// A table as a statement refers to it.
#[derive(Clone, Copy, Debug)]
pub struct TableRequest<'a> {
    /// Its database.
    pub database: &'a str,
    /// Its name.
    pub name: &'a str,
    /// Its alias in the statement.
    pub alias: &'a str,
    /// FOR UPDATE, FOR SHARE.
    pub lock: Option<(LockStrength, LockWait)>,
    /// USE, IGNORE, FORCE INDEX.
    pub hints: &'a [IndexHint],
    /// PARTITION (…).
    pub partitions: &'a [squall_parser::ast::Ident],
}

/// Gives tables and variables. The session implements it; so do tests.
pub trait TableResolver {
    /// The rows of a base or temporary table. Its schema has a field per column of the definition, in order and named
    /// as there; further fields can be selected by name but are not part of `*`.
    fn base_table(&self, request: &TableRequest<'_>, definition: &Arc<TableDef>) -> SqlResult<Arc<dyn TableProvider>>;

    /// The session's temporary table of that name, which hides others.
    fn temporary_table(&self, _database: &str, _name: &str) -> Option<Arc<TableDef>> {
        None
    }

    /// Whether tables that are not in the catalog do not exist. Expressions of a table's definition are bound without one.
    fn has_catalog(&self) -> bool {
        true
    }

    /// Whether the session may know of a table, whether it is there or not.
    ///
    /// # Errors
    /// 1142 if it has no privilege on it.
    fn check_known(&self, _database: &str, _name: &str) -> SqlResult<()> {
        Ok(())
    }

    /// A table without storage, such as those of information_schema. Its fields carry MySQL types as metadata.
    fn virtual_table(&self, _database: &str, _name: &str) -> SqlResult<Option<Arc<dyn TableProvider>>> {
        Ok(None)
    }

    /// A virtual table without a declaration, determined by its name.
    fn resolved_table(&self, _database: &str, _name: &str) -> Option<Arc<dyn TableProvider>> {
        None
    }

    /// Whether a database exists that is not in the catalog.
    fn virtual_database(&self, _database: &str) -> bool {
        false
    }

    /// The type of a column as it is written, for JSON_TABLE.
    fn column_type(&self, _data_type: &DataType, _name: &str) -> SqlResult<SqlType> {
        Err(SqlError::unsupported("JSON_TABLE here"))
    }

    /// Whether [`TableResolver::found_column`] is to be called.
    fn wants_columns(&self) -> bool {
        false
    }

    /// Told of each column that a name was found to be: the name, and the table as the statement calls it, with its
    /// database unless it is a derived one.
    fn found_column(&self, _name: &ColumnName, _database: Option<&str>, _table: &str) {}

    /// `name`.
    fn system_variable(&self, variable: &SystemVariable) -> SqlResult<(Value, SqlType)>;

    /// A local variable or parameter of the stored program that runs.
    fn local_variable(&self, _name: &str) -> Option<BoundExpr> {
        None
    }

    /// A column of OLD or NEW, of the trigger that runs.
    fn row_column(&self, _row: &str, _column: &str) -> Option<BoundExpr> {
        None
    }

    /// The triggers of a table that has some, for a change of its rows.
    ///
    /// # Errors
    /// Where they cannot be run.
    fn row_triggers(&self, _database: &str, _definition: &Arc<TableDef>) -> SqlResult<Arc<dyn RowTriggers>> {
        Err(SqlError::unsupported("triggers here"))
    }

    /// A stored aggregate function that `invoker` calls; `None` if there is no such function, or another one.
    ///
    /// # Errors
    /// 1370 if that account may not run it; why it cannot be run.
    fn stored_aggregate(
        &self,
        _database: &str,
        _name: &str,
        _invoker: &Invoker,
    ) -> SqlResult<Option<Arc<dyn AggregateFunction>>> {
        Ok(None)
    }

    /// A stored function that `invoker` calls.
    ///
    /// # Errors
    /// 1370 if that account may not run it; why it cannot be run.
    fn stored_function(
        &self,
        _database: &str,
        _name: &str,
        _invoker: &Invoker,
    ) -> SqlResult<Option<Arc<dyn ScalarFunction>>> {
        Ok(None)
    }
}
