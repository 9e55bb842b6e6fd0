//! SHOW EVENTS, SHOW CREATE EVENT and information_schema.EVENTS.

use crate::authorization::SecurityContext;
use crate::database::Shared;
use crate::event_scheduler::{EventDef, Schedule};
use crate::result::ResultSet;
use squall_catalog::Privileges;
use squall_parser::ast::ObjectName;
use squall_registry::VirtualScan;
use squall_system_tables::quoting::{quote, quote_text};
use squall_system_tables::{Source, s, u};
use squall_types::{ErrorCode, SqlError, SqlResult, Value};
use std::sync::Arc;

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
fn visible(shared: &Shared, source: &Source<'_>) -> Vec<Arc<EventDef>> {
    let sees = |event: &Arc<EventDef>| source.access.on_database(&event.database).contains(Privileges::EVENT);
    shared.events.list().into_iter().filter(sees).collect()
}

/// information_schema.EVENTS.
pub(crate) fn event_rows(shared: &Shared, source: &Source<'_>, _scan: &VirtualScan<'_>) -> SqlResult<Vec<Vec<Value>>> {
    let row = |event: Arc<EventDef>| {
        let definer = format!("{}@{}", event.definer.user, event.definer.host);
        let mut row = vec![s("def"), s(&*event.database), s(&*event.name), s(definer), s(&*event.time_zone)];
        let [kind, at, amount, unit, starts, ends] = schedule_values(&event);
        row.extend([s("SQL"), s(&*event.body), kind, at, amount, unit, s(&*event.sql_mode), starts, ends]);
        row.extend([s(event.status.word()), s(if event.preserve { "PRESERVE" } else { "NOT PRESERVE" })]);
        let local = |micros: i64| squall_system_tables::local_time(source.context, micros);
        row.extend([local(event.created_micros), local(event.altered_micros)]);
        row.extend([event.executed_micros.map_or(Value::Null, local), s(&*event.comment), u(1)]);
        row.extend([s(&*event.client_charset), s(&*event.connection_collation), s(&*event.database_collation)]);
        row
    };
    Ok(visible(shared, source).into_iter().map(row).collect())
}

/// SHOW EVENTS of a database.
pub(crate) fn event_status_rows(shared: &Shared, source: &Source<'_>, database: &str) -> Vec<Vec<Value>> {
    let row = |event: Arc<EventDef>| {
        let definer = format!("{}@{}", event.definer.user, event.definer.host);
        let mut row = vec![s(&*event.database), s(&*event.name), s(definer), s(&*event.time_zone)];
        row.extend(schedule_values(&event));
        row.extend([s(event.status.word()), u(1)]);
        row.extend([s(&*event.client_charset), s(&*event.connection_collation), s(&*event.database_collation)]);
        row
    };
    visible(shared, source).into_iter().filter(|event| event.database == database).map(row).collect()
}

/// The statement that makes an event.
fn create_text(event: &EventDef) -> String {
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

/// SHOW CREATE EVENT.
pub(crate) fn show_create_event(security: &SecurityContext<'_>, name: &ObjectName) -> SqlResult<ResultSet> {
    let (database, name) = security.qualify(name)?;
    if !security.access.on_database(&database).contains(Privileges::EVENT) {
        return Err(security.database_denied(&database));
    }
    let event = security.shared.events.get(&database, &name);
    let event = event.ok_or_else(|| SqlError::new(ErrorCode::NoSuchEvent, &[&name]))?;
    let mut result = ResultSet::of_texts(&[
        "Event",
        "sql_mode",
        "time_zone",
        "Create Event",
        "character_set_client",
        "collation_connection",
        "Database Collation",
    ]);
    let mut row = vec![s(&*event.name), s(&*event.sql_mode), s(&*event.time_zone), s(create_text(&event))];
    row.extend([s(&*event.client_charset), s(&*event.connection_collation), s(&*event.database_collation)]);
    result.rows.push(row);
    Ok(result)
}
