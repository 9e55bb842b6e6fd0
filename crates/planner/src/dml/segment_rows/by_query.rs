//! Changes of segment rows that a query finds by joins or subqueries: many at a time.

use super::super::DmlContext;
use super::super::change::new_values;
use super::super::plan::{QueryChangePlan, TableChange};
use super::super::target::{RowMaker, Target};
use super::chunk::{CHUNK_ROWS, SegmentChunk, SegmentRow};
use super::delete_of_segment;
use super::update::{SegmentUpdate, default_expr, is_passed_over, value_bytes};
use crate::dml::plan::NewValue;
use crate::dml::ways::RowEvent;
use roaring::RoaringBitmap;
use rustc_hash::{FxHashMap, FxHashSet};
use squall_column_tables::{BulkChange, ColumnSnapshot, RowAddress, VisibleSegment};
use squall_functions::expr::BoundExpr;
use squall_row_store::{ReadView, StoreError, StoreResult};
use squall_types::{SqlError, SqlResult, SqlType, Value};
use std::sync::Arc;

/// About how many bytes of new values wait for the old ones to be read.
const WAITING_BYTES_MAX: usize = 16 << 20;

/// Where a row is that a query has found.
pub enum Place {
    /// In a segment.
    InSegment(SegmentRow),
    /// In none; its storage key.
    Delta(Vec<u8>),
}

/// A column table as a query saw it: where the rows are that it found.
pub struct FoundPlaces {
    snapshot: Arc<ColumnSnapshot>,
    /// Which of the segments has a number.
    numbers: FxHashMap<u64, usize>,
}

impl FoundPlaces {
    /// The segments of a column table in a view.
    pub fn of(view: &ReadView, target: &Target) -> SqlResult<FoundPlaces> {
        let snapshot = ColumnSnapshot::of(view, &target.table)?;
        let snapshot = snapshot.ok_or_else(|| SqlError::internal("no column table"))?;
        let number = |(at, visible): (usize, &VisibleSegment)| (visible.segment.number(), at);
        let numbers = snapshot.segments.iter().enumerate().map(number).collect();
        Ok(FoundPlaces { snapshot: Arc::new(snapshot), numbers })
    }

    fn segment_row(&self, address: RowAddress) -> SqlResult<SegmentRow> {
        let segment =
            self.numbers.get(&address.segment).copied().filter(|segment| {
                (address.position as usize) < self.snapshot.segments[*segment].segment.segment().rows()
            });
        let segment = segment.ok_or_else(|| SqlError::internal("a row of a segment that is not there"))?;
        Ok(SegmentRow { segment, position: address.position })
    }

    /// The storage key of a row.
    pub fn key(&self, target: &Target, address: RowAddress) -> SqlResult<Vec<u8>> {
        let row = self.segment_row(address)?;
        let mut keys = self.snapshot.segments[row.segment].keys(&self.snapshot, &target.table, &[row.position])?;
        keys.pop().ok_or_else(|| SqlError::internal("a position without a key"))
    }

    /// Where a row is, from its key or address.
    fn place(&self, target: &Target, found: &[u8]) -> SqlResult<Place> {
        if let Some(address) = RowAddress::decode(found) {
            return Ok(Place::InSegment(self.segment_row(address)?));
        }
        Ok(match self.snapshot.find(&target.table, found)? {
            Some((segment, position)) => Place::InSegment(SegmentRow { segment, position }),
            None => Place::Delta(found.to_vec()),
        })
    }
}

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
    work: Work<'a>,
}

/// The action on the rows.
enum Work<'a> {
    Delete(BulkChange),
    Update(Box<SegmentUpdate<'a>>, Waiting),
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
            let snapshot = places.snapshot.clone();
            let update = SegmentUpdate::new(target, snapshot, bulk, &assigned, read.into_iter());
            Work::Update(Box::new(update), Waiting::default())
        };
        let taken = vec![RoaringBitmap::new(); places.snapshot.segments.len()];
        Ok(Ok(BulkByQuery { plan, change, types, places, taken, delta: FxHashSet::default(), work }))
    }

    /// Where a row is that has not been found before.
    pub fn take(&mut self, found: &[u8]) -> SqlResult<Option<Place>> {
        let place = self.places.place(&self.change.target, found)?;
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
        let Work::Update(_, waiting) = &mut self.work else { return Ok(()) };
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
        let Work::Update(update, waiting) = &mut self.work else { return Ok(()) };
        context.env.context.kill.check()?;
        let Waiting { rows, values, .. } = std::mem::take(waiting);
        let (target, snapshot) = (&self.change.target, update.snapshot.clone());
        let chunk = SegmentChunk::read(target, &snapshot, &rows, &update.columns)?;
        let keys = if update.changes_entries() { chunk.keys()? } else { Vec::new() };
        let strict = context.env.context.settings.sql_mode.is_strict() && !self.plan.ignore;
        for (at, (values, number)) in values.iter().enumerate() {
            let old = chunk.seen(context, at)?;
            let (env, parameters) = (context.env, context.parameters);
            let maker = RowMaker { target, env, parameters, strict, null_becomes_zero: !strict, null_waits: false };
            let updated = new_values(&maker, self.change, self.types, &old, values, *number).and_then(|updated| {
                if updated != old {
                    maker.check(&updated)?;
                }
                Ok(updated)
            });
            let done = updated.map_err(StoreError::Sql).and_then(|updated| match updated == old {
                true => Ok(()),
                false => update.put(context, &chunk, (at, keys.get(at).map(Vec::as_slice)), &updated),
            });
            is_passed_over(context, self.plan.ignore, done)?;
        }
        Ok(())
    }

    /// Ends the changes; gives how many segment rows are others now, or gone.
    pub fn finish(mut self, context: &mut DmlContext<'_>) -> StoreResult<u64> {
        self.change_waiting(context)?;
        let target = &self.change.target;
        match self.work {
            Work::Update(update, _) => update.finish(context),
            Work::Delete(mut change) => {
                for (segment, rows) in self.taken.iter().enumerate() {
                    delete_of_segment(context, target, &self.places.snapshot, (segment, rows), &mut change)?;
                }
                let deleted = change.rows();
                context.transaction.change_list(&target.table, change.finish())?;
                Ok(deleted)
            }
        }
    }
}
