//! Memory.

use super::logs::number;
use super::{NdbTable, Rows, node};
use crate::memory_parts::memory_parts;
use crate::source::Source;
use crate::spec::{s, u};
use squall_instrumentation::memory::QUERIES;
use squall_registry::VirtualScan;

/// Bytes of NDB's pages, in which its memory is counted.
const PAGE_BYTES: u64 = 32 << 10;

pub(super) const TABLES: &[NdbTable] = &[
    NdbTable {
        name: "memoryusage",
        comment: "memory of caches and of queries",
        columns: "node_id:w memory_type:v512 used:u used_pages:w total:u total_pages:w",
        rows: usage,
    },
    NdbTable {
        name: "resources",
        comment: "memory by part of the server, in pages of 32 KB",
        columns: "node_id:w resource_name:v512 reserved:w used:w max:w spare:w",
        rows: resources,
    },
];

/// A part of [`memory_parts`], with the variable that limits it.
const LIMITS: [(&str, &str); 4] = [
    ("memory/squall/column_cache", "column_cache_size"),
    ("memory/squall/plan_cache", "plan_cache_size"),
    ("memory/squall/row_cache", "row_cache_size"),
    (QUERIES, "query_memory_limit"),
];

/// Kinds of memory in NDB's words, and the parts that they are here.
const KINDS: [(&str, &[&str]); 3] = [
    ("Data memory", &["memory/squall/row_cache", "memory/squall/block_cache", "memory/squall/write_buffers"]),
    ("Index memory", &["memory/squall/column_cache"]),
    ("Long message buffer", &[QUERIES]),
];

fn limit(source: &Source<'_>, part: &str) -> u64 {
    let variable = LIMITS.iter().find(|(name, _)| *name == part);
    variable.map_or(0, |(_, variable)| number(source, variable))
}

fn usage(source: &Source<'_>, _: &VirtualScan<'_>) -> Rows {
    let parts = memory_parts(source);
    let row = |(kind, names): &(&str, &[&str])| {
        let of_kind = parts.iter().filter(|part| names.contains(&part.name));
        let used: u64 = of_kind.map(|part| part.bytes).sum();
        let total = names.iter().map(|name| limit(source, name)).sum::<u64>().max(used);
        vec![node(), s(*kind), u(used), u(used / PAGE_BYTES), u(total), u(total / PAGE_BYTES)]
    };
    Ok(KINDS.iter().map(row).collect())
}

fn resources(source: &Source<'_>, _: &VirtualScan<'_>) -> Rows {
    let row = |part: squall_instrumentation::memory::PartMemory| {
        let name = part.name.rsplit('/').next().unwrap_or(part.name).to_ascii_uppercase();
        let max = limit(source, part.name) / PAGE_BYTES;
        vec![node(), s(name), u(0), u(part.bytes.div_ceil(PAGE_BYTES)), u(max), u(0)]
    };
    Ok(memory_parts(source).into_iter().map(row).collect())
}
