//! The general, slow, query, audit and error logs: entries, files, and the tables that show the newest of them.
//!
//! There is no lock around writing. A session builds an entry in a buffer of its own and hands it to the system with one
//! `write` to a descriptor opened for appending, which the system keeps apart from all others; or it puts the entry into a
//! buffer of its core that a thread writes as a whole. Files are exchanged beneath their writers by an atomic pointer.
//!
//! Reading order: [`mod@file`] and its `buffer`, [`entry`], then the forms ([`classic`], [`query_log`], [`json`]), [`rows`], [`logs`];
//! [`error_log`] stands by itself.

pub mod classic;
pub mod entry;
pub mod error_log;
pub mod file;
pub mod json;
pub mod logs;
pub mod query_log;
pub mod rows;
pub mod text;
pub mod timestamp;

pub use entry::{Client, Entry, Work};
pub use file::{LogFile, Rotation};
pub use logs::{Active, Format, LogSettings, Logs, Thresholds};
pub use timestamp::Zone;
