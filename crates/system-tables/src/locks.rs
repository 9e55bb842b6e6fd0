//! performance_schema's tables of locks: holders, waiters, and the holders that each waiter waits for.
//!
//! `data_locks` has the locks of rows, unique entries and searched ranges of keys. `metadata_locks` has the locks of tables and of
//! GET_LOCK. Squall has one lock for a table; MySQL has a metadata lock and an intention lock of the engine.

use super::{PERFORMANCE, Source, TableSpec, long_text, s, s_or_null, text, u, uint};
use squall_catalog::{Catalog, TableDef, TableEntry, TableId};
use squall_registry::VirtualScan;
use squall_row_store::{BACKUP_LOCK, COMMIT_LOCK, GLOBAL_LOCK, LockInfo, LockStrength};
use squall_statement_context::UserLock;
use squall_types::{SqlResult, Value};
use std::collections::HashMap;
use std::sync::Arc;

pub(crate) const TABLES: &[TableSpec] = &[
    TableSpec {
        database: PERFORMANCE,
        name: "data_locks",
        columns: &[
            text("ENGINE", 32),
            text("ENGINE_LOCK_ID", 128),
            uint("ENGINE_TRANSACTION_ID").or_null(),
            uint("THREAD_ID").or_null(),
            uint("EVENT_ID").or_null(),
            text("OBJECT_SCHEMA", 64).or_null(),
            text("OBJECT_NAME", 64).or_null(),
            text("PARTITION_NAME", 64).or_null(),
            text("SUBPARTITION_NAME", 64).or_null(),
            text("INDEX_NAME", 64).or_null(),
            uint("OBJECT_INSTANCE_BEGIN"),
            text("LOCK_TYPE", 32),
            text("LOCK_MODE", 32),
            text("LOCK_STATUS", 32),
            long_text("LOCK_DATA").or_null(),
        ],
        rows: data_locks,
    },
    TableSpec {
        database: PERFORMANCE,
        name: "data_lock_waits",
        columns: &[
            text("ENGINE", 32),
            text("REQUESTING_ENGINE_LOCK_ID", 128),
            uint("REQUESTING_ENGINE_TRANSACTION_ID").or_null(),
            uint("REQUESTING_THREAD_ID").or_null(),
            uint("REQUESTING_EVENT_ID").or_null(),
            uint("REQUESTING_OBJECT_INSTANCE_BEGIN"),
            text("BLOCKING_ENGINE_LOCK_ID", 128),
            uint("BLOCKING_ENGINE_TRANSACTION_ID").or_null(),
            uint("BLOCKING_THREAD_ID").or_null(),
            uint("BLOCKING_EVENT_ID").or_null(),
            uint("BLOCKING_OBJECT_INSTANCE_BEGIN"),
        ],
        rows: data_lock_waits,
    },
    TableSpec {
        database: PERFORMANCE,
        name: "metadata_locks",
        columns: &[
            text("OBJECT_TYPE", 64),
            text("OBJECT_SCHEMA", 64).or_null(),
            text("OBJECT_NAME", 64).or_null(),
            text("COLUMN_NAME", 64).or_null(),
            uint("OBJECT_INSTANCE_BEGIN"),
            text("LOCK_TYPE", 32),
            text("LOCK_DURATION", 32),
            text("LOCK_STATUS", 32),
            text("SOURCE", 64).or_null(),
            uint("OWNER_THREAD_ID").or_null(),
            uint("OWNER_EVENT_ID").or_null(),
        ],
        rows: metadata_locks,
    },
];

/// The engine's name, as in `information_schema.ENGINES`.
const ENGINE: &str = "INNODB";

/// Tables by their numbers, with the databases that they are in.
fn tables(catalog: &Catalog) -> HashMap<TableId, (&str, &Arc<TableDef>)> {
    let mut tables = HashMap::new();
    for (name, database) in catalog.databases() {
        for entry in database.tables.values() {
            if let TableEntry::Table(def) = entry {
                tables.insert(def.id, (name.as_str(), def));
            }
        }
    }
    tables
}

/// A name for a lock that only its waiters and holders share.
pub(crate) fn lock_id(lock: &LockInfo, owner: u64) -> String {
    let key = xxhash_rust::xxh3::xxh3_64(&lock.key);
    format!("{owner}:{}:{key:016x}", lock.table.0)
}

fn status(lock: &LockInfo) -> Value {
    s(if lock.is_waiting { "WAITING" } else { "GRANTED" })
}

