//! The select list, GROUP BY and ORDER BY of a small query.

use super::OrderKey;
use super::from::FromClause;
use crate::bind::match_against::{relevance_order, relevance_ties};
use crate::bind::output::ColumnOrigin;
use crate::bind::{Binder, GroupRows, HavingNames, OutputColumn, announced_type, columns_read, position_of};
use datafusion::common::Column;
use squall_catalog::name::eq_ignore_case;
use squall_functions::aggregate::AggregateCall;
use squall_functions::expr::{BoundExpr, ColumnRef, sort_key};
use squall_parser::ast;
use squall_types::{SqlMode, SqlResult};
use std::sync::Arc;

/// A column of the result.
#[derive(Clone, Debug)]
pub(super) enum Item {
    /// A column of a table, given out as it is stored: the table and the column's ordinal in it.
    Column(usize, usize, BoundExpr),
    /// An expression of a row's columns.
    Expr(BoundExpr),
    /// An aggregate, by its number.
    Aggregate(usize),
}

impl Item {
    pub(super) fn expr(&self) -> Option<&BoundExpr> {
        match self {
            Item::Column(_, _, expr) | Item::Expr(expr) => Some(expr),
            Item::Aggregate(_) => None,
        }
    }
}

/// GROUP BY and the aggregates.
#[derive(Debug)]
pub(super) struct Grouping {
    /// Sort keys of what is grouped by; empty for one group of all rows.
    pub(super) keys: Vec<BoundExpr>,
    pub(super) aggregates: Vec<Arc<AggregateCall>>,
    /// Whether there is a group without any row.
    pub(super) always_one: bool,
}

impl Grouping {
    /// The column of which only the least or the greatest value is asked for, and whether it is the greatest.
    pub(super) fn extreme(&self) -> Option<(BoundExpr, bool)> {
        let [aggregate] = self.aggregates.as_slice() else { return None };
        let greatest = match aggregate.name.as_ref() {
            "MIN" => false,
            "MAX" => true,
            _ => return None,
        };
        match aggregate.args.as_slice() {
            [column @ BoundExpr::Column(_)] if self.always_one => Some((column.clone(), greatest)),
            _ => None,
        }
    }

    pub(super) fn exprs(&self) -> impl Iterator<Item = &BoundExpr> {
        self.keys.iter().chain(self.aggregates.iter().flat_map(|aggregate| &aggregate.args))
    }
}

/// Keys to put rows in order by, and whether downwards.
type OrderKeys = Vec<(OrderKey, bool)>;

/// The output of the rows.
pub(super) struct Shape {
    pub(super) outputs: Vec<OutputColumn>,
    pub(super) items: Vec<Item>,
    pub(super) grouping: Option<Grouping>,
    /// Which groups are shown.
    pub(super) having: Option<BoundExpr>,
    pub(super) distinct: bool,
    /// SQL_CALC_FOUND_ROWS: all rows are found, whatever LIMIT says.
    pub(super) counts_found: bool,
    pub(super) order: OrderKeys,
    /// The order of rows of equal relevance. The statement has not asked for it, so it needs no right to see it.
    pub(super) ties: OrderKeys,
}

impl Shape {
    pub(super) fn exprs(&self) -> impl Iterator<Item = &BoundExpr> {
        let order = self.order.iter().filter_map(|(key, _)| match key {
            OrderKey::Expr(expr) => Some(expr),
            OrderKey::Item(_) | OrderKey::Aggregate(_) => None,
        });
        let grouping = self.grouping.iter().flat_map(Grouping::exprs);
        self.items.iter().filter_map(Item::expr).chain(order).chain(grouping).chain(&self.having)
    }
}

struct Reader<'a> {
    binder: &'a Binder<'a>,
    from: &'a FromClause,
    outputs: Vec<OutputColumn>,
    items: Vec<Item>,
    aggregates: Vec<Arc<AggregateCall>>,
    /// Names given with AS.
    aliases: Vec<(Arc<str>, usize)>,
}

/// Whether an expression has an aggregate in it.
fn has_aggregate(expr: &ast::Expr) -> bool {
    let mut found = false;
    expr.visit(&mut |node| found |= matches!(node, ast::Expr::Aggregate(_)));
    found
}

