//! Updatable views: each row of the view is one row of one table, or of each of several tables that it joins.

use super::view::{self, invoker_inside};
use squall_catalog::name::eq_ignore_case;
use squall_catalog::{Catalog, Invoker, TableDef, TableEntry, ViewDef};
use squall_executor::access::row_key_column;
use squall_parser::ast;
use squall_types::SqlResult;
use std::sync::Arc;

/// How deep views may stand on views here; deeper ones are not updatable.
const DEPTH_MAX: usize = 32;

/// The columns and rows of a table that a view shows.
#[derive(Clone, Debug)]
pub struct UpdatableView {
    /// The database of the table.
    pub database: Arc<str>,
    /// The table.
    pub table: Arc<TableDef>,
    /// The view's columns, but for those of other tables: the name, and the ordinal in the table of those that are no expressions.
    pub columns: Vec<(Arc<str>, Option<usize>)>,
    /// The condition of WITH CHECK OPTION, of this view or one below, on a row of a view of one table.
    pub checks: Vec<ViewCheck>,
    /// Whether there is such a condition on joined rows, which nothing evaluates.
    pub lacks_checks: bool,
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
    /// Its columns, but for those of other tables: the name, and the ordinal in the table of those that are no expressions.
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

/// The tables and columns that can be changed through a view, a part for each table that it joins; empty if there are none.
pub fn updatable(catalog: &Catalog, database: &str, view: &ViewDef) -> SqlResult<Vec<UpdatableView>> {
    resolve(catalog, database, view, &Invoker::Session, false, DEPTH_MAX)
}

/// The columns that have the keys of the tables' rows, for the select list of an updatable view: one for each part, in order.
pub(super) fn row_key_items(catalog: &Catalog, database: &str, query: &ast::Query) -> SqlResult<Vec<ast::SelectItem>> {
    let mut items = Vec::new();
    for factor in mergeable(query).and_then(|select| factors(&select.from)).unwrap_or_default() {
        let below_database = factor.name.schema.as_ref().map_or(database, |schema| schema.as_str());
        let parts = match catalog.entry(below_database, &factor.name.name) {
            Some(TableEntry::View(view)) => updatable(catalog, below_database, view)?.len(),
            _ => 1,
        };
        for part in 0..parts {
            let name = ast::ColumnName {
                schema: None,
                table: Some(factor.alias.clone().unwrap_or_else(|| factor.name.name.clone())),
                column: ast::Ident::new(row_key_column(part)),
            };
            let expr = ast::Expr::Column(Box::new(name));
            items.push(ast::SelectItem::Expr(Box::new(ast::SelectExpr {
                expr,
                alias: None,
                span: ast::Span::default(),
            })));
        }
    }
    Ok(items)
}

/// The tables of a FROM; `None` if anything else is in it.
fn factors(from: &[ast::TableReference]) -> Option<Vec<&ast::TableFactor>> {
    fn collect<'f>(reference: &'f ast::TableReference, all: &mut Vec<&'f ast::TableFactor>) -> Option<()> {
        match reference {
            ast::TableReference::Table(factor) => all.push(factor),
            ast::TableReference::Join(join) => {
                collect(&join.left, all)?;
                collect(&join.right, all)?;
            }
            _ => return None,
        }
        Some(())
    }
    let mut all = Vec::new();
    from.iter().try_for_each(|reference| collect(reference, &mut all))?;
    Some(all)
}

/// Whether each row of a view is made of one row of each of several tables.
pub(crate) fn is_of_join(query: &ast::Query) -> bool {
    mergeable(query).is_some_and(|select| match select.from.as_slice() {
        [] => false,
        [one] => matches!(one, ast::TableReference::Join(_)),
        _ => true,
    })
}

/// The block of a query that gives rows as they are.
fn mergeable(query: &ast::Query) -> Option<&ast::Select> {
    let select = query.as_select()?;
    let plain = query.with.is_none()
        && query.limit.is_none()
        && !select.options.distinct
        && select.group_by.is_none()
        && select.having.is_none()
        && select.windows.is_empty();
    plain.then_some(select)
}

/// The column of a table that a column of a view is.
#[derive(Clone, Copy, Debug)]
struct BaseColumn {
    /// Which of the tables and views of the FROM.
    factor: usize,
    /// Which of its parts.
    part: usize,
    /// The ordinal in the part's table.
    ordinal: usize,
}

/// What a view shows of one of the tables and views of its FROM.
struct Below<'q> {
    factor: &'q ast::TableFactor,
    parts: Vec<UpdatableView>,
}

impl Below<'_> {
    fn alias(&self) -> &ast::Ident {
        self.factor.alias.as_ref().unwrap_or(&self.factor.name.name)
    }

    /// The part and the ordinal of a column of it; `None` if it has none of that name that can be changed.
    fn column(&self, name: &str) -> Option<(usize, usize)> {
        let of_part = |part: &UpdatableView| {
            part.columns.iter().find(|(column, _)| eq_ignore_case(column, name)).and_then(|(_, ordinal)| *ordinal)
        };
        self.parts.iter().enumerate().find_map(|(at, part)| Some((at, of_part(part)?)))
    }
}

