//! Memory by what it is for: what the parts of the server know of themselves, asked for when somebody looks.

use crate::database::Shared;
use parking_lot::Mutex;
use std::collections::BTreeMap;
use std::sync::atomic::Ordering;

/// Whatever no part knows of.
const OTHER: &str = "memory/squall/other";

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
    let prepared_bytes: u64 = shared
        .processes
        .all()
        .iter()
        .flat_map(|process| process.prepared.list())
        .map(|prepared| prepared.text.len() as u64)
        .sum();
    let mut parts = vec![
        part("memory/squall/block_cache", 0, shared.store.block_cache_bytes()),
        part("memory/squall/column_cache", columns.entries as u64, columns.bytes as u64),
        part("memory/squall/plan_cache", plans.entries, plans.bytes),
        part("memory/squall/prepared_statement_texts", prepared, prepared_bytes),
        part("memory/squall/queries", 0, shared.runtime.reserved_bytes() as u64),
        part("memory/squall/row_cache", 0, shared.store.row_cache_status().bytes),
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
    "memory/squall/prepared_statement_texts",
    "memory/squall/queries",
    "memory/squall/row_cache",
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
