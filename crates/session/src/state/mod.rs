//! The state that a session keeps between statements. Nothing here runs a statement.

pub(crate) mod appended_rows;
pub(crate) mod backup;
pub(crate) mod commit_target;
pub(crate) mod diagnostics;
pub(crate) mod first_settings;
pub(crate) mod image;
pub(crate) mod locals;
pub(crate) mod log;
pub(crate) mod open_handler;
pub(crate) mod prepared_statements;
pub(crate) mod settings;
pub(crate) mod timer;
pub(crate) mod transaction;
pub(crate) mod write_locked_tables;
pub(crate) mod xa;
