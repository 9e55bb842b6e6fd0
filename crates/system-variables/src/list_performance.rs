//! Sizes of performance_schema and of counts by user. Those of performance_schema are read-only, because Squall's tables grow with their content, within their own bounds.

use super::definition::{Scope::Global, VariableDef, boolean, signed, unsigned};

/// Sizes up to a million, of which -1 lets the server choose.
const fn size(name: &'static str, default: i64, doc: &'static str) -> VariableDef {
    signed(name, Global, default, -1, 1 << 20, doc).read_only()
}

/// How many events of a thread are kept.
const fn per_thread(name: &'static str, doc: &'static str) -> VariableDef {
    signed(name, Global, 10, -1, 1024, doc).read_only()
}

/// How many kinds of something are known.
const fn classes(name: &'static str, default: u64, max: u64, doc: &'static str) -> VariableDef {
    unsigned(name, Global, default, 0, max, doc).read_only()
}

pub(super) const VARIABLES: &[VariableDef] = &[
    boolean(
        "logging_stats_enabled",
        Global,
        true,
        "Whether data_dictionary's tables of counts by session and user (CURRENT_SQL_COMMANDS, CUMULATIVE_…) have rows.",
    ),
    unsigned("logging_stats_max_user_count", Global, 500, 1, 50_000, "Users in data_dictionary's CUMULATIVE_… tables."),
    size("performance_schema_accounts_size", -1, "Accounts."),
    size("performance_schema_digests_size", 10_000, "Statements by digest."),
    size("performance_schema_error_size", 5422, "Errors that are counted."),
    size("performance_schema_events_stages_history_long_size", 10_000, "Stages kept of all threads."),
    per_thread("performance_schema_events_stages_history_size", "Stages kept of a thread."),
    size("performance_schema_events_statements_history_long_size", 10_000, "Statements kept of all threads."),
    per_thread("performance_schema_events_statements_history_size", "Statements kept of a thread."),
    size("performance_schema_events_transactions_history_long_size", 10_000, "Transactions kept of all threads."),
    per_thread("performance_schema_events_transactions_history_size", "Transactions kept of a thread."),
    size("performance_schema_events_waits_history_long_size", 10_000, "Waits kept of all threads."),
    per_thread("performance_schema_events_waits_history_size", "Waits kept of a thread."),
    size("performance_schema_hosts_size", -1, "Hosts."),
    classes("performance_schema_max_cond_classes", 150, 1024, "Kinds of conditions."),
    size("performance_schema_max_cond_instances", -1, "Conditions."),
    unsigned("performance_schema_max_digest_length", Global, 1024, 0, 1 << 20, "Bytes that a digest is made of.")
        .read_only(),
    unsigned(
        "performance_schema_max_digest_sample_age",
        Global,
        60,
        0,
        1 << 20,
        "Seconds after which a digest's sample is replaced.",
    )
    .compatibility(),
    classes("performance_schema_max_file_classes", 80, 1024, "Kinds of files."),
    unsigned("performance_schema_max_file_handles", Global, 32_768, 0, 1 << 20, "Open files.").read_only(),
    size("performance_schema_max_file_instances", -1, "Files."),
    size("performance_schema_max_index_stat", -1, "Indexes."),
    classes("performance_schema_max_memory_classes", 470, 1024, "Kinds of memory."),
    size("performance_schema_max_metadata_locks", -1, "Metadata locks."),
    classes("performance_schema_max_meter_classes", 30, 64, "Kinds of meters."),
    classes("performance_schema_max_metric_classes", 600, 11_000, "Kinds of metrics."),
    classes("performance_schema_max_mutex_classes", 350, 1024, "Kinds of mutexes."),
    size("performance_schema_max_mutex_instances", -1, "Mutexes."),
    size("performance_schema_max_prepared_statements_instances", -1, "Prepared statements."),
    size("performance_schema_max_program_instances", -1, "Stored programs."),
    classes("performance_schema_max_rwlock_classes", 100, 1024, "Kinds of read-write locks."),
    size("performance_schema_max_rwlock_instances", -1, "Read-write locks."),
    classes("performance_schema_max_socket_classes", 10, 256, "Kinds of sockets."),
    size("performance_schema_max_socket_instances", -1, "Sockets."),
    unsigned("performance_schema_max_sql_text_length", Global, 1024, 0, 1 << 20, "Bytes kept of a statement.")
        .read_only(),
    classes("performance_schema_max_stage_classes", 175, 256, "Kinds of stages."),
    classes("performance_schema_max_statement_classes", 222, 256, "Kinds of statements."),
    unsigned("performance_schema_max_statement_stack", Global, 10, 1, 256, "Depth of nested statements.").read_only(),
    size("performance_schema_max_table_handles", -1, "Open tables."),
    size("performance_schema_max_table_instances", -1, "Tables."),
    size("performance_schema_max_table_lock_stat", -1, "Tables whose locks are counted."),
    classes("performance_schema_max_thread_classes", 100, 256, "Kinds of threads."),
    size("performance_schema_max_thread_instances", -1, "Threads."),
    size("performance_schema_session_connect_attrs_size", 512, "Bytes of a connection's attributes."),
    size("performance_schema_setup_actors_size", -1, "Rows of setup_actors."),
    size("performance_schema_setup_objects_size", -1, "Rows of setup_objects."),
    boolean(
        "performance_schema_show_processlist",
        Global,
        false,
        "Whether SHOW PROCESSLIST reads performance_schema; both show the same.",
    )
    .compatibility(),
    size("performance_schema_users_size", -1, "Users."),
];
