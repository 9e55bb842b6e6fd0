//! SHOW of the server: variables, status, processes, engines, character sets, and empty lists for unsupported features.

use crate::authorization::SecurityContext;
use crate::result::{ResultSet, number_column, text_column, typed_column};
use squall_catalog::Privileges;
use squall_parser::ast::VariableScope;
use squall_statement_context::StatementContext;
use squall_system_tables::{charsets, collation_rows, engine_rows, plugins, process_rows, status_rows, variable_rows};
use squall_types::{SqlType, Value};
use std::sync::Arc;

/// Characters of a statement that SHOW PROCESSLIST shows.
const INFO_CHARACTERS: usize = 100;

fn s(text: impl Into<String>) -> Value {
    Value::String(text.into())
}

pub(crate) fn show_variables(
    security: &SecurityContext<'_>,
    scope: Option<VariableScope>,
    context: &Arc<StatementContext>,
) -> ResultSet {
    let global = scope == Some(VariableScope::Global);
    let columns = vec![text_column("Variable_name", 64), text_column("Value", 1024)];
    ResultSet { columns, rows: variable_rows(&security.source(context), global) }
}

pub(crate) fn show_status(
    security: &SecurityContext<'_>,
    scope: Option<VariableScope>,
    context: &Arc<StatementContext>,
) -> ResultSet {
    let global = scope == Some(VariableScope::Global);
    let columns = vec![text_column("Variable_name", 64), text_column("Value", 1024)];
    ResultSet { columns, rows: status_rows(&security.source(context), global) }
}

pub(crate) fn show_process_list(
    security: &SecurityContext<'_>,
    full: bool,
    context: &Arc<StatementContext>,
) -> ResultSet {
    let columns = vec![
        typed_column("Id", SqlType::BIGINT_UNSIGNED, true),
        text_column("User", 32),
        text_column("Host", 261),
        text_column("db", 64),
        text_column("Command", 16),
        number_column("Time"),
        text_column("State", 64),
        text_column("Info", 16_383),
    ];
    let characters = if full { usize::MAX } else { INFO_CHARACTERS };
    ResultSet { columns, rows: process_rows(&security.source(context), characters) }
}

pub(crate) fn show_engines(security: &SecurityContext<'_>) -> ResultSet {
    let mut result = ResultSet::of_texts(&["Engine", "Support", "Comment", "Transactions", "XA", "Savepoints"]);
    result.rows = engine_rows(security.shared.store.engines());
    result
}

pub(crate) fn show_charsets() -> ResultSet {
    let mut columns =
        vec![text_column("Charset", 64), text_column("Description", 2048), text_column("Default collation", 64)];
    columns.push(typed_column("Maxlen", SqlType::BIGINT_UNSIGNED, true));
    let rows = charsets()
        .into_iter()
        .map(|set| {
            let most = Value::UInt(u64::from(set.bytes_per_character_max()));
            vec![s(set.name()), s(set.description()), s(set.default_collation().name()), most]
        })
        .collect();
    ResultSet { columns, rows }
}

pub(crate) fn show_collations() -> ResultSet {
    let columns = vec![
        text_column("Collation", 64),
        text_column("Charset", 64),
        typed_column("Id", SqlType::BIGINT_UNSIGNED, true),
        text_column("Default", 3),
        text_column("Compiled", 3),
        typed_column("Sortlen", SqlType::BIGINT_UNSIGNED, true),
        text_column("Pad_attribute", 9),
    ];
    ResultSet { columns, rows: collation_rows() }
}

pub(crate) fn show_plugins(security: &SecurityContext<'_>) -> ResultSet {
    let mut result = ResultSet::of_texts(&["Name", "Status", "Type", "Library", "License"]);
    for (name, kind) in plugins(security.shared.store.engines()) {
        result.rows.push(vec![s(name), s("ACTIVE"), s(kind), Value::Null, s("Apache-2.0")]);
    }
    result
}

