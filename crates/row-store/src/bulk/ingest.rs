//! Writes sorted records to files of a table.

use super::EncodedRows;
use crate::batch::Batch;
use crate::engine::{AbstractTree, Slice};
use crate::error::io_error;
use crate::sorter::{Merge, Record, Sorted};
use crate::store::RowStore;
use crate::table::Table;
use crate::table::row::Row;
use crate::table::segment_level::{BlockKeys, ManifestEntry, SegmentBlock, SegmentRowWriter, SegmentSnapshot};
use crate::table_files::{FilePlan, MadeFile, TableFiles, add_files, check_order, for_ranges, parts_max, path_in};
use crate::table_part::TablePart;
use crate::validation::{CommitLog, Keys};
use rustc_hash::FxHashSet;
use squall_accounting::work_meter::carried;
use squall_types::{SqlError, SqlResult};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::JoinHandle;

/// Records that go from the merge to the table files at a time, and how many such batches may wait.
const BATCH_RECORDS: usize = 1024;
const BATCHES_AHEAD: usize = 4;
/// Encoded rows that may wait.
const BLOCKS_AHEAD: usize = 2;

/// Bytes of records that are worth one more thread.
const PART_BYTES_MIN: usize = 4 << 20;

/// A thread that makes files of rows while they come.
pub(super) struct Ingesting {
    /// `None` once it has been told to stop.
    sender: Option<SyncSender<Step>>,
    thread: Option<JoinHandle<SqlResult<()>>>,
}

enum Step {
    /// Rows, each behind those before.
    Rows(EncodedRows),
    /// Asks for the entries of the segments made so far. The next rows begin an order of their own.
    Tell(SyncSender<Vec<ManifestEntry>>),
    /// Removes rows by keys, and returns their numbers.
    LeaveOut(Vec<Vec<u8>>, SyncSender<Vec<u64>>),
    /// The records after all rows, or the records again with some removed. Then the files become the table's. The table's exclusive
    /// lock is held.
    End(Sorted, FxHashSet<u64>),
}

impl Ingesting {
    pub fn start(store: &RowStore, table: &Arc<Table>) -> SqlResult<Ingesting> {
        let (sender, steps) = sync_channel(BLOCKS_AHEAD);
        let (store, table) = (store.clone(), table.clone());
        let thread = std::thread::Builder::new()
            .name("squall-ingest".into())
            .spawn(carried(move || store.making_files(&table, |store| store.ingest_steps(&table, &steps))))
            .map_err(|error| io_error(&error))?;
        Ok(Ingesting { sender: Some(sender), thread: Some(thread) })
    }

    pub fn write(&mut self, rows: EncodedRows) -> SqlResult<()> {
        self.send(Step::Rows(rows))
    }

    /// The rows that have been made, of a table that is [ordered by levels](Table::is_ordered_by_levels). What comes next may have
    /// any keys but theirs.
    pub fn made(&mut self, table: &Table) -> SqlResult<Arc<dyn SegmentSnapshot>> {
        let list = self.ask(Step::Tell)?;
        let source = table.segment_source().ok_or_else(|| SqlError::internal("a table that cannot be sealed"))?;
        source.open(list)
    }

    /// Removes [finished rows](Ingesting::made) by their keys. Gives their numbers, counted from 0 in the order of input.
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
        // Its error is not reported any more.
        let _ = self.join();
    }
}

/// Takes a key and a value that are behind those before.
type Write<'w> = &'w mut dyn FnMut(Slice, Slice) -> SqlResult<()>;

/// What files become the table's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Ingested {
    /// Rows, with the entries of their indexes.
    Rows,
    /// Entries of an index that nobody reads yet.
    Entries,
}

/// Makes files of records.
enum Files<'t> {
    /// The engine's.
    Engine(Box<TableFiles<'t>>, Vec<MadeFile>),
    /// Those of the level below, for tables that have one, and no keys but that of the rows.
    Segments(Box<dyn SegmentRowWriter>),
}

