//! Compares the variables of MySQL 8.4 with those of the program. COMPATIBILITY.md has a reason for each that is missing or differs.

use crate::manual_functions::quoted;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// System variables with their facts, a line each.
const SYSTEM: &str = include_str!("manual_variables.txt");

/// The script that asks for the names of all status variables.
const STATUS_SCRIPT: &str = "sql-tests/protocol/status_names.test";

/// Status variables, without those of commands (`Com_…`), of debug builds, and of plugins that are not installed from the beginning or can
/// be left out (`Mysqlx_…`).
const STATUS: &str = "
    Aborted_clients Aborted_connects Acl_cache_items_count Binlog_cache_disk_use Binlog_cache_use Binlog_stmt_cache_disk_use
    Binlog_stmt_cache_use Bytes_received Bytes_sent Caching_sha2_password_rsa_public_key Compression Compression_algorithm
    Compression_level Connection_errors_accept Connection_errors_internal Connection_errors_max_connections
    Connection_errors_peer_address Connection_errors_select Connection_errors_tcpwrap Connections Created_tmp_disk_tables
    Created_tmp_files Created_tmp_tables Current_tls_ca Current_tls_capath Current_tls_cert Current_tls_cipher Current_tls_ciphersuites
    Current_tls_crl Current_tls_crlpath Current_tls_key Current_tls_version Delayed_errors Delayed_insert_threads Delayed_writes
    Deprecated_use_i_s_processlist_count Deprecated_use_i_s_processlist_last_timestamp Error_log_buffered_bytes
    Error_log_buffered_events Error_log_expired_events Error_log_latest_write Flush_commands Global_connection_memory Handler_commit
    Handler_delete Handler_discover Handler_external_lock Handler_mrr_init Handler_prepare Handler_read_first Handler_read_key
    Handler_read_last Handler_read_next Handler_read_prev Handler_read_rnd Handler_read_rnd_next Handler_rollback Handler_savepoint
    Handler_savepoint_rollback Handler_update Handler_write Innodb_buffer_pool_bytes_data Innodb_buffer_pool_bytes_dirty
    Innodb_buffer_pool_dump_status Innodb_buffer_pool_load_status Innodb_buffer_pool_pages_data Innodb_buffer_pool_pages_dirty
    Innodb_buffer_pool_pages_flushed Innodb_buffer_pool_pages_free Innodb_buffer_pool_pages_misc Innodb_buffer_pool_pages_total
    Innodb_buffer_pool_read_ahead Innodb_buffer_pool_read_ahead_evicted Innodb_buffer_pool_read_ahead_rnd
    Innodb_buffer_pool_read_requests Innodb_buffer_pool_reads Innodb_buffer_pool_resize_status Innodb_buffer_pool_resize_status_code
    Innodb_buffer_pool_resize_status_progress Innodb_buffer_pool_wait_free Innodb_buffer_pool_write_requests Innodb_data_fsyncs
    Innodb_data_pending_fsyncs Innodb_data_pending_reads Innodb_data_pending_writes Innodb_data_read Innodb_data_reads
    Innodb_data_writes Innodb_data_written Innodb_dblwr_pages_written Innodb_dblwr_writes Innodb_log_waits Innodb_log_write_requests
    Innodb_log_writes Innodb_num_open_files Innodb_os_log_fsyncs Innodb_os_log_pending_fsyncs Innodb_os_log_pending_writes
    Innodb_os_log_written Innodb_page_size Innodb_pages_created Innodb_pages_read Innodb_pages_written
    Innodb_redo_log_capacity_resized Innodb_redo_log_checkpoint_lsn Innodb_redo_log_current_lsn Innodb_redo_log_enabled
    Innodb_redo_log_flushed_to_disk_lsn Innodb_redo_log_logical_size Innodb_redo_log_physical_size Innodb_redo_log_read_only
    Innodb_redo_log_resize_status Innodb_redo_log_uuid Innodb_row_lock_current_waits Innodb_row_lock_time Innodb_row_lock_time_avg
    Innodb_row_lock_time_max Innodb_row_lock_waits Innodb_rows_deleted Innodb_rows_inserted Innodb_rows_read Innodb_rows_updated
    Innodb_sampled_pages_read Innodb_sampled_pages_skipped Innodb_system_rows_deleted Innodb_system_rows_inserted
    Innodb_system_rows_read Innodb_system_rows_updated Innodb_truncated_status_writes Innodb_undo_tablespaces_active
    Innodb_undo_tablespaces_explicit Innodb_undo_tablespaces_implicit Innodb_undo_tablespaces_total Key_blocks_not_flushed
    Key_blocks_unused Key_blocks_used Key_read_requests Key_reads Key_write_requests Key_writes Last_query_cost
    Last_query_partial_plans Locked_connects Max_execution_time_exceeded Max_execution_time_set Max_execution_time_set_failed
    Max_used_connections Max_used_connections_time Not_flushed_delayed_rows Ongoing_anonymous_transaction_count Open_files
    Open_streams Open_table_definitions Open_tables Opened_files Opened_table_definitions Opened_tables
    Performance_schema_accounts_lost Performance_schema_cond_classes_lost Performance_schema_cond_instances_lost
    Performance_schema_digest_lost Performance_schema_file_classes_lost Performance_schema_file_handles_lost
    Performance_schema_file_instances_lost Performance_schema_hosts_lost Performance_schema_index_stat_lost
    Performance_schema_locker_lost Performance_schema_memory_classes_lost Performance_schema_metadata_lock_lost
    Performance_schema_meter_lost Performance_schema_metric_lost Performance_schema_mutex_classes_lost
    Performance_schema_mutex_instances_lost Performance_schema_nested_statement_lost Performance_schema_prepared_statements_lost
    Performance_schema_program_lost Performance_schema_rwlock_classes_lost Performance_schema_rwlock_instances_lost
    Performance_schema_session_connect_attrs_longest_seen Performance_schema_session_connect_attrs_lost
    Performance_schema_socket_classes_lost Performance_schema_socket_instances_lost Performance_schema_stage_classes_lost
    Performance_schema_statement_classes_lost Performance_schema_table_handles_lost Performance_schema_table_instances_lost
    Performance_schema_table_lock_stat_lost Performance_schema_thread_classes_lost Performance_schema_thread_instances_lost
    Performance_schema_users_lost Prepared_stmt_count Queries Questions Replica_open_temp_tables Resource_group_supported
    Rsa_public_key Secondary_engine_execution_count Select_full_join Select_full_range_join Select_range Select_range_check
    Select_scan Slave_open_temp_tables Slow_launch_threads Slow_queries Sort_merge_passes Sort_range Sort_rows Sort_scan
    Ssl_accept_renegotiates Ssl_accepts Ssl_callback_cache_hits Ssl_cipher Ssl_cipher_list Ssl_client_connects
    Ssl_connect_renegotiates Ssl_ctx_verify_depth Ssl_ctx_verify_mode Ssl_default_timeout Ssl_finished_accepts Ssl_finished_connects
    Ssl_server_not_after Ssl_server_not_before Ssl_session_cache_hits Ssl_session_cache_misses Ssl_session_cache_mode
    Ssl_session_cache_overflows Ssl_session_cache_size Ssl_session_cache_timeout Ssl_session_cache_timeouts Ssl_sessions_reused
    Ssl_used_session_cache_entries Ssl_verify_depth Ssl_verify_mode Ssl_version Table_locks_immediate Table_locks_waited
    Table_open_cache_hits Table_open_cache_misses Table_open_cache_overflows Tc_log_max_pages_used Tc_log_page_size Tc_log_page_waits
    Telemetry_metrics_supported Telemetry_traces_supported Threads_cached Threads_connected Threads_created Threads_running
    Tls_library_version Tls_sni_server_name Uptime Uptime_since_flush_status
