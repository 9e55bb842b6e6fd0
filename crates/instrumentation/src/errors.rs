//! Errors by their numbers.

use parking_lot::Mutex;
use std::collections::BTreeMap;

/// How often an error was raised, and when.
#[derive(Clone, Copy, Debug, Default)]
pub struct ErrorStatistics {
    /// How often.
    pub raised: u64,
    /// Microseconds since 1970 UTC.
    pub first_seen: i64,
    /// Microseconds since 1970 UTC.
    pub last_seen: i64,
    /// Its SQLSTATE.
    pub sqlstate: [u8; 5],
}

impl ErrorStatistics {
    fn merge(&mut self, other: &ErrorStatistics) {
        if self.raised == 0 || other.first_seen < self.first_seen {
            self.first_seen = other.first_seen;
        }
        self.last_seen = self.last_seen.max(other.last_seen);
        self.raised += other.raised;
        self.sqlstate = other.sqlstate;
    }
}

/// Errors by number.
pub type ErrorsByNumber = BTreeMap<u16, ErrorStatistics>;

/// Adds others.
pub fn merge_errors(errors: &mut ErrorsByNumber, others: &ErrorsByNumber) {
    for (number, other) in others {
        errors.entry(*number).or_default().merge(other);
    }
}

/// The errors that a session's statements have ended with.
#[derive(Debug, Default)]
pub struct CountedErrors(Mutex<ErrorsByNumber>);

impl CountedErrors {
    /// Counts an error.
    pub fn raised(&self, number: u16, sqlstate: [u8; 5], now_micros: i64) {
        let one = ErrorStatistics { raised: 1, first_seen: now_micros, last_seen: now_micros, sqlstate };
        self.0.lock().entry(number).or_default().merge(&one);
    }

    /// All that were raised, by number.
    pub fn snapshot(&self) -> ErrorsByNumber {
        self.0.lock().clone()
    }

    /// Forgets them.
    pub fn clear(&self) {
        self.0.lock().clear();
    }
}
