//! Storage: engines, and the variables of InnoDB that clients and tools read.

use super::action::Action;
use super::definition::{
    Scope::{Both, Global},
    Unit, VariableDef, boolean, choice, double, engine, flags, nullable, text, unsigned,
};

pub(super) const VARIABLES: &[VariableDef] = &[
    engine(
        "default_storage_engine",
        false,
        "Engine of new tables whose definition has no ENGINE, but for temporary ones.",
    ),
    engine("storage_engine", false, "The older name of `default_storage_engine`.").hidden(),
    engine("default_tmp_storage_engine", true, "Engine of new temporary tables."),
    choice(
        "table_compression",
        Both,
        "default",
        &["default", "none", "lz4", "zstd"],
        "Compression of new tables whose definition has no COMPRESSION: by default LZ4 for row tables and Zstandard for \
         column tables.",
    ),
    text("disabled_storage_engines", Global, "", "Engines that may not be used.").read_only(),
    boolean("default_table_encryption", Both, false, "Whether new tables are encrypted.")
        .restricted()
        .only_default("an encrypted file system"),
    boolean("table_encryption_privilege_check", Global, false, "Whether encryption needs a privilege.").compatibility(),
    text("innodb_version", Global, "8.4.0", "Version of the row engine's dialect.").read_only(),
    unsigned("innodb_page_size", Global, 16_384, 4096, 65_536, "Page size clients are told.").read_only(),
    unsigned(
        "innodb_buffer_pool_size",
        Global,
        128 << 20,
        5 << 20,
        u64::MAX,
        "Memory of InnoDB's page cache; the row store's cache has a size of its own.",
    )
    .block(1 << 20)
    .compatibility(),
    unsigned(
        "row_cache_size",
        Global,
        192 << 20,
        0,
        64 << 30,
        "Memory for rows that were read by key, bytes. Less than 2 MB: no cache. A change empties it.",
    ).unit(Unit::Bytes).action(Action::Resize),
    unsigned(
        "vector_memory_limit",
        Global,
        1 << 30,
        0,
        u64::MAX,
        "Memory for the graphs of VECTOR indexes, bytes. Queries read all rows of a table whose graph does not fit.",
    ).unit(Unit::Bytes).action(Action::Resize),
    unsigned(
        "thread_pool_max_threads",
        Global,
        16_384,
        1,
        65_536,
        "Most threads on which statements wait: for locks, nested statements, clients, other servers. A statement that needs one more gets error 1135. At most three quarters of the threads that the system allows the process.",
    ).action(Action::Resize),
    unsigned(
        "transaction_buffer_size",
        Global,
        64 << 20,
        1 << 10,
        64 << 30,
        "Memory for the changes of one transaction, bytes. What does not fit is kept in temporary files until its commit.",
    ).unit(Unit::Bytes).action(Action::Resize),
    unsigned(
        "blob_inline_limit",
        Global,
        u32::MAX as u64,
        16,
        u32::MAX as u64,
        "Longest value of a BLOB, TEXT, JSON or spatial column that stays in its row, bytes. Longer ones lie out of it, and are read only where they are needed. For rows that are written from now on. 4294967295 is off: all stay. Experimental; the first other value raises the data directory to format 5, for good, which earlier servers refuse.",
    ).unit(Unit::Bytes).action(Action::Resize),
    unsigned(
        "column_cache_size",
        Global,
        512 << 20,
        0,
        1 << 40,
        "Memory for columns and bitmap indexes of ENGINE=COLUMN tables, bytes. What running queries hold may go beyond it.",
    ).unit(Unit::Bytes).action(Action::Resize),
    unsigned("innodb_buffer_pool_instances", Global, 1, 1, 64, "Parts of the cache.").read_only(),
    unsigned("innodb_buffer_pool_chunk_size", Global, 128 << 20, 1 << 20, u64::MAX, "Step of the cache's size.")
        .read_only(),
    boolean("innodb_buffer_pool_dump_at_shutdown", Global, true, "Whether the cache's contents are remembered.")
        .compatibility(),
    boolean("innodb_buffer_pool_load_at_startup", Global, true, "Whether they are loaded at start.").read_only(),
    boolean("innodb_file_per_table", Global, true, "Whether each table has a file.").compatibility(),
    text("innodb_data_home_dir", Global, "", "Directory of InnoDB's files.").read_only(),
    text("innodb_data_file_path", Global, "ibdata1:12M:autoextend", "InnoDB's system files.").read_only(),
    text("innodb_temp_data_file_path", Global, "ibtmp1:12M:autoextend", "InnoDB's temporary files.").read_only(),
    text("innodb_log_group_home_dir", Global, "./", "Directory of InnoDB's log.").read_only(),
    unsigned("innodb_log_file_size", Global, 50_331_648, 4 << 20, u64::MAX, "Size of a log file.").read_only(),
    unsigned("innodb_log_files_in_group", Global, 2, 2, 100, "Number of log files.").read_only(),
    unsigned("innodb_log_buffer_size", Global, 64 << 20, 262_144, u32::MAX as u64, "Buffer of the log.")
        .block(1024)
        .compatibility(),
    unsigned("innodb_redo_log_capacity", Global, 100 << 20, 8 << 20, 512 << 30, "Size of the log.")
        .block(1 << 20)
        .compatibility(),
    choice(
        "innodb_flush_method",
        Global,
        "O_DIRECT",
        &["fsync", "O_DSYNC", "littlesync", "nosync", "O_DIRECT", "O_DIRECT_NO_FSYNC"],
        "How InnoDB syncs.",
    )
    .read_only(),
    unsigned("innodb_io_capacity", Global, 10_000, 100, u64::MAX, "Background writes per second.").compatibility(),
    unsigned("innodb_io_capacity_max", Global, 20_000, 100, u64::MAX, "Most background writes per second.")
        .compatibility(),
    unsigned("innodb_read_io_threads", Global, 4, 1, 64, "Threads that read.").read_only(),
    unsigned("innodb_write_io_threads", Global, 4, 1, 64, "Threads that write.").read_only(),
    unsigned("innodb_purge_threads", Global, 1, 1, 32, "Threads that purge.").read_only(),
    unsigned("innodb_thread_concurrency", Global, 0, 0, 1000, "Threads inside InnoDB.").compatibility(),
    unsigned("innodb_open_files", Global, 4000, 10, i32::MAX as u64, "Files InnoDB keeps open.").read_only(),
    unsigned(
        "innodb_autoinc_lock_mode",
        Global,
        2,
        0,
        2,
        "How AUTO_INCREMENT values are handed out: 2 is without a table lock.",
    )
    .read_only(),
    unsigned("innodb_fill_factor", Global, 100, 10, 100, "How full index builds leave pages.").compatibility(),
    choice(
        "innodb_change_buffering",
        Global,
        "none",
        &["none", "inserts", "deletes", "changes", "purges", "all"],
        "Which changes of secondary indexes wait.",
    )
    .compatibility(),
    choice(
        "innodb_default_row_format",
        Global,
        "dynamic",
        &["redundant", "compact", "dynamic"],
        "Row format of new tables.",
    )
    .compatibility(),
    boolean("innodb_strict_mode", Both, true, "Whether unsuitable table options are errors.")
        .restricted()
        .compatibility(),
    boolean("innodb_stats_on_metadata", Global, false, "Whether reading metadata renews statistics.").compatibility(),
    boolean("innodb_stats_persistent", Global, true, "Whether statistics are kept.").compatibility(),
    boolean("innodb_stats_auto_recalc", Global, true, "Whether statistics are renewed.").compatibility(),
    unsigned("innodb_stats_persistent_sample_pages", Global, 20, 1, u64::MAX, "Pages statistics are made of.")
        .compatibility(),
    unsigned("innodb_stats_transient_sample_pages", Global, 8, 1, u64::MAX, "Pages of transient statistics.")
        .compatibility(),
    boolean("innodb_adaptive_hash_index", Global, false, "Whether InnoDB builds hash indexes.").compatibility(),
    boolean("innodb_read_only", Global, false, "Whether the engine is read-only.").read_only(),
    unsigned("innodb_force_recovery", Global, 0, 0, 6, "How much of recovery is skipped.").read_only(),
    unsigned("innodb_online_alter_log_max_size", Global, 128 << 20, 65_536, u64::MAX, "Log of an online ALTER.")
        .compatibility(),
    unsigned("innodb_sort_buffer_size", Global, 1 << 20, 65_536, 64 << 20, "Memory of index builds.").read_only(),
    unsigned("innodb_parallel_read_threads", Both, 4, 1, 256, "Threads of a parallel scan.").compatibility(),
    unsigned("innodb_ddl_threads", Both, 4, 1, 64, "Threads of an index build.").compatibility(),
    unsigned("innodb_ddl_buffer_size", Both, 1 << 20, 65_536, u32::MAX as u64, "Memory of an index build.")
        .compatibility(),
    double(
        "innodb_max_dirty_pages_pct",
        Global,
        90.0,
        0.0,
        99.999,
        "Share of changed pages from which writing hurries.",
    )
    .compatibility(),
    nullable("innodb_monitor_enable", Global, "Counters that are switched on.").compatibility(),
    nullable("innodb_monitor_disable", Global, "Counters that are switched off.").compatibility(),
    boolean("innodb_print_ddl_logs", Global, false, "Whether DDL is logged.").compatibility(),
    boolean("innodb_optimize_fulltext_only", Global, false, "Whether OPTIMIZE handles full text only.").compatibility(),
    unsigned("key_buffer_size", Global, 8 << 20, 0, u64::MAX, "Cache of MyISAM indexes.").block(4096).compatibility(),
    unsigned("key_cache_block_size", Global, 1024, 512, 16_384, "Blocks of that cache.").block(512).compatibility(),
    unsigned("key_cache_age_threshold", Global, 300, 100, u64::MAX, "Age in that cache.").block(100).compatibility(),
    unsigned("key_cache_division_limit", Global, 100, 1, 100, "Warm share of that cache.").compatibility(),
    unsigned("myisam_sort_buffer_size", Both, 8 << 20, 4096, u64::MAX, "Memory of MyISAM repairs.").compatibility(),
    unsigned("myisam_max_sort_file_size", Global, 9_223_372_036_853_727_232, 0, u64::MAX, "File of MyISAM repairs.")
        .block(1 << 20)
        .compatibility(),
    unsigned("myisam_mmap_size", Global, u64::MAX, 7, u64::MAX, "Memory that MyISAM's files are mapped to.")
        .read_only(),
    boolean("myisam_use_mmap", Global, false, "Whether they are mapped.").compatibility(),
    unsigned("myisam_data_pointer_size", Global, 6, 2, 7, "Bytes of MyISAM row pointers.").compatibility(),
    flags(
        "myisam_recover_options",
        Global,
        "OFF",
        &["DEFAULT", "BACKUP", "FORCE", "QUICK", "OFF"],
        "How MyISAM recovers.",
    )
    .read_only(),
    choice(
        "myisam_stats_method",
        Both,
        "nulls_unequal",
        &["nulls_unequal", "nulls_equal", "nulls_ignored"],
        "How MyISAM counts NULLs.",
    )
    .compatibility(),
    boolean("performance_schema", Global, true, "Whether statements are counted for the tables of performance_schema."),
    text("sys_config", Global, "", "Settings of sys.sys_config that were changed; change them there.").hidden(),
    boolean("foreign_key_all_tables", Global, false, "Whether foreign keys span engines.").read_only().hidden(),
];
