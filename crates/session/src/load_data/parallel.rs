//! A bulk load on all cores: one thread splits the text into blocks of rows, and several threads make stored rows. Rows, warnings and
//! the first error keep the order of the text.

use super::convert::DirectRow;
use super::reader::{LineReader, Row, Rows};
use super::rows::row_values;
use super::split::{Block, BlockRows, Splitter};
use super::text::{LoadContext, Text};
use super::{Load, Loaded, Target};
use parking_lot::{Condvar, Mutex};
use squall_accounting::work_meter::carried;
use squall_executor::StatementEnv;
use squall_planner::dml::{LoadedRow, RowLoader};
use squall_row_store::{BulkEncoder, BulkWriter, EncodedRows, OnDuplicate};
use squall_statement_context::{Diagnostics, TableOperation};
use squall_types::{ErrorCode, SqlError, SqlResult};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::sync::mpsc::{Receiver, Sender, channel};

/// Threads that make rows, at most.
const THREADS_MAX: usize = 16;
/// Blocks for each of them that may be under way.
const BLOCKS_PER_THREAD: usize = 3;
/// Rows after which a thread looks whether the statement is still wanted.
const ROWS_PER_CHECK: usize = 256;

/// A block on its way to a thread.
struct Task {
    index: u64,
    block: Block,
    /// Hidden numbers and AUTO_INCREMENT values of the rows: the first ones.
    first_row_id: u64,
    first_id: u64,
}

/// A block whose rows are made.
struct Done {
    index: u64,
    count: u64,
    rows: EncodedRows,
    left_out: u64,
    /// The errors of the rejected rows.
    rejected: Vec<SqlError>,
    generated_id: Option<u64>,
    said: Diagnostics,
    result: SqlResult<()>,
}

/// Which block is the first that has not been taken yet.
#[derive(Default)]
struct Turn {
    next: Mutex<Option<u64>>,
    changed: Condvar,
}

impl Turn {
    /// Waits until all blocks before one have been taken; `false` if that will not happen any more.
    fn wait_for(&self, index: u64) -> bool {
        let mut next = self.next.lock();
        loop {
            match *next {
                Some(at) if at < index => self.changed.wait(&mut next),
                Some(_) => return true,
                None => return false,
            }
        }
    }

    fn set(&self, next: Option<u64>) {
        *self.next.lock() = next;
        self.changed.notify_all();
    }
}

/// Everything that the threads share.
struct Shared<'l> {
    load: &'l Load,
    loading: &'l LoadContext,
    env: &'l StatementEnv,
    direct: Option<DirectRow>,
    turn: Turn,
    tasks: Mutex<Receiver<Task>>,
}

/// Loads text into a table, all of it or nothing.
pub(super) fn load_in_parallel(
    loading: &LoadContext,
    env: &StatementEnv,
    load: &Load,
    text: Text,
) -> SqlResult<Loaded> {
    // What a row assigns to variables, the next one may read.
    let in_turn =
        !load.assignments.is_empty() || load.targets.iter().any(|target| matches!(target, Target::Variable(_)));
    let cores = std::thread::available_parallelism().map_or(2, usize::from);
    let threads = if in_turn { 1 } else { cores.clamp(1, THREADS_MAX) };
    let writer = loading.change.shared.store.bulk_writer(&load.plan.target.table, threads);
    // Permits bound what waits in any of the channels.
    let (task_sender, tasks) = channel();
    let direct = if in_turn { None } else { direct_row(loading, load) };
    let shared = Shared { load, loading, env, direct, turn: Turn::default(), tasks: Mutex::new(tasks) };
    shared.turn.set(Some(0));
    let (done_sender, done) = channel();
    let (permit_sender, permits) = channel();
    for _ in 0..threads * BLOCKS_PER_THREAD {
        let _ = permit_sender.send(());
    }
    let mut taking = Taking { writer, loaded: Loaded::default(), left_out: 0, rejected: 0 };
    let encoders = std::thread::scope(|scope| -> SqlResult<Vec<BulkEncoder>> {
        let shared = &shared;
        let (id_writer, workers_done) = (taking.writer.ids(), done_sender.clone());
        let splitting = scope.spawn(carried(move || split(shared, text, &id_writer, &task_sender, &permits)));
        let workers: Vec<_> = (0..threads)
            .map(|_| {
                let (mut worker, done) = (Worker::new(shared, taking.writer.encoder()), workers_done.clone());
                scope.spawn(carried(move || {
                    worker.run(&done);
                    worker
                }))
            })
            .collect();
        drop((done_sender, workers_done));
        let taken = taking.take_all(shared, &done, &permit_sender);
        // A task that still waits for something need not any more.
        shared.turn.set(None);
        drop((done, permit_sender));
        let split = splitting.join().map_err(|_| SqlError::internal("a load's thread has panicked"))?;
        let mut encoders = Vec::with_capacity(threads);
        for worker in workers {
            let worker = worker.join().map_err(|_| SqlError::internal("a load's thread has panicked"))?;
            if in_turn {
                let context = &worker.loader.env.context;
                let id = context.last_insert_id.load(Ordering::Relaxed);
                loading.change.context.last_insert_id.store(id, Ordering::Relaxed);
            }
            encoders.push(worker.encoder);
        }
        taken.and(split)?;
        Ok(encoders)
    })?;
    loading.change.context.kill.check()?;
    let Taking { writer, mut loaded, left_out, rejected } = taking;
    let on_duplicate = match load.reject_limit {
        Some(limit) => OnDuplicate::SkipAtMost(limit - rejected),
        None if load.ignore => OnDuplicate::Skip,
        None => OnDuplicate::Fail,
    };
    let outcome = writer
        .finish(encoders, loading.session, loading.change.options.lock_wait, on_duplicate)
        .map_err(SqlError::from)?;
    loaded.skipped = left_out + rejected + outcome.skipped.len() as u64;
    let def = load.plan.target.def();
    let stored = loaded.records.saturating_sub(loaded.skipped);
    loading.change.context.table_uses.note(def.id, None, TableOperation::Insert, stored, None);
    let table = &def.name;
    for row in outcome.skipped {
        let message = match load.reject_limit {
            Some(_) => format!("Row {} rejected: Duplicate entry for a key of table '{table}'", row + 1),
            None => format!("Duplicate entry in row {} for key of table '{table}'", row + 1),
        };
        loading.change.context.diagnostics.warn(SqlError::with_message(ErrorCode::DuplicateEntry, message));
    }
    Ok(loaded)
}

