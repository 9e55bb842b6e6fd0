//! Memory of the parts of the server.

use crate::Source;
use squall_instrumentation::memory::{OTHER, PREPARED, PartMemory, QUERIES, TRANSACTIONS, VARIABLES, user_variables};
use std::sync::atomic::Ordering;

/// All parts, as they are now. The last one is the rest of the allocator's memory, if it tells.
pub(crate) fn memory_parts(source: &Source<'_>) -> Vec<PartMemory> {
    let part = |name, count, bytes| PartMemory { name, count, bytes };
    let state = source.state;
    let (columns, plans) = (state.column_cache.status(), source.server.plan_cache_size());
    let (buffers, buffer_bytes) = state.store.write_buffers();
    let prepared = state.prepared_count.load(Ordering::Relaxed);
    let (mut prepared_bytes, mut written_bytes, mut variables) = (0, 0, (0, 0));
    for process in state.processes.all() {
        prepared_bytes += process.prepared.list().iter().map(|prepared| prepared.text.len() as u64).sum::<u64>();
        written_bytes += process.written_bytes.load(Ordering::Relaxed);
        let own = user_variables(&process);
        variables = (variables.0 + own.0, variables.1 + own.1);
    }
    let mut parts = vec![
        part("memory/squall/block_cache", 0, state.store.block_cache_bytes()),
        part("memory/squall/column_cache", columns.entries as u64, columns.bytes as u64),
        part("memory/squall/plan_cache", plans.entries, plans.bytes),
        part(PREPARED, prepared, prepared_bytes),
        part(QUERIES, 0, state.runtime.reserved_bytes() as u64),
        part("memory/squall/row_cache", 0, state.store.row_cache_status().bytes),
        part(TRANSACTIONS, 0, written_bytes),
        part(VARIABLES, variables.0, variables.1),
        part("memory/squall/write_buffers", buffers, buffer_bytes),
    ];
    if let Some(allocated) = state.allocated_memory {
        let known: u64 = parts.iter().map(|part| part.bytes).sum();
        parts.push(part(OTHER, 0, allocated().bytes.saturating_sub(known)));
    }
    parts
}
