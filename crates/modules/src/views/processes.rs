//! Connections, their current statements, and the connections that they wait for.

use super::source::{Row, Rows, Tables};
use super::sums::{n, order};
use super::view::{Column, Names, View, bytes, count, event, host, name, number, ratio, statement, time, when};
use squall_types::{SqlResult, Value};
use std::collections::HashMap;

const PROCESSLIST: &[Column] = &[
    count("thd_id"),
    count("conn_id"),
    host("user"),
    name("db"),
    name("command"),
    name("state"),
    number("time"),
    statement("current_statement"),
    name("execution_engine").new_in_8(),
    time("statement_latency"),
    ratio("progress", 2),
    time("lock_latency"),
    time("cpu_latency").new_in_8(),
    count("rows_examined"),
    count("rows_sent"),
    count("rows_affected"),
    count("tmp_tables"),
    count("tmp_disk_tables"),
    name("full_scan"),
    statement("last_statement"),
    time("last_statement_latency"),
    bytes("current_memory"),
    event("last_wait"),
    name("last_wait_latency"),
    name("source"),
    time("trx_latency"),
    name("trx_state"),
    name("trx_autocommit"),
    host("pid"),
    host("program_name"),
];

const LOCK_WAITS: &[Column] = &[
    when("wait_started"),
    time("wait_age"),
    number("wait_age_secs"),
    host("locked_table"),
    name("locked_table_schema"),
    name("locked_table_name"),
    name("locked_table_partition"),
    name("locked_table_subpartition"),
    name("locked_index"),
    name("locked_type"),
    count("waiting_trx_id"),
    when("waiting_trx_started"),
    time("waiting_trx_age"),
    count("waiting_trx_rows_locked"),
    count("waiting_trx_rows_modified"),
    count("waiting_pid"),
    statement("waiting_query"),
    event("waiting_lock_id"),
    name("waiting_lock_mode"),
    count("blocking_trx_id"),
    count("blocking_pid"),
    statement("blocking_query"),
    event("blocking_lock_id"),
    name("blocking_lock_mode"),
    when("blocking_trx_started"),
    time("blocking_trx_age"),
    count("blocking_trx_rows_locked"),
    count("blocking_trx_rows_modified"),
    name("sql_kill_blocking_query"),
    name("sql_kill_blocking_connection"),
];

pub(super) const VIEWS: &[View] = &[
    View {
        name: "processlist",
        names: Names::Both,
        columns: PROCESSLIST,
        rows: |tables| processes(tables, |_| true),
        over_time: true,
    },
    View {
        name: "session",
        names: Names::Both,
        columns: PROCESSLIST,
        rows: |tables| processes(tables, |thread| !thread.is_null("PROCESSLIST_ID")),
        over_time: true,
    },
    View {
        name: "session_ssl_status",
        names: Names::Plain,
        columns: &[count("thread_id"), name("ssl_version"), name("ssl_cipher"), name("ssl_sessions_reused")],
        rows: encryption,
        over_time: true,
    },
    View { name: "innodb_lock_waits", names: Names::Both, columns: LOCK_WAITS, rows: lock_waits, over_time: true },
];

const THREADS: &[&str] = &[
    "THREAD_ID",
    "NAME",
    "PROCESSLIST_ID",
    "PROCESSLIST_USER",
    "PROCESSLIST_HOST",
    "PROCESSLIST_DB",
    "PROCESSLIST_COMMAND",
    "PROCESSLIST_STATE",
    "PROCESSLIST_TIME",
    "PROCESSLIST_INFO",
    "EXECUTION_ENGINE",
];
const STATEMENTS: &[&str] = &[
    "THREAD_ID",
    "END_EVENT_ID",
    "SQL_TEXT",
    "TIMER_WAIT",
    "LOCK_TIME",
    "CPU_TIME",
    "ROWS_EXAMINED",
    "ROWS_SENT",
    "ROWS_AFFECTED",
    "CREATED_TMP_TABLES",
    "CREATED_TMP_DISK_TABLES",
    "NO_INDEX_USED",
    "NO_GOOD_INDEX_USED",
];
const ATTRIBUTES: &[&str] = &["PROCESSLIST_ID", "ATTR_NAME", "ATTR_VALUE"];