/// What is below one table or view of a FROM; empty if it cannot be changed.
fn parts_below(
    catalog: &Catalog,
    database: &str,
    factor: &ast::TableFactor,
    (inside, cascaded, depth): (&Invoker, bool, usize),
) -> SqlResult<Vec<UpdatableView>> {
    let database = factor.name.schema.as_ref().map_or(database, |schema| schema.as_str());
    match catalog.entry(database, &factor.name.name) {
        Some(TableEntry::Table(table)) => {
            let columns = table.columns.iter().enumerate();
            Ok(vec![UpdatableView {
                database: database.into(),
                table: Arc::clone(table),
                columns: columns.map(|(at, column)| (Arc::from(column.name.as_str()), Some(at))).collect(),
                checks: Vec::new(),
                lacks_checks: false,
                levels: Vec::new(),
            }])
        }
        Some(TableEntry::View(inner)) => resolve(catalog, database, inner, inside, cascaded, depth - 1),
        None => Ok(Vec::new()),
    }
}

/// By ordinal of the table's column: the name that the view above knows it by.
fn names_of(part: &UpdatableView) -> Vec<Option<Arc<str>>> {
    let mut names = vec![None; part.table.columns.len()];
    for (name, ordinal) in &part.columns {
        if let Some(ordinal) = ordinal {
            names[*ordinal].get_or_insert_with(|| Arc::clone(name));
        }
    }
    names
}

fn resolve(
    catalog: &Catalog,
    database: &str,
    view: &ViewDef,
    invoker: &Invoker,
    checked_from_above: bool,
    depth: usize,
) -> SqlResult<Vec<UpdatableView>> {
    if depth == 0 || view.algorithm == "TEMPTABLE" {
        return Ok(Vec::new());
    }
    let query = view::parse(view, database)?;
    let Some((select, factors)) = mergeable(&query).and_then(|select| Some((select, factors(&select.from)?))) else {
        return Ok(Vec::new());
    };
    if select.items.len() != view.columns.len() || select.items.iter().any(|item| !is_row_item(item)) {
        return Ok(Vec::new());
    }
    let inside = invoker_inside(view, invoker);
    let cascaded = checked_from_above || view.check_option == "CASCADED";
    let mut all_below = Vec::with_capacity(factors.len());
    for factor in factors {
        let parts = parts_below(catalog, database, factor, (&inside, cascaded, depth))?;
        if parts.is_empty() {
            return Ok(Vec::new());
        }
        all_below.push(Below { factor, parts });
    }
    // By column of the view: which of the factors, and of its parts, and which column of the table it is.
    let place = |item: &ast::SelectItem| {
        let ast::SelectItem::Expr(item) = item else { return None };
        let ast::Expr::Column(column) = &item.expr else { return None };
        let is_meant =
            |below: &Below<'_>| column.table.as_ref().is_none_or(|table| eq_ignore_case(table, below.alias()));
        let mut factors = all_below.iter().enumerate().filter(|(_, below)| is_meant(below));
        factors.find_map(|(factor, below)| {
            let (part, ordinal) = below.column(&column.column)?;
            Some(BaseColumn { factor, part, ordinal })
        })
    };
    let places: Vec<Option<BaseColumn>> = select.items.iter().map(place).collect();
    if places.iter().all(Option::is_none) {
        return Ok(Vec::new());
    }
    let is_joined = all_below.len() > 1 || all_below.iter().any(|below| below.parts.len() > 1);
    let checked = select.selection.as_ref().filter(|_| cascaded || view.check_option == "LOCAL");
    let mut all = Vec::new();
    for (at, below) in all_below.into_iter().enumerate() {
        let alias = below.alias().as_str();
        let below_database = below.factor.name.schema.as_ref().map_or(database, |schema| schema.as_str());
        let (alias, below_database): (Arc<str>, Arc<str>) = (alias.into(), below_database.into());
        for (part_at, mut part) in below.parts.into_iter().enumerate() {
            let column = |(name, place): (&String, &Option<BaseColumn>)| match place {
                None => Some((Arc::from(name.as_str()), None)),
                Some(base) if (base.factor, base.part) == (at, part_at) => {
                    Some((Arc::from(name.as_str()), Some(base.ordinal)))
                }
                Some(_) => None,
            };
            let columns: Vec<(Arc<str>, Option<usize>)> = view.columns.iter().zip(&places).filter_map(column).collect();
            match checked {
                Some(_) if is_joined => part.lacks_checks = true,
                Some(condition) => part.checks.push(ViewCheck {
                    condition: condition.clone(),
                    database: below_database.clone(),
                    alias: alias.clone(),
                    names: names_of(&part),
                }),
                None => {}
            }
            let level = ViewLevel {
                database: database.into(),
                name: view.name.as_str().into(),
                columns: columns.clone(),
                invoker: invoker.clone(),
                invoker_inside: inside.clone(),
            };
            part.levels.insert(0, level);
            all.push(UpdatableView { columns, ..part });
        }
    }
    Ok(all)
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
