//! Sealing and merging in the background.

use crate::due_tables::{DueTables, SEAL_FROM, SEAL_IDLE_FROM};
use crate::level::{ColumnTable, TableState};
use crate::merge::MergeOutcome;
use squall_catalog::TableId;
use squall_row_store::{BACKGROUND_FAMILY, HeldTable, LevelStore, LockWait, WorkFailed};
use squall_types::{ErrorCode, SqlError, SqlResult};
use std::sync::{Arc, Weak};
use std::thread::JoinHandle;
use std::time::Instant;

/// What was done to a table.
#[derive(Clone, Copy, Debug, Default)]
pub struct TableWork {
    /// Segments that were made of delta rows.
    pub seals: u64,
    /// Those rows.
    pub rows_sealed: u64,
    /// Segments that were merged into others.
    pub merged_segments: u64,
    /// Whether the work is complete; otherwise another thread does it, or has the table locked.
    pub complete: bool,
}

/// What is asked of a table's segments.
#[derive(Clone, Copy)]
struct Asked<'a> {
    /// All delta rows are sealed.
    seal: bool,
    /// Segments are merged wherever they can be, not only where it is worth it.
    merge_all: bool,
    /// Whether the work is still wanted.
    check: &'a dyn Fn() -> SqlResult<()>,
}

/// The thread that seals and merges. Dropping it ends it, when it has done what it is at.
#[derive(Debug)]
pub(crate) struct BackgroundSealer {
    due: Arc<DueTables>,
    thread: Option<JoinHandle<()>>,
}

impl BackgroundSealer {
    /// Starts the thread; it ends when the store is gone.
    pub fn start(
        due: Arc<DueTables>,
        store: Weak<dyn LevelStore>,
        threads: usize,
        failed: WorkFailed,
    ) -> SqlResult<BackgroundSealer> {
        let queue = due.clone();
        let run = move || {
            while let Some(id) = queue.next() {
                let Some(store) = store.upgrade() else { return };
                let Some(def) = store.definition(id) else { continue };
                let work = work_on(&*store, id, threads);
                if !work.as_ref().is_ok_and(|work| work.complete) {
                    queue.add_later(id);
                }
                if let Err(error) = work {
                    failed(&def.name, &error);
                }
            }
        };
        let thread = std::thread::Builder::new().name("squall-seal".into()).spawn(run).map_err(SqlError::internal)?;
        Ok(BackgroundSealer { due, thread: Some(thread) })
    }

    fn close(&mut self) {
        self.due.close();
        if let Some(thread) = self.thread.take()
            && thread.thread().id() != std::thread::current().id()
        {
            // A panic has been reported by its thread.
            let _ = thread.join();
        }
    }
}

impl Drop for BackgroundSealer {
    fn drop(&mut self) {
        self.close();
    }
}

/// Seals and merges while the definition cannot change: rows of a later one would lose what the segment has no column for.
fn work_on(store: &dyn LevelStore, id: TableId, threads: usize) -> SqlResult<TableWork> {
    let table = match store.hold_storage(BACKGROUND_FAMILY, id, LockWait::Nowait).map_err(SqlError::from) {
        Ok(Some(table)) => table,
        Ok(None) => return Ok(TableWork { complete: true, ..TableWork::default() }),
        Err(error) if error.is(ErrorCode::LockNowait) => return Ok(TableWork::default()),
        Err(error) => return Err(error),
    };
    let mut all = TableWork { complete: true, ..TableWork::default() };
    for column_table in ColumnTable::of(&table).into_iter().chain(ColumnTable::of_copy(&table)) {
        let work = column_table.work(store, &table, threads)?;
        all.seals += work.seals;
        all.merged_segments += work.merged_segments;
        all.complete &= work.complete;
    }
    Ok(all)
}

impl ColumnTable {
    /// Seals if there are many changes, then merges what is worth it.
    fn work(self: Arc<Self>, store: &dyn LevelStore, table: &HeldTable, threads: usize) -> SqlResult<TableWork> {
        let Some(_turn) = self.turn.try_lock() else { return Ok(TableWork::default()) };
        if !self.complete_copy(store, table, &|| Ok(()))? {
            return Ok(TableWork::default());
        }
        let delta = self.delta_changes();
        let idle = self.is_unchanged_since_last_look();
        let seal = delta >= SEAL_FROM || delta >= SEAL_IDLE_FROM && idle;
        if !seal && delta >= SEAL_IDLE_FROM {
            // It is looked at again.
            return Ok(TableWork::default());
        }
        self.seal_and_merge(store, table, threads, Asked { seal, merge_all: false, check: &|| Ok(()) })
    }

    /// Seals every delta row and merges as far as it goes, as OPTIMIZE TABLE does, after the background if that is at it. A copy that
    /// is not complete is made. `check` is called between steps and columns; its error ends the work, and what has been done stays.
    pub fn optimize(
        self: &Arc<Self>,
        store: &dyn LevelStore,
        table: &HeldTable,
        threads: usize,
        check: &dyn Fn() -> SqlResult<()>,
    ) -> SqlResult<TableWork> {
        let _turn = self.turn.lock();
        if !self.complete_copy(store, table, check)? {
            return Ok(TableWork::default());
        }
        self.seal_and_merge(store, table, threads, Asked { seal: true, merge_all: true, check })
    }

    fn seal_and_merge(
        &self,
        store: &dyn LevelStore,
        table: &HeldTable,
        threads: usize,
        asked: Asked<'_>,
    ) -> SqlResult<TableWork> {
        let mut work = TableWork::default();
        let (began, before) = (Instant::now(), self.status().work);
        self.change_status(|status| status.work = Some((began, None)));
        let result = self.seal_and_merge_into(&mut work, store, table, threads, asked);
        let did_something = work.seals + work.merged_segments > 0 || result.is_err();
        self.change_status(|status| {
            status.seals += work.seals;
            status.merges += work.merged_segments;
            status.rows_sealed += work.rows_sealed;
            status.work = if did_something { Some((began, Some(began.elapsed()))) } else { before };
            status.state = TableState::Idle;
            status.last_error = result.as_ref().err().map(|error| error.message.clone());
        });
        result.map(|()| work)
    }

    fn seal_and_merge_into(
        &self,
        work: &mut TableWork,
        store: &dyn LevelStore,
        table: &HeldTable,
        threads: usize,
        Asked { seal, merge_all, check }: Asked<'_>,
    ) -> SqlResult<()> {
        let mut left = seal;
        while left {
            self.change_status(|status| status.state = TableState::Sealing);
            if !merge_all && store.is_lock_waited_for(table) {
                return Ok(());
            }
            check()?;
            let Some(sealed) = self.seal(store, table, threads)? else { return Ok(()) };
            work.seals += u64::from(sealed.rows > 0);
            work.rows_sealed += sealed.rows;
            left = !sealed.complete;
        }
        loop {
            if !merge_all && store.is_lock_waited_for(table) {
                return Ok(());
            }
            self.change_status(|status| status.state = TableState::Merging);
            match self.merge(store, table, threads, merge_all, check)? {
                MergeOutcome::Merged(segments) => work.merged_segments += segments as u64,
                MergeOutcome::Nothing => break,
                MergeOutcome::Busy => return Ok(()),
            }
        }
        work.complete = true;
        Ok(())
    }
}
