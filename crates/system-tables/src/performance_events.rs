//! performance_schema's tables of the last statements, and of status and variables by thread, account, user and host.

use super::performance::{plan_columns, processor_time};
use super::performance_sums::{account, by_account, by_thread, host, user};
use super::status::tls_status;
use super::{DescribedTable, Source, s, s_or_null, u};
use squall_instrumentation::accounts::{AccountKey, AccountStatistics};
use squall_instrumentation::recent::RecentStatement;
use squall_instrumentation::statement_counters;
use squall_instrumentation::statements::{StatementStatistics, key_of};
use squall_instrumentation::totals::{Measured, PICOS_PER_MICRO};
use squall_parser::ast::StatementKind;
use squall_registry::VirtualScan;
use squall_server_state::now_micros;
use squall_types::{SqlResult, Value};
use std::collections::HashMap;
use std::sync::atomic::Ordering;

/// Characters of a message.
const MESSAGE_CHARS_MAX: usize = 128;

pub(crate) const TABLES: &[DescribedTable] = &[
    ("events_statements_current", "$STATEMENT", current),
    ("events_statements_history", "$STATEMENT", history),
    ("events_statements_history_long", "$STATEMENT", history_long),
    ("status_by_account", "USER:v32? HOST:v255? VARIABLE_NAME:v64 VARIABLE_VALUE:v1024?", |source, _| {
        by_account(source, account, status_rows)
    }),
    ("status_by_host", "HOST:v255? VARIABLE_NAME:v64 VARIABLE_VALUE:v1024?", |source, _| {
        by_account(source, host, status_rows)
    }),
    ("status_by_user", "USER:v32? VARIABLE_NAME:v64 VARIABLE_VALUE:v1024?", |source, _| {
        by_account(source, user, status_rows)
    }),
    ("status_by_thread", "THREAD_ID:u VARIABLE_NAME:v64 VARIABLE_VALUE:v1024?", status_by_thread),
    ("variables_by_thread", "THREAD_ID:u VARIABLE_NAME:v64 VARIABLE_VALUE:v1024?", variables_by_thread),
    ("user_variables_by_thread", "THREAD_ID:u VARIABLE_NAME:v64 VARIABLE_VALUE:blob?", user_variables),
    (
        "session_account_connect_attrs",
        "PROCESSLIST_ID:u ATTR_NAME:v32 ATTR_VALUE:v1024? ORDINAL_POSITION:n?",
        account_attributes,
    ),
];

/// Statements by what they are counted as.
fn digests(source: &Source<'_>) -> HashMap<u128, StatementStatistics> {
    let processes = source.state.processes.all();
    let counted = processes.iter().map(|process| &process.statements);
    let (all, _) = source.state.statistics.statements.snapshot(counted);
    all.into_iter().map(|statement| (key_of(statement.schema.as_ref(), &statement.digest), statement)).collect()
}

/// Picoseconds since the server's start.
pub(crate) fn timer(source: &Source<'_>, micros: i64) -> u64 {
    u64::try_from(micros - source.state.started_micros).unwrap_or(0).saturating_mul(PICOS_PER_MICRO)
}

fn ended(
    source: &Source<'_>,
    thread: u64,
    statement: &RecentStatement,
    digests: &HashMap<u128, StatementStatistics>,
) -> Vec<Value> {
    let (measured, known) = (&statement.measured, statement.key.and_then(|key| digests.get(&key)));
    let start = timer(source, measured.start_micros);
    let wait = measured.micros.saturating_mul(PICOS_PER_MICRO);
    let mut row = vec![
        u(thread),
        u(statement.event_id),
        u(statement.event_id),
        s(statement.event),
        Value::Null,
        u(start),
        u(start.saturating_add(wait)),
        u(wait),
        u(measured.lock_micros.saturating_mul(PICOS_PER_MICRO)),
        s_or_null(Some(String::from_utf8_lossy(&statement.text)).filter(|text| !text.is_empty())),
        s_or_null(known.map(|known| format!("{:032x}", known.digest.hash))),
        s_or_null(known.map(|known| known.digest.text.clone())),
        s_or_null(known.and_then(|known| known.schema.as_deref())),
        Value::Null,
        Value::Null,
        Value::Null,
        Value::Null,
        Value::Int(i64::from(measured.errno)),
        sqlstate(statement),
        s_or_null(
            statement.error.as_ref().map(|error| error.message.chars().take(MESSAGE_CHARS_MAX).collect::<String>()),
        ),
        u(u64::from(measured.failed)),
        u(measured.warnings),
        u(measured.rows_affected),
        u(measured.rows_sent),
        u(measured.rows_examined),
    ];
    finish(&mut row, statement.event_id, statement.transaction, measured);
    row
}

/// The state that the statement's last packet told; one that ends rows tells none.
fn sqlstate(statement: &RecentStatement) -> Value {
    match &statement.error {
        Some(error) => s(String::from_utf8_lossy(&error.sqlstate)),
        None if statement.measured.failed || statement_counters::gives_rows(statement.event) => Value::Null,
        None => s("00000"),
    }
}

/// The columns behind the rows examined, given the statement's number and that of the transaction it is in.
fn finish(row: &mut Vec<Value>, statement_id: u64, transaction: Option<u64>, measured: &Measured) {
    row.extend(plan_columns(&measured.plan));
    row.extend([transaction.map_or(Value::Null, u), s_or_null(transaction.map(|_| "TRANSACTION"))]);
    row.extend([Value::Int(0), u(statement_id), processor_time(measured.processor_nanos)]);
    row.extend([u(measured.memory_bytes), u(measured.memory_bytes), s("PRIMARY")]);
}

