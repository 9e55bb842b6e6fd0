//! `data_dictionary.innodb_configuration` and `innodb_status`: the tables of Drizzle's Embedded InnoDB plugin of 2010.

use super::PAGE_BYTES;
use super::counters::numbers;
use crate::source::Source;
use crate::spec::{TableSpec, int, s, s_or_null, text};
use squall_registry::VirtualScan;
use squall_server_state::variable_origin::VariableSource;
use squall_system_variables::{Effect, Kind};
use squall_types::{SqlResult, Value};

const DATABASE: &str = "data_dictionary";

pub(super) const TABLES: &[TableSpec] = &[
    TableSpec {
        database: DATABASE,
        name: "innodb_configuration",
        columns: &[text("NAME", 256), text("TYPE", 256), text("VALUE", 16_383).or_null()],
        rows: configuration,
    },
    TableSpec { database: DATABASE, name: "innodb_status", columns: &[text("NAME", 256), int("VALUE")], rows: status },
];

/// Name and type of an entry, its variable without the prefix `innodb_`, and the plugin's default.
type Entry = (&'static str, &'static str, &'static str, Option<&'static str>);

const CONFIGURATION: &[Entry] = &[
    ("adaptive_hash_index", "BOOL", "adaptive_hash_index", Some("true")),
    ("adaptive_flushing", "BOOL", "adaptive_flushing", Some("true")),
    ("additional_mem_pool_size", "ULINT", "", Some("8388608")),
    ("autoextend_increment", "ULONG", "autoextend_increment", Some("8")),
    ("buffer_pool_size", "ULINT", "buffer_pool_size", Some("134217728")),
    ("checksums", "BOOL", "", Some("true")),
    ("data_file_path", "TEXT", "", None),
    ("data_home_dir", "TEXT", "", Some("./")),
    ("doublewrite", "BOOL", "doublewrite", Some("true")),
    ("file_format", "TEXT", "", Some("Barracuda")),
    ("file_io_threads", "ULINT", "", Some("10")),
    ("file_per_table", "BOOL", "file_per_table", Some("false")),
    ("flush_log_at_trx_commit", "ULONG", "flush_log_at_trx_commit", Some("1")),
    ("flush_method", "TEXT", "", Some("fsync")),
    ("force_recovery", "ULINT", "", Some("0")),
    ("io_capacity", "ULONG", "io_capacity", Some("200")),
    ("lock_wait_timeout", "ULINT", "lock_wait_timeout", Some("5")),
    ("log_buffer_size", "ULINT", "log_buffer_size", Some("8388608")),
    ("log_files_in_group", "ULINT", "", Some("2")),
    ("log_group_home_dir", "TEXT", "", None),
    ("max_dirty_pages_pct", "ULONG", "max_dirty_pages_pct", Some("75")),
    ("max_purge_lag", "ULONG", "max_purge_lag", Some("0")),
    ("lru_old_blocks_pct", "ULINT", "old_blocks_pct", Some("37")),
    ("lru_block_access_recency", "ULINT", "old_blocks_time", Some("0")),
    ("open_files", "ULINT", "", Some("300")),
    ("read_io_threads", "ULINT", "", Some("4")),
    ("write_io_threads", "ULINT", "", Some("4")),
    ("pre_rollback_hook", "CALLBACK", "", None),
    ("print_verbose_log", "BOOL", "", Some("true")),
    ("rollback_on_timeout", "BOOL", "rollback_on_timeout", Some("false")),
    ("stats_sample_pages", "ULINT", "", Some("8")),
    ("status_file", "BOOL", "status_file", Some("false")),
    ("sync_spin_loops", "ULONG", "sync_spin_loops", Some("30")),
    ("use_sys_malloc", "BOOL", "", Some("true")),
    ("version", "TEXT", "version", None),
    ("log_file_size", "ULINT", "", Some("20971520")),
];

