//! Sums over statements, and histograms of their times.

use squall_accounting::PlanCounts;
use std::sync::LazyLock;

/// Picoseconds, in which performance_schema tells times, of a microsecond.
pub const PICOS_PER_MICRO: u64 = 1_000_000;
/// Picoseconds of a nanosecond.
pub const PICOS_PER_NANO: u64 = 1_000;

/// The counts of a statement that has ended.
#[derive(Clone, Copy, Debug, Default)]
pub struct Measured {
    /// When it began, microseconds since 1970 UTC.
    pub start_micros: i64,
    /// How long it took.
    pub micros: u64,
    /// How long of that it waited for locks of rows and tables.
    pub lock_micros: u64,
    /// Processor time that it took; 0 if that was not measured.
    pub processor_nanos: u64,
    /// Whether it ended with an error.
    pub failed: bool,
    /// The number of the error it ended with, or 0.
    pub errno: u16,
    /// Warnings, notes and errors that it left.
    pub warnings: u64,
    /// Rows that it changed.
    pub rows_affected: u64,
    /// Rows of its result.
    pub rows_sent: u64,
    /// Rows that it read.
    pub rows_examined: u64,
    /// How it read, sorted and grouped.
    pub plan: PlanCounts,
    /// The most memory that was reserved for it.
    pub memory_bytes: u64,
}

/// Sums over statements. Times are in microseconds.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Totals {
    /// How many there were.
    pub count: u64,
    /// How long they took.
    pub sum_micros: u64,
    /// The shortest.
    pub min_micros: u64,
    /// The longest.
    pub max_micros: u64,
    /// How long they waited for locks.
    pub lock_micros: u64,
    /// Processor time, nanoseconds.
    pub processor_nanos: u64,
    /// How many ended with an error.
    pub errors: u64,
    /// Warnings, notes and errors that they left.
    pub warnings: u64,
    /// Rows that they changed.
    pub rows_affected: u64,
    /// Rows of their results.
    pub rows_sent: u64,
    /// Rows that they read.
    pub rows_examined: u64,
    /// How they read, sorted and grouped.
    pub plan: PlanCounts,
    /// The most that one reserved.
    pub memory_bytes_max: u64,
}

impl Totals {
    /// Counts a statement.
    pub fn add(&mut self, measured: &Measured) {
        self.min_micros = if self.count == 0 { measured.micros } else { self.min_micros.min(measured.micros) };
        self.max_micros = self.max_micros.max(measured.micros);
        self.count += 1;
        self.sum_micros += measured.micros;
        self.lock_micros += measured.lock_micros;
        self.processor_nanos += measured.processor_nanos;
        self.errors += u64::from(measured.failed);
        self.warnings += measured.warnings;
        self.rows_affected += measured.rows_affected;
        self.rows_sent += measured.rows_sent;
        self.rows_examined += measured.rows_examined;
        // Most statements are look-ups, which leave all of these alone.
        if measured.plan != PlanCounts::default() {
            self.plan.merge(&measured.plan);
        }
        self.memory_bytes_max = self.memory_bytes_max.max(measured.memory_bytes);
    }

    /// Adds others.
    pub fn merge(&mut self, other: &Totals) {
        if other.count == 0 {
            return;
        }
        self.min_micros = if self.count == 0 { other.min_micros } else { self.min_micros.min(other.min_micros) };
        self.max_micros = self.max_micros.max(other.max_micros);
        self.count += other.count;
        self.sum_micros += other.sum_micros;
        self.lock_micros += other.lock_micros;
        self.processor_nanos += other.processor_nanos;
        self.errors += other.errors;
        self.warnings += other.warnings;
        self.rows_affected += other.rows_affected;
        self.rows_sent += other.rows_sent;
        self.rows_examined += other.rows_examined;
        self.plan.merge(&other.plan);
        self.memory_bytes_max = self.memory_bytes_max.max(other.memory_bytes_max);
    }
}

/// Buckets of a histogram: as many as MySQL's `events_statements_histogram_*` have.
pub const BUCKETS: u16 = 450;
/// Buckets from one time to ten times that.
const BUCKETS_PER_DECADE: f64 = 50.0;
/// The first bucket ends here, microseconds.
const FIRST_MICROS: f64 = 10.0;
/// The buckets of shorter statements are looked up instead of computed.
const SHORT_MICROS: u64 = 1024;

/// How many statements took how long, in buckets each of which ends at 1.047 times the time of the one before. Few are ever used
/// by one statement, so only those are kept.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Histogram {
    /// Numbers and counts, by number.
    buckets: Vec<(u16, u64)>,
}

