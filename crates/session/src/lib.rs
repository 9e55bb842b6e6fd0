//! Sessions: the state of one connection, which runs one statement at a time.
//!
//! Reading order, from below: [`result`] (writers of results), `plans` (routes of statements, and their caches), `state` (state between
//! statements), [`database`] (shared state, and the interface for modules), [`session`] (the life of a statement), `dispatch`, then one
//! folder or file for each family of statements. On top: `opening`, [`api`] and `backend` (the interface for front ends). Modules name
//! only those below them.
//!
//! Knows: every crate below it. Must not know: sockets, packets, threads of connections.

mod accounts;
pub mod api;
mod appends;
mod authorization;
mod backend;
mod backup;
mod cached_routes;
mod change_plan;
mod client_text;
pub mod collector;
mod commands;
mod compiled;
mod connection;
mod converted;
pub mod database;
mod ddl;
mod declared_variables;
pub mod deferred;
mod descriptions;
mod directory_check;
mod dispatch;
mod event;
mod event_scheduler;
pub mod execute;
mod following;
mod foreign_servers;
mod handler;
mod help;
mod hints;
mod key_cache;
pub mod listener;
mod load_data;
mod logging;
mod module_objects;
mod opening;
mod plans;
pub mod procedure;
mod program;
mod program_errors;
mod query;
mod reading;
pub mod result;
mod route;
mod routine;
mod routine_language;
mod sequences;
mod server_backup;
mod server_tables;
pub mod session;
mod set;
mod show;
mod signalled;
mod stack;
mod state;
mod statement_kind;
mod statement_programs;
mod stored_aggregates;
mod stored_functions;
mod table_locks;
mod table_triggers;
mod text_request;
mod thread_runtime;
pub mod time_slice;
mod transaction;
mod trigger;
mod trigger_rows;
mod xa;

pub use database::{Database, Module, ModuleObjects, ModuleRecords, Procedure, ProcedureCall, UrlSource, WeakDatabase};
pub use declared_variables::DeclaredVariables;
pub use directory_check::CheckedTable;
pub use listener::{EndedStatement, ListenedSession, Listener};
pub use opening::OpenOptions;
pub use result::Failure;
pub use session::Session;
pub use squall_backup::Summary as BackupSummary;
pub use squall_row_store::LogContents;
pub use squall_server_state::AllocatedMemory;
pub use squall_server_state::memory_limit::machine_memory;
pub use squall_system_tables::type_text::type_text;
