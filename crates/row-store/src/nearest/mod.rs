//! Vector indexes: which rows' vectors are nearest to one.
//!
//! A vector index is not stored. Its graph is in memory. It is made of the rows at the first query, and follows commits:
//!
//! ```text
//!   commits ──► changes: (sequence number, row key), noted before anybody can see them
//!                 │                  │
//!                 │ folded in the    │ not folded yet, or folded and not seen by the reader:
//!                 ▼ background       ▼ read by their keys
//!               graph ──────────►  keys of rows  ──► the reader's own version of each row
//! ```
//!
//! So a reader gets the keys that the graph finds, and the keys of all rows that have changed since, those of its own transaction too. It
//! reads these rows in its snapshot and measures their vectors. If no graph can serve it (it is being made, the snapshot is too old, too
//! much has changed at once), it reads all rows.
//!
//! Reading order: [`crate::vector_graphs`], `build`, `search`.

mod build;
mod search;

pub use search::Nearest;
