//! Loading many rows at once, and building an index over rows that are there.
//!
//! Rows and entries are sorted outside of any transaction and become files of the table in one atomic step, beside the
//! log. Memory is bounded by the sort buffer, however many rows there are.

use crate::conflicts::Conflicts;
use crate::cursor::is_row_key;
use crate::error::{StoreError, StoreResult, corrupted, engine_error, io_error};
use crate::index_key::row_key_of_entry;
use crate::meta;
use crate::options::{LockWait, TableLock};
use crate::row::{Row, encode_row};
use crate::sorter::{Record, Sorted, Sorter};
use crate::store::{RowStore, SessionLocks};
use crate::table::Table;
use crate::validation::Keys;
use crate::{Direction, ValueRange};
use fjall::{PersistMode, Slice};
use rustc_hash::FxHashSet;
use squall_catalog::IndexId;
use squall_types::{ErrorCode, SqlError, SqlResult, Value};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::JoinHandle;

/// Rows that go to the encoder at a time.
const BATCH_ROWS: usize = 512;
/// Records that go from the merge to the table files at a time, and how many such batches may wait.
const BATCH_RECORDS: usize = 1024;
const BATCHES_AHEAD: usize = 4;

/// What happens to a row whose unique key is there already.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OnDuplicate {
    /// Nothing is loaded; the first such row's error is returned.
    Fail,
    /// The row is left out (IGNORE): rows that are there, and those that came earlier, stay.
    Skip,
}

/// What a bulk load has done.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BulkOutcome {
    /// Rows loaded.
    pub loaded: u64,
    /// Numbers of the rows left out, counted from 0 in the order in which they were pushed.
    pub skipped: Vec<u64>,
}

/// A load of many rows that become visible, and durable, all at once. Rows are encoded and sorted by a thread of its own
/// once there are many.
pub struct BulkLoad {
    store: RowStore,
    table: Arc<Table>,
    pushed: u64,
    batch: Vec<Vec<Value>>,
    encoding: Encoding,
}

/// Who encodes.
enum Encoding {
    /// Whoever pushes.
    Here(Encoder),
    /// A thread, which gives the encoder back when no more batches can come.
    There(SyncSender<Vec<Vec<Value>>>, JoinHandle<SqlResult<Encoder>>),
    /// Nobody any more: it has failed.
    Failed,
}

/// Makes sorted records of rows.
struct Encoder {
    table: Arc<Table>,
    sorter: Sorter,
    encoded: u64,
    /// Rows have come in the order of their keys so far, each key once.
    last_key: Vec<u8>,
    ascending: bool,
}

impl RowStore {
    /// Begins a bulk load. It is a statement of its own: it sees no transaction's writes and is in none.
    pub fn bulk_load(&self, table: &Arc<Table>) -> BulkLoad {
        let encoder =
            Encoder { table: table.clone(), sorter: self.sorter(), encoded: 0, last_key: Vec::new(), ascending: true };
        BulkLoad {
            store: self.clone(),
            table: table.clone(),
            pushed: 0,
            batch: Vec::new(),
            encoding: Encoding::Here(encoder),
        }
    }

    fn sorter(&self) -> Sorter {
        Sorter::new(&self.temporary_directory(), self.options().sort_buffer_bytes, self.gate().clone())
    }

    /// Fills an index of `table`'s definition from the rows that are there. The caller holds the table's exclusive lock
    /// and makes the definition the catalog's afterwards.
    pub fn build_index(&self, table: &Arc<Table>, index: IndexId) -> StoreResult<()> {
        let codec = table.index_codec(index)?;
        if codec.id == IndexId(0) {
            return Err(SqlError::internal("a primary key is built by copying the table").into());
        }
        // An earlier attempt that was cut short may have left entries.
        self.0.clear_range(&table.data, &codec.full_range())?;
        let mut sorter = self.sorter();
        let mut cursor = self.read_view().scan(table, &table.range(IndexId(0), ValueRange::ALL)?, Direction::Forward);
        let mut values = vec![Value::Null; table.def().columns.len()];
        let mut number = 0;
        while let Some(row) = cursor.next_row()? {
            let view = row.view(table);
            for part in &codec.parts {
                values[part.ordinal] = view.get_value(part.ordinal)?;
            }
            let entry = codec.entry(&values, &row.key)?;
            sorter.push(&entry.key, &entry.value, number)?;
            number += 1;
        }
        let sorted = sorter.finish()?;
        if codec.unique
            && let Some(loser) = Conflicts::find(table, &sorted, false)?.first_loser()
        {
            let row_key = row_key_of_entry(loser.key, loser.value).ok_or_else(|| corrupted(&table.def().name))?;
            let row = self.get(table, &row_key)?.ok_or_else(|| corrupted(&table.def().name))?;
            return Err(StoreError::duplicate(table, codec, &row.values(table)?, row_key));
        }
        self.ingest(table, &sorted, &FxHashSet::default())?;
        Ok(())
    }

