//! `sys.ps_thread_trx_info()`: the transactions of a thread with the statements in them, as JSON in the form of MySQL's function.

use super::DATABASE;
use super::config::setting;
use super::statements::{number, text};
use crate::views::form::{self, Style};
use squall_functions::library::support::{Args, Def, result};
use squall_types::json::quote;
use squall_types::{SqlResult, Value};
use std::fmt::Write;

/// The family.
pub const FUNCTIONS: &[Def] = &[Def::new("PS_THREAD_TRX_INFO", (1, 1), result::utf8mb4_text, |args| {
    let id = match args.value(0) {
        Value::UInt(id) => *id,
        _ => args.text(0).parse().unwrap_or(0),
    };
    transactions(args, id)
})
.in_database(DATABASE)
.waiting()];

/// Bytes that the text may have if no setting says it.
const LENGTH_MAX: usize = 65_535;

/// Numbers of a statement that are shown: names in the text, and columns.
const NUMBERS: [(&str, &str); 7] = [
    ("rows_examined", "ROWS_EXAMINED"),
    ("rows_affected", "ROWS_AFFECTED"),
    ("rows_sent", "ROWS_SENT"),
    ("tmp_tables", "CREATED_TMP_TABLES"),
    ("tmp_disk_tables", "CREATED_TMP_DISK_TABLES"),
    ("sort_rows", "SORT_ROWS"),
    ("sort_merge_passes", "SORT_MERGE_PASSES"),
];

/// Rows of a query, with the caller's privileges.
pub(super) fn rows(args: &Args<'_>, sql: &str) -> SqlResult<Vec<Vec<Value>>> {
    let Some(nested) = args.context.nested.as_ref() else { return Ok(Vec::new()) };
    Ok(nested.run(sql, args.context)?.into_iter().flat_map(|result| result.rows).collect())
}

/// A length of time in picoseconds, in quotes.
fn time(picoseconds: u64) -> String {
    quote(&form::time(picoseconds as f64, Style::Units))
}

fn transactions(args: &Args<'_>, thread: u64) -> SqlResult<Value> {
    let columns = "TIMER_START, TIMER_END, TIMER_WAIT, STATE, ACCESS_MODE, AUTOCOMMIT, GTID, ISOLATION_LEVEL, EVENT_ID";
    let found = rows(
        args,
        &format!(
            "SELECT {columns} FROM performance_schema.events_transactions_history WHERE THREAD_ID = {thread} UNION ALL \
             SELECT {columns} FROM performance_schema.events_transactions_current WHERE THREAD_ID = {thread} AND \
             END_EVENT_ID IS NULL ORDER BY EVENT_ID"
        ),
    )?;
    let numbers = NUMBERS.map(|(_, column)| column).join(", ");
    let statements = rows(
        args,
        &format!(
            "SELECT TIMER_START, COALESCE(TIMER_END, TIMER_START), TIMER_WAIT, SQL_TEXT, CURRENT_SCHEMA, {numbers} FROM \
             performance_schema.events_statements_history WHERE THREAD_ID = {thread} AND EVENT_NAME <> \
             'statement/sql/begin' ORDER BY EVENT_ID"
        ),
    )?;
    let transactions: Vec<String> = found.iter().map(|row| transaction(row, &statements)).collect();
    let text = format!("[\n{}\n]", transactions.join(",\n"));
    let most = setting(args.context, "ps_thread_trx_info.max_length").and_then(|text| text.parse().ok());
    if text.len() > most.unwrap_or(LENGTH_MAX) {
        return Ok(Value::from("{ \"error\": \"Trx info truncated: Row 1 was cut by GROUP_CONCAT()\" }"));
    }
    Ok(args.string(text))
}

/// A transaction and the statements that ran while it was open.
fn transaction(row: &[Value], statements: &[Vec<Value>]) -> String {
    let start = number(row.first());
    let end = match row.get(1) {
        Some(end @ (Value::UInt(_) | Value::Int(_))) => number(Some(end)),
        _ => u64::MAX,
    };
    let mut out = String::from("  {\n");
    // Writing to a String cannot fail.
    let _ = writeln!(out, "    \"time\": {},", time(number(row.get(2))));
    let names = ["state", "mode", "autocommitted", "gtid", "isolation"];
    for (name, value) in names.iter().zip(row.iter().skip(3)) {
        let _ = writeln!(out, "    \"{name}\": {},", quote(&text(Some(value))));
    }
    let meanwhile = |row: &&Vec<Value>| number(row.get(1)) > start && number(row.first()) < end;
    let inside: Vec<String> = statements.iter().filter(meanwhile).map(|row| statement(row)).collect();
    if inside.is_empty() {
        out.push_str("    \"statements_executed\": []\n  }");
    } else {
        let _ = write!(out, "    \"statements_executed\": [\n{}\n    ]\n  }}", inside.join(",\n"));
    }
    out
}

fn statement(row: &[Value]) -> String {
    let mut lines = vec![
        format!("        \"sql_text\": {}", quote(&text(row.get(3)))),
        format!("        \"time\": {}", time(number(row.get(2)))),
        format!("        \"schema\": {}", quote(&text(row.get(4)))),
    ];
    for ((name, _), value) in NUMBERS.iter().zip(row.iter().skip(5)) {
        lines.push(format!("        \"{name}\": {}", number(Some(value))));
    }
    format!("      {{\n{}\n      }}", lines.join(",\n"))
}
