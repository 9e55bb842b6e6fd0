//! Transactions: reading at a snapshot, locking, writing in private, committing.

mod bulk_change;
mod implicit_locks;
mod piecewise_search;
mod read_lock;
mod search;

use crate::commit::{CommitRequest, HeldLocks};
use crate::cursor::{Cursor, Direction};
use crate::engine::{Slice, Snapshot};
use crate::error::{StoreError, StoreResult, corrupted, engine_error, io_error};
use crate::index_key::{Entry, IndexCodec, KeyRange, row_key_of_entry};
use crate::level_keys::mark_key;
use crate::locks::{Acquired, LockFailure, LockKey, RowLock};
use crate::options::{IsolationLevel, LockMode, LockRequest, LockWait, TableLock, TransactionOptions};
use crate::read_view::{ReadView, Uncommitted};
use crate::row::{Row, RowKey, encode_row};
use crate::sealed::SealedRows;
use crate::store::RowStore;
use crate::table::Table;
use crate::ticket::{CommitTicket, TicketSender};
use crate::validation::ReadSet;
pub use piecewise_search::PiecewiseSearch;
use squall_types::session_memory::SessionMemory;
use squall_types::work_meter::carried;
use squall_types::{ErrorCode, SqlError, SqlResult, Value};
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// Memory of a row lock, roughly.
const LOCK_BYTES: usize = 130;
/// Locks that are taken between two charges.
const LOCKS_BETWEEN_CHARGES: usize = 1024;
/// What a transaction takes without being charged: most are small, and ask nobody.
const UNCHARGED_BYTES: usize = 64 << 10;

/// The key of an index entry, and what it has from now on.
struct EntryChange {
    key: Vec<u8>,
    /// `None` if it goes.
    value: Option<Vec<u8>>,
    /// It is one of many that a row has, which nobody looks up by its key.
    is_posting: bool,
}

impl EntryChange {
    /// A row is marked as one that others have read from a copy.
    fn mark(codec: &IndexCodec, key: &[u8]) -> EntryChange {
        EntryChange { key: mark_key(codec.id, key), value: Some(Vec::new()), is_posting: false }
    }
}

impl IndexCodec {
    fn put(&self, entry: Entry) -> EntryChange {
        EntryChange { key: entry.key, value: Some(entry.value), is_posting: self.has_postings() }
    }

    fn removed(&self, entry: Entry) -> EntryChange {
        EntryChange { key: entry.key, value: None, is_posting: self.has_postings() }
    }

