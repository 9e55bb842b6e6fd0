//! The locks that sessions have waited for, and the times of the waits.

use parking_lot::Mutex;
use rustc_hash::FxHashMap;
use squall_catalog::{IndexId, TableId};
use std::collections::VecDeque;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

/// Waits of a session that are kept one by one until it is asked for them.
const LAST_MAX: usize = 10;

/// How often owners waited, and how long.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct WaitTimes {
    /// How often.
    pub count: u64,
    /// Altogether.
    pub sum: Duration,
    /// The shortest time.
    pub min: Duration,
    /// The longest.
    pub max: Duration,
}

impl WaitTimes {
    fn add(&mut self, time: Duration) {
        self.min = if self.count == 0 { time } else { self.min.min(time) };
        self.max = self.max.max(time);
        self.sum += time;
        self.count += 1;
    }
}

/// One wait for a lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LockWaitEvent {
    /// The table.
    pub table: TableId,
    /// The index whose entry it was; `None` for the lock of the table.
    pub index: Option<IndexId>,
    /// When it began.
    pub started: Instant,
    /// How long it took; `None` while it lasts.
    pub time: Option<Duration>,
}

/// The waits of a session.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LockWaits {
    /// Locks of rows and unique entries.
    pub rows: WaitTimes,
    /// Locks of tables.
    pub tables: WaitTimes,
    /// The last ones, the oldest first.
    pub last: VecDeque<LockWaitEvent>,
}

/// Waits of families since they were asked for; only of families that have waited.
#[derive(Debug, Default)]
pub(super) struct Waited {
    families: Mutex<FxHashMap<u64, LockWaits>>,
    /// How many there are, so that no lock is taken to find nothing.
    count: AtomicUsize,
}

impl Waited {
    /// A family has waited for a lock.
    pub fn add(&self, family: u64, event: LockWaitEvent) {
        let mut families = self.families.lock();
        let waits = families.entry(family).or_default();
        let times = if event.index.is_none() { &mut waits.tables } else { &mut waits.rows };
        times.add(event.time.unwrap_or_default());
        if waits.last.len() >= LAST_MAX {
            waits.last.pop_front();
        }
        waits.last.push_back(event);
        self.count.store(families.len(), Ordering::Relaxed);
    }

    /// Takes the waits of a family out.
    pub fn take(&self, family: u64) -> LockWaits {
        if self.count.load(Ordering::Relaxed) == 0 {
            return LockWaits::default();
        }
        let mut families = self.families.lock();
        let waits = families.remove(&family).unwrap_or_default();
        self.count.store(families.len(), Ordering::Relaxed);
        waits
    }
}
