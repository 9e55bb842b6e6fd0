//! Turns a syntax tree into something that runs.
//!
//! [`bind`] resolves names and types and makes a DataFusion plan, which `squall_executor` runs. [`point`] runs key look-ups without any
//! plan, and [`rowwise`] small queries; [`dml`] changes rows, [`handler`] steps through tables, and [`explain`] shows plans. [`needs`]
//! lists the privileges that a bound statement needs. This crate must not know file paths, sockets or the time.

pub mod bind;
mod converted;
pub mod dml;
pub mod explain;
pub mod handler;
pub mod needs;
pub mod partition;
pub mod point;
#[cfg(test)]
mod row_tests;
pub mod rowwise;

pub use bind::{
    Binder, BoundQuery, KeptParameters, OutputColumn, ParameterKind, TableRequest, TableResolver, parse_view,
};
pub use converted::converted;
