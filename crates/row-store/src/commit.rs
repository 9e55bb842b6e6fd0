//! Commits: one atomic batch each, and one sync for all commits that wait (group commit).
//!
//! The session's thread checks the changes, appends them to the log and applies them to the engine's buffers. The commit thread syncs
//! the log; meanwhile the next commits are applied and wait. A commit becomes visible, and releases its locks, when it is as durable as
//! `durability` requires. So no session reads a change that a power cut or a failed sync could lose.

use crate::batch::{Batch, Part};
use crate::changes::{CHANGE_OVERHEAD_BYTES, Changes, Counts};
use crate::engine::{AbstractTree, Engine, Error, Keyspace, SeqNo, Slice, Snapshot};
use crate::error::io_error_text;
use crate::gate::WriteGate;
use crate::locks::{LockKey, LockTable, Owner};
use crate::meta;
use crate::options::{Durability, TableLock};
use crate::redo::RedoLog;
use crate::table::change_feed::{ChangeFeed, FeedSignals};
use crate::table::segment_level::{SegmentLevel, UncommittedRows};
use crate::table::{LogicalTable, TableData};
use crate::ticket::{CommitTicket, TicketSender};
use crate::validation::{CommitLog, ReadSet};
use crate::visible::VisibleSnapshot;
use crate::write_set::WriteSet;
use parking_lot::{Condvar, Mutex};
use squall_accounting::Charge;
use squall_catalog::TableId;
use squall_types::invariant;
use squall_types::{ErrorCode, SqlError, SqlResult};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// Buffers of a keyspace that may wait to become files.
const SEGMENT_BUFFERS_MAX: usize = 4;
/// Files of buffers that merges may not have got to yet; each is looked into by every read.
const BUFFER_FILES_MAX: usize = 24;
/// A buffer may grow to this many times its size before commits wait for it to be sent to a file.
const BUFFER_TIMES_MAX: u64 = 2;
/// How long they wait before they look again.
const WAIT_FOR_FILES: Duration = Duration::from_millis(1);
/// How long the commits that allow a delay wait for others: about as long as a sync takes.
const COMMIT_DELAY: Duration = Duration::from_micros(200);

/// The locks of one owner; released when dropped.
pub(crate) struct HeldLocks {
    pub table: Arc<LockTable>,
    pub owner: Owner,
    pub rows: Vec<LockKey>,
    pub tables: Vec<(TableId, TableLock)>,
    /// Tables in which ranges have been searched.
    pub searched: Vec<Arc<LogicalTable>>,
    /// Tables that it is a [large writer](crate::locks::LargeWriters) of.
    pub large: Vec<Arc<LogicalTable>>,
    /// The number of `rows` of earlier statements, or that were already searched for unnecessary ones.
    pub rows_looked_at: usize,
    /// Where the memory of the locks is charged, and of what they are held for; `None` if nowhere.
    pub memory: Option<Charge>,
}

impl HeldLocks {
    /// Of an owner that has none.
    pub fn none(table: Arc<LockTable>, owner: Owner) -> HeldLocks {
        HeldLocks {
            table,
            owner,
            rows: Vec::new(),
            tables: Vec::new(),
            searched: Vec::new(),
            large: Vec::new(),
            rows_looked_at: 0,
            memory: None,
        }
    }

    /// Hands all of them over.
    pub fn take(&mut self) -> HeldLocks {
        std::mem::replace(self, HeldLocks::none(self.table.clone(), self.owner))
    }

