//! Rows as JSON on their way in: values for columns, and filters that say which rows are meant.
//!
//! - [`numbers`]: numbers of JSON as they are written; [`json`]: a small document as a tree;
//! - [`values`]: JSON as values of a column's type;
//! - [`filter`]: conditions on columns as JSON, and their SQL.
//!
//! Everything here comes from clients: it is bounded in length, depth and number before it is kept.
//!
//! Knows: types and their values. Must not know: tables, sessions, sockets.

pub mod filter;
pub mod json;
pub mod numbers;
pub mod values;
