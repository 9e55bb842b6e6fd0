//! A statement's answer as text.

use super::script::Show;
use mysql::consts::{ColumnFlags, ColumnType};
use mysql::prelude::{Protocol, Queryable};
use mysql::{Column, Conn, Params, QueryResult, Value};
use squall_types::double_text::{write_double, write_fixed, write_float};
use std::collections::BTreeMap;
use std::fmt::Write as _;

/// What cannot be prepared.
const UNSUPPORTED_PS: u16 = 1295;

/// `decimals` of a FLOAT or DOUBLE that has no fixed number of them.
const NOT_FIXED_DECIMALS: u8 = 31;

/// Warnings that are listed; of more than this many it is said how often each came.
const WARNINGS_MAX: usize = 20;

/// Runs a statement and shows what came back.
pub(super) fn execute(conn: &mut Conn, sql: &str, show: Show) -> String {
    match if show.prepared { conn.prep(sql).map(Some) } else { Ok(None) } {
        Ok(Some(statement)) if statement.num_params() == 0 => {
            let answer = repeated(sql, show, || executed(conn, &statement, show));
            // Whatever is wrong with the connection the next statement says.
            let _ = conn.close(statement);
            answer
        }
        Err(mysql::Error::MySqlError(error)) if error.code != UNSUPPORTED_PS => {
            show_error(mysql::Error::MySqlError(error))
        }
        _ => repeated(sql, show, || {
            let answer = match conn.query_iter(sql) {
                Ok(result) => show_results(result, show, None),
                Err(error) => Err(show_error(error)),
            };
            with_warnings(conn, answer, show.sorted)
        }),
    }
}

/// The answer of a statement that is executed as often as it is to be, if it can be: with the first other answer that it gets.
fn repeated(sql: &str, show: Show, mut execute: impl FnMut() -> String) -> String {
    let mut answer = execute();
    for time in 2..=if is_repeatable(sql) { show.executions } else { 1 } {
        let again = execute();
        if again != answer {
            let _ = writeln!(answer, "EXECUTED FOR THE {time}. TIME:\n{again}");
            break;
        }
    }
    answer
}

/// Executes a prepared statement.
fn executed(conn: &mut Conn, statement: &mysql::Statement, show: Show) -> String {
    // The client takes the columns of a result for what it had been told before.
    let columns = statement.columns();
    let answer = match conn.exec_iter(statement, Params::Empty) {
        Ok(result) => show_results(result, show, Some(&columns)),
        Err(error) => Err(show_error(error)),
    };
    with_warnings(conn, answer, show.sorted)
}

/// Whether a statement answers the same when it is executed again, as far as its text tells.
fn is_repeatable(sql: &str) -> bool {
    let sql = sql.to_uppercase();
    let own = [
        "@",
        "INTO",
        "RAND",
        "UUID",
        "SLEEP",
        "_LOCK",
        "LAST_INSERT_ID",
        "FOUND_ROWS",
        "ROW_COUNT",
        "NOW(",
        "SYSDATE",
        "_SCHEMA",
        "MYSQL.",
        "SYS.",
        "UPDATE",
        "SHARE",
        "NEXTVAL",
        "STATEMENT_DIGEST",
        "CURRENT",
        "SQL_CALC",
        "CONNECTION",
        // FastBit's functions change what their names say.
        "FB_",
        "FASTBIT.",
    ];
    sql.trim_start().starts_with("SELECT") && !own.iter().any(|word| sql.contains(word))
}

/// The warnings that the last packet of an answer has told of, behind the answer; an error has none.
fn with_warnings(conn: &mut Conn, answer: Result<String, String>, sorted: bool) -> String {
    let mut answer = match answer {
        Ok(answer) => answer,
        Err(error) => return error,
    };
    if conn.warnings() > 0 {
        match conn.query::<(String, u32, String), _>("SHOW WARNINGS") {
            Ok(rows) if rows.len() <= WARNINGS_MAX => {
                let lines = rows.into_iter().map(|(level, code, message)| format!("{level} {code}: {message}\n"));
                let mut lines: Vec<String> = lines.collect();
                if sorted {
                    lines.sort_unstable();
                }
                answer.extend(lines);
            }
            Ok(rows) => {
                let mut counts = BTreeMap::new();
                for (level, code, _) in rows {
                    *counts.entry((level, code)).or_insert(0) += 1;
                }
                for ((level, code), count) in counts {
                    let _ = writeln!(answer, "{level} {code}: {count} times");
                }
            }
            Err(error) => answer.push_str(&show_error(error)),
        }
    }
    answer
}

/// All results, or those before an error and the error. `prepared` are the columns that PREPARE has told of, which are those of the
/// first result, or none.
fn show_results<T: Protocol>(
    mut result: QueryResult<'_, '_, '_, T>,
    show: Show,
    mut prepared: Option<&[Column]>,
) -> Result<String, String> {
    let mut answer = String::new();
    while let Some(mut set) = result.iter() {
        let columns = set.columns().as_ref().to_vec();
        if columns.is_empty() {
            match set.affected_rows() {
                0 => answer.push_str("ok\n"),
                1 => answer.push_str("ok, 1 row\n"),
                rows => {
                    let _ = writeln!(answer, "ok, {rows} rows");
                }
            }
        } else {
            let names: Vec<_> = columns.iter().map(|column| column.name_str()).collect();
            let _ = writeln!(answer, "{}", names.join(" | "));
            if show.types {
                let _ = writeln!(answer, "{}", show_types(&columns));
            }
            if let Some(prepared) = prepared.take().filter(|prepared| !prepared.is_empty())
                && show_types(prepared) != show_types(&columns)
            {
                let _ = writeln!(answer, "{}\nPREPARED AS {}", show_types(&columns), show_types(prepared));
            }
        }
        let mut rows = Vec::new();
        for row in set.by_ref() {
            match row {
                Ok(row) => {
                    let row = row.unwrap();
                    let values = row.iter().zip(&columns).map(|(value, column)| show_value(value, column, show));
                    rows.push(values.collect::<Vec<_>>().join(" | "));
                }
                Err(error) => return Err(answer + &show_error(error)),
            }
        }
        if show.sorted {
            rows.sort_unstable();
        }
        for row in rows {
            // An empty line would end the expected answer.
            let _ = writeln!(answer, "{}", if row.is_empty() { "''" } else { &row });
        }
    }
    Ok(answer)
}