    pub fn release(&mut self) {
        self.rows_looked_at = 0;
        for table in self.large.drain(..) {
            table.large_writers.remove(self.owner);
        }
        // A thread that has waited for a range's lock looks then whether there are others.
        for table in self.searched.drain(..) {
            table.searched.remove_all(self.owner);
        }
        // A lock that was lost meanwhile has protected nothing: others may have changed the same rows.
        let owner = self.owner;
        for key in self.rows.drain(..).rev() {
            invariant!(
                self.table.release(owner, &key),
                "{owner:?} has lost the lock of a row of table {}",
                key.table.0
            );
        }
        for (table, _) in self.tables.drain(..) {
            invariant!(self.table.release_table(owner, table), "{owner:?} has lost the lock of table {}", table.0);
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
    /// The objects that new entries of manifests name.
    pub segment_rows: Vec<Box<dyn UncommittedRows>>,
    /// The reads to check, and the snapshot they were made at.
    pub reads: Option<(ReadSet, u64)>,
    /// The sequence number to unregister once that is done.
    pub since: Option<u64>,
    pub locks: HeldLocks,
    /// See [`TransactionOptions::allows_commit_delay`](crate::TransactionOptions::allows_commit_delay).
    pub allows_commit_delay: bool,
    /// A record of the store's own that goes with the commit: that of a prepared transaction.
    pub removes: Option<Vec<u8>>,
    pub ticket: TicketSender,
}

/// Rows on their way out of the store, see [`crate::table::segment_level`].
pub(crate) struct SealRequest {
    pub data: Arc<TableData>,
    /// Where they go to.
    pub level: Arc<SegmentLevel>,
    /// Keys of the rows or of their marks, as of the sealing's beginning.
    pub keys: Vec<Slice>,
    /// The sequence number of that beginning, if these are all keys that there were.
    pub whole_as_of: Option<SeqNo>,
    /// Entries of the manifest, to be written or removed.
    pub manifest: Vec<(Slice, Option<Slice>)>,
}

/// A commit that is applied. Its locks, if it has any, are held until it is finished.
struct Applied {
    ticket: TicketSender,
    locks: Option<HeldLocks>,
}

impl Applied {
    /// Gives the locks back and tells the result: whether the commit is as durable as it is to be, and can be seen.
    fn finish(self, shown: SqlResult<()>) {
        drop(self.locks);
        self.ticket.0.complete(shown);
    }
}

/// The work of the commit thread.
#[derive(Default)]
struct Queue {
    /// Applied commits that wait for the disk.
    commits: Vec<Applied>,
    /// Keyspaces whose buffers are to become files.
    full_buffers: Vec<Keyspace>,
    /// When it is to be done at the latest; `None` if there is nothing.
    due: Option<Instant>,
}

impl Queue {
    /// Adds work for a sequence number; returns whether the commit thread has to be woken.
    fn make_due(&mut self, due: Instant) -> bool {
        let is_news = self.due.is_none_or(|known| due < known);
        if is_news {
            self.due = Some(due);
        }
        is_news
    }

    fn push(&mut self, commit: Applied, allows_commit_delay: bool) -> bool {
        self.commits.push(commit);
        let now = Instant::now();
        self.make_due(if allows_commit_delay { now + COMMIT_DELAY } else { now })
    }
}

/// When the commit thread ends, for any reason, no transaction may wait for it any more.
struct StopsCommits<'a>(&'a Committer);

impl Drop for StopsCommits<'_> {
    fn drop(&mut self) {
        self.0.closing.store(true, Ordering::Release);
        // The lock of the log comes first: its holder has checked whether the store is closing.
        let log = self.0.log.lock();
        let left = (std::mem::take(&mut *self.0.queue.lock()), std::mem::take(&mut *self.0.deferred.lock()));
        drop(log);
        // What is done when a commit is may commit.
        drop(left);
    }
}

/// A commit that only has to be checked and applied.
pub(crate) struct PreparedCommit {
    changes: Changes,
    segment_rows: Vec<Box<dyn UncommittedRows>>,
    reads: Option<(ReadSet, u64)>,
    since: Option<u64>,
    allows_commit_delay: bool,
    applied: Applied,
    durability: Durability,
}

