//! One connection's state; runs one statement at a time.
//!
//! Reading order: [`api`] (what a front end sees), [`database`], [`session`] (the life of a statement), `dispatch`, then
//! one folder or file per family of statements.
//!
//! Knows: every crate below it. Must not know: sockets, packets, threads of connections.

mod accounts;
pub mod api;
mod appends;
mod authorization;
mod client_text;
pub mod collector;
mod commands;
mod connection;
pub mod database;
mod ddl;
pub mod deferred;
mod diagnostics;
mod dispatch;
mod event;
mod hints;
pub mod listener;
mod load_data;
mod logging;
mod long_statement;
pub mod module;
mod prepared;
pub mod procedure;
mod program;
mod query;
pub mod result;
mod route;
mod server_tables;
pub mod session;
mod session_plan_cache;
mod set;
mod settings;
mod shared_plan_cache;
mod show;
mod table_locks;
pub mod time_slice;
mod transaction;

pub use database::{Database, OpenOptions, WeakDatabase};
pub use listener::{EndedStatement, ListenedSession, Listener};
pub use module::Module;
pub use procedure::{Procedure, ProcedureCall};
pub use result::Failure;
pub use session::Session;
pub use squall_row_store::LogContents;
pub use squall_server_state::AllocatedMemory;
pub use squall_system_tables::type_text::type_text;
