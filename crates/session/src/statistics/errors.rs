//! Errors by their numbers.

use parking_lot::Mutex;
use std::collections::BTreeMap;

/// How often an error was raised, and when.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct ErrorStatistics {
    pub raised: u64,
    /// Microseconds since 1970 UTC.
    pub first_seen: i64,
    pub last_seen: i64,
    pub sqlstate: [u8; 5],
}

/// The errors that statements have ended with. Failing statements are rare and dear enough to share a lock.
#[derive(Debug, Default)]
pub(crate) struct Errors(Mutex<BTreeMap<u16, ErrorStatistics>>);

impl Errors {
    /// Counts an error.
    pub fn raised(&self, number: u16, sqlstate: [u8; 5], now_micros: i64) {
        let mut errors = self.0.lock();
        let error =
            errors.entry(number).or_insert_with(|| ErrorStatistics { first_seen: now_micros, ..Default::default() });
        error.raised += 1;
        error.last_seen = now_micros;
        error.sqlstate = sqlstate;
    }

    /// All that were raised, by number.
    pub fn snapshot(&self) -> BTreeMap<u16, ErrorStatistics> {
        self.0.lock().clone()
    }

    /// Forgets them.
    pub fn clear(&self) {
        self.0.lock().clear();
    }
}
