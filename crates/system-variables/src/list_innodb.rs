//! InnoDB's variables for parts that Squall's stores do not have, or tune otherwise: pages, the doublewrite and change buffers, undo
//! logs, spin locks.

use super::definition::{
    Scope::{Both, Global},
    VariableDef, boolean, choice, double, nullable, text, unsigned,
};
use crate::forms::is_folder_or_none;

const U32_MAX: u64 = u32::MAX as u64;

/// What asks InnoDB to do something at once.
const fn action(name: &'static str, doc: &'static str) -> VariableDef {
    boolean(name, Global, false, doc).only_default("caches fill as rows are read")
}

const fn counters(name: &'static str, doc: &'static str) -> VariableDef {
    nullable(name, Global, doc).only_default("FLUSH STATUS, or differences between two readings of INNODB_METRICS")
}

pub(super) const VARIABLES: &[VariableDef] = &[
    boolean("innodb_adaptive_flushing", Global, true, "Whether the rate of writing pages follows the redo log.")
        .compatibility(),
    unsigned("innodb_adaptive_flushing_lwm", Global, 10, 0, 70, "Share of the redo log from which it does.")
        .compatibility(),
    unsigned("innodb_adaptive_hash_index_parts", Global, 8, 1, 512, "Parts of the adaptive hash index.").read_only(),
    unsigned("innodb_adaptive_max_sleep_delay", Global, 150_000, 0, 1_000_000, "Longest wait of a thread to enter.")
        .compatibility(),
    unsigned("innodb_api_bk_commit_interval", Global, 5, 1, 1 << 30, "Seconds between commits of InnoDB's own API.")
        .compatibility(),
    boolean("innodb_api_disable_rowlock", Global, false, "Whether that API locks no rows.").read_only(),
    boolean("innodb_api_enable_binlog", Global, false, "Whether that API writes the binary log.").read_only(),
    boolean("innodb_api_enable_mdl", Global, false, "Whether that API locks tables.").read_only(),
    unsigned("innodb_api_trx_level", Global, 0, 0, 3, "Isolation of that API.").compatibility(),
    unsigned("innodb_autoextend_increment", Global, 64, 1, 1000, "Megabytes that the system tablespace grows by.")
        .compatibility(),
    action("innodb_buffer_pool_dump_now", "Writes down at once which pages are in the cache."),
    unsigned("innodb_buffer_pool_dump_pct", Global, 25, 1, 100, "Share of the cache that is written down.")
        .compatibility(),
    text("innodb_buffer_pool_filename", Global, "ib_buffer_pool", "File that it is written to.").compatibility(),
    boolean("innodb_buffer_pool_in_core_file", Global, false, "Whether a core file has the cache.").compatibility(),
    action("innodb_buffer_pool_load_abort", "Stops the filling of the cache from that file."),
    action("innodb_buffer_pool_load_now", "Fills the cache from that file at once."),
    unsigned("innodb_change_buffer_max_size", Global, 25, 0, 50, "Share of the cache for the change buffer.")
        .compatibility(),
    choice(
        "innodb_checksum_algorithm",
        Global,
        "crc32",
        &["crc32", "strict_crc32", "innodb", "strict_innodb", "none", "strict_none"],
        "Checksum of pages; the stores' blocks always have one.",
    )
    .compatibility(),
    boolean("innodb_cmp_per_index_enabled", Global, false, "Whether compression is counted by index.").compatibility(),
    unsigned("innodb_commit_concurrency", Global, 0, 0, 1000, "Threads that may commit at once; 0 is any number.")
        .compatibility(),
    unsigned("innodb_compression_failure_threshold_pct", Global, 5, 0, 100, "Failed compressions that add padding.")
        .compatibility(),
    unsigned("innodb_compression_level", Global, 6, 0, 9, "Level of zlib; tables are compressed by LZ4 or Zstandard.")
        .compatibility(),
    unsigned("innodb_compression_pad_pct_max", Global, 50, 0, 75, "Most padding of a page.").compatibility(),
    unsigned("innodb_concurrency_tickets", Global, 5000, 1, U32_MAX, "Times a thread may enter without waiting.")
        .compatibility(),
    boolean("innodb_dedicated_server", Global, false, "Whether sizes are chosen by the machine's memory.").read_only(),
    text("innodb_directories", Global, "", "Directories that are searched for tablespaces.").read_only(),
    boolean("innodb_disable_sort_file_cache", Global, false, "Whether files of sorts bypass the system's cache.")
        .compatibility(),
    choice(
        "innodb_doublewrite",
        Global,
        "ON",
        &["OFF", "DETECT_ONLY", "DETECT_AND_RECOVER", "ON"],
        "Whether pages are written twice; no page is ever changed in its place.",
    )
    .compatibility(),
    unsigned("innodb_doublewrite_batch_size", Global, 0, 0, 256, "Pages written twice in a batch.").read_only(),
    text("innodb_doublewrite_dir", Global, "", "Directory of pages that are written twice.").read_only(),
    unsigned("innodb_doublewrite_files", Global, 2, 1, 256, "Files of them.").read_only(),
    unsigned("innodb_doublewrite_pages", Global, 128, 1, 512, "Pages of a thread.").read_only(),
    boolean("innodb_extend_and_initialize", Global, true, "Whether new space of files is filled with zeros.")
        .compatibility(),
    unsigned("innodb_fast_shutdown", Global, 1, 0, 2, "What a shutdown leaves for the next start.").compatibility(),
    unsigned("innodb_flush_neighbors", Global, 0, 0, 2, "Whether pages nearby are written along.").compatibility(),
    boolean("innodb_flush_sync", Global, true, "Whether checkpoints may pass `innodb_io_capacity`.").compatibility(),
    unsigned("innodb_flushing_avg_loops", Global, 30, 1, 1000, "Rounds that the rate of writing is averaged over.")
        .compatibility(),
    boolean("innodb_force_load_corrupted", Global, false, "Whether tables marked as damaged are opened.").read_only(),
    unsigned("innodb_fsync_threshold", Global, 0, 0, u64::MAX, "Bytes of a new file between syncs.")
        .block(16_384)
        .compatibility(),
    nullable("innodb_ft_aux_table", Global, "Table whose full-text index INNODB_FT_… tables show.")
        .only_default("EXPLAIN and MATCH: there are no such tables"),
    unsigned("innodb_ft_cache_size", Global, 8_000_000, 1_600_000, 80_000_000, "Cache of a full-text index.")
        .read_only(),
    boolean("innodb_ft_enable_diag_print", Global, false, "Whether full-text search is traced.").compatibility(),
    unsigned("innodb_ft_num_word_optimize", Global, 2000, 1000, 10_000, "Words that OPTIMIZE handles at once.")
        .compatibility(),
    unsigned(
        "innodb_ft_result_cache_limit",
        Global,
        2_000_000_000,
        1_000_000,
        U32_MAX,
        "Memory of a full-text search; a query's memory is bounded otherwise.",
    )
    .compatibility(),
    unsigned("innodb_ft_sort_pll_degree", Global, 2, 1, 16, "Threads that make a full-text index.").read_only(),
    unsigned("innodb_ft_total_cache_size", Global, 640_000_000, 32_000_000, 1_600_000_000, "Cache of all of them.")
        .read_only(),
    unsigned("innodb_idle_flush_pct", Global, 100, 0, 100, "Share of the writing rate while nothing else is done.")
        .compatibility(),
    boolean("innodb_log_checksums", Global, true, "Whether the redo log has checksums; Squall's always has.")
        .compatibility(),
    boolean("innodb_log_compressed_pages", Global, true, "Whether the log has images of compressed pages.")
        .compatibility(),
    unsigned("innodb_log_spin_cpu_abs_lwm", Global, 80, 0, U32_MAX, "Processor use from which waits for the log spin.")
        .compatibility(),
    unsigned("innodb_log_spin_cpu_pct_hwm", Global, 50, 0, 100, "Processor use up to which they do.").compatibility(),
    unsigned("innodb_log_wait_for_flush_spin_hwm", Global, 400, 0, U32_MAX, "Microseconds up to which they do.")
        .compatibility(),
    unsigned("innodb_log_write_ahead_size", Global, 8192, 512, 16_384, "Unit of writing the log.")
        .block(512)
        .compatibility(),
    boolean("innodb_log_writer_threads", Global, true, "Whether threads of their own write the log.").compatibility(),
    unsigned("innodb_lru_scan_depth", Global, 1024, 100, U32_MAX, "How far the cache is searched for free pages.")
        .compatibility(),
    double(
        "innodb_max_dirty_pages_pct_lwm",
        Global,
        10.0,
        0.0,
        99.999,
        "Share of changed pages from which they are written early.",
    )
    .compatibility(),
    unsigned("innodb_max_purge_lag", Global, 0, 0, U32_MAX, "Old versions from which changes are slowed down.")
        .compatibility(),
    unsigned("innodb_max_purge_lag_delay", Global, 0, 0, 10_000_000, "Longest such delay.").compatibility(),
    unsigned("innodb_max_undo_log_size", Global, 1 << 30, 10 << 20, u64::MAX, "Size from which undo logs are cut.")
        .compatibility(),
    counters("innodb_monitor_reset", "Counters that are set to 0."),
    counters("innodb_monitor_reset_all", "Counters of which everything is set to 0."),
    boolean("innodb_numa_interleave", Global, false, "Whether the cache is spread over memory nodes.").read_only(),
    unsigned("innodb_old_blocks_pct", Global, 37, 5, 95, "Share of the cache for pages read once.").compatibility(),
    unsigned("innodb_old_blocks_time", Global, 1000, 0, U32_MAX, "Milliseconds that pages stay there.").compatibility(),
    unsigned("innodb_page_cleaners", Global, 1, 1, 64, "Threads that write pages.").read_only(),
    unsigned("innodb_purge_batch_size", Global, 300, 1, 5000, "Undo pages that are purged at once.").compatibility(),
    unsigned("innodb_purge_rseg_truncate_frequency", Global, 128, 1, 128, "Rounds of purging between cuts.")
        .compatibility(),
    boolean("innodb_random_read_ahead", Global, false, "Whether scattered reads have pages read ahead.")
        .compatibility(),
    unsigned("innodb_read_ahead_threshold", Global, 56, 0, 64, "Pages in order that have more read ahead.")
        .compatibility(),
    nullable("innodb_redo_log_archive_dirs", Global, "Directories that the redo log may be archived in.")
        .only_default("a copy of the data directory of a server that is stopped"),
    boolean("innodb_redo_log_encrypt", Global, false, "Whether the redo log is encrypted.")
        .only_default("an encrypted file system"),
    unsigned("innodb_replication_delay", Global, 0, 0, U32_MAX, "Milliseconds that a replica's threads wait.")
        .compatibility(),
    unsigned("innodb_rollback_segments", Global, 128, 1, 128, "Rollback segments of a tablespace.").compatibility(),
    double("innodb_segment_reserve_factor", Global, 12.5, 0.03, 40.0, "Share of pages that are kept free.")
        .compatibility(),
    unsigned("innodb_spin_wait_delay", Global, 6, 0, 1000, "Longest pause between looks at a spin lock.")
        .compatibility(),
    unsigned("innodb_spin_wait_pause_multiplier", Global, 50, 0, 100, "Instructions of such a pause.").compatibility(),
    boolean("innodb_stats_include_delete_marked", Global, false, "Whether statistics count deleted rows.")
        .compatibility(),
    choice(
        "innodb_stats_method",
        Global,
        "nulls_equal",
        &["nulls_equal", "nulls_unequal", "nulls_ignored"],
        "How statistics count NULLs.",
    )
    .compatibility(),
    boolean("innodb_status_file", Global, false, "Whether the monitor's text is kept in a file.")
        .compatibility()
        .hidden(),
    boolean("innodb_status_output", Global, false, "Whether the monitor's text is logged.").compatibility(),
    boolean("innodb_status_output_locks", Global, false, "Whether it has locks.").compatibility(),
    unsigned("innodb_sync_array_size", Global, 1, 1, 1024, "Parts of the list of waiting threads.").read_only(),
    unsigned("innodb_sync_spin_loops", Global, 30, 0, U32_MAX, "Looks at a spin lock before a thread sleeps.")
        .compatibility(),
    text("innodb_temp_tablespaces_dir", Global, "./#innodb_temp/", "Directory of temporary tablespaces.").read_only(),
    unsigned("innodb_thread_sleep_delay", Global, 10_000, 0, 1_000_000, "Microseconds a thread waits to enter.")
        .compatibility(),
    nullable("innodb_tmpdir", Both, "Directory of the files of ALTER TABLE; Squall's are in the data directory.")
        .of_form(is_folder_or_none)
        .compatibility(),
    text("innodb_undo_directory", Global, "./", "Directory of undo tablespaces.").read_only(),
    boolean("innodb_undo_log_encrypt", Global, false, "Whether undo logs are encrypted.")
        .only_default("an encrypted file system"),
    boolean("innodb_undo_log_truncate", Global, true, "Whether undo logs are cut.").compatibility(),
    unsigned("innodb_undo_tablespaces", Global, 2, 2, 127, "Number of undo tablespaces.").compatibility(),
    boolean("innodb_use_fdatasync", Global, true, "Whether syncs leave metadata out.").compatibility(),
    boolean("innodb_use_native_aio", Global, true, "Whether the system reads and writes in the background.")
        .read_only(),
    boolean("innodb_validate_tablespace_paths", Global, true, "Whether paths of files are checked at start.")
        .read_only(),
];
