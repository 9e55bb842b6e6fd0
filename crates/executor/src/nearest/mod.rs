//! `ORDER BY DISTANCE(column, vector, metric) LIMIT k` by a vector index.
//!
//! The sort, and the filter below it, stay as they are. Another operator replaces the scan below them. It gives the rows that may be
//! among the first, and enough of them to meet the filter. The rows come from the statement's snapshot, so the sort measures their own
//! vectors. If the index cannot serve the statement, the operator scans the table.
//!
//! Reading order: `rule` (the plans that qualify), `exec`.

mod exec;
mod rule;

pub use exec::NearestRowsExec;
pub use rule::NearestRule;
