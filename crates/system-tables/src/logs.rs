//! `mysql.general_log`, `mysql.slow_log` and `data_dictionary.query_log`: the newest entries of the logs, if `log_output` has TABLE.

use super::{
    Source, TableSpec, blob, duration, int32, local_micros, medium_text, moment, s, s_or_null, small_uint, text, u,
    uint,
};
use squall_logs::rows::LogRow;
use squall_registry::VirtualScan;
use squall_server_state::variables::{Values, ids};
use squall_types::temporal::Time;
use squall_types::{SqlResult, Value};

const DATABASE: &str = "mysql";
const GENERAL: &str = "general_log";
const SLOW: &str = "slow_log";

/// Longest TIME that fits, microseconds.
const TIME_MICROS_MAX: u64 = Time::MAX_MICROS as u64;

pub(crate) const TABLES: &[TableSpec] = &[
    TableSpec {
        database: DATABASE,
        name: GENERAL,
        columns: &[
            moment("event_time"),
            medium_text("user_host"),
            uint("thread_id"),
            small_uint("server_id"),
            text("command_type", 64),
            blob("argument"),
        ],
        rows: |source, scan| {
            rows(source, GENERAL, |row, server_id| {
                vec![
                    local_micros(scan.context, row.at_micros),
                    s(&row.user_host),
                    u(row.session_id),
                    server_id,
                    s(&row.command),
                    Value::Bytes(row.text.clone()),
                ]
            })
        },
    },
    TableSpec {
        database: DATABASE,
        name: SLOW,
        columns: &[
            moment("start_time"),
            medium_text("user_host"),
            duration("query_time"),
            duration("lock_time"),
            int32("rows_sent"),
            int32("rows_examined"),
            text("db", 512),
            int32("last_insert_id"),
            int32("insert_id"),
            small_uint("server_id"),
            blob("sql_text"),
            uint("thread_id"),
        ],
        rows: |source, scan| {
            rows(source, SLOW, |row, server_id| {
                let number = |number: u64| Value::Int(i64::from(i32::try_from(number).unwrap_or(i32::MAX)));
                vec![
                    local_micros(scan.context, row.start_micros),
                    s(&row.user_host),
                    time(row.micros),
                    time(row.work.lock_micros),
                    number(row.work.rows_sent),
                    number(row.work.rows_examined),
                    s(row.database.as_deref().unwrap_or_default()),
                    number(row.work.last_insert_id),
                    Value::Int(0),
                    server_id,
                    Value::Bytes(row.text.clone()),
                    u(row.session_id),
                ]
            })
        },
    },
    TableSpec {
        database: "data_dictionary",
        name: "query_log",
        columns: &[
            moment("START_TS"),
            medium_text("USER_HOST"),
            uint("SESSION_ID"),
            uint("QUERY_ID"),
            uint("ROWS_EXAMINED"),
            uint("ROWS_SENT"),
            uint("TMP_TABLES"),
            uint("WARNINGS"),
            duration("EXECUTION_TIME"),
            duration("LOCK_TIME"),
            duration("SESSION_TIME"),
            text("ERROR", 5),
            text("SCHEMA_NAME", 64).or_null(),
            blob("STATEMENT"),
            uint("PARENT_ID").or_null(),
        ],
        rows: queries,
    },
];

/// An account sees its own statements; those of others need PROCESS, as in the process list.
fn queries(source: &Source<'_>, scan: &VirtualScan<'_>) -> SqlResult<Vec<Vec<Value>>> {
    let user = scan.context.user.rsplit_once('@').map_or(&*scan.context.user, |(user, _)| user);
    let rows =
        source.state.logs.query_rows.all().into_iter().filter(|row| source.access.sees_statements(row.user == user));
    Ok(rows
        .map(|row| {
            vec![
                local_micros(scan.context, row.start_micros),
                s(row.user_host),
                u(row.session_id),
                u(row.query_id),
                u(row.work.rows_examined),
                u(row.work.rows_sent),
                u(row.work.tmp_tables),
                u(row.work.warnings),
                time(row.micros),
                time(row.work.lock_micros),
                time(row.session_micros),
                s(if row.work.error == 0 { "false" } else { "true" }),
                s_or_null(row.database),
                Value::Bytes(row.text),
                row.parent_id.map_or(Value::Null, u),
            ]
        })
        .collect())
}

fn time(micros: u64) -> Value {
    Time::from_micros(micros.min(TIME_MICROS_MAX) as i64).map_or(Value::Null, Value::Time)
}

fn rows(source: &Source<'_>, name: &str, make: impl Fn(&LogRow, Value) -> Vec<Value>) -> SqlResult<Vec<Vec<Value>>> {
    let logs = &source.state.logs;
    let rows = if name == GENERAL { logs.general_rows.all() } else { logs.slow_rows.all() };
    let values = source.state.globals.load_values();
    let server_id = Value::UInt(Values(&values).number(ids::SERVER_ID));
    Ok(rows.iter().map(|row| make(row, server_id.clone())).collect())
}
