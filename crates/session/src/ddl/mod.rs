//! Definition statements: definitions as written are resolved into the catalog's, checked, and handed to the store,
//! which makes each statement's change durable at once and then publishes it.
//!
//! Reading order: [`data_type`], [`column`], [`index`], [`functional_key`], [`create_table`], [`alter_table`].

pub mod alter;
pub mod alter_table;
pub mod column;
pub mod constraint;
pub mod create;
pub(crate) mod create_select;
pub mod create_table;
pub mod data_type;
pub mod database;
pub mod drop;
pub mod edit;
pub mod execute;
pub mod functional_key;
pub mod index;
pub mod locked;
pub mod names;
mod run;
pub mod sorted_rows;
pub(crate) mod table_option;
pub mod view;

use squall_catalog::Catalog;
use squall_registry::{Registry, StatementContext};
use squall_types::{CollationId, SqlMode};

/// What resolving a definition may look at.
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
}

impl DdlContext<'_> {
    /// `sql_mode`.
    pub fn sql_mode(&self) -> SqlMode {
        self.statement.settings.sql_mode
    }
}
