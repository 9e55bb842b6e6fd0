//! How often something may happen: token buckets, as many as there are names of whom it is counted for, within bounded memory.

use parking_lot::Mutex;
use std::collections::HashMap;
use std::hash::Hash;
use std::time::{Duration, Instant};

/// Most buckets. Those that are full again are forgotten first, others by chance.
const BUCKETS_MAX: usize = 10_000;

/// A rate that may not be exceeded for long.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Rate {
    /// How often at once; at least 1.
    pub burst: f64,
    /// How often in the long run.
    pub per_second: f64,
}

impl Rate {
    /// A number of times each second; `None` for 0, which is no limit.
    pub fn each_second(times: u64) -> Option<Rate> {
        (times > 0).then_some(Rate { burst: times as f64, per_second: times as f64 })
    }

    /// A number of times each minute; `None` for 0, which is no limit.
    pub fn each_minute(times: u64) -> Option<Rate> {
        (times > 0).then_some(Rate { burst: times as f64, per_second: times as f64 / 60.0 })
    }
}

/// A bucket, by what has been taken out of it and has not come back yet.
#[derive(Clone, Copy, Debug)]
struct Bucket {
    taken: f64,
    at: Instant,
}

impl Bucket {
    fn taken_at(&self, rate: Rate, now: Instant) -> f64 {
        (self.taken - now.saturating_duration_since(self.at).as_secs_f64() * rate.per_second).max(0.0)
    }
}

/// Counts for each `K`.
#[derive(Debug)]
pub(crate) struct Rates<K>(Mutex<HashMap<K, Bucket>>);

impl<K> Default for Rates<K> {
    fn default() -> Rates<K> {
        Rates(Mutex::default())
    }
}

impl<K: Hash + Eq> Rates<K> {
    /// Whether it may happen now.
    ///
    /// # Errors
    /// How long to wait until it may.
    pub fn check(&self, key: &K, rate: Rate, now: Instant) -> Result<(), Duration> {
        let taken = self.0.lock().get(key).map_or(0.0, |bucket| bucket.taken_at(rate, now));
        fits(taken, rate)
    }

    /// Counts that it happens, whether or not it may.
    pub fn count(&self, key: K, rate: Rate, now: Instant) {
        let mut buckets = self.0.lock();
        make_room(&mut buckets, rate, now);
        let bucket = buckets.entry(key).or_insert(Bucket { taken: 0.0, at: now });
        *bucket = Bucket { taken: (bucket.taken_at(rate, now) + 1.0).min(rate.burst), at: now };
    }

    /// Counts that it happens, if it may.
    ///
    /// # Errors
    /// How long to wait until it may.
    pub fn take(&self, key: K, rate: Rate, now: Instant) -> Result<(), Duration> {
        let mut buckets = self.0.lock();
        make_room(&mut buckets, rate, now);
        let bucket = buckets.entry(key).or_insert(Bucket { taken: 0.0, at: now });
        let taken = bucket.taken_at(rate, now);
        fits(taken, rate)?;
        *bucket = Bucket { taken: taken + 1.0, at: now };
        Ok(())
    }
}

fn fits(taken: f64, rate: Rate) -> Result<(), Duration> {
    let missing = taken + 1.0 - rate.burst;
    // What came back in rounded steps counts as whole.
    match missing > 1e-6 {
        true => Err(Duration::from_secs_f64(missing / rate.per_second)),
        false => Ok(()),
    }
}

/// Forgets at least half of the buckets once there are too many, so that it has rarely to be done.
fn make_room<K: Hash + Eq>(buckets: &mut HashMap<K, Bucket>, rate: Rate, now: Instant) {
    if buckets.len() < BUCKETS_MAX {
        return;
    }
    let mut kept = 0;
    buckets.retain(|_, bucket| {
        let is_kept = kept < BUCKETS_MAX / 2 && bucket.taken_at(rate, now) > 0.0;
        kept += usize::from(is_kept);
        is_kept
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bucket_is_emptied_and_filled_again() {
        let (rates, start) = (Rates::default(), Instant::now());
        let rate = Rate::each_second(4).expect("a rate");
        for _ in 0..4 {
            assert_eq!(rates.take("a", rate, start), Ok(()));
        }
        assert_eq!(rates.take("a", rate, start), Err(Duration::from_millis(250)));
        assert_eq!(rates.take("b", rate, start), Ok(()));
        let later = start + Duration::from_millis(500);
        assert_eq!(rates.take("a", rate, later), Ok(()));
        assert_eq!(rates.take("a", rate, later), Ok(()));
        assert!(rates.take("a", rate, later).is_err());
        // It is never more than full.
        let much_later = start + Duration::from_secs(3600);
        let taken = (0..10).filter(|_| rates.take("a", rate, much_later).is_ok()).count();
        assert_eq!(taken, 4);
    }

    #[test]
    fn failures_are_counted_apart_from_attempts() {
        let (rates, start) = (Rates::default(), Instant::now());
        let rate = Rate::each_minute(2).expect("a rate");
        for _ in 0..5 {
            assert_eq!(rates.check(&"a", rate, start), Ok(()));
        }
        for _ in 0..5 {
            rates.count("a", rate, start);
        }
        assert_eq!(rates.check(&"a", rate, start), Err(Duration::from_secs(30)));
        assert_eq!(rates.check(&"a", rate, start + Duration::from_secs(30)), Ok(()));
    }

    #[test]
    fn memory_is_bounded() {
        let (rates, start) = (Rates::default(), Instant::now());
        let rate = Rate::each_second(2).expect("a rate");
        for at in 0..3 * BUCKETS_MAX {
            assert_eq!(rates.take(at, rate, start), Ok(()));
            assert!(rates.0.lock().len() <= BUCKETS_MAX);
        }
    }
}
