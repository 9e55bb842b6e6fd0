//! What ON DUPLICATE KEY UPDATE takes of the INSERT's source: columns of its query that it names, as in `INSERT INTO t SELECT a FROM s ON
//! DUPLICATE KEY UPDATE n = n + s.b`, and subqueries.
//!
//! The source gets them as more columns after the inserted ones. A subquery is evaluated for the source, whether rows have duplicates or not,
//! so it cannot name columns of the row that is changed.

use super::binder::DmlBinder;
use crate::bind::{OutputColumn, RowColumn, RowTable};
use squall_parser::ast;
use squall_types::{ErrorCode, SqlError, SqlResult};

/// The name that unqualified columns of the query have; no identifier can be this.
const SOURCE_ROW: &str = "\u{0}source";

/// As many as a table may have columns.
const NAMES_MAX: usize = 4096;

/// What the source has more of, in the order in which it gives it.
#[derive(Default)]
pub(super) struct SourceColumns {
    /// The columns that are named.
    names: Vec<ast::ColumnName>,
    /// The subqueries, with the names of their columns.
    subqueries: Vec<(ast::Expr, ast::ColumnName)>,
}

impl SourceColumns {
    /// The columns that the assignments of `insert` name and `scope` does not have, or the query has as well.
    pub fn of(
        binder: &DmlBinder<'_>,
        insert: &ast::Insert,
        select: &ast::Select,
        with: bool,
        scope: &[RowTable<'_>],
    ) -> SqlResult<SourceColumns> {
        let mut found: Vec<ast::ColumnName> = Vec::new();
        let mut both: Vec<ast::ColumnName> = Vec::new();
        for assignment in &insert.on_duplicate {
            let mut named = Vec::new();
            assignment.value.visit(&mut |expr| {
                if let ast::Expr::Column(name) = expr {
                    named.push((**name).clone());
                }
            });
            for name in named {
                if found.contains(&name) || both.contains(&name) {
                    continue;
                }
                if found.len() + both.len() == NAMES_MAX {
                    return Err(SqlError::new(ErrorCode::TooManyFields, &[]));
                }
                let column = ast::Expr::Column(Box::new(name.clone()));
                match binder.binder.bind_expr(&column, scope) {
                    Err(error) if error.is(ErrorCode::BadField) => found.push(name),
                    _ if name.table.is_none() => both.push(name),
                    _ => {}
                }
            }
        }
        // A name of a column of both has to be qualified. Table expressions are not searched.
        if !with && !both.is_empty() {
            let names = binder.binder.names_in_from(&select.from)?;
            both.retain(|name| names.contains(&name.column.to_lowercase()));
            found.append(&mut both);
        }
        if select.options.distinct {
            // DISTINCT joins rows that are equal in the selected columns, so there are no other columns.
            found.retain(|name| is_selected(select, name));
        }
        Ok(SourceColumns { names: found, subqueries: Vec::new() })
    }

    /// The same with the subqueries of the assignments.
    pub fn with_subqueries(mut self, insert: &ast::Insert) -> SourceColumns {
        for assignment in &insert.on_duplicate {
            assignment.value.visit(&mut |expr| {
                let is_subquery = matches!(
                    expr,
                    ast::Expr::Subquery(_)
                        | ast::Expr::Exists(_)
                        | ast::Expr::InSubquery { .. }
                        | ast::Expr::Quantified { .. }
                );
                if is_subquery && !self.subqueries.iter().any(|(known, _)| known == expr) {
                    let column = ast::Ident::new(self.subqueries.len().to_string());
                    let table = Some(ast::Ident::new(SOURCE_ROW));
                    self.subqueries.push((expr.clone(), ast::ColumnName { schema: None, table, column }));
                }
            });
        }
        self
    }

    /// The subqueries, with the names of their columns.
    pub fn subqueries(&self) -> &[(ast::Expr, ast::ColumnName)] {
        &self.subqueries
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.names.len() + self.subqueries.len()
    }

    /// A query that gives so many columns, with these behind them. What is `open` may be named by them.
    pub fn added_to(&self, query: &ast::Query, columns: usize, open: bool) -> ast::Query {
        let names = self.names.iter().map(|name| ast::Expr::Column(Box::new(name.clone())));
        let items = names.chain(self.subqueries.iter().map(|(expr, _)| expr.clone()));
        let items = items.map(|expr| {
            ast::SelectItem::Expr(Box::new(ast::SelectExpr { expr, alias: None, span: ast::Span::default() }))
        });
        let mut query = query.clone();
        if let ast::QueryBody::Select(select) = &mut query.body
            && open
        {
            select.items.extend(items);
            return query;
        }
        let derived = ast::DerivedTable {
            lateral: false,
            query,
            alias: Some(ast::Ident::new(SOURCE_ROW)),
            columns: (0..columns).map(|number| ast::Ident::new(format!("{SOURCE_ROW}{number}"))).collect(),
        };
        let select = ast::Select {
            items: std::iter::once(ast::SelectItem::Wildcard).chain(items).collect(),
            from: vec![ast::TableReference::Derived(Box::new(derived))],
            ..ast::Select::default()
        };
        ast::Query::new(ast::QueryBody::Select(ast::Deep::new(select)))
    }

    /// The tables that expressions find them in, given what the query makes of them.
    pub fn tables<'a>(&'a self, columns: &'a [OutputColumn]) -> Vec<RowTable<'a>> {
        let subqueries = self.subqueries.iter().map(|(_, name)| name);
        self.names
            .iter()
            .chain(subqueries)
            .zip(columns)
            .map(|(name, column)| RowTable {
                database: name.schema.as_ref().map(ast::Ident::as_str),
                alias: name.table.as_ref().map_or(SOURCE_ROW, ast::Ident::as_str),
                columns: vec![RowColumn { name: name.column.as_str(), expr_type: column.expr_type.clone() }],
                definition: None,
                qualified_only: name.table.is_some(),
                any_case: false,
                may_be_missing: false,
            })
            .collect()
    }
}

/// The query block of an INSERT whose columns ON DUPLICATE KEY UPDATE may name: one whose rows are those of its tables.
/// And whether it has a WITH clause.
pub(super) fn open_block(insert: &ast::Insert) -> Option<(&ast::Select, bool)> {
    let ast::InsertSource::Query(query) = &insert.source else { return None };
    match &query.body {
        ast::QueryBody::Select(select)
            if !insert.on_duplicate.is_empty() && select.group_by.is_none() && !has_aggregates(select) =>
        {
            Some((select, query.with.is_some()))
        }
        _ => None,
    }
}

/// Whether a query block without GROUP BY gives one row for all rows of its tables.
fn has_aggregates(select: &ast::Select) -> bool {
    let items = select.items.iter().filter_map(|item| match item {
        ast::SelectItem::Expr(item) => Some(&item.expr),
        _ => None,
    });
    let mut found = false;
    for expr in items.chain(&select.having) {
        expr.visit(&mut |expr| found |= matches!(expr, ast::Expr::Aggregate(call) if call.over.is_none()));
    }
    found
}

/// Whether a column is among those that a query block selects.
fn is_selected(select: &ast::Select, name: &ast::ColumnName) -> bool {
    let is_of = |table: Option<&ast::Ident>| match (table, &name.table) {
        (Some(table), Some(named)) => table.is(named),
        _ => true,
    };
    select.items.iter().any(|item| match item {
        ast::SelectItem::Wildcard => true,
        ast::SelectItem::QualifiedWildcard(table) => is_of(Some(&table.name)),
        ast::SelectItem::Expr(item) => match item.expr.peeled() {
            ast::Expr::Column(column) => column.column.is(&name.column) && is_of(column.table.as_ref()),
            _ => false,
        },
    })
}
