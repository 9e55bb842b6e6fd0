//! The order of the loops, and the index that each reads.

use super::from::{Condition, FromClause, PlanTable};
use super::{OrderKey, ROWS_MAX};
use crate::access::filter::predicate_of_bound;
use crate::access::key::storage_index_id;
use crate::access::order::order_direction;
use crate::access::path::{AccessPath, IndexHints, TableEstimate, choose, is_usable};
use crate::bind::Binder;
use squall_catalog::IndexId;
use squall_functions::expr::{BoundExpr, CompareOp, EmptyRow, ParameterisedRow};
use squall_row_store::{Direction, ReadView, RowStore};
use squall_types::{SqlResult, Value};

/// Estimates are often too high, of tables that were never analysed above all: only what is far too much is not tried.
const DOUBT: f64 = 20.0;

/// One loop.
#[derive(Debug)]
pub(super) struct Level {
    /// The table that is read.
    pub(super) table: usize,
    /// Position of the index; `None` is the hidden order of a table without a primary key.
    pub(super) index: Option<usize>,
    pub(super) index_id: IndexId,
    pub(super) direction: Direction,
    /// What its rows must satisfy, which also says which of them are read; for a LEFT JOIN its ON.
    pub(super) condition: BoundExpr,
    /// What a LEFT JOIN's rows, or the missing one, must satisfy; `None` for other loops.
    pub(super) left_join: Option<BoundExpr>,
}

/// A way to read a table in a loop.
struct Way {
    index: Option<usize>,
    index_id: IndexId,
    rows: f64,
    full: bool,
}

struct Arranger<'a> {
    from: &'a FromClause,
    binder: &'a Binder<'a>,
    store: &'a RowStore,
    view: &'a ReadView,
}

/// Puts the tables in an order. Says too whether the rows come in the order `wanted`; `None` if the query is not small.
/// With `wanted` the first rows of that order are enough.
pub(super) fn arrange(
    from: &FromClause,
    binder: &Binder<'_>,
    store: &RowStore,
    view: &ReadView,
    wanted: &[(OrderKey, bool)],
    bounded: bool,
) -> SqlResult<Option<(Vec<Level>, bool)>> {
    let arranger = Arranger { from, binder, store, view };
    let mut left: Vec<usize> = (0..from.tables.len()).filter(|at| from.tables[*at].on.is_none()).collect();
    let mut levels: Vec<Level> = Vec::with_capacity(from.tables.len());
    let mut placed = 0_u32;
    let mut rows = 1.0;
    let mut ordered = false;
    while !left.is_empty() {
        let mut best: Option<(usize, Way)> = None;
        for (position, table) in left.iter().enumerate() {
            let way = arranger.way(*table, &from.filters, placed)?;
            if best.as_ref().is_none_or(|(_, known)| way.rows < known.rows) {
                best = Some((position, way));
            }
        }
        let Some((position, mut way)) = best else { break };
        let table = left.remove(position);
        let mut direction = Direction::Forward;
        if levels.is_empty() {
            if let Some(found) = arranger.in_order(table, &mut way, wanted)? {
                (ordered, direction) = (true, found);
            }
            // Column tables are for reading many rows by column, not each by itself.
            if way.full && arranger.table(table).table.sealed_source().is_some() {
                return Ok(None);
            }
            // The first rows may be enough.
            let few = bounded && (ordered || wanted.is_empty());
            if !few && way.rows > ROWS_MAX as f64 * if way.full { 1.0 } else { DOUBT } {
                return Ok(None);
            }
            rows = if few { 1.0 } else { way.rows };
        } else {
            rows *= way.rows;
        }
        levels.push(arranger.level(table, way, direction, placed, &from.filters));
        placed |= 1 << table;
    }
    for (table, on) in from.tables.iter().enumerate().filter_map(|(at, table)| Some((at, table.on.as_ref()?))) {
        let way = arranger.way(table, on, placed)?;
        rows *= way.rows.max(1.0);
        let mut level = arranger.level(table, way, Direction::Forward, placed, &from.filters);
        // What WHERE says of the table comes after the missing rows.
        let filters = std::mem::replace(&mut level.condition, all_of(on.iter().collect()));
        level.left_join = Some(filters);
        levels.push(level);
        placed |= 1 << table;
    }
    Ok((rows <= ROWS_MAX as f64 * DOUBT).then_some((levels, ordered)))
}

