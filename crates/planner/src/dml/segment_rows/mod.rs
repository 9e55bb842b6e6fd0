//! UPDATE and DELETE of column tables: finds rows by columns, and changes many at a time.
//!
//! The parts of the condition that segments can evaluate become bitmaps of positions. A few rows are then locked, read and changed one
//! by one, as in other tables. Many rows are changed by the table's manifest ([`BulkChange`]), which needs the exclusive lock of the
//! table. If other sessions have locks in the table, rows are changed one by one.

mod by_query;
mod chunk;
mod update;

pub use by_query::{BulkByQuery, FoundPlaces, Place};

use super::DmlContext;
use super::change::{assign, update_selected};
use super::plan::{DeletePlan, Selection, UpdatePlan};
use super::selection::matches;
use super::target::{RowMaker, Target};
use chunk::{CHUNK_ROWS, SegmentChunk, SegmentRow, for_each_chunk};
use roaring::RoaringBitmap;
use squall_catalog::TableDef;
use squall_column_store::predicate::{Condition, Predicate, matching_rows};
use squall_column_tables::{BulkChange, ColumnSnapshot, TableColumns, sql_error};
use squall_executor::access::column_filter::{column_predicate, element_predicate};
use squall_functions::expr::{BoundExpr, ColumnRef, EmptyRow, ExecutionSlot, ParameterisedRow};
use squall_registry::Volatility;
use squall_row_store::{ReadView, StoreError, StoreResult};
use squall_types::{SqlResult, Value};
use std::sync::Arc;
use update::{SegmentUpdate, default_expr, is_passed_over};

/// Segment rows from which on they are changed many at a time: fewer are marked in the row store as fast as bitmaps and
/// segments are written, and leave the table to others.
pub const BULK_ROWS_MIN: u64 = 1024;

/// Memory of a row's key and place beyond the key itself, roughly.
const KEY_BYTES: usize = 64;

/// The rows of a column table that a statement selects.
pub struct FoundRows {
    snapshot: Arc<ColumnSnapshot>,
    /// The commits that were seen.
    seqno: u64,
    /// Of each segment the rows that may satisfy the condition: all that do, and no others unless there is a `rest`.
    sealed: Vec<RoaringBitmap>,
    /// The condition that segments cannot answer.
    rest: Option<BoundExpr>,
}

impl FoundRows {
    /// Looks for rows by columns; `None` if the table has none.
    pub fn find(
        context: &mut DmlContext<'_>,
        target: &Target,
        selection: &Selection,
    ) -> StoreResult<Option<FoundRows>> {
        if !target.table.traits().changes_at_once {
            return Ok(None);
        }
        let view = context.transaction.change_view();
        Ok(Self::find_at(context, target, selection, &view)?)
    }

    fn find_at(
        context: &DmlContext<'_>,
        target: &Target,
        selection: &Selection,
        view: &ReadView,
    ) -> SqlResult<Option<FoundRows>> {
        let Some(snapshot) = ColumnSnapshot::of(view, &target.table)? else { return Ok(None) };
        let (predicate, rest) = conditions(context, target.def(), selection.condition.as_ref());
        let condition = Condition::from(&predicate);
        let mut sealed = Vec::with_capacity(snapshot.segments.len());
        for visible in &snapshot.segments {
            context.env.context.kill.check()?;
            let columns = TableColumns::new(&target.table, &visible.segment, &snapshot.cache);
            let rows = matching_rows(&condition, &columns, Some(&visible.hidden));
            sealed.push(rows.map_err(|error| sql_error(&target.def().name, error))?);
        }
        Ok(Some(FoundRows { snapshot: Arc::new(snapshot), seqno: view.version().0, sealed, rest }))
    }

    /// Whether so many rows are found that they should be changed many at a time.
    pub fn are_many(&self) -> bool {
        self.segment_row_count() >= BULK_ROWS_MIN
    }

    /// Whether a row satisfies what segments could not answer.
    fn is_selected(&self, context: &DmlContext<'_>, row: &[Value]) -> SqlResult<bool> {
        let Some(rest) = &self.rest else { return Ok(true) };
        let source = ParameterisedRow { row, parameters: context.parameters };
        Ok(rest.eval_condition(&source, &context.env.context)? == Some(true))
    }

    fn segment_row_count(&self) -> u64 {
        self.sealed.iter().map(RoaringBitmap::len).sum()
    }

