//! The order of the loops, and the index that each reads.

use super::covering::{CoveringIndex, ReadIndex};
use super::from::{Condition, FromClause, PlanTable, all_of};
use super::{OrderKey, ROWS_MAX};
use crate::bind::Binder;
use squall_catalog::{IndexDef, IndexId};
use squall_executor::access::filter::predicate_of_bound;
use squall_executor::access::key::storage_index_id;
use squall_executor::access::order::order_direction;
use squall_executor::access::path::{AccessPath, IndexHints, TableEstimate, choose, is_usable};
use squall_functions::expr::{BoundExpr, CompareOp, EmptyRow, ParameterisedRow};
use squall_row_store::{Direction, ReadView, TableStore};
use squall_types::SqlResult;

/// Estimates are often too high, above all for tables that were never analysed. So only queries with far too many estimated rows
/// are not tried.
const DOUBT: f64 = 20.0;
/// This many rows are read and sorted before it is tried to begin with the table that ORDER BY names, up to LIMIT. How many of its rows have
/// partners is not known.
const SHORT_ROWS_MAX: f64 = 250.0;

/// One loop.
#[derive(Debug)]
pub(super) struct Level {
    /// The table that is read.
    pub(super) table: usize,
    /// Position of the index; `None` is the hidden order of a table without a primary key.
    pub(super) index: Option<usize>,
    pub(super) index_id: IndexId,
    pub(super) direction: Direction,
    /// The condition on its rows, which also gives the range to read; for a LEFT JOIN its ON.
    pub(super) condition: BoundExpr,
    /// The condition on a LEFT JOIN's rows, the missing one too; `None` for other loops.
    pub(super) left_join: Option<BoundExpr>,
    /// If the index has all that is read.
    pub(super) covering: Option<CoveringIndex>,
}

impl Level {
    /// The index that it reads.
    pub(super) fn read_index(&self) -> ReadIndex {
        let is_left_join = self.left_join.is_some();
        ReadIndex { table: self.table, index: self.index, index_id: self.index_id, is_left_join }
    }
}

/// The path by which a loop reads its table.
struct LoopPath {
    index: Option<usize>,
    index_id: IndexId,
    rows: f64,
    full: bool,
    /// Whether `rows` were counted, not estimated.
    counted: bool,
}

impl LoopPath {
    /// Whether it reads few enough rows for this route.
    fn is_small(&self) -> bool {
        let certain = self.full || self.counted;
        self.rows <= ROWS_MAX as f64 * if certain { 1.0 } else { DOUBT }
    }
}

struct Arranger<'a> {
    from: &'a FromClause,
    binder: &'a Binder<'a>,
    store: &'a dyn TableStore,
    view: &'a ReadView,
    wanted: Wanted<'a>,
}

/// Loops, and what they come to.
struct Arrangement {
    levels: Vec<Level>,
    /// Whether the rows come in the order that is wanted.
    ordered: bool,
    /// How many rows are read.
    rows_read: f64,
    is_small: bool,
}

/// The rows that are wanted.
#[derive(Clone, Copy)]
pub(super) struct Wanted<'a> {
    /// Their order.
    pub(super) order: &'a [(OrderKey, bool)],
    /// Whether the first ones of that order are enough.
    pub(super) bounded: bool,
    /// Whether there are none.
    pub(super) none: bool,
}

/// Puts the tables in an order. Says too whether the rows come in the order that is wanted; `None` if the query is not small.
pub(super) fn arrange(
    from: &FromClause,
    binder: &Binder<'_>,
    store: &dyn TableStore,
    view: &ReadView,
    wanted: Wanted<'_>,
) -> SqlResult<Option<(Vec<Level>, bool)>> {
    let arranger = Arranger { from, binder, store, view, wanted };
    let mut arrangement = arranger.arrangement(None)?;
    let is_short = arrangement.is_small && arrangement.rows_read <= SHORT_ROWS_MAX;
    if wanted.bounded
        && !arrangement.ordered
        && !is_short
        && let Some(start) = arranger.ordered_start()?
    {
        arrangement = arranger.arrangement(Some(start))?;
    }
    Ok((arrangement.is_small || wanted.none).then_some((arrangement.levels, arrangement.ordered)))
}

/// A row without columns, with the statement's parameters.
pub(super) fn no_row<'a>(binder: &Binder<'a>) -> ParameterisedRow<'a, EmptyRow> {
    ParameterisedRow { row: &EmptyRow, parameters: binder.params }
}

