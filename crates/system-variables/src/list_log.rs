//! Logs, the binary log and replication: the variables that clients and backup tools read.

use super::action::Action;
use super::definition::{
    Scope::{Both, Global, Session},
    Unit, VariableDef, boolean, choice, flags, nullable, text, unsigned,
};
use crate::forms::{is_list_of_log_services, is_list_of_messages};

const fn threshold(name: &'static str, doc: &'static str) -> VariableDef {
    unsigned(name, Global, 0, 0, u64::MAX, doc)
}

/// The conversions that a replica may do for values that do not fit.
const CONVERSIONS: &[&str] = &["ALL_LOSSY", "ALL_NON_LOSSY", "ALL_UNSIGNED", "ALL_SIGNED"];

pub(super) const VARIABLES: &[VariableDef] = &[
    boolean("log_bin", Global, false, "Whether there is a binary log.").read_only(),
    text("log_bin_basename", Global, "", "Path of the binary log.").read_only(),
    text("log_bin_index", Global, "", "Path of the binary log's index.").read_only(),
    boolean("log_bin_trust_function_creators", Global, false, "Whether functions may be created without SUPER.")
        .deprecated("")
        .compatibility(),
    choice("binlog_format", Both, "ROW", &["MIXED", "STATEMENT", "ROW"], "Form of the binary log.")
        .deprecated("")
        .restricted()
        .compatibility(),
    choice("binlog_row_image", Both, "FULL", &["MINIMAL", "NOBLOB", "FULL"], "Columns that row events hold.")
        .restricted()
        .compatibility(),
    choice("binlog_row_metadata", Global, "MINIMAL", &["MINIMAL", "FULL"], "What row events say of columns.")
        .compatibility(),
    choice("binlog_checksum", Global, "CRC32", &["NONE", "CRC32"], "Checksums of events.").compatibility(),
    boolean("binlog_rows_query_log_events", Both, false, "Whether statements go along.").restricted().compatibility(),
    boolean("binlog_direct_non_transactional_updates", Both, false, "How unsafe changes are logged.")
        .restricted()
        .compatibility(),
    flags("replica_type_conversions", Global, "", CONVERSIONS, "How a replica converts types.").compatibility(),
    flags("slave_type_conversions", Global, "", CONVERSIONS, "An older name.")
        .deprecated("replica_type_conversions")
        .compatibility(),
    flags(
        "slave_rows_search_algorithms",
        Global,
        "INDEX_SCAN,HASH_SCAN",
        &["TABLE_SCAN", "INDEX_SCAN", "HASH_SCAN"],
        "How a replica finds rows.",
    )
    .compatibility(),
    flags("binlog_row_value_options", Both, "", &["PARTIAL_JSON"], "Whether JSON changes are partial.")
        .restricted()
        .compatibility(),
    choice(
        "binlog_error_action",
        Global,
        "ABORT_SERVER",
        &["IGNORE_ERROR", "ABORT_SERVER"],
        "What happens when the log cannot be written.",
    )
    .compatibility(),
    unsigned("binlog_cache_size", Global, 32_768, 4096, u64::MAX, "Memory of a transaction's events.")
        .block(4096)
        .compatibility(),
    unsigned("binlog_stmt_cache_size", Global, 32_768, 4096, u64::MAX, "Memory of a statement's events.")
        .block(4096)
        .compatibility(),
    unsigned("binlog_expire_logs_seconds", Global, 2_592_000, 0, u32::MAX as u64, "Age of the binary log.")
        .compatibility(),
    boolean("binlog_expire_logs_auto_purge", Global, true, "Whether old parts are removed.").compatibility(),
    unsigned("binlog_group_commit_sync_delay", Global, 0, 0, 1_000_000, "Microseconds a commit waits for others.")
        .compatibility(),
    unsigned("binlog_group_commit_sync_no_delay_count", Global, 0, 0, 100_000, "Commits that end that wait.")
        .compatibility(),
    boolean("binlog_gtid_simple_recovery", Global, true, "How ids are recovered.").read_only(),
    unsigned("max_binlog_size", Global, 1 << 30, 4096, 1 << 30, "Size of a binary log.").block(4096).compatibility(),
    unsigned(
        "max_binlog_cache_size",
        Global,
        18_446_744_073_709_547_520,
        4096,
        u64::MAX,
        "Most memory of a transaction's events.",
    )
    .block(4096)
    .compatibility(),
    unsigned(
        "max_binlog_stmt_cache_size",
        Global,
        18_446_744_073_709_547_520,
        4096,
        u64::MAX,
        "Most memory of a statement's events.",
    )
    .block(4096)
    .compatibility(),
    unsigned("max_relay_log_size", Global, 0, 0, 1 << 30, "Size of a relay log.").block(4096).compatibility(),
    boolean("log_replica_updates", Global, false, "Whether replicated changes are logged.").read_only(),
    boolean("log_slave_updates", Global, false, "An older name.").deprecated("log_replica_updates").read_only(),
    boolean("general_log", Global, false, "Whether every statement is logged.").action(Action::ReconfigureLogs),
    text(
        "general_log_file",
        Global,
        "",
        "File of that log; by default the host's name with .log in the data directory.",
    )
    .action(Action::ReconfigureLogs),
    boolean("slow_query_log", Global, false, "Whether statements that take longer than `long_query_time` are logged.")
        .action(Action::ReconfigureLogs),
    text("slow_query_log_file", Global, "", "File of that log; by default the host's name with -slow.log.")
        .action(Action::ReconfigureLogs),
    boolean(
        "log_queries_not_using_indexes",
        Global,
        false,
        "Whether statements that scan a table count as slow, however long they take.",
    ),
    unsigned("log_throttle_queries_not_using_indexes", Global, 0, 0, u64::MAX, "Such statements per minute.")
        .compatibility(),
    boolean(
        "log_slow_admin_statements",
        Global,
        false,
        "Whether slow ALTER TABLE, ANALYZE TABLE and the like are logged.",
    )
    .action(Action::ReconfigureLogs),
    boolean("log_slow_extra", Global, false, "Whether slow statements are logged with more fields.").compatibility(),
    flags("log_output", Global, "FILE", &["NONE", "FILE", "TABLE"], "Where the general and the slow log go.")
        .action(Action::ReconfigureLogs),
    choice(
        "log_format",
        Global,
        "classic",
        &["classic", "query_log", "json"],
        "Form of entries in files: MySQL's, the query log's, or a JSON object per line.",
    )
    .action(Action::ReconfigureLogs),
    unsigned(
        "log_entry_max_bytes",
        Global,
        1 << 20,
        1 << 10,
        1 << 30,
        "Bytes of a statement that are logged; longer ones end with a mark.",
    )
    .unit(Unit::Bytes)
    .action(Action::ReconfigureLogs),
    unsigned("log_table_max_rows", Global, 10_000, 1, 1_000_000, "Newest entries that each log's table shows.")
        .action(Action::ReconfigureLogs),
    choice(
        "log_write_mode",
        Global,
        "direct",
        &["direct", "buffered"],
        "Whether a session writes its entries itself, or a thread does it up to 20 ms later; audit is always direct.",
    )
    .action(Action::ReconfigureLogs),
    unsigned("log_rotate_bytes", Global, 0, 0, u64::MAX, "Size from which a log's file is rotated; 0 is never.")
        .unit(Unit::Bytes)
        .action(Action::ReconfigureLogs),
    unsigned(
        "log_rotate_seconds",
        Global,
        0,
        0,
        u32::MAX as u64,
        "Seconds after which a log's file is rotated; 0 is never.",
    )
    .unit(Unit::Seconds)
    .action(Action::ReconfigureLogs),
    boolean("query_log_enabled", Global, true, "Whether the query log is written, where it has somewhere to go.")
        .action(Action::ReconfigureLogs),
    text("query_log_file", Global, "drizzled-queries.log", "File of the query log.").action(Action::ReconfigureLogs),
    boolean(
        "query_log_file_enabled",
        Global,
        false,
        "Whether the query log goes to its file; OFF and ON opens it anew.",
    )
    .action(Action::ReconfigureLogs),
    threshold("query_log_threshold_execution_time", "Microseconds a statement takes at least to be in the query log.")
        .unit(Unit::Microseconds)
        .action(Action::ReconfigureLogs),
    threshold("query_log_threshold_lock_time", "Microseconds it waits for locks at least.")
        .unit(Unit::Microseconds)
        .action(Action::ReconfigureLogs),
    threshold("query_log_threshold_session_time", "Microseconds that its session has been there at least.")
        .unit(Unit::Microseconds)
        .action(Action::ReconfigureLogs),
    threshold("query_log_threshold_rows_examined", "Rows it reads at least.").action(Action::ReconfigureLogs),
    threshold("query_log_threshold_rows_sent", "Rows of its result at least.").action(Action::ReconfigureLogs),
    threshold("query_log_threshold_tmp_tables", "Temporary tables it makes at least.").action(Action::ReconfigureLogs),
    threshold("query_log_threshold_warnings", "Warnings it has at least.").action(Action::ReconfigureLogs),
    boolean("audit_log", Global, false, "Whether sessions and statements are written to the audit log.")
        .action(Action::ReconfigureLogs),
    text("audit_log_file", Global, "audit.log", "File of the audit log, a JSON object per line.")
        .action(Action::ReconfigureLogs),
    boolean("audit_log_strict", Global, false, "Whether a statement that cannot be audited is refused.")
        .action(Action::ReconfigureLogs),
    boolean("audit_log_sync", Global, false, "Whether audit entries are on the disk before their statement runs.")
        .action(Action::ReconfigureLogs),
    text("log_error", Global, "stderr", "Where errors are logged: `stderr` or a file.").action(Action::ReconfigureLogs),
    text("log_error_services", Global, "log_filter_internal; log_sink_internal", "Services of the error log.")
        .of_form(is_list_of_log_services)
        .compatibility(),
    text("log_error_suppression_list", Global, "", "Messages left out.").of_form(is_list_of_messages).compatibility(),
    unsigned("log_error_verbosity", Global, 2, 1, 3, "1 logs errors, 2 warnings too, 3 also notes.")
        .action(Action::ReconfigureLogs),
    boolean("log_raw", Global, false, "Whether statements are logged with the passwords that stand in them.")
        .action(Action::ReconfigureLogs),
    choice("log_timestamps", Global, "UTC", &["UTC", "SYSTEM"], "Zone of times in log files.")
        .action(Action::ReconfigureLogs),
    boolean("log_statements_unsafe_for_binlog", Global, true, "Whether unsafe statements are logged.").compatibility(),
    text("relay_log", Global, "", "Path of the relay log.").read_only(),
    text("relay_log_basename", Global, "", "Path of the relay log.").read_only(),
    text("relay_log_index", Global, "", "Path of its index.").read_only(),
    boolean("relay_log_purge", Global, true, "Whether relay logs are removed.").compatibility(),
    boolean("relay_log_recovery", Global, false, "Whether relay logs are recovered.").read_only(),
    nullable("report_host", Global, "Name a replica reports.").read_only(),
    unsigned("report_port", Global, 3306, 0, 65_535, "Port a replica reports.").read_only(),
    unsigned("sync_relay_log", Global, 10_000, 0, u32::MAX as u64, "Events between syncs.").compatibility(),
    boolean("rpl_semi_sync_source_enabled", Global, false, "Whether commits wait for a replica.").read_only(),
    unsigned(
        "original_commit_timestamp",
        Session,
        36_028_797_018_963_968,
        0,
        36_028_797_018_963_968,
        "When the source committed.",
    )
    .restricted()
    .compatibility(),
    unsigned("original_server_version", Session, 999_999, 0, u32::MAX as u64, "Version of the source.")
        .restricted()
        .compatibility(),
    unsigned("immediate_server_version", Session, 999_999, 0, u32::MAX as u64, "Version of the source before.")
        .restricted()
        .compatibility(),
    choice("event_scheduler", Global, "ON", &["OFF", "ON"], "Whether events run."),
];