    /// Keys of the rows that are in no segment and satisfy the condition, in order.
    fn delta_keys(&self, context: &DmlContext<'_>, target: &Target, selection: &Selection) -> SqlResult<Vec<Vec<u8>>> {
        let mut keys = Vec::new();
        for row in &self.snapshot.delta {
            let values = target.read_row(row, &context.env.context.settings.time_zone)?;
            if matches(selection, context, &values)? {
                keys.push(row.key_bytes().to_vec());
            }
        }
        Ok(keys)
    }

    /// Keys of all rows that may satisfy the condition, in order.
    pub fn keys(&self, context: &DmlContext<'_>, target: &Target, selection: &Selection) -> SqlResult<Vec<Vec<u8>>> {
        let mut keys = self.delta_keys(context, target, selection)?;
        for (visible, rows) in self.snapshot.segments.iter().zip(&self.sealed) {
            let positions: Vec<u32> = rows.iter().collect();
            keys.extend(visible.keys(&self.snapshot, &target.table, &positions)?);
        }
        keys.sort_unstable();
        Ok(keys)
    }

    /// What was found, as it is once no other session may change the table; `None` if that is not possible.
    fn alone(
        self,
        context: &mut DmlContext<'_>,
        target: &Target,
        selection: &Selection,
    ) -> StoreResult<Option<FoundRows>> {
        let Some(view) = context.transaction.begin_bulk_change(&target.table)? else { return Ok(None) };
        if view.version().0 == self.seqno {
            return Ok(Some(self));
        }
        Ok(Self::find_at(context, target, selection, &view)?)
    }
}

/// The result of changing segment rows.
pub struct BulkDone {
    /// Those that satisfied the condition.
    pub matched: u64,
    /// Those that were changed.
    pub changed: u64,
    /// Keys of rows in no segment, which are left to be changed one by one.
    pub left: Vec<Vec<u8>>,
}

/// Deletes those in segments of the rows that were found; `None` if rows have to be deleted one by one.
pub fn delete(context: &mut DmlContext<'_>, plan: &DeletePlan, found: FoundRows) -> StoreResult<Option<BulkDone>> {
    let target = &plan.target;
    let Some(found) = found.alone(context, target, &plan.selection)? else { return Ok(None) };
    let Some(mut change) = BulkChange::new(&target.table, context.runtime.threads()) else {
        return Ok(None);
    };
    for (segment, rows) in found.sealed.iter().enumerate() {
        let mut chosen = RoaringBitmap::new();
        let rows = match &found.rest {
            None => rows,
            Some(rest) => {
                let mut columns = vec![false; target.def().columns.len()];
                note_columns(rest, &mut columns);
                for_each_chunk(context, target, &found.snapshot, (segment, rows), &columns, &mut |context, chunk| {
                    for (at, row) in chunk.rows().iter().enumerate() {
                        if found.is_selected(context, &chunk.seen(context, at)?)? {
                            chosen.insert(row.position);
                        }
                    }
                    Ok(())
                })?;
                &chosen
            }
        };
        delete_of_segment(context, target, &found.snapshot, (segment, rows), &mut change)?;
    }
    let left = found.delta_keys(context, target, &plan.selection)?;
    let deleted = change.rows();
    context.env.context.examined(usize::try_from(found.segment_row_count()).unwrap_or(usize::MAX));
    context.transaction.change_list(&target.table, change.finish())?;
    Ok(Some(BulkDone { matched: deleted, changed: deleted, left }))
}

/// Deletes rows of a segment, with what the table's indexes say of them.
fn delete_of_segment(
    context: &mut DmlContext<'_>,
    target: &Target,
    snapshot: &ColumnSnapshot,
    (segment, rows): (usize, &RoaringBitmap),
    change: &mut BulkChange,
) -> StoreResult<()> {
    if rows.is_empty() {
        return Ok(());
    }
    let indexed = indexed_columns(target.def());
    if !indexed.is_empty() {
        let mut columns = vec![false; target.def().columns.len()];
        indexed.iter().for_each(|ordinal| columns[*ordinal] = true);
        for_each_chunk(context, target, snapshot, (segment, rows), &columns, &mut |context, chunk| {
            for (at, key) in chunk.keys()?.iter().enumerate() {
                context.transaction.delete_entries(&target.table, key, &chunk.stored(at)?)?;
            }
            Ok(())
        })?;
    }
    change.delete(&snapshot.segments[segment].segment, rows);
    Ok(())
}

