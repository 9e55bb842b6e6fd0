//! What columns' names are found to be, for the texts of views.

use parking_lot::Mutex;
use squall_parser::ast::{ColumnName, Expr, Ident, Literal, NameMut, Query};
use std::collections::HashMap;
use std::sync::Arc;

/// The resolved names of columns, by their positions in the text: the table's database, if it has one, and the table's name.
#[derive(Clone, Debug, Default)]
pub(crate) struct FoundColumns(Arc<Mutex<HashMap<usize, TableOfColumn>>>);

/// The database of a table that has one, and what the table is called.
type TableOfColumn = (Option<Ident>, Ident);

impl FoundColumns {
    /// Remembers a column.
    pub fn add(&self, name: &ColumnName, database: Option<&str>, table: &str) {
        let found = (database.map(Ident::new), Ident::new(table));
        self.0.lock().insert(std::ptr::from_ref(name).addr(), found);
    }

    /// Puts tables in front of the names of a query that has been bound, as MySQL prints a view: with their databases,
    /// unless they are called otherwise than by their names. COUNT(*) counts zeros.
    pub fn qualify(&self, query: &mut Query) {
        let mut aliases = Vec::new();
        query.for_each_name_mut(&mut |name| {
            if let NameMut::Alias(alias) = name {
                aliases.push(alias.clone());
            }
        });
        let found = self.0.lock();
        query.for_each_name_mut(&mut |name| match name {
            NameMut::Column(name) => {
                let Some((database, table)) = found.get(&std::ptr::from_ref(name).addr()) else { return };
                name.schema = database.clone().filter(|_| !aliases.contains(table));
                name.table = Some(table.clone());
            }
            NameMut::Aggregate(call) if call.arguments.is_empty() => {
                call.arguments.push(Expr::Literal(Literal::Integer("0".into())));
            }
            _ => {}
        });
    }
}
