//! Loading many rows at once, and building indexes over existing rows.
//!
//! Each thread that makes rows has a [`BulkEncoder`], which encodes stored rows and index entries. Rows of a table without a primary
//! key come in the order of their keys, so a [`BulkWriter`] writes files of the table during the load. All other records are sorted,
//! and merged at the end. The files become part of the table in one atomic step, without the log. The sort buffer bounds the memory for
//! any number of rows.
//!
//! [`BulkLoad`] does all this for callers that make one row after the other.

mod encoder;
mod index;
pub(crate) use index::collect_entries;
mod ingest;
mod online_index;
mod partitioned;

use self::partitioned::PartitionedLoad;

pub use encoder::{BulkEncoder, EncodedRows};
pub use online_index::{CheckBuild, OnlineIndexBuild};

use crate::batch::Batch;
use crate::conflicts::Conflicts;
use crate::engine::Slice;
use crate::error::{StoreResult, corrupted, engine_error, io_error};
use crate::index_key::{Direction, KeyRange, LARGE_VALUES, index_range, is_row_key};
use crate::memory_reuse::MemoryKept;
use crate::options::{LockWait, TableLock};
use crate::sorter::{Record, Sorted, Sorter};
use crate::store::{RowStore, SessionLocks};
use crate::table::Table;
use crate::table::row::{Row, ValueRef};
use crate::table::segment_level::SegmentSnapshot;
use ingest::{Ingested, Ingesting};
use rustc_hash::FxHashSet;
use squall_accounting::work_meter::carried;
use squall_types::{ErrorCode, SqlError, SqlResult, Value};
use std::collections::BTreeMap;
use std::ops::Bound;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::JoinHandle;

/// Rows that go to the encoder at a time, and how many such batches may wait.
const BATCH_ROWS: usize = 512;
const BATCHES_AHEAD: usize = 4;

/// The treatment of a row whose unique key exists already.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OnDuplicate {
    /// Nothing is loaded; the first such row's error is returned.
    Fail,
    /// The row is left out (IGNORE): existing rows, and earlier rows of the load, stay.
    Skip,
    /// The same for this many rows; nothing is loaded if there are more.
    SkipAtMost(u64),
}

/// The result of a bulk load.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BulkOutcome {
    /// Rows loaded.
    pub loaded: u64,
    /// Numbers of the rows left out, as they were given to the encoder.
    pub skipped: Vec<u64>,
}

impl RowStore {
    /// Begins a bulk load. It is a statement of its own: it sees no transaction's writes and is in none. That of a table with partitions is not
    /// all or nothing: it is for tables that no catalog has yet.
    pub fn bulk_load(&self, table: &Arc<Table>) -> BulkLoad {
        if table.is_partitioned() {
            let load = PartitionedLoad::new(self, table);
            return BulkLoad { pushed: 0, batch: Vec::new(), encoding: Encoding::Partitioned(Box::new(load)) };
        }
        let writer = self.bulk_writer(table, 1);
        let encoder = Encoder { encoder: writer.encoder(), writer, encoded: 0 };
        BulkLoad { pushed: 0, batch: Vec::new(), encoding: Encoding::Here(Box::new(encoder)) }
    }

    /// Begins a bulk load whose rows are made by `threads` threads.
    pub fn bulk_writer(&self, table: &Arc<Table>, threads: usize) -> BulkWriter {
        BulkWriter {
            store: self.clone(),
            table: table.clone(),
            threads: threads.max(1),
            rows: 0,
            last_key: Vec::new(),
            ascending: true,
            ingesting: None,
            in_order: table.is_ordered_by_levels().then(|| Arc::new(AtomicBool::new(true))),
            first_key: Vec::new(),
            numbers: RowNumbers::default(),
            rest: None,
            _memory: self.0.memory_reuse.begin(),
        }
    }

    pub(crate) fn sorter(&self, threads: usize) -> Sorter {
        let budget = self.options().sort_buffer_bytes / threads.max(1);
        Sorter::new(&self.temporary_directory(), budget, self.gate().clone())
    }
}

/// The receiving end of a bulk load: takes the rows of many threads, in order. A writer that is dropped leaves nothing behind.
pub struct BulkWriter {
    store: RowStore,
    table: Arc<Table>,
    threads: usize,
    rows: u64,
    last_key: Vec<u8>,
    /// Rows have come in the order of their keys so far, each key once.
    ascending: bool,
    /// Makes files while rows come, if they come in order.
    ingesting: Option<Ingesting>,
    /// Of a table with a primary key whose rows may come in its order: whether they have done so far, each behind all rows that are
    /// there. Those that come when it is over are sorted.
    in_order: Option<Arc<AtomicBool>>,
    first_key: Vec<u8>,
    /// The numbers of the rows that came in order.
    numbers: RowNumbers,
    rest: Option<Sorter>,
    _memory: MemoryKept,
}

