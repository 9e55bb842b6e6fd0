//! SHOW CREATE EVENT.

use crate::authorization::SecurityContext;
use crate::result::ResultSet;
use squall_catalog::Privileges;
use squall_parser::ast::ObjectName;
use squall_system_tables::events::create_event_text;
use squall_system_tables::s;
use squall_types::{ErrorCode, SqlError, SqlResult};

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
    let mut row = vec![s(&*event.name), s(&*event.sql_mode), s(&*event.time_zone), s(create_event_text(&event))];
    row.extend([s(&*event.client_charset), s(&*event.connection_collation), s(&*event.database_collation)]);
    result.rows.push(row);
    Ok(result)
}
