//! Vector indexes: which rows' vectors are nearest to one.
//!
//! Nothing of a vector index is stored. Its graph is in memory, made of the rows when it is asked for first, and follows what is committed:
//!
//! ```text
//!   commits ──► changes: (sequence number, row key), noted before anybody can see them
//!                 │                  │
//!                 │ folded in the    │ not folded yet, or folded and not seen by the reader:
//!                 ▼ background       ▼ read by their keys
//!               graph ──────────►  keys of rows  ──► the reader's own version of each row
//! ```
//!
//! So a reader gets keys: those that the graph finds, less those of rows that have changed since what the graph has of them, and the keys of
//! these, its own transaction's among them. It reads the rows in its snapshot and measures their own vectors. Where no graph can serve
//! it (it is being made, the snapshot is older than what the graph has forgotten, too much has changed at once) it reads all rows.
//!
//! Reading order: [`crate::vector_graphs`], `build`, `search`.

mod build;
mod search;

pub use search::Nearest;
