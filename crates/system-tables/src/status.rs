//! Status variables of SHOW STATUS and of performance_schema.
//!
//! Sessions count statements ([`SessionStatus`](squall_instrumentation::process::SessionStatus)); performance_schema counts rows, files,
//! sockets and waits, so they do not change while `performance_schema` is off.

use super::performance_files::{ROW_TABLE, sums_by_event};
use super::performance_objects::{all_tables, rows_by_table};
use super::status_names::{OF_SESSIONS, WORDS, ZERO};
use super::{Source, s};
use crate::spec::local_time;
use squall_accounting::file_use::{FileTotals, REDO_LOG};
use squall_instrumentation::TlsUse;
use squall_instrumentation::process::Process;
use squall_instrumentation::timed::Timed;
use squall_instrumentation::waits::{ROW_LOCK, TABLE_LOCK};
use squall_server_state::check::text as text_of;
use squall_server_state::now_micros;
use squall_server_state::variables::Values;
use squall_types::{ErrorCode, Value};
use std::sync::atomic::Ordering::Relaxed;

const NANOS_PER_MILLI: u64 = 1_000_000;
/// What clients are told that pages are (`innodb_page_size`).
const INNODB_PAGE_BYTES: u64 = 16_384;

/// Names and values of SHOW STATUS, by name.
pub fn status_rows(source: &Source<'_>, global: bool) -> Vec<Vec<Value>> {
    let state = source.state;
    let process = source.process().filter(|_| !global);
    let counters = match &process {
        Some(process) => process.status.values(),
        None => state.processes.total_status().values(),
    };
    let counted = |name: &str| counters.iter().find(|(known, _)| *known == name).map_or(0, |(_, count)| *count);
    let flushes = counted("Com_flush");
    // One storage engine is told of each.
    let savepoints = [
        ("Handler_savepoint", counted("Com_savepoint")),
        ("Handler_savepoint_rollback", counted("Com_rollback_to_savepoint")),
    ];
    let mut numbers = counters;
    numbers.push(("Flush_commands", flushes));
    numbers.extend(savepoints);
    numbers.extend(of_the_server(source));
    numbers.extend(of_sockets(source, process.as_deref()));
    numbers.extend(of_rows(source, process.as_deref()));
    numbers.extend(of_files(source));
    numbers.extend(of_waits(source));
    let mut rows: Vec<(String, String)> =
        numbers.into_iter().map(|(name, value)| (name.to_string(), value.to_string())).collect();
    rows.extend(ZERO.iter().map(|name| ((*name).to_string(), "0".to_string())));
    let words = WORDS.iter().chain(if global { &[] } else { OF_SESSIONS });
    rows.extend(words.map(|(name, value)| ((*name).to_string(), (*value).to_string())));
    rows.extend(of_variables(source));
    rows.extend(source.server.module_status());
    // Why changes are refused, if a write or a sync has failed.
    rows.push(("Squall_write_failure".into(), state.store.write_failure().unwrap_or_default().to_string()));
    // The reader's, also among the server's, where clients look for them.
    let tls = tls_status(source.process().as_deref());
    rows.extend(tls.map(|(name, value)| (name.to_string(), value)));
    if !global {
        rows.extend(compression_status(source.process().as_deref()).map(|(name, value)| (name.to_string(), value)));
    }
    rows.sort();
    rows.into_iter().map(|(name, value)| vec![s(name), s(value)]).collect()
}

