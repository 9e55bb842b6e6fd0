//! Near neighbours of vectors, found along a graph of small worlds in levels (HNSW, Malkov and Yashunin, 2016).
//!
//! A [`Graph`] holds vectors under keys and answers which keys are nearest to another vector. It is approximate: it may miss some, the fewer
//! the wider it searches. Distances are of 32-bit numbers here, good enough to find; a caller that wants an exact order calculates it from
//! the values. The graph knows keys as bytes, and nothing of tables, snapshots or threads.
//!
//! Reading order: `arrays` (what it is kept in), `measure` (distances), `visited`, `graph`, `search`, `insert`.

mod arrays;
mod graph;
mod insert;
mod measure;
mod search;
mod visited;

pub use graph::{Graph, LINKS_DEFAULT, LINKS_MAX, LINKS_MIN};

#[cfg(test)]
mod tests;
