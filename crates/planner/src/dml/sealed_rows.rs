//! UPDATE and DELETE of column tables: rows are found by columns, and many of them changed at a time.
//!
//! A condition, or those of its parts that segments can answer, becomes bitmaps of positions. A few rows are then locked,
//! read and changed one by one, as rows of other tables are. Many are changed by the table's list of segments
//! ([`BulkChange`]), which needs the table for the statement alone; where others hold locks in it, rows go one by one.

use super::change::assign;
use super::find::matches;
use super::plan::{ColumnAssignment, DeletePlan, NewValue, Selection, UpdatePlan};
use super::rules::DefaultRule;
use super::target::{RowMaker, Target};
use super::{DmlContext, foreign_key, ignorable};
use crate::access::column_filter::column_predicate;
use arrow::array::ArrayRef;
use roaring::RoaringBitmap;
use squall_catalog::TableDef;
use squall_column_store::predicate::{Condition, Predicate, matching_rows};
use squall_column_tables::{
    BulkChange, ColumnSnapshot, SEGMENT_BYTES_MAX, TableColumns, VisibleSegment, from_utc, sql_error,
};
use squall_functions::arrow_map::{ValueArrayBuilder, value_at};
use squall_functions::expr::{BoundExpr, ColumnRef, EmptyRow, ExecutionSlot, ParameterisedRow};
use squall_registry::Volatility;
use squall_row_store::{ReadView, StoreError, StoreResult};
use squall_types::{SqlResult, SqlType, Value};
use std::sync::Arc;

/// Sealed rows from which on they are changed many at a time: fewer are marked in the row store as fast as bitmaps and
/// segments are written, and leave the table to others.
const BULK_ROWS_MIN: u64 = 1024;

/// Rows that are looked at between two looks at KILL.
const CHUNK_ROWS: usize = 4096;

/// What a statement selects of a column table.
pub struct FoundRows {
    snapshot: ColumnSnapshot,
    /// The commits that were seen.
    moment: u64,
    /// Of each segment the rows that may satisfy the condition: all that do, and no others unless there is a `rest`.
    sealed: Vec<RoaringBitmap>,
    /// What segments cannot answer.
    rest: Option<BoundExpr>,
}

