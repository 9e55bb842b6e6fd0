//! The general, slow, query, audit and error logs: entries, files, and the tables that show the newest of them.
//!
//! Writing takes no lock. A session builds an entry in its own buffer. It writes the entry by one `write` to a descriptor opened for
//! appending, and the operating system does not mix it with other writes. Or it puts the entry into a buffer of its core, which a
//! thread writes as a whole. Files are exchanged by an atomic pointer while sessions write.
//!
//! Reading order: [`mod@file`] and its `buffer`, [`entry`], then the forms ([`classic`], [`query_log`], [`json`]), [`rows`], [`logs`];
//! [`error_log`] is independent of these.

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
