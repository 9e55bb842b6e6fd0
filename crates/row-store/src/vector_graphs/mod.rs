//! The graphs of a table's vector indexes, and what has been committed since they were made. [`crate::nearest`] makes and asks them.

mod changes;
mod graphs;

pub(crate) use changes::Phase;
pub(crate) use graphs::{Charge, VectorGraph, VectorGraphs, VectorMemory, Vectors};
