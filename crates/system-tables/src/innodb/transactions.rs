//! Open transactions.

use crate::source::Source;
use crate::spec::{TableSpec, int32, local_time, s, s_or_null, text, time, u, uint};
use squall_instrumentation::transactions::TransactionOutcome;
use squall_registry::VirtualScan;
use squall_row_store::{IsolationLevel, LockInfo};
use squall_types::{SqlResult, Value};
use std::collections::HashMap;

pub(crate) const TABLES: &[TableSpec] = &[TableSpec {
    database: "information_schema",
    name: "INNODB_TRX",
    columns: &[
        text("trx_id", 18),
        text("trx_state", 13),
        time("trx_started"),
        text("trx_requested_lock_id", 105).or_null(),
        time("trx_wait_started").or_null(),
        uint("trx_weight"),
        uint("trx_mysql_thread_id"),
        text("trx_query", 1024).or_null(),
        text("trx_operation_state", 64).or_null(),
        uint("trx_tables_in_use"),
        uint("trx_tables_locked"),
        uint("trx_lock_structs"),
        uint("trx_lock_memory_bytes"),
        uint("trx_rows_locked"),
        uint("trx_rows_modified"),
        uint("trx_concurrency_tickets"),
        text("trx_isolation_level", 16),
        int32("trx_unique_checks"),
        int32("trx_foreign_key_checks"),
        text("trx_last_foreign_key_error", 256).or_null(),
        int32("trx_adaptive_hash_latched"),
        uint("trx_adaptive_hash_timeout"),
        int32("trx_is_read_only"),
        int32("trx_autocommit_non_locking"),
        uint("trx_schedule_weight").or_null(),
    ],
    rows: transactions,
}];

/// Memory of a lock, roughly.
const LOCK_BYTES: u64 = 130;

/// Characters of a statement that are shown.
const QUERY_LENGTH_MAX: usize = 1024;

/// The locks of one transaction.
#[derive(Default)]
struct Locks {
    tables: u64,
    rows: u64,
    waits_for: Option<String>,
}

impl Locks {
    fn add(&mut self, lock: &LockInfo) {
        if lock.is_waiting {
            self.waits_for = Some(crate::locks::lock_id(lock, lock.owner));
        }
        *(if lock.key.is_empty() { &mut self.tables } else { &mut self.rows }) += 1;
    }
}

fn isolation_words(level: IsolationLevel) -> &'static str {
    match level {
        IsolationLevel::ReadUncommitted => "READ UNCOMMITTED",
        IsolationLevel::ReadCommitted => "READ COMMITTED",
        IsolationLevel::RepeatableRead => "REPEATABLE READ",
        IsolationLevel::Serializable => "SERIALIZABLE",
    }
}

/// Those of connections: of the branches that are prepared, which are no connection's, XA RECOVER tells.
pub(super) fn transactions(source: &Source<'_>, _: &VirtualScan<'_>) -> SqlResult<Vec<Vec<Value>>> {
    let mut by_owner: HashMap<u64, Locks> = HashMap::new();
    for lock in source.state.store.locks() {
        by_owner.entry(lock.owner).or_default().add(&lock);
    }
    let mut rows = Vec::new();
    for process in source.state.processes.all() {
        let open = process.transactions.current().filter(|event| event.outcome == TransactionOutcome::Active);
        let Some(event) = open else { continue };
        let locks = by_owner.remove(&event.id).unwrap_or_default();
        let activity = process.activity.lock();
        let is_running = activity.command != "Sleep" && !activity.statement.is_empty();
        let query = is_running.then(|| activity.statement.chars().take(QUERY_LENGTH_MAX).collect::<String>());
        let state = if locks.waits_for.is_some() { "LOCK WAIT" } else { "RUNNING" };
        let numbers = [locks.tables + locks.rows, (locks.tables + locks.rows) * LOCK_BYTES, locks.rows, 0, 0].map(u);
        let mut row = vec![s(event.id.to_string()), s(state), local_time(source.context, event.start_micros)];
        row.extend([s_or_null(locks.waits_for), Value::Null, u(locks.tables + locks.rows), u(process.id)]);
        row.extend([s_or_null(query), Value::Null, u(0), u(locks.tables)]);
        row.extend(numbers);
        row.extend([
            s(isolation_words(event.isolation)),
            Value::Int(1),
            Value::Int(1),
            Value::Null,
            Value::Int(0),
            u(0),
        ]);
        row.extend([Value::Int(i64::from(event.read_only)), Value::Int(i64::from(event.autocommit)), Value::Null]);
        rows.push(row);
    }
    Ok(rows)
}
