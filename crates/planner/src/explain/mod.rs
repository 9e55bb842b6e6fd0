//! EXPLAIN in MySQL's forms: the table, JSON, and the tree. EXPLAIN ANALYZE adds measured rows and times to the tree.
//!
//! Reading order: [`table`], [`json`], `tree`, `key_parts` (names in it).

pub mod change;
mod condition;
pub mod json;
pub mod key_length;
mod key_parts;
mod literals;
pub mod readable;
pub mod table;
mod tree;
mod tree_json;

pub use change::{explain_change, explain_change_tree};
pub use json::explain_json;
pub use table::{ExplainRow, explain_columns, explain_table};
pub use tree::explain_tree;
pub use tree_json::explain_tree_json;
