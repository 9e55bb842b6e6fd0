//! information_schema.EVENTS, the rows of SHOW EVENTS, and the text of SHOW CREATE EVENT.

use crate::quoting::{quote, quote_text};
use crate::{ColumnSpec, Source, TableSpec, local_time, long_text, s, text, time, u, uint};
use squall_catalog::Privileges;
use squall_registry::VirtualScan;
use squall_server_state::event_definition::{EventDef, Schedule};
use squall_types::{SqlResult, Value};
use std::sync::Arc;

pub(crate) const TABLES: &[TableSpec] =
    &[TableSpec { database: "information_schema", name: "EVENTS", columns: EVENTS, rows: event_rows }];

const EVENTS: &[ColumnSpec] = &[
    text("EVENT_CATALOG", 64),
    text("EVENT_SCHEMA", 64),
    text("EVENT_NAME", 64),
    text("DEFINER", 288),
    text("TIME_ZONE", 64),
    text("EVENT_BODY", 3),
    long_text("EVENT_DEFINITION"),
    text("EVENT_TYPE", 9),
    time("EXECUTE_AT").or_null(),
    text("INTERVAL_VALUE", 256).or_null(),
    text("INTERVAL_FIELD", 18).or_null(),
    text("SQL_MODE", 520),
    time("STARTS").or_null(),
    time("ENDS").or_null(),
    text("STATUS", 21),
    text("ON_COMPLETION", 12),
    time("CREATED"),
    time("LAST_ALTERED"),
    time("LAST_EXECUTED").or_null(),
    text("EVENT_COMMENT", 2048),
    uint("ORIGINATOR"),
    text("CHARACTER_SET_CLIENT", 64),
    text("COLLATION_CONNECTION", 64),
    text("DATABASE_COLLATION", 64),
];

/// A time by the event's own clock.
fn moment(event: &EventDef, micros: Option<i64>) -> Value {
    micros.and_then(|micros| event.zone().from_unix_micros(micros)).map_or(Value::Null, Value::DateTime)
}

fn moment_text(event: &EventDef, micros: i64) -> String {
    event.zone().from_unix_micros(micros).map(|local| local.to_text(0)).unwrap_or_default()
}

/// Type, time, interval and its unit, start and end.
fn schedule_values(event: &EventDef) -> [Value; 6] {
    match &event.schedule {
        Schedule::At(at) => {
            [s("ONE TIME"), moment(event, Some(*at)), Value::Null, Value::Null, Value::Null, Value::Null]
        }
        Schedule::Every { amount, unit, starts, ends } => {
            let amount = if unit.is_composite() { quote_text(amount) } else { amount.clone() };
            let (starts, ends) = (moment(event, Some(*starts)), moment(event, *ends));
            [s("RECURRING"), Value::Null, s(amount), s(unit.name()), starts, ends]
        }
    }
}

/// Events that the reader may see.
fn visible(source: &Source<'_>) -> Vec<Arc<EventDef>> {
    let sees = |event: &Arc<EventDef>| source.access.on_database(&event.database).contains(Privileges::EVENT);
    source.server.events().into_iter().filter(sees).collect()
}

/// information_schema.EVENTS.
fn event_rows(source: &Source<'_>, _scan: &VirtualScan<'_>) -> SqlResult<Vec<Vec<Value>>> {
    let row = |event: Arc<EventDef>| {
        let definer = format!("{}@{}", event.definer.user, event.definer.host);
        let mut row = vec![s("def"), s(&*event.database), s(&*event.name), s(definer), s(&*event.time_zone)];
        let [kind, at, amount, unit, starts, ends] = schedule_values(&event);
        row.extend([s("SQL"), s(&*event.body), kind, at, amount, unit, s(&*event.sql_mode), starts, ends]);
        row.extend([s(event.status.word()), s(if event.preserve { "PRESERVE" } else { "NOT PRESERVE" })]);
        let local = |micros: i64| local_time(source.context, micros);
        row.extend([local(event.created_micros), local(event.altered_micros)]);
        row.extend([event.executed_micros.map_or(Value::Null, local), s(&*event.comment), u(1)]);
        row.extend([s(&*event.client_charset), s(&*event.connection_collation), s(&*event.database_collation)]);
        row
    };
    Ok(visible(source).into_iter().map(row).collect())
}

/// SHOW EVENTS of a database.
pub fn event_status_rows(source: &Source<'_>, database: &str) -> Vec<Vec<Value>> {
    let row = |event: Arc<EventDef>| {
        let definer = format!("{}@{}", event.definer.user, event.definer.host);
        let mut row = vec![s(&*event.database), s(&*event.name), s(definer), s(&*event.time_zone)];
        row.extend(schedule_values(&event));
        row.extend([s(event.status.word()), u(1)]);
        row.extend([s(&*event.client_charset), s(&*event.connection_collation), s(&*event.database_collation)]);
        row
    };
    visible(source).into_iter().filter(|event| event.database == database).map(row).collect()
}

/// The statement that makes an event.
pub fn create_event_text(event: &EventDef) -> String {
    let (user, host) = (quote(&event.definer.user), quote(&event.definer.host));
    let schedule = match &event.schedule {
        Schedule::At(at) => format!("AT '{}'", moment_text(event, *at)),
        Schedule::Every { amount, unit, starts, ends } => {
            let amount = if unit.is_composite() { quote_text(amount) } else { amount.clone() };
            let mut text = format!("EVERY {amount} {} STARTS '{}'", unit.name(), moment_text(event, *starts));
            if let Some(ends) = ends {
                text.push_str(&format!(" ENDS '{}'", moment_text(event, *ends)));
            }
            text
        }
    };
    let completion = if event.preserve { "PRESERVE" } else { "NOT PRESERVE" };
    let comment =
        if event.comment.is_empty() { String::new() } else { format!(" COMMENT {}", quote_text(&event.comment)) };
    format!(
        "CREATE DEFINER={user}@{host} EVENT {} ON SCHEDULE {schedule} ON COMPLETION {completion} {}{comment} DO {}",
        quote(&event.name),
        event.status.clause(),
        event.body
    )
}
