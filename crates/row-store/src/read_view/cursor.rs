//! Scans: a snapshot's range merged with the transaction's own writes.

use super::ReadView;
use super::merged::{PartitionScan, PartitionScans};
use crate::engine::{Iter, Slice};
use crate::error::{corrupted, engine_error};
use crate::forward_scan::ForwardScan;
use crate::index_key::{Direction, KeyRange, is_row_key};
use crate::table::Table;
use crate::table::row::Row;
use crate::table::segment_level::{DELETED, Merged, SegmentLevel};
use crate::written::Change;
use squall_catalog::TableId;
use squall_types::{SqlError, SqlResult};
use std::collections::VecDeque;
use std::ops::Bound;
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// Own writes are fetched this many at a time, so that a scan that stops early costs little.
const OWN_BATCH: usize = 64;

/// Rows that a scan of an index leaves in the row cache: those of a short range are read again, those of a long one would
/// only push others out.
const KEPT_ROWS_MAX: u32 = 64;

/// A scan of a range of storage keys; of a table's rows, or of an index's entries.
pub struct Cursor {
    table: Arc<Table>,
    committed: Committed,
    next_committed: Option<(Slice, Slice)>,
    committed_done: bool,
    own: Option<OwnWrites>,
    direction: Direction,
    /// Rows of index entries are read in the same snapshot.
    view: ReadView,
    /// How many of them so far.
    rows_of_entries: u32,
    /// Of a table with partitions: all that there is.
    partitions: Option<Box<PartitionScans<Cursor>>>,
}

/// Committed entries.
enum Committed {
    /// Forward, as most scans are.
    Forward(ForwardScan),
    /// By the engine's own iterator.
    Engine(Iter),
    /// With the rows of segments.
    Merged(Box<Merged<Committed>>),
    /// Nothing, but this error if there is one.
    Ended(Option<SqlError>),
}

impl Committed {
    fn open(
        view: &ReadView,
        table: &Arc<Table>,
        range: &KeyRange,
        (start, end): (&Bound<Slice>, &Bound<Slice>),
        direction: Direction,
    ) -> Committed {
        let entries = Committed::open_entries(view, table, start, end, direction);
        let (Some(_), Bound::Included(key) | Bound::Excluded(key)) = (table.data.segment_level(), &range.start) else {
            return entries;
        };
        if !is_row_key(key) {
            return entries;
        }
        match view.segment_rows(table).and_then(|rows| rows.map(|rows| rows.scan(table, range, direction)).transpose())
        {
            Ok(Some(segments)) => Committed::Merged(Box::new(Merged::new(entries, segments, direction))),
            Ok(None) => entries,
            Err(error) => Committed::Ended(Some(error)),
        }
    }

    fn open_entries(
        view: &ReadView,
        table: &Table,
        start: &Bound<Slice>,
        end: &Bound<Slice>,
        direction: Direction,
    ) -> Committed {
        if direction == Direction::Forward {
            match ForwardScan::open(&table.data.keyspace, &table.data.files_seen, start, end, view.snapshot.seqno()) {
                Ok(Some(scan)) => return Committed::Forward(scan),
                Ok(None) => {}
                Err(error) => return Committed::Ended(Some(engine_error(error.into()))),
            }
        }
        Committed::Engine(view.snapshot.range(&table.data.keyspace, (start.clone(), end.clone())))
    }

    fn next(&mut self, direction: Direction) -> SqlResult<Option<(Slice, Slice)>> {
        match self {
            Committed::Forward(scan) => scan.next().map_err(|error| engine_error(error.into())),
            Committed::Engine(iter) => {
                let next = match direction {
                    Direction::Forward => iter.next(),
                    Direction::Backward => iter.next_back(),
                };
                next.map(|guard| guard.into_inner().map_err(engine_error)).transpose()
            }
            Committed::Merged(merged) => merged.next(|entries| entries.next(direction)),
            Committed::Ended(error) => error.take().map_or(Ok(None), Err),
        }
    }
}

/// 1412 for a sequence number at which the index of the range did not exist as it is now.
fn check_seqno(view: &ReadView, table: &Table, start: &Bound<Slice>) -> SqlResult<()> {
    let key: &[u8] = match start {
        Bound::Included(key) | Bound::Excluded(key) => key,
        Bound::Unbounded => &[],
    };
    table.check_seqno(key, view.snapshot.seqno())
}

