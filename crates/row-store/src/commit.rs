//! Commits: one atomic batch each, and one sync for all that wait together.
//!
//! A durable commit goes through a thread of its own: while that thread syncs, the next commits gather. A commit is seen,
//! and its locks are given back, when it is as durable as it is to be: nobody reads or builds on what a power cut or a
//! failed sync would take back.

use crate::cursor::is_row_key;
use crate::gate::WriteGate;
use crate::locks::{LockKey, LockTable, Owner};
use crate::meta;
use crate::options::{Durability, TableLock};
use crate::sealed::DELETED;
use crate::table::TableData;
use crate::validation::{CommitLog, Keys, ReadSet};
use crate::visible::Visible;
use crate::write_set::WriteSet;
use fjall::{Database, Keyspace, PersistMode, Slice, Snapshot};
use parking_lot::{Condvar, Mutex};
use squall_catalog::TableId;
use squall_types::{ErrorCode, SqlError, SqlResult};
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::task::{Context, Poll, Waker};

/// What a change takes in the log and in memory beside its key and value, roughly.
const CHANGE_OVERHEAD_BYTES: usize = 32;

/// The locks of one owner; given back when dropped.
pub(crate) struct HeldLocks {
    pub table: Arc<LockTable>,
    pub owner: Owner,
    pub rows: Vec<LockKey>,
    pub tables: Vec<(TableId, TableLock)>,
}

impl HeldLocks {
    pub fn release(&mut self) {
        for key in self.rows.drain(..).rev() {
            self.table.release(self.owner, &key);
        }
        for (table, _) in self.tables.drain(..) {
            self.table.release_table(self.owner, table);
        }
    }
}

impl Drop for HeldLocks {
    fn drop(&mut self) {
        self.release();
    }
}

/// A transaction on its way to be committed.
pub(crate) struct CommitRequest {
    pub writes: WriteSet,
    /// What is to be checked, and since when.
    pub reads: Option<(ReadSet, u64)>,
    /// The moment to unregister once that is done.
    pub since: Option<u64>,
    pub locks: HeldLocks,
    pub ticket: TicketSender,
}

/// Rows on their way out of the store, see [`crate::sealed`].
pub(crate) struct SealRequest {
    pub data: Arc<TableData>,
    /// Keys of the rows, as of the sealing's beginning.
    pub sealed: Vec<Slice>,
    /// Entries of the list, to be written or removed.
    pub list: Vec<(Slice, Option<Slice>)>,
}

/// The end of a ticket that tells the result. A commit that is lost on the way, which only a defect can do, is reported
/// as an error instead of never.
pub(crate) struct TicketSender(pub CommitTicket);

impl Drop for TicketSender {
    fn drop(&mut self) {
        if self.0.poll_done().is_none() {
            self.0.complete(Err(SqlError::internal("the commit was cut short; whether it happened is not known")));
        }
    }
}

/// A commit under way: a future that is ready when the commit is done.
#[derive(Clone)]
#[must_use = "a commit is done when its ticket is"]
pub struct CommitTicket(Arc<TicketState>);

#[derive(Default)]
struct TicketState {
    inner: Mutex<TicketInner>,
    done: Condvar,
}

#[derive(Default)]
struct TicketInner {
    result: Option<SqlResult<()>>,
    waker: Option<Waker>,
}

impl CommitTicket {
    pub(crate) fn new() -> CommitTicket {
        CommitTicket(Arc::default())
    }

    pub(crate) fn ready(result: SqlResult<()>) -> CommitTicket {
        let ticket = Self::new();
        ticket.complete(result);
        ticket
    }

    pub(crate) fn complete(&self, result: SqlResult<()>) {
        let waker = {
            let mut inner = self.0.inner.lock();
            inner.result.get_or_insert(result);
            inner.waker.take()
        };
        self.0.done.notify_all();
        if let Some(waker) = waker {
            waker.wake();
        }
    }

    /// The result, if the commit is done.
    pub fn poll_done(&self) -> Option<SqlResult<()>> {
        self.0.inner.lock().result.clone()
    }

    /// Blocks until the commit is done.
    pub fn wait(&self) -> SqlResult<()> {
        let mut inner = self.0.inner.lock();
        loop {
            if let Some(result) = &inner.result {
                return result.clone();
            }
            self.0.done.wait(&mut inner);
        }
    }
}

impl Future for CommitTicket {
    type Output = SqlResult<()>;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<SqlResult<()>> {
        let mut inner = self.0.inner.lock();
        match &inner.result {
            Some(result) => Poll::Ready(result.clone()),
            None => {
                inner.waker = Some(context.waker().clone());
                Poll::Pending
            }
        }
    }
}

/// A group that is applied. Its locks are held until it is finished.
struct Applied {
    results: Vec<(TicketSender, SqlResult<()>)>,
    /// The first moment that has it.
    moment: Snapshot,
    locks: Vec<HeldLocks>,
}

