//! From a syntax tree to something that runs.
//!
//! [`bind`] gives names and types their meaning and makes a DataFusion plan; [`operators`] are those that DataFusion
//! lacks; [`engine`] says how DataFusion is set up. This crate must not know file paths, sockets or the time.

pub mod bind;
pub mod engine;
pub mod operators;

pub use bind::{Binder, BoundQuery, OutputColumn, TableRequest, TableResolver};