fn current(source: &Source<'_>, _: &VirtualScan<'_>) -> SqlResult<Vec<Vec<Value>>> {
    let (digests, now) = (digests(source), now_micros());
    let mut rows = Vec::new();
    for process in source.state.processes.all() {
        let recent = process.recent_statements();
        let activity = process.activity.lock();
        if activity.statement.is_empty() {
            rows.extend(recent.last().map(|statement| ended(source, process.id, statement, &digests)));
            continue;
        }
        // It has not ended: what it is counted as is not known yet.
        let since = process.since_micros.load(Ordering::Relaxed);
        let number = recent.last().map_or(1, |statement| statement.event_id + 1);
        let mut row = vec![
            u(process.id),
            u(number),
            Value::Null,
            s(StatementKind::Other.event_name()),
            Value::Null,
            u(timer(source, since)),
            u(timer(source, now)),
            u(timer(source, now).saturating_sub(timer(source, since))),
            u(0),
            s(&activity.statement),
            Value::Null,
            Value::Null,
            s_or_null(Some(&activity.database).filter(|database| !database.is_empty())),
        ];
        row.extend(std::iter::repeat_n(Value::Null, 4));
        row.extend([Value::Int(0), Value::Null, Value::Null]);
        row.extend(std::iter::repeat_n(u(0), 5));
        let transaction = process.transactions.around(number);
        let so_far = Measured { memory_bytes: process.memory.statement_high() as u64, ..Measured::default() };
        finish(&mut row, number, transaction, &so_far);
        rows.push(row);
    }
    Ok(rows)
}

fn history(source: &Source<'_>, _: &VirtualScan<'_>) -> SqlResult<Vec<Vec<Value>>> {
    let digests = digests(source);
    let mut rows = Vec::new();
    for process in source.state.processes.all() {
        let recent = process.recent_statements();
        rows.extend(recent.iter().map(|statement| ended(source, process.id, statement, &digests)));
    }
    Ok(rows)
}

fn history_long(source: &Source<'_>, _: &VirtualScan<'_>) -> SqlResult<Vec<Vec<Value>>> {
    let digests = digests(source);
    let mut all: Vec<(u64, RecentStatement)> = source.state.statistics.recent_of_gone.lock().iter().cloned().collect();
    for process in source.state.processes.all() {
        all.extend(process.recent_statements().into_iter().map(|statement| (process.id, statement)));
    }
    all.sort_by_key(|(_, statement)| statement.measured.start_micros + statement.measured.micros as i64);
    Ok(all.iter().map(|(thread, statement)| ended(source, *thread, statement, &digests)).collect())
}

fn status_rows(account: &AccountStatistics) -> Vec<Vec<Value>> {
    account.status.values().into_iter().map(|(name, value)| vec![s(name), s(value.to_string())]).collect()
}

fn status_by_thread(source: &Source<'_>, _: &VirtualScan<'_>) -> SqlResult<Vec<Vec<Value>>> {
    by_thread(source, |process| {
        let counted = process.status.values().into_iter().map(|(name, value)| (name, value.to_string()));
        counted.chain(tls_status(Some(process))).map(|(name, value)| vec![s(name), s(value)]).collect()
    })
}

/// Of the reader's own thread: a session's variables are its own.
fn variables_by_thread(source: &Source<'_>, _: &VirtualScan<'_>) -> SqlResult<Vec<Vec<Value>>> {
    let Some(process) = source.process() else { return Ok(Vec::new()) };
    let rows = super::variable_rows(source, false).into_iter();
    Ok(rows.map(|row| [vec![u(process.id)], row].concat()).collect())
}

fn user_variables(source: &Source<'_>, _: &VirtualScan<'_>) -> SqlResult<Vec<Vec<Value>>> {
    let bytes = |value: &Value| match value {
        Value::Null => Value::Null,
        Value::Bytes(bytes) => Value::Bytes(bytes.clone()),
        other => Value::Bytes(squall_server_state::check::text(other).into_bytes()),
    };
    let mut rows = Vec::new();
    for process in source.state.processes.all() {
        let variables = process.user_variables();
        let variables = variables.lock();
        let mut of_session: Vec<(String, Value)> =
            variables.iter().map(|(name, (value, _))| (name.as_str().to_string(), bytes(value))).collect();
        of_session.sort_by(|left, right| left.0.cmp(&right.0));
        rows.extend(of_session.into_iter().map(|(name, value)| vec![u(process.id), s(name), value]));
    }
    Ok(rows)
}

/// Of connections of the reader's account.
fn account_attributes(source: &Source<'_>, _: &VirtualScan<'_>) -> SqlResult<Vec<Vec<Value>>> {
    let Some(own) = source.process().map(|process| AccountKey::of(&process)) else { return Ok(Vec::new()) };
    let mut rows = Vec::new();
    for process in source.state.processes.all().iter().filter(|process| AccountKey::of(process) == own) {
        for (at, (name, value)) in process.attributes.iter().enumerate() {
            rows.push(vec![u(process.id), s(name), s(value), Value::Int(at as i64)]);
        }
    }
    Ok(rows)
}