impl Applied {
    /// Gives the locks back and tells the results; `shown` is whether the group is durable and can be seen.
    fn finish(self, shown: SqlResult<()>) {
        drop(self.locks);
        for (ticket, result) in self.results {
            ticket.0.complete(result.and(shown.clone()));
        }
    }
}

/// When the commit thread ends, by whatever, nobody may wait for it any more.
struct StopsCommits<'a>(&'a Committer);

impl Drop for StopsCommits<'_> {
    fn drop(&mut self) {
        let mut queue = self.0.queue.lock();
        self.0.closing.store(true, Ordering::Release);
        queue.clear();
    }
}

/// What all commits go through.
pub(crate) struct Committer {
    pub db: Database,
    pub meta: Keyspace,
    pub gate: Arc<WriteGate>,
    /// Held while commits are checked and applied, so that both happen in one order.
    pub log: Mutex<CommitLog>,
    pub visible: Visible,
    /// A group of durable commits is applied and not synced. Changes under the lock of `log`; stays when a sync fails.
    syncing: AtomicBool,
    queue: Mutex<Vec<CommitRequest>>,
    queued: Condvar,
    /// Something is written that no sync has covered yet.
    pub unsynced: AtomicBool,
    closing: AtomicBool,
    /// Bytes of changes applied since buffers were last sent to files.
    pub written_bytes: AtomicU64,
}

impl Committer {
    pub fn new(db: Database, meta: Keyspace, gate: Arc<WriteGate>) -> Committer {
        Committer {
            visible: Visible::new(db.snapshot()),
            db,
            meta,
            gate,
            log: Mutex::default(),
            syncing: AtomicBool::new(false),
            queue: Mutex::default(),
            queued: Condvar::new(),
            unsynced: AtomicBool::new(false),
            closing: AtomicBool::new(false),
            written_bytes: AtomicU64::new(0),
        }
    }

    /// Commits with a durability; the request's ticket tells when it is done.
    pub fn commit(&self, request: CommitRequest, durability: Durability) -> CommitTicket {
        let ticket = request.ticket.0.clone();
        if self.closing.load(Ordering::Acquire) {
            return CommitTicket::ready(Err(SqlError::new(ErrorCode::ServerShutdown, &[])));
        }
        match durability {
            Durability::Full => {
                let mut queue = self.queue.lock();
                // Looked at again under the lock: nobody takes from the queue after the store is closed.
                if self.closing.load(Ordering::Acquire) {
                    return CommitTicket::ready(Err(SqlError::new(ErrorCode::ServerShutdown, &[])));
                }
                queue.push(request);
                self.queued.notify_one();
            }
            Durability::Os | Durability::Lazy => {
                let applied = self.apply(vec![request], durability);
                let shown = self.show_or_sync(applied.moment.clone());
                applied.finish(shown);
                self.unsynced.store(true, Ordering::Release);
            }
        }
        ticket
    }

    /// The commit thread's life.
    pub fn run(&self) {
        let _stops_commits = StopsCommits(self);
        while let Some(group) = self.next_group() {
            let applied = self.apply(group, Durability::Full);
            let synced = self.db.persist(PersistMode::SyncData).map_err(|error| self.gate.stop(error));
            if synced.is_ok() {
                self.show(applied.moment.clone());
            }
            applied.finish(synced);
        }
    }

    /// Lets readers see up to a moment that a sync has just made durable.
    fn show(&self, moment: Snapshot) {
        let mut log = self.log.lock();
        self.syncing.store(false, Ordering::Release);
        self.see(&mut log, moment);
    }

    fn see(&self, log: &mut CommitLog, moment: Snapshot) {
        log.show(moment.seqno());
        self.visible.advance(moment);
    }

    /// Lets readers see up to a moment that needs no sync for its own sake; for that of others there may be one.
    pub fn show_or_sync(&self, moment: Snapshot) -> SqlResult<()> {
        if self.syncing.load(Ordering::Acquire) {
            self.db.persist(PersistMode::SyncData).map_err(|error| self.gate.stop(error))?;
        }
        self.see(&mut self.log.lock(), moment);
        Ok(())
    }

    /// Lets readers see the present, unless a commit is under way. The engine keeps whatever was there at the moment that
    /// readers see, so without this files would stay that merges of files have replaced since the last commit.
    pub fn show_present(&self) {
        let mut log = self.log.lock();
        if !self.syncing.load(Ordering::Acquire) {
            self.see(&mut log, self.db.snapshot());
        }
    }

