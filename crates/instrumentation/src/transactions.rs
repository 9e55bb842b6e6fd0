//! Transactions of a session: how many, how long, and the last ones.
//!
//! A plain read under autocommit does not count as a transaction, because it needs none.

use crate::timed::Timed;
use parking_lot::Mutex;
use squall_row_store::{IsolationLevel, TransactionOptions};
use std::collections::VecDeque;

/// How many that are over are kept, as in MySQL's default of `performance_schema_events_transactions_history_size`.
const RECENT_MAX: usize = 10;

/// The state of a transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TransactionOutcome {
    /// It is open.
    Active,
    /// COMMIT.
    Committed,
    /// ROLLBACK.
    RolledBack,
}

/// One transaction.
#[derive(Clone, Debug)]
pub struct TransactionEvent {
    /// Counts the session's transactions, from 1.
    pub event_id: u64,
    /// The store's number.
    pub id: u64,
    /// Microseconds since 1970 UTC.
    pub start_micros: i64,
    /// The same; 0 while it is open.
    pub end_micros: i64,
    /// Its state.
    pub outcome: TransactionOutcome,
    /// Whether it may change nothing.
    pub read_only: bool,
    /// Its isolation level.
    pub isolation: IsolationLevel,
    /// Of a single statement.
    pub autocommit: bool,
    /// The numbers of the statements in the session that it has begun and ended in; the last one is not known while it is open.
    pub begun_in: u64,
    /// See `begun_in`.
    pub ended_in: Option<u64>,
    /// Savepoints that it has set.
    pub savepoints: u64,
    /// ROLLBACK TO SAVEPOINT.
    pub rollbacks_to_savepoint: u64,
    /// RELEASE SAVEPOINT.
    pub savepoints_released: u64,
}

/// Sums over transactions.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct TransactionTotals {
    /// Those that might write.
    pub read_write: Timed,
    /// Those that might not.
    pub read_only: Timed,
}

impl TransactionTotals {
    /// Adds others.
    pub fn merge(&mut self, other: &TransactionTotals) {
        self.read_write.merge(&other.read_write);
        self.read_only.merge(&other.read_only);
    }
}

/// The counts of one session.
#[derive(Debug, Default)]
pub struct CountedTransactions(Mutex<Counted>);

#[derive(Debug, Default)]
struct Counted {
    count: u64,
    totals: TransactionTotals,
    current: Option<TransactionEvent>,
    /// The oldest first.
    recent: VecDeque<TransactionEvent>,
}

impl CountedTransactions {
    /// One begins.
    pub fn begin(&self, id: u64, options: &TransactionOptions, statement: u64, now_micros: i64) {
        let mut counted = self.0.lock();
        counted.count += 1;
        let TransactionOptions { isolation, read_only, autocommit, .. } = *options;
        counted.current = Some(TransactionEvent {
            event_id: counted.count,
            id,
            start_micros: now_micros,
            end_micros: now_micros,
            outcome: TransactionOutcome::Active,
            read_only,
            isolation,
            autocommit,
            begun_in: statement,
            ended_in: None,
            savepoints: 0,
            rollbacks_to_savepoint: 0,
            savepoints_released: 0,
        });
    }

    /// It is over, in a statement of the session; nothing happens if there is none.
    pub fn end(&self, outcome: TransactionOutcome, statement: u64, now_micros: i64) {
        let mut counted = self.0.lock();
        let Some(mut event) = counted.current.take() else { return };
        (event.end_micros, event.outcome, event.ended_in) = (now_micros, outcome, Some(statement));
        let nanos = u64::try_from(now_micros - event.start_micros).unwrap_or(0).saturating_mul(1000);
        match event.read_only {
            true => counted.totals.read_only.add(nanos),
            false => counted.totals.read_write.add(nanos),
        }
        if counted.recent.len() >= RECENT_MAX {
            counted.recent.pop_front();
        }
        counted.recent.push_back(event);
    }

    /// Something of the open one changes.
    pub fn change(&self, change: impl FnOnce(&mut TransactionEvent)) {
        if let Some(event) = &mut self.0.lock().current {
            change(event);
        }
    }

    /// Sums of those that are over.
    pub fn totals(&self) -> TransactionTotals {
        self.0.lock().totals
    }

    /// The open one, or the last.
    pub fn current(&self) -> Option<TransactionEvent> {
        let counted = self.0.lock();
        counted.current.clone().or_else(|| counted.recent.back().cloned())
    }

    /// The last ones, the oldest first.
    pub fn recent(&self) -> Vec<TransactionEvent> {
        self.0.lock().recent.iter().cloned().collect()
    }

    /// The number of the transaction that a statement has found open, by the statement's number; of the last ones.
    pub fn around(&self, statement: u64) -> Option<u64> {
        let counted = self.0.lock();
        let is_around = |event: &&TransactionEvent| {
            event.begun_in < statement && event.ended_in.is_none_or(|last| statement <= last)
        };
        counted.recent.iter().chain(&counted.current).rev().find(is_around).map(|event| event.event_id)
    }

    /// Forgets the sums.
    pub fn clear_totals(&self) {
        self.0.lock().totals = TransactionTotals::default();
    }

    /// Forgets the last ones.
    pub fn clear_recent(&self) {
        self.0.lock().recent.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn transactions_are_counted_when_they_are_over() {
        let counted = CountedTransactions::default();
        counted.end(TransactionOutcome::Committed, 1, 1);
        assert!(counted.current().is_none());
        for number in 0..12 {
            let mut options = TransactionOptions::new(IsolationLevel::RepeatableRead);
            options.read_only = number == 0;
            counted.begin(number, &options, number * 3, 10);
            counted.change(|event| event.savepoints += 1);
            counted.end(TransactionOutcome::RolledBack, number * 3 + 2, 13);
        }
        let totals = counted.totals();
        assert_eq!((totals.read_only.count, totals.read_write.count, totals.read_write.sum_nanos), (1, 11, 33_000));
        assert_eq!(counted.recent().len(), RECENT_MAX);
        assert_eq!(counted.current().map(|event| (event.event_id, event.savepoints)), Some((12, 1)));
        // The statement that begins one is around it, those up to its end are within it.
        assert_eq!([33, 34, 35, 36].map(|statement| counted.around(statement)), [None, Some(12), Some(12), None]);
        counted.begin(12, &TransactionOptions::new(IsolationLevel::RepeatableRead), 40, 20);
        assert_eq!([40, 41, 99].map(|statement| counted.around(statement)), [None, Some(13), Some(13)]);
    }
}
