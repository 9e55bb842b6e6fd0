//! Transactions: reading at a snapshot, locking, writing in private, committing.

mod bulk_change;
mod change;
mod entry_change;
mod implicit_locks;
mod large_values;
mod locking_scan;
mod piecewise_search;
mod prepare;
mod read_lock;
mod search;

use crate::commit::{CommitRequest, HeldLocks};
use crate::engine::{Slice, Snapshot};
use crate::error::{StoreError, StoreResult, engine_error, io_error};
use crate::index_key::{Direction, KeyRange};
use crate::locks::{Acquired, LockFailure, LockKey, RowLock, UncommittedWrites};
use crate::options::{IsolationLevel, LockMode, LockRequest, LockWait, TableLock, TransactionOptions};
use crate::read_view::Cursor;
use crate::read_view::{ReadView, Uncommitted, first_found};
use crate::store::RowStore;
use crate::table::Table;
use crate::table::row::Row;
use crate::table::segment_level::SegmentSnapshot;
use crate::ticket::{CommitTicket, TicketSender};
use crate::validation::ReadSet;
use locking_scan::is_held;
pub use locking_scan::{LockedRow, LockingScan};
pub use piecewise_search::PiecewiseSearch;
pub(crate) use prepare::PreparedItem;
use squall_accounting::SessionMemory;
use squall_accounting::work_meter::carried;
use squall_catalog::TableId;
use squall_types::{ErrorCode, SqlError, SqlResult};
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// Memory of a row lock, roughly.
const LOCK_BYTES: usize = 130;
/// Locks that are taken between two charges.
const LOCKS_BETWEEN_CHARGES: usize = 1024;
/// The bytes of a transaction that are not charged: most transactions are small.
const UNCHARGED_BYTES: usize = 64 << 10;

/// A place to roll back to within a transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Savepoint(u64);

/// A transaction. Dropping it rolls it back.
pub struct Transaction {
    store: RowStore,
    options: TransactionOptions,
    locks: HeldLocks,
    own: Arc<Uncommitted>,
    /// For the transaction, or for the statement at READ COMMITTED.
    snapshot: Option<Snapshot>,
    /// Whether there was none when the statement began: nothing has been told of it yet.
    is_first_read: bool,
    /// The caller begins the statement again where it meets a row that has changed.
    retries: bool,
    /// Whether a locking read with autocommit locks the ranges that it searches.
    locks_searched: bool,
    /// The snapshot in which the statement reads the table that it inserts into.
    found_in: Option<(TableId, Snapshot)>,
    /// The sequence number registered for validation.
    validated_since: Option<u64>,
    lock_wait: LockWait,
    aborted: bool,
}

impl RowStore {
    /// Begins a transaction.
    pub fn begin(&self, isolation: IsolationLevel, read_only: bool) -> Transaction {
        let durability = self.0.options.durability;
        self.begin_with(TransactionOptions { read_only, durability, ..TransactionOptions::new(isolation) }, None)
    }

    /// Begins a transaction with all options. Owners of one session never wait for each other's locks.
    pub fn begin_with(&self, options: TransactionOptions, session: Option<u64>) -> Transaction {
        Transaction::new(self.clone(), options, self.new_owner(session))
    }
}

impl Transaction {
    pub(crate) fn new(store: RowStore, options: TransactionOptions, locks: HeldLocks) -> Transaction {
        let reads = (options.isolation == IsolationLevel::Serializable).then(ReadSet::default);
        Transaction {
            store,
            options,
            locks,
            own: Arc::new(Uncommitted { reads, ..Uncommitted::default() }),
            snapshot: None,
            is_first_read: false,
            retries: false,
            locks_searched: false,
            found_in: None,
            validated_since: None,
            lock_wait: LockWait::default(),
            aborted: false,
        }
    }

    /// Its number; later transactions have greater ones.
    pub fn id(&self) -> u64 {
        self.locks.owner.id
    }