/// The common path of all commits.
pub(crate) struct Committer {
    pub db: Engine,
    pub meta: Keyspace,
    pub gate: Arc<WriteGate>,
    pub redo: RedoLog,
    /// Bytes of a keyspace's changes from which on its buffer becomes a file.
    buffer_bytes_max: u64,
    /// Held while commits are checked and applied, so that both happen in one order.
    pub log: Mutex<CommitLog>,
    pub visible: VisibleSnapshot,
    /// Durable commits are applied and not synced. Changes under the lock of `log`; stays when a sync fails.
    syncing: AtomicBool,
    /// Commits come into it under the lock of `log`, which is taken first.
    queue: Mutex<Queue>,
    queued: Condvar,
    /// Commits that a global read lock holds up; see [`crate::store::read_lock`]. Comes into it under the lock of `log`.
    pub deferred: Mutex<Vec<PreparedCommit>>,
    /// Something is written that no sync has covered yet.
    pub unsynced: AtomicBool,
    closing: AtomicBool,
    /// Those who follow tables.
    pub feed_signals: Arc<FeedSignals>,
    /// Bytes of changes applied since buffers were last sent to files.
    pub written_bytes: AtomicU64,
}

impl Committer {
    pub fn new(db: Engine, meta: Keyspace, redo: RedoLog, gate: Arc<WriteGate>, buffer_bytes_max: u64) -> Committer {
        Committer {
            visible: VisibleSnapshot::new(db.snapshot()),
            db,
            meta,
            gate,
            redo,
            buffer_bytes_max,
            log: Mutex::default(),
            syncing: AtomicBool::new(false),
            queue: Mutex::default(),
            queued: Condvar::new(),
            deferred: Mutex::default(),
            unsynced: AtomicBool::new(false),
            closing: AtomicBool::new(false),
            feed_signals: Arc::default(),
            written_bytes: AtomicU64::new(0),
        }
    }

    /// Commits with a durability; the request's ticket tells when it is done. Where changes [have left memory](WriteSet::is_spilled) it
    /// takes a while to return.
    pub fn commit(&self, request: CommitRequest, durability: Durability) -> CommitTicket {
        let CommitRequest { writes, segment_rows, reads, since, locks, allows_commit_delay, removes, ticket } = request;
        let answer = ticket.0.clone();
        let applied = Applied { ticket, locks: Some(locks) };
        let mut changes = match Changes::of(writes, &self.db, &self.gate) {
            Ok(changes) => changes,
            Err(error) => {
                since.into_iter().for_each(|since| self.log.lock().unregister(since));
                applied.finish(Err(error));
                return answer;
            }
        };
        removes.into_iter().for_each(|record| changes.batch.remove(&self.meta, record));
        for files in changes.batch.files() {
            self.empty_buffer(files.keyspace());
        }
        self.commit_prepared(PreparedCommit {
            changes,
            segment_rows,
            reads,
            since,
            allows_commit_delay,
            applied,
            durability,
        });
        answer
    }

    /// Gives what the log has to the operating system.
    pub fn hand_over(&self) -> SqlResult<()> {
        self.redo.write().map_err(|error| self.log_failed(error))
    }

    /// Commits, or defers the commit until a global read lock is released.
    pub fn commit_prepared(&self, commit: PreparedCommit) {
        let mut log = self.log.lock();
        // Where the store is closing the deferred ones are not looked at any more.
        if let Some(locks) = &commit.applied.locks
            && !self.closing.load(Ordering::Acquire)
            && locks.table.holds_up(locks.owner, commit.changes.counts.iter().map(|counts| counts.data.logical.id))
        {
            self.deferred.lock().push(commit);
            return;
        }
        let PreparedCommit { changes, segment_rows, reads, since, allows_commit_delay, applied, durability } = commit;
        let sequence = self.check_and_apply(&mut log, changes, reads.as_ref());
        since.into_iter().for_each(|since| log.unregister(since));
        if sequence.is_ok() || self.gate.is_stopped() {
            // Whatever the result of the sync: the log may have it when it is read again.
            segment_rows.into_iter().for_each(|rows| rows.keep());
        }
        match (sequence, durability) {
            (Err(error), _) => {
                drop(log);
                applied.finish(Err(error));
            }
            (Ok(()), Durability::Full) => {
                self.syncing.store(true, Ordering::Release);
                let is_news = self.queue.lock().push(applied, allows_commit_delay);
                drop(log);
                if is_news {
                    self.queued.notify_one();
                }
            }
            (Ok(()), Durability::Os | Durability::Lazy) => {
                let snapshot = self.db.snapshot();
                drop(log);
                let written = match durability {
                    Durability::Os => self.hand_over(),
                    _ => Ok(()),
                };
                applied.finish(written.and_then(|()| self.advance_or_sync(snapshot)));
                self.unsynced.store(true, Ordering::Release);
                self.hold_back();
            }
        }
    }

