//! Memory by its use: the parts of the server count it themselves, and a reader asks them.

use crate::process::Process;
use parking_lot::Mutex;
use squall_catalog::NameKey;
use squall_types::{SqlType, Value};
use std::collections::BTreeMap;
use std::sync::atomic::Ordering;

/// Whatever no part knows of.
pub const OTHER: &str = "memory/squall/other";

/// Texts of prepared statements.
pub const PREPARED: &str = "memory/squall/prepared_statement_texts";
/// Reservations of queries: sorts, joins, groups.
pub const QUERIES: &str = "memory/squall/queries";
/// Writes of open transactions, after their last statements.
pub const TRANSACTIONS: &str = "memory/squall/transactions";

/// `@variables` of sessions.
pub const VARIABLES: &str = "memory/squall/user_variables";

/// The parts that are known by session.
pub const OF_SESSIONS: [&str; 4] = [PREPARED, QUERIES, TRANSACTIONS, VARIABLES];

/// Memory of a part of one session, or of several.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SessionPart {
    /// Things in it; 0 where they are not counted.
    pub count: u64,
    /// Bytes that they take.
    pub bytes: u64,
    /// The most there was, as far as that is known.
    pub high_bytes: u64,
}

impl SessionPart {
    /// Adds another session's.
    pub fn merge(&mut self, other: &SessionPart) {
        self.count += other.count;
        self.bytes += other.bytes;
        self.high_bytes += other.high_bytes;
    }
}

/// The parts of a session's memory, in the order of [`OF_SESSIONS`].
pub fn of_session(process: &Process) -> [SessionPart; OF_SESSIONS.len()] {
    let prepared = process.prepared.list();
    let texts = prepared.iter().map(|prepared| prepared.text.len() as u64).sum();
    let (reserved, reserved_high) = (process.memory.reserved() as u64, process.memory.high() as u64);
    let (variables, variable_bytes) = user_variables(process);
    let load = |counter: &std::sync::atomic::AtomicU64| counter.load(Ordering::Relaxed);
    [
        SessionPart { count: prepared.len() as u64, bytes: texts, high_bytes: texts },
        SessionPart { count: 0, bytes: reserved, high_bytes: reserved_high },
        SessionPart { count: 0, bytes: load(&process.written_bytes), high_bytes: load(&process.written_bytes_high) },
        SessionPart { count: variables, bytes: variable_bytes, high_bytes: variable_bytes },
    ]
}

/// How many `@variables` a session has, and the memory of their names and values.
pub fn user_variables(process: &Process) -> (u64, u64) {
    let variables = process.user_variables();
    let variables = variables.lock();
    let entry = size_of::<(NameKey, (Value, SqlType))>();
    let bytes: usize =
        variables.iter().map(|(name, (value, _))| entry + name.as_str().len() + value.heap_bytes()).sum();
    (variables.len() as u64, bytes as u64)
}

/// Memory of one part.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PartMemory {
    /// Its name in performance_schema.
    pub name: &'static str,
    /// Things in it; 0 where they are not counted.
    pub count: u64,
    /// Bytes that they take.
    pub bytes: u64,
}

/// The names of all parts.
pub const NAMES: &[&str] = &[
    "memory/squall/block_cache",
    "memory/squall/column_cache",
    OTHER,
    "memory/squall/plan_cache",
    PREPARED,
    QUERIES,
    "memory/squall/row_cache",
    TRANSACTIONS,
    VARIABLES,
    "memory/squall/write_buffers",
];

/// The least and the greatest memory of a part that readers have seen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Seen {
    /// The fewest things.
    pub low_count: u64,
    /// The most things.
    pub high_count: u64,
    /// The fewest bytes.
    pub low_bytes: u64,
    /// The most bytes.
    pub high_bytes: u64,
}

/// The same of all parts.
#[derive(Debug, Default)]
pub struct MemorySeen(Mutex<BTreeMap<&'static str, Seen>>);

impl MemorySeen {
    /// A reader looks.
    pub fn look(&self, part: &PartMemory) -> Seen {
        let PartMemory { name, count, bytes } = *part;
        let mut seen = self.0.lock();
        let now = Seen { low_count: count, high_count: count, low_bytes: bytes, high_bytes: bytes };
        let known = seen.entry(name).or_insert(now);
        *known = Seen {
            low_count: known.low_count.min(count),
            high_count: known.high_count.max(count),
            low_bytes: known.low_bytes.min(bytes),
            high_bytes: known.high_bytes.max(bytes),
        };
        *known
    }

    /// Forgets it.
    pub fn clear(&self) {
        self.0.lock().clear();
    }
}
