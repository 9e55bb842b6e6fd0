//! The binder of data changes, and the tables that they name.

use super::rules::RulesCache;
use super::target::Target;
use crate::bind::Binder;
use crate::bind::from::{no_such_table, view_error};
use crate::bind::updatable::is_of_join;
use crate::bind::view;
use squall_catalog::{TableDef, TableEntry, ViewDef};
use squall_parser::ast;
use squall_row_store::TableStore;
use squall_types::{ErrorCode, SqlError, SqlResult};
use std::sync::Arc;

/// The parameters of binding a data change beside the binder.
pub struct DmlBinder<'a> {
    /// Names and expressions.
    pub binder: &'a Binder<'a>,
    /// Tables.
    pub store: &'a dyn TableStore,
    /// Bound rules of tables.
    pub rules: &'a RulesCache,
    /// Whether rows of UPDATE and DELETE are found by a query also where they need none: EXPLAIN shows its plan.
    pub by_query: bool,
    /// The locks of UPDATE and DELETE whose rows a query finds.
    pub locks: ChangeLocks,
}

/// The rows of its query that a change locks. In a transaction of several statements it cannot begin again with newer rows, as its snapshot
/// stays.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ChangeLocks {
    /// Nothing: they begin again where a row has changed since.
    #[default]
    None,
    /// Rows of the tables that they change.
    Changed,
    /// All of it, so that it stays as it is until the transaction ends.
    All,
}

impl<'a> DmlBinder<'a> {
    /// For carrying changes out.
    pub fn new(binder: &'a Binder<'a>, store: &'a dyn TableStore, rules: &'a RulesCache) -> DmlBinder<'a> {
        DmlBinder { binder, store, rules, by_query: false, locks: ChangeLocks::None }
    }

    /// The table of that name as something to be changed.
    pub fn target(&self, name: &ast::ObjectName, alias: Option<&ast::Ident>, statement: &str) -> SqlResult<Target> {
        let database = match (&name.schema, self.binder.default_database) {
            (Some(schema), _) => schema.as_str(),
            (None, Some(database)) => database,
            (None, None) => return Err(SqlError::new(ErrorCode::NoDatabase, &[])),
        };
        let def = self.definition(database, name, statement)?;
        let alias = alias.unwrap_or(&name.name).as_str();
        self.target_of(database, alias, &def)
    }

    fn definition(&self, database: &str, name: &ast::ObjectName, statement: &str) -> SqlResult<Arc<TableDef>> {
        if let Some(def) = self.binder.tables.temporary_table(database, &name.name) {
            return Ok(def);
        }
        match self.binder.catalog.entry(database, &name.name) {
            Some(TableEntry::Table(def)) => Ok(def.clone()),
            Some(TableEntry::View(view)) => Err(self.not_updatable(database, view, &name.name, statement)),
            None if self.binder.catalog.database(database).is_none()
                && !self.binder.tables.virtual_database(database) =>
            {
                Err(SqlError::new(ErrorCode::BadDatabase, &[&database]))
            }
            None => Err(no_such_table(database, &name.name)),
        }
    }

    /// Why a view cannot be changed: 1356 if it cannot be read either, 1395 for rows of several tables, 1288 or 1471 otherwise.
    fn not_updatable(&self, database: &str, view: &ViewDef, name: &str, statement: &str) -> SqlError {
        let query = match view::parse(view, database) {
            Ok(query) => query,
            Err(error) => return error,
        };
        if let Err(error) = self.binder.bind_query(&query) {
            let error = view_error(error, database, &view.name);
            if error.is(ErrorCode::ViewInvalid) {
                return error;
            }
        }
        let error = match statement {
            "INSERT" | "REPLACE" => ErrorCode::NonInsertableTable,
            "DELETE" if is_of_join(&query) => {
                return SqlError::new(ErrorCode::ViewDeleteMergeView, &[&database, &view.name]);
            }
            _ => ErrorCode::NonUpdatableTable,
        };
        SqlError::new(error, &[&name, &statement])
    }

    pub(super) fn target_of(&self, database: &str, alias: &str, def: &Arc<TableDef>) -> SqlResult<Target> {
        if def.is_sequence() {
            return Err(SqlError::new(ErrorCode::IllegalHandler, &[&def.name]));
        }
        Ok(Target {
            database: database.into(),
            alias: alias.into(),
            table: self.store.table(def)?,
            rules: self.rules.get(self.binder.registry, self.binder.catalog, database, def)?,
            view: None,
            triggers: match def.triggers.is_empty() {
                true => None,
                false => Some(self.binder.tables.row_triggers(database, def)?),
            },
        })
    }
}