    /// 1053 when the store is closing. Looked at under the lock of `log`: the commit thread takes the last commits after that.
    fn check_closing(&self) -> SqlResult<()> {
        match self.closing.load(Ordering::Acquire) {
            true => Err(SqlError::new(ErrorCode::ServerShutdown, &[])),
            false => Ok(()),
        }
    }

    /// Checks a transaction and applies it; it is not visible yet.
    fn check_and_apply(&self, log: &mut CommitLog, changes: Changes, reads: Option<&(ReadSet, u64)>) -> SqlResult<()> {
        self.check_closing()?;
        if reads.is_some_and(|(reads, snapshot)| !log.is_valid(reads, *snapshot)) {
            return Err(SqlError::new(ErrorCode::Deadlock, &[]));
        }
        let Changes { mut batch, mut counts, rows, copies, manifests, keys, bytes } = changes;
        self.gate.check_commit(bytes)?;
        for counts in &mut counts {
            counts.counter = self.put_counter(&mut batch, &counts.data);
        }
        let followed: Vec<_> = rows.iter().filter_map(|(data, _)| ChangeFeed::look(data, &batch)).collect();
        let seqno = {
            // A reader of what is newest must not see half a list.
            let _moving: Vec<_> =
                manifests.iter().filter_map(|(data, _)| Some(data.segment_level()?.move_rows())).collect();
            let seqno = self.apply(log, batch)?;
            for (data, keys) in &manifests {
                data.segment_level().into_iter().for_each(|level| level.note_commit(keys.iter(), seqno));
                data.logical.feed.reset();
            }
            seqno
        };
        followed.into_iter().for_each(|before| ChangeFeed::note(before, seqno));
        log.push(keys);
        log.applied(seqno);
        for (data, keys) in rows {
            data.captured.note(keys.as_deref());
            let Some(keys) = keys else {
                data.all_rows_changed(seqno);
                data.vectors.note_all();
                data.logical.feed.reset();
                continue;
            };
            data.vectors.note(&keys, seqno);
            keys.iter().for_each(|key| data.row_changed(key, seqno));
            if let Some(level) = data.segment_level() {
                level.note_commit(keys.iter(), seqno);
                // Sealing moves rows, not the entries of their indexes.
                if !keys.is_empty() {
                    level.source().note_changes(keys.len() as u64);
                }
            }
        }
        for (copy, marks) in copies {
            copy.note_commit(marks.iter(), seqno);
            copy.source().note_changes(marks.len() as u64);
        }
        for Counts { data, row_delta, changes, segment_changes, counter } in counts {
            data.logical.auto_increment_saved.fetch_max(counter, Ordering::Relaxed);
            data.count_changes(row_delta, changes, segment_changes);
        }
        self.count_written(bytes);
        Ok(())
    }

    /// Adds a table's next AUTO_INCREMENT value to a batch, if the log has only smaller ones; the value. The caller that has
    /// applied the batch marks it as [saved](LogicalTable::auto_increment_saved) under the same lock of `log`. The next commit
    /// writes counters that are not saved.
    fn put_counter(&self, batch: &mut Batch, data: &TableData) -> u64 {
        let table = &data.logical;
        let next = table.auto_increment.load(Ordering::Relaxed);
        if table.auto_increment_saved.load(Ordering::Relaxed) < next {
            batch.insert(&self.meta, meta::table_key(meta::AUTO_INCREMENT, table.id), next.to_le_bytes());
        }
        next
    }

