//! The graphs of a table's vector indexes, and the commits since they were made. [`crate::nearest`] makes and searches them.

mod changes;
mod graphs;

pub(crate) use changes::Phase;
pub(crate) use graphs::{Charge, VectorGraph, VectorGraphs, VectorMemory, Vectors};
