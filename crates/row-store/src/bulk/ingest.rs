//! Sorted records become files of a table.

use super::{BlockKeys, EncodedRows};
use crate::batch::Batch;
use crate::error::io_error;
use crate::level_keys::LevelKeys;
use crate::row::Row;
use crate::sealed::{ListEntry, SealedBlock, SealedRows, SealedWriter};
use crate::sorter::{Record, Sorted};
use crate::store::RowStore;
use crate::table::Table;
use crate::validation::{CommitLog, Keys};
use fjall::{AbstractTree, Slice};
use rustc_hash::FxHashSet;
use squall_types::{SqlError, SqlResult};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::JoinHandle;

/// Records that go from the merge to the table files at a time, and how many such batches may wait.
const BATCH_RECORDS: usize = 1024;
const BATCHES_AHEAD: usize = 4;
/// Encoded rows that may wait.
const BLOCKS_AHEAD: usize = 2;

/// A thread that makes files of rows while they come.
pub(super) struct Ingesting {
    /// `None` once it has been told to stop.
    sender: Option<SyncSender<Step>>,
    thread: Option<JoinHandle<SqlResult<()>>>,
}

enum Step {
    /// Rows, each behind those before.
    Rows(EncodedRows),
    /// What has been made so far is to be told, as entries of the list. What comes next is in an order of its own.
    Tell(SyncSender<Vec<ListEntry>>),
    /// Rows of what has been told are left out; which ones they were is to be told.
    LeaveOut(Vec<Vec<u8>>, SyncSender<Vec<u64>>),
    /// What comes behind all rows, or has been told to begin anew, without some of it; then the files become the table's. The
    /// table's exclusive lock is held.
    End(Sorted, FxHashSet<u64>),
}

impl Ingesting {
    pub fn start(store: &RowStore, table: &Arc<Table>) -> SqlResult<Ingesting> {
        let (sender, steps) = sync_channel(BLOCKS_AHEAD);
        let (store, table) = (store.clone(), table.clone());
        let thread = std::thread::Builder::new()
            .name("squall-ingest".into())
            .spawn(move || store.making_files(&table, |store| store.ingest_steps(&table, &steps)))
            .map_err(|error| io_error(&error))?;
        Ok(Ingesting { sender: Some(sender), thread: Some(thread) })
    }

    pub fn write(&mut self, rows: EncodedRows) -> SqlResult<()> {
        self.send(Step::Rows(rows))
    }

    /// The rows that have been made, of a table that is [ordered by levels](Table::is_ordered_by_levels). What comes next may have
    /// any keys but theirs.
    pub fn made(&mut self, table: &Table) -> SqlResult<Arc<dyn SealedRows>> {
        let list = self.ask(Step::Tell)?;
        let source = table.sealed_source().ok_or_else(|| SqlError::internal("a table that cannot be sealed"))?;
        source.open(list)
    }

    /// Leaves rows out of [those that have been made](Ingesting::made), by their keys; tells which ones they were, counted from 0 in the
    /// order that they came.
    pub fn leave_out(&mut self, keys: Vec<Vec<u8>>) -> SqlResult<Vec<u64>> {
        self.ask(|sender| Step::LeaveOut(keys, sender))
    }

    fn ask<T>(&mut self, step: impl FnOnce(SyncSender<T>) -> Step) -> SqlResult<T> {
        let (sender, told) = sync_channel(1);
        self.send(step(sender))?;
        match told.recv() {
            Ok(answer) => Ok(answer),
            Err(_) => self.join().and_then(|()| Err(SqlError::internal("files of a load have ended before it"))),
        }
    }

    /// Waits until the files are the table's.
    pub fn finish(mut self, sorted: Sorted, left_out: FxHashSet<u64>) -> SqlResult<()> {
        self.send(Step::End(sorted, left_out))?;
        self.join()
    }

    fn send(&mut self, step: Step) -> SqlResult<()> {
        match &self.sender {
            Some(sender) if sender.send(step).is_ok() => Ok(()),
            // The thread has ended by an error.
            _ => self.join().and_then(|()| Err(SqlError::internal("files of a load have ended before it"))),
        }
    }

    fn join(&mut self) -> SqlResult<()> {
        self.sender = None;
        match self.thread.take().map(JoinHandle::join) {
            Some(Ok(result)) => result,
            Some(Err(_)) => Err(SqlError::internal("a load's thread has panicked")),
            None => Ok(()),
        }
    }
}

impl Drop for Ingesting {
    fn drop(&mut self) {
        // Its error is nobody's any more.
        let _ = self.join();
    }
}

/// Takes a key and a value that are behind those before.
type Write<'w> = &'w mut dyn FnMut(Slice, Slice) -> SqlResult<()>;

