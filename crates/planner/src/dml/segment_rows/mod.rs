//! UPDATE and DELETE of column tables: finds rows by columns, and changes many at a time.
//!
//! The parts of the condition that segments can evaluate become bitmaps of positions. A few rows are then locked, read and changed one
//! by one, as in other tables. Many rows are changed by the table's manifest ([`BulkChange`]), which needs the exclusive lock of the
//! table. If other sessions have locks in the table, rows are changed one by one.

mod by_query;
mod update;

pub use by_query::BulkByQuery;

use super::DmlContext;
use super::change::{assign, update_selected};
use super::plan::{DeletePlan, Selection, UpdatePlan};
use super::selection::matches;
use super::target::Target;
use roaring::RoaringBitmap;
use squall_catalog::TableDef;
use squall_column_store::predicate::Predicate;
use squall_column_tables::{
    BULK_ROWS_MIN, BulkChange, CHUNK_ROWS, ColumnSnapshot, SegmentChunk, SegmentRow, SegmentUpdate,
    delete_segment_rows, for_each_chunk,
};
use squall_executor::access::column_filter::{column_predicate, element_predicate};
use squall_functions::expr::{BoundExpr, ColumnRef, EmptyRow, ExecutionSlot, ParameterisedRow};
use squall_registry::Volatility;
use squall_row_store::{ReadView, StoreResult};
use squall_types::{SqlResult, Value};
use std::sync::Arc;
use update::{change_row, columns_read, default_expr};

/// Memory of a row's key and place beyond the key itself, roughly.
const KEY_BYTES: usize = 64;

/// The rows of a column table that a statement selects.
pub struct FoundRows {
    snapshot: Arc<ColumnSnapshot>,
    /// The commits that were seen.
    seqno: u64,
    /// Of each segment the rows that may satisfy the condition: all that do, and no others unless there is a `rest`.
    segment_rows: Vec<RoaringBitmap>,
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
        let segment_rows = snapshot.matching(&target.table, &predicate, &|| context.env.context.kill.check())?;
        Ok(Some(FoundRows { snapshot: Arc::new(snapshot), seqno: view.version().0, segment_rows, rest }))
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
        self.segment_rows.iter().map(RoaringBitmap::len).sum()
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
        self.snapshot.push_keys(&target.table, &self.segment_rows, &mut keys)?;
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
    let interrupt = interrupt_of(context);
    for (segment, rows) in found.segment_rows.iter().enumerate() {
        let mut chosen = RoaringBitmap::new();
        let rows = match &found.rest {
            None => rows,
            Some(rest) => {
                let mut columns = vec![false; target.def().columns.len()];
                note_columns(rest, &mut columns);
                for_each_chunk(&target.table, &found.snapshot, (segment, rows), &columns, &interrupt, &mut |chunk| {
                    for (at, row) in chunk.rows().iter().enumerate() {
                        if found.is_selected(context, &seen(context, target, chunk, at)?)? {
                            chosen.insert(row.position);
                        }
                    }
                    Ok(())
                })?;
                &chosen
            }
        };
        let rows = (segment, rows);
        delete_segment_rows(context.transaction, &target.table, &found.snapshot, rows, &mut change, &interrupt)?;
    }
    let left = found.delta_keys(context, target, &plan.selection)?;
    let deleted = change.rows();
    context.env.context.examined(usize::try_from(found.segment_row_count()).unwrap_or(usize::MAX));
    change.finish(context.transaction)?;
    Ok(Some(BulkDone { matched: deleted, changed: deleted, left }))
}

/// The look at KILL between chunks of rows.
fn interrupt_of(context: &DmlContext<'_>) -> impl Fn() -> SqlResult<()> + use<> {
    let statement = context.env.context.clone();
    move || statement.kill.check()
}

/// A row of a chunk as the statement sees it.
fn seen(context: &DmlContext<'_>, target: &Target, chunk: &SegmentChunk<'_>, row: usize) -> SqlResult<Vec<Value>> {
    chunk.seen(row, &target.rules.timestamps, &context.env.context.settings.time_zone)
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
    let changing = target.rules.changing_columns(&assigned);
    let changes = SegmentUpdate::new(&target.table, found.snapshot.clone(), change, changing);
    let columns = columns_read(&changes, target, read);
    let mut update = PlannedUpdate { plan, found: &found, changes, columns, matched: 0, one_by_one: 0 };
    let left = if update.changes.changes_entries() {
        update.in_order_of_keys(context)?;
        Vec::new()
    } else {
        update.by_segment(context)?;
        found.delta_keys(context, target, &plan.selection)?
    };
    let PlannedUpdate { changes, matched, one_by_one, .. } = update;
    let interrupt = interrupt_of(context);
    let changed = one_by_one + changes.finish(context.transaction, &interrupt)?;
    Ok(Some(BulkDone { matched, changed, left }))
}

/// An UPDATE under way.
struct PlannedUpdate<'a> {
    plan: &'a UpdatePlan,
    found: &'a FoundRows,
    changes: SegmentUpdate,
    /// By ordinal: whether anything reads the column.
    columns: Vec<bool>,
    matched: u64,
    /// Rows in no segment that were changed.
    one_by_one: u64,
}

impl PlannedUpdate<'_> {
    /// Segment by segment: which row comes first makes no difference to the others.
    fn by_segment(&mut self, context: &mut DmlContext<'_>) -> StoreResult<()> {
        let (found, target) = (self.found, &self.plan.target);
        let (columns, interrupt) = (self.columns.clone(), interrupt_of(context));
        for (segment, rows) in found.segment_rows.iter().enumerate() {
            for_each_chunk(&target.table, &found.snapshot, (segment, rows), &columns, &interrupt, &mut |chunk| {
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
        let interrupt = interrupt_of(context);
        for (segment, positions) in found.segment_rows.iter().enumerate() {
            let rows_of = (segment, positions);
            for_each_chunk(&plan.target.table, &found.snapshot, rows_of, &[], &interrupt, &mut |chunk| {
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
        let columns = self.columns.clone();
        for rows in rows.chunks(CHUNK_ROWS) {
            context.env.context.kill.check()?;
            let in_segments: Vec<SegmentRow> = rows.iter().filter_map(|(_, row)| *row).collect();
            let chunk = SegmentChunk::read(&plan.target.table, &found.snapshot, &in_segments, &columns)?;
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
        let old = seen(context, &plan.target, chunk, at)?;
        context.env.context.examined(1);
        if !self.found.is_selected(context, &old)? {
            return Ok(());
        }
        self.matched += 1;
        let (number, row) = (self.matched, (chunk, (at, key.map(Vec::as_slice))));
        change_row(context, (&plan.target, plan.ignore), &mut self.changes, row, &old, |maker| {
            assign(maker, &plan.assignments, &old, &[], number)
        })
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
    let parts = match with_literals(context, def, condition.clone()) {
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
fn with_literals(context: &DmlContext<'_>, def: &TableDef, condition: BoundExpr) -> BoundExpr {
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
