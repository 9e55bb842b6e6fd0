//! The objects that share the names of tables in a database.

use crate::{TableDef, ViewDef};
use std::sync::Arc;

/// The object of a table name.
#[derive(Clone, Debug)]
pub enum TableEntry {
    /// A base table.
    Table(Arc<TableDef>),
    /// A view.
    View(Arc<ViewDef>),
}

impl TableEntry {
    /// The name of the table or view.
    pub fn name(&self) -> &str {
        match self {
            TableEntry::Table(table) => &table.name,
            TableEntry::View(view) => &view.name,
        }
    }
}
