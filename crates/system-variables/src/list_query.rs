//! Parsing, planning and running of statements.

use super::action::Action;
use super::definition::{
    Kind,
    Scope::{Both, Global, Session},
    Unit, VariableDef, boolean, choice, double, flags, signed, special, unsigned,
};

/// MySQL 8.4's switches; `optimizer_switch` keeps them so that clients can save and restore them.
const OPTIMIZER_SWITCHES: &[&str] = &[
    "index_merge",
    "index_merge_union",
    "index_merge_sort_union",
    "index_merge_intersection",
    "engine_condition_pushdown",
    "index_condition_pushdown",
    "mrr",
    "mrr_cost_based",
    "block_nested_loop",
    "batched_key_access",
    "materialization",
    "semijoin",
    "loosescan",
    "firstmatch",
    "duplicateweedout",
    "subquery_materialization_cost_based",
    "use_index_extensions",
    "condition_fanout_filter",
    "derived_merge",
    "use_invisible_indexes",
    "skip_scan",
    "hash_join",
    "subquery_to_derived",
    "prefer_ordering_index",
    "hypergraph_optimizer",
    "derived_condition_pushdown",
    "hash_set_operations",
];

const OPTIMIZER_SWITCH_DEFAULT: &str = "index_merge=on,index_merge_union=on,index_merge_sort_union=on,\
index_merge_intersection=on,engine_condition_pushdown=on,index_condition_pushdown=on,mrr=on,mrr_cost_based=on,\
block_nested_loop=on,batched_key_access=off,materialization=on,semijoin=on,loosescan=on,firstmatch=on,\
duplicateweedout=on,subquery_materialization_cost_based=on,use_index_extensions=on,condition_fanout_filter=on,\
derived_merge=on,use_invisible_indexes=off,skip_scan=on,hash_join=on,subquery_to_derived=off,\
prefer_ordering_index=on,hypergraph_optimizer=off,derived_condition_pushdown=on,hash_set_operations=on";

const DELAYED_THREADS: VariableDef =
    unsigned("max_delayed_threads", Both, 20, 0, 16_384, "Threads of INSERT DELAYED, which is an ordinary INSERT.")
        .deprecated("")
        .compatibility();

