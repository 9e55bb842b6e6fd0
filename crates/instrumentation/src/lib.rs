//! Instrumentation: the process list, and the numbers behind performance_schema.
//!
//! A session counts by itself, in its [`Process`], and shares nothing while a statement runs; [`Statistics`] has the counts of ended sessions.
//! Readers add both up.
//!
//! From the bottom up: [`totals`], [`timed`], [`events`], [`recent`], [`statement_counters`], [`statements`], [`tables`], [`transactions`], [`prepared`], [`errors`],
//! [`waits`], [`stages`], [`socket_use`]; [`process`]; [`memory`], [`accounts`], [`statistics`].
//!
//! Knows: digests, statistics of the row store's waits, MySQL's names of events. Must not know: sessions, sockets, the tables that show it.

pub mod accounts;
pub mod errors;
pub mod events;
pub mod memory;
pub mod prepared;
pub mod process;
pub mod recent;
pub mod socket_use;
pub mod stages;
pub mod statement_counters;
pub mod statements;
pub mod statistics;
pub mod tables;
pub mod timed;
pub mod totals;
pub mod transactions;
pub mod waits;

pub use process::{KillCallback, Process, ProcessList, count};
pub use socket_use::{ClientCertificate, SocketUse, TlsUse};
pub use statistics::Statistics;
