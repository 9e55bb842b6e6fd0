//! Replicas and the binary log: the variables that tools of replication set and read. Squall has neither.

use super::definition::{
    Scope::{Both, Global, Session},
    VariableDef, boolean, choice, text, unsigned,
};

const U32_MAX: u64 = u32::MAX as u64;

/// Another name of a variable, which MySQL had before and warns of.
pub(super) const fn older(name: &'static str, of: VariableDef) -> VariableDef {
    VariableDef { name, doc: "An older name.", ..of }.deprecated(of.name)
}

const ALLOW_BATCHING: VariableDef =
    boolean("replica_allow_batching", Global, true, "Whether a replica's updates are batched for NDB.").compatibility();
const CHECKPOINT_GROUP: VariableDef =
    unsigned("replica_checkpoint_group", Global, 512, 32, 524_280, "Transactions between a replica's checkpoints.")
        .block(8)
        .compatibility();
const CHECKPOINT_PERIOD: VariableDef =
    unsigned("replica_checkpoint_period", Global, 300, 1, U32_MAX, "Milliseconds between a replica's checkpoints.")
        .compatibility();
const COMPRESSED_PROTOCOL: VariableDef =
    boolean("replica_compressed_protocol", Global, false, "Whether a replica asks for compression.").compatibility();
const EXEC_MODE: VariableDef =
    choice("replica_exec_mode", Global, "STRICT", &["STRICT", "IDEMPOTENT"], "Whether a replica ignores conflicts.")
        .compatibility();
const LOAD_TMPDIR: VariableDef = text("replica_load_tmpdir", Global, "", "Directory of replicated loads.").read_only();
const MAX_ALLOWED_PACKET: VariableDef =
    unsigned("replica_max_allowed_packet", Global, 1 << 30, 1024, 1 << 30, "Longest packet of replication.")
        .block(1024)
        .compatibility();
const NET_TIMEOUT: VariableDef =
    unsigned("replica_net_timeout", Global, 60, 1, 31_536_000, "Seconds a replica waits.").compatibility();
const PARALLEL_TYPE: VariableDef =
    choice("replica_parallel_type", Global, "LOGICAL_CLOCK", &["DATABASE", "LOGICAL_CLOCK"], "How changes are spread.")
        .compatibility();
const PARALLEL_WORKERS: VariableDef =
    unsigned("replica_parallel_workers", Global, 4, 0, 1024, "Threads that apply changes.").compatibility();
const PENDING_JOBS_SIZE_MAX: VariableDef = unsigned(
    "replica_pending_jobs_size_max",
    Global,
    128 << 20,
    1024,
    u64::MAX - 1023,
    "Memory of events that wait for those threads.",
)
.block(1024)
.compatibility();
const PRESERVE_COMMIT_ORDER: VariableDef =
    boolean("replica_preserve_commit_order", Global, true, "Whether order is kept.").compatibility();
const SKIP_ERRORS: VariableDef = text("replica_skip_errors", Global, "OFF", "Errors a replica ignores.").read_only();
const SQL_VERIFY_CHECKSUM: VariableDef =
    boolean("replica_sql_verify_checksum", Global, true, "Whether checksums of the relay log are verified.")
        .compatibility();
const TRANSACTION_RETRIES: VariableDef =
    unsigned("replica_transaction_retries", Global, 10, 0, u64::MAX, "Times a replica tries a transaction.")
        .compatibility();
const SKIP_COUNTER: VariableDef =
    unsigned("sql_replica_skip_counter", Global, 0, 0, U32_MAX, "Events that a replica passes over.")
        .not_persistable()
        .compatibility();
const STOP_TIMEOUT: VariableDef =
    unsigned("rpl_stop_replica_timeout", Global, 31_536_000, 2, 31_536_000, "Seconds STOP REPLICA waits.")
        .compatibility();
const INIT: VariableDef = text("init_replica", Global, "", "Statement that a replica begins with.").compatibility();
const SKIP_START: VariableDef =
    boolean("skip_replica_start", Global, false, "Whether replication waits for START REPLICA.").read_only();
const LOG_SLOW_STATEMENTS: VariableDef =
    boolean("log_slow_replica_statements", Global, false, "Whether slow statements of a replica are logged.")
        .compatibility();
const VERIFY_CHECKSUM: VariableDef =
    boolean("source_verify_checksum", Global, false, "Whether checksums are verified before events are sent.")
        .compatibility();
const SYNC_SOURCE_INFO: VariableDef =
    unsigned("sync_source_info", Global, 10_000, 0, U32_MAX, "Events between notes of a replica's place.")
        .compatibility();

