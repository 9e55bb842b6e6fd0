//! Locks the ranges that a transaction has searched, and lets its writes respect the ranges of others.

use super::entry_change::EntryChange;
use super::{LockedRow, Transaction, table_lock};
use crate::engine::Slice;
use crate::error::{StoreError, StoreResult};
use crate::index_key::{KeyRange, index_range, split_index_id};
use crate::locks::{LockFailure, LockKey, RowLock, UncommittedWrites, range_lock};
use crate::options::{IsolationLevel, LockMode, LockRequest, LockWait};
use crate::store::is_temporary;
use crate::table::Table;
use crate::write_set::WriteSet;
use crate::written::Change;
use parking_lot::RwLockWriteGuard;
use std::ops::Bound;
use std::sync::atomic::Ordering;
use std::time::Duration;

/// The time that even a caller with NOWAIT waits for a running commit, whose writes can no longer be searched: a few syncs.
const COMMIT_WAIT: Duration = Duration::from_secs(1);

/// Ranges of one search that are locked each by itself.
const RANGES_MAX: usize = 16;

/// Ranges of a table that a transaction has locked, after which it locks whole indexes.
const SEARCHED_MAX: usize = 256;

/// Writes of others that are looked at at a time.
const WRITES_MET: usize = 256;

/// The range from the first key of several ranges to the last.
fn hull(ranges: &[KeyRange]) -> KeyRange {
    let start = |range: &KeyRange| match &range.start {
        Bound::Included(key) | Bound::Excluded(key) => Some(key.clone()),
        Bound::Unbounded => None,
    };
    let end = |range: &KeyRange| match &range.end {
        Bound::Included(key) | Bound::Excluded(key) => Some(key.clone()),
        Bound::Unbounded => None,
    };
    // Whether an end is inside or outside does not matter, because the locked range may be larger.
    let starts: Option<Vec<_>> = ranges.iter().map(start).collect();
    let ends: Option<Vec<_>> = ranges.iter().map(end).collect();
    KeyRange {
        start: starts.and_then(|starts| starts.into_iter().min()).map_or(Bound::Unbounded, Bound::Included),
        end: ends.and_then(|ends| ends.into_iter().max()).map_or(Bound::Unbounded, Bound::Included),
    }
}

/// A row or entry that another transaction has put into a range.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Met {
    Nothing,
    /// It is being committed; what it is cannot be seen.
    Committing,
    Keys,
}

impl Transaction {
    /// Whether what was searched stays as it is until the transaction ends.
    pub(super) fn keeps_searched(&self) -> bool {
        !self.options.autocommit && self.options.isolation >= IsolationLevel::RepeatableRead
    }

    /// Locks ranges of keys, of the table itself or of an index, before they are searched for rows to lock or to change: no other
    /// transaction puts anything there until the transaction ends, and transactions that have done so already are waited for. Many
    /// ranges are locked together with what lies between them. Does nothing at READ COMMITTED, in an autocommit statement that is
    /// no [locking read](Transaction::lock_searched), and with SKIP LOCKED, because their answers need no protection.
    ///
    /// Tells whether it has locked them: then a new [view](Transaction::change_view) sees all earlier commits.
    ///
    /// # Errors
    /// Those of waiting.
    pub fn lock_ranges(&mut self, table: &Table, ranges: &[KeyRange], request: LockRequest) -> StoreResult<bool> {
        if !self.locks_searched(table, request) || ranges.is_empty() {
            return Ok(false);
        }
        self.lock_table(table, table_lock(request.mode), request.wait)?;
        if ranges.len() > RANGES_MAX {
            self.lock_range(table, &hull(ranges), request)?;
            return Ok(true);
        }
        for range in ranges.iter().filter(|range| !range.is_empty()) {
            self.lock_range(table, range, request)?;
        }
        Ok(true)
    }

    /// The same for a key that one row at most can have, the table's or a unique index's, and that a search has not found: no other
    /// transaction puts it there.
    ///
    /// # Errors
    /// Those of waiting.
    pub fn lock_absent(&mut self, table: &Table, key: &[u8], request: LockRequest) -> StoreResult<bool> {
        if !self.locks_searched(table, request) {
            return Ok(false);
        }
        self.lock_row(table, &Slice::new(key), request)?;
        Ok(true)
    }