    /// Lets rows leave the store for the list of sealed ones, durably. Nobody's answers change by it, so it is no commit
    /// that others are checked against.
    pub fn seal(&self, request: SealRequest) -> SqlResult<u64> {
        let SealRequest { data, mut sealed, list } = request;
        let level = data.sealed().ok_or_else(|| SqlError::internal("a table that cannot be sealed"))?;
        let list_bytes =
            list.iter().map(|(key, content)| key.len() + content.as_ref().map_or(0, |content| content.len()));
        let bytes =
            sealed.iter().map(|key| key.len()).chain(list_bytes).map(|bytes| bytes + CHANGE_OVERHEAD_BYTES).sum();
        self.gate.look();
        self.gate.check_commit(bytes)?;
        let moment = {
            let _log = self.log.lock();
            let mut batch = self.db.batch();
            level.retain_unchanged(&mut sealed);
            for key in sealed {
                batch.remove(&data.keyspace, key);
            }
            for (key, content) in &list {
                match content {
                    Some(content) => batch.insert(&data.keyspace, key.clone(), content.clone()),
                    None => batch.remove(&data.keyspace, key.clone()),
                }
            }
            let _moving = level.move_rows();
            batch.commit().map_err(|error| self.gate.stop(error))?;
            let moment = self.db.snapshot();
            level.note_commit(list.iter().map(|(key, _)| key), moment.seqno());
            moment
        };
        self.written_bytes.fetch_add(bytes as u64, Ordering::Relaxed);
        self.gate.count(bytes as u64);
        self.db.persist(PersistMode::SyncData).map_err(|error| self.gate.stop(error))?;
        let since = moment.seqno();
        self.see(&mut self.log.lock(), moment);
        Ok(since)
    }

    fn next_group(&self) -> Option<Vec<CommitRequest>> {
        let mut queue = self.queue.lock();
        while queue.is_empty() {
            if self.closing.load(Ordering::Acquire) {
                return None;
            }
            self.queued.wait(&mut queue);
        }
        Some(std::mem::take(&mut *queue))
    }

    /// Lets the commit thread end when the queue is empty.
    pub fn close(&self) {
        let _queue = self.queue.lock();
        self.closing.store(true, Ordering::Release);
        self.queued.notify_all();
    }

    /// Checks and applies a group as one batch, which nobody sees yet.
    fn apply(&self, group: Vec<CommitRequest>, durability: Durability) -> Applied {
        let mut results = Vec::with_capacity(group.len());
        let mut locks = Vec::with_capacity(group.len());
        let mut ended = Vec::new();
        let mut bytes = 0;
        let mut deltas: Vec<(Arc<TableData>, i64, u64)> = Vec::new();
        let mut rows = Vec::new();
        self.gate.look();
        let mut log = self.log.lock();
        let persist = (durability == Durability::Os).then_some(PersistMode::Buffer);
        let mut batch = self.db.batch().durability(persist);
        for request in group {
            locks.push(request.locks);
            ended.extend(request.since);
            if let Some((reads, snapshot)) = &request.reads
                && !log.is_valid(reads, *snapshot)
            {
                results.push((request.ticket, Err(SqlError::new(ErrorCode::Deadlock, &[]))));
                continue;
            }
            if let Err(error) = self.gate.check_commit(bytes + request.writes.bytes()) {
                results.push((request.ticket, Err(error)));
                continue;
            }
            let mut logged = Vec::new();
            for table in request.writes.into_tables() {
                let (data, row_delta) = (table.data.clone(), table.row_delta);
                let (mut keys, mut row_keys) = (Vec::new(), Vec::new());
                let before = batch.len();
                for (key, change) in table.into_changes() {
                    keys.push(key.clone());
                    let is_row = is_row_key(&key);
                    if is_row {
                        row_keys.push(key.clone());
                    }
                    bytes += CHANGE_OVERHEAD_BYTES + key.len() + change.as_ref().map_or(0, |value| value.len());
                    match change {
                        Some(value) => batch.insert(&data.keyspace, key, value),
                        None if is_row && data.sealed().is_some() => batch.insert(&data.keyspace, key, DELETED),
                        None => batch.remove(&data.keyspace, key),
                    }
                }
                logged.push((data.id, Keys::Sorted(keys)));
                rows.push((data.clone(), row_keys));
                deltas.push((data, row_delta, (batch.len() - before) as u64));
            }
            log.push(logged);
            results.push((request.ticket, Ok(())));
        }
        for (data, ..) in &deltas {
            let next = data.auto_increment.load(Ordering::Relaxed);
            if data.auto_increment_saved.fetch_max(next, Ordering::Relaxed) < next {
                batch.insert(&self.meta, meta::table_key(meta::AUTO_INCREMENT, data.id), next.to_le_bytes());
            }
        }
        self.written_bytes.fetch_add(bytes as u64, Ordering::Relaxed);
        self.gate.count(bytes as u64);
        let committed = batch.commit().map_err(|error| self.gate.stop(error));
        let moment = self.db.snapshot();
        for (data, keys) in rows {
            keys.iter().for_each(|key| data.row_changed(key, moment.seqno()));
            if let Some(level) = data.sealed() {
                level.note_commit(keys.iter(), moment.seqno());
            }
        }
        log.applied(moment.seqno());
        if durability == Durability::Full {
            self.syncing.store(true, Ordering::Release);
        }
        ended.into_iter().for_each(|since| log.unregister(since));
        drop(log);
        match committed {
            Ok(()) => {
                for (data, row_delta, changes) in deltas {
                    data.count_changes(row_delta, changes);
                }
            }
            Err(error) => {
                for (_, result) in &mut results {
                    *result = result.clone().and(Err(error.clone()));
                }
            }
        }
        Applied { results, moment, locks }
    }
}