impl FoundRows {
    /// Looks for rows by columns; `None` if the table has none.
    pub fn find(
        context: &mut DmlContext<'_>,
        target: &Target,
        selection: &Selection,
    ) -> StoreResult<Option<FoundRows>> {
        if target.table.sealed_source().is_none() {
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
        Ok(Some(FoundRows { snapshot, moment: view.moment().0, sealed, rest }))
    }

    /// Whether so many rows are found that they should be changed many at a time.
    pub fn are_many(&self) -> bool {
        self.sealed_count() >= BULK_ROWS_MIN
    }

    fn sealed_count(&self) -> u64 {
        self.sealed.iter().map(RoaringBitmap::len).sum()
    }

    /// Keys of the rows that are in no segment and satisfy the condition, in order.
    fn fresh_keys(&self, context: &DmlContext<'_>, target: &Target, selection: &Selection) -> SqlResult<Vec<Vec<u8>>> {
        let mut keys = Vec::new();
        for row in &self.snapshot.fresh {
            let values = target.read_row(row, &context.env.context.time_zone)?;
            if matches(selection, context, &values)? {
                keys.push(row.key_bytes().to_vec());
            }
        }
        Ok(keys)
    }

    /// Keys of all rows that may satisfy the condition, in order.
    pub fn keys(&self, context: &DmlContext<'_>, target: &Target, selection: &Selection) -> SqlResult<Vec<Vec<u8>>> {
        let mut keys = self.fresh_keys(context, target, selection)?;
        for (visible, rows) in self.snapshot.segments.iter().zip(&self.sealed) {
            let positions: Vec<u32> = rows.iter().collect();
            keys.extend(visible.keys(&self.snapshot, &target.table, &positions)?);
        }
        keys.sort_unstable();
        Ok(keys)
    }

    /// What was found, as it is once nobody else may change the table; `None` if that cannot be had.
    fn alone(
        self,
        context: &mut DmlContext<'_>,
        target: &Target,
        selection: &Selection,
    ) -> StoreResult<Option<FoundRows>> {
        let Some(view) = context.transaction.begin_bulk_change(&target.table)? else { return Ok(None) };
        if view.moment().0 == self.moment {
            return Ok(Some(self));
        }
        Ok(Self::find_at(context, target, selection, &view)?)
    }
}

/// What was done to sealed rows.
pub struct BulkDone {
    /// Those that satisfied the condition.
    pub matched: u64,
    /// Those that were changed.
    pub changed: u64,
    /// Keys of rows in no segment, which are left to be changed one by one.
    pub left: Vec<Vec<u8>>,
}

/// Deletes the sealed ones of the rows that were found; `None` if rows have to be deleted one by one.
pub fn delete(context: &mut DmlContext<'_>, plan: &DeletePlan, found: FoundRows) -> StoreResult<Option<BulkDone>> {
    let target = &plan.target;
    if !plan.returning.is_empty() || foreign_key::has_children(context, target) {
        return Ok(None);
    }
    let Some(found) = found.alone(context, target, &plan.selection)? else { return Ok(None) };
    let Some(mut change) = BulkChange::new(&target.table, context.runtime.threads()) else {
        return Ok(None);
    };
    for (visible, rows) in found.snapshot.segments.iter().zip(&found.sealed) {
        let mut chosen = RoaringBitmap::new();
        let rows = match &found.rest {
            None => rows,
            Some(rest) => {
                let mut columns = vec![false; target.def().columns.len()];
                note_columns(rest, &mut columns);
                for_each_row(context, target, &found, (visible, rows), &columns, &mut |context, position, row| {
                    let source = ParameterisedRow { row: &row, parameters: context.parameters };
                    if rest.eval_condition(&source, &context.env.context)? == Some(true) {
                        chosen.insert(position);
                    }
                    Ok(())
                })?;
                &chosen
            }
        };
        if !rows.is_empty() {
            delete_entries(context, target, &found.snapshot, visible, rows)?;
            change.delete(&visible.segment, rows);
        }
    }
    let left = found.fresh_keys(context, target, &plan.selection)?;
    let deleted = change.rows();
    context.env.context.examined(usize::try_from(found.sealed_count()).unwrap_or(usize::MAX));
    context.transaction.change_list(&target.table, change.finish())?;
    Ok(Some(BulkDone { matched: deleted, changed: deleted, left }))
}

/// The columns of indexes that have entries for each row: keys that are not made of bitmaps, beside the primary one.
fn indexed_columns(def: &TableDef) -> Vec<usize> {
    let with_entries = def.indexes.iter().filter(|index| !index.primary && !index.is_bitmap());
    let mut columns: Vec<usize> = with_entries.flat_map(|index| def.index_ordinals(index)).collect();
    columns.sort_unstable();
    columns.dedup();
    columns
}

/// Takes away what a table's indexes say of sealed rows that are deleted.
fn delete_entries(
    context: &mut DmlContext<'_>,
    target: &Target,
    snapshot: &ColumnSnapshot,
    visible: &VisibleSegment,
    rows: &RoaringBitmap,
) -> StoreResult<()> {
    let indexed = indexed_columns(target.def());
    if indexed.is_empty() {
        return Ok(());
    }
    let source = TableColumns::new(&target.table, &visible.segment, &snapshot.cache);
    let mut rows = rows.iter();
    loop {
        context.env.context.kill.check()?;
        let positions: Vec<u32> = rows.by_ref().take(CHUNK_ROWS).collect();
        if positions.is_empty() {
            return Ok(());
        }
        let keys = visible.keys(snapshot, &target.table, &positions)?;
        let read = |ordinal: &usize| Ok((*ordinal, source.array(*ordinal, positions.iter().copied())?));
        let arrays: Vec<(usize, ArrayRef)> = indexed.iter().map(read).collect::<SqlResult<_>>()?;
        let mut values = vec![Value::Null; target.def().columns.len()];
        for (at, key) in keys.iter().enumerate() {
            for (ordinal, array) in &arrays {
                values[*ordinal] = value_at(array, at, &target.def().columns[*ordinal].sql_type)?;
            }
            context.transaction.delete_entries(&target.table, key, &values)?;
        }
    }
}

/// Gives the sealed ones of the rows that were found new values; `None` if rows have to be changed one by one.
pub fn update(context: &mut DmlContext<'_>, plan: &UpdatePlan, found: FoundRows) -> StoreResult<Option<BulkDone>> {
    let target = &plan.target;
    let changing = changing_columns(target, &plan.assignments);
    let key = target.def().primary_key().map(|key| target.def().index_ordinals(key)).unwrap_or_default();
    let indexed = indexed_columns(target.def());
    // A new value of a unique key has to be looked for among those of all rows.
    let changes_key = changing.iter().any(|ordinal| key.contains(ordinal) || indexed.contains(ordinal));
    if changes_key || foreign_key::has_children(context, target) {
        return Ok(None);
    }
    let Some(found) = found.alone(context, target, &plan.selection)? else { return Ok(None) };
    let Some(change) = BulkChange::new(&target.table, context.runtime.threads()) else {
        return Ok(None);
    };
    let mut update = Update { plan, found: &found, columns: columns_read(plan, &found, &changing), change, matched: 0 };
    for (visible, rows) in found.snapshot.segments.iter().zip(&found.sealed) {
        update.segment(context, visible, rows, &changing)?;
    }
    let (matched, change) = (update.matched, update.change);
    let left = found.fresh_keys(context, target, &plan.selection)?;
    let changed = change.rows();
    context.transaction.change_list(&target.table, change.finish())?;
    Ok(Some(BulkDone { matched, changed, left }))
}

/// An UPDATE under way.
struct Update<'a> {
    plan: &'a UpdatePlan,
    found: &'a FoundRows,
    /// By ordinal: whether anything reads the column.
    columns: Vec<bool>,
    change: BulkChange,
    matched: u64,
}