pub(super) const VARIABLES: &[VariableDef] = &[
    ALLOW_BATCHING,
    older("slave_allow_batching", ALLOW_BATCHING),
    CHECKPOINT_GROUP,
    older("slave_checkpoint_group", CHECKPOINT_GROUP),
    CHECKPOINT_PERIOD,
    older("slave_checkpoint_period", CHECKPOINT_PERIOD),
    COMPRESSED_PROTOCOL.deprecated(""),
    older("slave_compressed_protocol", COMPRESSED_PROTOCOL),
    EXEC_MODE,
    older("slave_exec_mode", EXEC_MODE),
    LOAD_TMPDIR,
    older("slave_load_tmpdir", LOAD_TMPDIR),
    MAX_ALLOWED_PACKET,
    older("slave_max_allowed_packet", MAX_ALLOWED_PACKET),
    NET_TIMEOUT,
    older("slave_net_timeout", NET_TIMEOUT),
    PARALLEL_TYPE.deprecated(""),
    older("slave_parallel_type", PARALLEL_TYPE),
    PARALLEL_WORKERS,
    older("slave_parallel_workers", PARALLEL_WORKERS),
    PENDING_JOBS_SIZE_MAX,
    older("slave_pending_jobs_size_max", PENDING_JOBS_SIZE_MAX),
    PRESERVE_COMMIT_ORDER,
    older("slave_preserve_commit_order", PRESERVE_COMMIT_ORDER),
    SKIP_ERRORS,
    older("slave_skip_errors", SKIP_ERRORS),
    SQL_VERIFY_CHECKSUM,
    older("slave_sql_verify_checksum", SQL_VERIFY_CHECKSUM),
    TRANSACTION_RETRIES,
    older("slave_transaction_retries", TRANSACTION_RETRIES),
    SKIP_COUNTER,
    older("sql_slave_skip_counter", SKIP_COUNTER),
    STOP_TIMEOUT,
    older("rpl_stop_slave_timeout", STOP_TIMEOUT),
    INIT,
    older("init_slave", INIT),
    SKIP_START,
    older("skip_slave_start", SKIP_START),
    LOG_SLOW_STATEMENTS,
    older("log_slow_slave_statements", LOG_SLOW_STATEMENTS),
    VERIFY_CHECKSUM,
    older("master_verify_checksum", VERIFY_CHECKSUM),
    SYNC_SOURCE_INFO,
    older("sync_master_info", SYNC_SOURCE_INFO),
    unsigned("sync_relay_log_info", Global, 10_000, 0, U32_MAX, "Transactions between notes of the relay log's place.")
        .deprecated("")
        .compatibility(),
    unsigned("relay_log_space_limit", Global, 0, 0, u64::MAX, "Size of all relay logs; 0 is no limit.").read_only(),
    unsigned("rpl_read_size", Global, 8192, 8192, U32_MAX, "Bytes that are read of a log at once.")
        .block(4096)
        .compatibility(),
    text("report_user", Global, "", "User that a replica reports.").read_only(),
    text("report_password", Global, "", "Password that a replica reports.").read_only(),
    boolean("replication_optimize_for_static_plugin_config", Global, false, "Whether plugins are locked less.")
        .compatibility(),
    boolean(
        "replication_sender_observe_commit_only",
        Global,
        false,
        "Whether semi-synchronous replication calls less.",
    )
    .compatibility(),
    choice(
        "rbr_exec_mode",
        Session,
        "STRICT",
        &["STRICT", "IDEMPOTENT"],
        "Whether replayed row events ignore conflicts.",
    )
    .restricted()
    .compatibility(),
    choice(
        "group_replication_consistency",
        Both,
        "BEFORE_ON_PRIMARY_FAILOVER",
        &["EVENTUAL", "BEFORE_ON_PRIMARY_FAILOVER", "BEFORE", "AFTER", "BEFORE_AND_AFTER"],
        "What transactions of a group wait for.",
    )
    .compatibility(),
    boolean("binlog_encryption", Global, false, "Whether the binary log is encrypted.")
        .only_default("an encrypted file system"),
    unsigned("binlog_max_flush_queue_time", Global, 0, 0, 100_000, "Microseconds that commits gather.")
        .deprecated("")
        .compatibility(),
    boolean("binlog_order_commits", Global, true, "Whether commits are in the order of the binary log.")
        .compatibility(),
    boolean(
        "binlog_rotate_encryption_master_key_at_startup",
        Global,
        false,
        "Whether the binary log gets a new key at start.",
    )
    .read_only(),
    unsigned("binlog_row_event_max_size", Global, 8192, 256, u64::MAX, "Bytes of a row event.").block(256).read_only(),
    boolean("binlog_transaction_compression", Both, false, "Whether transactions of the binary log are compressed.")
        .restricted()
        .compatibility(),
    unsigned("binlog_transaction_compression_level_zstd", Both, 3, 1, 22, "Level of that compression.")
        .restricted()
        .compatibility(),
    unsigned(
        "binlog_transaction_dependency_history_size",
        Global,
        25_000,
        1,
        1_000_000,
        "Rows that dependencies of transactions are found by.",
    )
    .compatibility(),
];