impl Histogram {
    /// Counts a statement.
    pub fn add(&mut self, micros: u64) {
        self.add_to(bucket_of(micros), 1);
    }

    fn add_to(&mut self, bucket: u16, count: u64) {
        match self.buckets.binary_search_by_key(&bucket, |(number, _)| *number) {
            Ok(at) => self.buckets[at].1 += count,
            Err(at) => self.buckets.insert(at, (bucket, count)),
        }
    }

    /// Adds another one.
    pub fn merge(&mut self, other: &Histogram) {
        for (bucket, count) in &other.buckets {
            self.add_to(*bucket, *count);
        }
    }

    /// The count of each bucket.
    pub fn counts(&self) -> impl Iterator<Item = (u16, u64)> + '_ {
        let mut used = self.buckets.iter().peekable();
        (0..BUCKETS).map(move |bucket| (bucket, used.next_if(|(number, _)| *number == bucket).map_or(0, |(_, n)| *n)))
    }

    /// A time that this share of the statements did not exceed, picoseconds: the end of the bucket it falls in.
    pub fn quantile(&self, share: f64) -> u64 {
        let total: u64 = self.buckets.iter().map(|(_, count)| count).sum();
        let wanted = (total as f64 * share).ceil() as u64;
        let mut seen = 0;
        for (bucket, count) in &self.buckets {
            seen += count;
            if seen >= wanted {
                return bucket_end_picos(*bucket);
            }
        }
        0
    }
}

fn bucket_of(micros: u64) -> u16 {
    static OF_SHORT: LazyLock<Vec<u16>> = LazyLock::new(|| (0..SHORT_MICROS).map(computed_bucket).collect());
    match micros {
        0..SHORT_MICROS => OF_SHORT[micros as usize],
        _ => computed_bucket(micros),
    }
}

fn computed_bucket(micros: u64) -> u16 {
    if (micros as f64) < FIRST_MICROS {
        return 0;
    }
    let bucket = ((micros as f64 / FIRST_MICROS).log10() * BUCKETS_PER_DECADE) as u64 + 1;
    bucket.min(u64::from(BUCKETS - 1)) as u16
}

/// Where a bucket begins, picoseconds.
pub fn bucket_start_picos(bucket: u16) -> u64 {
    if bucket == 0 { 0 } else { bucket_end_picos(bucket - 1) }
}

/// Where a bucket ends, picoseconds. The last one has no end.
pub fn bucket_end_picos(bucket: u16) -> u64 {
    if bucket + 1 == BUCKETS {
        return i64::MAX as u64;
    }
    let micros = FIRST_MICROS * 10f64.powf(f64::from(bucket) / BUCKETS_PER_DECADE);
    (micros * PICOS_PER_MICRO as f64) as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buckets_meet() {
        for bucket in 1..BUCKETS - 1 {
            let (start, end) = (bucket_start_picos(bucket), bucket_end_picos(bucket));
            assert!(start < end, "{bucket}");
            // The first buckets are narrower than the clock's microseconds: some are never used.
            let middle = (start + end) / 2 / PICOS_PER_MICRO;
            let whole = middle * PICOS_PER_MICRO;
            if (start..end).contains(&whole) {
                assert!(bucket_of(middle).abs_diff(bucket) <= 1, "{bucket}: {middle}");
            }
        }
        assert_eq!((bucket_of(0), bucket_of(9), bucket_of(10)), (0, 0, 1));
        assert_eq!(bucket_of(u64::MAX), BUCKETS - 1);
    }

    #[test]
    fn quantiles_are_ends_of_buckets() {
        let mut histogram = Histogram::default();
        (0..99).for_each(|_| histogram.add(5));
        histogram.add(1_000_000);
        assert_eq!(histogram.quantile(0.95), bucket_end_picos(0));
        assert_eq!(histogram.quantile(0.999), bucket_end_picos(bucket_of(1_000_000)));
        let mut twice = histogram.clone();
        twice.merge(&histogram);
        assert_eq!(twice.counts().map(|(_, count)| count).sum::<u64>(), 200);
        assert_eq!(Histogram::default().quantile(0.99), 0);
    }

    #[test]
    fn sums_of_nothing_change_nothing() {
        let mut totals = Totals::default();
        totals.add(&Measured { micros: 7, rows_sent: 2, ..Measured::default() });
        let before = totals.clone();
        totals.merge(&Totals::default());
        assert_eq!(totals, before);
        totals.add(&Measured { micros: 3, failed: true, ..Measured::default() });
        assert_eq!((totals.count, totals.min_micros, totals.max_micros, totals.errors), (2, 3, 7, 1));
    }
}