/// Binds what stands before FROM and after WHERE; `None` if there is more to it than is done row by row.
pub(super) fn bind(
    query: &ast::Query,
    select: &ast::Select,
    binder: &Binder<'_>,
    from: &FromClause,
) -> SqlResult<Option<Shape>> {
    let mut reader =
        Reader { binder, from, outputs: Vec::new(), items: Vec::new(), aggregates: Vec::new(), aliases: Vec::new() };
    for item in &select.items {
        if !reader.item(item)? {
            return Ok(None);
        }
    }
    let sorted = query.order_by.iter().map(|item| &item.expr);
    let grouped = select.group_by.iter().flat_map(|group_by| &group_by.items).map(|item| &item.expr);
    if sorted.chain(grouped).any(|expr| reader.names_several(expr)) {
        return Ok(None);
    }
    let grouped = select.group_by.is_some() || !reader.aggregates.is_empty();
    let Some(keys) = reader.group_by(select.group_by.as_ref())? else { return Ok(None) };
    let groups = grouped.then_some(keys.as_slice());
    if let Some(keys) = groups
        && !reader.items.iter().filter_map(Item::expr).all(|expr| reader.is_of_group(expr, keys))
    {
        return Ok(None);
    }
    for (item, output) in reader.items.iter().zip(&mut reader.outputs) {
        // What is grouped by is a column of the groups, and announced like one.
        if item.expr().is_some_and(|expr| keys.contains(expr)) {
            output.announced = None;
        }
    }
    let having = match (&select.having, groups) {
        (None, _) => None,
        (Some(having), Some(keys)) => match reader.having(having, keys)? {
            Some(having) => Some(having),
            None => return Ok(None),
        },
        // It is a condition on rows that uses names of the select list.
        (Some(_), None) => return Ok(None),
    };
    let Some(mut order) = reader.order_by(&query.order_by, groups, select.options.distinct)? else { return Ok(None) };
    let mut ties = Vec::new();
    if let Some(matched) = relevance_order(select, &query.order_by).filter(|_| !grouped) {
        (order, ties) = reader.relevance_keys(matched)?;
    }
    let grouping = grouped.then(|| Grouping {
        always_one: select.group_by.is_none(),
        keys: keys.into_iter().map(sort_key).collect(),
        aggregates: reader.aggregates,
    });
    let Reader { outputs, items, .. } = reader;
    let ast::SelectOptions { distinct, calc_found_rows: counts_found, .. } = select.options;
    Ok(Some(Shape { outputs, items, grouping, having, distinct, counts_found, order, ties }))
}