fn direct_row(loading: &LoadContext, load: &Load) -> Option<DirectRow> {
    if !load.ways.direct {
        return None;
    }
    let columns: Vec<usize> = load
        .targets
        .iter()
        .filter_map(|target| match target {
            Target::Column { position, .. } => Some(load.plan.columns[*position]),
            Target::Variable(_) => None,
        })
        .collect();
    DirectRow::new(&load.plan, &columns, load.charset, loading.change.options.auto_increment_increment <= 1)
}

/// Cuts the text into blocks until it ends or the receivers are gone.
fn split(
    shared: &Shared<'_>,
    mut text: Text,
    ids: &squall_row_store::RowIds,
    sender: &Sender<Task>,
    permits: &Receiver<()>,
) -> SqlResult<()> {
    let mut splitter = Splitter::new(&shared.load.format, shared.load.skip);
    let takes_ids = shared.direct.as_ref().is_some_and(DirectRow::takes_ids);
    let (mut index, mut failed) = (0, None);
    loop {
        let (piece, last) = text.next()?;
        let goes_on = splitter.feed(&piece, last, |block| {
            if permits.recv().is_err() {
                return false;
            }
            let first_row_id = match ids.take(block.count) {
                Ok(first) => first,
                Err(error) => {
                    failed = Some(error);
                    return false;
                }
            };
            let store = &shared.loading.change.shared.store;
            let first_id =
                if takes_ids { store.next_auto_increment(&shared.load.plan.target.table, block.count) } else { 0 };
            let task = Task { index, block, first_row_id, first_id };
            index += 1;
            sender.send(task).is_ok()
        });
        text.hold(splitter.unfinished_bytes())?;
        if !goes_on || last {
            return failed.map_or(Ok(()), Err);
        }
    }
}

/// Makes rows on one thread.
struct Worker<'l> {
    shared: &'l Shared<'l>,
    loader: RowLoader<'l>,
    encoder: BulkEncoder,
}

