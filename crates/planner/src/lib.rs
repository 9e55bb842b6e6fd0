//! From a syntax tree to something that runs.
//!
//! [`bind`] gives names and types their meaning and makes a DataFusion plan, which `squall_executor` runs; [`point`] runs key look-ups
//! without any plan, [`rowwise`] small queries, [`dml`] changes rows, [`handler`] steps through tables, [`explain`] tells how. [`needs`] says what privileges a bound
//! statement asks for. This crate must not know file paths, sockets or the time.

pub mod bind;
pub mod dml;
pub mod explain;
pub mod handler;
pub mod needs;
pub mod partition;
pub mod point;
#[cfg(test)]
mod row_tests;
pub mod rowwise;

pub use bind::{Binder, BoundQuery, OutputColumn, ParameterKind, TableRequest, TableResolver, parse_view};