    /// Writes a table's next AUTO_INCREMENT value, for rows that come beside the log. It is durable with the next sync, which has to come
    /// before the rows.
    pub fn save_counter(&self, data: &TableData) -> SqlResult<()> {
        let mut log = self.log.lock();
        let mut batch = Batch::default();
        let next = self.put_counter(&mut batch, data);
        self.apply(&mut log, batch)?;
        data.logical.auto_increment_saved.fetch_max(next, Ordering::Relaxed);
        self.unsynced.store(true, Ordering::Release);
        Ok(())
    }

    /// Sets a table's next AUTO_INCREMENT value, to a smaller one, too; durable when it returns.
    pub fn set_counter(&self, data: &TableData, next: u64) -> SqlResult<()> {
        {
            let mut log = self.log.lock();
            let mut batch = Batch::default();
            batch.insert(&self.meta, meta::table_key(meta::AUTO_INCREMENT, data.logical.id), next.to_le_bytes());
            self.apply(&mut log, batch)?;
            data.logical.start_auto_increment(next);
        }
        self.sync()
    }

    /// Appends a batch to the log and applies it to the engine's buffers; the first sequence number that has it. It is as durable as
    /// what was appended to the log before it is.
    ///
    /// A batch with files is durable when this returns: a tree that has got its files keeps them.
    pub fn apply(&self, log: &mut CommitLog, mut batch: Batch) -> SqlResult<u64> {
        if batch.is_empty() {
            return Ok(self.db.seqno.get());
        }
        let sequence = self.db.seqno.next();
        log.begin(sequence);
        // Readers see entries with smaller numbers than theirs.
        let visible = self.visible.seqno();
        invariant!(visible <= sequence, "readers at {visible} would see batch {sequence} before it is durable");
        batch.files_mut().iter_mut().for_each(|files| files.set_needed(true));
        if let Err(error) = self.redo.append(sequence, &batch) {
            let is_failed = self.redo.is_failed();
            batch.files_mut().iter_mut().for_each(|files| files.set_needed(is_failed));
            return Err(self.log_failed(error));
        }
        let (parts, files) = batch.into_parts();
        let has_files = !files.is_empty();
        if has_files {
            self.sync()?;
        }
        for mut files in files {
            files.adopt(&self.db, sequence).map_err(|error| self.gate.stop(error))?;
        }
        for Part { keyspace, changes } in parts {
            let mut buffer_bytes = 0;
            for (key, value) in changes {
                (_, buffer_bytes) = match value {
                    Some(value) => keyspace.tree.insert(key, value, sequence),
                    None => keyspace.tree.remove(key, sequence),
                };
            }
            if buffer_bytes > self.buffer_bytes_max {
                self.buffer_is_full(keyspace);
            }
        }
        self.db.snapshots.publish(sequence);
        // A tree with new files has a number of its own for that.
        Ok(if has_files { self.db.snapshot().seqno() } else { sequence + 1 })
    }

    /// Writes a batch that is no transaction's, durably if `durable`.
    pub fn write(&self, batch: Batch, durable: bool) -> SqlResult<()> {
        self.apply(&mut self.log.lock(), batch)?;
        self.unsynced.store(true, Ordering::Release);
        if durable { self.sync() } else { Ok(()) }
    }

    /// Writes a batch without a transaction, durably; the commit thread syncs it with the waiting commits.
    pub fn write_async(&self, batch: Batch) -> SqlResult<CommitTicket> {
        let ticket = CommitTicket::new();
        let mut log = self.log.lock();
        self.check_closing()?;
        self.apply(&mut log, batch)?;
        self.syncing.store(true, Ordering::Release);
        let is_news = self.queue.lock().push(Applied { ticket: TicketSender(ticket.clone()), locks: None }, false);
        drop(log);
        if is_news {
            self.queued.notify_one();
        }
        Ok(ticket)
    }

    /// Makes everything durable that has been applied.
    pub fn sync(&self) -> SqlResult<()> {
        self.redo.sync().map_err(|error| self.log_failed(error))
    }

