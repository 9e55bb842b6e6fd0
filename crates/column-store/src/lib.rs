//! Column tables: segments, their indexes, and the kernels that answer from them.
//!
//! A column table is a list of [`Segment`]s, immutable Parquet files, and delta rows and deletes in the row store, so
//! that one commit covers all of it (`docs/decisions/0015-column-tables.md`).
//!
//! Knows: MySQL's types, Arrow arrays, Parquet. Must not know: the catalog, SQL text, plans, collations (conditions on
//! strings that need one come as functions and are asked once per dictionary value), sessions.
//!
//! Reading order: `domain`, `coded`, `zone_map`, `index`, `segment`, `cache`, `predicate`, `key_search`, `list`, `star`.

mod bytes;
mod cache;
pub mod coded;
mod domain;
mod error;
pub mod index;
mod key_search;
mod list;
mod parallel;
pub mod predicate;
pub mod segment;
pub mod star;
mod zone_map;

pub use cache::{CacheStatus, ColumnCache, SegmentColumns};
pub use coded::{CodedColumn, Dictionary};
pub use domain::{ColumnType, Datum, Domain, prefix_successor};
pub use error::{Corruption, Error, Result};
pub use key_search::rows_of_key;
pub use list::{ListOptions, append_list};
pub use segment::{ColumnSpec, Segment, SegmentIdentity, SegmentWriter};
pub use zone_map::{Bounds, ZONE_ROWS, Zone, ZoneMap, zone_rows};