/// Values of variables that have a meaning here or were set; the plugin's defaults for all others.
fn configuration(source: &Source<'_>, _: &VirtualScan<'_>) -> SqlResult<Vec<Vec<Value>>> {
    let registry = &source.state.registry.variables;
    let globals = &source.state.globals;
    let values = globals.load_values();
    let live = |variable: &str| {
        let id = registry.find(&format!("innodb_{variable}"))?;
        let definition = registry.definition(id);
        let was_set = globals.origin(id).source != VariableSource::Compiled;
        if !was_set && !matches!(definition.effect, Effect::Live | Effect::ReadOnly) {
            return None;
        }
        Some(match (definition.kind, values.get(id)) {
            (Kind::Bool, Value::Int(0)) => "false".to_owned(),
            (Kind::Bool, _) => "true".to_owned(),
            (_, value) => definition.show(value),
        })
    };
    let rows = CONFIGURATION.iter().map(|(name, kind, variable, default)| {
        let value = live(variable).or_else(|| default.map(str::to_owned));
        vec![s(*name), s(*kind), s_or_null(value)]
    });
    Ok(rows.collect())
}

/// The counters, with what they are here: nothing for what pages and their double writes would count.
fn status(source: &Source<'_>, _: &VirtualScan<'_>) -> SqlResult<Vec<Vec<Value>>> {
    let numbers = numbers(source);
    let number = |name: &str| numbers.get(name).copied().unwrap_or(0);
    let pages = |bytes: i64| bytes / PAGE_BYTES as i64;
    let millis = |name: &str| number(name) / 1000;
    let store = &source.state.store;
    let (cache, used) = (store.options().cache_bytes as i64, number("Innodb_buffer_pool_bytes_data"));
    let (_, changed) = store.write_buffers();
    let read = number("Innodb_data_reads");
    let rows = [
        ("read_req_pending", 0),
        ("write_req_pending", 0),
        ("fsync_req_pending", 0),
        ("write_req_done", number("Innodb_data_writes")),
        ("read_req_done", read),
        ("fsync_req_done", number("Innodb_data_fsyncs")),
        ("bytes_total_written", number("Innodb_data_written")),
        ("bytes_total_read", number("Innodb_data_read")),
        ("buffer_pool_current_size", cache),
        ("buffer_pool_data_pages", pages(used)),
        ("buffer_pool_dirty_pages", pages(changed as i64)),
        ("buffer_pool_misc_pages", 0),
        ("buffer_pool_free_pages", pages((cache - used).max(0))),
        ("buffer_pool_read_reqs", number("Innodb_rows_read")),
        ("buffer_pool_reads", read),
        ("buffer_pool_waited_for_free", 0),
        ("buffer_pool_pages_flushed", pages(number("Innodb_data_written"))),
        ("buffer_pool_write_reqs", number("Innodb_data_writes")),
        ("buffer_pool_total_pages", pages(cache)),
        ("buffer_pool_pages_read", pages(number("Innodb_data_read"))),
        ("buffer_pool_pages_written", pages(number("Innodb_data_written"))),
        ("double_write_pages_written", 0),
        ("double_write_invoked", 0),
        ("log_buffer_slot_waits", 0),
        ("log_write_reqs", number("Innodb_log_writes")),
        ("log_write_flush_count", number("Innodb_log_writes")),
        ("log_bytes_written", number("Innodb_os_log_written")),
        ("log_fsync_req_done", number("Innodb_os_log_fsyncs")),
        ("log_write_req_pending", 0),
        ("log_fsync_req_pending", 0),
        ("lock_row_waits", number("Innodb_row_lock_waits")),
        ("lock_row_waiting", number("Innodb_row_lock_current_waits")),
        ("lock_total_wait_time_in_secs", millis("Innodb_row_lock_time")),
        ("lock_wait_time_avg_in_secs", millis("Innodb_row_lock_time_avg")),
        ("lock_max_wait_time_in_secs", millis("Innodb_row_lock_time_max")),
        ("row_total_read", number("Innodb_rows_read")),
        ("row_total_inserted", number("Innodb_rows_inserted")),
        ("row_total_updated", number("Innodb_rows_updated")),
        ("row_total_deleted", number("Innodb_rows_deleted")),
        ("page_size", PAGE_BYTES as i64),
        ("have_atomic_builtins", 1),
    ];
    Ok(rows.into_iter().map(|(name, value)| vec![s(name), Value::Int(value)]).collect())
}
