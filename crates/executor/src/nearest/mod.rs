//! `ORDER BY DISTANCE(column, vector, metric) LIMIT k` by a vector index.
//!
//! The sort, and the filter below it, stay as they are. In the place of the scan below them stands an operator that gives rows that may be among the
//! first: so many that enough of them meet the filter. What it gives are the rows of the statement's snapshot, so that the sort measures their own
//! vectors. Where the index cannot serve the statement the operator is the scan that it stands for.
//!
//! Reading order: `rule` (which plans), `exec`.

mod exec;
mod rule;

pub use exec::NearestRowsExec;
pub use rule::NearestRule;