    /// How it was begun.
    pub fn options(&self) -> &TransactionOptions {
        &self.options
    }

    /// See [`TransactionOptions::allows_commit_delay`].
    pub fn allow_commit_delay(&mut self, on: bool) {
        self.options.allows_commit_delay = on;
    }

    /// Whether anything has been written.
    pub fn has_writes(&self) -> bool {
        self.own.any.load(Ordering::Acquire)
    }

    /// Memory of its uncommitted writes, bytes.
    pub fn written_bytes(&self) -> usize {
        self.own.writes.read().bytes()
    }

    /// Whether rolling it back takes a while.
    pub fn is_large(&self) -> bool {
        const LOCKS_MAX: usize = 1000;
        const BYTES_MAX: usize = 256 << 10;
        let writes = self.own.writes.read();
        self.locks.rows.len() > LOCKS_MAX || writes.bytes() > BYTES_MAX || writes.is_spilled()
    }

    /// Whether the transaction has been rolled back by a deadlock (1213) or a changed row (1020). Nothing can be done
    /// with it but to drop it.
    pub fn is_aborted(&self) -> bool {
        self.aborted
    }

    /// Begins a statement: at READ COMMITTED it gets a snapshot of its own.
    pub fn begin_statement(&mut self, lock_wait: LockWait) {
        self.lock_wait = lock_wait;
        self.let_written_locks_go(None);
        self.locks.rows_looked_at = self.locks.rows.len();
        if self.sees_newest() {
            self.snapshot = None;
        }
        self.is_first_read = self.snapshot.is_none() && self.own.reads.is_none();
        self.retries = false;
        self.locks_searched = false;
        self.found_in = None;
    }

    /// Whether each statement sees what is committed when it begins.
    fn sees_newest(&self) -> bool {
        self.options.autocommit || self.options.isolation <= IsolationLevel::ReadCommitted
    }

    /// Whether the statement may begin again with what is committed by then.
    pub fn may_begin_again(&self) -> bool {
        self.sees_newest() || self.is_first_read
    }

    /// Says that the statement will [begin again](Transaction::begin_again), if it may, where it meets a row that has changed since the
    /// snapshot: the transaction stays as it is then (1020). For this statement.
    pub fn retry_on_change(&mut self) {
        self.retries = self.may_begin_again();
    }

    /// Says that the statement inserts into a table what it reads there in a view, without locks. Then a new row's place, and those of its unique
    /// keys, are to be as they were there (1020), if the statement [begins again](Transaction::retry_on_change): otherwise it would bring rows back
    /// that others have deleted meanwhile.
    pub fn insert_as_found(&mut self, table: &Table, view: &ReadView) {
        self.found_in = self.retries.then(|| (table.id(), view.snapshot.clone()));
    }

    /// Says that the statement is a locking read: also with autocommit it locks the ranges that it searches. So it finds what a transaction that it
    /// waits for puts there.
    pub fn lock_searched(&mut self) {
        self.locks_searched = true;
    }

    /// Says that the statement takes the newest version of what has changed since it began.
    pub fn take_changes(&mut self) {
        self.retries = false;
    }

    /// Lets the statement [begin again](Transaction::may_begin_again); what it has written has been taken back.
    pub fn begin_again(&mut self) {
        if self.may_begin_again() {
            self.snapshot = None;
        }
    }

    /// Takes the snapshot now, as START TRANSACTION WITH CONSISTENT SNAPSHOT does.
    pub fn take_snapshot(&mut self) {
        self.snapshot();
    }

    fn snapshot(&mut self) -> &Snapshot {
        if self.snapshot.is_none() && self.own.reads.is_some() {
            let (snapshot, since) = self.store.validated_snapshot();
            self.validated_since = Some(since);
            self.snapshot = Some(snapshot);
        }
        self.snapshot.get_or_insert_with(|| self.store.snapshot())
    }