impl BulkWriter {
    /// The encoder of one thread.
    pub fn encoder(&self) -> BulkEncoder {
        BulkEncoder::new(self.store.clone(), self.table.clone(), self.store.sorter(self.threads), self.in_order.clone())
    }

    /// The counter of hidden row numbers.
    pub fn ids(&self) -> RowIds {
        RowIds(self.table.clone())
    }

    /// Rows taken so far.
    pub fn rows(&self) -> u64 {
        self.rows
    }

    /// Takes the next rows. An error may be that of earlier ones; the load is over then.
    pub fn write(&mut self, rows: EncodedRows) -> SqlResult<()> {
        if rows.count() == 0 {
            return Ok(());
        }
        if let Some(greatest) = rows.auto_increment() {
            self.table.data.logical.observe_auto_increment(greatest);
        }
        self.rows += rows.count();
        self.ascending &= rows.is_ascending() && self.last_key.as_slice() < rows.first_key();
        rows.last_key().clone_into(&mut self.last_key);
        if !rows.is_for_ingestion() {
            return Ok(());
        }
        if let Some(in_order) = &self.in_order {
            if self.ingesting.is_none() && in_order.load(Ordering::Acquire) {
                rows.first_key().clone_into(&mut self.first_key);
                self.ascending &= self.table.ends_before(&self.first_key)?;
            }
            if !self.ascending {
                in_order.store(false, Ordering::Release);
                return rows.sort_into(&self.table, self.rest.get_or_insert_with(|| self.store.sorter(self.threads)));
            }
        }
        rows.numbers().iter().for_each(|number| self.numbers.push(*number));
        if self.ingesting.is_none() {
            self.ingesting = Some(Ingesting::start(&self.store, &self.table)?);
        }
        match &mut self.ingesting {
            Some(ingesting) => ingesting.write(rows),
            None => Ok(()),
        }
    }

    /// Makes the rows the table's. Takes the table's exclusive lock for `session` for the time of the last step.
    pub fn finish(
        self,
        encoders: Vec<BulkEncoder>,
        session: u64,
        wait: LockWait,
        on_duplicate: OnDuplicate,
    ) -> StoreResult<BulkOutcome> {
        let BulkWriter {
            store,
            table,
            rows,
            ascending,
            mut ingesting,
            in_order,
            first_key,
            numbers,
            rest,
            _memory,
            ..
        } = self;
        let sorters = encoders.into_iter().map(BulkEncoder::into_sorter).chain(rest);
        let sorted = Sorter::finish_all(sorters.collect())?;
        let mut locks: SessionLocks = store.session_locks(session);
        locks.lock(table.id(), TableLock::Exclusive, wait)?;
        if table.is_retired() || table.is_outdated() {
            return Err(SqlError::new(ErrorCode::DoesNotSupportSchemaChange, &[]).into());
        }
        let was_empty = table.data.keyspace.is_empty().map_err(engine_error)?;
        let skipped_max = match on_duplicate {
            OnDuplicate::Fail => 0,
            OnDuplicate::Skip => u64::MAX,
            OnDuplicate::SkipAtMost(rows) => rows,
        };
        let mut outcome = BulkOutcome::default();
        let mut left_out = FxHashSet::default();
        // Rows that have come in order need no look, and are behind all others unless another session has put some there
        // meanwhile.
        let mut made = None;
        let needs_no_look = was_empty && ascending || table.has_hidden_row_id() || sorted.is_empty();
        let needs_a_look = table.has_unique_entries() || !needs_no_look;
        if let Some(ingesting) = ingesting.as_mut().filter(|_| in_order.is_some()) {
            let others_came = !table.ends_before(&first_key)?;
            if others_came || needs_a_look {
                made = Some(ingesting.made(&table)?);
            }
            if let Some(made) = made.as_deref().filter(|_| others_came) {
                let keys = keys_of_others(&store, &table, &first_key, made, skipped_max)?;
                for at in ingesting.leave_out(keys)? {
                    outcome.skipped.extend(numbers.get(at));
                }
            }
        }
        if needs_a_look {
            let conflicts = Conflicts::find(&table, &sorted, !was_empty, made.as_deref())?;
            left_out = conflicts.losers();
            if (left_out.len() + outcome.skipped.len()) as u64 > skipped_max
                && let Some(loser) = conflicts.first_loser()
            {
                let row = row_of_number(&table, &sorted, loser.number)?;
                let codec = table.index_codec(loser.index)?;
                return Err(table.duplicate(codec, (&row.values(&table)?, loser.key), row.key.to_vec()));
            }
        }
        // Before the rows: their files are durable beside the log, and it is synced before they are the table's.
        store.0.committer.save_counter(&table.data)?;
        match ingesting {
            Some(ingesting) => ingesting.finish(sorted, left_out.clone())?,
            None => store.ingest(&table, &sorted, &left_out, Ingested::Rows)?,
        }
        outcome.skipped.extend(left_out);
        outcome.loaded = rows - outcome.skipped.len() as u64;
        outcome.skipped.sort_unstable();
        table.data.count_changes(outcome.loaded as i64, outcome.loaded, 0);
        for level in table.data.segment_level().cloned().into_iter().chain(table.data.copy()) {
            level.source().note_changes(outcome.loaded);
        }
        let mut batch = Batch::default();
        // A plan that takes a large table for empty is a bad one, so the count is saved at once.
        store.0.put_statistics(&mut batch, &table.data)?;
        store.0.committer.write(batch, true)?;
        Ok(outcome)
    }
}