impl Update<'_> {
    /// Writes new versions of the rows of a segment.
    fn segment(
        &mut self,
        context: &mut DmlContext<'_>,
        visible: &VisibleSegment,
        rows: &RoaringBitmap,
        changing: &[usize],
    ) -> StoreResult<()> {
        let (plan, found) = (self.plan, self.found);
        let (target, zone) = (&plan.target, context.env.context.time_zone.clone());
        let strict = context.env.context.sql_mode.is_strict() && !plan.ignore;
        let mut pending = Pending::new(target.def(), changing);
        let columns = std::mem::take(&mut self.columns);
        for_each_row(context, target, found, (visible, rows), &columns, &mut |context, position, old| {
            if let Some(rest) = &found.rest {
                let source = ParameterisedRow { row: &old, parameters: context.parameters };
                if rest.eval_condition(&source, &context.env.context)? != Some(true) {
                    return Ok(());
                }
            }
            self.matched += 1;
            let (env, parameters) = (context.env, context.parameters);
            let maker = RowMaker { target, env, parameters, strict, null_becomes_zero: !strict };
            let updated = assign(&maker, &plan.assignments, &old, &[], self.matched).and_then(|updated| {
                if updated != old {
                    maker.check(&updated)?;
                }
                Ok(updated)
            });
            match updated.map_err(StoreError::Sql) {
                Ok(updated) if updated == old => {}
                Ok(updated) => {
                    pending.push(position, &target.stored_row(&updated, &zone))?;
                    if pending.bytes >= SEGMENT_BYTES_MAX {
                        pending.write(&mut self.change, found, visible)?;
                    }
                }
                Err(error) if plan.ignore && ignorable(&error) => context.env.context.diagnostics.warn(error.into()),
                Err(error) => return Err(error.into()),
            }
            Ok(())
        })?;
        self.columns = columns;
        Ok(pending.write(&mut self.change, found, visible)?)
    }
}

/// New versions of rows of one segment.
struct Pending<'a> {
    def: &'a TableDef,
    positions: Vec<u32>,
    columns: Vec<(usize, ValueArrayBuilder)>,
    /// About what the new values take.
    bytes: usize,
}

impl<'a> Pending<'a> {
    fn new(def: &'a TableDef, changing: &[usize]) -> Pending<'a> {
        let builder = |ordinal: &usize| (*ordinal, ValueArrayBuilder::new(&def.columns[*ordinal].sql_type, 0));
        Pending { def, positions: Vec::new(), columns: changing.iter().map(builder).collect(), bytes: 0 }
    }

    fn push(&mut self, position: u32, row: &[Value]) -> SqlResult<()> {
        self.positions.push(position);
        for (ordinal, builder) in &mut self.columns {
            let value = &row[*ordinal];
            builder.append(value)?;
            self.bytes += size_of::<Value>()
                + match value {
                    Value::String(text) | Value::Json(text) => text.len(),
                    Value::Bytes(bytes) => bytes.len(),
                    _ => 0,
                };
        }
        Ok(())
    }

    fn write(&mut self, change: &mut BulkChange, found: &FoundRows, visible: &VisibleSegment) -> SqlResult<()> {
        let positions = std::mem::take(&mut self.positions);
        let mut columns = Vec::with_capacity(self.columns.len());
        for (ordinal, builder) in &mut self.columns {
            let next = ValueArrayBuilder::new(&self.def.columns[*ordinal].sql_type, 0);
            columns.push((*ordinal, std::mem::replace(builder, next).finish()));
        }
        self.bytes = 0;
        change.replace(&found.snapshot, &visible.segment, &positions, columns)
    }
}

/// What is done with a row: its position and its values as statements see them, NULL where a column is not read.
type SealedRowVisit<'v> = dyn FnMut(&mut DmlContext<'_>, u32, Vec<Value>) -> SqlResult<()> + 'v;

