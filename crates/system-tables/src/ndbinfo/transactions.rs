//! Open transactions, what they do, and their row locks: those of connections that the reader may see. Keys of rows are shown as numbers that
//! are made of them, never as they are.

use super::{NODE, NdbTable, node};
use crate::source::Source;
use crate::spec::{s, u};
use squall_instrumentation::process::Process;
use squall_instrumentation::transactions::TransactionOutcome;
use squall_row_store::{LockInfo, LockStrength};
use squall_server_state::now_micros;
use squall_types::Value;
use std::collections::HashMap;
use std::sync::Arc;

const MICROS_PER_SECOND: i64 = 1_000_000;

pub(super) const TABLES: &[NdbTable] = &[
    NdbTable {
        name: "cluster_transactions",
        comment: "open transactions",
        columns: "node_id:w block_instance:w transid:u state:v512? count_operations:w outstanding_operations:w inactive_seconds:w \
                  client_node_id:w client_block_ref:w",
        rows: |source, _| Ok(transactions(source).into_iter().map(|(_, row)| row).collect()),
    },
    NdbTable {
        name: "server_transactions",
        comment: "open transactions of this server",
        columns: "mysql_connection_id:u node_id:w block_instance:w transid:u state:v512? count_operations:w outstanding_operations:w \
                  inactive_seconds:w client_node_id:w client_block_ref:w",
        rows: |source, _| Ok(with_connections(transactions(source))),
    },
    NdbTable {
        name: "cluster_operations",
        comment: "rows that transactions hold or wait for",
        columns: "node_id:w block_instance:w transid:u operation_type:v512 state:v512? tableid:w fragmentid:w client_node_id:w \
                  client_block_ref:w tc_node_id:w tc_block_no:w tc_block_instance:w",
        rows: |source, _| Ok(operations(source).into_iter().map(|(_, row)| row).collect()),
    },
    NdbTable {
        name: "server_operations",
        comment: "rows that transactions of this server hold or wait for",
        columns: "mysql_connection_id:u node_id:w block_instance:w transid:u operation_type:v512 state:v512? tableid:w fragmentid:w \
                  client_node_id:w client_block_ref:w tc_node_id:w tc_block_no:w tc_block_instance:w",
        rows: |source, _| Ok(with_connections(operations(source))),
    },
    NdbTable {
        name: "cluster_locks",
        comment: "row locks",
        columns: "node_id:w block_instance:w tableid:w fragmentid:w rowid:u transid:u mode:v512 state:v512 detail:v512 op:v512 \
                  duration_millis:w lock_num:w waiting_for:w?",
        rows: |source, _| Ok(locks(source).into_iter().map(|(_, row)| row).collect()),
    },
    NdbTable {
        name: "server_locks",
        comment: "row locks of this server",
        columns: "mysql_connection_id:u node_id:w block_instance:w tableid:w fragmentid:w rowid:u transid:u mode:v512 state:v512 \
                  detail:v512 op:v512 duration_millis:w lock_num:w waiting_for:w?",
        rows: |source, _| Ok(with_connections(locks(source))),
    },
];

/// Rows with the connections that they are of.
type OfConnections = Vec<(u64, Vec<Value>)>;

fn with_connections(rows: OfConnections) -> Vec<Vec<Value>> {
    rows.into_iter().map(|(connection, row)| [vec![u(connection)], row].concat()).collect()
}

/// The locks of rows, of connections that the reader may see.
fn row_locks(source: &Source<'_>) -> Vec<(Arc<Process>, LockInfo)> {
    let locks = source.state.store.locks().into_iter().filter(|lock| !lock.key.is_empty());
    let of_process = |lock: LockInfo| {
        let process = source.state.processes.get(lock.session?)?;
        source.sees_process(&process).then_some((process, lock))
    };
    locks.filter_map(of_process).collect()
}

fn transactions(source: &Source<'_>) -> OfConnections {
    let mut held: HashMap<u64, u64> = HashMap::new();
    for (_, lock) in row_locks(source) {
        *held.entry(lock.owner).or_default() += 1;
    }
    let row = |process: Arc<Process>| {
        let event = process.transactions.current().filter(|event| event.outcome == TransactionOutcome::Active)?;
        let is_idle = process.activity.lock().command == "Sleep";
        let since = process.since_micros.load(std::sync::atomic::Ordering::Relaxed);
        let idle = if is_idle { (now_micros() - since).max(0) / MICROS_PER_SECOND } else { 0 };
        let operations = held.get(&event.id).copied().unwrap_or(0);
        let mut row = vec![node(), u(0), u(event.id), s("Started"), u(operations), u(u64::from(!is_idle))];
        row.extend([u(idle.unsigned_abs()), u(NODE), u(0)]);
        Some((process.id, row))
    };
    let seen = source.state.processes.all().into_iter().filter(|process| source.sees_process(process));
    seen.filter_map(row).collect()
}

/// What a lock is for, in NDB's words.
fn operation(lock: &LockInfo) -> &'static str {
    match (&lock.range, lock.strength) {
        (None, LockStrength::Shared) => "READ-SH",
        (None, _) => "READ-EX",
        (Some(_), LockStrength::Shared) => "SCAN-SH",
        (Some(_), _) => "SCAN-EX",
    }
}

fn operations(source: &Source<'_>) -> OfConnections {
    let row = |(process, lock): (Arc<Process>, LockInfo)| {
        let state = if lock.is_waiting { "Waiting" } else { "Prepared" };
        let mut row = vec![node(), u(0), u(lock.owner), s(operation(&lock)), s(state), u(u64::from(lock.table.0))];
        row.extend([u(0), u(NODE), u(0), u(NODE), u(0), u(0)]);
        (process.id, row)
    };
    row_locks(source).into_iter().map(row).collect()
}

/// A number for a lock of an owner, the same as long as it is there.
fn lock_number(lock: &LockInfo, owner: u64) -> u64 {
    xxhash_rust::xxh3::xxh3_64_with_seed(&lock.key, owner ^ u64::from(lock.table.0)) & u64::from(u32::MAX)
}

fn locks(source: &Source<'_>) -> OfConnections {
    let row = |(process, lock): (Arc<Process>, LockInfo)| {
        let mode = if lock.strength == LockStrength::Shared { "S" } else { "X" };
        let rowid = xxhash_rust::xxh3::xxh3_64(&lock.key);
        let mut row = vec![node(), u(0), u(u64::from(lock.table.0)), u(0), u(rowid), u(lock.owner), s(mode)];
        row.extend([s(if lock.is_waiting { "W" } else { "H" }), s(if lock.is_waiting { "" } else { "*" })]);
        let waiting_for = lock.blocked_by.first().map(|blocker| u(lock_number(&lock, *blocker)));
        row.extend([s(if mode == "S" { "READ" } else { "UPDATE" }), u(0), u(lock_number(&lock, lock.owner))]);
        row.push(waiting_for.unwrap_or(Value::Null));
        (process.id, row)
    };
    row_locks(source).into_iter().map(row).collect()
}
