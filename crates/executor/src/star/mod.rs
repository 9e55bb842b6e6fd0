//! Star queries on column tables: filter, joins to dimensions by their keys, groups and aggregates as one operator.
//!
//! The star kernel of the column store runs aggregations over a column table that is joined to other tables by their unique keys, or to
//! none. Each other table becomes a map from its key to the number of a group. One pass over the column table's codes does the rest. If
//! the kernel sees in the columns that it cannot run the query (integers that may exceed 64 bits, DECIMALs beyond 128, more groups than fit memory),
//! DataFusion's plan runs instead.
//!
//! Reading order: `spec` (the parts of such a query), `recognize` (which plans are star queries), `arithmetic` (which expressions the kernel computes), `node` (the logical
//! operator), `dimension`, `estimate`, `exec` and `answer` (running it), `list` (GROUP_CONCAT, which is no star query but begins
//! like one).

mod answer;
mod arithmetic;
mod dimension;
mod estimate;
pub mod exec;
mod list;
pub mod node;
mod plain_aggregate;
mod recognize;
mod spec;

pub use exec::{SEGMENTS_OF_DICTIONARIES, SEGMENTS_SKIPPED, StarExec, ZONES_ANSWERED, ZONES_READ};
pub use recognize::recognize;
