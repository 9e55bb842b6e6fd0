//! Finds the nearest neighbours of vectors by a hierarchical navigable small world graph (HNSW, Malkov and Yashunin, 2016).
//!
//! A [`Graph`] holds vectors by key and finds the keys nearest to another vector. It is approximate: it may miss some keys, and a wider
//! search misses fewer. Its distances use 32-bit numbers, which is exact enough to find keys; a caller that needs an exact order
//! calculates it from the values. Keys are bytes. The crate must not know tables, snapshots or threads.
//!
//! Reading order: `arrays` (the storage of nodes), `measure` (distances), `visited`, `graph`, `search`, `insert`.

mod arrays;
mod graph;
mod insert;
mod measure;
mod search;
mod visited;

pub use graph::{Graph, LINKS_DEFAULT, LINKS_MAX, LINKS_MIN};

#[cfg(test)]
mod tests;