/// The keys of those rows that a load has made and others have put into the table meanwhile, from a key on: those of others stay.
///
/// # Errors
/// 1062 if they are more than may be left out.
fn keys_of_others(
    store: &RowStore,
    table: &Arc<Table>,
    first_key: &[u8],
    made: &dyn SegmentSnapshot,
    skipped_max: u64,
) -> StoreResult<Vec<Vec<u8>>> {
    let mut keys = Vec::new();
    let behind = KeyRange { start: Bound::Included(first_key.to_vec()), ..table.rows_codec().full_range() };
    let view = store.read_view();
    let mut cursor = view.scan(table, &behind, Direction::Forward);
    while let Some(row) = cursor.next_row()? {
        if made.get(table, row.key_bytes())?.is_none() {
            continue;
        }
        let key = row.key_bytes();
        if keys.len() as u64 == skipped_max {
            return Err(table.duplicate(table.rows_codec(), (&row.values(table)?, key), key.to_vec()));
        }
        keys.push(key.to_vec());
    }
    Ok(keys)
}

/// Numbers of rows, each greater than those before; most of them by one.
#[derive(Default)]
struct RowNumbers {
    count: u64,
    /// Where a number does not follow the one before: which of the rows, and its number.
    runs: Vec<(u64, u64)>,
}

impl RowNumbers {
    fn push(&mut self, number: u64) {
        if self.runs.last().is_none_or(|(at, first)| first + (self.count - at) != number) {
            self.runs.push((self.count, number));
        }
        self.count += 1;
    }

    /// The number of one of the rows, counted from 0.
    fn get(&self, row: u64) -> Option<u64> {
        let run = self.runs.partition_point(|(at, _)| *at <= row).checked_sub(1)?;
        let (at, first) = self.runs[run];
        (row < self.count).then_some(first + (row - at))
    }
}

/// Gives rows of a table without a primary key their hidden numbers.
pub struct RowIds(Arc<Table>);

impl RowIds {
    /// Numbers for the next `count` rows: the first of them.
    pub fn take(&self, count: u64) -> SqlResult<u64> {
        if self.0.has_hidden_row_id() { self.0.take_row_ids(count) } else { Ok(0) }
    }
}

/// A bulk load by one caller that has one row after the other. Rows are encoded and sorted by a thread of its own once
/// there are many.
pub struct BulkLoad {
    pushed: u64,
    batch: Vec<Vec<Value>>,
    encoding: Encoding,
}

/// The encoder: the caller or a thread.
enum Encoding {
    /// The session that pushes.
    Here(Box<Encoder>),
    /// That of a table with partitions.
    Partitioned(Box<PartitionedLoad>),
    /// A thread, which gives the encoder back when no more batches can come.
    There(SyncSender<Vec<Vec<Value>>>, JoinHandle<SqlResult<Box<Encoder>>>),
    /// No session any more: it has failed.
    Failed,
}

struct Encoder {
    encoder: BulkEncoder,
    writer: BulkWriter,
    encoded: u64,
}

