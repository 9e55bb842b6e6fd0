//! Small queries, run row by row: nested loops over indexes, with conditions, groups and an order, directly on the store.
//!
//! For such a query, DataFusion's planning takes many times as long as the answer. Here a greedy choice orders the tables. Each table
//! is read along an index for every row of the tables before it, and the expressions that changes of rows use evaluate the rows one at
//! a time. Nothing is written before the answer is complete. So a query that is large after all, or fails, can still go to the full
//! planner, which reports errors and warnings; this module never reports any.
//!
//! Reading order: [`plan`] (the queries that qualify), `from` (their tables), `outputs` (select list, groups, order), `loops` (the
//! order of tables, and their indexes), `covering` (covering indexes), `run`, `collect` (groups, order, output).

mod collect;
mod covering;
mod from;
mod joined_row;
mod loops;
mod outputs;
mod run;
mod work;

use crate::bind::{Binder, OutputColumn, compares_plainly, has_parameter};
use crate::point::{Operand, operand_of};
use covering::{CoveringIndex, column_uses};
use from::PlanTable;
use loops::Level;
use outputs::{Grouping, Item};
use squall_catalog::IndexDef;
use squall_functions::expr::BoundExpr;
use squall_functions::expr::sort_key;
use squall_parser::ast;
use squall_registry::{KernelMemory, Volatility};
use squall_row_store::TableStore;
use squall_types::SqlResult;
use std::sync::Arc;

pub use crate::point::FoundTable;
pub use collect::Answer;

/// Most tables of a small query: their order is found by trying.
const TABLES_MAX: usize = 8;
/// Most rows that such a query reads, on the way to its answer, before it is left to the full planner.
const ROWS_MAX: usize = 1000;

/// A small query, ready to run.
#[derive(Debug)]
pub struct RowPlan {
    tables: Vec<PlanTable>,
    levels: Vec<Level>,
    outputs: Vec<OutputColumn>,
    items: Vec<Item>,
    grouping: Option<Grouping>,
    distinct: bool,
    /// SQL_CALC_FOUND_ROWS: all rows are found, whatever LIMIT says.
    counts_found: bool,
    /// Of WHERE, what reads no row: unless it is true there are no rows.
    constant: BoundExpr,
    /// Which groups are shown.
    having: Option<BoundExpr>,
    /// ORDER BY, unless the loops give the rows in this order: sort keys, and whether they descend.
    order: Vec<(OrderKey, bool)>,
    /// Whether the first row that the loops find decides: MIN or MAX along an index.
    first_row_only: bool,
    limit: Option<Operand>,
    offset: Option<Operand>,
    /// Most bytes of rows that are read before the query is left to the full planner.
    bytes_max: usize,
    /// Whether the relevance of rows is asked for.
    ranks: bool,
}

/// The sort keys.
#[derive(Clone, Debug)]
enum OrderKey {
    /// An expression of a row's columns, or of those of a group's first row.
    Expr(BoundExpr),
    /// A column of the result, of a query with groups.
    Item(usize),
    /// An aggregate, by its number.
    Aggregate(usize),
}

impl RowPlan {
    /// The result's columns.
    pub fn columns(&self) -> &[OutputColumn] {
        &self.outputs
    }

    /// Database and definition of each table, with the ordinals of the columns that are read, for privileges.
    pub fn reads(&self) -> impl Iterator<Item = (&Arc<str>, &Arc<squall_catalog::TableDef>, &[usize])> {
        self.tables.iter().map(|table| (&table.database, table.table.def(), table.columns.as_slice()))
    }

    /// Whether a table has been dropped or changed since the plan was made.
    pub fn is_retired(&self) -> bool {
        self.tables.iter().any(|table| table.table.is_retired())
    }

    /// Whether the plan is valid for all parameters of the kinds that it was bound with. It is if they are compared with plain
    /// columns. Otherwise types may depend on values: types of the result's columns, and the comparison of a number with a date.
    pub fn is_valid_for_kinds(&self) -> bool {
        !self.shown().any(has_parameter)
            && self.conditions().all(compares_plainly)
            && !self.outputs.iter().any(|output| output.name.contains('?'))
    }

    /// Whether sessions may run the same plan: no part of it keeps anything between two runs.
    pub fn is_shareable(&self) -> bool {
        let mut has_memory = false;
        for expr in self.shown().chain(self.conditions()) {
            expr.visit(&mut |node| {
                if let BoundExpr::Call(call) = node {
                    has_memory |= call.kernel.memory() != KernelMemory::None;
                }
            });
        }
        !has_memory
    }

    /// Expressions of the select list, of groups and of the order.
    fn shown(&self) -> impl Iterator<Item = &BoundExpr> {
        let grouping = self.grouping.iter().flat_map(Grouping::exprs);
        let order = self.order.iter().filter_map(|(key, _)| match key {
            OrderKey::Expr(expr) => Some(expr),
            OrderKey::Item(_) | OrderKey::Aggregate(_) => None,
        });
        self.items.iter().filter_map(Item::expr).chain(grouping).chain(order)
    }

    /// WHERE, what joins are on, and HAVING.
    fn conditions(&self) -> impl Iterator<Item = &BoundExpr> {
        let conditions = self.levels.iter().flat_map(|level| [Some(&level.condition), level.left_join.as_ref()]);
        conditions.flatten().chain([&self.constant]).chain(&self.having)
    }
}

