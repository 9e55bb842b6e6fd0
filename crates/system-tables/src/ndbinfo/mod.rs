//! The database `ndbinfo`: views of MySQL Cluster's data nodes, with their columns, shown of this server.
//!
//! A *node* is a server; alone it is number 1. A *fragment* is a partition of a table, a *block* a part of the server ([`blocks`]). Views whose
//! subject there is not have their columns and no rows. A table is one entry of a list: its name, what it is, its columns in the [short
//! form](crate::described), and the function that makes its rows. It then stands in `ndbinfo.tables` and `ndbinfo.columns`.
//!
//! Source of the columns: MySQL Cluster 8.0's views of the same names.

mod blocks;
mod catalogue;
mod configuration;
mod counters;
mod fragments;
mod logs;
mod memory;
mod nodes;
mod processors;
mod transactions;

use crate::source::Source;
use crate::spec::{MakeRows, s, u};
use squall_registry::VirtualScan;
use squall_types::{SqlResult, Value};

/// The database.
pub(crate) const DATABASE: &str = "ndbinfo";

/// This server's number.
const NODE: u64 = 1;

/// The columns of most views begin with it.
fn node() -> Value {
    u(NODE)
}

/// Rows of a view.
type Rows = SqlResult<Vec<Vec<Value>>>;

/// A view.
pub(crate) struct NdbTable {
    /// Its name.
    pub name: &'static str,
    /// What it is, for `ndbinfo.tables`.
    pub comment: &'static str,
    /// Its columns.
    pub columns: &'static str,
    /// Makes its rows.
    pub rows: MakeRows,
}

/// The views that describe the others.
const OWN: &[NdbTable] = &[
    NdbTable {
        name: "tables",
        comment: "the views of this database",
        columns: "table_id:w table_name:v512 comment:v512",
        rows: tables,
    },
    NdbTable {
        name: "columns",
        comment: "the columns of the views of this database",
        columns: "table_id:w column_id:w column_name:v512 column_type:v512 comment:v512",
        rows: columns,
    },
];

/// All views.
pub(crate) fn views() -> impl Iterator<Item = &'static NdbTable> {
    let lists = [
        OWN,
        blocks::TABLES,
        catalogue::TABLES,
        configuration::TABLES,
        counters::TABLES,
        fragments::TABLES,
        logs::TABLES,
        memory::TABLES,
        nodes::TABLES,
        processors::TABLES,
        transactions::TABLES,
    ];
    lists.into_iter().flatten()
}

fn tables(_: &Source<'_>, _: &VirtualScan<'_>) -> Rows {
    Ok((0..).zip(views()).map(|(id, view)| vec![u(id), s(view.name), s(view.comment)]).collect())
}

fn columns(_: &Source<'_>, _: &VirtualScan<'_>) -> Rows {
    let mut rows = Vec::new();
    for (table, view) in (0..).zip(views()) {
        for (column, described) in (0..).zip(crate::described::columns(view.columns)) {
            let words = crate::type_text::type_text(&described.sql_type);
            rows.push(vec![u(table), u(column), s(&*described.name), s(words), s("")]);
        }
    }
    Ok(rows)
}
