//! `sys.ps_thread_stack()`: the last statements, stages and waits of a thread, as JSON in the form of MySQL's function.

use super::DATABASE;
use super::statements::{number, text};
use super::transactions::rows;
use squall_functions::library::support::{Args, Def, result};
use squall_types::json::quote;
use squall_types::{SqlResult, Value};

/// The family.
pub const FUNCTIONS: &[Def] = &[Def::new("PS_THREAD_STACK", (2, 2), result::utf8mb4_text, |args| {
    let thread = match args.value(0) {
        Value::UInt(id) => *id,
        _ => args.text(0).parse().unwrap_or(0),
    };
    let verbose = !matches!(args.value(1), Value::Int(0) | Value::UInt(0));
    stack(args, thread, verbose)
})
.in_database(DATABASE)
.waiting()];

/// What is told of a statement, in MySQL's order: words and columns.
const DETAILS: [(&str, &str); 19] = [
    ("errors", "ERRORS"),
    ("warnings", "WARNINGS"),
    ("lock time", "LOCK_TIME"),
    ("rows affected", "ROWS_AFFECTED"),
    ("rows sent", "ROWS_SENT"),
    ("rows examined", "ROWS_EXAMINED"),
    ("tmp tables", "CREATED_TMP_TABLES"),
    ("tmp disk tables", "CREATED_TMP_DISK_TABLES"),
    ("select scan", "SELECT_SCAN"),
    ("select full join", "SELECT_FULL_JOIN"),
    ("select full range join", "SELECT_FULL_RANGE_JOIN"),
    ("select range", "SELECT_RANGE"),
    ("select range check", "SELECT_RANGE_CHECK"),
    ("sort merge passes", "SORT_MERGE_PASSES"),
    ("sort rows", "SORT_ROWS"),
    ("sort range", "SORT_RANGE"),
    ("sort scan", "SORT_SCAN"),
    ("no index used", "NO_INDEX_USED"),
    ("no good index used", "NO_GOOD_INDEX_USED"),
];

fn stack(args: &Args<'_>, thread: u64, verbose: bool) -> SqlResult<Value> {
    let account = rows(
        args,
        &format!(
            "SELECT CONCAT(PROCESSLIST_USER, '@', PROCESSLIST_HOST), CAST(NOW() AS CHAR) FROM performance_schema.threads \
             WHERE THREAD_ID = {thread}"
        ),
    )?;
    let Some(account) = account.first() else { return Ok(Value::Null) };
    let details = DETAILS.map(|(_, column)| column).join(", ");
    let statements = format!(
        "SELECT NESTING_EVENT_ID, EVENT_ID, TIMER_WAIT, EVENT_NAME, SOURCE, SQL_TEXT, {details} FROM \
         performance_schema.events_statements_history WHERE THREAD_ID = {thread}"
    );
    let others = |table: &str, more: &str| {
        format!(
            "SELECT NESTING_EVENT_ID, EVENT_ID, TIMER_WAIT, EVENT_NAME, SOURCE, {more} FROM performance_schema.{table} WHERE \
             THREAD_ID = {thread}"
        )
    };
    let mut events: Vec<(u64, String)> = Vec::new();
    for (kind, sql) in [
        ("statement", statements),
        ("stage", others("events_stages_history", "NULL")),
        ("wait", others("events_waits_history", "CONCAT_WS('.', OBJECT_SCHEMA, OBJECT_NAME)")),
    ] {
        for row in rows(args, &sql)? {
            events.push((number(row.get(1)), event(kind, &row, verbose)));
        }
    }
    events.sort_by_key(|(id, _)| *id);
    let events: Vec<String> = events.into_iter().map(|(_, event)| event).collect();
    Ok(args.string(format!(
        "{{\"rankdir\": \"LR\",\"nodesep\": \"0.10\",\"stack_created\": {},\"mysql_version\": {},\"mysql_user\": {},\"events\": [{}]}}",
        quote(&text(account.get(1))),
        quote(&args.context.version),
        quote(&text(account.first())),
        events.join(", ")
    )))
}

/// An event; times are in microseconds.
fn event(kind: &str, row: &[Value], verbose: bool) -> String {
    let micros = |value: Option<&Value>| number(value) as f64 / 1e6;
    // `statement/sql/select` is `sql/select`.
    let name = text(row.get(3));
    let name = name.strip_prefix(kind).and_then(|rest| rest.strip_prefix('/')).unwrap_or(&name).to_string();
    let mut info = text(row.get(5));
    if kind == "statement" {
        for ((word, column), value) in DETAILS.iter().zip(row.iter().skip(6)) {
            let shown = match *column {
                "LOCK_TIME" => format!("{:.2} us", micros(Some(value))),
                "NO_INDEX_USED" | "NO_GOOD_INDEX_USED" => {
                    if number(Some(value)) == 0 { "FALSE" } else { "TRUE" }.to_string()
                }
                _ => number(Some(value)).to_string(),
            };
            info.push_str(&format!("\n{word}: {shown}"));
        }
    }
    let source = match text(row.get(4)) {
        source if verbose && !source.is_empty() => format!(", \"source\": {}", quote(&source)),
        _ => String::new(),
    };
    format!(
        "{{\"nesting_event_id\": \"{}\", \"event_id\": \"{}\", \"timer_wait\": {:.2}, \"event_info\": {}, \"wait_info\": {}{source}}}",
        number(row.first()),
        number(row.get(1)),
        micros(row.get(2)),
        quote(&name),
        quote(&info)
    )
}
