//! Statements by digest and by kind.
//!
//! Each session counts its own, under a lock that only readers of performance_schema share. The server keeps the counts of ended
//! sessions, and the counts that exceed a session's list. Nothing is counted twice, and no statement writes to memory that another
//! session writes to.

use crate::recent::{Recent, RecentStatement, SAMPLE_BYTES_MAX, Shown};
use crate::totals::{Histogram, Measured, Totals};
use parking_lot::Mutex;
use rustc_hash::FxHashMap;
use squall_parser::Digest;
use squall_types::SqlError;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use xxhash_rust::xxh3::xxh3_128;

/// Statements that a session counts before it gives its counts to the server.
const SESSION_DIGESTS_MAX: usize = 128;
/// A sample is replaced by one of a faster statement after this, microseconds.
const SAMPLE_AGE_MICROS: i64 = 60_000_000;

/// What a statement is counted as: its default database, and its text without its values. By a hash, as the digest itself
/// is one.
pub fn key_of(schema: Option<&Arc<str>>, digest: &Digest) -> u128 {
    digest.hash ^ schema.map_or(0, |schema| xxh3_128(schema.as_bytes()) | 1)
}

/// The counts of statements with one digest in one database.
#[derive(Clone, Debug)]
pub struct StatementStatistics {
    /// Their default database.
    pub schema: Option<Arc<str>>,
    /// Their digest.
    pub digest: Arc<Digest>,
    /// Their sums.
    pub totals: Totals,
    /// How long they took.
    pub histogram: Histogram,
    /// Microseconds since 1970 UTC.
    pub first_seen: i64,
    /// Microseconds since 1970 UTC.
    pub last_seen: i64,
    /// One of them.
    pub sample: Sample,
}

/// One of the statements.
#[derive(Clone, Debug, Default)]
pub struct Sample {
    /// Its text, or the beginning of a long one.
    pub text: Box<str>,
    /// Microseconds since 1970 UTC.
    pub seen: i64,
    /// How long it took.
    pub micros: u64,
}

impl StatementStatistics {
    fn new(schema: Option<&Arc<str>>, digest: &Arc<Digest>) -> StatementStatistics {
        StatementStatistics {
            schema: schema.cloned(),
            digest: digest.clone(),
            totals: Totals::default(),
            histogram: Histogram::default(),
            first_seen: i64::MAX,
            last_seen: i64::MIN,
            sample: Sample::default(),
        }
    }

    fn add(&mut self, measured: &Measured, text: &[u8]) {
        self.totals.add(measured);
        self.histogram.add(measured.micros);
        self.first_seen = self.first_seen.min(measured.start_micros);
        self.last_seen = self.last_seen.max(measured.start_micros);
        let sample = &self.sample;
        if measured.micros > sample.micros || measured.start_micros - sample.seen > SAMPLE_AGE_MICROS {
            let shown = &text[..text.len().min(SAMPLE_BYTES_MAX)];
            self.sample = Sample {
                text: String::from_utf8_lossy(shown).into(),
                seen: measured.start_micros,
                micros: measured.micros,
            };
        }
    }

    fn merge(&mut self, other: &StatementStatistics) {
        self.totals.merge(&other.totals);
        self.histogram.merge(&other.histogram);
        self.first_seen = self.first_seen.min(other.first_seen);
        self.last_seen = self.last_seen.max(other.last_seen);
        if other.sample.micros > self.sample.micros || self.sample.seen == 0 {
            self.sample = other.sample.clone();
        }
    }
}