pub(crate) fn data_locks(source: &Source<'_>, _: &VirtualScan<'_>) -> SqlResult<Vec<Vec<Value>>> {
    let (store, catalog) = (&source.state.store, source.catalog.clone());
    let tables = tables(&catalog);
    let mut rows = Vec::new();
    for lock in store.locks().iter().filter(|lock| !lock.key.is_empty()) {
        // A TEMPORARY table's, or one of a table that has just gone.
        let Some((database, def)) = tables.get(&lock.table) else { continue };
        let table = store.table(def)?;
        let described = match &lock.range {
            Some(range) => table.describe_range(range),
            None => table.describe_key(&lock.key),
        };
        let index = described.as_ref().and_then(|(id, _)| def.indexes.iter().find(|index| index.id == *id));
        rows.push(vec![
            s(ENGINE),
            s(lock_id(lock, lock.owner)),
            u(lock.owner),
            lock.session.map_or(Value::Null, u),
            Value::Null,
            s(*database),
            s(&def.name),
            Value::Null,
            Value::Null,
            s(index.map_or("PRIMARY", |index| index.name.as_str())),
            u(0),
            s("RECORD"),
            s(match (&lock.range, lock.strength) {
                (None, LockStrength::Shared) => "S,REC_NOT_GAP",
                (None, _) => "X,REC_NOT_GAP",
                (Some(_), LockStrength::Shared) => "S,GAP",
                (Some(_), _) => "X,GAP,INSERT_INTENTION",
            }),
            status(lock),
            s_or_null(described.map(|(_, text)| text)),
        ]);
    }
    Ok(rows)
}

pub(crate) fn data_lock_waits(source: &Source<'_>, _: &VirtualScan<'_>) -> SqlResult<Vec<Vec<Value>>> {
    let locks = source.state.store.locks();
    let sessions: HashMap<u64, Option<u64>> = locks.iter().map(|lock| (lock.owner, lock.session)).collect();
    let mut rows = Vec::new();
    for lock in locks.iter().filter(|lock| lock.is_waiting && !lock.key.is_empty()) {
        for blocker in &lock.blocked_by {
            rows.push(vec![
                s(ENGINE),
                s(lock_id(lock, lock.owner)),
                u(lock.owner),
                lock.session.map_or(Value::Null, u),
                Value::Null,
                u(0),
                s(lock_id(lock, *blocker)),
                u(*blocker),
                sessions.get(blocker).copied().flatten().map_or(Value::Null, u),
                Value::Null,
                u(0),
            ]);
        }
    }
    Ok(rows)
}

/// The status of a metadata lock.
fn status_word(is_waiting: bool) -> &'static str {
    if is_waiting { "PENDING" } else { "GRANTED" }
}

/// The two locks that FLUSH TABLES WITH READ LOCK takes, and that of LOCK INSTANCE FOR BACKUP.
fn of_the_server(table: TableId) -> Option<&'static str> {
    match table {
        GLOBAL_LOCK => Some("GLOBAL"),
        COMMIT_LOCK => Some("COMMIT"),
        BACKUP_LOCK => Some("BACKUP LOCK"),
        _ => None,
    }
}

fn metadata_locks(source: &Source<'_>, _: &VirtualScan<'_>) -> SqlResult<Vec<Vec<Value>>> {
    let catalog = source.catalog.clone();
    let tables = tables(&catalog);
    let row = |kind: &str, database: Value, name: Value, lock: [&str; 3], session: Option<u64>| {
        vec![
            s(kind),
            database,
            name,
            Value::Null,
            u(0),
            s(lock[0]),
            s(lock[1]),
            s(lock[2]),
            Value::Null,
            session.map_or(Value::Null, u),
            Value::Null,
        ]
    };
    let mut rows = Vec::new();
    for lock in source.state.store.locks().iter().filter(|lock| lock.key.is_empty()) {
        if let Some(kind) = of_the_server(lock.table) {
            // A definition holds what a read lock stands against for its statement.
            let (mode, duration) = match lock.strength {
                LockStrength::Write if lock.table == GLOBAL_LOCK => ("INTENTION_EXCLUSIVE", "STATEMENT"),
                LockStrength::Write if lock.table == BACKUP_LOCK => ("INTENTION_EXCLUSIVE", "TRANSACTION"),
                LockStrength::Write => ("INTENTION_EXCLUSIVE", "EXPLICIT"),
                _ => ("SHARED", "EXPLICIT"),
            };
            let words = [mode, duration, status_word(lock.is_waiting)];
            rows.push(row(kind, Value::Null, Value::Null, words, lock.session));
            continue;
        }
        let Some((database, def)) = tables.get(&lock.table) else { continue };
        let kind = match lock.strength {
            LockStrength::Shared => "SHARED_READ",
            LockStrength::Write => "SHARED_WRITE",
            LockStrength::ReadOnly => "SHARED_READ_ONLY",
            LockStrength::Definition => "SHARED_UPGRADABLE",
            LockStrength::Exclusive => "EXCLUSIVE",
        };
        let status = status_word(lock.is_waiting);
        rows.push(row("TABLE", s(*database), s(&def.name), [kind, "TRANSACTION", status], lock.session));
    }
    for UserLock { name, connection, is_waiting } in source.state.user_locks.all() {
        let lock = ["EXCLUSIVE", "EXPLICIT", status_word(is_waiting)];
        rows.push(row("USER LEVEL LOCK", Value::Null, s(&name), lock, Some(connection)));
    }
    Ok(rows)
}
