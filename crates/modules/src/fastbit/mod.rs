//! FastBit's functions and procedures: paths name its tables, and it has a small query language.
//!
//! A path is the name of a table in the database `fastbit` (see [`squall_fastbit::path`]); the path itself is never used.
//! Queries become SQL and run through the planner with the caller's privileges. `docs/decisions/0018-fastbit-functions.md` tells
//! which function uses which transaction.
//!
//! Reading order: [`place`] (a path, and the session that runs its SQL), [`tables`], [`rows`], [`queries`], [`median`], [`files`],
//! [`procedures`].

mod files;
mod median;
mod place;
mod procedures;
mod queries;
mod rows;
mod tables;

use squall_functions::library::support;
use squall_registry::Registry;
use squall_session::{Module, Procedure};
use std::sync::Arc;

/// The database that the tables are in.
const DATABASE: &str = "fastbit";

/// The module.
#[derive(Debug)]
pub struct FastBit;

impl Module for FastBit {
    fn name(&self) -> &str {
        DATABASE
    }

    fn description(&self) -> &str {
        "FastBit's functions, procedures and tables."
    }

    fn databases(&self) -> &[&str] {
        &[DATABASE]
    }

    fn declare(&self, registry: &mut Registry) {
        for family in [tables::FUNCTIONS, rows::FUNCTIONS, queries::FUNCTIONS, files::FUNCTIONS] {
            support::register(registry, family);
        }
        registry.register_aggregate(Arc::new(median::Median));
        registry.register_table_function(Arc::new(queries::Rows));
    }

    fn procedures(&self) -> Vec<Arc<dyn Procedure>> {
        procedures::all()
    }
}