    /// The snapshot of plain reads of the current statement. Taken again for each scan of a statement, it includes the
    /// transaction's writes up to now and none of the later ones.
    pub fn read_view(&mut self) -> ReadView {
        let snapshot = self.snapshot().clone();
        self.view_at(snapshot)
    }

    fn view_at(&self, snapshot: Snapshot) -> ReadView {
        let step = self.own.writes.write().next_step();
        ReadView { snapshot, own: Some(self.own.clone()), step }
    }

    /// A plain read of one row.
    pub fn get(&mut self, table: &Table, key: &[u8]) -> SqlResult<Option<Row>> {
        if let Some(reads) = &self.own.reads {
            reads.add(table.id(), KeyRange::point(key));
        }
        if let Some(partitions) = &table.partitions {
            let storages = table.storages_for_key(partitions, key);
            return first_found(storages, |storage| self.get(storage, key));
        }
        if let Some(change) = self.own_change(table, key)? {
            let Some(value) = change else { return Ok(None) };
            return self.with_own_large_values(table, Row::check(table, Slice::new(key), value)?).map(Some);
        }
        let seqno = self.snapshot().seqno();
        table.check_seqno(key, seqno)?;
        let value = match self.own_segment_rows(table)? {
            Some(rows) => table.row_above(key, seqno, &*rows)?,
            None => table.row_at(key, seqno, true)?,
        };
        let Some(value) = value else { return Ok(None) };
        Ok(Some(Row::check(table, Slice::new(key), value)?.in_snapshot(table, self.snapshot())))
    }

    /// A plain read of a range of the table or one of its indexes.
    pub fn scan(&mut self, table: &Arc<Table>, range: &KeyRange, direction: Direction) -> Cursor {
        self.read_view().scan(table, range, direction)
    }

    fn own_change(&self, table: &Table, key: &[u8]) -> SqlResult<Option<Option<Slice>>> {
        if !self.has_writes() {
            return Ok(None);
        }
        self.own.writes.read().get(table.storage_id(), key)
    }

    // ---- locks ----

    /// Locks a table until the transaction ends. Writes do so by themselves.
    pub fn lock_table(&mut self, table: &Table, mode: TableLock, wait: LockWait) -> StoreResult<()> {
        self.check_alive()?;
        if mode != TableLock::Read {
            self.heed_read_lock(table, wait)?;
        }
        if self.locks.tables.iter().any(|(id, held)| *id == table.id() && covers(*held, mode)) && !table.is_outdated() {
            return Ok(());
        }
        let own: Arc<dyn UncommittedWrites> = self.own.clone();
        match self.locks.table.lock_written_table(self.locks.owner, table.id(), (mode, own), wait) {
            Ok(acquired) => {
                if acquired.is_new() {
                    self.locks.tables.push((table.id(), mode));
                } else if let Some(held) = self.locks.tables.iter_mut().find(|(id, _)| *id == table.id()) {
                    held.1 = mode;
                }
            }
            Err(failure) => return Err(self.lock_failed(failure)),
        }
        if table.is_retired() || mode != TableLock::Read && table.is_outdated() {
            return Err(SqlError::new(ErrorCode::DoesNotSupportSchemaChange, &[]).into());
        }
        Ok(())
    }

    fn lock_row(&mut self, table: &Table, key: &Slice, request: LockRequest) -> StoreResult<Acquired> {
        self.lock_table(table, table_lock(request.mode), request.wait)?;
        let key = LockKey::new(table.id(), key);
        loop {
            let acquired = match self.locks.table.lock_row(self.locks.owner, &key, request.mode, request.wait) {
                Ok(acquired) => acquired,
                Err(failure) => return Err(self.lock_failed(failure)),
            };
            if acquired != Acquired::Held {
                let met = self.meet_large_writers(table, &key, request.wait);
                if !matches!(met, Ok(false)) {
                    // Transactions that have written it have the lock by now, too, and are waited for.
                    self.locks.table.give_back(self.locks.owner, RowLock::of(acquired, &key));
                    met?;
                    continue;
                }
            }
            if acquired.is_new() {
                self.locks.rows.push(key);
                if self.locks.rows.len().is_multiple_of(LOCKS_BETWEEN_CHARGES) {
                    self.let_written_locks_go(Some(table));
                    self.charge_memory()?;
                }
            }
            return Ok(acquired);
        }
    }