fn show_error(error: mysql::Error) -> String {
    match error {
        mysql::Error::MySqlError(error) => format!("ERROR {} ({}): {}\n", error.code, error.state, error.message),
        other => format!("CONNECTION LOST: {other}\n"),
    }
}

/// The types of columns as clients are told them: `LONG(11) 63 NOT_NULL PRI_KEY` is the type, the length and the decimals that are
/// not 0, the number of the collation, and the flags.
fn show_types(columns: &[Column]) -> String {
    let shown = columns.iter().map(|column| {
        let name = format!("{:?}", column.column_type());
        let mut shown = name.strip_prefix("MYSQL_TYPE_").unwrap_or(&name).to_string();
        let _ = match column.decimals() {
            0 => write!(shown, "({})", column.column_length()),
            decimals => write!(shown, "({},{decimals})", column.column_length()),
        };
        let _ = write!(shown, " {}", column.character_set());
        for (flag, _) in column.flags().iter_names() {
            let _ = write!(shown, " {}", flag.strip_suffix("_FLAG").unwrap_or(flag));
        }
        shown
    });
    shown.collect::<Vec<_>>().join(" | ")
}

fn show_value(value: &Value, column: &Column, show: Show) -> String {
    match value {
        Value::NULL => "NULL".to_string(),
        Value::Bytes(bytes) => match std::str::from_utf8(bytes) {
            Ok(text) if show.lines => without_times(text.trim_end()),
            Ok(text) if !text.chars().any(char::is_control) => text.to_string(),
            Ok(text) => text.escape_debug().to_string(),
            Err(_) => bytes.iter().fold("0x".to_string(), |mut hex, byte| {
                let _ = write!(hex, "{byte:02X}");
                hex
            }),
        },
        binary => show_binary(binary, column),
    }
}

/// A value of the binary protocol as the text protocol has it.
fn show_binary(value: &Value, column: &Column) -> String {
    let number = |text: String| match column.flags().contains(ColumnFlags::ZEROFILL_FLAG) {
        true => format!("{text:0>width$}", width = column.column_length() as usize),
        false => text,
    };
    let fraction = |micros: u32| match column.decimals() {
        0 => String::new(),
        decimals => format!(".{micros:06}")[..=usize::from(decimals.min(6))].to_string(),
    };
    match *value {
        Value::Int(value) if column.column_type() == ColumnType::MYSQL_TYPE_YEAR => format!("{value:04}"),
        Value::UInt(value) if column.column_type() == ColumnType::MYSQL_TYPE_YEAR => format!("{value:04}"),
        Value::Int(value) => number(value.to_string()),
        Value::UInt(value) => number(value.to_string()),
        Value::Float(value) => number(floating(column, |out| write_float(f64::from(value), out), f64::from(value))),
        Value::Double(value) => number(floating(column, |out| write_double(value, out), value)),
        Value::Date(year, month, day, ..) if column.column_type() == ColumnType::MYSQL_TYPE_DATE => {
            format!("{year:04}-{month:02}-{day:02}")
        }
        Value::Date(year, month, day, hour, minute, second, micros) => {
            format!("{year:04}-{month:02}-{day:02} {hour:02}:{minute:02}:{second:02}{}", fraction(micros))
        }
        Value::Time(negative, days, hours, minutes, seconds, micros) => {
            let (sign, hours) = (if negative { "-" } else { "" }, days * 24 + u32::from(hours));
            format!("{sign}{hours:02}:{minutes:02}:{seconds:02}{}", fraction(micros))
        }
        Value::NULL | Value::Bytes(_) => value.as_sql(true),
    }
}

/// The text of a FLOAT or DOUBLE, by `shortest` where the column has no fixed number of decimals.
fn floating(column: &Column, shortest: impl FnOnce(&mut Vec<u8>), value: f64) -> String {
    let mut text = Vec::new();
    match column.decimals() {
        NOT_FIXED_DECIMALS => shortest(&mut text),
        decimals => write_fixed(value, decimals, &mut text),
    }
    String::from_utf8_lossy(&text).into_owned()
}

/// The text of EXPLAIN ANALYZE without what is never the same twice.
fn without_times(text: &str) -> String {
    const TIMES: [&str; 2] = ["actual time=", "\"actual_last_row_ms\": "];
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = TIMES.iter().filter_map(|time| rest.find(time).map(|at| at + time.len())).min() {
        let (before, after) = rest.split_at(at);
        out.push_str(before);
        out.push('…');
        rest = after.trim_start_matches(|c: char| c.is_ascii_digit() || c == '.');
    }
    out + rest
}
