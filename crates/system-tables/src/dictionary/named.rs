//! What users have given names to: barriers, locks, savepoints and variables.

use super::DATABASE;
use crate::source::Source;
use crate::spec::{TableSpec, long_text, s, text, u, uint};
use squall_registry::VirtualScan;
use squall_server_state::check;
use squall_types::{SqlResult, Value};

pub(crate) const TABLES: &[TableSpec] = &[
    TableSpec {
        database: DATABASE,
        name: "USER_DEFINED_BARRIERS",
        columns: &[
            text("USER_BARRIER_NAME", 64),
            uint("SESSION_ID"),
            text("USER_NAME", 32),
            uint("WAITER_LIMIT"),
            uint("GENERATION"),
            uint("WAITERS"),
            uint("OBSERVERS"),
        ],
        rows: barriers,
    },
    TableSpec {
        database: DATABASE,
        name: "USER_DEFINED_LOCKS",
        columns: &[text("USER_LOCK_NAME", 64), uint("SESSION_ID"), text("USERNAME", 32)],
        rows: locks,
    },
    TableSpec {
        database: DATABASE,
        name: "USER_DEFINED_SAVEPOINTS",
        columns: &[text("SAVEPOINT_NAME", 64)],
        rows: |source, _| {
            let names = source.process().map(|process| process.savepoints()).unwrap_or_default();
            Ok(names.into_iter().map(|name| vec![s(name)]).collect())
        },
    },
    TableSpec {
        database: DATABASE,
        name: "USER_DEFINED_VARIABLES",
        columns: &[text("VARIABLE_NAME", 64), long_text("VARIABLE_VALUE").or_null()],
        rows: variables,
    },
];

/// The barriers of the reader's user; with PROCESS those of all.
fn barriers(source: &Source<'_>, _: &VirtualScan<'_>) -> SqlResult<Vec<Vec<Value>>> {
    let mut all = source.state.user_locks.barriers.all();
    all.sort_by(|left, right| (&left.user, &left.name).cmp(&(&right.user, &right.name)));
    let seen = all.into_iter().filter(|barrier| source.sees_user(&barrier.user));
    let row = |barrier: squall_statement_context::BarrierState| {
        vec![
            s(barrier.name),
            u(barrier.owner),
            s(barrier.user),
            u(barrier.limit),
            u(barrier.generation),
            u(barrier.waiters),
            u(barrier.observers),
        ]
    };
    Ok(seen.map(row).collect())
}

/// The locks that are held, of sessions that the reader may see.
fn locks(source: &Source<'_>, _: &VirtualScan<'_>) -> SqlResult<Vec<Vec<Value>>> {
    let mut rows = Vec::new();
    for lock in source.state.user_locks.all().into_iter().filter(|lock| !lock.is_waiting) {
        let Some(process) = source.state.processes.get(lock.connection) else { continue };
        if source.sees_process(&process) {
            rows.push(vec![s(lock.name), u(lock.connection), s(&process.user)]);
        }
    }
    Ok(rows)
}

/// The reader's own.
fn variables(source: &Source<'_>, _: &VirtualScan<'_>) -> SqlResult<Vec<Vec<Value>>> {
    let variables = source.context.user_variables.lock();
    let value = |value: &Value| match value {
        Value::Null => Value::Null,
        other => s(check::text(other)),
    };
    let mut rows: Vec<(String, Value)> =
        variables.iter().map(|(name, (held, _))| (name.as_str().to_string(), value(held))).collect();
    rows.sort_by(|left, right| left.0.cmp(&right.0));
    Ok(rows.into_iter().map(|(name, value)| vec![s(name), value]).collect())
}