    fn locks_searched(&self, table: &Table, request: LockRequest) -> bool {
        let is_locking_read = self.locks_searched && self.options.isolation >= IsolationLevel::RepeatableRead;
        (self.keeps_searched() || is_locking_read) && request.wait != LockWait::SkipLocked && !is_temporary(table.id())
    }

    fn lock_range(&mut self, table: &Table, range: &KeyRange, request: LockRequest) -> StoreResult<()> {
        let whole = match &range.start {
            Bound::Included(key) | Bound::Excluded(key)
                if table.data.logical.searched.count_of(self.locks.owner) >= SEARCHED_MAX =>
            {
                split_index_id(key).map(|(index, _)| index_range(index))
            }
            _ => None,
        };
        let range = whole.as_ref().unwrap_or(range);
        let lock = range_lock(table.id(), range);
        if !table.data.logical.searched.add(self.locks.owner, range, &lock) {
            return Ok(());
        }
        if self.locks.searched.iter().all(|searched| searched.id != table.id()) {
            self.locks.searched.push(table.data.logical.clone());
        }
        let met = self.meet_writers(table, range, &lock, request.wait).inspect_err(|_| {
            table.data.logical.searched.remove(self.locks.owner, &lock);
        })?;
        let wait = match met {
            Met::Committing if request.wait == LockWait::Nowait => LockWait::Timeout(COMMIT_WAIT),
            _ => request.wait,
        };
        match self.locks.table.lock_row(self.locks.owner, &lock, LockMode::Shared, wait) {
            Ok(acquired) => {
                table.data.logical.searched.forget_covered(self.locks.owner, range, &lock);
                if acquired.is_new() {
                    self.locks.rows.push(lock);
                }
                Ok(())
            }
            Err(failure) => {
                table.data.logical.searched.remove(self.locks.owner, &lock);
                let is_unasked = failure == LockFailure::Timeout && request.wait == LockWait::Nowait;
                Err(self.lock_failed(if is_unasked { LockFailure::Nowait } else { failure }))
            }
        }
    }

    /// Locks a row and tells how, so that the lock can be released.
    pub(super) fn lock_found(&mut self, table: &Table, key: &Slice, request: LockRequest) -> StoreResult<RowLock> {
        let acquired = self.lock_row(table, key, request)?;
        Ok(RowLock::of(acquired, &LockKey::new(table.id(), key)))
    }

    /// Gives the lock of a row back that turned out not to be wanted: the lock is what it was before the row was found. The lock of
    /// a written row stays. If [searched ranges are locked](Transaction::lock_ranges), the locks of all rows that were read stay.
    pub fn give_back(&mut self, lock: RowLock) {
        // What cannot be read is taken to have been written.
        let is_written =
            |at: &LockKey| self.own.writes.read().get_of_table(at.table, &at.key).map_or(true, |own| own.is_some());
        if self.keeps_searched() || lock.key().is_some_and(is_written) {
            return;
        }
        if let Some(key) = self.locks.table.give_back(self.locks.owner, lock)
            && let Some(at) = self.locks.rows.iter().rposition(|held| *held == key)
        {
            self.locks.rows.swap_remove(at);
        }
    }

    /// Locks a row that may not be wanted in the end and reads its newest version; returns its lock, too.
    pub fn find_locked(&mut self, table: &Table, key: &[u8], request: LockRequest) -> StoreResult<Option<LockedRow>> {
        self.fix_snapshot();
        let key = Slice::new(key);
        let lock = self.lock_found(table, &key, request)?;
        Ok(self.newest_row(table, &key, self.fails_on_change(), None)?.map(|row| LockedRow { row, lock }))
    }