fn find<'r>(rows: &'r Rows, column: &'static str, wanted: u64) -> Option<Row<'r>> {
    rows.iter().find(|row| row.number(column) == wanted)
}

/// Rows by a number that is unique to each; of duplicates the first.
fn by_number<'r>(rows: &'r Rows, column: &'static str) -> HashMap<u64, Row<'r>> {
    let mut found = HashMap::new();
    for row in rows.iter() {
        found.entry(row.number(column)).or_insert(row);
    }
    found
}

fn processes(tables: &mut Tables<'_>, is_wanted: fn(&Row<'_>) -> bool) -> SqlResult<Vec<Vec<Value>>> {
    let threads = tables.get("threads", THREADS)?;
    let statements = tables.get("events_statements_current", STATEMENTS)?;
    let stages = tables.get("events_stages_current", &["THREAD_ID", "WORK_COMPLETED", "WORK_ESTIMATED"])?;
    let waits =
        tables.get("events_waits_current", &["THREAD_ID", "EVENT_NAME", "TIMER_WAIT", "END_EVENT_ID", "SOURCE"])?;
    let transactions =
        tables.get("events_transactions_current", &["THREAD_ID", "STATE", "TIMER_WAIT", "AUTOCOMMIT"])?;
    let memory =
        tables.get("memory_summary_by_thread_by_event_name", &["THREAD_ID", "CURRENT_NUMBER_OF_BYTES_USED"])?;
    let attributes = tables.get("session_connect_attrs", ATTRIBUTES)?;
    // There may be many connections: none is looked for from the beginning for each.
    let [statements, stages, waits, transactions] =
        [&statements, &stages, &waits, &transactions].map(|rows| by_number(rows, "THREAD_ID"));
    let used_by = bytes_by_thread(&memory);
    let attributes_of = attributes_by_connection(&attributes);
    let mut rows = Vec::new();
    for thread in threads.iter().filter(is_wanted) {
        let id = thread.number("THREAD_ID");
        let user = match thread.is_null("PROCESSLIST_USER") {
            true => Value::from(thread.text("NAME").trim_start_matches("thread/")),
            false => super::files::thread_user(&thread),
        };
        let statement = statements.get(&id).copied();
        let of = |row: &Option<Row<'_>>, column: &'static str| row.as_ref().map_or(Value::Null, |row| row.get(column));
        let has_ended = statement.as_ref().is_some_and(|statement| !statement.is_null("END_EVENT_ID"));
        let last = |column: &'static str| if has_ended { of(&statement, column) } else { Value::Null };
        let current = |column: &'static str| if has_ended { Value::Null } else { of(&statement, column) };
        let full_scan = statement
            .as_ref()
            .is_some_and(|statement| statement.number("NO_INDEX_USED") + statement.number("NO_GOOD_INDEX_USED") > 0);
        let progress = stages.get(&id).map_or(Value::Null, progress);
        let wait = waits.get(&id).copied();
        let transaction = transactions.get(&id).copied();
        let used = used_by.get(&id).copied().unwrap_or(0);
        let connection = thread.value("PROCESSLIST_ID");
        let own = attributes_of.get(&thread.number("PROCESSLIST_ID")).filter(|_| !connection.is_null());
        let attribute = |name: &str| {
            let found = own.into_iter().flatten().find(|row| row.text("ATTR_NAME") == name);
            found.map_or(Value::Null, |row| row.get("ATTR_VALUE"))
        };
        rows.push(vec![
            n(id),
            thread.get("PROCESSLIST_ID"),
            user,
            thread.get("PROCESSLIST_DB"),
            thread.get("PROCESSLIST_COMMAND"),
            thread.get("PROCESSLIST_STATE"),
            thread.get("PROCESSLIST_TIME"),
            thread.get("PROCESSLIST_INFO"),
            thread.get("EXECUTION_ENGINE"),
            current("TIMER_WAIT"),
            progress,
            of(&statement, "LOCK_TIME"),
            of(&statement, "CPU_TIME"),
            of(&statement, "ROWS_EXAMINED"),
            of(&statement, "ROWS_SENT"),
            of(&statement, "ROWS_AFFECTED"),
            of(&statement, "CREATED_TMP_TABLES"),
            of(&statement, "CREATED_TMP_DISK_TABLES"),
            Value::from(if full_scan { "YES" } else { "NO" }),
            last("SQL_TEXT"),
            last("TIMER_WAIT"),
            n(used),
            of(&wait, "EVENT_NAME"),
            wait.as_ref().map_or(Value::Null, wait_time),
            of(&wait, "SOURCE"),
            of(&transaction, "TIMER_WAIT"),
            of(&transaction, "STATE"),
            of(&transaction, "AUTOCOMMIT"),
            attribute("_pid"),
            attribute("program_name"),
        ]);
    }
    // The longest current statement first; connections without a time last.
    rows.sort_by(|left, right| order(right.get(6), left.get(6)));
    Ok(rows)
}

