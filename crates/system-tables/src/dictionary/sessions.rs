//! PROCESSLIST, SESSION_USAGE, PROTOCOL_COUNTERS. (SESSIONS has a file of its own.)

use super::DATABASE;
use crate::source::Source;
use crate::spec::{ColumnSpec, TableSpec, flag, int, long_text, s, text, u, uint};
use squall_instrumentation::recent::RecentStatement;
use squall_registry::VirtualScan;
use squall_types::{SqlResult, Value};
use std::sync::atomic::{AtomicU64, Ordering};

pub(crate) const TABLES: &[TableSpec] = &[
    TableSpec {
        database: DATABASE,
        name: "PROCESSLIST",
        columns: &[
            uint("ID"),
            text("USERNAME", 32),
            text("HOST", 261),
            text("DB", 64).or_null(),
            text("COMMAND", 16),
            int("TIME"),
            text("STATE", 64).or_null(),
            long_text("INFO").or_null(),
            flag("HAS_GLOBAL_LOCK"),
        ],
        rows: processes,
    },
    TableSpec { database: DATABASE, name: "SESSION_USAGE", columns: USAGE, rows: usage },
    TableSpec {
        database: DATABASE,
        name: "PROTOCOL_COUNTERS",
        columns: &[text("PROTOCOL", 16), text("COUNTER", 64), uint("VALUE")],
        rows: protocols,
    },
];

/// The columns of the operating system's account of a process, in its order.
const USAGE: &[ColumnSpec] = &[
    long_text("QUERY"),
    uint("USER_TIME_USED_SECONDS"),
    uint("USER_TIME_USED_MICRO_SECONDS"),
    uint("SYSTEM_TIME_USED_SECONDS"),
    uint("SYSTEM_TIME_USED_MICRO_SECONDS"),
    uint("INTEGRAL_MAX_RESIDENT_SET_SIZE"),
    uint("INTEGRAL_SHARED_TEXT_MEMORY_SIZE"),
    uint("INTEGRAL_UNSHARED_DATA_SIZE"),
    uint("INTEGRAL_UNSHARED_STACK_SIZE"),
    uint("PAGE_RECLAIMS"),
    uint("PAGE_FAULTS"),
    uint("SWAPS"),
    uint("BLOCK_INPUT_OPERATIONS"),
    uint("BLOCK_OUTPUT_OPERATIONS"),
    uint("MESSAGES_SENT"),
    uint("MESSAGES_RECEIVED"),
    uint("SIGNALS_RECEIVED"),
    uint("VOLUNTARY_CONTEXT_SWITCHES"),
    uint("INVOLUNTARY_CONTEXT_SWITCHES"),
];

fn processes(source: &Source<'_>, _: &VirtualScan<'_>) -> SqlResult<Vec<Vec<Value>>> {
    let mut rows = crate::process_rows(source, usize::MAX);
    for row in &mut rows {
        let has_lock = matches!(row.first(), Some(Value::UInt(id)) if source.state.store.holds_read_lock(*id));
        row.push(Value::from(has_lock));
    }
    Ok(rows)
}

/// What the reader's last statements have used. Threads serve statements of many sessions, so what the system tells of threads alone
/// is 0 for each.
fn usage(source: &Source<'_>, _: &VirtualScan<'_>) -> SqlResult<Vec<Vec<Value>>> {
    const MICROS_PER_SECOND: u64 = 1_000_000;
    let row = |statement: &RecentStatement| {
        let micros = statement.measured.processor_nanos / 1000;
        let mut row = vec![
            s(String::from_utf8_lossy(&statement.text)),
            u(micros / MICROS_PER_SECOND),
            u(micros % MICROS_PER_SECOND),
            u(0),
            u(0),
            // Kilobytes, as the system has it.
            u(statement.measured.memory_bytes.div_ceil(1024)),
        ];
        row.resize(USAGE.len(), u(0));
        row
    };
    let recent = source.process().map(|process| process.recent_statements()).unwrap_or_default();
    Ok(recent.iter().map(row).collect())
}

/// Connections of MySQL's protocol, and what modules count of theirs.
fn protocols(source: &Source<'_>, _: &VirtualScan<'_>) -> SqlResult<Vec<Vec<Value>>> {
    let processes = &source.state.processes;
    let connected = processes.all().iter().filter(|process| process.is_client()).count() as u64;
    let load = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
    let counters = [
        ("aborted_clients", load(&processes.aborted_clients)),
        ("connected", connected),
        ("connection_count", load(&processes.connections)),
        ("encrypted", load(&processes.encrypted)),
        ("failed_connections", load(&processes.aborted_connects)),
        ("refused_connections", load(&processes.refused_connections)),
    ];
    let mut rows: Vec<Vec<Value>> =
        counters.into_iter().map(|(name, value)| vec![s("mysql"), s(name), u(value)]).collect();
    for (name, value) in source.server.module_status() {
        let Some(counter) = name.strip_prefix("Json_server_").filter(|counter| *counter != "port") else { continue };
        rows.push(vec![s("http"), s(counter), u(value.parse().unwrap_or(0))]);
    }
    Ok(rows)
}