impl<'t> Files<'t> {
    fn begin(plan: &'t FilePlan<'t>, table: &Arc<Table>) -> Files<'t> {
        match table.segment_source().filter(|_| table.secondary_codecs().is_empty()) {
            Some(source) => Files::Segments(source.clone().writer(table)),
            None => Files::Engine(Box::new(TableFiles::new(plan)), Vec::new()),
        }
    }

    fn write(&mut self, table: &Table, key: Slice, value: Slice) -> SqlResult<()> {
        match self {
            Files::Engine(files, _) => files.write(key, Some(value)),
            Files::Segments(writer) => writer.push(Row::check(table, key, value)?),
        }
    }

    /// Adds sorted records that are behind those before, without those of some rows.
    fn write_sorted(
        &mut self,
        plan: &FilePlan<'_>,
        table: &Arc<Table>,
        sorted: &Sorted,
        left_out: &FxHashSet<u64>,
    ) -> SqlResult<()> {
        match self {
            Files::Engine(_, made) => made.extend(files_of_sorted(plan, sorted, left_out)?),
            Files::Segments(_) => {
                write_sorted(sorted, left_out, &mut |key, value| self.write(table, key, value))?;
            }
        }
        Ok(())
    }

    fn write_block(&mut self, block: Box<dyn SegmentBlock>, keys: &BlockKeys) -> SqlResult<()> {
        match self {
            Files::Engine(..) => Err(SqlError::internal("rows of another form than the engine's")),
            Files::Segments(writer) => writer.push_block(block, keys),
        }
    }

    /// The entries for the rows so far.
    fn made(&mut self) -> SqlResult<Vec<ManifestEntry>> {
        match self {
            Files::Engine(..) => Err(SqlError::internal("files of the engine that are not complete")),
            Files::Segments(writer) => writer.finish(),
        }
    }

    fn leave_out(&mut self, keys: &[Vec<u8>]) -> SqlResult<Vec<u64>> {
        match self {
            Files::Engine(..) => Err(SqlError::internal("files of the engine that are not complete")),
            Files::Segments(writer) => writer.leave_out(keys),
        }
    }

    /// The files become the table's, and visible.
    fn finish(self, store: &RowStore, table: &Table, what: Ingested) -> SqlResult<()> {
        match self {
            Files::Engine(files, sorted) => {
                let mut made = files.finish()?;
                made.extend(sorted);
                store.end_ingestion(table, what, |_| match made.is_empty() {
                    true => Ok(()),
                    false => add_made(store, table, made),
                })
            }
            Files::Segments(mut writer) => {
                let list = writer.finish()?;
                let mut batch = Batch::default();
                for entry in list {
                    batch.insert(&table.data.keyspace, TablePart::Rows.manifest_key(&entry.name), entry.content);
                }
                let mut applied = false;
                let ended = store.end_ingestion(table, what, |log| {
                    store.committer().apply(log, batch)?;
                    applied = true;
                    Ok(())
                });
                if applied {
                    // Whatever the result of the sync: the log may have it when it is read again.
                    writer.keep();
                }
                ended
            }
        }
    }
}

impl RowStore {
    /// Makes sorted records files of the table, all at once, without those of some rows. The caller holds the table's
    /// exclusive lock, or the records are entries of an index that no definition has yet.
    pub(super) fn ingest(
        &self,
        table: &Arc<Table>,
        sorted: &Sorted,
        left_out: &FxHashSet<u64>,
        what: Ingested,
    ) -> SqlResult<()> {
        if sorted.is_empty() {
            return Ok(());
        }
        self.gate().check_addition(sorted.bytes(), &table.def().name)?;
        self.making_files(table, |store| {
            with_plan(store, table, |plan| {
                let mut files = Files::begin(plan, table);
                files.write_sorted(plan, table, sorted, left_out)?;
                files.finish(store, table, what)?;
                Ok(true)
            })
        })
    }

    /// Rows as they come, and behind them what has been sorted. Nothing happens if the end never comes.
    fn ingest_steps(&self, table: &Arc<Table>, steps: &Receiver<Step>) -> SqlResult<bool> {
        with_plan(self, table, |plan| self.ingest_planned(plan, table, steps))
    }

