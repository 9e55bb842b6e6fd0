//! Operators that DataFusion does not have, and changes of those that it has.
//!
//! - New ones: [`apply`] and [`recursive`] (logical), [`apply_exec`] and [`recursive_exec`] (physical), [`json_table`] and
//!   `nested_block` (both), [`lookup_join`] (index nested-loop joins). Parts of Apply: `unnest` (a subquery for all rows at once), `answers` (its rows by
//!   key), `quantified` (ANY and ALL), `subquery_result`.
//! - Changed ones of DataFusion: `spilling_join` (hash joins larger than memory), `spilling_sort` (sorts likewise),
//!   [`one_row`] (assignments of variables), [`in_order`] (parts of a UNION), `kill_check`, `row_count` and `window_input` (the memory
//!   that these gather is charged, and KILL ends them).
//! - `pass_through` has the common part of operators that only pass rows on.

mod answers;
pub mod apply;
pub mod apply_exec;
pub mod in_order;
pub mod json_table;
mod key_table;
mod kill_check;
pub mod lookup_join;
pub mod nested_block;
pub mod one_row;
pub(crate) mod pass_through;
mod quantified;
pub mod recursive;
pub mod recursive_exec;
mod row_count;
mod spilling_join;
mod spilling_sort;
mod subquery_result;
pub mod tables_apart;
mod unnest;
mod wider_rows;
mod window_input;

pub use apply::{Apply, ApplyKind, OuterValue};
pub use apply_exec::ApplyExec;
pub use kill_check::check_kill_in_joins;
pub use pass_through::moves_rows;
pub use recursive::RecursiveUnion;
pub use recursive_exec::{RecursiveUnionExec, WorkTable, WorkTableExec};
pub use spilling_join::{as_hash_join, let_joins_spill};
pub use spilling_sort::{as_sort, let_sorts_spill};
pub(crate) use window_input::charge_windows;
