//! What sessions wait for, by MySQL's kind of names.

use super::timed::Timed;
use squall_row_store::WaitTimes;

/// A commit: from the moment when it is applied to the one when it is as durable as it is to be.
pub(crate) const COMMIT: &str = "wait/synch/cond/squall/commit";
/// The lock of a row or a unique entry.
pub(crate) const ROW_LOCK: &str = "wait/lock/row/squall/record";
/// The lock of a table.
pub(crate) const TABLE_LOCK: &str = "wait/lock/metadata/sql/mdl";
/// Rows of tables that are read and changed.
pub(crate) const TABLE_IO: &str = "wait/io/table/sql/handler";

/// What sessions count themselves.
pub(crate) const OF_SESSIONS: &[&str] = &[TABLE_LOCK, ROW_LOCK, COMMIT];

/// The store's times as they are counted here.
pub(crate) fn timed(times: &WaitTimes) -> Timed {
    let nanos = |time: std::time::Duration| u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
    Timed { count: times.count, sum_nanos: nanos(times.sum), min_nanos: nanos(times.min), max_nanos: nanos(times.max) }
}