/// Counts of objects, and of events of connections.
fn of_the_server(source: &Source<'_>) -> Vec<(&'static str, u64)> {
    let state = source.state;
    let uptime = state.started.elapsed().as_secs();
    let flushed = state.processes.flushed_micros.load(Relaxed);
    let since_flush = if flushed == 0 { uptime } else { ((now_micros() - flushed).max(0) / 1_000_000) as u64 };
    let processes = &state.processes;
    let running = processes.all().iter().filter(|process| process.activity.lock().command != "Sleep").count();
    let plans = source.server.plan_cache_size();
    let row_cache = state.store.row_cache_status();
    let globals = state.globals.load_values();
    let number = |name: &str| {
        let id = state.registry.variables.find(name);
        id.map_or(0, |id| Values(&globals).number(id))
    };
    let tables: u64 = source.catalog.databases().values().map(|database| database.tables.len() as u64).sum();
    vec![
        ("Aborted_clients", processes.aborted_clients.load(Relaxed)),
        ("Aborted_connects", processes.aborted_connects.load(Relaxed)),
        ("Connection_errors_max_connections", processes.refused_connections.load(Relaxed)),
        ("Connections", processes.connections.load(Relaxed)),
        ("Connections_moved", processes.moved_connections.load(Relaxed)),
        ("Innodb_buffer_pool_bytes_data", state.store.block_cache_bytes()),
        ("Innodb_buffer_pool_pages_data", state.store.block_cache_bytes() / INNODB_PAGE_BYTES),
        ("Innodb_buffer_pool_pages_total", number("innodb_buffer_pool_size") / INNODB_PAGE_BYTES),
        ("Innodb_page_size", INNODB_PAGE_BYTES),
        ("Innodb_redo_log_capacity_resized", number("innodb_redo_log_capacity")),
        ("Innodb_row_lock_current_waits", state.store.lock_waiter_count() as u64),
        ("Log_entries_lost", state.logs.entries_lost()),
        ("Max_used_connections", processes.max_used.load(Relaxed)),
        ("Open_table_definitions", tables),
        ("Open_tables", tables),
        // A table is open from the start, or from when it is made, until it is dropped.
        ("Opened_table_definitions", tables),
        ("Opened_tables", tables),
        ("Plan_cache_bytes", plans.bytes),
        ("Plan_cache_entries", plans.entries),
        ("Plan_cache_evictions", plans.evictions),
        ("Prepared_stmt_count", state.prepared_count.load(Relaxed)),
        ("Row_cache_bytes", row_cache.bytes),
        ("Row_cache_hits", row_cache.hits),
        ("Row_cache_misses", row_cache.misses),
        ("Ssl_accepts", processes.encrypted.load(Relaxed)),
        ("Ssl_finished_accepts", processes.encrypted.load(Relaxed)),
        ("Ssl_session_cache_hits", processes.resumed.load(Relaxed)),
        ("Ssl_session_cache_timeout", number("ssl_session_cache_timeout")),
        ("Threads_connected", processes.len() as u64),
        ("Threads_created", processes.connections.load(Relaxed)),
        ("Threads_running", running as u64),
        ("Uptime", uptime),
        ("Uptime_since_flush_status", since_flush),
    ]
}

/// What global variables say as well, and when most connections were there.
fn of_variables(source: &Source<'_>) -> Vec<(String, String)> {
    let state = source.state;
    let globals = state.globals.load_values();
    let text = |name: &str| match state.registry.variables.find(name) {
        Some(id) => Values(&globals).text(id).to_string(),
        None => String::new(),
    };
    let at = local_time(source.context, state.processes.max_used_micros.load(Relaxed));
    vec![
        ("Current_tls_cert".into(), text("ssl_cert")),
        ("Current_tls_cipher".into(), text("ssl_cipher")),
        ("Current_tls_key".into(), text("ssl_key")),
        ("Current_tls_version".into(), text("tls_version")),
        ("Max_used_connections_time".into(), text_of(&at)),
    ]
}

/// Bytes from and to clients: a session's own, or those of all, past and present.
fn of_sockets(source: &Source<'_>, process: Option<&Process>) -> [(&'static str, u64); 2] {
    let totals = match process {
        Some(process) => process.socket_since_flush(),
        None => super::performance_sockets::all(source),
    };
    [("Bytes_received", totals.read_bytes), ("Bytes_sent", totals.written_bytes)]
}

/// Rows read and changed. Rows read by a scan count as MySQL's `rnd_next`, rows found by an index as `read_key`.
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
        ("Innodb_data_fsyncs", tables.syncs() + log.syncs()),
        ("Innodb_data_read", tables.read.bytes),
        ("Innodb_data_reads", tables.read.count),
        ("Innodb_data_writes", tables.written.count + log.written.count),
        ("Innodb_data_written", tables.written.bytes + log.written.bytes),
        ("Innodb_log_writes", log.written.count),
        ("Innodb_os_log_fsyncs", log.syncs()),
        ("Innodb_os_log_written", log.written.bytes),
    ]
}

/// Waits for locks, and statements that took too long.
fn of_waits(source: &Source<'_>) -> Vec<(&'static str, u64)> {
    let (mut rows, mut tables, mut timeouts) = (Timed::default(), Timed::default(), 0);
    for (_, account) in super::performance_sums::accounts(source, super::performance_sums::all_together) {
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

/// Status variables of the compressed protocol, of sessions only.
fn compression_status(process: Option<&Process>) -> [(&'static str, String); 3] {
    let compression = process.and_then(|process| process.socket.as_ref()?.compression());
    let (algorithm, level) = compression.unwrap_or(("", 0));
    [
        ("Compression", if compression.is_some() { "ON" } else { "OFF" }.to_string()),
        ("Compression_algorithm", algorithm.to_string()),
        ("Compression_level", level.to_string()),
    ]
}

/// Status variables of TLS: for a connection with TLS, and their values without.
pub(crate) fn tls_status(process: Option<&Process>) -> [(&'static str, String); 3] {
    let tls = process.and_then(|process| process.tls.as_deref());
    let text = |of: fn(&TlsUse) -> &str| tls.map_or_else(String::new, |tls| of(tls).to_string());
    let resumed = tls.is_some_and(|tls| tls.resumed);
    [
        ("Ssl_cipher", text(|tls| &tls.cipher)),
        ("Ssl_sessions_reused", u64::from(resumed).to_string()),
        ("Ssl_version", text(|tls| tls.version)),
    ]
}