    fn has_postings(&self) -> bool {
        self.has_terms() && !self.unique
    }
}

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
    /// Whoever runs the statement begins again where it meets a row that has changed.
    retries: bool,
    /// The sequence number registered for validation.
    validated_since: Option<u64>,
    lock_wait: LockWait,
    aborted: bool,
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

    /// Memory that what it has written takes until it is committed, bytes.
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

    /// What plain reads of the current statement see. Taken anew for each scan of a statement, it includes the
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
        let value = match self.own_change(table, key)? {
            Some(change) => change,
            None => {
                let seqno = self.snapshot().seqno();
                table.data.check_seqno(key, seqno)?;
                match self.own_sealed_rows(table)? {
                    Some(rows) => table.row_above(key, seqno, &*rows)?,
                    None => table.row_at(key, seqno, true)?,
                }
            }
        };
        value.map(|value| Row::check(table, Slice::new(key), value)).transpose()
    }

    /// A plain read of a range of the table or one of its indexes.
    pub fn scan(&mut self, table: &Arc<Table>, range: &KeyRange, direction: Direction) -> Cursor {
        self.read_view().scan(table, range, direction)
    }

    fn own_change(&self, table: &Table, key: &[u8]) -> SqlResult<Option<Option<Slice>>> {
        if !self.has_writes() {
            return Ok(None);
        }
        self.own.writes.read().get(table.id(), key)
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
        let mode_of = (mode, &self.own);
        match self.locks.table.lock_written_table(self.locks.owner, table.id(), mode_of, wait) {
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
                    // Those who have written it have the lock by now, too, and are waited for.
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
            Ok(_) => self.newest_row(table, &key, self.fails_on_change()),
            Err(error) if request.wait == LockWait::SkipLocked && is_held(&error) => Ok(None),
            Err(error) => Err(error),
        }
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
        LockingScan { cursor: view.scan(table, range, direction), request, pending: None, of_newest: false }
    }

    /// What rows to be changed are looked for in. One may have changed since, so whoever has found it locks it, reads it
    /// anew and looks again.
    pub fn change_view(&mut self) -> ReadView {
        self.fix_snapshot();
        match &self.snapshot {
            Some(snapshot) if self.fails_on_change() => self.view_at(snapshot.clone()),
            _ => self.view_at(self.store.snapshot()),
        }
    }

    /// What constraints are checked against: the newest rows, whatever the transaction's snapshot is.
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
        LockingScan { cursor, request, pending: None, of_newest: true }
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
        self.newest_checked(table, key, self.fails_on_change())
    }

    /// The newest version of a key that is locked; `fails` if it has changed after the snapshot.
    fn newest_checked(&mut self, table: &Table, key: &[u8], fails: bool) -> StoreResult<Option<Slice>> {
        if let Some(change) = self.own_change(table, key)? {
            return Ok(change);
        }
        // Nobody else changes a table whose list this transaction has changed.
        if let Some(rows) = self.own_sealed_rows(table)? {
            return Ok(table.newest_above(key, &*rows)?);
        }
        let keyspace = &table.data.keyspace;
        if self.store.gate().is_stopped() {
            // The newest may be what could not be synced, which nobody is to see.
            let snapshot = self.store.snapshot();
            let entry = snapshot.get(keyspace, key).map_err(engine_error)?;
            return Ok(table.or_sealed(entry, key, snapshot.seqno())?);
        }
        let (newest, written) = table.newest(key)?;
        if let Some(snapshot) = self.snapshot.as_ref().filter(|_| fails) {
            let changed = match written {
                Some(written) => written >= snapshot.seqno(),
                // When a sealed row was written is not known any more.
                None if table.data.sealed().is_some() => table.row_at(key, snapshot.seqno(), false)? != newest,
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

    /// The sealed rows of a table as this transaction has changed them.
    fn own_sealed_rows(&self, table: &Table) -> SqlResult<Option<Arc<dyn SealedRows>>> {
        let seqno = self.snapshot.as_ref().map_or_else(|| self.store.snapshot().seqno(), Snapshot::seqno);
        self.own.sealed_rows(table, seqno, u64::MAX)
    }

    fn newest_row(&mut self, table: &Table, key: &Slice, fails: bool) -> StoreResult<Option<Row>> {
        match self.newest_checked(table, key, fails)? {
            Some(value) => Ok(Some(Row::check(table, key.clone(), value)?)),
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

    /// What it has written and locked is charged to what [`Transaction::charge_to`] says (1041).
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

    /// Whether the disk has room for what has been written so far.
    fn check_room(&self, table: &Table) -> StoreResult<()> {
        let bytes = self.own.writes.read().bytes_to_come();
        Ok(self.store.gate().check_addition(bytes, &table.def().name)?)
    }

    fn write_request(&self) -> LockRequest {
        LockRequest { mode: LockMode::Exclusive, wait: self.lock_wait }
    }

    /// Inserts a row; `values` are those of all columns in the order of the definition, of the columns' types.
    pub fn insert(&mut self, table: &Table, values: &[Value]) -> StoreResult<RowKey> {
        self.check_writable(table)?;
        self.check_room(table)?;
        let key = Slice::from(table.place_row(values)?);
        if !table.has_hidden_row_id() {
            self.lock_row(table, &key, self.write_request())?;
            if self.newest(table, &key)?.is_some() {
                return Err(StoreError::duplicate(table, table.rows_codec(), (values, &key), key.to_vec()));
            }
        }
        let mut row = encode_row(&table.current_projection().layout, &key, values)?;
        self.store.pack_row(table, &key, &mut row);
        let mut entries = Vec::with_capacity(table.secondary_codecs().len());
        for codec in table.secondary_codecs() {
            if codec.has_terms() {
                for entry in codec.term_entries(values, &key)? {
                    self.check_unique(table, codec, &entry, values, true)?;
                    entries.push(codec.put(entry));
                }
                continue;
            }
            if codec.is_copy {
                entries.push(EntryChange::mark(codec, &key));
                continue;
            }
            let entry = codec.entry(values, &key)?;
            self.check_unique(table, codec, &entry, values, true)?;
            entries.push(codec.put(entry));
        }
        self.write(table, None, (key.clone(), Some(row.into()), 1), entries)?;
        table.observe_auto_increment(values);
        Ok(RowKey(key))
    }

    /// Writes a row of a table of the server's own that is never defined anew, has no index but its primary key, and whose rows have
    /// one writer each: nothing is locked, and what was there is not looked at. `is_new` says that nothing was.
    pub fn put(&mut self, table: &Table, values: &[Value], is_new: bool) -> SqlResult<()> {
        if !table.secondary_codecs().is_empty() || table.has_hidden_row_id() || table.is_retired() {
            return Err(SqlError::internal(format_args!("rows of {} have to be looked at", table.def().name)));
        }
        self.check_alive().map_err(SqlError::from)?;
        self.check_room(table).map_err(SqlError::from)?;
        let key = Slice::from(table.place_row(values)?);
        let mut row = encode_row(&table.current_projection().layout, &key, values)?;
        self.store.pack_row(table, &key, &mut row);
        self.own.any.store(true, Ordering::Release);
        let mut writes = self.own.writes.write();
        writes.put(&table.data, key, Some(row.into()), i64::from(is_new));
        self.put_entries(writes, table, Vec::new()).inspect_err(|_| self.abort_if_lost()).map_err(SqlError::from)
    }

    fn check_unique(
        &mut self,
        table: &Table,
        codec: &IndexCodec,
        entry: &Entry,
        values: &[Value],
        locked: bool,
    ) -> StoreResult<()> {
        if !entry.exclusive {
            return Ok(());
        }
        if locked {
            self.lock_row(table, &Slice::new(&entry.key), self.write_request())?;
        }
        match self.newest(table, &entry.key)? {
            Some(value) => {
                let existing = row_key_of_entry(&entry.key, &value).ok_or_else(|| corrupted(&table.def().name))?;
                Err(StoreError::duplicate(table, codec, (values, &entry.key), existing))
            }
            None => Ok(()),
        }
    }

    /// Locks a row for a change and makes sure that it is still what the caller has read. A caller that read it
    /// under a lock will find it so.
    fn lock_for_change(&mut self, table: &Table, row: &Row) -> StoreResult<()> {
        self.check_writable(table)?;
        if self.lock_row(table, &row.key, self.write_request())?.is_new()
            && self.newest_row(table, &row.key, self.fails_on_change())?.is_none_or(|newest| newest.value != row.value)
        {
            return Err(SqlError::new(ErrorCode::RecordChanged, &[&table.def().name]).into());
        }
        Ok(())
    }

    /// Gives a row new values, all of them; `old` was read under a lock by this transaction. The row's key is
    /// returned, as it may be another.
    pub fn update(&mut self, table: &Table, old: &Row, values: &[Value]) -> StoreResult<RowKey> {
        self.lock_for_change(table, old)?;
        self.check_room(table)?;
        let old_values = indexed_values(table, old)?;
        let moved_to = if table.has_hidden_row_id() {
            None
        } else {
            let key = table.rows_codec().primary_key(values)?;
            (key != old.key[..]).then(|| Slice::from(key))
        };
        if let Some(key) = &moved_to {
            self.lock_row(table, key, self.write_request())?;
            if self.newest(table, key)?.is_some() {
                return Err(StoreError::duplicate(table, table.rows_codec(), (values, key), key.to_vec()));
            }
        }
        let key = moved_to.clone().unwrap_or_else(|| old.key.clone());
        let changes = self.entry_changes(table, (&old_values, &old.key), (values, &key), true)?;
        let mut row = encode_row(&table.current_projection().layout, &key, values)?;
        self.store.pack_row(table, &key, &mut row);
        let moved_from = moved_to.map(|_| old.key.clone());
        self.write(table, moved_from, (key.clone(), Some(row.into()), 0), changes)?;
        Ok(RowKey(key))
    }

    /// What becomes of the entries of a row that gets another place or other values, with new unique ones looked for among those
    /// that are there. Unless the table is the transaction's alone, they are locked.
    fn entry_changes(
        &mut self,
        table: &Table,
        (old_values, old_key): (&[Value], &Slice),
        (values, key): (&[Value], &Slice),
        locked: bool,
    ) -> StoreResult<Vec<EntryChange>> {
        let moved = old_key != key;
        let mut changes = Vec::new();
        for codec in table.secondary_codecs() {
            if codec.has_terms() {
                let TermChanges { lost, got, moved } = term_changes(codec, (old_values, old_key), (values, key))?;
                for entry in lost.iter().filter(|entry| locked && entry.exclusive) {
                    // Whoever inserts the old value waits until it is known to be gone.
                    self.lock_row(table, &Slice::new(&entry.key), self.write_request())?;
                }
                for entry in &got {
                    self.check_unique(table, codec, entry, values, locked)?;
                }
                changes.extend(lost.into_iter().map(|entry| codec.removed(entry)));
                changes.extend(got.into_iter().chain(moved).map(|entry| codec.put(entry)));
                continue;
            }
            if codec.is_copy {
                let same = codec.parts.iter().all(|part| old_values[part.ordinal] == values[part.ordinal]);
                if moved {
                    changes.push(EntryChange::mark(codec, old_key));
                }
                if moved || !same {
                    changes.push(EntryChange::mark(codec, key));
                }
                continue;
            }
            let before = codec.entry(old_values, old_key)?;
            let after = codec.entry(values, key)?;
            if before.key == after.key {
                if before.value != after.value {
                    changes.push(codec.put(after));
                }
                continue;
            }
            if locked && before.exclusive {
                // Whoever inserts the old value waits until it is known to be gone.
                self.lock_row(table, &Slice::new(&before.key), self.write_request())?;
            }
            self.check_unique(table, codec, &after, values, locked)?;
            changes.push(codec.removed(before));
            changes.push(codec.put(after));
        }
        Ok(changes)
    }

    /// Deletes a row that this transaction has read under a lock.
    pub fn delete(&mut self, table: &Table, row: &Row) -> StoreResult<()> {
        self.lock_for_change(table, row)?;
        let values = indexed_values(table, row)?;
        let mut entries = Vec::with_capacity(table.secondary_codecs().len());
        let mut mark = None;
        for codec in table.secondary_codecs() {
            if codec.has_terms() {
                for entry in codec.term_entries(&values, &row.key)? {
                    if entry.exclusive {
                        self.lock_row(table, &Slice::new(&entry.key), self.write_request())?;
                    }
                    entries.push(codec.removed(entry));
                }
                continue;
            }
            if codec.is_copy {
                mark = Some(EntryChange::mark(codec, &row.key));
                continue;
            }
            let entry = codec.entry(&values, &row.key)?;
            if entry.exclusive {
                self.lock_row(table, &Slice::new(&entry.key), self.write_request())?;
            }
            entries.push(codec.removed(entry));
        }
        entries.extend(mark);
        self.write(table, None, (row.key.clone(), None, -1), entries)
    }

    // ---- savepoints and the end ----

    /// A place to roll back to: what has been written up to now stays.
    pub fn savepoint(&mut self) -> Savepoint {
        Savepoint(self.own.writes.write().next_step())
    }

    /// Undoes what has been written since. Locks stay.
    pub fn rollback_to(&mut self, savepoint: Savepoint) {
        self.own.writes.write().rollback_to(savepoint.0);
        // Less can always be had.
        let _ = self.charge_memory();
    }

    /// Undoes everything and gives the locks back.
    fn abort(&mut self) {
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
        let sealed = writes.take_sealed_rows();
        let reads = self.own.reads.as_ref().map(ReadSet::take).zip(self.validated_since);
        let locks = self.locks.take();
        let ticket = TicketSender(CommitTicket::new());
        let since = self.validated_since.take();
        let allows_commit_delay = self.options.allows_commit_delay;
        let (is_spilled, answer) = (writes.is_spilled(), ticket.0.clone());
        let request = CommitRequest { writes, sealed, reads, since, locks, allows_commit_delay, ticket };
        let (store, durability) = (self.store.clone(), self.options.durability);
        if !is_spilled {
            return store.committer().commit(request, durability);
        }
        // Files are made of what has left memory, which takes a while. A commit that gets no thread is cut short, and its ticket says so.
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

/// Whether a lock was not to be had because others hold it: SKIP LOCKED skips such rows, and no other error.
fn is_held(error: &StoreError) -> bool {
    matches!(error, StoreError::Sql(error) if error.is(ErrorCode::LockNowait))
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

/// What a change of a row does to its entries in an index of terms or elements.
#[derive(Default)]
struct TermChanges {
    /// Entries that go.
    lost: Vec<Entry>,
    /// Entries that were not there.
    got: Vec<Entry>,
    /// Entries that are there for the row's old place.
    moved: Vec<Entry>,
}

/// The entries of an index of terms or elements that a row loses and gets.
fn term_changes(
    codec: &IndexCodec,
    (old_values, old_key): (&[Value], &[u8]),
    (values, key): (&[Value], &[u8]),
) -> SqlResult<TermChanges> {
    let mut changes = TermChanges::default();
    let mut before = codec.term_entries(old_values, old_key)?.into_iter().peekable();
    let mut after = codec.term_entries(values, key)?.into_iter().peekable();
    // Both are in order.
    loop {
        let order = match (before.peek(), after.peek()) {
            (None, None) => return Ok(changes),
            (Some(_), None) => std::cmp::Ordering::Less,
            (None, Some(_)) => std::cmp::Ordering::Greater,
            (Some(old), Some(new)) => old.key.cmp(&new.key),
        };
        let lost = if order.is_le() { before.next() } else { None };
        let got = if order.is_ge() { after.next() } else { None };
        match (lost, got) {
            (Some(old), Some(new)) => changes.moved.extend((old.value != new.value).then_some(new)),
            (lost, got) => {
                changes.lost.extend(lost);
                changes.got.extend(got);
            }
        }
    }
}

/// The values of a row that its indexes need; NULL elsewhere.
fn indexed_values(table: &Table, row: &Row) -> SqlResult<Vec<Value>> {
    let view = row.view(table);
    let mut values = vec![Value::Null; table.def().columns.len()];
    for part in table.secondary_codecs().iter().flat_map(|codec| &codec.parts) {
        if values[part.ordinal].is_null() {
            values[part.ordinal] = view.get_value(part.ordinal)?;
        }
    }
    Ok(values)
}

/// A row in its newest version, and its lock.
#[derive(Debug)]
pub struct LockedRow {
    /// The row.
    pub row: Row,
    /// To be [given back](Transaction::give_back) if the row is not wanted.
    pub lock: RowLock,
}

/// A scan that locks what it yields.
pub struct LockingScan {
    cursor: Cursor,
    request: LockRequest,
    /// A row that could not be locked at once.
    pending: Option<Slice>,
    /// See [`Transaction::scan_newest`].
    of_newest: bool,
}

impl LockingScan {
    /// The next row, locked, in its newest version. After [`StoreError::WouldBlock`] the same row is tried again.
    pub fn next(&mut self, txn: &mut Transaction) -> StoreResult<Option<LockedRow>> {
        let table = self.cursor.table().clone();
        loop {
            let key = match self.pending.take() {
                Some(key) => key,
                None => {
                    let Some((key, value)) = self.cursor.next_pair()? else { return Ok(None) };
                    if crate::cursor::is_row_key(&key) {
                        key
                    } else {
                        let row_key = row_key_of_entry(&key, &value).ok_or_else(|| corrupted(&table.def().name))?;
                        row_key.into()
                    }
                }
            };
            let lock = match txn.lock_found(&table, &key, self.request) {
                Ok(lock) => lock,
                Err(StoreError::WouldBlock) => {
                    self.pending = Some(key);
                    return Err(StoreError::WouldBlock);
                }
                Err(error) if self.request.wait == LockWait::SkipLocked && is_held(&error) => continue,
                Err(error) => return Err(error),
            };
            let fails = if self.of_newest { txn.is_serializable() } else { txn.fails_on_change() };
            if let Some(row) = txn.newest_row(&table, &key, fails)? {
                return Ok(Some(LockedRow { row, lock }));
            }
        }
    }

    /// How the next rows are locked; a blocking thread changes it from `WouldBlock`.
    pub fn set_wait(&mut self, wait: LockWait) {
        self.request.wait = wait;
    }
}