impl Reader<'_> {
    /// Adds an item of the select list; `false` for what is not done here.
    fn item(&mut self, item: &ast::SelectItem) -> SqlResult<bool> {
        match item {
            ast::SelectItem::Wildcard => {
                (0..self.from.tables.len()).for_each(|table| self.all_columns(table));
                Ok(true)
            }
            ast::SelectItem::QualifiedWildcard(name) => {
                let found = self.from.tables.iter().position(|table| {
                    *table.alias == *name.name.as_str()
                        && name.schema.as_ref().is_none_or(|schema| *table.database == *schema.as_str())
                });
                let Some(table) = found else { return Ok(false) };
                self.all_columns(table);
                Ok(true)
            }
            ast::SelectItem::Expr(item) => {
                let name: Arc<str> = item.column_name(self.binder.text).into();
                if item.alias.is_some() {
                    self.aliases.push((Arc::clone(&name), self.items.len()));
                }
                if has_aggregate(&item.expr) {
                    return self.aggregate(name, &item.expr);
                }
                let expr = self.binder.bind_expr(&item.expr, &self.from.scopes())?;
                self.push(name, expr);
                Ok(true)
            }
        }
    }

    fn all_columns(&mut self, at: usize) {
        let table = &self.from.tables[at];
        let scope = self.from.scopes().swap_remove(at);
        for (ordinal, column) in table.table.def().columns.iter().enumerate().filter(|(_, column)| !column.invisible) {
            let expr = BoundExpr::Column(Arc::new(ColumnRef {
                ordinal: table.first + ordinal,
                relation: Some(datafusion::common::TableReference::bare(table.alias.as_ref())),
                name: column.name.as_str().into(),
                display: format!("`{}`.`{}`.`{}`", table.database, table.alias, column.name).into(),
                ty: scope.columns[ordinal].expr_type.clone(),
                depth: Default::default(),
            }));
            self.push(column.name.as_str().into(), expr);
        }
    }

    fn push(&mut self, name: Arc<str>, expr: BoundExpr) {
        let mut output = OutputColumn {
            column: Column::from_name(name.to_string()),
            name,
            expr_type: expr.ty(),
            origin: None,
            announced: announced_type(&expr),
        };
        let column = match &expr {
            BoundExpr::Column(column) => self.from.table_of(column.ordinal).map(|table| (table, column.ordinal)),
            _ => None,
        };
        let Some((at, ordinal)) = column else {
            self.outputs.push(output);
            return self.items.push(Item::Expr(expr));
        };
        let table = &self.from.tables[at];
        let ordinal = ordinal - table.first;
        let def = table.table.def();
        output.origin = Some(Arc::new(ColumnOrigin {
            database: Arc::clone(&table.database),
            table: Arc::clone(&table.alias),
            org_table: def.name.as_str().into(),
            org_name: def.columns[ordinal].name.as_str().into(),
            base: Some((Arc::clone(def), ordinal)),
            behind: None,
        }));
        self.outputs.push(output);
        self.items.push(Item::Column(at, ordinal, expr));
    }

    /// An expression with aggregates; `None` if one of them is not computed here.
    fn bind_group_expr(&mut self, expr: &ast::Expr, having: Option<HavingNames<'_>>) -> SqlResult<Option<BoundExpr>> {
        let (known, tables) = (self.aggregates.len(), self.from.scopes());
        let groups = GroupRows { tables: &tables, aggregates: &mut self.aggregates, having };
        let bound = self.binder.bind_group_expr(expr, groups)?;
        let is_computed = |call: &AggregateCall| {
            matches!(call.name.as_ref(), "COUNT" | "SUM" | "AVG" | "MIN" | "MAX")
                && (!call.distinct || call.args.len() == 1)
        };
        Ok(self.aggregates[known..].iter().all(|call| is_computed(call)).then_some(bound))
    }

    /// The aggregate that an expression is, by its number.
    fn aggregate_number(&self, expr: &BoundExpr) -> Option<usize> {
        let BoundExpr::Column(column) = expr else { return None };
        column.ordinal.checked_sub(self.from.width())
    }

    /// An item of the select list that has aggregates in it.
    fn aggregate(&mut self, name: Arc<str>, expr: &ast::Expr) -> SqlResult<bool> {
        let Some(bound) = self.bind_group_expr(expr, None)? else { return Ok(false) };
        let Some(number) = self.aggregate_number(&bound) else {
            self.push(name, bound);
            return Ok(true);
        };
        self.outputs.push(OutputColumn {
            column: Column::from_name(name.to_string()),
            name,
            expr_type: bound.ty(),
            origin: None,
            announced: None,
        });
        self.items.push(Item::Aggregate(number));
        Ok(true)
    }

    /// HAVING of a query with groups; `None` for what is not done here.
    fn having(&mut self, having: &ast::Expr, keys: &[BoundExpr]) -> SqlResult<Option<BoundExpr>> {
        let shown = |item: &Item, output: &OutputColumn| match item {
            Item::Column(_, _, expr) | Item::Expr(expr) => expr.clone(),
            Item::Aggregate(number) => self.column_of_aggregate(*number, output),
        };
        let items = self.items.iter().zip(&self.outputs);
        let aliases = items.map(|(item, output)| (output.name.clone(), shown(item, output))).collect();
        let Some(bound) = self.bind_group_expr(having, Some(HavingNames { aliases, keys }))? else { return Ok(None) };
        Ok(self.is_of_group(&bound, keys).then_some(bound))
    }

    /// The column that an aggregate's value is for other expressions.
    fn column_of_aggregate(&self, number: usize, output: &OutputColumn) -> BoundExpr {
        BoundExpr::Column(Arc::new(ColumnRef {
            ordinal: self.from.width() + number,
            relation: None,
            name: output.name.clone(),
            display: output.name.clone(),
            ty: output.expr_type.clone(),
            depth: Default::default(),
        }))
    }

    /// The group expressions; `None` for ROLLUP, and for names that could be an alias or a column.
    fn group_by(&self, group_by: Option<&ast::GroupBy>) -> SqlResult<Option<Vec<BoundExpr>>> {
        let Some(group_by) = group_by else { return Ok(Some(Vec::new())) };
        if group_by.rollup || group_by.items.iter().any(|item| item.descending.is_some()) {
            return Ok(None);
        }
        let mut keys = Vec::with_capacity(group_by.items.len());
        for item in &group_by.items {
            let shown = position_of(&item.expr).map(|position| position.wrapping_sub(1));
            if let Some(at) = shown.or_else(|| self.aliased(&item.expr).filter(|_| !self.names_column(&item.expr))) {
                match self.items.get(at).and_then(Item::expr) {
                    Some(expr) if !self.reads_aggregate(expr) => keys.push(expr.clone()),
                    _ => return Ok(None),
                }
                continue;
            }
            if !self.is_row_expr(&item.expr) {
                return Ok(None);
            }
            keys.push(self.binder.bind_expr(&item.expr, &self.from.scopes())?);
        }
        Ok(Some(keys))
    }

    /// Whether an expression of GROUP BY or ORDER BY means columns of the tables: it is no constant, and no name in it
    /// might be an alias.
    fn is_row_expr(&self, expr: &ast::Expr) -> bool {
        if matches!(expr, ast::Expr::Literal(_) | ast::Expr::Placeholder(_)) {
            return false;
        }
        let mut means_columns = true;
        expr.visit(&mut |node| match node {
            ast::Expr::Column(name) => {
                let is_alias = |(alias, _): &(Arc<str>, usize)| eq_ignore_case(alias, &name.column);
                means_columns &= name.table.is_some() || !self.aliases.iter().any(is_alias);
            }
            ast::Expr::Subquery(_) | ast::Expr::Exists(_) | ast::Expr::InSubquery { .. } => means_columns = false,
            _ => {}
        });
        means_columns
    }

    /// Whether an expression may be shown of a group by these keys, as it is in the group's first row: all rows of the group have the same
    /// value, or `sql_mode` lets any of them stand for the others.
    fn is_of_group(&self, expr: &BoundExpr, keys: &[BoundExpr]) -> bool {
        if keys.contains(expr) {
            return true;
        }
        // A single group of all rows may have no row to be looked at.
        let reads_rows = columns_read(expr).iter().any(|ordinal| *ordinal < self.from.width());
        !reads_rows
            || !keys.is_empty()
                && (!self.binder.context.settings.sql_mode.contains(SqlMode::ONLY_FULL_GROUP_BY)
                    || self.is_determined(expr, keys))
    }

    /// Whether the keys determine the value of an expression: all columns in it are keys, or of tables whose primary keys are.
    fn is_determined(&self, expr: &BoundExpr, keys: &[BoundExpr]) -> bool {
        let is_key = |ordinal: usize| {
            keys.iter().any(|key| matches!(key, BoundExpr::Column(column) if column.ordinal == ordinal))
        };
        let mut determined = true;
        expr.visit(&mut |node| {
            let BoundExpr::Column(column) = node else { return };
            determined &= is_key(column.ordinal)
                || column.ordinal >= self.from.width()
                || self.from.table_of(column.ordinal).is_some_and(|at| {
                    let table = &self.from.tables[at];
                    let def = table.table.def();
                    let primary = def.indexes.iter().find(|index| index.primary);
                    primary.is_some_and(|index| {
                        table.on.is_none()
                            && index.parts.iter().all(|part| part.prefix.is_none())
                            && def.index_ordinals(index).iter().all(|ordinal| is_key(table.first + ordinal))
                    })
                });
        });
        determined
    }

    /// The keys of an order by relevance, and of that of equal rows; none if rows do not come in it.
    fn relevance_keys(&self, written: &ast::Expr) -> SqlResult<(OrderKeys, OrderKeys)> {
        let expr = self.binder.bind_expr(written, &self.from.scopes())?;
        let Some(ties) = relevance_ties(&expr, written) else { return Ok(Default::default()) };
        let mut keys = Vec::with_capacity(ties.len());
        for name in ties {
            let tie = self.binder.bind_expr(&ast::Expr::Column(Box::new(name)), &self.from.scopes())?;
            keys.push((OrderKey::Expr(sort_key(tie)), false));
        }
        Ok((vec![(OrderKey::Expr(sort_key(expr)), true)], keys))
    }

    /// The item that an expression of ORDER BY names by its alias.
    fn aliased(&self, expr: &ast::Expr) -> Option<usize> {
        let ast::Expr::Column(name) = expr else { return None };
        let mut named = self.aliases.iter().filter(|(alias, _)| eq_ignore_case(alias, &name.column));
        let (_, item) = named.next().filter(|_| name.table.is_none())?;
        named.next().is_none().then_some(*item)
    }

    /// Whether a name is that of several items. The binder knows which of them is meant, or that none is.
    fn names_several(&self, expr: &ast::Expr) -> bool {
        let ast::Expr::Column(name) = expr else { return false };
        let named = self.outputs.iter().filter(|output| eq_ignore_case(&output.name, &name.column));
        name.table.is_none() && named.count() > 1
    }

    /// Whether an unqualified name is a column of a table, too.
    fn names_column(&self, expr: &ast::Expr) -> bool {
        let ast::Expr::Column(name) = expr else { return false };
        let mut columns = self.from.tables.iter().flat_map(|table| &table.table.def().columns);
        columns.any(|column| eq_ignore_case(&column.name, &name.column))
    }

    fn reads_aggregate(&self, expr: &BoundExpr) -> bool {
        columns_read(expr).iter().any(|ordinal| *ordinal >= self.from.width())
    }

    /// A key of ORDER BY that has aggregates in it, which may be those of the select list.
    fn order_by_aggregate(&mut self, expr: &ast::Expr, keys: &[BoundExpr]) -> SqlResult<Option<OrderKey>> {
        if !self.is_row_expr(expr) {
            return Ok(None);
        }
        let Some(bound) = self.bind_group_expr(expr, None)? else { return Ok(None) };
        Ok(match self.aggregate_number(&bound) {
            Some(number) => Some(OrderKey::Aggregate(number)),
            None => self.is_of_group(&bound, keys).then(|| OrderKey::Expr(sort_key(bound))),
        })
    }

    /// ORDER BY; `None` for what is not done here. `groups` are the keys of a query with groups.
    fn order_by(
        &mut self,
        order_by: &[ast::OrderItem],
        groups: Option<&[BoundExpr]>,
        distinct: bool,
    ) -> SqlResult<Option<Vec<(OrderKey, bool)>>> {
        let grouped = groups.is_some();
        let mut order = Vec::with_capacity(order_by.len());
        for item in order_by {
            if has_aggregate(&item.expr) {
                let Some(keys) = groups.filter(|_| !distinct) else { return Ok(None) };
                let Some(key) = self.order_by_aggregate(&item.expr, keys)? else { return Ok(None) };
                order.push((key, item.descending));
                continue;
            }
            let position = match position_of(&item.expr) {
                Some(position) if (1..=self.items.len()).contains(&position) => Some(position - 1),
                Some(_) => return Ok(None),
                None => self.aliased(&item.expr),
            };
            let key = match position {
                Some(at) if grouped => OrderKey::Item(at),
                Some(at) => match self.items[at].expr() {
                    Some(expr) => OrderKey::Expr(sort_key(expr.clone())),
                    None => return Ok(None),
                },
                None if !self.is_row_expr(&item.expr) => return Ok(None),
                None => {
                    let expr = self.binder.bind_expr(&item.expr, &self.from.scopes())?;
                    let at = self.items.iter().position(|known| known.expr() == Some(&expr));
                    let full = self.binder.context.settings.sql_mode.contains(SqlMode::ONLY_FULL_GROUP_BY);
                    match (at, groups) {
                        (Some(at), Some(_)) => OrderKey::Item(at),
                        // Of rows that are equal except for their order, the first one stays.
                        (None, _) if distinct && full => return Ok(None),
                        (None, Some(keys)) if !self.is_of_group(&expr, keys) => return Ok(None),
                        _ => OrderKey::Expr(sort_key(expr)),
                    }
                }
            };
            order.push((key, item.descending));
        }
        Ok(Some(order))
    }
}
