//! Which statements were met once: what makes a plan worth keeping.

use std::array::from_fn;
use std::sync::atomic::{AtomicU64, Ordering};

/// Sets that the hashes are divided between; a power of two.
const SETS: usize = 1024;
/// Hashes that a set remembers.
const WAYS: usize = 7;

/// Hashes of statements that were met, in a set-associative table: of each set the last ones. Two statements of one place would make
/// each other forgotten as often as they take turns, and neither would ever be met for the second time.
#[derive(Debug)]
pub(super) struct MetStatements {
    sets: Box<[MetSet]>,
}

/// The last hashes of one set, in one cache line.
#[derive(Debug)]
#[repr(align(64))]
struct MetSet {
    /// 0 is an empty place.
    hashes: [AtomicU64; WAYS],
    /// How often a hash was written: the oldest is replaced.
    written: AtomicU64,
}

impl MetStatements {
    /// Nothing was met.
    pub fn new() -> Self {
        let set = || MetSet { hashes: from_fn(|_| AtomicU64::new(0)), written: AtomicU64::new(0) };
        MetStatements { sets: (0..SETS).map(|_| set()).collect() }
    }

    /// Whether a hash was met before, as far as is remembered; it is from now on.
    pub fn remember(&self, hash: u64) -> bool {
        let hash = hash | 1;
        let set = &self.sets[(hash >> 32) as usize % SETS];
        if set.hashes.iter().any(|met| met.load(Ordering::Relaxed) == hash) {
            return true;
        }
        let oldest = set.written.fetch_add(1, Ordering::Relaxed) as usize % WAYS;
        set.hashes[oldest].store(hash, Ordering::Relaxed);
        false
    }
}

#[cfg(test)]
mod tests {
    use super::{MetStatements, SETS, WAYS};

    /// Hashes of one set, the last bit of each set.
    fn of_one_set(count: usize) -> impl Iterator<Item = u64> {
        (0..count as u64).map(|number| (number * SETS as u64) << 32 | 1)
    }

    #[test]
    fn statements_of_one_set_do_not_make_each_other_forgotten() {
        let met = MetStatements::new();
        assert!(of_one_set(WAYS).all(|hash| !met.remember(hash)));
        for _ in 0..3 {
            assert!(of_one_set(WAYS).all(|hash| met.remember(hash)));
        }
    }

    #[test]
    fn the_oldest_is_forgotten() {
        let met = MetStatements::new();
        assert!(of_one_set(WAYS + 1).all(|hash| !met.remember(hash)));
        assert!(of_one_set(WAYS + 1).skip(1).all(|hash| met.remember(hash)));
        assert!(!met.remember(1));
    }
}