impl Encoder {
    fn encode(&mut self, rows: &[Vec<Value>]) -> SqlResult<()> {
        let first_id = self.writer.ids().take(rows.len() as u64)?;
        for (at, row) in rows.iter().enumerate() {
            let values: Vec<ValueRef<'_>> = row.iter().map(ValueRef::from).collect();
            self.encoder.push(&values, self.encoded, first_id + at as u64)?;
            self.encoded += 1;
        }
        self.writer.write(self.encoder.take_rows())
    }

    fn run(mut self: Box<Self>, batches: &Receiver<Vec<Vec<Value>>>) -> SqlResult<Box<Self>> {
        for rows in batches {
            self.encode(&rows)?;
        }
        Ok(self)
    }
}

impl BulkLoad {
    /// Adds a row: values of all columns in the order of the definition, of the columns' types. An error may be that of
    /// an earlier row; the load is over then.
    pub fn push(&mut self, values: Vec<Value>) -> SqlResult<()> {
        self.pushed += 1;
        if let Encoding::Partitioned(load) = &mut self.encoding {
            return load.push(&values);
        }
        self.batch.push(values);
        if self.batch.len() < BATCH_ROWS {
            return Ok(());
        }
        if let Encoding::Here(_) = self.encoding
            && let Encoding::Here(encoder) = std::mem::replace(&mut self.encoding, Encoding::Failed)
        {
            let (sender, batches) = sync_channel(BATCHES_AHEAD);
            let thread =
                std::thread::Builder::new().name("squall-load".into()).spawn(carried(move || encoder.run(&batches)));
            self.encoding = Encoding::There(sender, thread.map_err(|error| io_error(&error))?);
        }
        let batch = std::mem::replace(&mut self.batch, Vec::with_capacity(BATCH_ROWS));
        match &self.encoding {
            Encoding::There(sender, _) if sender.send(batch).is_ok() => Ok(()),
            _ => self.end_encoding().map(|_| ()),
        }
    }

    /// Encodes what is left and returns the encoder, or the error that has ended it before.
    fn end_encoding(&mut self) -> SqlResult<Box<Encoder>> {
        let rest = std::mem::take(&mut self.batch);
        let mut encoder = match std::mem::replace(&mut self.encoding, Encoding::Failed) {
            Encoding::Here(encoder) => encoder,
            Encoding::There(sender, thread) => {
                drop(sender);
                thread.join().map_err(|_| SqlError::internal("a load's thread has panicked"))??
            }
            Encoding::Failed | Encoding::Partitioned(_) => {
                return Err(SqlError::internal("a bulk load that has failed goes on"));
            }
        };
        encoder.encode(&rest)?;
        Ok(encoder)
    }

    /// Rows pushed so far.
    pub fn pushed(&self) -> u64 {
        self.pushed
    }

    /// Makes the rows the table's. Takes the table's exclusive lock for `session` for the time of the last step. Rows
    /// are numbered from 0 in the order in which they were pushed.
    pub fn finish(mut self, session: u64, wait: LockWait, on_duplicate: OnDuplicate) -> StoreResult<BulkOutcome> {
        if matches!(self.encoding, Encoding::Partitioned(_))
            && let Encoding::Partitioned(load) = std::mem::replace(&mut self.encoding, Encoding::Failed)
        {
            return load.finish(on_duplicate);
        }
        let Encoder { encoder, writer, .. } = *self.end_encoding()?;
        writer.finish(vec![encoder], session, wait, on_duplicate)
    }
}

impl Drop for BulkLoad {
    /// A session that gives a load up finds nothing of it left.
    fn drop(&mut self) {
        if let Encoding::There(sender, thread) = std::mem::replace(&mut self.encoding, Encoding::Failed) {
            drop(sender);
            let _ = thread.join();
        }
    }
}

/// The row that was pushed with a number, with its large values.
fn row_of_number(table: &Table, sorted: &Sorted, number: u64) -> SqlResult<Row> {
    let mut merge = sorted.iter()?;
    let mut record = Record::default();
    let mut row = None;
    // Chunks lie behind all rows.
    let mut chunks = BTreeMap::new();
    while merge.next_into(&mut record)? {
        if record.number != number {
            continue;
        }
        if is_row_key(&record.key) {
            let found = Row::check(table, Slice::new(&record.key), Slice::new(&record.value))?;
            if !found.has_large_values() {
                return Ok(found);
            }
            row = Some(found);
        } else if index_range(LARGE_VALUES).contains(&record.key) {
            chunks.insert(record.key.clone(), Slice::new(&record.value));
        }
    }
    let row = row.ok_or_else(|| corrupted(&table.def().name))?;
    row.with_large_values(table, &|key| Ok(chunks.get(key).cloned()))
}
