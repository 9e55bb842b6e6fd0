//! Writes the source text of select items, which is their name, as aliases.

use super::{Ident, Query, QueryBody, Select, SelectItem, TableReference};

impl Query {
    /// Gives every item of the query's blocks, and of derived tables and table expressions in it, the name that it has as an
    /// alias: printed again, its text would be another name. `sql` is what the query was parsed from.
    pub fn name_items(&mut self, sql: &[u8]) {
        if let Some(with) = &mut self.with {
            with.tables.iter_mut().for_each(|table| table.query.name_items(sql));
        }
        name_body(&mut self.body, sql);
    }

    /// The names of the first block's items, after which the query's columns are called; `None` if one has no alias.
    pub fn item_aliases(&self) -> Option<Vec<&str>> {
        let mut body = &self.body;
        loop {
            match body {
                QueryBody::Select(select) => return select.items.iter().map(alias).collect(),
                QueryBody::SetOperation(operation) => body = &operation.left,
                QueryBody::Nested(query) => body = &query.body,
                QueryBody::Table(_) | QueryBody::Values(_) => return None,
            }
        }
    }
}

fn alias(item: &SelectItem) -> Option<&str> {
    match item {
        SelectItem::Expr(item) => item.alias.as_ref().map(Ident::as_str),
        SelectItem::Wildcard | SelectItem::QualifiedWildcard(_) => None,
    }
}

fn name_body(body: &mut QueryBody, sql: &[u8]) {
    match body {
        QueryBody::Select(select) => name_select(select, sql),
        QueryBody::SetOperation(operation) => {
            super::with_stack(|| name_body(&mut operation.left, sql));
            name_body(&mut operation.right, sql);
        }
        QueryBody::Nested(query) => super::with_stack(|| query.name_items(sql)),
        QueryBody::Table(_) | QueryBody::Values(_) => {}
    }
}

fn name_select(select: &mut Select, sql: &[u8]) {
    select.from.iter_mut().for_each(|table| name_reference(table, sql));
    for item in &mut select.items {
        if let SelectItem::Expr(item) = item
            && item.alias.is_none()
        {
            item.alias = Some(Ident::new(item.column_name(sql)));
        }
    }
}

fn name_reference(table: &mut TableReference, sql: &[u8]) {
    match table {
        TableReference::Derived(derived) => super::with_stack(|| derived.query.name_items(sql)),
        TableReference::Join(join) => {
            name_reference(&mut join.left, sql);
            name_reference(&mut join.right, sql);
        }
        TableReference::Table(_) | TableReference::JsonTable(_) | TableReference::Function(_) => {}
    }
}
