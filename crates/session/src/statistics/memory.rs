//! Memory by what it is for: what the parts of the server know of themselves, asked for when somebody looks.

use crate::database::Shared;
use crate::process::Process;
use parking_lot::Mutex;
use squall_catalog::NameKey;
use squall_types::{SqlType, Value};
use std::collections::BTreeMap;
use std::sync::atomic::Ordering;

/// Whatever no part knows of.
const OTHER: &str = "memory/squall/other";

/// Texts of prepared statements.
const PREPARED: &str = "memory/squall/prepared_statement_texts";
/// What queries have reserved: sorts, joins, groups.
const QUERIES: &str = "memory/squall/queries";
/// What open transactions have written, after their last statements.
const TRANSACTIONS: &str = "memory/squall/transactions";

/// `@variables` of sessions.
const VARIABLES: &str = "memory/squall/user_variables";

/// The parts that are known by session.
pub(crate) const OF_SESSIONS: [&str; 4] = [PREPARED, QUERIES, TRANSACTIONS, VARIABLES];

/// Memory of a part of one session, or of several.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct SessionPart {
    /// Things in it; 0 where they are not counted.
    pub count: u64,
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

/// What is known of a session's memory, in the order of [`OF_SESSIONS`].
pub(crate) fn of_session(process: &Process) -> [SessionPart; OF_SESSIONS.len()] {
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
fn user_variables(process: &Process) -> (u64, u64) {
    let variables = process.user_variables();
    let variables = variables.lock();
    let entry = size_of::<(NameKey, (Value, SqlType))>();
    let bytes: usize =
        variables.iter().map(|(name, (value, _))| entry + name.as_str().len() + value.heap_bytes()).sum();
    (variables.len() as u64, bytes as u64)
}

/// Memory of one part.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct PartMemory {
    pub name: &'static str,
    /// Things in it; 0 where they are not counted.
    pub count: u64,
    pub bytes: u64,
}

/// All parts, as they are now. The last one is the rest of what the allocator has taken, where it tells.
pub(crate) fn parts(shared: &Shared) -> Vec<PartMemory> {
    let part = |name, count, bytes| PartMemory { name, count, bytes };
    let (columns, plans) = (shared.column_cache.status(), shared.plans.size());
    let (buffers, buffer_bytes) = shared.store.write_buffers();
    let prepared = shared.prepared_count.load(Ordering::Relaxed);
    let (mut prepared_bytes, mut written_bytes, mut variables) = (0, 0, (0, 0));
    for process in shared.processes.all() {
        prepared_bytes += process.prepared.list().iter().map(|prepared| prepared.text.len() as u64).sum::<u64>();
        written_bytes += process.written_bytes.load(Ordering::Relaxed);
        let own = user_variables(&process);
        variables = (variables.0 + own.0, variables.1 + own.1);
    }
    let mut parts = vec![
        part("memory/squall/block_cache", 0, shared.store.block_cache_bytes()),
        part("memory/squall/column_cache", columns.entries as u64, columns.bytes as u64),
        part("memory/squall/plan_cache", plans.entries, plans.bytes),
        part(PREPARED, prepared, prepared_bytes),
        part(QUERIES, 0, shared.runtime.reserved_bytes() as u64),
        part("memory/squall/row_cache", 0, shared.store.row_cache_status().bytes),
        part(TRANSACTIONS, 0, written_bytes),
        part(VARIABLES, variables.0, variables.1),
        part("memory/squall/write_buffers", buffers, buffer_bytes),
    ];
    if let Some(allocated) = shared.allocated_memory {
        let known: u64 = parts.iter().map(|part| part.bytes).sum();
        parts.push(part(OTHER, 0, allocated().bytes.saturating_sub(known)));
    }
    parts
}

/// The names of all parts.
pub(crate) const NAMES: &[&str] = &[
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

/// Between which numbers a part's memory was when somebody looked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Seen {
    pub low_count: u64,
    pub high_count: u64,
    pub low_bytes: u64,
    pub high_bytes: u64,
}

/// The same of all parts.
#[derive(Debug, Default)]
pub(crate) struct MemorySeen(Mutex<BTreeMap<&'static str, Seen>>);

impl MemorySeen {
    /// Somebody looks.
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
