//! Queries for all columns of a table.

use squall_parser::ast::{Deep, Expr, ObjectName, Query, QueryBody, Select, SelectItem, TableFactor, TableReference};

/// `SELECT * FROM name`.
pub(crate) fn select_all(name: ObjectName) -> Query {
    select_all_where(name, None)
}

/// `SELECT * FROM name WHERE condition`.
pub(super) fn select_all_where(name: ObjectName, condition: Option<Expr>) -> Query {
    let factor = TableFactor { name, partitions: Vec::new(), alias: None, hints: Vec::new() };
    Query::new(QueryBody::Select(Deep::new(Select {
        items: vec![SelectItem::Wildcard],
        from: vec![TableReference::Table(Box::new(factor))],
        selection: condition,
        ..Default::default()
    })))
}