    fn lock_failed(&mut self, failure: LockFailure) -> StoreError {
        if failure == LockFailure::Deadlock {
            self.abort();
        }
        failure.into()
    }

    /// Locks a row and reads its newest version. `None` if there is none, or if it is locked and to be skipped; an
    /// absent row's place stays locked.
    pub fn get_locked(&mut self, table: &Table, key: &[u8], request: LockRequest) -> StoreResult<Option<Row>> {
        self.fix_snapshot();
        let key = Slice::new(key);
        match self.lock_row(table, &key, request) {
            Ok(_) => self.newest_row(table, &key, self.fails_on_change(), None),
            Err(error) if request.wait == LockWait::SkipLocked && is_held(&error) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Whether others have changed a row since a view. Changes of this transaction do not count: committed versions are compared. The row must
    /// be locked, so that the answer holds.
    pub fn is_changed_since(&self, view: &ReadView, table: &Table, key: &[u8]) -> SqlResult<bool> {
        if let Some(partitions) = &table.partitions {
            for storage in table.storages_for_key(partitions, key) {
                if self.is_changed_since(view, storage, key)? {
                    return Ok(true);
                }
            }
            return Ok(false);
        }
        // No other session changes a table whose list this transaction has changed.
        if self.own_segment_rows(table)?.is_some() {
            return Ok(false);
        }
        let (newest, _) = table.newest(key)?;
        Ok(newest != table.row_at(key, view.snapshot.seqno(), false)?)
    }

    /// A scan that locks each row and yields its newest version. A row may have changed since the scan began, so the
    /// caller checks its condition on what it gets; rows that are gone are left out.
    pub fn scan_locked(
        &mut self,
        table: &Arc<Table>,
        range: &KeyRange,
        direction: Direction,
        request: LockRequest,
    ) -> LockingScan {
        let view = self.change_view();
        let cursor = view.scan(table, range, direction);
        let since = self.retries.then_some(view.snapshot);
        LockingScan { cursor, request, pending: None, of_newest: false, since }
    }

    /// The view in which rows to be changed are searched. One may have changed since, so a caller that has found it locks it,
    /// reads it again and looks again.
    pub fn change_view(&mut self) -> ReadView {
        self.fix_snapshot();
        match &self.snapshot {
            Some(snapshot) if self.fails_on_change() => self.view_at(snapshot.clone()),
            _ => self.view_at(self.store.snapshot()),
        }
    }

    /// The view that constraints are checked in: the newest rows, not the transaction's snapshot.
    pub fn newest_view(&mut self) -> ReadView {
        self.fix_snapshot();
        self.view_at(self.store.snapshot())
    }

    /// A scan of the [newest rows](Transaction::newest_view) that locks each and yields its newest version. At SERIALIZABLE one that
    /// has changed since the transaction's sequence number is an error (1020), as everywhere.
    pub fn scan_newest(
        &mut self,
        view: &ReadView,
        table: &Arc<Table>,
        range: &KeyRange,
        request: LockRequest,
    ) -> LockingScan {
        let cursor = view.scan(table, range, Direction::Forward);
        LockingScan { cursor, request, pending: None, of_newest: true, since: None }
    }

    /// SERIALIZABLE checks everything since one sequence number, so the sequence number comes before the first lock.
    fn fix_snapshot(&mut self) {
        if self.own.reads.is_some() {
            self.snapshot();
        }
    }

    /// Whether meeting a row that changed after the snapshot is an error.
    fn fails_on_change(&self) -> bool {
        self.is_serializable()
            || !self.options.autocommit
                && self.options.isolation == IsolationLevel::RepeatableRead
                && self.options.snapshot_isolation
    }

    fn is_serializable(&self) -> bool {
        !self.options.autocommit && self.options.isolation == IsolationLevel::Serializable
    }

    /// The newest version of a key that is locked.
    fn newest(&mut self, table: &Table, key: &[u8]) -> StoreResult<Option<Slice>> {
        let found_in = self.found_in.as_ref().filter(|(id, _)| *id == table.id()).map(|(_, snapshot)| snapshot.clone());
        self.newest_checked(table, key, self.fails_on_change(), found_in.as_ref())
    }

    /// The newest version of a key that is locked; `fails` if it has changed after the snapshot, or after the one that a scan reads in.
    fn newest_checked(
        &mut self,
        table: &Table,
        key: &[u8],
        fails: bool,
        scanned: Option<&Snapshot>,
    ) -> StoreResult<Option<Slice>> {
        if let Some(change) = self.own_change(table, key)? {
            return Ok(change);
        }
        // No other session changes a table whose list this transaction has changed.
        if let Some(rows) = self.own_segment_rows(table)? {
            return Ok(table.newest_above(key, &*rows)?);
        }
        let keyspace = &table.data.keyspace;
        if self.store.gate().is_stopped() {
            // The newest may be what could not be synced, which no session may see.
            let snapshot = self.store.snapshot();
            let entry = snapshot.get(keyspace, key).map_err(engine_error)?;
            return Ok(table.or_in_segment(entry, key, snapshot.seqno())?);
        }
        let (newest, written) = table.newest(key)?;
        if let Some(snapshot) = self.snapshot.as_ref().filter(|_| fails).or(scanned) {
            let changed = match written {
                Some(written) => written >= snapshot.seqno(),
                // When a segment row was written is not known any more.
                None if table.data.segment_level().is_some() => table.row_at(key, snapshot.seqno(), false)? != newest,
                None => snapshot.contains_key(keyspace, key).map_err(engine_error)?,
            };
            if changed {
                if !self.retries {
                    self.abort();
                }
                return Err(SqlError::new(ErrorCode::RecordChanged, &[&table.def().name]).into());
            }
        }
        Ok(newest)
    }

    /// The segment rows of a table as this transaction has changed them.
    fn own_segment_rows(&self, table: &Table) -> SqlResult<Option<Arc<dyn SegmentSnapshot>>> {
        let seqno = self.snapshot.as_ref().map_or_else(|| self.store.snapshot().seqno(), Snapshot::seqno);
        self.own.segment_rows(table, seqno, u64::MAX)
    }

    fn newest_row(
        &mut self,
        table: &Table,
        key: &Slice,
        fails: bool,
        scanned: Option<&Snapshot>,
    ) -> StoreResult<Option<Row>> {
        if let Some(partitions) = &table.partitions {
            let storages = table.storages_for_key(partitions, key);
            return first_found(storages, |storage| self.newest_row(storage, key, fails, scanned));
        }
        match self.newest_checked(table, key, fails, scanned)? {
            Some(value) => self.newest_with_large_values(table, Row::check(table, key.clone(), value)?).map(Some),
            None => Ok(None),
        }
    }

    // ---- writes ----

    fn check_alive(&self) -> StoreResult<()> {
        if self.aborted {
            return Err(SqlError::internal("the transaction has been rolled back").into());
        }
        Ok(())
    }

    fn check_writable(&mut self, table: &Table) -> StoreResult<()> {
        self.check_alive()?;
        if self.options.read_only && !table.def().temporary {
            return Err(SqlError::new(ErrorCode::ReadOnlyTransaction, &[]).into());
        }
        self.lock_table(table, TableLock::Write, self.lock_wait)?;
        self.fix_snapshot();
        Ok(self.charge_memory()?)
    }

    /// Its writes and locks are charged to the account of [`Transaction::charge_to`] (1041).
    fn charge_memory(&mut self) -> SqlResult<()> {
        let written = {
            let writes = self.own.writes.read();
            writes.bytes() + writes.bytes_kept()
        };
        let bytes = written + self.locks.rows.len() * LOCK_BYTES;
        match &mut self.locks.memory {
            Some(memory) => memory.resize(bytes.saturating_sub(UNCHARGED_BYTES)),
            None => Ok(()),
        }
    }

    /// Charges the memory that its changes and locks take, beyond a little, to a session.
    pub fn charge_to(&mut self, memory: &Arc<SessionMemory>) {
        self.locks.memory = Some(memory.charge());
    }

    /// Whether the disk has space for what has been written so far.
    fn check_room(&self, table: &Table) -> StoreResult<()> {
        let bytes = self.own.writes.read().bytes_to_come();
        Ok(self.store.gate().check_addition(bytes, &table.def().name)?)
    }

    // ---- savepoints and the end ----

    /// A place to roll back to: what has been written up to now stays.
    pub fn savepoint(&mut self) -> Savepoint {
        Savepoint(self.own.writes.write().next_step())
    }

    /// Undoes what has been written since. Locks stay.
    pub fn rollback_to(&mut self, savepoint: Savepoint) {
        self.own.writes.write().rollback_to(savepoint.0);
        // Less is always available.
        let _ = self.charge_memory();
    }

    /// Undoes everything and gives the locks back. The transaction does nothing more, and its statement cannot go on.
    pub fn abort(&mut self) {
        self.aborted = true;
        *self.own.writes.write() = Default::default();
        self.own.any.store(false, Ordering::Release);
        self.end();
        self.locks.release();
    }

    fn end(&mut self) {
        self.snapshot = None;
        if let Some(since) = self.validated_since.take() {
            self.store.committer().log.lock().unregister(since);
        }
    }

    /// Rolls back, as dropping does.
    pub fn rollback(self) {
        drop(self);
    }

    /// Commits and waits until that is done.
    pub fn commit(self) -> SqlResult<()> {
        self.commit_async().wait()
    }

    /// Begins to commit; the ticket tells when that is done. Never blocks for a sync.
    pub fn commit_async(mut self) -> CommitTicket {
        if let Err(error) = self.check_alive() {
            return CommitTicket::ready(Err(error.into()));
        }
        let mut writes = self.own.writes.write().take();
        if writes.is_empty() {
            return CommitTicket::ready(Ok(()));
        }
        let segment_rows = writes.take_segment_rows();
        let reads = self.own.reads.as_ref().map(ReadSet::take).zip(self.validated_since);
        let locks = self.locks.take();
        let ticket = TicketSender(CommitTicket::new());
        let since = self.validated_since.take();
        let allows_commit_delay = self.options.allows_commit_delay;
        let (is_spilled, answer) = (writes.is_spilled(), ticket.0.clone());
        let request =
            CommitRequest { writes, segment_rows, reads, since, locks, allows_commit_delay, removes: None, ticket };
        let (store, durability) = (self.store.clone(), self.options.durability);
        if !is_spilled {
            return store.committer().commit(request, durability);
        }
        // Spilled writes become files, which takes a while. A commit that gets no thread is cut short, and its ticket says so.
        let commit = carried(move || drop(store.committer().commit(request, durability)));
        match std::thread::Builder::new().name("squall-large-commit".into()).spawn(commit) {
            Ok(_) => answer,
            Err(error) => CommitTicket::ready(Err(io_error(&error))),
        }
    }
}

impl Drop for Transaction {
    fn drop(&mut self) {
        self.end();
    }
}

/// The lock of a table that goes with locks of its rows.
fn table_lock(mode: LockMode) -> TableLock {
    match mode {
        LockMode::Shared => TableLock::Read,
        LockMode::Exclusive => TableLock::Write,
    }
}

/// Whether a held table lock is as strong as another.
fn covers(held: TableLock, wanted: TableLock) -> bool {
    held == wanted || held == TableLock::Exclusive || wanted == TableLock::Read
}