/// Takes the engine's records, and at the end `None`. The engine's own type has no name outside of it.
type EngineFiles<'t> = Box<dyn FnMut(Option<(Slice, Slice)>) -> fjall::Result<()> + 't>;

/// What files are made of records.
enum Files<'t> {
    /// The engine's.
    Engine(EngineFiles<'t>),
    /// Those of the level below, for tables that have one, and no keys but that of the rows.
    Sealed(Box<dyn SealedWriter>),
}

impl<'t> Files<'t> {
    fn begin(store: &RowStore, table: &'t Arc<Table>) -> SqlResult<Files<'t>> {
        match table.sealed_source().filter(|_| table.secondary_codecs().is_empty()) {
            Some(source) => Ok(Files::Sealed(source.clone().writer(table))),
            None => {
                let failed = |error| store.gate().files_failed(error);
                let mut ingestion = Some(table.data.keyspace.start_ingestion().map_err(failed)?);
                Ok(Files::Engine(Box::new(move |record| match record {
                    Some((key, value)) => ingestion.as_mut().map_or(Ok(()), |ingestion| ingestion.write(key, value)),
                    None => ingestion.take().map_or(Ok(()), |ingestion| ingestion.finish()),
                })))
            }
        }
    }

    fn write(&mut self, store: &RowStore, table: &Table, key: Slice, value: Slice) -> SqlResult<()> {
        match self {
            Files::Engine(files) => files(Some((key, value))).map_err(|error| store.gate().files_failed(error)),
            Files::Sealed(writer) => writer.push(Row::check(table, key, value)?),
        }
    }

    fn write_block(&mut self, block: Box<dyn SealedBlock>, keys: &BlockKeys) -> SqlResult<()> {
        match self {
            Files::Engine(_) => Err(SqlError::internal("rows of another form than the engine's")),
            Files::Sealed(writer) => writer.push_block(block, keys),
        }
    }

    /// What stands for the rows so far.
    fn made(&mut self) -> SqlResult<Vec<ListEntry>> {
        match self {
            Files::Engine(_) => Err(SqlError::internal("files of the engine that are not complete")),
            Files::Sealed(writer) => writer.finish(),
        }
    }

    fn leave_out(&mut self, keys: &[Vec<u8>]) -> SqlResult<Vec<u64>> {
        match self {
            Files::Engine(_) => Err(SqlError::internal("files of the engine that are not complete")),
            Files::Sealed(writer) => writer.leave_out(keys),
        }
    }

    /// The files become the table's, and visible.
    fn finish(self, store: &RowStore, table: &Table) -> SqlResult<()> {
        match self {
            Files::Engine(mut files) => {
                store.end_ingestion(table, |_| files(None).map_err(|error| store.gate().files_failed(error)))
            }
            Files::Sealed(mut writer) => {
                let list = writer.finish()?;
                let mut batch = Batch::default();
                for entry in list {
                    batch.insert(&table.data.keyspace, LevelKeys::Rows.list_key(&entry.name), entry.content);
                }
                let mut applied = false;
                let ended = store.end_ingestion(table, |log| {
                    store.committer().apply(log, batch)?;
                    applied = true;
                    Ok(())
                });
                if applied {
                    // Whatever becomes of the sync: the log may have it when it is read again.
                    writer.keep();
                }
                ended
            }
        }
    }
}

impl RowStore {
    /// Makes sorted records files of the table, all at once, without those of some rows. The caller holds the table's
    /// exclusive lock.
    pub(super) fn ingest(&self, table: &Arc<Table>, sorted: &Sorted, left_out: &FxHashSet<u64>) -> SqlResult<()> {
        self.gate().check_addition(sorted.bytes(), &table.def().name)?;
        self.making_files(table, |store| {
            let mut files = Files::begin(store, table)?;
            let any = write_sorted(sorted, left_out, &mut |key, value| files.write(store, table, key, value))?;
            if any {
                files.finish(store, table)?;
            }
            Ok(any)
        })
    }

    /// Rows as they come, and behind them what has been sorted. Nothing happens if the end never comes.
    fn ingest_steps(&self, table: &Arc<Table>, steps: &Receiver<Step>) -> SqlResult<bool> {
        let mut files = Files::begin(self, table)?;
        for step in steps {
            match step {
                Step::Rows(mut rows) => {
                    self.gate().check_addition(rows.bytes(), &table.def().name)?;
                    self.gate().count(rows.bytes() as u64);
                    if let Some((block, keys)) = rows.take_block() {
                        files.write_block(block, &keys)?;
                        continue;
                    }
                    for (key, row) in rows.into_records() {
                        files.write(self, table, key, row)?;
                    }
                }
                Step::Tell(told) => {
                    // Who has asked has gone if nobody takes it.
                    let _ = told.send(files.made()?);
                }
                Step::LeaveOut(keys, told) => {
                    let _ = told.send(files.leave_out(&keys)?);
                }
                Step::End(sorted, left_out) => {
                    self.gate().check_addition(sorted.bytes(), &table.def().name)?;
                    write_sorted(&sorted, &left_out, &mut |key, value| files.write(self, table, key, value))?;
                    files.finish(self, table)?;
                    return Ok(true);
                }
            }
        }
        Ok(false)
    }

