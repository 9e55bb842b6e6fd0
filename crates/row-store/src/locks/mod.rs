//! Row and table locks: sharded by key, first come first served, with time-outs and deadlock detection.
//!
//! A lock belongs to an *owner* (a transaction, or a session's LOCK TABLES); owners of one *family* (a session) never
//! wait for each other. Plain reads use none of this.

mod fresh;
mod implicit;
mod list;
mod modes;
mod queue;
mod ranges;
#[cfg(test)]
mod tests;
mod waited;

pub use fresh::RowLock;
pub(crate) use implicit::{LargeWriters, UncommittedWrites};
pub use list::{LockInfo, LockStrength};
pub(crate) use ranges::{SearchedRanges, is_range_lock, range_lock};
pub use waited::{LockWaitEvent, LockWaits, WaitTimes};

use crate::options::{LockMode, LockWait, TableLock};
use modes::Mode;
use parking_lot::Mutex;
use queue::{Entry, Holder, Outcome, Waiter};
use rustc_hash::{FxBuildHasher, FxHashMap};
use smallvec::SmallVec;
use squall_catalog::TableId;
use squall_types::{ErrorCode, SqlError};
use std::collections::hash_map::Entry as MapEntry;
use std::hash::BuildHasher;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;
use waited::Waited;

const SHARDS: usize = 64;

/// So long a key takes no memory of its own: one of a number or two.
const INLINE_KEY_BYTES: usize = 16;

/// Owners without a session get families of their own, out of the way of session numbers.
pub(crate) const OWN_FAMILY: u64 = 1 << 63;

/// The family of locks that work in the background takes; sessions are counted from 1. Such work ends soon, and by itself.
pub const BACKGROUND_FAMILY: u64 = 1 << 62;

/// The object of a lock: a storage key of a table, a [range of them](range_lock), or with an empty key the table
/// itself.
#[derive(Debug, PartialEq, Eq, Hash)]
pub(crate) struct LockKey {
    pub table: TableId,
    /// A copy, because the original may be a part of a block, which lives as long as any part of it.
    pub key: SmallVec<[u8; INLINE_KEY_BYTES]>,
}

impl Clone for LockKey {
    fn clone(&self) -> LockKey {
        // Of a `SmallVec` byte by byte otherwise.
        LockKey::new(self.table, &self.key)
    }
}

impl LockKey {
    pub fn new(table: TableId, key: &[u8]) -> LockKey {
        LockKey { table, key: SmallVec::from_slice(key) }
    }
}

/// An owner that holds or wants a lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Owner {
    /// Counts up with the start of transactions, so the younger of two has the greater one.
    pub id: u64,
    /// The session.
    pub family: u64,
}

/// How a lock was had.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Acquired {
    /// It is new to the owner: to be released.
    New,
    /// The owner had a weaker one.
    Raised(Mode),
    /// The owner had it.
    Held,
}

impl Acquired {
    fn over(had: Option<Mode>) -> Acquired {
        had.map_or(Acquired::New, Acquired::Raised)
    }

    pub fn is_new(self) -> bool {
        self == Acquired::New
    }
}

/// Why a lock was not had.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LockFailure {
    WouldBlock,
    Nowait,
    Skipped,
    Timeout,
    Deadlock,
    Interrupted,
    /// The owner's own session holds the global read lock.
    OwnReadLock,
}

impl From<LockFailure> for crate::StoreError {
    fn from(failure: LockFailure) -> Self {
        let code = match failure {
            LockFailure::WouldBlock => return crate::StoreError::WouldBlock,
            LockFailure::Nowait | LockFailure::Skipped => ErrorCode::LockNowait,
            LockFailure::Timeout => ErrorCode::LockWaitTimeout,
            LockFailure::Deadlock => ErrorCode::Deadlock,
            LockFailure::Interrupted => ErrorCode::QueryInterrupted,
            LockFailure::OwnReadLock => ErrorCode::CantUpdateWithReadLock,
        };
        SqlError::new(code, &[]).into()
    }
}

/// All locks of a store.
pub(crate) struct LockTable {
    shards: Vec<Mutex<FxHashMap<LockKey, Entry>>>,
    /// The lock that each family waits for; used only by owners that wait.
    waiting: Mutex<FxHashMap<u64, Waiting>>,
    /// Families that wait for the end of what another one does, with these.
    calls: Mutex<Vec<(u64, u64)>>,
    waited: Waited,
    /// How many hold or want the global read lock; see [`crate::store::read_lock`].
    read_locks: AtomicUsize,
}

