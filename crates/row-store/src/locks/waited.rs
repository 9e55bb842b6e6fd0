//! How long sessions have waited for locks.

use parking_lot::Mutex;
use rustc_hash::FxHashMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

/// How often somebody waited, and how long.
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

/// What a session has waited for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LockWaits {
    /// Locks of rows and unique entries.
    pub rows: WaitTimes,
    /// Locks of tables.
    pub tables: WaitTimes,
}

/// Waits of families since they were asked for; only of those who have waited.
#[derive(Debug, Default)]
pub(super) struct Waited {
    families: Mutex<FxHashMap<u64, LockWaits>>,
    /// How many there are, so that nobody has to lock to find nothing.
    count: AtomicUsize,
}

impl Waited {
    /// A family has waited for a lock.
    pub fn add(&self, family: u64, is_table: bool, time: Duration) {
        let mut families = self.families.lock();
        let waits = families.entry(family).or_default();
        if is_table { &mut waits.tables } else { &mut waits.rows }.add(time);
        self.count.store(families.len(), Ordering::Relaxed);
    }

    /// What a family has waited for, which is forgotten.
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
