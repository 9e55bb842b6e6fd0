//! Tables that are found by what their names say.

use crate::virtual_table::VirtualTable;
use std::fmt::Debug;
use std::sync::Arc;

/// Finds virtual tables that are not declared, in databases that exist. A table, view or declared virtual table of the same name goes
/// first. What is found by a name has to be the same as long as the server runs, for plans with it are kept.
pub trait TableResolver: Debug + Send + Sync {
    /// The table of this name, as it is written, if there is one.
    fn table(&self, database: &str, name: &str) -> Option<Arc<dyn VirtualTable>>;
}