struct Waiting {
    key: LockKey,
    waiter: Arc<Waiter>,
    since: Instant,
}

impl Waiting {
    fn event(&self) -> LockWaitEvent {
        let index = ranges::index_of(&self.key.key);
        LockWaitEvent { table: self.key.table, index, started: self.since, time: None }
    }
}

impl LockTable {
    pub fn new() -> LockTable {
        LockTable {
            shards: (0..SHARDS).map(|_| Mutex::default()).collect(),
            waiting: Mutex::default(),
            calls: Mutex::default(),
            waited: Waited::default(),
            read_locks: AtomicUsize::new(0),
        }
    }

    fn shard(&self, key: &LockKey) -> &Mutex<FxHashMap<LockKey, Entry>> {
        &self.shards[(FxBuildHasher.hash_one(key) >> 40) as usize % SHARDS]
    }

    /// Locks a storage key.
    pub fn lock_row(
        &self,
        owner: Owner,
        key: &LockKey,
        mode: LockMode,
        wait: LockWait,
    ) -> Result<Acquired, LockFailure> {
        self.acquire(Holder::new(owner, Mode::from(mode)), key, wait)
    }

    /// Locks a table.
    pub fn lock_table(
        &self,
        owner: Owner,
        table: TableId,
        mode: TableLock,
        wait: LockWait,
    ) -> Result<Acquired, LockFailure> {
        self.acquire(Holder::new(owner, Mode::from(mode)), &table_key(table), wait)
    }

    /// Locks a table for a transaction, which may write to it. From now on others can search its writes.
    pub fn lock_written_table(
        &self,
        owner: Owner,
        table: TableId,
        (mode, written): (TableLock, Arc<dyn UncommittedWrites>),
        wait: LockWait,
    ) -> Result<Acquired, LockFailure> {
        let wants = Holder { written: Some(written), ..Holder::new(owner, Mode::from(mode)) };
        self.acquire(wants, &table_key(table), wait)
    }

    /// Whether an owner has a lock for itself alone.
    pub fn is_exclusive(&self, owner: Owner, key: &LockKey) -> bool {
        self.shard(key).lock().get(key).and_then(|entry| entry.mode_of(owner)) == Some(Mode::Exclusive)
    }

    /// The writes of transactions of other sessions that may write to a table.
    pub fn writers(&self, owner: Owner, table: TableId) -> Vec<(Owner, Arc<dyn UncommittedWrites>)> {
        let key = table_key(table);
        let shard = self.shard(&key).lock();
        let others = shard.get(&key).into_iter().flat_map(Entry::holders);
        let others = others.filter(|holder| holder.owner.family != owner.family);
        others.filter_map(|holder| Some((holder.owner, holder.written?))).collect()
    }

    /// Makes the implicit lock of another transaction explicit, so that others can wait for its end.
    pub fn make_explicit(&self, owner: Owner, written: &dyn UncommittedWrites, key: &LockKey) {
        let in_line: Vec<u64> = {
            let mut shard = self.shard(key).lock();
            let entry = shard.entry(key.clone()).or_default();
            entry.grant(Holder::new(owner, Mode::Exclusive));
            entry.waiters().map(|waiter| waiter.wants.owner.family).collect()
        };
        if !written.add_explicit(key) {
            // It has ended meanwhile.
            self.release(owner, key);
            return;
        }
        // They wait for it, too, from now on.
        in_line.into_iter().for_each(|family| self.break_deadlocks(family));
    }

