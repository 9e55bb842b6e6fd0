//! Running query plans.
//!
//! Reading order: [`mod@env`] (what a statement runs in), [`runtime`] (threads, memory and spilling), `counted_pool` (a session's memory), [`lookup_join`] and
//! [`join_rule`] (index nested-loop joins), [`join_keys`] (a join's keys as a condition), `join_order_rule` (joins that keep an order), `list_order_rule` (left joins below lists), [`order_rule`] (rows in an order), `seek_rule` and
//! `seek_range_rule` (parts of a history), `spilling_join` (hash joins larger than memory), `spilling_top` (ORDER BY … LIMIT likewise), [`one_row`]
//! (assignments of variables), [`in_order`] (parts of a UNION), `pass_through` (what operators that hand rows on have in common), `shared_transaction` (locking reads), `stopping` (KILL while a plan is made), [`output`] (from batches to rows on the wire).

mod counted_pool;
pub mod env;
pub mod in_order;
pub mod join_keys;
pub(crate) mod join_order_rule;
pub mod join_rule;
mod kill_check;
pub(crate) mod list_order_rule;
pub mod locked_limit_rule;
pub mod lookup_join;
pub mod one_row;
pub mod order_rule;
pub mod output;
pub(crate) mod pass_through;
mod plan_counts;
mod row_count;
pub mod runtime;
pub(crate) mod seek_range_rule;
pub(crate) mod seek_rule;
mod shared_transaction;
mod spilling_join;
mod spilling_top;
pub(crate) mod stopping;
mod window_input;
mod work_meters;

pub use env::StatementEnv;
pub use kill_check::check_kill_in_joins;
pub use output::write_batch;
pub use runtime::{QueryRuntime, QueryStream, ReservedMemory, RuntimeOptions};
pub use shared_transaction::{LentTransaction, SharedTransaction};
pub use spilling_join::{as_hash_join, let_joins_spill};
pub use spilling_top::{as_sort, let_limited_sorts_spill};
pub(crate) use window_input::charge_windows;
