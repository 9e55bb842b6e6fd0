//! The database `sys`: what makes the server's own numbers and settings easier to read and to change.

mod lists;

use squall_functions::library::support;
use squall_registry::Registry;
use squall_session::Module;

/// The database that the objects are in.
const DATABASE: &str = "sys";

/// The module.
#[derive(Debug)]
pub struct Sys;

impl Module for Sys {
    fn name(&self) -> &str {
        DATABASE
    }

    fn databases(&self) -> &[&str] {
        &[DATABASE]
    }

    fn declare(&self, registry: &mut Registry) {
        support::register(registry, lists::FUNCTIONS);
    }
}