    /// Gives the lock of a range to transactions that have written there.
    fn meet_writers(&self, table: &Table, range: &KeyRange, lock: &LockKey, wait: LockWait) -> StoreResult<Met> {
        let mut all = Met::Nothing;
        for (owner, written) in self.locks.table.writers(self.locks.owner, table.id()) {
            let bounds = (range.start.as_ref().map(Vec::as_slice), range.end.as_ref().map(Vec::as_slice));
            if wait == LockWait::WouldBlock && written.is_busy(table.id(), bounds) {
                return Err(StoreError::WouldBlock);
            }
            let met = self.met_in(table, range, &*written)?;
            if met != Met::Nothing {
                self.locks.table.make_explicit(owner, &*written, lock);
            }
            if all != Met::Keys && met != Met::Nothing {
                all = met;
            }
        }
        Ok(all)
    }

    fn met_in(&self, table: &Table, range: &KeyRange, written: &dyn UncommittedWrites) -> StoreResult<Met> {
        let mut start = range.start.as_ref().map(|key| Slice::new(key));
        let end = range.end.as_ref().map(Vec::as_slice);
        loop {
            let bounds = (start.as_ref().map(|key| &key[..]), end);
            let Some(batch) = written.writes_of(table.id(), bounds, WRITES_MET)? else {
                return Ok(Met::Committing);
            };
            for key in batch.iter().filter(|written| written.change.is_some()).map(|written| &written.key) {
                // A row that was there is found by the search, which waits at its own lock.
                if !crate::index_key::is_row_key(key) || table.newest(key)?.0.is_none() {
                    return Ok(Met::Keys);
                }
            }
            match batch.into_iter().nth(WRITES_MET - 1) {
                Some(last) => start = Bound::Excluded(last.key),
                None => return Ok(Met::Nothing),
            }
        }
    }

    /// Writes a row, what it was before if it had another key, and entries of indexes. Waits for other transactions that have
    /// searched a range that one of the keys is put into.
    pub(super) fn write(
        &mut self,
        table: &Table,
        moved_from: Option<Slice>,
        (key, row, row_delta): (Slice, Change, i64),
        entries: Vec<EntryChange>,
    ) -> StoreResult<()> {
        loop {
            let mut writes = self.own.writes.write();
            let met = table.data.logical.searched.met_by(self.locks.owner, |range| {
                let entry_meets = |entry: &EntryChange| entry.value.is_some() && range.contains(&entry.key);
                (row_delta > 0 || moved_from.is_some()) && range.contains(&key) || entries.iter().any(entry_meets)
            });
            let locks = &self.locks;
            let met: Vec<LockKey> =
                met.into_iter().filter(|lock| !locks.table.is_exclusive(locks.owner, lock)).collect();
            if met.is_empty() {
                if let Some(key) = moved_from {
                    writes.put(&table.data, key, None, 0);
                }
                writes.put(&table.data, key, row, row_delta);
                self.own.any.store(true, Ordering::Release);
                let written = self.put_entries(writes, table, entries);
                return written.inspect_err(|_| self.abort_if_lost());
            }
            drop(writes);
            self.enter(met)?;
        }
    }

    /// Writes entries of indexes, and lets writes leave memory if they are many.
    pub(super) fn put_entries(
        &self,
        mut writes: RwLockWriteGuard<'_, WriteSet>,
        table: &Table,
        entries: Vec<EntryChange>,
    ) -> StoreResult<()> {
        let place = self.store.spill_place();
        for EntryChange { key, value, is_posting } in entries {
            match is_posting {
                true => writes.put_posting(&table.data, &key, value.as_deref(), place),
                false => writes.put(&table.data, key.into(), value.map(Slice::from), 0),
            }
        }
        Ok(writes.spill_if_large(table.storage_id(), place)?)
    }

    /// Ends the transaction if some of its changes were lost.
    pub(super) fn abort_if_lost(&mut self) {
        if self.own.writes.read().check().is_err() {
            self.abort();
        }
    }

    /// Takes the locks of ranges that something is put into, each when the transactions that have searched it have
    /// ended.
    fn enter(&mut self, ranges: Vec<LockKey>) -> StoreResult<()> {
        for lock in ranges {
            match self.locks.table.lock_row(self.locks.owner, &lock, LockMode::Exclusive, self.lock_wait) {
                Ok(acquired) => {
                    if acquired.is_new() {
                        self.locks.rows.push(lock);
                    }
                }
                Err(failure) => return Err(self.lock_failed(failure)),
            }
        }
        Ok(())
    }
}