    /// Makes sorted records files of the table, all at once, without those of some rows.
    fn ingest(&self, table: &Table, sorted: &Sorted, left_out: &FxHashSet<u64>) -> SqlResult<()> {
        self.gate().check_addition(sorted.bytes(), &table.def().name)?;
        let failed = |error| self.gate().files_failed(error);
        let mut ingestion = table.data.keyspace.start_ingestion().map_err(failed)?;
        let (sender, batches) = sync_channel::<Vec<(Slice, Slice)>>(BATCHES_AHEAD);
        // Merging runs and making table files of them take about the same time.
        let any = std::thread::scope(|scope| -> SqlResult<bool> {
            let merging = scope.spawn(move || merge_batches(sorted, left_out, &sender));
            let mut any = false;
            for (key, value) in batches.into_iter().flatten() {
                ingestion.write(key, value).map_err(failed)?;
                any = true;
            }
            merging.join().map_err(|_| SqlError::internal("a merge's thread has panicked"))??;
            Ok(any)
        })?;
        if !any {
            return Ok(());
        }
        let mut log = self.committer().log.lock();
        ingestion.finish().map_err(failed)?;
        let moment = self.0.db.snapshot();
        log.push(vec![(table.id(), Keys::All)]);
        log.applied(moment.seqno());
        drop(log);
        self.committer().show_or_sync(moment)
    }
}

impl Encoder {
    fn push(&mut self, values: &[Value]) -> SqlResult<()> {
        let table = &self.table;
        let key = table.place_row(values)?;
        let row = encode_row(&table.current_projection().layout, &key, values)?;
        self.sorter.push(&key, &row, self.encoded)?;
        for codec in table.secondary_codecs() {
            let entry = codec.entry(values, &key)?;
            self.sorter.push(&entry.key, &entry.value, self.encoded)?;
        }
        self.ascending &= self.last_key < key;
        self.last_key = key;
        self.encoded += 1;
        Ok(())
    }

    fn run(mut self, batches: &Receiver<Vec<Vec<Value>>>) -> SqlResult<Encoder> {
        for row in batches.iter().flatten() {
            self.push(&row)?;
        }
        Ok(self)
    }
}

impl BulkLoad {
    /// Adds a row: values of all columns in the order of the definition, of the columns' types. An error may be that of
    /// an earlier row; the load is over then.
    pub fn push(&mut self, values: Vec<Value>) -> SqlResult<()> {
        self.table.observe_auto_increment(&values);
        self.pushed += 1;
        self.batch.push(values);
        if self.batch.len() < BATCH_ROWS {
            return Ok(());
        }
        if let Encoding::Here(_) = self.encoding
            && let Encoding::Here(encoder) = std::mem::replace(&mut self.encoding, Encoding::Failed)
        {
            let (sender, batches) = sync_channel(BATCHES_AHEAD);
            let thread = std::thread::Builder::new().name("squall-load".into()).spawn(move || encoder.run(&batches));
            self.encoding = Encoding::There(sender, thread.map_err(|error| io_error(&error))?);
        }
        let batch = std::mem::replace(&mut self.batch, Vec::with_capacity(BATCH_ROWS));
        match &self.encoding {
            Encoding::There(sender, _) if sender.send(batch).is_ok() => Ok(()),
            _ => self.end_encoding().map(|_| ()),
        }
    }