    /// The error of a log that could not be written. Where the disk had no space for it, nothing else is wrong.
    fn log_failed(&self, error: std::io::Error) -> SqlError {
        if self.redo.is_failed() {
            self.gate.stop(Error::Io(error))
        } else {
            SqlError::new(ErrorCode::ErrorDuringCommit, &[&io_error_text(&error)])
        }
    }

    /// The commit thread's life.
    pub fn run(&self) {
        let _stops_commits = StopsCommits(self);
        while self.wait_for_work() {
            self.gate.look();
            let (work, snapshot) = {
                let _log = self.log.lock();
                (std::mem::take(&mut *self.queue.lock()), self.db.snapshot())
            };
            if !work.commits.is_empty() {
                let synced = self.sync();
                if synced.is_ok() {
                    self.advance_visible(snapshot);
                }
                work.commits.into_iter().for_each(|commit| commit.finish(synced.clone()));
            }
            for keyspace in work.full_buffers {
                if keyspace.tree.active_memtable().size() > self.buffer_bytes_max {
                    // An error has stopped the engine; the next commit reports it to a client.
                    let _ = self.send_to_file(&keyspace);
                }
                self.wait_for_files(&keyspace);
            }
        }
    }

    /// Waits until there is something to do; `false` if there never will be.
    fn wait_for_work(&self) -> bool {
        let mut queue = self.queue.lock();
        loop {
            let is_closing = self.closing.load(Ordering::Acquire);
            match queue.due {
                None if is_closing => return false,
                None => self.queued.wait(&mut queue),
                Some(due) if is_closing || due <= Instant::now() => return true,
                Some(due) => {
                    self.queued.wait_until(&mut queue, due);
                }
            }
        }
    }

    /// Lets readers see up to a sequence number that a sync has just made durable.
    fn advance_visible(&self, snapshot: Snapshot) {
        let mut log = self.log.lock();
        self.syncing.store(!self.queue.lock().commits.is_empty(), Ordering::Release);
        self.advance_visible_in(&mut log, snapshot);
    }

    fn advance_visible_in(&self, log: &mut CommitLog, snapshot: Snapshot) {
        let next = self.db.seqno.get();
        invariant!(snapshot.seqno() <= next, "readers are shown {} of {next}", snapshot.seqno());
        log.advance_visible(snapshot.seqno());
        self.visible.advance(snapshot);
        self.feed_signals.tell();
    }

    /// Lets readers see up to a sequence number that needs no sync for its own sake; for that of others there may be one.
    pub fn advance_or_sync(&self, snapshot: Snapshot) -> SqlResult<()> {
        if self.syncing.load(Ordering::Acquire) {
            self.sync()?;
        }
        self.advance_visible_in(&mut self.log.lock(), snapshot);
        Ok(())
    }

    /// Advances the visible sequence number to the newest one, unless a commit is under way. The engine keeps all files that the
    /// visible number needs. Without this call, files that merges have replaced since the last commit would stay.
    pub fn advance_to_newest(&self) {
        let mut log = self.log.lock();
        if !self.syncing.load(Ordering::Acquire) {
            self.advance_visible_in(&mut log, self.db.snapshot());
        }
    }

