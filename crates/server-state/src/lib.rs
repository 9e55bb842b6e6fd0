//! [`ServerState`]: the state that all sessions of a server share.
//!
//! From the bottom up: [`random`], [`variables`] (names and values of system variables), [`mod@check`] (their
//! allowed values), [`key_caches`], [`variable_origin`], [`globals`], [`hourly_use`], [`failed_logins`], `access_maps`, [`accounts`], [`event_definition`], [`thread_limit`],
//! [`state`], [`log_settings`].
//!
//! Knows: the store, the catalog, the query runtime, jobs, logs. Must not know: sessions, statements, modules.

mod access_maps;
mod account_codec;
pub mod accounts;
pub mod action_times;
pub mod check;
pub mod configuration_history;
pub mod event_definition;
pub mod failed_logins;
pub mod foreign_servers;
pub mod globals;
pub mod hourly_use;
pub mod key_caches;
pub mod log_settings;
pub mod memory_limit;
pub mod random;
pub mod state;
pub mod thread_limit;
pub mod variable_origin;
pub mod variables;
pub mod work_rate;

pub use squall_types::clock::now_micros;
pub use state::{AllocatedMemory, ServerState};