impl<'l> Worker<'l> {
    fn new(shared: &'l Shared<'l>, encoder: BulkEncoder) -> Worker<'l> {
        let mut env = shared.env.clone();
        env.context = Arc::new(shared.loading.change.context.fork());
        let loader = RowLoader { env, plan: shared.load.plan.as_ref(), options: shared.loading.change.options };
        Worker { shared, loader, encoder }
    }

    /// Takes blocks until there are no more, or the receiver is gone.
    fn run(&mut self, done: &Sender<Done>) {
        loop {
            let task = self.shared.tasks.lock().recv();
            let Ok(task) = task else { return };
            let (index, count) = (task.index, task.block.count);
            let mut made = Made::default();
            let result = self.make_rows(task, &mut made);
            let failed = result.is_err();
            let rows = self.encoder.take_rows();
            let said = self.loader.env.context.diagnostics.split_off();
            let Made { left_out, rejected, generated_id } = made;
            if done.send(Done { index, count, rows, left_out, rejected, generated_id, said, result }).is_err() || failed
            {
                return;
            }
        }
    }

    fn make_rows(&mut self, task: Task, made: &mut Made) -> SqlResult<()> {
        let Task { index, block, first_row_id, first_id } = task;
        let mut numbers = Numbers { block: index, row: block.first_row, row_id: first_row_id, id: first_id };
        match block.rows {
            BlockRows::Fields(rows) => self.make_some_rows(&rows, &mut numbers, made),
            BlockRows::Text(text) => {
                let mut reader = LineReader::new(self.shared.load.format.clone(), 0);
                reader.replace(text);
                // A few at a time, which stay in the processor's cache.
                let mut rows = Rows::default();
                loop {
                    reader.cut_rows_up_to(&mut rows, ROWS_PER_CHECK);
                    if rows.is_empty() {
                        return Ok(());
                    }
                    self.make_some_rows(&rows, &mut numbers, made)?;
                    rows.clear();
                }
            }
        }
    }

    fn make_some_rows(&mut self, rows: &Rows, next: &mut Numbers, made: &mut Made) -> SqlResult<()> {
        let load = self.shared.load;
        let (mut fields, mut values) = (Vec::new(), Vec::new());
        self.loader.env.context.kill.check()?;
        for row in rows.iter() {
            let Numbers { block, row: number, row_id, id } = *next;
            next.advance();
            if let Some(direct) = &self.shared.direct
                && direct.fill(row.fields(), id, &mut fields, &mut values)
            {
                self.encoder.push(&values, number - 1, row_id)?;
                if direct.takes_ids() {
                    made.generated_id.get_or_insert(id);
                }
                continue;
            }
            let loaded = self.make_row(row, number, row_id, block, (id > 0).then_some(id));
            match loaded {
                Ok(LoadedRow::Stored(id)) => made.generated_id = made.generated_id.or(id),
                Ok(LoadedRow::LeftOut) => made.left_out += 1,
                Err(error) if load.reject_limit.is_some() && is_about_data(&error) => {
                    self.loader.env.context.diagnostics.warn(rejection(number, &error));
                    made.rejected.push(error);
                }
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// A row that needs the binder's conversions. `id` is its AUTO_INCREMENT value, if it has been taken already.
    fn make_row(
        &mut self,
        row: Row<'_>,
        number: u64,
        row_id: u64,
        block: u64,
        id: Option<u64>,
    ) -> SqlResult<LoadedRow> {
        let (shared, loader) = (self.shared, &self.loader);
        let values = row_values(&loader.env.context, shared.load, row, number)?;
        let next_id = |encoder: &BulkEncoder| {
            if let Some(id) = id {
                return Ok(id);
            }
            if !shared.turn.wait_for(block) {
                return Err(SqlError::internal("a load that was given up"));
            }
            encoder.observe_auto_increment();
            loader.next_id()
        };
        loader.load(values.into_iter(), number, row_id, &mut self.encoder, next_id)
    }
}

/// The numbers of the next row of a block.
#[derive(Clone, Copy)]
struct Numbers {
    /// The block's.
    block: u64,
    /// The row's in the text, from 1.
    row: u64,
    /// The hidden number, of a table that has such.
    row_id: u64,
    /// The AUTO_INCREMENT value; 0 if none has been taken.
    id: u64,
}

impl Numbers {
    fn advance(&mut self) {
        self.row += 1;
        self.row_id += 1;
        self.id += u64::from(self.id > 0);
    }
}

/// The results of a block's rows beside those that were encoded.
#[derive(Default)]
struct Made {
    left_out: u64,
    rejected: Vec<SqlError>,
    generated_id: Option<u64>,
}

/// Whether an error says that a row cannot be stored, rather than that nothing can.
fn is_about_data(error: &SqlError) -> bool {
    matches!(&error.sqlstate[..2], b"22" | b"23" | b"01")
        || [ErrorCode::TruncatedWrongValueForField, ErrorCode::NoDefaultForField, ErrorCode::CheckConstraintViolated]
            .iter()
            .any(|code| error.is(*code))
}

/// The warning for a row that REJECT LIMIT has left out.
fn rejection(row: u64, error: &SqlError) -> SqlError {
    SqlError { message: format!("Row {row} rejected: {}", error.message), ..error.clone() }
}

/// Takes the blocks' rows in order.
struct Taking {
    writer: BulkWriter,
    loaded: Loaded,
    left_out: u64,
    rejected: u64,
}

impl Taking {
    fn take_all(&mut self, shared: &Shared<'_>, done: &Receiver<Done>, permits: &Sender<()>) -> SqlResult<()> {
        let mut next = 0;
        let mut early = BTreeMap::new();
        for block in done {
            early.insert(block.index, block);
            while let Some(block) = early.remove(&next) {
                next += 1;
                self.take(shared, block)?;
                shared.turn.set(Some(next));
                // No task waits for a permit when the text has ended.
                let _ = permits.send(());
            }
        }
        Ok(())
    }

    fn take(&mut self, shared: &Shared<'_>, block: Done) -> SqlResult<()> {
        shared.loading.change.context.diagnostics.absorb(&block.said);
        block.result?;
        self.left_out += block.left_out;
        for error in block.rejected {
            self.rejected += 1;
            if self.rejected > shared.load.reject_limit.unwrap_or(0) {
                return Err(error);
            }
        }
        self.loaded.records += block.count;
        shared.loading.process.transfer.add_rows(block.count);
        self.loaded.generated_id = self.loaded.generated_id.or(block.generated_id);
        self.writer.write(block.rows)
    }
}