fn bytes_by_thread(memory: &Rows) -> HashMap<u64, u64> {
    let mut used: HashMap<u64, u64> = HashMap::new();
    for row in memory.iter() {
        *used.entry(row.number("THREAD_ID")).or_default() += row.number("CURRENT_NUMBER_OF_BYTES_USED");
    }
    used
}

fn attributes_by_connection(attributes: &Rows) -> HashMap<u64, Vec<Row<'_>>> {
    let mut found: HashMap<u64, Vec<Row<'_>>> = HashMap::new();
    for row in attributes.iter() {
        found.entry(row.number("PROCESSLIST_ID")).or_default().push(row);
    }
    found
}

/// How much of a stage is done, in percent.
fn progress(stage: &Row<'_>) -> Value {
    if stage.is_null("WORK_ESTIMATED") {
        return Value::Null;
    }
    let (done, all) = (stage.number("WORK_COMPLETED") as f64, stage.number("WORK_ESTIMATED") as f64);
    super::sums::quotient(done * 100.0, all, 2)
}

fn wait_time(wait: &Row<'_>) -> Value {
    if wait.is_null("END_EVENT_ID") {
        return Value::from("Still Waiting");
    }
    Value::String(super::form::time(wait.number("TIMER_WAIT") as f64, super::form::Style::Units))
}

fn encryption(tables: &mut Tables<'_>) -> SqlResult<Vec<Vec<Value>>> {
    const SHOWN: [&str; 3] = ["Ssl_version", "Ssl_cipher", "Ssl_sessions_reused"];
    fn place(variable: &Row<'_>) -> Option<usize> {
        SHOWN.iter().position(|name| variable.text("VARIABLE_NAME").eq_ignore_ascii_case(name))
    }
    let columns = &["THREAD_ID", "VARIABLE_NAME", "VARIABLE_VALUE"];
    let status =
        tables.get_where("status_by_thread", columns, &["VARIABLE_NAME"], |variable| place(variable).is_some())?;
    let mut rows: Vec<Vec<Value>> = Vec::new();
    for variable in status.iter() {
        let Some(at) = place(&variable) else { continue };
        let id = variable.get("THREAD_ID");
        let row = match rows.iter().position(|row| row.first() == Some(&id)) {
            Some(row) => row,
            None => {
                rows.push(vec![id, Value::Null, Value::Null, Value::Null]);
                rows.len() - 1
            }
        };
        rows[row][at + 1] = variable.get("VARIABLE_VALUE");
    }
    Ok(rows)
}

