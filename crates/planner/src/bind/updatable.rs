//! Updatable views: each row of the view is one row of one table.

use super::view::{self, invoker_inside};
use squall_catalog::name::eq_ignore_case;
use squall_catalog::{Catalog, Invoker, TableDef, TableEntry, ViewDef};
use squall_executor::access::ROW_KEY_COLUMN;
use squall_parser::ast;
use squall_types::SqlResult;
use std::sync::Arc;

/// How deep views may stand on views here; deeper ones are not updatable.
const DEPTH_MAX: usize = 32;

/// The columns and rows of its table that a view shows.
#[derive(Clone, Debug)]
pub struct UpdatableView {
    /// The database of the table.
    pub database: Arc<str>,
    /// The table.
    pub table: Arc<TableDef>,
    /// The view's columns: the name, and the ordinal in the table of those that are no expressions.
    pub columns: Vec<(Arc<str>, Option<usize>)>,
    /// The condition of WITH CHECK OPTION, of this view or one below, on a row.
    pub checks: Vec<ViewCheck>,
    /// This view and those below, down to the table.
    pub levels: Vec<ViewLevel>,
}

/// A view on the way to the table.
#[derive(Clone, Debug)]
pub struct ViewLevel {
    /// Its database.
    pub database: Arc<str>,
    /// Its name.
    pub name: Arc<str>,
    /// Its columns: the name, and the ordinal in the table of those that are no expressions.
    pub columns: Vec<(Arc<str>, Option<usize>)>,
    /// As whom it is touched.
    pub invoker: Invoker,
    /// As whom what is below it is touched.
    pub invoker_inside: Invoker,
}

/// The WHERE of a view.
#[derive(Clone, Debug)]
pub struct ViewCheck {
    /// The condition.
    pub condition: ast::Expr,
    /// The database that names in it may say.
    pub database: Arc<str>,
    /// The alias of the view's table or view in it.
    pub alias: Arc<str>,
    /// By ordinal of the table's column: the name that the condition knows it by.
    pub names: Vec<Option<Arc<str>>>,
}

/// The table and columns that can be changed through a view; `None` if there are none.
pub fn updatable(catalog: &Catalog, database: &str, view: &ViewDef) -> SqlResult<Option<UpdatableView>> {
    resolve(catalog, database, view, &Invoker::Session, false, DEPTH_MAX)
}

/// The column that has the key of the table's row, for the select list of an updatable view.
pub(super) fn row_key_item(query: &ast::Query) -> Option<ast::SelectItem> {
    let (_, factor) = plain_select(query)?;
    let name = ast::ColumnName {
        schema: None,
        table: Some(factor.alias.clone().unwrap_or_else(|| factor.name.name.clone())),
        column: ast::Ident::new(ROW_KEY_COLUMN),
    };
    let expr = ast::Expr::Column(Box::new(name));
    Some(ast::SelectItem::Expr(Box::new(ast::SelectExpr { expr, alias: None, span: ast::Span::default() })))
}

/// The block of a query that gives rows of one table as they are, and that table.
fn plain_select(query: &ast::Query) -> Option<(&ast::Select, &ast::TableFactor)> {
    let select = query.as_select()?;
    let plain = query.with.is_none()
        && query.limit.is_none()
        && !select.options.distinct
        && select.group_by.is_none()
        && select.having.is_none()
        && select.windows.is_empty();
    let [ast::TableReference::Table(factor)] = select.from.as_slice() else { return None };
    plain.then_some((select, &**factor))
}

fn resolve(
    catalog: &Catalog,
    database: &str,
    view: &ViewDef,
    invoker: &Invoker,
    checked_from_above: bool,
    depth: usize,
) -> SqlResult<Option<UpdatableView>> {
    if depth == 0 || view.algorithm == "TEMPTABLE" {
        return Ok(None);
    }
    let query = view::parse(view, database)?;
    let Some((select, factor)) = plain_select(&query) else { return Ok(None) };
    if select.items.iter().any(|item| !is_row_item(item)) {
        return Ok(None);
    }
    let below_database = factor.name.schema.as_ref().map_or(database, |schema| schema.as_str());
    let inside = invoker_inside(view, invoker);
    let cascaded = checked_from_above || view.check_option == "CASCADED";
    let (mut below, names) = match catalog.entry(below_database, &factor.name.name) {
        Some(TableEntry::Table(table)) => {
            let columns = table.columns.iter().enumerate();
            let columns: Vec<_> = columns.map(|(at, column)| (Arc::from(column.name.as_str()), Some(at))).collect();
            let names = columns.iter().map(|(name, _)| Some(Arc::clone(name))).collect();
            let table = Arc::clone(table);
            let database = below_database.into();
            (UpdatableView { database, table, columns, checks: Vec::new(), levels: Vec::new() }, names)
        }
        Some(TableEntry::View(inner)) => {
            let Some(below) = resolve(catalog, below_database, inner, &inside, cascaded, depth - 1)? else {
                return Ok(None);
            };
            let mut names = vec![None; below.table.columns.len()];
            for (name, ordinal) in &below.columns {
                if let Some(ordinal) = ordinal {
                    names[*ordinal].get_or_insert_with(|| Arc::clone(name));
                }
            }
            (below, names)
        }
        None => return Ok(None),
    };
    let columns = view.columns.iter().zip(&select.items).map(|(name, item)| {
        let ordinal = match item {
            ast::SelectItem::Expr(item) => match &item.expr {
                ast::Expr::Column(column) => {
                    below.columns.iter().find(|(name, _)| eq_ignore_case(name, &column.column)).and_then(|(_, at)| *at)
                }
                _ => None,
            },
            _ => None,
        };
        (Arc::from(name.as_str()), ordinal)
    });
    let columns: Vec<_> = columns.collect();
    if columns.len() != view.columns.len() || columns.iter().all(|(_, ordinal)| ordinal.is_none()) {
        return Ok(None);
    }
    if let Some(condition) = &select.selection
        && (cascaded || view.check_option == "LOCAL")
    {
        below.checks.push(ViewCheck {
            condition: condition.clone(),
            database: below_database.into(),
            alias: factor.alias.as_ref().unwrap_or(&factor.name.name).as_str().into(),
            names,
        });
    }
    let level = ViewLevel {
        database: database.into(),
        name: view.name.as_str().into(),
        columns: columns.clone(),
        invoker: invoker.clone(),
        invoker_inside: inside,
    };
    below.levels.insert(0, level);
    Ok(Some(UpdatableView { columns, ..below }))
}

/// Whether MySQL would merge a view into the query that reads it, instead of gathering its rows first.
pub(super) fn is_merged(view: &ViewDef, query: &ast::Query) -> bool {
    let Some(select) = query.as_select() else { return false };
    view.algorithm != "TEMPTABLE"
        && query.with.is_none()
        && query.limit.is_none()
        && !select.options.distinct
        && select.group_by.is_none()
        && select.having.is_none()
        && select.windows.is_empty()
        && select.items.iter().all(is_row_item)
}

/// Whether an item is a value of one row: no aggregate, no window, no subquery.
fn is_row_item(item: &ast::SelectItem) -> bool {
    let ast::SelectItem::Expr(item) = item else { return false };
    let mut plain = true;
    item.expr.visit(&mut |expr| {
        plain &= !matches!(
            expr,
            ast::Expr::Aggregate(_) | ast::Expr::Window(_) | ast::Expr::Subquery(_) | ast::Expr::Exists(_)
        );
    });
    plain
}