";

/// What the pages say of a variable besides its name: scope, type, default, and whether it is dynamic.
type Facts<'a> = [&'a str; 4];

/// The variables of docs/reference/variables.md.
fn documented(page: &str) -> BTreeMap<&str, Facts<'_>> {
    let rows = page.lines().filter_map(|line| line.strip_prefix("| `")?.split_once("` | "));
    let facts = rows.filter_map(|(name, rest)| {
        let mut columns = rest.split(" | ");
        let (scope, kind, default) = (columns.next()?, columns.next()?, columns.next()?);
        let dynamic = match columns.next()? {
            "no" | "at start" => "no",
            "its default" => "its default",
            _ => "yes",
        };
        Some((name, [scope, kind, default, dynamic]))
    });
    facts.collect()
}

/// Names of MySQL's that the program has not, or of which it says something else.
fn different<'a>(there: &BTreeMap<&str, Facts<'_>>) -> BTreeSet<&'a str> {
    let lines = SYSTEM.lines().filter(|line| !line.starts_with('#'));
    let differs = lines.filter_map(|line| {
        let mut columns = line.split(" | ");
        let name = columns.next()?;
        let is_same = |facts: &Facts<'_>| {
            columns.clone().zip(facts).all(|(expected, found)| expected == "*" || expected == *found)
        };
        (!there.get(name).is_some_and(is_same)).then_some(name)
    });
    differs.collect()
}

/// Compares the lists.
///
/// # Errors
/// The variables that are missing or differ without a reason, and the reasons for those that do not.
pub fn run(root: &Path) -> Result<(), String> {
    eprintln!("==> variables");
    let read =
        |path: &str| std::fs::read_to_string(root.join(path)).map_err(|error| format!("cannot read {path}: {error}"));
    let (page, ledger, script) =
        (read("docs/reference/variables.md")?, read("COMPATIBILITY.md")?, read(STATUS_SCRIPT)?);
    let section = ledger.split("\n## ").find_map(|section| section.strip_prefix("Variables\n"));
    let reasons: BTreeSet<&str> = quoted(section.ok_or("COMPATIBILITY.md has no section on variables")?).collect();
    let mut different = different(&documented(&page));
    let answers = script.split_once("\n----\n").map_or("", |(_, answers)| answers);
    let status: BTreeSet<&str> = answers.lines().collect();
    different.extend(STATUS.split_whitespace().filter(|name| !status.contains(name)));
    let unexplained: Vec<&str> = different.iter().copied().filter(|name| !reasons.contains(name)).collect();
    if !unexplained.is_empty() {
        return Err(format!(
            "variables of MySQL 8.4 that are missing or differ without a reason in COMPATIBILITY.md: {}",
            unexplained.join(", ")
        ));
    }
    let known: BTreeSet<&str> = SYSTEM.lines().filter_map(|line| line.split(" | ").next()).collect();
    let outdated: Vec<&str> =
        reasons.into_iter().filter(|name| known.contains(name) && !different.contains(name)).collect();
    if !outdated.is_empty() {
        return Err(format!("COMPATIBILITY.md says that variables differ which do not: {}", outdated.join(", ")));
    }
    Ok(())
}
