//! Changes of segment rows that a query finds by joins or subqueries: many at a time.

use super::super::DmlContext;
use super::super::change::new_values;
use super::super::plan::{QueryChangePlan, TableChange};
use super::update::{change_row, columns_read, default_expr};
use super::{interrupt_of, seen};
use crate::dml::plan::NewValue;
use crate::dml::ways::RowEvent;
use roaring::RoaringBitmap;
use rustc_hash::FxHashSet;
use squall_column_tables::{
    BulkChange, CHUNK_ROWS, FoundPlaces, Place, SegmentChunk, SegmentRow, SegmentUpdate, delete_segment_rows,
    value_bytes,
};
use squall_functions::expr::BoundExpr;
use squall_row_store::{ReadView, StoreResult};
use squall_types::{SqlResult, SqlType, Value};
use std::sync::Arc;

/// About how many bytes of new values wait for the old ones to be read.
const WAITING_BYTES_MAX: usize = 16 << 20;

/// Changes of one table's rows that a query finds.
pub struct BulkByQuery<'a> {
    plan: &'a QueryChangePlan,
    change: &'a TableChange,
    types: &'a [SqlType],
    places: FoundPlaces,
    /// By segment: the rows that have been found.
    taken: Vec<RoaringBitmap>,
    /// Keys of those that are in none.
    delta: FxHashSet<Vec<u8>>,
    work: Work,
}

/// The action on the rows.
enum Work {
    Delete(BulkChange),
    /// With the columns that are read, by ordinal.
    Update(Box<SegmentUpdate>, Vec<bool>, Waiting),
}

/// Rows whose old values have not been read yet.
#[derive(Default)]
struct Waiting {
    rows: Vec<SegmentRow>,
    /// Of each row its new values and its number.
    values: Vec<(Arc<Vec<Value>>, u64)>,
    bytes: usize,
}

impl<'a> BulkByQuery<'a> {
    /// Takes the table for the statement alone; gives the places back if rows have to be changed one by one.
    pub fn begin(
        context: &mut DmlContext<'_>,
        view: &ReadView,
        (plan, change): (&'a QueryChangePlan, &'a TableChange),
        types: &'a [SqlType],
        places: FoundPlaces,
    ) -> StoreResult<Result<BulkByQuery<'a>, FoundPlaces>> {
        let target = &change.target;
        let assigned: Vec<usize> = change.values.iter().map(|(column, _)| *column).collect();
        let of_table = plan.changes.iter().filter(|other| other.target.def().id == target.def().id);
        // By two names a row may be changed twice.
        let event = if plan.delete { RowEvent::Delete } else { RowEvent::Update(&assigned) };
        if of_table.count() > 1 || !context.ways(target, event, false)?.at_once {
            return Ok(Err(places));
        }
        let threads = context.runtime.threads();
        if !context.transaction.begin_bulk_change_since(&target.table, view)? {
            return Ok(Err(places));
        }
        let Some(bulk) = BulkChange::new(&target.table, threads) else { return Ok(Err(places)) };
        let work = if plan.delete {
            Work::Delete(bulk)
        } else {
            let defaults = change.values.iter().filter(|(_, source)| source.is_none());
            let read = defaults.filter_map(|(column, _)| default_expr(target, *column, &NewValue::Default));
            let read: Vec<&BoundExpr> = read.collect();
            let changing = target.rules.changing_columns(&assigned);
            let update = SegmentUpdate::new(&target.table, places.snapshot().clone(), bulk, changing);
            let columns = columns_read(&update, target, read.into_iter());
            Work::Update(Box::new(update), columns, Waiting::default())
        };
        let taken = vec![RoaringBitmap::new(); places.snapshot().segments.len()];
        Ok(Ok(BulkByQuery { plan, change, types, places, taken, delta: FxHashSet::default(), work }))
    }

    /// Where a row is that has not been found before.
    pub fn take(&mut self, found: &[u8]) -> SqlResult<Option<Place>> {
        let place = self.places.place(found)?;
        let is_new = match &place {
            Place::InSegment(row) => self.taken[row.segment].insert(row.position),
            Place::Delta(key) => self.delta.insert(key.clone()),
        };
        Ok(is_new.then_some(place))
    }

    /// Changes a segment row, sooner or later.
    pub fn change(
        &mut self,
        context: &mut DmlContext<'_>,
        row: SegmentRow,
        values: &Arc<Vec<Value>>,
        number: u64,
    ) -> StoreResult<()> {
        let Work::Update(_, _, waiting) = &mut self.work else { return Ok(()) };
        waiting.rows.push(row);
        waiting.values.push((values.clone(), number));
        waiting.bytes += values.iter().map(value_bytes).sum::<usize>();
        if waiting.rows.len() >= CHUNK_ROWS || waiting.bytes >= WAITING_BYTES_MAX {
            self.change_waiting(context)?;
        }
        Ok(())
    }

    /// Changes the rows that wait.
    fn change_waiting(&mut self, context: &mut DmlContext<'_>) -> StoreResult<()> {
        let Work::Update(update, columns, waiting) = &mut self.work else { return Ok(()) };
        context.env.context.kill.check()?;
        let Waiting { rows, values, .. } = std::mem::take(waiting);
        let (target, snapshot) = (&self.change.target, update.snapshot().clone());
        let chunk = SegmentChunk::read(&target.table, &snapshot, &rows, columns)?;
        let keys = if update.changes_entries() { chunk.keys()? } else { Vec::new() };
        for (at, (values, number)) in values.iter().enumerate() {
            let old = seen(context, target, &chunk, at)?;
            let row = (&chunk, (at, keys.get(at).map(Vec::as_slice)));
            change_row(context, (target, self.plan.ignore), update, row, &old, |maker| {
                new_values(maker, self.change, self.types, &old, values, *number)
            })?;
        }
        Ok(())
    }

    /// Ends the changes; gives how many segment rows are others now, or gone.
    pub fn finish(mut self, context: &mut DmlContext<'_>) -> StoreResult<u64> {
        self.change_waiting(context)?;
        let (table, interrupt) = (&self.change.target.table, interrupt_of(context));
        match self.work {
            Work::Update(update, ..) => update.finish(context.transaction, &interrupt),
            Work::Delete(mut change) => {
                for (segment, rows) in self.taken.iter().enumerate() {
                    let (rows, snapshot) = ((segment, rows), self.places.snapshot());
                    delete_segment_rows(context.transaction, table, snapshot, rows, &mut change, &interrupt)?;
                }
                let deleted = change.rows();
                change.finish(context.transaction)?;
                Ok(deleted)
            }
        }
    }
}
