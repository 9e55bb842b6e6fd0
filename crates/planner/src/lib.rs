//! From a syntax tree to something that runs.
//!
//! [`bind`] gives names and types their meaning and makes a DataFusion plan; [`operators`] are those that DataFusion
//! lacks; [`engine`] says how DataFusion is set up. [`access`] reads row tables, [`exec`] runs plans, [`point`] runs key
//! look-ups without any plan, [`rowwise`] small queries, [`dml`] changes rows, [`explain`] tells how. [`needs`] says
//! what privileges a bound statement asks for. This crate must not know file paths, sockets or the time.

pub mod access;
pub mod bind;
pub mod dml;
pub mod document_values;
pub mod engine;
pub mod exec;
pub mod explain;
pub mod needs;
pub mod operators;
pub mod point;
#[cfg(test)]
mod row_tests;
pub mod rowwise;
pub mod star;

pub use bind::{Binder, BoundQuery, OutputColumn, ParameterKind, TableRequest, TableResolver, parse_view};
