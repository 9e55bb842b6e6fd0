//! Transactions and locks.

use super::definition::{
    Scope::{Both, Global, Session},
    Unit, VariableDef, boolean, choice, text, unsigned,
};

const LEVELS: &[&str] = &["READ-UNCOMMITTED", "READ-COMMITTED", "REPEATABLE-READ", "SERIALIZABLE"];

pub(super) const VARIABLES: &[VariableDef] = &[
    boolean("autocommit", Both, true, "Whether each statement is a transaction of its own."),
    choice("transaction_isolation", Both, "REPEATABLE-READ", LEVELS, "Isolation of transactions."),
    choice(
        "tx_isolation",
        Both,
        "REPEATABLE-READ",
        LEVELS,
        "The name of `transaction_isolation` before 8.0, which drivers still read.",
    )
    .hidden(),
    boolean("transaction_read_only", Both, false, "Whether transactions are read-only."),
    boolean("tx_read_only", Both, false, "The name of `transaction_read_only` before 8.0.").hidden(),
    choice("completion_type", Both, "NO_CHAIN", &["NO_CHAIN", "CHAIN", "RELEASE"], "What COMMIT and ROLLBACK do next."),
    unsigned("lock_wait_timeout", Both, 31_536_000, 1, 31_536_000, "Seconds to wait for a table's metadata lock.")
        .unit(Unit::Seconds),
    unsigned("innodb_lock_wait_timeout", Both, 50, 1, 1_073_741_824, "Seconds to wait for a row lock.")
        .unit(Unit::Seconds),
    boolean(
        "innodb_rollback_on_timeout",
        Global,
        false,
        "Whether a lock wait that timed out rolls the transaction back; otherwise the statement only.",
    )
    .read_only(),
    boolean("innodb_deadlock_detect", Global, true, "Whether deadlocks are looked for.")
        .only_default("innodb_lock_wait_timeout bounds waits as well"),
    boolean(
        "innodb_snapshot_isolation",
        Both,
        true,
        "Whether writing a row that changed after the snapshot is error 1020.",
    ),
    boolean("innodb_table_locks", Both, true, "Whether LOCK TABLES takes engine locks too.").compatibility(),
    boolean("innodb_print_all_deadlocks", Global, false, "Whether deadlocks are logged.").compatibility(),
    choice(
        "durability",
        Global,
        "full",
        &["full", "os", "lazy"],
        "When COMMIT answers: after a sync, after the write, or before it.",
    ),
    unsigned(
        "innodb_flush_log_at_trx_commit",
        Global,
        1,
        0,
        2,
        "MySQL's form of `durability`: 1 is full, 2 os, 0 lazy.",
    ),
    unsigned("innodb_flush_log_at_timeout", Global, 1, 0, 2700, "Seconds between syncs when commits do not sync.")
        .compatibility(),
    unsigned("sync_binlog", Global, 1, 0, u32::MAX as u64, "Commits between syncs of the binary log.").compatibility(),
    unsigned("transaction_alloc_block_size", Both, 8192, 1024, 131_072, "Blocks of a transaction's memory.")
        .block(1024)
        .compatibility(),
    unsigned("transaction_prealloc_size", Both, 4096, 1024, 131_072, "First memory of a transaction.")
        .block(1024)
        .deprecated("")
        .compatibility(),
    boolean("transaction_allow_batching", Session, false, "Whether NDB batches.").compatibility(),
    unsigned(
        "kill_idle_transaction_timeout",
        Global,
        0,
        0,
        31_536_000,
        "Seconds after which an idle transaction is ended; 0 is never.",
    )
    .compatibility()
    .hidden(),
    text("gtid_next", Session, "AUTOMATIC", "Id of the next transaction.").restricted().compatibility(),
    choice(
        "gtid_mode",
        Global,
        "OFF",
        &["OFF", "OFF_PERMISSIVE", "ON_PERMISSIVE", "ON"],
        "Whether transactions have global ids.",
    )
    .only_default("transactions have no global ids"),
    text("gtid_executed", Global, "", "Ids of transactions that ran here.").read_only(),
    text("gtid_purged", Global, "", "Ids no longer in the binary log.")
        .not_persistable()
        .only_default("transactions have no global ids"),
    text("gtid_owned", Both, "", "Ids in use.").read_only(),
    choice(
        "enforce_gtid_consistency",
        Global,
        "OFF",
        &["OFF", "ON", "WARN"],
        "Whether statements have to suit global ids.",
    )
    .compatibility(),
    unsigned("gtid_executed_compression_period", Global, 0, 0, u32::MAX as u64, "How often ids are compressed.")
        .compatibility(),
];