    fn acquire(&self, wants: Holder, key: &LockKey, wait: LockWait) -> Result<Acquired, LockFailure> {
        let (owner, mode) = (wants.owner, wants.mode);
        let (waiter, had) = {
            let mut shard = self.shard(key).lock();
            let entry = match shard.entry(key.clone()) {
                MapEntry::Occupied(entry) => entry.into_mut(),
                MapEntry::Vacant(entry) => {
                    entry.insert(Entry::held_by(wants));
                    return Ok(Acquired::New);
                }
            };
            let had = entry.mode_of(owner);
            let mode = match had {
                // If several have written into a range, each has its lock exclusively: a search of it waits for the others.
                Some(had)
                    if had.covers(mode)
                        && ((had, mode) != (Mode::Exclusive, Mode::Shared) || entry.is_free_for(owner, had)) =>
                {
                    return Ok(Acquired::Held);
                }
                Some(had) => had.join(mode),
                None => mode,
            };
            if entry.is_free_for(owner, mode) {
                entry.grant(Holder { mode, ..wants });
                return Ok(Acquired::over(had));
            }
            match wait {
                LockWait::WouldBlock => return Err(LockFailure::WouldBlock),
                LockWait::Nowait => return Err(LockFailure::Nowait),
                LockWait::SkipLocked => return Err(LockFailure::Skipped),
                LockWait::Timeout(_) => {}
            }
            let waiter = Arc::new(Waiter::new(Holder { mode, ..wants }));
            entry.enqueue(waiter.clone());
            (waiter, had)
        };
        let LockWait::Timeout(timeout) = wait else { return Err(LockFailure::WouldBlock) };
        let waiting = Waiting { key: key.clone(), waiter: waiter.clone(), since: Instant::now() };
        let event = waiting.event();
        self.waiting.lock().insert(owner.family, waiting);
        self.break_deadlocks(owner.family);
        let outcome = waiter.wait(timeout);
        self.waiting.lock().remove(&owner.family);
        self.waited.add(owner.family, LockWaitEvent { time: Some(event.started.elapsed()), ..event });
        match outcome {
            Outcome::Granted => return Ok(Acquired::over(had)),
            Outcome::Waiting | Outcome::Deadlock | Outcome::Interrupted => {}
        }
        let mut shard = self.shard(key).lock();
        if let Some(entry) = shard.get_mut(key) {
            entry.dequeue(&waiter);
            // A grant may have come between the time-out and now; then the lock is ours after all.
            if waiter.outcome() == Outcome::Granted {
                return Ok(Acquired::over(had));
            }
            entry.grant_waiters();
            if entry.is_empty() {
                shard.remove(key);
            }
        }
        Err(match outcome {
            Outcome::Deadlock => LockFailure::Deadlock,
            Outcome::Interrupted => LockFailure::Interrupted,
            Outcome::Waiting | Outcome::Granted => LockFailure::Timeout,
        })
    }

    /// Has a lock that an owner holds be another family's.
    pub fn change_family(&self, owner: u64, key: &LockKey, family: u64) {
        if let Some(entry) = self.shard(key).lock().get_mut(key) {
            entry.change_family(owner, family);
        }
    }

    /// The same of a table's lock.
    pub fn change_table_family(&self, owner: u64, table: TableId, family: u64) {
        self.change_family(owner, &table_key(table), family);
    }

    /// How long a family has waited for locks since it was asked for the last time.
    pub fn take_wait(&self, family: u64) -> LockWaits {
        self.waited.take(family)
    }

    /// Gives a lock back and hands it on. Tells whether the owner held it.
    pub fn release(&self, owner: Owner, key: &LockKey) -> bool {
        self.set_mode(owner, key, None).is_some()
    }

    /// Makes a lock that an owner holds a weaker one, or gives it back, and hands on what others can have of it.
    /// Tells which one is gone.
    fn set_mode(&self, owner: Owner, key: &LockKey, mode: Option<Mode>) -> Option<Holder> {
        let mut shard = self.shard(key).lock();
        let entry = shard.get_mut(key)?;
        let gone = match mode {
            Some(mode) => {
                entry.weaken(owner, mode);
                None
            }
            None => entry.remove(owner),
        };
        entry.grant_waiters();
        if entry.is_empty() {
            shard.remove(key);
        }
        gone
    }

    /// Gives a table lock back, and what others have made explicit of a transaction's locks. Tells whether the owner held it.
    pub fn release_table(&self, owner: Owner, table: TableId) -> bool {
        let Some(gone) = self.set_mode(owner, &table_key(table), None) else { return false };
        for key in gone.written.map(|written| written.take_explicit()).unwrap_or_default() {
            self.release(owner, &key);
        }
        true
    }

    /// Whether a family holds a table's lock in a mode.
    pub fn family_holds(&self, family: u64, table: TableId, mode: TableLock) -> bool {
        let (key, mode) = (table_key(table), Mode::from(mode));
        let shard = self.shard(&key).lock();
        shard
            .get(&key)
            .into_iter()
            .flat_map(Entry::holders)
            .any(|holder| holder.owner.family == family && holder.mode.covers(mode))
    }

