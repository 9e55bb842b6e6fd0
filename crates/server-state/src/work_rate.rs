//! How fast work has been done: what EXPLAIN estimates with.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// Part of a new measurement in the mean: one in so many.
const WEIGHT: u64 = 4;

/// A moving mean of the time that a step takes.
#[derive(Debug, Default)]
pub struct MeanTime {
    /// Nanoseconds; 0 if nothing was measured.
    nanos: AtomicU64,
}

impl MeanTime {
    /// Notes what a step has taken.
    pub fn note(&self, took: Duration) {
        let new = u64::try_from(took.as_nanos()).unwrap_or(u64::MAX).max(1);
        // Of two at once one may be lost, which an estimate can bear.
        let mean = match self.nanos.load(Ordering::Relaxed) {
            0 => new,
            mean => mean - mean / WEIGHT + new / WEIGHT,
        };
        self.nanos.store(mean.max(1), Ordering::Relaxed);
    }

    /// The mean; `None` until a step was measured.
    pub fn mean(&self) -> Option<Duration> {
        let nanos = self.nanos.load(Ordering::Relaxed);
        (nanos > 0).then(|| Duration::from_nanos(nanos))
    }
}

/// Bytes or rows that were worked on, and the time that it took.
#[derive(Debug, Default)]
pub struct WorkRate {
    amount: AtomicU64,
    nanos: AtomicU64,
}

impl WorkRate {
    /// Notes what was done, and how long it has taken.
    pub fn note(&self, amount: u64, took: Duration) {
        self.amount.fetch_add(amount, Ordering::Relaxed);
        self.nanos.fetch_add(u64::try_from(took.as_nanos()).unwrap_or(u64::MAX), Ordering::Relaxed);
    }

    /// How long it takes for as much; `None` until something was measured. Nothing takes no time.
    pub fn estimate(&self, amount: u64) -> Option<Duration> {
        if amount == 0 {
            return Some(Duration::ZERO);
        }
        let known = u128::from(self.amount.load(Ordering::Relaxed));
        let nanos = (u128::from(amount) * u128::from(self.nanos.load(Ordering::Relaxed))).checked_div(known)?;
        Some(Duration::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX)))
    }
}

#[cfg(test)]
mod tests {
    use super::{MeanTime, WorkRate};
    use std::time::Duration;

    #[test]
    fn a_mean_moves() {
        let time = MeanTime::default();
        assert_eq!(time.mean(), None);
        time.note(Duration::from_millis(8));
        assert_eq!(time.mean(), Some(Duration::from_millis(8)));
        time.note(Duration::from_millis(16));
        assert_eq!(time.mean(), Some(Duration::from_millis(10)));
    }

    #[test]
    fn a_rate_is_of_all_that_was_done() {
        let rate = WorkRate::default();
        assert_eq!(rate.estimate(1), None);
        assert_eq!(rate.estimate(0), Some(Duration::ZERO));
        rate.note(1000, Duration::from_micros(10));
        rate.note(3000, Duration::from_micros(30));
        assert_eq!(rate.estimate(100), Some(Duration::from_micros(1)));
    }
}
