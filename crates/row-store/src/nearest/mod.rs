//! Vector indexes: they find the rows whose vectors are nearest to a given one.
//!
//! A vector index is not stored. Its graph is in memory. The first query makes it of the rows, and commits update it:
//!
//! ```text
//!   commits ──► changes: (sequence number, row key), noted before anybody can see them
//!                 │                  │
//!                 │ folded in the    │ not folded yet, or folded and not seen by the reader:
//!                 ▼ background       ▼ read by their keys
//!               graph ──────────►  keys of rows  ──► the reader's own version of each row
//! ```
//!
//! So a reader gets the keys that the graph finds, and the keys of all rows that have changed since, also in its own transaction. It
//! reads these rows in its snapshot and measures their vectors. It reads all rows if no graph can serve it: the graph is being made,
//! the snapshot is too old, or too much has changed at once.
//!
//! Reading order: [`crate::vector_graphs`], `build`, `search`.

mod build;
mod search;

pub use search::Nearest;