/// Sums by kinds of statements. There are few kinds that a session uses.
pub type EventTotals = Vec<(&'static str, Totals)>;

type ByDigest = FxHashMap<u128, Box<StatementStatistics>>;

fn merge_into(all: &mut ByDigest, statistics: &StatementStatistics) {
    let (schema, digest) = (statistics.schema.as_ref(), &statistics.digest);
    all.entry(key_of(schema, digest))
        .or_insert_with(|| Box::new(StatementStatistics::new(schema, digest)))
        .merge(statistics);
}

/// The counts of one session.
#[derive(Debug, Default)]
pub struct CountedStatements(Mutex<Counted>);

#[derive(Debug, Default)]
struct Counted {
    by_digest: ByDigest,
    by_event: EventTotals,
    recent: Recent,
}

impl CountedStatements {
    /// Counts a statement by its digest.
    pub fn add(
        &self,
        retired: &Statements,
        schema: Option<&Arc<str>>,
        digest: &Arc<Digest>,
        event: &'static str,
        measured: &Measured,
        shown: Shown<'_>,
    ) {
        let mut counted = self.0.lock();
        count_event(&mut counted.by_event, event, |totals| totals.add(measured));
        let key = key_of(schema, digest);
        counted.recent.push(event, Some(key), measured, shown);
        let all = &mut counted.by_digest;
        if all.len() >= SESSION_DIGESTS_MAX && !all.contains_key(&key) {
            retired.take(std::mem::take(all));
        }
        all.entry(key).or_insert_with(|| Box::new(StatementStatistics::new(schema, digest))).add(measured, shown.text);
    }

    /// Counts a statement that has no digest.
    pub fn add_event(&self, event: &'static str, measured: &Measured, error: Option<&SqlError>) {
        let mut counted = self.0.lock();
        count_event(&mut counted.by_event, event, |totals| totals.add(measured));
        counted.recent.push(event, None, measured, Shown { text: b"", error });
    }

    /// The last statements, the oldest first.
    pub fn recent(&self) -> Vec<RecentStatement> {
        self.0.lock().recent.list()
    }

    /// How many there have been.
    pub fn event_count(&self) -> u64 {
        self.0.lock().recent.count()
    }

    /// Forgets the last statements.
    pub fn clear_recent(&self) {
        self.0.lock().recent.clear();
    }

    /// The counts, by kind.
    pub fn by_event(&self) -> EventTotals {
        self.0.lock().by_event.clone()
    }

    /// Forgets what was counted by kind.
    pub fn clear_events(&self) {
        self.0.lock().by_event.clear();
    }

    /// Hands what was counted by digest over; the session is gone.
    pub fn retire(&self, retired: &Statements) {
        retired.take(std::mem::take(&mut self.0.lock().by_digest));
    }
}

/// Changes the sums of a kind.
pub fn count_event(events: &mut EventTotals, event: &'static str, change: impl FnOnce(&mut Totals)) {
    match events.iter_mut().find(|(known, _)| *known == event) {
        Some((_, totals)) => change(totals),
        None => {
            let mut totals = Totals::default();
            change(&mut totals);
            events.push((event, totals));
        }
    }
}

/// The server's counts of statements by digest.
#[derive(Debug)]
pub struct Statements {
    all: Mutex<ByDigest>,
    /// The statements beyond the bound of digests.
    others: Mutex<Totals>,
    digests_max: AtomicU64,
}

impl Statements {
    /// The greatest number of digests.
    pub fn new(digests_max: u64) -> Statements {
        Statements { all: Mutex::default(), others: Mutex::default(), digests_max: AtomicU64::new(digests_max) }
    }

    fn take(&self, counted: ByDigest) {
        if counted.is_empty() {
            return;
        }
        let room = self.digests_max.load(Ordering::Relaxed) as usize;
        let mut all = self.all.lock();
        for (key, statistics) in counted {
            if all.len() < room || all.contains_key(&key) {
                merge_into(&mut all, &statistics);
            } else {
                self.others.lock().merge(&statistics.totals);
            }
        }
    }

    /// All statements of all sessions, and the sums of those beyond the bound.
    pub fn snapshot<'s>(
        &self,
        sessions: impl Iterator<Item = &'s CountedStatements>,
    ) -> (Vec<StatementStatistics>, Totals) {
        let mut all = self.all.lock().clone();
        for session in sessions {
            session.0.lock().by_digest.values().for_each(|statistics| merge_into(&mut all, statistics));
        }
        let mut all: Vec<StatementStatistics> = all.into_values().map(|statistics| *statistics).collect();
        all.sort_by_key(|statistics| (statistics.first_seen, statistics.digest.hash));
        (all, self.others.lock().clone())
    }

    /// Forgets everything.
    pub fn clear<'s>(&self, sessions: impl Iterator<Item = &'s CountedStatements>) {
        for session in sessions {
            session.0.lock().by_digest.clear();
        }
        self.all.lock().clear();
        *self.others.lock() = Totals::default();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use squall_parser::ParseOptions;

    const SELECT: &str = "statement/sql/select";

    fn digest(sql: &str) -> Arc<Digest> {
        Arc::new(squall_parser::digest(sql.as_bytes(), &ParseOptions::default()))
    }

    fn one(micros: u64) -> Measured {
        Measured { start_micros: 1, micros, ..Measured::default() }
    }

    #[test]
    fn sessions_are_added_up_and_outlived() {
        let statements = Statements::new(10);
        let (first, second) = (CountedStatements::default(), CountedStatements::default());
        let shown = Shown { text: b"SELECT 1", error: None };
        for (session, micros) in [(&first, 5), (&first, 7), (&second, 9)] {
            session.add(&statements, None, &digest("SELECT 1"), SELECT, &one(micros), shown);
        }
        let (all, _) = statements.snapshot([&first, &second].into_iter());
        assert_eq!((all.len(), all[0].totals.count, all[0].totals.sum_micros), (1, 3, 21));
        assert_eq!(&*all[0].sample.text, "SELECT 1");
        first.retire(&statements);
        let (all, _) = statements.snapshot([&second].into_iter());
        assert_eq!((all.len(), all[0].totals.count, all[0].totals.max_micros), (1, 3, 9));
        statements.clear([&second].into_iter());
        assert!(statements.snapshot([&second].into_iter()).0.is_empty());
    }

    #[test]
    fn what_is_too_much_is_counted_together() {
        let statements = Statements::new(3);
        let session = CountedStatements::default();
        for number in 0..SESSION_DIGESTS_MAX + 1 {
            session.add(&statements, None, &digest(&format!("SELECT c{number}")), SELECT, &one(1), Shown::default());
        }
        session.retire(&statements);
        let (all, others) = statements.snapshot([&session].into_iter());
        assert_eq!((all.len(), others.count), (3, SESSION_DIGESTS_MAX as u64 + 1 - 3));
        assert_eq!(session.by_event()[0].1.count, SESSION_DIGESTS_MAX as u64 + 1);
    }
}