pub(crate) fn show_privileges(security: &SecurityContext<'_>) -> ResultSet {
    let mut result = ResultSet::of_texts(&["Privilege", "Context", "Comment"]);
    let title = |name: &str| {
        let words: Vec<String> = name
            .split(' ')
            .enumerate()
            .map(|(at, word)| {
                let lower = word.to_ascii_lowercase();
                if at > 0 { lower } else { word[..1].to_string() + &lower[1..] }
            })
            .collect();
        words.join(" ")
    };
    for (name, _, context, comment) in Privileges::LIST {
        result.rows.push(vec![s(title(name)), s(*context), s(*comment)]);
    }
    for name in security.shared.registry.dynamic_privileges() {
        result.rows.push(vec![s(name), s("Server Admin"), s("")]);
    }
    result
}

pub(crate) fn show_profiles() -> ResultSet {
    let columns =
        vec![number_column("Query_ID"), typed_column("Duration", SqlType::DOUBLE, true), text_column("Query", 300)];
    ResultSet::new(columns)
}

pub(crate) fn show_open_tables() -> ResultSet {
    let columns = vec![
        text_column("Database", 64),
        text_column("Table", 64),
        number_column("In_use"),
        number_column("Name_locked"),
    ];
    ResultSet::new(columns)
}

pub(crate) fn show_events() -> ResultSet {
    typed_by_name(&[
        "Db",
        "Name",
        "Definer",
        "Time zone",
        "Type",
        "Execute at",
        "Interval value",
        "Interval field",
        "Starts",
        "Ends",
        "Status",
        "Originator",
        "character_set_client",
        "collation_connection",
        "Database Collation",
    ])
}

pub(crate) fn show_routine_status() -> ResultSet {
    typed_by_name(&[
        "Db",
        "Name",
        "Type",
        "Language",
        "Definer",
        "Modified",
        "Created",
        "Security_type",
        "Comment",
        "character_set_client",
        "collation_connection",
        "Database Collation",
    ])
}

/// There is no binary log.
pub(crate) fn show_binary_log_status() -> ResultSet {
    let text = |name: &str| text_column(name, 255);
    ResultSet::new(vec![
        text("File"),
        typed_column("Position", SqlType::BIGINT_UNSIGNED, true),
        text("Binlog_Do_DB"),
        text("Binlog_Ignore_DB"),
        text("Executed_Gtid_Set"),
    ])
}

/// There is no binary log, so its options are ignored.
pub(crate) fn show_binlog_events() -> ResultSet {
    let number = |name: &str| typed_column(name, SqlType::BIGINT_UNSIGNED, true);
    ResultSet::new(vec![
        text_column("Log_name", 20),
        number("Pos"),
        text_column("Event_type", 20),
        number("Server_id"),
        number("End_log_pos"),
        text_column("Info", 20),
    ])
}

pub(crate) fn show_replicas() -> ResultSet {
    ResultSet::of_texts(&["Server_Id", "Host", "Port", "Source_Id", "Replica_UUID"])
}

pub(crate) fn show_replica_status() -> ResultSet {
    ResultSet::of_texts(&["Replica_IO_State", "Source_Host", "Source_User", "Source_Port", "Connect_Retry"])
}

pub(crate) fn show_engine_status(security: &SecurityContext<'_>) -> ResultSet {
    let mut result = ResultSet::of_texts(&["Type", "Name", "Status"]);
    let text = format!("Row store in {}\n", security.shared.store.directory().display());
    result.rows.push(vec![s("InnoDB"), s(""), s(text)]);
    result
}

/// Columns of text, but for those that hold moments or numbers by their names.
fn typed_by_name(names: &[&str]) -> ResultSet {
    let column = |name: &&str| match *name {
        "Execute at" | "Starts" | "Ends" | "Modified" | "Created" => {
            typed_column(name, SqlType::DateTime { fsp: 0 }, false)
        }
        "Originator" => number_column(name),
        name => text_column(name, 255),
    };
    ResultSet::new(names.iter().map(column).collect())
}
