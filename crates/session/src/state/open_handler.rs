//! Tables that HANDLER has opened.

use squall_catalog::TableDef;
use squall_definitions::execute::QualifiedName;
use squall_parser::ast::{Ident, ObjectName};
use squall_planner::handler::Position;
use std::sync::Arc;

/// A table that HANDLER has opened.
#[derive(Debug)]
pub(crate) struct OpenHandler {
    /// Its name.
    pub alias: Ident,
    pub name: QualifiedName,
    /// As it was when it was read last: in another one the position means nothing.
    pub definition: Arc<TableDef>,
    pub position: Option<Position>,
}

impl OpenHandler {
    pub fn is_of(&self, name: &QualifiedName) -> bool {
        self.name == *name
    }

    pub fn object_name(&self) -> ObjectName {
        ObjectName { schema: Some(Ident::new(self.name.0.as_str())), name: Ident::new(self.name.1.as_str()) }
    }
}