    /// Encodes what is left and returns the encoder, or the error that has ended it before.
    fn end_encoding(&mut self) -> SqlResult<Encoder> {
        let rest = std::mem::take(&mut self.batch);
        let mut encoder = match std::mem::replace(&mut self.encoding, Encoding::Failed) {
            Encoding::Here(encoder) => encoder,
            Encoding::There(sender, thread) => {
                drop(sender);
                thread.join().map_err(|_| SqlError::internal("a load's thread has panicked"))??
            }
            Encoding::Failed => return Err(SqlError::internal("a bulk load that has failed goes on")),
        };
        rest.iter().try_for_each(|row| encoder.push(row))?;
        Ok(encoder)
    }

    /// Rows pushed so far.
    pub fn pushed(&self) -> u64 {
        self.pushed
    }

    /// Makes the rows the table's. Takes the table's exclusive lock for `session` for the time of the last step.
    pub fn finish(mut self, session: u64, wait: LockWait, on_duplicate: OnDuplicate) -> StoreResult<BulkOutcome> {
        let Encoder { sorter, ascending, .. } = self.end_encoding()?;
        let BulkLoad { store, table, pushed, .. } = self;
        let sorted = sorter.finish()?;
        let mut locks: SessionLocks = store.session_locks(session);
        locks.lock(table.id(), TableLock::Exclusive, wait)?;
        if table.is_retired() {
            return Err(SqlError::new(ErrorCode::DoesNotSupportSchemaChange, &[]).into());
        }
        let was_empty = table.data.keyspace.is_empty().map_err(engine_error)?;
        let unique_entries = table.secondary_codecs().iter().any(|codec| codec.unique);
        let mut outcome = BulkOutcome::default();
        let mut left_out = FxHashSet::default();
        if !(was_empty && ascending && !unique_entries) {
            let conflicts = Conflicts::find(&table, &sorted, !was_empty)?;
            if on_duplicate == OnDuplicate::Fail
                && let Some(loser) = conflicts.first_loser()
            {
                let row = row_of_number(&table, &sorted, loser.number)?;
                let codec = table.index_codec(loser.index)?;
                return Err(StoreError::duplicate(&table, codec, &row.values(&table)?, row.key.to_vec()));
            }
            left_out = conflicts.losers();
        }
        store.ingest(&table, &sorted, &left_out)?;
        outcome.loaded = pushed - left_out.len() as u64;
        outcome.skipped = left_out.into_iter().collect();
        outcome.skipped.sort_unstable();
        table.data.count_changes(outcome.loaded as i64, outcome.loaded);
        let next = table.data.auto_increment.load(Ordering::Relaxed);
        table.data.auto_increment_saved.fetch_max(next, Ordering::Relaxed);
        let mut batch = store.0.db.batch().durability(Some(PersistMode::SyncData));
        let counter = meta::table_key(meta::AUTO_INCREMENT, table.id());
        batch.insert(&store.0.meta, counter, table.data.auto_increment_saved.load(Ordering::Relaxed).to_le_bytes());
        // A plan that takes a large table for empty is a bad one, so the count does not wait for its turn.
        store.0.put_statistics(&mut batch, &table.data)?;
        store.0.write(batch)?;
        Ok(outcome)
    }
}

/// Hands sorted records on, without those of some rows, until nobody takes them any more.
fn merge_batches(
    sorted: &Sorted,
    left_out: &FxHashSet<u64>,
    sender: &SyncSender<Vec<(Slice, Slice)>>,
) -> SqlResult<()> {
    let mut merge = sorted.iter()?;
    let mut record = Record::default();
    let mut batch = Vec::with_capacity(BATCH_RECORDS);
    while merge.next_into(&mut record)? {
        if !left_out.is_empty() && left_out.contains(&record.number) {
            continue;
        }
        batch.push((Slice::new(&record.key), Slice::new(&record.value)));
        if batch.len() == BATCH_RECORDS {
            let full = std::mem::replace(&mut batch, Vec::with_capacity(BATCH_RECORDS));
            if sender.send(full).is_err() {
                return Ok(());
            }
        }
    }
    // Who has stopped taking has an error of its own.
    let _ = sender.send(batch);
    Ok(())
}

/// The row that was pushed with a number.
fn row_of_number(table: &Table, sorted: &Sorted, number: u64) -> SqlResult<Row> {
    let mut merge = sorted.iter()?;
    let mut record = Record::default();
    while merge.next_into(&mut record)? {
        if record.number == number && is_row_key(&record.key) {
            return Row::check(table, Slice::new(&record.key), Slice::new(&record.value));
        }
    }
    Err(corrupted(&table.def().name))
}