/// The plan of a query that is small, as far as can be seen; `None` for any other, and for one that has an error or a
/// warning. `table_of` gives the base table that a name stands for, if it does.
pub fn plan(
    query: &ast::Query,
    binder: &Binder<'_>,
    store: &dyn TableStore,
    table_of: &dyn Fn(&ast::ObjectName) -> FoundTable,
) -> Option<RowPlan> {
    let select = plain_select(query)?;
    let noted = binder.context.diagnostics.count();
    let plan = bind(query, select, binder, store, table_of).ok().flatten();
    let quiet = binder.context.diagnostics.count() == noted;
    binder.context.diagnostics.truncate(noted);
    plan.filter(|_| quiet)
}

/// The SELECT of a query that has nothing but a select list, tables, WHERE, GROUP BY, HAVING, ORDER BY and LIMIT.
fn plain_select(query: &ast::Query) -> Option<&ast::Select> {
    let select = query.as_select()?;
    let ast::SelectOptions { distinct, calc_found_rows, .. } = select.options;
    let options = ast::SelectOptions { distinct, calc_found_rows, ..ast::SelectOptions::default() };
    let plain = query.with.is_none()
        && query.locking.is_empty()
        && query.into.is_none()
        && select.options == options
        && select.hints.is_none()
        && select.windows.is_empty()
        && !select.from.is_empty();
    plain.then_some(select)
}

fn bind(
    query: &ast::Query,
    select: &ast::Select,
    binder: &Binder<'_>,
    store: &dyn TableStore,
    table_of: &dyn Fn(&ast::ObjectName) -> FoundTable,
) -> SqlResult<Option<RowPlan>> {
    let Some((limit, offset)) = bounds(query.limit.as_ref()) else { return Ok(None) };
    let Some(mut from) = from::bind(select, binder, store, table_of)? else { return Ok(None) };
    let Some(mut shape) = outputs::bind(query, select, binder, &from)? else { return Ok(None) };
    if !shape.exprs().chain(from.conditions()).all(is_side_effect_free) {
        return Ok(None);
    }
    // What is nearest is found by a vector index.
    let has_vectors = from.tables.iter().any(|table| table.table.def().indexes.iter().any(IndexDef::is_vector));
    if has_vectors && limit.is_some() && shape.exprs().any(work::measures) {
        return Ok(None);
    }
    from.note_columns(shape.exprs());
    let ties = std::mem::take(&mut shape.ties);
    shape.order.extend(ties);
    let bytes_max = work::bytes_max(shape.exprs().chain(from.conditions()));
    let ranks = shape.exprs().chain(from.conditions()).any(work::ranks);
    let extreme = shape.grouping.as_ref().and_then(Grouping::extreme);
    if let Some((column, _)) = &extreme {
        from.add_not_null(column);
    }
    let extreme: Option<[_; 1]> = extreme.map(|(column, descending)| [(OrderKey::Expr(sort_key(column)), descending)]);
    let grouped = shape.grouping.is_some();
    let (wanted, bounded): (&[_], bool) = match &extreme {
        Some(order) => (order, true),
        None if grouped => (&[], false),
        None => (&shape.order, limit.is_some() && !shape.counts_found),
    };
    let uses = column_uses(shape.exprs().chain(from.conditions()));
    let constant = from.take_constant();
    // Of what is never read the size does not matter.
    let never = constant.eval_condition(&loops::no_row(binder), binder.context)? != Some(true);
    let wanted = loops::Wanted { order: wanted, bounded, none: never };
    // Estimates only: of what is committed now, whatever the statement will see.
    let arranged = loops::arrange(&from, binder, store, &store.read_view(), wanted)?;
    let Some((mut levels, ordered)) = arranged else { return Ok(None) };
    for level in &mut levels {
        level.covering = CoveringIndex::of(&from, &level.read_index(), &uses);
    }
    let order = if ordered && !grouped { Vec::new() } else { shape.order };
    Ok(Some(RowPlan {
        tables: from.tables,
        levels,
        outputs: shape.outputs,
        items: shape.items,
        grouping: shape.grouping,
        distinct: shape.distinct,
        counts_found: shape.counts_found,
        constant,
        having: shape.having,
        order,
        first_row_only: ordered && grouped,
        limit,
        offset,
        bytes_max,
        ranks,
    }))
}

/// LIMIT and OFFSET, if they are constants.
fn bounds(limit: Option<&ast::Limit>) -> Option<(Option<Operand>, Option<Operand>)> {
    let operand = |expr: &Option<ast::Expr>| match expr {
        None => Some(None),
        Some(expr) => operand_of(expr).map(Some),
    };
    match limit {
        None => Some((None, None)),
        Some(limit) if limit.with_ties => None,
        Some(limit) => Some((operand(&limit.count)?, operand(&limit.offset)?)),
    }
}

/// Whether an expression changes nothing, takes no time, and can be evaluated on a row.
fn is_side_effect_free(expr: &BoundExpr) -> bool {
    let mut is_free = expr.is_brief();
    expr.visit(&mut |node| match node {
        BoundExpr::Call(call) => is_free &= call.volatility != Volatility::Volatile,
        BoundExpr::Opaque { .. } => is_free = false,
        _ => {}
    });
    is_free
}
