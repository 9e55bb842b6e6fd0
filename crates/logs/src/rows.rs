//! The newest entries in memory, for the logs that are tables.
//!
//! Every core has its own part, so that sessions of different cores do not wait for each other; a reader takes the
//! parts one by one.

use crate::entry::{Entry, Work};
use crossbeam_utils::CachePadded;
use parking_lot::Mutex;
use squall_accounting::threads::thread_number;
use std::collections::VecDeque;

/// Most bytes of texts in all parts together.
const TEXT_BYTES_MAX: usize = 64 << 20;

/// An entry as a table shows it.
#[derive(Clone, Debug)]
pub struct LogRow {
    /// When it was written, microseconds since 1970.
    pub at_micros: i64,
    /// When the statement began.
    pub start_micros: i64,
    /// How long it took.
    pub micros: u64,
    /// How long its session had been there.
    pub session_micros: u64,
    /// The client, see [`Client::user_host`](crate::Client).
    pub user_host: String,
    /// The user as the client gave it.
    pub user: String,
    /// `CONNECTION_ID()`.
    pub session_id: u64,
    /// The session whose EXECUTE it works for.
    pub parent_id: Option<u64>,
    /// Number of the statement in its session.
    pub query_id: u64,
    /// `Query`, `Execute`, `Connect` …
    pub command: String,
    /// The default database.
    pub database: Option<String>,
    /// The text.
    pub text: Vec<u8>,
    /// What the statement did.
    pub work: Work,
}

#[derive(Debug, Default)]
struct Part {
    rows: VecDeque<LogRow>,
    text_bytes: usize,
}

/// The newest entries of a log.
#[derive(Debug)]
pub struct LogRows {
    parts: Box<[CachePadded<Mutex<Part>>]>,
}

impl Default for LogRows {
    fn default() -> Self {
        let parts = std::thread::available_parallelism().map_or(1, usize::from);
        LogRows { parts: (0..parts).map(|_| CachePadded::default()).collect() }
    }
}

impl LogRows {
    /// Adds an entry. The oldest ones of this core give way so that there are at most about `rows_max` in all.
    pub fn push(&self, entry: &Entry<'_>, rows_max: usize) {
        let row = LogRow {
            at_micros: entry.now_micros,
            start_micros: entry.start_micros,
            micros: entry.micros(),
            session_micros: entry.session_micros(),
            user_host: entry.client.user_host.clone(),
            user: entry.client.user.clone(),
            session_id: entry.client.id,
            parent_id: entry.client.parent,
            query_id: entry.query_id,
            command: entry.command.to_string(),
            database: entry.database.map(str::to_string),
            text: entry.text.to_vec(),
            work: entry.work.unwrap_or_default(),
        };
        let parts = self.parts.len();
        let mut part = self.parts[thread_number() % parts].lock();
        part.text_bytes += row.text.len();
        part.rows.push_back(row);
        while part.rows.len() > rows_max.div_ceil(parts) || part.text_bytes > TEXT_BYTES_MAX / parts {
            let Some(oldest) = part.rows.pop_front() else { break };
            part.text_bytes -= oldest.text.len();
        }
    }

    /// All entries, oldest first.
    pub fn all(&self) -> Vec<LogRow> {
        let mut rows: Vec<LogRow> = Vec::new();
        for part in &self.parts {
            rows.extend(part.lock().rows.iter().cloned());
        }
        rows.sort_by_key(|row| row.at_micros);
        rows
    }

    /// Forgets all entries.
    pub fn clear(&self) {
        for part in &self.parts {
            *part.lock() = Part::default();
        }
    }
}
