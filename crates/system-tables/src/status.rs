//! Status variables: what SHOW STATUS and performance_schema's tables of them have.
//!
//! Statements are counted by their sessions ([`SessionStatus`](squall_instrumentation::process::SessionStatus)); rows, files, sockets and waits are what
//! performance_schema has counted of them, so that they stand still while `performance_schema` is off.

use super::performance_files::{ROW_TABLE, sums_by_event};
use super::performance_objects::{all_tables, rows_by_table};
use super::{Source, s};
use squall_instrumentation::TlsUse;
use squall_instrumentation::process::Process;
use squall_instrumentation::socket_use::SocketTotals;
use squall_instrumentation::timed::Timed;
use squall_instrumentation::waits::{ROW_LOCK, TABLE_LOCK};
use squall_types::file_use::{FileTotals, REDO_LOG};
use squall_types::{ErrorCode, Value};
use std::sync::atomic::Ordering::Relaxed;

const NANOS_PER_MILLI: u64 = 1_000_000;

/// What this server has nothing of, by what would be counted: a binary log and replication, delayed inserts, key caches, prepared
/// two-phase commits, resource groups, engines beside its own. Monitoring programs ask for the names.
const NONE_HERE: &[(&str, &str)] = &[
    ("Binlog_cache_disk_use", "0"),
    ("Binlog_cache_use", "0"),
    ("Binlog_stmt_cache_disk_use", "0"),
    ("Binlog_stmt_cache_use", "0"),
    ("Delayed_errors", "0"),
    ("Delayed_insert_threads", "0"),
    ("Delayed_writes", "0"),
    ("Handler_discover", "0"),
    ("Key_blocks_not_flushed", "0"),
    ("Key_blocks_unused", "0"),
    ("Key_blocks_used", "0"),
    ("Key_read_requests", "0"),
    ("Key_reads", "0"),
    ("Key_write_requests", "0"),
    ("Key_writes", "0"),
    ("Not_flushed_delayed_rows", "0"),
    ("Ongoing_anonymous_transaction_count", "0"),
    ("Replica_open_temp_tables", "0"),
    ("Resource_group_supported", "OFF"),
    ("Secondary_engine_execution_count", "0"),
    ("Slave_open_temp_tables", "0"),
    ("Slow_launch_threads", "0"),
    ("Tc_log_max_pages_used", "0"),
    ("Tc_log_page_size", "0"),
    ("Tc_log_page_waits", "0"),
    ("Telemetry_logs_supported", "OFF"),
    ("Telemetry_metrics_supported", "OFF"),
    ("Telemetry_traces_supported", "OFF"),
];

/// Names and values of SHOW STATUS, by name.
pub fn status_rows(source: &Source<'_>, global: bool) -> Vec<Vec<Value>> {
    let state = source.state;
    let process = source.process().filter(|_| !global);
    let counters = match &process {
        Some(process) => process.status.values(),
        None => state.processes.total_status().values(),
    };
    let flushes = counters.iter().find(|(name, _)| *name == "Com_flush").map_or(0, |(_, count)| *count);
    let mut numbers = counters;
    numbers.push(("Flush_commands", flushes));
    numbers.extend(of_the_server(source));
    numbers.extend(of_sockets(source, process.as_deref()));
    numbers.extend(of_rows(source, process.as_deref()));
    numbers.extend(of_files(source));
    numbers.extend(of_waits(source));
    let mut rows: Vec<(String, String)> =
        numbers.into_iter().map(|(name, value)| (name.to_string(), value.to_string())).collect();
    rows.extend(NONE_HERE.iter().map(|(name, value)| ((*name).to_string(), (*value).to_string())));
    rows.extend(source.server.module_status());
    // Why changes are refused, if a write or a sync has failed.
    rows.push(("Squall_write_failure".into(), state.store.write_failure().unwrap_or_default().to_string()));
    // The reader's, also among the server's, where clients look for them.
    let tls = tls_status(source.process().as_deref());
    let shown = tls.into_iter().filter(|(name, _)| !global || *name != SSL_SESSIONS_REUSED);
    rows.extend(shown.map(|(name, value)| (name.to_string(), value)));
    if !global {
        rows.push(("Compression".into(), "OFF".into()));
    }
    rows.sort();
    rows.into_iter().map(|(name, value)| vec![s(name), s(value)]).collect()
}

/// What is there, and what has happened to connections.
fn of_the_server(source: &Source<'_>) -> Vec<(&'static str, u64)> {
    let state = source.state;
    let uptime = state.started.elapsed().as_secs();
    let processes = &state.processes;
    let running = processes.all().iter().filter(|process| process.activity.lock().command != "Sleep").count();
    let plans = source.server.plan_cache_size();
    let row_cache = state.store.row_cache_status();
    let tables: u64 = source.catalog.databases().values().map(|database| database.tables.len() as u64).sum();
    vec![
        ("Aborted_clients", processes.aborted_clients.load(Relaxed)),
        ("Aborted_connects", processes.aborted_connects.load(Relaxed)),
        ("Connection_errors_max_connections", processes.refused_connections.load(Relaxed)),
        ("Connections", processes.connections.load(Relaxed)),
        ("Connections_moved", processes.moved_connections.load(Relaxed)),
        ("Innodb_buffer_pool_bytes_data", state.store.block_cache_bytes()),
        ("Innodb_row_lock_current_waits", state.store.lock_waiter_count() as u64),
        ("Log_entries_lost", state.logs.entries_lost()),
        ("Max_used_connections", processes.max_used.load(Relaxed)),
        ("Open_table_definitions", tables),
        ("Open_tables", tables),
        ("Plan_cache_bytes", plans.bytes),
        ("Plan_cache_entries", plans.entries),
        ("Plan_cache_evictions", plans.evictions),
        ("Prepared_stmt_count", state.prepared_count.load(Relaxed)),
        ("Row_cache_bytes", row_cache.bytes),
        ("Row_cache_hits", row_cache.hits),
        ("Row_cache_misses", row_cache.misses),
        ("Threads_cached", 0),
        ("Threads_connected", processes.len() as u64),
        ("Threads_created", processes.connections.load(Relaxed)),
        ("Threads_running", running as u64),
        ("Uptime", uptime),
        ("Uptime_since_flush_status", uptime),
    ]
}

