//! [`ServerState`]: the state that all sessions of a server share.
//!
//! From the bottom up: [`charset`], [`random`], [`variables`] (names and values of system variables), [`locales`], [`mod@check`] (their
//! allowed values), [`key_caches`], [`globals`], [`accounts`], [`event_definition`], [`state`], [`log_settings`].
//!
//! Knows: the store, the catalog, the query runtime, jobs, logs. Must not know: sessions, statements, modules.

mod account_codec;
pub mod accounts;
pub mod charset;
pub mod check;
pub mod event_definition;
pub mod foreign_servers;
pub mod globals;
pub mod key_caches;
pub mod locales;
pub mod log_settings;
pub mod random;
pub mod state;
pub mod variables;

pub use squall_types::clock::now_micros;
pub use state::{AllocatedMemory, ServerState};
