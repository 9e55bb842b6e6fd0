//! MySQL's expressions, operators and functions over single values and over Arrow arrays.
//!
//! Reading order: [`arrow_map`] (types on Arrow), [`expr`] (bound expressions), [`typing`] (MySQL's rules for the types of
//! results), [`build`] (what the binder calls to make bound expressions), [`operators`] (the kernels behind them),
//! [`aggregate`], [`library`] (the functions that are called by name), [`json`] (JSON_TABLE and JSON_VALUE),
//! [`fulltext`] (MATCH), [`vector`] (DISTANCE), [`xml`] (EXTRACTVALUE).

pub mod aggregate;
pub mod arrow_map;
pub mod build;
mod comparison;
mod documents;
mod error;
pub mod expr;
pub mod fulltext;
pub mod json;
pub mod library;
pub mod operators;
pub mod typing;
pub mod vector;
mod wrong_value;
pub mod xml;

pub use expr::{BoundExpr, ExecutionSlot};

use squall_registry::Registry;

/// Declares everything that this crate has.
pub fn register_all(registry: &mut Registry) {
    aggregate::register(registry);
    library::register(registry);
}

#[cfg(test)]
mod test_context;