/// The columns of indexes that have entries for each row: keys that are not made of bitmaps, beside the primary one.
fn indexed_columns(def: &TableDef) -> Vec<usize> {
    let with_entries = def.indexes.iter().filter(|index| !index.primary && !index.is_bitmap());
    let mut columns: Vec<usize> = with_entries.flat_map(|index| def.index_ordinals(index)).collect();
    columns.sort_unstable();
    columns.dedup();
    columns
}

/// Gives those in segments of the rows that were found new values; `None` if rows have to be changed one by one.
pub fn update(context: &mut DmlContext<'_>, plan: &UpdatePlan, found: FoundRows) -> StoreResult<Option<BulkDone>> {
    let target = &plan.target;
    let assigned: Vec<usize> = plan.assignments.iter().map(|assignment| assignment.column).collect();
    let Some(found) = found.alone(context, target, &plan.selection)? else { return Ok(None) };
    let Some(change) = BulkChange::new(&target.table, context.runtime.threads()) else {
        return Ok(None);
    };
    let values =
        plan.assignments.iter().filter_map(|assignment| default_expr(target, assignment.column, &assignment.value));
    let read = values.chain(&found.rest);
    let changes = SegmentUpdate::new(target, found.snapshot.clone(), change, &assigned, read);
    let mut update = PlannedUpdate { plan, found: &found, changes, matched: 0, one_by_one: 0 };
    let left = if update.changes.changes_entries() {
        update.in_order_of_keys(context)?;
        Vec::new()
    } else {
        update.by_segment(context)?;
        found.delta_keys(context, target, &plan.selection)?
    };
    let PlannedUpdate { changes, matched, one_by_one, .. } = update;
    let changed = one_by_one + changes.finish(context)?;
    Ok(Some(BulkDone { matched, changed, left }))
}

/// An UPDATE under way.
struct PlannedUpdate<'a> {
    plan: &'a UpdatePlan,
    found: &'a FoundRows,
    changes: SegmentUpdate<'a>,
    matched: u64,
    /// Rows in no segment that were changed.
    one_by_one: u64,
}

impl PlannedUpdate<'_> {
    /// Segment by segment: which row comes first makes no difference to the others.
    fn by_segment(&mut self, context: &mut DmlContext<'_>) -> StoreResult<()> {
        let (found, target) = (self.found, &self.plan.target);
        let columns = self.changes.columns.clone();
        for (segment, rows) in found.sealed.iter().enumerate() {
            for_each_chunk(context, target, &found.snapshot, (segment, rows), &columns, &mut |context, chunk| {
                (0..chunk.rows().len()).try_for_each(|at| self.row(context, chunk, (at, None)))
            })?;
            self.changes.write(segment)?;
        }
        Ok(())
    }

    /// In the order of the primary key, as rows are changed one by one: a new value of a UNIQUE key must not be that of a row
    /// that come later.
    fn in_order_of_keys(&mut self, context: &mut DmlContext<'_>) -> StoreResult<()> {
        let (plan, found) = (self.plan, self.found);
        let reservation = context.runtime.reserve(&context.env.context.memory, "rows to change");
        let mut rows: Vec<(Vec<u8>, Option<SegmentRow>)> = Vec::new();
        for (segment, positions) in found.sealed.iter().enumerate() {
            for_each_chunk(context, &plan.target, &found.snapshot, (segment, positions), &[], &mut |_, chunk| {
                let keys = chunk.keys()?;
                let bytes: usize = keys.iter().map(|key| key.len() + KEY_BYTES).sum();
                reservation.try_grow(bytes).map_err(squall_functions::expr::sql_error_from)?;
                rows.extend(keys.into_iter().zip(chunk.rows().iter().map(|row| Some(*row))));
                Ok(())
            })?;
        }
        let delta = found.delta_keys(context, &plan.target, &plan.selection)?;
        rows.extend(delta.into_iter().map(|key| (key, None)));
        rows.sort_unstable_by(|(a, _), (b, _)| a.cmp(b));
        let columns = self.changes.columns.clone();
        for rows in rows.chunks(CHUNK_ROWS) {
            context.env.context.kill.check()?;
            let sealed: Vec<SegmentRow> = rows.iter().filter_map(|(_, row)| *row).collect();
            let chunk = SegmentChunk::read(&plan.target, &found.snapshot, &sealed, &columns)?;
            let mut at = 0;
            for (key, row) in rows {
                match row {
                    Some(_) => {
                        self.row(context, &chunk, (at, Some(key)))?;
                        at += 1;
                    }
                    None => self.delta_row(context, key)?,
                }
            }
        }
        Ok(())
    }

    /// Changes a segment row if it satisfies the condition.
    fn row(
        &mut self,
        context: &mut DmlContext<'_>,
        chunk: &SegmentChunk<'_>,
        (at, key): (usize, Option<&Vec<u8>>),
    ) -> StoreResult<()> {
        let plan = self.plan;
        let old = chunk.seen(context, at)?;
        context.env.context.examined(1);
        if !self.found.is_selected(context, &old)? {
            return Ok(());
        }
        self.matched += 1;
        let strict = context.env.context.settings.sql_mode.is_strict() && !plan.ignore;
        let (env, parameters) = (context.env, context.parameters);
        let maker =
            RowMaker { target: &plan.target, env, parameters, strict, null_becomes_zero: !strict, null_waits: false };
        let updated = assign(&maker, &plan.assignments, &old, &[], self.matched).and_then(|updated| {
            if updated != old {
                maker.check(&updated)?;
            }
            Ok(updated)
        });
        let done = updated.map_err(StoreError::Sql).and_then(|updated| match updated == old {
            true => Ok(()),
            false => self.changes.put(context, chunk, (at, key.map(Vec::as_slice)), &updated),
        });
        is_passed_over(context, plan.ignore, done)
    }

    /// Changes a row that is in no segment.
    fn delta_row(&mut self, context: &mut DmlContext<'_>, key: &[u8]) -> StoreResult<()> {
        let (plan, request) = (self.plan, context.write_lock());
        let Some(row) = context.transaction.get_locked(&plan.target.table, key, request)? else { return Ok(()) };
        let old = plan.target.read_row(&row, &context.env.context.settings.time_zone)?;
        self.matched += 1;
        self.one_by_one += u64::from(update_selected(context, plan, &row, &old, self.matched)?);
        Ok(())
    }
}

