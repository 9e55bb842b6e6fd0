//! The database `sys`: views, functions and procedures that make the server's numbers and settings easier to read and
//! to change.

mod analyzer;
pub(crate) mod config;
mod functions;
mod histogram;
mod lists;
mod procedures;
mod report;
mod saved_setup;
mod setup;
mod source;
mod stack;
mod statements;
mod trace;
mod transactions;
mod views;

use squall_functions::library::support;
use squall_registry::Registry;
use squall_session::{Database, Module, Procedure};
use squall_types::SqlResult;
use std::sync::Arc;

/// The database that the objects are in.
const DATABASE: &str = "sys";

/// The module.
#[derive(Debug, Default)]
pub struct Sys {
    source: source::Source,
}

impl Module for Sys {
    fn name(&self) -> &str {
        DATABASE
    }

    fn description(&self) -> &str {
        "The views, functions and procedures of the database sys."
    }

    fn databases(&self) -> &[&str] {
        &[DATABASE]
    }

    fn declare(&self, registry: &mut Registry) {
        support::register(registry, lists::FUNCTIONS);
        support::register(registry, functions::FUNCTIONS);
        support::register(registry, config::FUNCTIONS);
        support::register(registry, transactions::FUNCTIONS);
        support::register(registry, stack::FUNCTIONS);
        registry.register_virtual_table(Arc::new(config::ConfigTable::new(&self.source)));
        views::all(&self.source).into_iter().for_each(|view| registry.register_virtual_table(view));
    }

    fn procedures(&self) -> Vec<Arc<dyn Procedure>> {
        procedures::all()
    }

    fn start(&self, database: &Database) -> SqlResult<()> {
        self.source.set(database);
        Ok(())
    }
}
