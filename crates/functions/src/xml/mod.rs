//! XML as EXTRACTVALUE and UPDATEXML read it.
//!
//! Reading order: [`document`] (a text's nodes), [`xpath`] (queries and their grammar), `evaluate` (running a query).

pub mod document;
mod evaluate;
pub mod xpath;

pub use document::Document;
pub use evaluate::{Evaluation, Found};
pub use xpath::Query;

#[cfg(test)]
mod tests;