impl Arranger<'_> {
    /// Orders the tables: next is the table with the fewest rows left. `start` is the first table and its path.
    fn arrangement(&self, start: Option<(usize, LoopPath, Direction)>) -> SqlResult<Arrangement> {
        let from = self.from;
        let mut left: Vec<usize> = (0..from.tables.len()).filter(|at| from.tables[*at].on.is_none()).collect();
        let mut levels: Vec<Level> = Vec::with_capacity(from.tables.len());
        let mut placed = 0_u32;
        let (mut rows, mut rows_read) = (1.0, 0.0);
        let (mut ordered, mut is_small) = (false, true);
        let place = |levels: &mut Vec<Level>, placed: &mut u32, table, loop_path: LoopPath, direction| {
            levels.push(self.level(table, loop_path, direction, *placed, &from.filters));
            *placed |= 1 << table;
        };
        let first = match start {
            Some((table, loop_path, direction)) => {
                ordered = true;
                Some((table, loop_path, direction))
            }
            None => match self.next(&left, placed)? {
                Some((table, mut loop_path)) => {
                    let direction = self.in_order(table, &mut loop_path)?;
                    ordered = direction.is_some();
                    Some((table, loop_path, direction.unwrap_or(Direction::Forward)))
                }
                None => None,
            },
        };
        if let Some((table, loop_path, direction)) = first {
            // Column tables are for reading many rows by column, not each by itself.
            is_small &= !(loop_path.full && self.table(table).table.traits().reads_by_column);
            // The first rows may be enough.
            let few = self.wanted.bounded && (ordered || self.wanted.order.is_empty());
            is_small &= few || loop_path.is_small();
            rows = if few { 1.0 } else { loop_path.rows };
            rows_read += rows;
            left.retain(|other| *other != table);
            place(&mut levels, &mut placed, table, loop_path, direction);
        }
        while let Some((table, loop_path)) = self.next(&left, placed)? {
            rows *= loop_path.rows;
            rows_read += rows;
            left.retain(|other| *other != table);
            place(&mut levels, &mut placed, table, loop_path, Direction::Forward);
        }
        for (table, on) in from.tables.iter().enumerate().filter_map(|(at, table)| Some((at, table.on.as_ref()?))) {
            let loop_path = self.loop_path(table, on, placed)?;
            rows *= loop_path.rows.max(1.0);
            rows_read += rows;
            let mut level = self.level(table, loop_path, Direction::Forward, placed, &from.filters);
            // What WHERE says of the table comes after the missing rows.
            let filters = std::mem::replace(&mut level.condition, all_of(on.iter().collect()));
            level.left_join = Some(filters);
            levels.push(level);
            placed |= 1 << table;
        }
        is_small &= rows <= ROWS_MAX as f64 * DOUBT;
        Ok(Arrangement { levels, ordered, rows_read, is_small })
    }

    /// The table with the fewest rows left, and its path.
    fn next(&self, left: &[usize], placed: u32) -> SqlResult<Option<(usize, LoopPath)>> {
        let mut best: Option<(usize, LoopPath)> = None;
        for table in left {
            let loop_path = self.loop_path(*table, &self.from.filters, placed)?;
            if best.as_ref().is_none_or(|(_, known)| loop_path.rows < known.rows) {
                best = Some((*table, loop_path));
            }
        }
        Ok(best)
    }

    /// A table along an index of which the rows come in the order that is wanted.
    fn ordered_start(&self) -> SqlResult<Option<(usize, LoopPath, Direction)>> {
        for table in (0..self.from.tables.len()).filter(|at| self.from.tables[*at].on.is_none()) {
            let mut loop_path = self.loop_path(table, &self.from.filters, 0)?;
            if let Some(direction) = self.in_order(table, &mut loop_path)? {
                return Ok(Some((table, loop_path, direction)));
            }
        }
        Ok(None)
    }

    fn table(&self, at: usize) -> &PlanTable {
        &self.from.tables[at]
    }

    /// The best path to a table after the placed ones.
    fn loop_path(&self, at: usize, conditions: &[Condition], placed: u32) -> SqlResult<LoopPath> {
        let table = self.table(at);
        let usable: Vec<&Condition> = conditions
            .iter()
            .filter(|condition| condition.tables & (1 << at) != 0 && condition.tables & !(placed | 1 << at) == 0)
            .collect();
        let constant = all_of(usable.iter().copied().filter(|condition| condition.tables == 1 << at).collect());
        let path = self.path(at, &constant)?;
        let counted = path.index_def(table.table.def()).is_some_and(IndexDef::files_by_terms);
        let (index, index_id, rows, full) = (path.index, path.index_id, path.rows, path.is_full());
        let mut best = LoopPath { index, index_id, rows, full, counted };
        // Values of tables placed before are as good as constants.
        let equal: Vec<usize> = usable.iter().filter_map(|condition| self.equal_column(at, condition)).collect();
        if placed == 0 || equal.is_empty() {
            return Ok(best);
        }
        let def = table.table.def();
        let estimate = TableEstimate::of(self.store, &table.table);
        for (position, index) in def.indexes.iter().enumerate().filter(|(_, index)| is_usable(index)) {
            let columns = def.index_ordinals(index);
            let known = columns
                .iter()
                .zip(&index.parts)
                .take_while(|(column, part)| part.prefix.is_none() && equal.contains(column));
            let known = known.count();
            if known == 0 {
                continue;
            }
            let rows = estimate.rows_per_key(self.store, &table.table, index, known);
            if best.full || rows < best.rows {
                best = LoopPath {
                    index: Some(position),
                    index_id: storage_index_id(index),
                    rows,
                    full: false,
                    counted: false,
                };
            }
        }
        Ok(best)
    }

    fn path(&self, at: usize, condition: &BoundExpr) -> SqlResult<AccessPath> {
        let table = self.table(at);
        let context = self.binder.context;
        let row = no_row(self.binder);
        let predicate = predicate_of_bound(
            table.table.def(),
            condition,
            &context.settings.time_zone,
            &|column| column.ordinal.checked_sub(table.first).filter(|ordinal| *ordinal < table.width()),
            &|expr| expr.eval(&row, context).ok(),
        );
        choose(self.store, self.view, &table.table, &predicate, &table.columns, &IndexHints::default(), 0.0)
    }

    /// The column of a table that a condition says to be equal to something of other tables, or to a constant.
    fn equal_column(&self, at: usize, condition: &Condition) -> Option<usize> {
        let BoundExpr::Compare { op: CompareOp::Equal, left, right, .. } = &condition.expr else { return None };
        let table = self.table(at);
        let own = |expr: &BoundExpr| match expr {
            BoundExpr::Column(column) => {
                column.ordinal.checked_sub(table.first).filter(|ordinal| *ordinal < table.width())
            }
            _ => None,
        };
        match (own(left), own(right)) {
            (Some(column), None) if !self.reads(right, at) => Some(column),
            (None, Some(column)) if !self.reads(left, at) => Some(column),
            _ => None,
        }
    }

    fn reads(&self, expr: &BoundExpr, at: usize) -> bool {
        let mut reads = false;
        expr.visit(&mut |node| {
            if let BoundExpr::Column(column) = node {
                reads |= self.from.table_of(column.ordinal) == Some(at);
            }
        });
        reads
    }

    /// The direction in which a path gives the rows in the wanted order, perhaps along another index than it had.
    fn in_order(&self, at: usize, loop_path: &mut LoopPath) -> SqlResult<Option<Direction>> {
        let order = self.wanted.order.iter();
        let keys: Option<Vec<(&BoundExpr, bool)>> = order
            .map(|(key, descending)| match key {
                OrderKey::Expr(expr) => Some((expr, *descending)),
                OrderKey::Item(_) | OrderKey::Aggregate(_) => None,
            })
            .collect();
        let Some(keys) = keys.filter(|keys| !keys.is_empty()) else { return Ok(None) };
        let table = self.table(at);
        let def = table.table.def();
        let known = self.from.filters.iter().filter(|condition| condition.tables == 1 << at);
        let constant: Vec<usize> = known.filter_map(|condition| self.equal_column(at, condition)).collect();
        let direction = |position: usize| order_direction(def, &def.indexes[position], &keys, table.first, &constant);
        if let Some(direction) = loop_path.index.and_then(direction) {
            return Ok(Some(direction));
        }
        if !loop_path.full {
            return Ok(None);
        }
        let found = def.indexes.iter().enumerate().filter(|(_, index)| is_usable(index));
        let found = found.filter_map(|(position, _)| Some((position, direction(position)?))).next();
        Ok(found.map(|(position, direction)| {
            loop_path.index = Some(position);
            loop_path.index_id = storage_index_id(&def.indexes[position]);
            direction
        }))
    }

    /// A loop, with the filters that can be decided in it and not before.
    fn level(
        &self,
        table: usize,
        loop_path: LoopPath,
        direction: Direction,
        placed: u32,
        filters: &[Condition],
    ) -> Level {
        let now = placed | 1 << table;
        let decided = filters.iter().filter(|filter| filter.tables & !now == 0 && filter.tables & (1 << table) != 0);
        let condition = all_of(decided.collect());
        Level {
            table,
            index: loop_path.index,
            index_id: loop_path.index_id,
            direction,
            condition,
            left_join: None,
            covering: None,
        }
    }
}
