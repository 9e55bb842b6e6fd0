//! `ORDER BY DISTANCE(column, vector, metric) LIMIT k` by a vector index.
//!
//! The sort, and the filter below it, stay as they are. Another operator replaces the scan below them. It gives rows that may be among the first: so
//! many that enough of them meet the filter. They are rows of the statement's snapshot, so the sort measures their own vectors. Where the index
//! cannot serve the statement, the operator scans the table.
//!
//! Reading order: `rule` (which plans), `exec`.

mod exec;
mod rule;

pub use exec::NearestRowsExec;
pub use rule::NearestRule;
