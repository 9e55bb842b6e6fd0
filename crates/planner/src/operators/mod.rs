//! Operators that DataFusion does not have: subqueries run per row, recursive table expressions, JSON_TABLE.
//!
//! Reading order: [`apply`] and [`recursive`] (logical), [`apply_exec`] and [`recursive_exec`] (physical), [`planner`]
//! (from one to the other), [`optimize_subqueries`], [`push_filters`] and [`null_safe_keys`] (rules of the optimizer), [`json_table`] and
//! `nested_block` (both).

pub mod apply;
pub mod apply_exec;
pub mod json_table;
pub(crate) mod nested_block;
pub mod null_safe_keys;
pub mod null_supply;
pub mod optimize_subqueries;
pub mod planner;
pub mod push_filters;
pub mod recursive;
pub mod recursive_exec;
mod subquery_result;
mod wider_rows;

pub use apply::{Apply, ApplyKind, OuterValue};
pub use apply_exec::ApplyExec;
pub use recursive::RecursiveUnion;
pub use recursive_exec::{RecursiveUnionExec, WorkTable, WorkTableExec};