struct OwnWrites {
    fetched: VecDeque<(Slice, Change)>,
    start: Bound<Slice>,
    end: Bound<Slice>,
    done: bool,
}

impl Cursor {
    pub(crate) fn open(view: &ReadView, table: &Arc<Table>, range: &KeyRange, direction: Direction) -> Cursor {
        if let Some(partitions) = table.partitions() {
            let cursors = partitions.iter().map(|partition| Cursor::open(view, partition, range, direction)).collect();
            let mut cursor = Self::of_committed(view, table, Committed::Ended(None), direction);
            cursor.partitions = Some(Box::new(PartitionScans::new(cursors, direction)));
            return cursor;
        }
        table.data.note_scan();
        // Bounds that cross are refused by the engine and by the maps of own writes.
        let empty = range.is_empty();
        let (start, end) = if empty { KeyRange::point(&[]).to_slices() } else { range.to_slices() };
        let committed = match (empty, check_seqno(view, table, &start)) {
            (true, _) => Committed::Ended(None),
            (false, Err(error)) => Committed::Ended(Some(error)),
            (false, Ok(())) => Committed::open(view, table, range, (&start, &end), direction),
        };
        Self::with_own_writes(view, table, committed, (start, end), direction)
    }

    /// The store's own entries of the range of a level's delta rows, for [`Cursor::next_change`].
    pub(crate) fn open_delta(
        view: &ReadView,
        table: &Arc<Table>,
        level: Option<&SegmentLevel>,
        range: &KeyRange,
    ) -> Cursor {
        let (start, end) = range.to_slices();
        let is_empty = level.is_some_and(|level| level.is_store_empty(&table.data.keyspace, view.snapshot.seqno()));
        let committed = match check_seqno(view, table, &start) {
            Ok(()) if is_empty => Committed::Ended(None),
            Ok(()) => Committed::open_entries(view, table, &start, &end, Direction::Forward),
            Err(error) => Committed::Ended(Some(error)),
        };
        Self::with_own_writes(view, table, committed, (start, end), Direction::Forward)
    }

    fn with_own_writes(
        view: &ReadView,
        table: &Arc<Table>,
        committed: Committed,
        (start, end): (Bound<Slice>, Bound<Slice>),
        direction: Direction,
    ) -> Cursor {
        let own = view
            .own
            .as_ref()
            .filter(|own| own.any.load(Ordering::Acquire) && own.writes.read().touches(table.storage_id()))
            .map(|_| OwnWrites { fetched: VecDeque::new(), start, end, done: false });
        Cursor { own, ..Self::of_committed(view, table, committed, direction) }
    }

    fn of_committed(view: &ReadView, table: &Arc<Table>, committed: Committed, direction: Direction) -> Cursor {
        Cursor {
            table: table.clone(),
            committed,
            next_committed: None,
            committed_done: false,
            own: None,
            direction,
            view: view.clone(),
            rows_of_entries: 0,
            partitions: None,
        }
    }

    /// The table scanned.
    pub fn table(&self) -> &Arc<Table> {
        &self.table
    }

    /// The table, or the one partition of it, that the last record came from.
    pub(crate) fn last_table(&self) -> &Arc<Table> {
        self.partitions.as_ref().and_then(|partitions| partitions.last()).map_or(&self.table, |scan| &scan.table)
    }

    /// The next key and value.
    pub(crate) fn next_pair(&mut self) -> SqlResult<Option<(Slice, Slice)>> {
        if let Some(partitions) = &mut self.partitions {
            return partitions.next_pair();
        }
        // What most scans are: nothing of the transaction's own to be put in between.
        if self.own.is_none() {
            return self.committed.next(self.direction);
        }
        while let Some((key, change)) = self.next_change()? {
            if let Some(value) = change {
                return Ok(Some((key, value)));
            }
        }
        Ok(None)
    }

