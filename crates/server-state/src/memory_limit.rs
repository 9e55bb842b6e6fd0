//! The memory of the machine, and how much of it queries may have.

use crate::globals::GlobalVariables;
use crate::variables::{Values, ids};

/// `query_memory_limit`, or three quarters of the machine's memory if that is 0.
pub fn query_memory_limit(globals: &GlobalVariables) -> usize {
    match Values(&globals.load_values()).number(ids::QUERY_MEMORY_LIMIT) {
        0 => machine_memory().map_or(1 << 30, |bytes| bytes / 4 * 3),
        bytes => usize::try_from(bytes).unwrap_or(usize::MAX),
    }
}

/// Memory of the machine in bytes, where the system tells.
pub fn machine_memory() -> Option<usize> {
    memory_line("MemTotal:").and_then(|bytes| usize::try_from(bytes).ok())
}

/// Memory that processes can still have, bytes, where the system tells.
pub fn available_memory() -> Option<u64> {
    memory_line("MemAvailable:")
}

/// A line of the system's account of memory, bytes.
fn memory_line(name: &str) -> Option<u64> {
    let text = std::fs::read_to_string("/proc/meminfo").ok()?;
    let line = text.lines().find(|line| line.starts_with(name))?;
    let kilobytes: u64 = line.split_whitespace().nth(1)?.parse().ok()?;
    Some(kilobytes << 10)
}