    /// Files become the table's, and visible.
    fn end_ingestion(&self, table: &Table, finish: impl FnOnce(&mut CommitLog) -> SqlResult<()>) -> SqlResult<()> {
        let mut log = self.committer().log.lock();
        // The engine sends the table's buffer to a file before it takes the new ones.
        self.committer().sync()?;
        let moment = {
            // Whoever reads what is newest must not see half a list.
            let _moving = table.data.sealed().map(|level| level.move_rows());
            finish(&mut log)?;
            let moment = self.0.db.snapshot();
            if let Some(level) = table.data.sealed() {
                level.list_changed(moment.seqno());
            }
            moment
        };
        log.push(vec![(table.id(), Keys::All)]);
        log.applied(moment.seqno());
        drop(log);
        self.committer().show_or_sync(moment)
    }

    /// Does something that makes files and tells whether they have become the table's; if not, they go away again.
    fn making_files(&self, table: &Table, make: impl FnOnce(&RowStore) -> SqlResult<bool>) -> SqlResult<()> {
        let data = &table.data;
        let first = {
            let mut unused = data.unused_files.lock();
            unused.makers += 1;
            data.keyspace.tree.next_table_id()
        };
        let made = make(self);
        let mut unused = data.unused_files.lock();
        unused.makers -= 1;
        if !matches!(made, Ok(true)) {
            unused.suspects.push(first..data.keyspace.tree.next_table_id());
            unused.remove(&self.0.db, &data.keyspace);
        }
        made.map(|_| ())
    }
}

/// Merged records on their way to the thread that makes files of them: that one makes what the engine takes of each, so that it is also the
/// one that frees it.
#[derive(Default)]
struct MergedRecords {
    bytes: Vec<u8>,
    /// Where each key ends, and its value behind it.
    ends: Vec<(usize, usize)>,
}

impl MergedRecords {
    fn push(&mut self, record: &Record) {
        self.bytes.extend_from_slice(&record.key);
        let key_end = self.bytes.len();
        self.bytes.extend_from_slice(&record.value);
        self.ends.push((key_end, self.bytes.len()));
    }

    fn is_full(&self) -> bool {
        self.ends.len() == BATCH_RECORDS
    }
}

/// Hands sorted records over, without those of some rows; tells whether there were any.
fn write_sorted(sorted: &Sorted, left_out: &FxHashSet<u64>, write: Write<'_>) -> SqlResult<bool> {
    let (sender, batches) = sync_channel::<MergedRecords>(BATCHES_AHEAD);
    // Merging runs and making table files of them take about the same time.
    std::thread::scope(|scope| -> SqlResult<bool> {
        let merging = scope.spawn(move || merge_batches(sorted, left_out, &sender));
        let mut any = false;
        // Entries of an index mostly have one value: how long the entry's own parts are.
        let mut last_value = Slice::empty();
        for MergedRecords { bytes, ends } in batches {
            let mut start = 0;
            for (key_end, end) in ends {
                let (key, value) = (&bytes[start..key_end], &bytes[key_end..end]);
                if last_value != value {
                    last_value = Slice::new(value);
                }
                write(Slice::new(key), last_value.clone())?;
                any = true;
                start = end;
            }
        }
        merging.join().map_err(|_| SqlError::internal("a merge's thread has panicked"))??;
        Ok(any)
    })
}

/// Hands sorted records on, without those of some rows, until nobody takes them any more.
fn merge_batches(sorted: &Sorted, left_out: &FxHashSet<u64>, sender: &SyncSender<MergedRecords>) -> SqlResult<()> {
    let mut merge = sorted.iter()?;
    let mut record = Record::default();
    let mut batch = MergedRecords::default();
    while merge.next_into(&mut record)? {
        if !left_out.is_empty() && left_out.contains(&record.number) {
            continue;
        }
        batch.push(&record);
        if batch.is_full() {
            let bytes = Vec::with_capacity(batch.bytes.len());
            let next = MergedRecords { bytes, ends: Vec::with_capacity(BATCH_RECORDS) };
            if sender.send(std::mem::replace(&mut batch, next)).is_err() {
                return Ok(());
            }
        }
    }
    // Who has stopped taking has an error of its own.
    let _ = sender.send(batch);
    Ok(())
}