pub(super) const VARIABLES: &[VariableDef] = &[
    special(
        "sql_mode",
        Both,
        Kind::SqlMode,
        "ONLY_FULL_GROUP_BY,STRICT_TRANS_TABLES,NO_ZERO_IN_DATE,NO_ZERO_DATE,ERROR_FOR_DIVISION_BY_ZERO,NO_ENGINE_SUBSTITUTION",
        "Which SQL is accepted and which values are refused.",
    ),
    boolean("sql_auto_is_null", Both, false, "Whether `WHERE id IS NULL` finds the row inserted last.")
        .only_default("WHERE id = LAST_INSERT_ID()"),
    boolean("sql_big_selects", Both, true, "Whether a SELECT may examine more than `max_join_size` rows.")
        .compatibility(),
    choice(
        "query_route",
        Both,
        "AUTO",
        &["AUTO", "ROW_BY_ROW", "FULL_PLANNER"],
        "How queries are run: by the cheapest route, row by row wherever that is possible, or by the full planner alone; for tests that compare them. EXPLAIN FORMAT=JSON shows the route.",
    ),
    boolean("sql_buffer_result", Both, false, "Whether results are buffered in a temporary table.").compatibility(),
    boolean("sql_notes", Both, true, "Whether notes are kept with the warnings."),
    boolean("sql_warnings", Both, false, "Whether single-row INSERTs report warnings in their text.").compatibility(),
    boolean("sql_quote_show_create", Both, true, "Whether SHOW CREATE quotes names.").compatibility(),
    boolean(
        "sql_safe_updates",
        Both,
        false,
        "Whether UPDATE and DELETE need a WHERE that a key can be used for, or a LIMIT.",
    ),
    unsigned("sql_select_limit", Both, u64::MAX, 0, u64::MAX, "Most rows of a SELECT without LIMIT."),
    boolean("sql_log_off", Session, false, "Whether the general log leaves this session out.").restricted(),
    boolean("sql_log_bin", Session, true, "Whether changes go to the binary log.").restricted().compatibility(),
    boolean(
        "sql_generate_invisible_primary_key",
        Both,
        false,
        "Whether tables without a primary key get an invisible one.",
    )
    .restricted()
    .only_default("sql_require_primary_key"),
    boolean("sql_require_primary_key", Both, false, "Whether tables have to have a primary key."),
    boolean("foreign_key_checks", Both, true, "Whether foreign keys are checked."),
    boolean(
        "unique_checks",
        Both,
        true,
        "Whether MySQL may skip checks of secondary unique keys; they are always made.",
    )
    .compatibility(),
    boolean("old_alter_table", Both, false, "Whether ALTER TABLE always copies.").compatibility(),
    boolean("explicit_defaults_for_timestamp", Both, true, "Whether TIMESTAMP columns have no hidden defaults.")
        .only_default("DEFAULT CURRENT_TIMESTAMP ON UPDATE CURRENT_TIMESTAMP"),
    boolean("show_create_table_verbosity", Both, false, "Whether SHOW CREATE TABLE always names ROW_FORMAT.")
        .compatibility(),
    boolean(
        "show_create_table_skip_secondary_engine",
        Session,
        false,
        "Whether SHOW CREATE TABLE leaves SECONDARY_ENGINE out.",
    )
    .compatibility(),
    boolean(
        "show_gipk_in_create_table_and_information_schema",
        Both,
        true,
        "Whether generated invisible primary keys are shown.",
    )
    .compatibility(),
    boolean("print_identified_with_as_hex", Both, false, "Whether SHOW CREATE USER prints verifiers in hexadecimal."),
    choice(
        "updatable_views_with_limit",
        Both,
        "YES",
        &["NO", "YES"],
        "Whether views without the whole key can be updated with LIMIT.",
    )
    .compatibility(),
    unsigned("auto_increment_increment", Both, 1, 1, 65_535, "Distance of AUTO_INCREMENT values."),
    unsigned("auto_increment_offset", Both, 1, 1, 65_535, "First of the AUTO_INCREMENT values."),
    unsigned(
        "max_execution_time",
        Both,
        0,
        0,
        u32::MAX as u64,
        "Milliseconds after which a SELECT is stopped; 0 is never.",
    )
    .unit(Unit::Milliseconds),
    choice(
        "execute_function_mode",
        Both,
        "wait",
        &["wait", "background"],
        "Whether EXECUTE() waits for its statements, or has them run in the background unless it has a second argument.",
    ),
    unsigned(
        "execute_max_statements",
        Global,
        10_000,
        1,
        u64::MAX,
        "Most statements of one text that EXECUTE runs as a list.",
    ),
    boolean(
        "drizzle_type_names",
        Both,
        false,
        "Whether TYPEOF says types by Drizzle's names (`DRIZZLE_TYPE_LONGLONG`).",
    ),
    unsigned("max_error_count", Both, 1024, 0, 65_535, "Warnings and errors kept for SHOW WARNINGS."),
    unsigned("max_join_size", Both, u64::MAX, 1, u64::MAX, "Rows a SELECT may examine without `sql_big_selects`.")
        .compatibility(),
    unsigned("max_sort_length", Both, 1024, 4, 8 << 20, "Bytes of a value that MySQL sorts by; Squall sorts by all.")
        .compatibility(),
    unsigned("max_length_for_sort_data", Both, 4096, 4, 8 << 20, "A limit of MySQL's older sort.")
        .deprecated("")
        .compatibility(),
    unsigned("max_points_in_geometry", Both, 65_536, 3, 1_048_576, "Points of a geometry.").compatibility(),
    unsigned("max_seeks_for_key", Both, u64::MAX, 1, u64::MAX, "Seeks MySQL assumes for a key.").compatibility(),
    unsigned("max_sp_recursion_depth", Both, 0, 0, 255, "How deep procedures may call themselves."),
    unsigned("max_write_lock_count", Global, u64::MAX, 1, u64::MAX, "Write locks before a read lock gets its turn.")
        .compatibility(),
    unsigned("max_digest_length", Global, 1024, 0, 1 << 20, "Bytes of a statement that a digest is made of.")
        .read_only(),
    unsigned("group_concat_max_len", Both, 1024, 4, u64::MAX, "Longest result of GROUP_CONCAT in bytes.")
        .unit(Unit::Bytes),
    unsigned("div_precision_increment", Both, 4, 0, 30, "Digits that `/` adds after the point."),
    unsigned("cte_max_recursion_depth", Both, 1000, 0, u32::MAX as u64, "Most rounds of a recursive WITH."),
    unsigned("regexp_stack_limit", Global, 8_000_000, 0, i32::MAX as u64, "Memory of a regular expression's stack.")
        .compatibility(),
    signed("regexp_time_limit", Global, 32, 0, i32::MAX as i64, "Steps a regular expression may take.").compatibility(),
    boolean("windowing_use_high_precision", Both, true, "Whether moving sums of windows are exact.").compatibility(),
    boolean("end_markers_in_json", Both, false, "Whether optimizer traces have end markers.").compatibility(),
    choice(
        "explain_format",
        Both,
        "TRADITIONAL",
        &["TRADITIONAL", "JSON", "TREE", "DEFAULT"],
        "Format of EXPLAIN without FORMAT.",
    ),
    unsigned("explain_json_format_version", Both, 1, 1, 2, "Version of EXPLAIN's JSON.").compatibility(),
    special(
        "optimizer_switch",
        Both,
        Kind::Switches(OPTIMIZER_SWITCHES),
        OPTIMIZER_SWITCH_DEFAULT,
        "Switches of MySQL's optimizer; those of MariaDB's are shown behind them once they are set.",
    )
    .with_foreign_switches(super::list_mariadb::OPTIMIZER_SWITCHES)
    .compatibility(),
    unsigned("optimizer_prune_level", Both, 1, 0, 1, "How MySQL prunes join orders.").compatibility(),
    unsigned("optimizer_search_depth", Both, 62, 0, 62, "How deep MySQL searches join orders.").compatibility(),
    special(
        "optimizer_trace",
        Both,
        Kind::Switches(&["enabled", "one_line"]),
        "enabled=off,one_line=off",
        "Whether the optimizer is traced.",
    )
    .compatibility(),
    special(
        "optimizer_trace_features",
        Both,
        Kind::Switches(&["greedy_search", "range_optimizer", "dynamic_range", "repeated_subselect"]),
        "greedy_search=on,range_optimizer=on,dynamic_range=on,repeated_subselect=on",
        "What a trace holds.",
    )
    .compatibility(),
    signed("optimizer_trace_limit", Both, 1, 0, i32::MAX as i64, "Traces kept.").compatibility(),
    unsigned("optimizer_trace_max_mem_size", Both, 1 << 20, 0, u64::MAX, "Memory of traces.").compatibility(),
    signed("optimizer_trace_offset", Both, -1, i32::MIN as i64, i32::MAX as i64, "First trace kept.").compatibility(),
    unsigned(
        "optimizer_max_subgraph_pairs",
        Both,
        100_000,
        1,
        i32::MAX as u64,
        "Join orders the hypergraph optimizer looks at.",
    )
    .compatibility(),
    unsigned("eq_range_index_dive_limit", Both, 200, 0, u32::MAX as u64, "Ranges MySQL estimates by looking.")
        .compatibility(),
    unsigned("range_optimizer_max_mem_size", Both, 8 << 20, 0, u64::MAX, "Memory of MySQL's range optimizer.")
        .compatibility(),
    unsigned("range_alloc_block_size", Both, 4096, 4096, (u32::MAX - 1023) as u64, "Blocks of that memory.")
        .block(1024)
        .compatibility(),
    unsigned("query_alloc_block_size", Both, 8192, 1024, (u32::MAX - 1023) as u64, "Blocks of a statement's memory.")
        .block(1024)
        .compatibility(),
    unsigned("query_prealloc_size", Both, 8192, 8192, u64::MAX - 1023, "First memory of a statement.")
        .block(1024)
        .deprecated("")
        .compatibility(),
    unsigned(
        "parser_max_mem_size",
        Both,
        256 << 20,
        10_000_000,
        u64::MAX,
        "Memory that a statement may take while it is read, bound and planned, as far as its text tells (3170).",
    )
    .unit(Unit::Bytes),
    unsigned("preload_buffer_size", Both, 32_768, 1024, 1 << 30, "Buffer of index preloading.").compatibility(),
    unsigned(
        "sort_buffer_size",
        Both,
        262_144,
        32_768,
        u64::MAX,
        "Memory MySQL sorts in before it spills; Squall bounds a query by its memory pool.",
    )
    .compatibility(),
    unsigned("join_buffer_size", Both, 262_144, 128, u64::MAX - 127, "Memory MySQL joins in.")
        .block(128)
        .compatibility(),
    unsigned("read_buffer_size", Both, 131_072, 8192, 2_147_479_552, "Buffer of MyISAM scans.")
        .block(4096)
        .compatibility(),
    unsigned("read_rnd_buffer_size", Both, 262_144, 1, 2_147_483_647, "Buffer of MySQL's sorted reads.")
        .compatibility(),
    unsigned("bulk_insert_buffer_size", Both, 8 << 20, 0, u64::MAX, "Buffer of MyISAM's bulk inserts.").compatibility(),
    unsigned("tmp_table_size", Both, 16 << 20, 1024, u64::MAX, "Memory of MySQL's temporary tables.").compatibility(),
    unsigned("max_heap_table_size", Both, 16 << 20, 16_384, u64::MAX - 1023, "Size of MEMORY tables.")
        .block(1024)
        .compatibility(),
    unsigned("set_operations_buffer_size", Both, 262_144, 16_384, 1 << 30, "Memory of MySQL's set operations.")
        .block(128)
        .compatibility(),
    choice(
        "internal_tmp_mem_storage_engine",
        Both,
        "TempTable",
        &["MEMORY", "TempTable"],
        "Engine of MySQL's temporary results.",
    )
    .compatibility(),
    unsigned("temptable_max_ram", Global, 1 << 30, 2 << 20, u64::MAX, "Memory of all temporary results.")
        .compatibility(),
    unsigned("temptable_max_mmap", Global, 0, 0, u64::MAX, "Files of all temporary results.").compatibility(),
    unsigned(
        "query_memory_limit",
        Global,
        0,
        0,
        u64::MAX,
        "Bytes that all running queries may hold before they spill; 0 is three quarters of the machine's memory.",
    )
    .unit(Unit::Bytes)
    .action(Action::Resize),
    unsigned("query_threads", Global, 0, 0, 4096, "Threads of the query pool; 0 is one per processor.")
        .not_persistable()
        .read_only(),
    double("long_query_time", Both, 10.0, 0.0, 31_536_000.0, "Seconds from which a statement counts as slow.")
        .unit(Unit::Seconds),
    unsigned("min_examined_row_limit", Both, 0, 0, u64::MAX, "Rows a slow statement has to have examined."),
    boolean("profiling", Both, false, "Whether SHOW PROFILE collects.").deprecated("").compatibility(),
    unsigned("profiling_history_size", Both, 15, 0, 100, "Statements SHOW PROFILES keeps.")
        .deprecated("")
        .compatibility(),
    choice("use_secondary_engine", Session, "ON", &["OFF", "ON", "FORCED"], "Whether queries are offloaded.")
        .compatibility(),
    boolean("require_row_format", Session, false, "Whether only row events are replayed.").restricted().compatibility(),
    boolean("low_priority_updates", Both, false, "Whether writes wait for reads.").compatibility(),
    choice("concurrent_insert", Global, "AUTO", &["NEVER", "AUTO", "ALWAYS"], "Whether MyISAM inserts beside reads.")
        .compatibility(),
    choice("delay_key_write", Global, "ON", &["OFF", "ON", "ALL"], "Whether MyISAM delays key writes.").compatibility(),
    boolean("flush", Global, false, "Whether MyISAM syncs after each statement.").compatibility(),
    unsigned("flush_time", Global, 0, 0, 31_536_000, "Seconds between closing tables.").compatibility(),
    flags("debug_sync_points", Session, "", &["none"], "Points where tests may stop; none are built in.")
        .read_only()
        .hidden(),
    choice(
        "block_encryption_mode",
        Both,
        "aes-128-ecb",
        &[
            "aes-128-ecb",
            "aes-192-ecb",
            "aes-256-ecb",
            "aes-128-cbc",
            "aes-192-cbc",
            "aes-256-cbc",
            "aes-128-cfb1",
            "aes-192-cfb1",
            "aes-256-cfb1",
            "aes-128-cfb8",
            "aes-192-cfb8",
            "aes-256-cfb8",
            "aes-128-cfb128",
            "aes-192-cfb128",
            "aes-256-cfb128",
            "aes-128-ofb",
            "aes-192-ofb",
            "aes-256-ofb",
        ],
        "Cipher of AES_ENCRYPT and AES_DECRYPT.",
    ),
    unsigned("schema_definition_cache", Global, 256, 256, 524_288, "Definitions of databases MySQL keeps.")
        .compatibility(),
    unsigned("stored_program_definition_cache", Global, 256, 256, 524_288, "Definitions of routines MySQL keeps.")
        .compatibility(),
    unsigned("tablespace_definition_cache", Global, 256, 256, 524_288, "Definitions of tablespaces MySQL keeps.")
        .compatibility(),
    unsigned(
        "information_schema_stats_expiry",
        Both,
        86_400,
        0,
        31_536_000,
        "Seconds that statistics of information_schema are cached; Squall's are always fresh.",
    )
    .compatibility(),
    choice(
        "terminology_use_previous",
        Both,
        "NONE",
        &["NONE", "BEFORE_8_0_26", "BEFORE_8_2_0"],
        "Which older names performance_schema shows.",
    )
    .compatibility(),
    boolean("restrict_fk_on_non_standard_key", Both, true, "Whether foreign keys need a unique parent key.")
        .compatibility(),
    boolean("xa_detach_on_prepare", Both, true, "Whether XA PREPARE lets go of the transaction; it always does.")
        .only_default("XA COMMIT in one phase"),
    unsigned("delayed_insert_limit", Global, 100, 1, u64::MAX, "Rows that INSERT DELAYED adds at once.")
        .deprecated("")
        .compatibility(),
    unsigned("delayed_insert_timeout", Global, 300, 1, 31_536_000, "Seconds that INSERT DELAYED waits for more.")
        .deprecated("")
        .compatibility(),
    unsigned("delayed_queue_size", Global, 1000, 1, u64::MAX, "Rows that INSERT DELAYED keeps.")
        .deprecated("")
        .compatibility(),
    DELAYED_THREADS,
    VariableDef { name: "max_insert_delayed_threads", ..DELAYED_THREADS },
    unsigned(
        "histogram_generation_max_mem_size",
        Both,
        20_000_000,
        1_000_000,
        u64::MAX,
        "Memory of making a histogram.",
    )
    .restricted()
    .compatibility(),
    unsigned(
        "select_into_buffer_size",
        Both,
        131_072,
        8192,
        2_147_479_552,
        "Buffer of INTO OUTFILE and INTO DUMPFILE.",
    )
    .block(4096)
    .compatibility(),
    boolean("select_into_disk_sync", Both, false, "Whether files of INTO OUTFILE and INTO DUMPFILE are synced."),
    unsigned("select_into_disk_sync_delay", Both, 0, 0, 31_536_000, "Milliseconds to wait behind each sync of them.")
        .compatibility(),
    boolean("temptable_use_mmap", Global, false, "Whether temporary results may be in mapped files.")
        .deprecated("")
        .compatibility(),
];