    /// Moves rows from the store to its segments, durably. No answer changes by it, so it is no commit
    /// that others are checked against.
    pub fn seal(&self, request: SealRequest) -> SqlResult<u64> {
        let SealRequest { data, level, mut keys, whole_as_of, manifest } = request;
        let manifest_bytes =
            manifest.iter().map(|(key, content)| key.len() + content.as_ref().map_or(0, |content| content.len()));
        let bytes =
            keys.iter().map(|key| key.len()).chain(manifest_bytes).map(|bytes| bytes + CHANGE_OVERHEAD_BYTES).sum();
        self.gate.look();
        self.gate.check_commit(bytes)?;
        let snapshot = {
            let mut log = self.log.lock();
            let takes_all = whole_as_of.is_some_and(|seqno| data.keyspace.is_unchanged_since(seqno));
            level.retain_unchanged(&mut keys);
            let manifest_keys: Vec<Slice> = manifest.iter().map(|(key, _)| key.clone()).collect();
            let removed = keys.iter().map(|key| (key.clone(), None));
            let mut batch = Batch::default();
            batch.push_part(Part { keyspace: data.keyspace.clone(), changes: removed.chain(manifest).collect() });
            let _moving = level.move_rows();
            self.apply(&mut log, batch)?;
            let snapshot = self.db.snapshot();
            level.note_commit(manifest_keys.iter(), snapshot.seqno());
            if takes_all {
                level.note_empty(snapshot.seqno());
            }
            snapshot
        };
        // Segment rows may be changed by the manifest alone, which has no keys. That cannot happen meanwhile: the sealing thread
        // keeps the table's lock.
        keys.iter().for_each(|key| data.row_changed(key, snapshot.seqno()));
        self.count_written(bytes);
        self.sync()?;
        let since = snapshot.seqno();
        self.advance_visible_in(&mut self.log.lock(), snapshot);
        Ok(since)
    }

    /// Counts bytes that were given to the engine.
    fn count_written(&self, bytes: usize) {
        self.written_bytes.fetch_add(bytes as u64, Ordering::Relaxed);
        self.gate.count(bytes as u64);
    }

    /// Lets the commit thread end when the queue is empty.
    pub fn close(&self) {
        let _log = self.log.lock();
        let _queue = self.queue.lock();
        self.closing.store(true, Ordering::Release);
        self.queued.notify_all();
    }

    // ---- buffers that become files ----

    /// Lets a buffer become a file. All of it is in the log, durably, before: a file must not have a part of a batch whose
    /// other part a crash takes away.
    pub fn send_to_file(&self, keyspace: &Keyspace) -> SqlResult<()> {
        // Most of it while commits go on.
        self.sync()?;
        let _log = self.log.lock();
        self.sync()?;
        keyspace.rotate_memtable();
        Ok(())
    }

    fn buffer_is_full(&self, keyspace: Keyspace) {
        let mut queue = self.queue.lock();
        if !queue.full_buffers.contains(&keyspace) {
            queue.full_buffers.push(keyspace);
            if queue.make_due(Instant::now()) {
                self.queued.notify_one();
            }
        }
    }

    /// Waits while a keyspace has more buffers on their way to files, or files of such buffers, than reads should meet.
    fn wait_for_files(&self, keyspace: &Keyspace) {
        while (keyspace.tree.sealed_memtable_count() >= SEGMENT_BUFFERS_MAX
            || keyspace.tree.l0_run_count() >= BUFFER_FILES_MAX)
            && !keyspace.is_dropped()
            && !self.is_stopped()
        {
            std::thread::sleep(WAIT_FOR_FILES);
        }
    }

    /// Sends a keyspace's buffer to a file and waits for it, so that there is little in it when files are adopted: no other commit can run then.
    pub fn empty_buffer(&self, keyspace: &Keyspace) {
        // An error is met again by the next one who writes.
        let _ = self.send_to_file(keyspace);
        self.wait_for_buffers(keyspace);
    }

    /// Waits while a keyspace has buffers on their way to files.
    fn wait_for_buffers(&self, keyspace: &Keyspace) {
        while keyspace.tree.sealed_memtable_count() > 0 && !keyspace.is_dropped() && !self.is_stopped() {
            std::thread::sleep(WAIT_FOR_FILES);
        }
    }

    /// Keeps commits that wait for no sync from filling buffers faster than they become files.
    fn hold_back(&self) {
        let is_behind = || {
            let queue = self.queue.lock();
            queue
                .full_buffers
                .iter()
                .any(|keyspace| keyspace.tree.active_memtable().size() > BUFFER_TIMES_MAX * self.buffer_bytes_max)
        };
        while is_behind() && !self.is_stopped() {
            std::thread::sleep(WAIT_FOR_FILES);
        }
    }

    /// Whether nothing is written any more.
    pub fn is_stopped(&self) -> bool {
        self.gate.is_stopped() || self.closing.load(Ordering::Acquire)
    }
}