fn lock_waits(tables: &mut Tables<'_>) -> SqlResult<Vec<Vec<Value>>> {
    let waits = tables.get(
        "data_lock_waits",
        &["REQUESTING_ENGINE_LOCK_ID", "REQUESTING_THREAD_ID", "BLOCKING_ENGINE_LOCK_ID", "BLOCKING_THREAD_ID"],
    )?;
    if waits.iter().next().is_none() {
        return Ok(Vec::new());
    }
    let locks = tables.get(
        "data_locks",
        &[
            "ENGINE_LOCK_ID",
            "ENGINE_TRANSACTION_ID",
            "OBJECT_SCHEMA",
            "OBJECT_NAME",
            "PARTITION_NAME",
            "SUBPARTITION_NAME",
            "INDEX_NAME",
            "LOCK_TYPE",
            "LOCK_MODE",
            "THREAD_ID",
        ],
    )?;
    let threads = tables.get("threads", THREADS)?;
    let mut rows = Vec::new();
    for wait in waits.iter() {
        let lock = |id: &'static str| locks.iter().find(|lock| lock.text("ENGINE_LOCK_ID") == wait.text(id));
        let (requested, held) = (lock("REQUESTING_ENGINE_LOCK_ID"), lock("BLOCKING_ENGINE_LOCK_ID"));
        let of =
            |lock: &Option<Row<'_>>, column: &'static str| lock.as_ref().map_or(Value::Null, |lock| lock.get(column));
        let waiter = find(&threads, "THREAD_ID", wait.number("REQUESTING_THREAD_ID"));
        let blocker = find(&threads, "THREAD_ID", wait.number("BLOCKING_THREAD_ID"));
        let table = requested.as_ref().map_or(Value::Null, |lock| {
            Value::String(format!("`{}`.`{}`", lock.text("OBJECT_SCHEMA"), lock.text("OBJECT_NAME")))
        });
        let count = |lock: &Option<Row<'_>>| match lock.as_ref().map(|lock| lock.number("ENGINE_TRANSACTION_ID")) {
            Some(id) => n(locks.iter().filter(|lock| lock.number("ENGINE_TRANSACTION_ID") == id).count() as u64),
            None => Value::Null,
        };
        let seconds = waiter.as_ref().map_or(0, |thread| thread.number("PROCESSLIST_TIME"));
        let pid = blocker.as_ref().map_or(0, |thread| thread.number("PROCESSLIST_ID"));
        rows.push(vec![
            Value::Null,
            n(seconds.saturating_mul(1_000_000_000_000)),
            Value::Int(i64::try_from(seconds).unwrap_or(i64::MAX)),
            table,
            of(&requested, "OBJECT_SCHEMA"),
            of(&requested, "OBJECT_NAME"),
            of(&requested, "PARTITION_NAME"),
            of(&requested, "SUBPARTITION_NAME"),
            of(&requested, "INDEX_NAME"),
            of(&requested, "LOCK_TYPE"),
            of(&requested, "ENGINE_TRANSACTION_ID"),
            Value::Null,
            Value::Null,
            count(&requested),
            Value::Null,
            of(&waiter, "PROCESSLIST_ID"),
            of(&waiter, "PROCESSLIST_INFO"),
            wait.get("REQUESTING_ENGINE_LOCK_ID"),
            of(&requested, "LOCK_MODE"),
            of(&held, "ENGINE_TRANSACTION_ID"),
            of(&blocker, "PROCESSLIST_ID"),
            of(&blocker, "PROCESSLIST_INFO"),
            wait.get("BLOCKING_ENGINE_LOCK_ID"),
            of(&held, "LOCK_MODE"),
            Value::Null,
            Value::Null,
            count(&held),
            Value::Null,
            Value::String(format!("KILL QUERY {pid}")),
            Value::String(format!("KILL {pid}")),
        ]);
    }
    Ok(rows)
}
