//! The last statements of a session.

use crate::totals::Measured;
use squall_types::SqlError;

/// Longest text of a statement that is kept as a sample, bytes.
pub const SAMPLE_BYTES_MAX: usize = 1024;

/// How many are kept, as in MySQL's default of `performance_schema_events_statements_history_size`.
const RECENT_MAX: usize = 10;

/// A statement that has ended.
#[derive(Clone, Debug)]
pub struct RecentStatement {
    /// Counts the session's statements, from 1.
    pub event_id: u64,
    /// The name of its kind.
    pub event: &'static str,
    /// Its digest and database.
    pub key: Option<u128>,
    /// The number of the transaction that it found open; found when a reader asks.
    pub transaction: Option<u64>,
    /// Its counts.
    pub measured: Measured,
    /// Its text, or the beginning of a long one.
    pub text: Vec<u8>,
    /// The error that it ended with.
    pub error: Option<Box<SqlError>>,
}

/// The texts of a statement.
#[derive(Clone, Copy, Debug, Default)]
pub struct Shown<'s> {
    /// Its text.
    pub text: &'s [u8],
    /// What it ended with.
    pub error: Option<&'s SqlError>,
}

/// A ring of them. Once it is full, its entries and the memory of their texts are used again.
#[derive(Debug, Default)]
pub struct Recent {
    statements: Vec<RecentStatement>,
    /// How many there have been.
    count: u64,
}

impl Recent {
    /// A statement has ended.
    pub fn push(&mut self, event: &'static str, key: Option<u128>, measured: &Measured, shown: Shown<'_>) {
        self.count += 1;
        let text = &shown.text[..shown.text.len().min(SAMPLE_BYTES_MAX)];
        let error = shown.error.map(|error| Box::new(error.clone()));
        if self.statements.len() < RECENT_MAX {
            let (event_id, measured, text) = (self.count, *measured, text.to_vec());
            self.statements.push(RecentStatement { event_id, event, key, transaction: None, measured, text, error });
            return;
        }
        let place = &mut self.statements[((self.count - 1) % RECENT_MAX as u64) as usize];
        (place.event_id, place.event, place.key, place.measured) = (self.count, event, key, *measured);
        place.error = error;
        place.text.clear();
        place.text.extend_from_slice(text);
    }

    /// How many there have been.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// All of them, the oldest first.
    pub fn list(&self) -> Vec<RecentStatement> {
        let mut list = self.statements.clone();
        list.sort_unstable_by_key(|statement| statement.event_id);
        list
    }

    /// Forgets them; the numbers go on.
    pub fn clear(&mut self) {
        // The ring begins at its first place again: the next number is the one of that place.
        self.statements.clear();
        self.count = self.count.next_multiple_of(RECENT_MAX as u64);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_ones_are_kept_in_order() {
        let mut recent = Recent::default();
        let push = |recent: &mut Recent, number: u64| {
            let text = number.to_string();
            let shown = Shown { text: text.as_bytes(), error: None };
            recent.push("statement/sql/select", None, &Measured::default(), shown);
        };
        let texts = |recent: &Recent| -> Vec<String> {
            recent.list().iter().map(|statement| String::from_utf8_lossy(&statement.text).into_owned()).collect()
        };
        (1..=23).for_each(|number| push(&mut recent, number));
        assert_eq!(texts(&recent), (14..=23).map(|number| number.to_string()).collect::<Vec<_>>());
        recent.clear();
        assert!(recent.list().is_empty());
        (1..=12).for_each(|number| push(&mut recent, number));
        assert_eq!(texts(&recent), (3..=12).map(|number| number.to_string()).collect::<Vec<_>>());
        recent.push("", None, &Measured::default(), Shown { text: &[b'x'; 5000], error: None });
        assert_eq!(recent.list().last().map(|statement| statement.text.len()), Some(SAMPLE_BYTES_MAX));
    }
}
