//! The abstract syntax tree: the parts of a statement as plain values.
//!
//! Nothing here is resolved: a name is the name as written and a literal is its exact text. Equality ignores [`Span`]s, so two trees
//! are equal when the statements mean the same to the parser. Parentheses have no node; the printer writes those that precedence needs.
// Fields and variants carry the grammar's own words; only what those words do not say is documented.
#![allow(missing_docs)]

mod account;
mod admin;
mod api_token;
mod column_name;
mod compared_constants;
mod ddl;
mod deep;
mod dml;
mod expr;
mod expr_parts;
mod http_endpoint;
mod item_names;
mod names;
mod names_mut;
mod packed;
mod query;
mod routine;
mod show;
mod statement;
mod table;
mod transaction;
mod types;
mod variable;
mod visit;

pub use account::*;
pub use admin::*;
pub use api_token::*;
pub use ddl::*;
pub use deep::{Deep, with_stack};
pub use dml::*;
pub use expr::*;
pub use http_endpoint::*;
pub use names::*;
pub use names_mut::NameMut;
pub use packed::*;
pub use query::*;
pub use routine::*;
pub use show::*;
pub use statement::*;
pub use table::*;
pub use transaction::*;
pub use types::*;
pub use variable::*;
