//! Options of MySQL and MariaDB that are no variables here, by the part of the server that they are about.

/// Options that are another name of a variable.
pub(super) const ALIASES: &[(&str, &str)] = &[
    ("default_character_set", "character_set_server"),
    ("default_collation", "collation_server"),
    ("default_table_type", "default_storage_engine"),
    ("default_time_zone", "time_zone"),
    ("key_buffer", "key_buffer_size"),
    ("log_slow_min_examined_row_limit", "min_examined_row_limit"),
    ("log_slow_query", "slow_query_log"),
    ("log_slow_query_file", "slow_query_log_file"),
    ("log_slow_query_time", "long_query_time"),
    ("sort_buffer", "sort_buffer_size"),
    ("storage_engine", "default_storage_engine"),
    ("table_cache", "table_open_cache"),
];

/// Variables that tell of something that is found elsewhere here.
pub(super) const HINTS: &[(&str, &str)] = &[
    ("innodb_buffer_pool_size", "the caches of rows and columns: row_cache_size, column_cache_size"),
    ("innodb_log_buffer_size", "transaction_buffer_size bounds what transactions hold in memory"),
    ("join_buffer_size", "query_memory_limit bounds all queries together"),
    ("lower_case_table_names", "always 0 here: names that differ in letter case are different names"),
    ("max_heap_table_size", "query_memory_limit bounds all queries together"),
    ("sort_buffer_size", "query_memory_limit bounds all queries together"),
    ("ssl_ca", "ca.pem in the data directory"),
    ("ssl_cert", "server-cert.pem in the data directory"),
    ("ssl_key", "server-key.pem in the data directory"),
    ("tmp_table_size", "query_memory_limit bounds all queries together"),
    ("tmpdir", "the folder tmp of the data directory"),
];

const PROCESS: &str = "the service manager says how the program runs";
const BINARY_LOG: &str = "there is no binary log";
const REPLICATION: &str = "there is no replication";
const PLUGINS: &str = "there are no loadable plugins";
const ENGINES: &str = "there are the engines InnoDB and COLUMN";
const FILES: &str = "files of another form";
const START: &str = "a start for one purpose, not a setting";
const SCHEMA: &str = "performance_schema is set by its tables";
const DEBUG: &str = "for debugging of MySQL";
const REMOVED: &str = "no longer in MySQL 8.4";
const ACCOUNTS: &str = "accounts are always asked for";
const TLS: &str = "TLS is always offered; require_secure_transport demands it";
const VERSION: &str = "read only, of MariaDB";
const STATEMENTS: &str = "statements mean what they mean in MySQL 8.4";

/// Options that do nothing here, with the reason of each group.
const KNOWN: &[(&str, &str)] = &[
    (
        PROCESS,
        "chroot console core_file daemonize ledir log_error_file malloc_lib memlock no_monitor nice pid_file \
         standalone super_large_pages user",
    ),
    (
        START,
        "bootstrap getopt_prefix_matching help initialize initialize_insecure install install_manual \
         no_dd_upgrade print_defaults remove silent_startup skip_grant_tables slow_start_timeout upgrade \
         validate_config verbose port_open_timeout",
    ),
    (ACCOUNTS, "old_style_user_limits safe_user_create secure_auth skip_host_cache"),
    (TLS, "admin_ssl skip_ssl ssl"),
    (VERSION, "server_uid version_malloc_library version_source_revision version_ssl_library"),
    (
        BINARY_LOG,
        "binlog_do_db binlog_ignore_db binlog_transaction_dependency_history_size \
         binlog_transaction_dependency_tracking binlogging_impossible_mode simplified_binlog_gtid_recovery binlog_optimize_thread_scheduling encrypt_binlog flashback log_basename \
         log_bin_use_v1_row_events log_ddl_recovery log_tc log_tc_size max_binlog_dump_events \
         sporadic_binlog_dump_fail tc_heuristic_recover transaction_write_set_extraction",
    ),
    (
        REPLICATION,
        "abort_slave_event_count disconnect_slave_event_count gtid_cleanup_batch_size gtid_domain_id \
         gtid_ignore_duplicates gtid_pos_auto_engines gtid_strict_mode init_rpl_role master_connect_retry \
         master_host master_info_file master_info_repository master_password master_port master_retry_count \
         master_user relay_log_info_file relay_log_info_repository replicate_annotate_row_events replicate_do_db \
         replicate_do_table replicate_events_marked_for_skip replicate_ignore_db replicate_ignore_table \
         replicate_rewrite_db replicate_same_server_id replicate_wild_do_table replicate_wild_ignore_table \
         show_replica_auth_info show_slave_auth_info skip_slave_start slave_ddl_exec_mode \
         slave_domain_parallel_threads slave_max_statement_time slave_parallel_max_queued slave_parallel_mode \
         slave_parallel_threads slave_run_triggers_for_rbr slave_transaction_retry_errors \
         slave_transaction_retry_interval sync_master_info",
    ),
    (
        PLUGINS,
        "early_plugin_load log_builtin_as_identified_by_password mysql_native_password plugin_load plugin_load_add plugin_maturity unix_socket validate_user_plugins",
    ),
    (
        ENGINES,
        "archive blackhole csv federated ignore_builtin_innodb innodb memory myisam ndbcluster partition sequence \
         user_variables",
    ),
    (
        FILES,
        "innodb_buffer_page innodb_buffer_page_lru innodb_buffer_pool_populate innodb_buffer_pool_stats innodb_ft_being_deleted \
         innodb_ft_config innodb_ft_default_stopword innodb_ft_deleted innodb_ft_index_cache innodb_ft_index_table \
         innodb_lock_waits innodb_metrics innodb_mirrored_log_groups innodb_stats_sample_pages \
         innodb_tablespaces_encryption innodb_trx encrypt_tmp_files ignore_db_dirs innodb_adaptive_hash_index_partitions innodb_additional_mem_pool_size \
         innodb_checksums innodb_default_encryption_key_id innodb_encrypt_log innodb_encrypt_temporary_tables \
         innodb_encryption_rotate_key_age innodb_encryption_rotation_iops innodb_encryption_threads \
         innodb_file_format innodb_file_format_check innodb_file_format_max innodb_fatal_semaphore_wait_threshold \
         innodb_file_io_threads innodb_large_prefix innodb_linux_aio innodb_locks_unsafe_for_binlog \
         innodb_log_arch_dir innodb_log_archive innodb_log_checkpoint_now innodb_log_file_mmap \
         innodb_buffer_pool_in_core_dump innodb_buffer_pool_size_auto_min innodb_buffer_pool_size_max \
         innodb_safe_truncate innodb_scrub_log innodb_status_file innodb_support_xa innodb_undo_logs \
         innodb_use_atomic_writes innodb_use_sys_malloc innodb_use_trim myisam_block_size symbolic_links",
    ),
    (
        DEBUG,
        "allow_suspicious_udfs debug des_key_file exit_info gdb log_isam log_short_format one_thread skip_safemalloc \
         skip_stack_trace stack_trace",
    ),
    (
        STATEMENTS,
        "character_set_client_handshake old_passwords sysdate_is_now secure_timestamp proxy_protocol_networks",
    ),
    (
        REMOVED,
        "avoid_temporal_upgrade bdb_cache_size date_format datetime_format default_authentication_plugin \
         enable_named_pipe engine_condition_pushdown external_locking extra_max_connections extra_port \
         innodb_api_disable language log log_slow_queries log_syslog log_syslog_facility log_syslog_include_pid log_syslog_tag log_update log_warnings max_tmp_tables \
         metadata_locks_cache_size metadata_locks_hash_instances multi_range_count query_cache_min_res_unit \
         query_cache_strip_comments query_cache_wlock_invalidate record_buffer set_variable show_compatibility_56 \
         show_old_temporals skip_bdb skip_federated skip_locking skip_new skip_thread_priority \
         slave_rows_search_algorithms sync_frm temp_pool thread_concurrency time_format timed_mutexes \
         transaction_allow_batching",
    ),
];

