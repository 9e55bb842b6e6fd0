//! Runs plans: scans of tables, operators, the rules that choose them, and where they run.
//!
//! From the bottom up: [`mod@env`] (the environment of a statement), [`stopping`] (KILL while a plan is made), [`runtime_filters`]
//! (filters that one operator finds for another), `rewrite` (changes of plans, node by node), [`operator`] (the properties of each operator), [`access`] (paths to rows, and
//! scans), [`operators`], [`nearest`], [`document_values`] and [`star`] (aggregates by indexes and by the star kernel),
//! [`TableOperator`] (the operators that read tables), [`rules`] of the optimizer, [`reusable`] (plans that run more than once),
//! [`engine`] (how DataFusion is set up), [`runtime`] (threads, memory and spilling). The planner is above: it binds statements. This
//! crate must not know SQL texts, sessions or sockets.

pub mod access;
pub mod document_values;
pub mod engine;
pub mod env;
pub mod nearest;
pub mod operator;
pub mod operators;
pub mod reusable;
mod rewrite;
pub mod rules;
pub mod runtime;
pub mod runtime_filters;
pub mod star;
pub mod stopping;
mod table_operator;

pub use env::StatementEnv;
pub use table_operator::TableOperator;
