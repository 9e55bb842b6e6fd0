//! Foreign keys that refer to a table, as a catalog has them.

use squall_catalog::{Catalog, ForeignKey, ReferentialAction, TableDef};
use std::sync::Arc;

/// A foreign key that refers to a table.
#[derive(Clone, Debug)]
pub struct Child {
    /// The database of the table that has the key.
    pub(super) database: Arc<str>,
    /// The table that has the key.
    pub(super) def: Arc<TableDef>,
    pub(super) key: ForeignKey,
    /// Ordinals of its columns.
    pub(super) columns: Vec<usize>,
    /// Ordinals of the parent's columns.
    pub(super) parent_columns: Vec<usize>,
}

impl Child {
    /// Whether the end of a parent row may change its children.
    pub(super) fn acts_on_delete(&self) -> bool {
        acts(self.key.on_delete)
    }

    /// Whether new values of a parent row may change its children.
    pub(super) fn acts_on_update(&self) -> bool {
        acts(self.key.on_update)
    }

    /// Whether it is the key that another catalog has.
    fn is(&self, other: &Child) -> bool {
        Arc::ptr_eq(&self.def, &other.def) && self.key == other.key && self.parent_columns == other.parent_columns
    }
}

/// Whether an action changes rows of the table that has the key.
fn acts(action: ReferentialAction) -> bool {
    matches!(action, ReferentialAction::Cascade | ReferentialAction::SetNull)
}

/// The foreign keys that refer to a table.
pub(super) fn references_to(catalog: &Catalog, database: &str, parent: &TableDef) -> Arc<[Child]> {
    let mut references = catalog.references_to(database, &parent.name).peekable();
    // A TEMPORARY table, or one that is being made, has the name of another one.
    if references.peek().is_none() || catalog.table(database, &parent.name).is_none_or(|table| table.id != parent.id) {
        return Arc::default();
    }
    let child = references.filter_map(|reference| {
        Some(Child {
            database: reference.database.name.as_str().into(),
            def: reference.table.clone(),
            key: reference.key.clone(),
            columns: reference.key.ordinals(reference.table)?,
            parent_columns: reference.key.parent_columns.ordinals(parent)?,
        })
    });
    child.collect()
}

/// Whether two catalogs have the same keys.
pub(super) fn are_same(a: &[Child], b: &[Child]) -> bool {
    a.len() == b.len() && a.iter().zip(b).all(|(a, b)| a.is(b))
}