/// Beginnings of options of one part of MySQL or MariaDB, in any letter case.
const FAMILIES: &[(&str, &str)] = &[
    ("aria_", ENGINES),
    ("audit_log_", PLUGINS),
    ("auth_", PLUGINS),
    ("authentication_", PLUGINS),
    ("caching_sha2_password_", PLUGINS),
    ("clone_", PLUGINS),
    ("component_", PLUGINS),
    ("columnstore_", ENGINES),
    ("connection_control_", PLUGINS),
    ("cracklib_", PLUGINS),
    ("debug_", DEBUG),
    ("feedback", PLUGINS),
    ("file_key_management_", PLUGINS),
    ("gssapi_", PLUGINS),
    ("group_replication_", REPLICATION),
    ("innodb_cmp", FILES),
    ("innodb_sys_", FILES),
    ("keyring_", PLUGINS),
    ("mroonga_", ENGINES),
    ("mysql_firewall_", PLUGINS),
    ("mysqlx", "there is no X protocol"),
    ("ndb_", ENGINES),
    ("oqgraph_", ENGINES),
    ("performance_schema_consumer_", SCHEMA),
    ("performance_schema_instrument", SCHEMA),
    ("plugin_", PLUGINS),
    ("replicate_", REPLICATION),
    ("rewriter_", PLUGINS),
    ("rocksdb_", ENGINES),
    ("rpl_semi_sync_", REPLICATION),
    ("s3_", ENGINES),
    ("server_audit_", PLUGINS),
    ("simple_password_check", PLUGINS),
    ("sphinx_", ENGINES),
    ("spider_", ENGINES),
    ("telemetry.", PLUGINS),
    ("thread_pool_", "connections run on event loops, one for each processor"),
    ("tokudb_", ENGINES),
    ("validate_password", PLUGINS),
    ("version_tokens_", PLUGINS),
    ("wsrep", REPLICATION),
];

/// The names of options that do nothing here, but for those of [`FAMILIES`].
pub(super) fn names() -> impl Iterator<Item = &'static str> {
    KNOWN.iter().flat_map(|(_, names)| names.split_ascii_whitespace())
}

/// Why a known option does nothing here.
pub(super) fn reason(name: &str) -> Option<&'static str> {
    let is_named = |names: &str| names.split_ascii_whitespace().any(|known| known == name);
    if let Some((reason, _)) = KNOWN.iter().find(|(_, names)| is_named(names)) {
        return Some(reason);
    }
    let lower = name.to_ascii_lowercase();
    FAMILIES.iter().find(|(beginning, _)| lower.starts_with(beginning)).map(|(_, reason)| *reason)
}