/// Bytes from and to clients: a session's own, or those of all, past and present.
fn of_sockets(source: &Source<'_>, process: Option<&Process>) -> [(&'static str, u64); 2] {
    let totals = match process {
        Some(process) => process.socket.as_ref().map_or_else(SocketTotals::default, |socket| socket.totals()),
        None => super::performance_sockets::all(source),
    };
    [("Bytes_received", totals.read_bytes), ("Bytes_sent", totals.written_bytes)]
}

/// Rows read and changed. What a scan has read is what MySQL reads by `rnd_next`; what was found along an index, by `read_key`.
fn of_rows(source: &Source<'_>, process: Option<&Process>) -> Vec<(&'static str, u64)> {
    let counted = match process {
        Some(process) => process.tables.snapshot(),
        None => rows_by_table(source),
    };
    let (mut by_key, mut scanned, mut inserted, mut updated, mut deleted) = (0, 0, 0, 0, 0);
    for ((_, index), totals) in &counted {
        *(if index.is_some() { &mut by_key } else { &mut scanned }) += totals.fetched.count;
        inserted += totals.inserted.count;
        updated += totals.updated.count;
        deleted += totals.deleted.count;
    }
    let mut rows = vec![
        ("Handler_delete", deleted),
        ("Handler_read_key", by_key),
        ("Handler_read_rnd_next", scanned),
        ("Handler_update", updated),
        ("Handler_write", inserted),
    ];
    let all = all_tables(source);
    rows.extend([
        ("Innodb_rows_deleted", all.deleted.count),
        ("Innodb_rows_inserted", all.inserted.count),
        ("Innodb_rows_read", all.fetched.count),
        ("Innodb_rows_updated", all.updated.count),
    ]);
    rows
}

/// What was read and written: of row tables, and the redo log.
fn of_files(source: &Source<'_>) -> Vec<(&'static str, u64)> {
    let sums = sums_by_event(source);
    let totals = |event: &str| sums.get(event).copied().unwrap_or_else(FileTotals::default);
    let (tables, log) = (totals(ROW_TABLE), totals(REDO_LOG));
    vec![
        ("Innodb_data_fsyncs", tables.other.count + log.other.count),
        ("Innodb_data_read", tables.read.bytes),
        ("Innodb_data_reads", tables.read.count),
        ("Innodb_data_writes", tables.written.count + log.written.count),
        ("Innodb_data_written", tables.written.bytes + log.written.bytes),
        ("Innodb_log_writes", log.written.count),
        ("Innodb_os_log_fsyncs", log.other.count),
        ("Innodb_os_log_written", log.written.bytes),
    ]
}

/// Waits for locks, and statements that took too long.
fn of_waits(source: &Source<'_>) -> Vec<(&'static str, u64)> {
    let (mut rows, mut tables, mut timeouts) = (Timed::default(), Timed::default(), 0);
    for (_, account) in super::performance_sums::accounts(source, super::performance_sums::nobody) {
        for (event, times) in &account.waits {
            match *event {
                ROW_LOCK => rows.merge(times),
                TABLE_LOCK => tables.merge(times),
                _ => {}
            }
        }
        timeouts += account.errors.get(&ErrorCode::QueryTimeout.number()).map_or(0, |error| error.raised);
    }
    vec![
        ("Innodb_row_lock_time", rows.sum_nanos / NANOS_PER_MILLI),
        ("Innodb_row_lock_time_avg", rows.sum_nanos.checked_div(rows.count).unwrap_or(0) / NANOS_PER_MILLI),
        ("Innodb_row_lock_time_max", rows.max_nanos / NANOS_PER_MILLI),
        ("Innodb_row_lock_waits", rows.count),
        ("Max_execution_time_exceeded", timeouts),
        ("Table_locks_waited", tables.count),
    ]
}

/// Whether a connection's session of TLS is one that has gone on: of sessions only.
const SSL_SESSIONS_REUSED: &str = "Ssl_sessions_reused";

/// Status variables of TLS: of a connection, and what they are where there is none.
pub(crate) fn tls_status(process: Option<&Process>) -> [(&'static str, String); 3] {
    let tls = process.and_then(|process| process.tls.as_deref());
    let text = |of: fn(&TlsUse) -> &str| tls.map_or_else(String::new, |tls| of(tls).to_string());
    let resumed = tls.is_some_and(|tls| tls.resumed);
    [
        ("Ssl_cipher", text(|tls| &tls.cipher)),
        (SSL_SESSIONS_REUSED, u64::from(resumed).to_string()),
        ("Ssl_version", text(|tls| tls.version)),
    ]
}