fn note_columns(expr: &BoundExpr, read: &mut [bool]) {
    expr.visit(&mut |expr| {
        if let BoundExpr::Column(column) = expr
            && let Some(read) = read.get_mut(column.ordinal)
        {
            *read = true;
        }
    });
}

/// The part of a condition that segments answer, and the rest.
fn conditions(
    context: &DmlContext<'_>,
    def: &TableDef,
    condition: Option<&BoundExpr>,
) -> (Predicate, Option<BoundExpr>) {
    let Some(condition) = condition else { return (Predicate::Constant(true), None) };
    let parts = match settled(context, def, condition.clone()) {
        BoundExpr::And(parts) => parts,
        condition => vec![condition],
    };
    let slot = ExecutionSlot::new(context.env.context.clone());
    let zone = &context.env.context.settings.time_zone;
    let (mut answered, mut rest) = (Vec::new(), Vec::new());
    for part in parts {
        let filter = part.to_predicate(&slot).ok();
        match filter.as_ref().and_then(|filter| column_predicate(def, filter, Some(zone))) {
            Some(predicate) => answered.push(predicate),
            None => {
                answered.extend(
                    filter.and_then(|filter| element_predicate(def, &filter, Some(zone), &|index| !index.invisible)),
                );
                rest.push(part);
            }
        }
    }
    (Predicate::And(answered), (!rest.is_empty()).then_some(BoundExpr::And(rest)))
}

/// A condition with the statement's constants as literals, and columns by their names in the table.
fn settled(context: &DmlContext<'_>, def: &TableDef, condition: BoundExpr) -> BoundExpr {
    condition.rewrite(&mut |expr| match &expr {
        BoundExpr::Literal(..) => expr,
        BoundExpr::Parameter { index, ty, .. } => match context.parameters.get(*index as usize) {
            Some(value) => BoundExpr::Literal(value.clone(), ty.clone()),
            None => expr,
        },
        BoundExpr::Column(column) => match def.columns.get(column.ordinal) {
            Some(named) => {
                let name = named.name.as_str().into();
                BoundExpr::Column(Arc::new(ColumnRef { relation: None, name, ..(**column).clone() }))
            }
            None => expr,
        },
        BoundExpr::Call(call) if expr.is_constant() && call.volatility != Volatility::Volatile => {
            match expr.eval(&EmptyRow, &context.env.context) {
                Ok(value) => BoundExpr::Literal(value, call.ty.clone()),
                // The row's evaluation gives the error.
                Err(_) => expr,
            }
        }
        _ => expr,
    })
}