impl Arranger<'_> {
    fn table(&self, at: usize) -> &PlanTable {
        &self.from.tables[at]
    }

    /// The best way to read a table after those placed.
    fn way(&self, at: usize, conditions: &[Condition], placed: u32) -> SqlResult<Way> {
        let table = self.table(at);
        let usable: Vec<&Condition> = conditions
            .iter()
            .filter(|condition| condition.tables & (1 << at) != 0 && condition.tables & !(placed | 1 << at) == 0)
            .collect();
        let constant = all_of(usable.iter().copied().filter(|condition| condition.tables == 1 << at).collect());
        let path = self.path(at, &constant)?;
        let mut best = Way { index: path.index, index_id: path.index_id, rows: path.rows, full: path.is_full() };
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
                best = Way { index: Some(position), index_id: storage_index_id(index), rows, full: false };
            }
        }
        Ok(best)
    }

    fn path(&self, at: usize, condition: &BoundExpr) -> SqlResult<AccessPath> {
        let table = self.table(at);
        let context = self.binder.context;
        let row = ParameterisedRow { row: &EmptyRow, parameters: self.binder.params };
        let predicate = predicate_of_bound(
            table.table.def(),
            condition,
            &context.time_zone,
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

    /// The direction in which a way gives the rows in the order wanted, perhaps along another index than it had.
    fn in_order(&self, at: usize, way: &mut Way, wanted: &[(OrderKey, bool)]) -> SqlResult<Option<Direction>> {
        let keys: Option<Vec<(&BoundExpr, bool)>> = wanted
            .iter()
            .map(|(key, descending)| match key {
                OrderKey::Expr(expr) => Some((expr, *descending)),
                OrderKey::Item(_) => None,
            })
            .collect();
        let Some(keys) = keys.filter(|keys| !keys.is_empty()) else { return Ok(None) };
        let table = self.table(at);
        let def = table.table.def();
        let known = self.from.filters.iter().filter(|condition| condition.tables == 1 << at);
        let constant: Vec<usize> = known.filter_map(|condition| self.equal_column(at, condition)).collect();
        let direction = |position: usize| order_direction(def, &def.indexes[position], &keys, table.first, &constant);
        if let Some(direction) = way.index.and_then(direction) {
            return Ok(Some(direction));
        }
        if !way.full {
            return Ok(None);
        }
        let found = def.indexes.iter().enumerate().filter(|(_, index)| is_usable(index));
        let found = found.filter_map(|(position, _)| Some((position, direction(position)?))).next();
        Ok(found.map(|(position, direction)| {
            way.index = Some(position);
            way.index_id = storage_index_id(&def.indexes[position]);
            direction
        }))
    }

    /// A loop, with the filters that can be decided in it and not before.
    fn level(&self, table: usize, way: Way, direction: Direction, placed: u32, filters: &[Condition]) -> Level {
        let now = placed | 1 << table;
        let decided = filters.iter().filter(|filter| {
            filter.tables & !now == 0 && (filter.tables & (1 << table) != 0 || (filter.tables == 0 && placed == 0))
        });
        let condition = all_of(decided.collect());
        Level { table, index: way.index, index_id: way.index_id, direction, condition, left_join: None }
    }
}

fn all_of(conditions: Vec<&Condition>) -> BoundExpr {
    match conditions.as_slice() {
        [one] => one.expr.clone(),
        several => BoundExpr::And(several.iter().map(|condition| condition.expr.clone()).collect()),
    }
}

/// NULL, for what no row has.
pub(super) const MISSING: Value = Value::Null;