    /// Whether a session holds or wants the global read lock.
    pub fn is_read_locked(&self) -> bool {
        self.read_locks.load(Ordering::Acquire) != 0
    }

    /// A session wants the global read lock.
    pub fn begin_read_lock(&self) {
        self.read_locks.fetch_add(1, Ordering::AcqRel);
    }

    /// A session has released it, or given up. How many are left.
    pub fn end_read_lock(&self) -> usize {
        self.read_locks.fetch_sub(1, Ordering::AcqRel) - 1
    }

    /// Whether only an owner's and another family hold a table's lock.
    pub fn is_shared_only_with(&self, owner: Owner, table: TableId, family: u64) -> bool {
        let key = table_key(table);
        let shard = self.shard(&key).lock();
        let mut holders = shard.get(&key).into_iter().flat_map(Entry::holders);
        holders.all(|holder| holder.owner.family == owner.family || holder.owner.family == family)
    }

    /// Whether an owner waits for a table's lock.
    pub fn is_waited_for(&self, table: TableId) -> bool {
        let key = table_key(table);
        self.shard(&key).lock().get(&key).is_some_and(|entry| entry.waiters().next().is_some())
    }

    /// The locks that families wait for now.
    pub fn waits(&self) -> Vec<(u64, LockWaitEvent)> {
        self.waiting.lock().iter().map(|(family, waiting)| (*family, waiting.event())).collect()
    }

    /// How many wait for a lock now.
    pub fn waiter_count(&self) -> usize {
        self.waiting.lock().len()
    }

    /// Ends the wait of a family, as KILL does. Tells whether it waited.
    pub fn interrupt(&self, family: u64) -> bool {
        let waiting = self.waiting.lock();
        waiting.get(&family).is_some_and(|waiting| waiting.waiter.end(Outcome::Interrupted))
    }

    /// A family begins to wait for the end of what another one does: what that one waits for closes a cycle with locks of the first.
    pub fn begin_call(&self, caller: u64, child: u64) {
        self.calls.lock().push((caller, child));
    }

    /// It waits no more.
    pub fn end_call(&self, caller: u64, child: u64) {
        self.calls.lock().retain(|call| *call != (caller, child));
    }

    /// Whether an owner holds a lock; for tests and assertions at rest.
    #[cfg(test)]
    pub fn is_empty(&self) -> bool {
        self.shards.iter().all(|shard| shard.lock().is_empty())
    }

    /// Looks for cycles through a family that has just begun to wait, or waits for another owner. It ends the wait of the youngest
    /// member of each cycle. An owner that waits for several may be in a cycle with each of them.
    ///
    /// A waiter that closes a cycle comes here after all its members are in `waiting`, so each cycle is seen.
    fn break_deadlocks(&self, start: u64) {
        let waiting = self.waiting.lock();
        loop {
            let mut path = Vec::new();
            let mut visited = rustc_hash::FxHashSet::default();
            if !self.find_cycle(&waiting, start, start, &mut path, &mut visited) {
                return;
            }
            let members = path.iter().filter_map(|family| waiting.get(family));
            // An owner that gets its lock now is in no cycle any more.
            if let Some(victim) = members.max_by_key(|at| at.waiter.wants.owner.id) {
                victim.waiter.end(Outcome::Deadlock);
            }
        }
    }

    fn find_cycle(
        &self,
        waiting: &FxHashMap<u64, Waiting>,
        family: u64,
        goal: u64,
        path: &mut Vec<u64>,
        visited: &mut rustc_hash::FxHashSet<u64>,
    ) -> bool {
        if !visited.insert(family) {
            return false;
        }
        let calls = self.calls.lock().iter().filter(|call| call.0 == family).map(|call| call.1).collect::<Vec<_>>();
        let waits = waiting.get(&family).filter(|at| at.waiter.outcome() == Outcome::Waiting);
        if waits.is_none() && calls.is_empty() {
            return false;
        }
        path.push(family);
        let blockers = waits.map(|at| match self.shard(&at.key).lock().get(&at.key) {
            Some(entry) => entry.blockers_of(&at.waiter),
            None => Default::default(),
        });
        for blocker in blockers.into_iter().flatten().chain(calls) {
            if blocker == goal || self.find_cycle(waiting, blocker, goal, path, visited) {
                return true;
            }
        }
        path.pop();
        false
    }
}

fn table_key(table: TableId) -> LockKey {
    LockKey::new(table, &[])
}
