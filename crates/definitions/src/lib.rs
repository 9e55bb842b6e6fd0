//! Definitions of databases, tables, keys and views. They are resolved into the catalog's form, checked, and given to the store. The
//! store makes the whole change of a statement durable and then publishes it.
//!
//! From the bottom up: [`names`], [`data_type`], [`constant`], [`context`], [`mod@column`], [`functional_key`], [`long_key`], [`index`], [`table_option`],
//! [`constraint`], [`create_table`], [`alter_table`] (definitions as values); [`execute`], [`locked`], [`edit`] (how the catalog is
//! changed); [`copy`] and [`sorted_rows`] (rows of one definition as rows of another); [`create`], [`alter`], [`mod@drop`], [`database`],
//! [`trigger`], [`view`] (the statements), [`explain`] (ALTER TABLE before it is done).
//!
//! Knows: the catalog, the store, [`ServerState`](squall_server_state::ServerState). Must not know: sessions, transactions, packets.

pub mod alter;
pub mod alter_table;
pub mod column;
pub mod constant;
pub mod constraint;
pub mod context;
pub mod copy;
pub mod create;
pub mod create_table;
pub mod data_type;
pub mod database;
pub mod drop;
pub mod edit;
pub mod exchange;
pub mod execute;
pub mod explain;
pub mod expressions;
pub mod functional_key;
pub mod index;
mod index_build;
pub mod locked;
pub mod long_key;
pub mod names;
pub mod partition;
pub mod partition_change;
mod preparation;
mod progress;
pub mod routine;
pub mod sequence;
pub mod sorted_rows;
mod table_copy;
pub mod table_option;
pub mod trigger;
pub mod view;

pub use context::DdlContext;
