//! Sums of operations on files.

use std::sync::{Mutex, MutexGuard, PoisonError};

/// How often something was done with files, with how many bytes, and for how long.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct IoTotals {
    /// How often.
    pub count: u64,
    /// Bytes.
    pub bytes: u64,
    /// Nanoseconds altogether.
    pub sum_nanos: u64,
    /// The shortest time.
    pub min_nanos: u64,
    /// The longest.
    pub max_nanos: u64,
}

impl IoTotals {
    /// Adds others.
    pub fn merge(&mut self, other: &IoTotals) {
        if other.count == 0 {
            return;
        }
        self.min_nanos = if self.count == 0 { other.min_nanos } else { self.min_nanos.min(other.min_nanos) };
        self.max_nanos = self.max_nanos.max(other.max_nanos);
        self.count += other.count;
        self.bytes += other.bytes;
        self.sum_nanos = self.sum_nanos.saturating_add(other.sum_nanos);
    }
}

/// Sums of a session or thread by what files are used for. Threads that work for the same one add to them.
#[derive(Debug, Default)]
pub struct FileTimes(Mutex<Vec<(&'static str, IoTotals)>>);

impl FileTimes {
    /// Nothing yet.
    pub const fn new() -> FileTimes {
        FileTimes(Mutex::new(Vec::new()))
    }

    fn lock(&self) -> MutexGuard<'_, Vec<(&'static str, IoTotals)>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Something was done once, in this many nanoseconds.
    pub fn add(&self, event: &'static str, bytes: u64, nanos: u64) {
        self.merge_event(event, &IoTotals { count: 1, bytes, sum_nanos: nanos, min_nanos: nanos, max_nanos: nanos });
    }

    fn merge_event(&self, event: &'static str, totals: &IoTotals) {
        let mut times = self.lock();
        match times.iter_mut().find(|(known, _)| *known == event) {
            Some((_, sum)) => sum.merge(totals),
            None => times.push((event, *totals)),
        }
    }

    /// Adds the sums of another.
    pub fn merge(&self, other: &FileTimes) {
        other.list().iter().for_each(|(event, totals)| self.merge_event(event, totals));
    }

    /// All sums.
    pub fn list(&self) -> Vec<(&'static str, IoTotals)> {
        self.lock().clone()
    }

    /// Forgets them.
    pub fn clear(&self) {
        self.lock().clear();
    }
}