/// Calls `visit` for rows of a segment, in order.
fn for_each_row(
    context: &mut DmlContext<'_>,
    target: &Target,
    found: &FoundRows,
    (visible, rows): (&VisibleSegment, &RoaringBitmap),
    columns: &[bool],
    visit: &mut SealedRowVisit<'_>,
) -> SqlResult<()> {
    let source = TableColumns::new(&target.table, &visible.segment, &found.snapshot.cache);
    let mut rows = rows.iter();
    loop {
        context.env.context.kill.check()?;
        let positions: Vec<u32> = rows.by_ref().take(CHUNK_ROWS).collect();
        if positions.is_empty() {
            return Ok(());
        }
        context.env.context.examined(positions.len());
        let read = |(ordinal, read): (usize, &bool)| {
            read.then(|| source.array(ordinal, positions.iter().copied())).transpose()
        };
        let arrays: Vec<Option<ArrayRef>> = columns.iter().enumerate().map(read).collect::<SqlResult<_>>()?;
        for (at, position) in positions.iter().enumerate() {
            let values = target.def().columns.iter().zip(&arrays).map(|(column, array)| match array {
                Some(array) => seen_value(context, array, at, &column.sql_type),
                None => Ok(Value::Null),
            });
            let values = values.collect::<SqlResult<Vec<_>>>()?;
            visit(context, *position, values)?;
        }
    }
}

/// A stored value as statements see it.
fn seen_value(context: &DmlContext<'_>, array: &ArrayRef, at: usize, sql_type: &SqlType) -> SqlResult<Value> {
    Ok(match value_at(array, at, sql_type)? {
        Value::DateTime(moment) if matches!(sql_type, SqlType::Timestamp { .. }) => {
            Value::DateTime(from_utc(&context.env.context.time_zone, moment))
        }
        value => value,
    })
}

/// The columns that an UPDATE may give other values.
fn changing_columns(target: &Target, assignments: &[ColumnAssignment]) -> Vec<usize> {
    let assigned = assignments.iter().map(|assignment| assignment.column);
    let generated = target.rules.generated.iter().map(|(ordinal, _)| *ordinal);
    let mut columns: Vec<usize> = assigned.chain(generated).chain(target.rules.on_update_now.iter().copied()).collect();
    columns.sort_unstable();
    columns.dedup();
    columns
}

/// The columns that are read to make the new versions, by ordinal.
fn columns_read(plan: &UpdatePlan, found: &FoundRows, changing: &[usize]) -> Vec<bool> {
    let (target, mut read) = (&plan.target, vec![false; plan.target.def().columns.len()]);
    changing.iter().for_each(|ordinal| read[*ordinal] = true);
    let assigned = plan.assignments.iter().filter_map(|assignment| match &assignment.value {
        NewValue::Expr(expr) => Some(expr),
        NewValue::Default => match &target.rules.defaults[assignment.column] {
            DefaultRule::Expr(expr) => Some(expr),
            DefaultRule::None | DefaultRule::Value(_) | DefaultRule::Now => None,
        },
    });
    let checks = target.rules.checks.iter().map(|(_, check)| check);
    let checks = checks.chain(target.view.iter().flat_map(|view| &view.checks));
    let generated = target.rules.generated.iter().map(|(_, expr)| expr);
    let exprs = assigned.chain(checks).chain(generated).chain(&found.rest);
    exprs.for_each(|expr| note_columns(expr, &mut read));
    read
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

/// What a condition asks of the columns of segments, and the rest of it.
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
    let slot = ExecutionSlot::once(context.env.context.clone());
    let zone = &context.env.context.time_zone;
    let (mut answered, mut rest) = (Vec::new(), Vec::new());
    for part in parts {
        match part.to_predicate(&slot).ok().and_then(|filter| column_predicate(def, &filter, Some(zone))) {
            Some(predicate) => answered.push(predicate),
            None => rest.push(part),
        }
    }
    (Predicate::And(answered), (!rest.is_empty()).then_some(BoundExpr::And(rest)))
}

/// A condition with the statement's constants as literals, and columns by their names in the table.
fn settled(context: &DmlContext<'_>, def: &TableDef, condition: BoundExpr) -> BoundExpr {
    condition.rewrite(&mut |expr| match &expr {
        BoundExpr::Literal(..) => expr,
        BoundExpr::Parameter { index, ty } => match context.parameters.get(*index as usize) {
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
                // Whoever evaluates it on a row gets the error.
                Err(_) => expr,
            }
        }
        _ => expr,
    })
}