    /// The next key with its value, or with `None` if the transaction has deleted it or the store hides a segment row by it.
    pub(crate) fn next_change(&mut self) -> SqlResult<Option<(Slice, Change)>> {
        let as_change = |(key, value): (Slice, Slice)| (key, (*value != DELETED).then_some(value));
        self.fill_committed()?;
        let Some(own) = &mut self.own else { return Ok(self.next_committed.take().map(as_change)) };
        own.fill(&self.view, self.table.storage_id(), self.direction)?;
        let Some((own_key, _)) = own.fetched.front() else { return Ok(self.next_committed.take().map(as_change)) };
        if let Some((key, _)) = &self.next_committed {
            let committed_first = match self.direction {
                Direction::Forward => key < own_key,
                Direction::Backward => key > own_key,
            };
            if committed_first {
                return Ok(self.next_committed.take().map(as_change));
            }
            if key == own_key {
                self.next_committed = None;
            }
        }
        Ok(own.fetched.pop_front())
    }

    fn fill_committed(&mut self) -> SqlResult<()> {
        if self.next_committed.is_none() && !self.committed_done {
            self.next_committed = self.committed.next(self.direction)?;
            self.committed_done = self.next_committed.is_none();
        }
        Ok(())
    }

    /// The next row; for a range of an index, the row that the next entry stands for.
    pub fn next_row(&mut self) -> SqlResult<Option<Row>> {
        let Some((key, value)) = self.next_pair()? else { return Ok(None) };
        if is_row_key(&key) {
            return self.view.row(self.last_table(), key, value).map(Some);
        }
        self.rows_of_entries = self.rows_of_entries.saturating_add(1);
        let keep = self.rows_of_entries <= KEPT_ROWS_MAX;
        self.view.row_of_entry(self.last_table(), &key, &value, keep).map(Some)
    }

    /// The next entry of an index without its row.
    pub fn next_entry(&mut self) -> SqlResult<Option<IndexEntry>> {
        Ok(self.next_pair()?.map(|(key, value)| IndexEntry { key, value }))
    }

    /// Appends up to `limit` rows; `false` when the range is at its end.
    pub fn next_batch(&mut self, limit: usize, rows: &mut Vec<Row>) -> SqlResult<bool> {
        for _ in 0..limit {
            match self.next_row()? {
                Some(row) => rows.push(row),
                None => return Ok(false),
            }
        }
        Ok(true)
    }
}

impl PartitionScan for Cursor {
    fn next_pair(&mut self) -> SqlResult<Option<(Slice, Slice)>> {
        Cursor::next_pair(self)
    }
}

impl OwnWrites {
    fn fill(&mut self, view: &ReadView, table: TableId, direction: Direction) -> SqlResult<()> {
        if !self.fetched.is_empty() || self.done {
            return Ok(());
        }
        let Some(own) = &view.own else { return Ok(()) };
        let backward = direction == Direction::Backward;
        let bounds = (as_ref(&self.start), as_ref(&self.end));
        let batch = own.range(table, bounds, backward, view.step, OWN_BATCH)?.unwrap_or_default();
        self.done = batch.len() < OWN_BATCH;
        if let Some(last) = batch.last() {
            let rest = Bound::Excluded(last.key.clone());
            *(if backward { &mut self.end } else { &mut self.start }) = rest;
            // What is left is empty, and the map refuses two equal excluded bounds.
            if let (Bound::Excluded(start) | Bound::Included(start), Bound::Excluded(end) | Bound::Included(end)) =
                (&self.start, &self.end)
            {
                self.done |= start >= end;
            }
        }
        self.fetched = batch.into_iter().map(|written| (written.key, written.change)).collect();
        Ok(())
    }
}

fn as_ref(bound: &Bound<Slice>) -> Bound<&[u8]> {
    match bound {
        Bound::Included(key) => Bound::Included(key),
        Bound::Excluded(key) => Bound::Excluded(key),
        Bound::Unbounded => Bound::Unbounded,
    }
}

/// An index entry.
#[derive(Clone, Debug)]
pub struct IndexEntry {
    pub(crate) key: Slice,
    pub(crate) value: Slice,
}

impl IndexEntry {
    /// The storage key, for [`Table::decode_key`].
    pub fn key(&self) -> &[u8] {
        &self.key
    }

    /// The term of an entry of an index of terms.
    pub fn term(&self) -> SqlResult<&[u8]> {
        let own = crate::index_key::own_parts(&self.key, &self.value);
        own.ok_or_else(|| SqlError::internal("an entry without parts of its own"))
    }

    /// Where the row lies.
    pub fn row_key(&self, table: &Table) -> SqlResult<Vec<u8>> {
        crate::index_key::row_key_of_entry(&self.key, &self.value).ok_or_else(|| corrupted(&table.def().name))
    }
}