    fn ingest_planned(&self, plan: &FilePlan<'_>, table: &Arc<Table>, steps: &Receiver<Step>) -> SqlResult<bool> {
        let mut files = Files::begin(plan, table);
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
                        files.write(table, key, row)?;
                    }
                }
                Step::Tell(told) => {
                    // The asker has gone if the answer is not taken.
                    let _ = told.send(files.made()?);
                }
                Step::LeaveOut(keys, told) => {
                    let _ = told.send(files.leave_out(&keys)?);
                }
                Step::End(sorted, left_out) => {
                    self.gate().check_addition(sorted.bytes(), &table.def().name)?;
                    files.write_sorted(plan, table, &sorted, &left_out)?;
                    files.finish(self, table, Ingested::Rows)?;
                    return Ok(true);
                }
            }
        }
        Ok(false)
    }

    /// Files become the table's, and visible.
    fn end_ingestion(
        &self,
        table: &Table,
        what: Ingested,
        finish: impl FnOnce(&mut CommitLog) -> SqlResult<()>,
    ) -> SqlResult<()> {
        if what == Ingested::Entries {
            // Others may commit changes of rows until then.
            self.committer().empty_buffer(&table.data.keyspace);
        }
        let mut log = self.committer().log.lock();
        // The engine sends the table's buffer to a file before it takes the new ones.
        self.committer().sync()?;
        let snapshot = {
            // A reader of what is newest must not see half a list.
            let _moving = table.data.segment_level().map(|level| level.move_rows());
            finish(&mut log)?;
            if what == Ingested::Rows {
                table.data.vectors.note_all();
                table.data.logical.feed.reset();
            }
            let snapshot = self.0.db.snapshot();
            if let Some(level) = table.data.segment_level() {
                level.manifest_changed(snapshot.seqno());
            }
            snapshot
        };
        if what == Ingested::Rows {
            log.push(vec![(table.id(), Keys::All)]);
        }
        log.applied(snapshot.seqno());
        drop(log);
        self.committer().advance_or_sync(snapshot)
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

/// Calls `make` with the plan of a load's files.
fn with_plan<T>(store: &RowStore, table: &Table, make: impl FnOnce(&FilePlan<'_>) -> T) -> T {
    let keyspace = &table.data.keyspace;
    make(&FilePlan {
        keyspace,
        gate: store.gate(),
        is_looked_up: &|index| table.is_looked_up(index),
        path: &|id| path_in(keyspace, id),
    })
}

/// Makes the files of a load the table's. Nothing may be committed meanwhile.
fn add_made(store: &RowStore, table: &Table, made: Vec<MadeFile>) -> SqlResult<()> {
    check_order(&made)?;
    let files = made.into_iter().map(|file| (file.id, file.checksum));
    add_files(&store.0.db, &table.data.keyspace, files, None, || Ok(()))
        .map_err(|error| store.gate().files_failed(error))
}

/// Files of sorted records without those of some rows, in the order of their keys: each core merges and writes a range of
/// them.
fn files_of_sorted(plan: &FilePlan<'_>, sorted: &Sorted, left_out: &FxHashSet<u64>) -> SqlResult<Vec<MadeFile>> {
    let cuts = sorted.cuts(parts_max().min(sorted.bytes() / PART_BYTES_MIN + 1));
    let made = for_ranges(&cuts, |from, to| files_of_range(plan, sorted.within(from, to)?, left_out))?;
    Ok(made.into_iter().flatten().collect())
}

fn files_of_range(plan: &FilePlan<'_>, mut merge: Merge<'_>, left_out: &FxHashSet<u64>) -> SqlResult<Vec<MadeFile>> {
    let mut files = TableFiles::new(plan);
    let mut record = Record::default();
    // Entries of an index mostly have one value: how long their own parts are.
    let mut value = Slice::empty();
    while merge.next_into(&mut record)? {
        if !left_out.is_empty() && left_out.contains(&record.number) {
            continue;
        }
        if value[..] != record.value {
            value = Slice::new(&record.value);
        }
        files.write(Slice::new(&record.key), Some(value.clone()))?;
    }
    files.finish()
}

/// Hands sorted records over, without those of some rows; tells whether there were any.
fn write_sorted(sorted: &Sorted, left_out: &FxHashSet<u64>, write: Write<'_>) -> SqlResult<bool> {
    let (sender, batches) = sync_channel::<Vec<(Slice, Slice)>>(BATCHES_AHEAD);
    // Merging runs and making table files of them take about the same time.
    std::thread::scope(|scope| -> SqlResult<bool> {
        let merging = scope.spawn(carried(move || merge_batches(sorted, left_out, &sender)));
        let mut any = false;
        for (key, value) in batches.into_iter().flatten() {
            write(key, value)?;
            any = true;
        }
        merging.join().map_err(|_| SqlError::internal("a merge's thread has panicked"))??;
        Ok(any)
    })
}

/// Hands sorted records on, without those of some rows, until the receiver is gone.
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
    // A receiver that has stopped has an error of its own.
    let _ = sender.send(batch);
    Ok(())
}
