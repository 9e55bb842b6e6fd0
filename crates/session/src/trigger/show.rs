//! SHOW TRIGGERS and SHOW CREATE TRIGGER.

use crate::authorization::SecurityContext;
use crate::result::{ResultSet, text_column, typed_column};
use squall_catalog::{Need, Privileges};
use squall_parser::ast::ObjectName;
use squall_statement_context::StatementContext;
use squall_system_tables::s;
use squall_system_tables::triggers::{TriggerView, trigger_views};
use squall_types::{ErrorCode, SqlError, SqlResult, SqlType};
use std::sync::Arc;

/// When a trigger was made, in hundredths of a second.
const CREATED: SqlType = SqlType::Timestamp { fsp: 2 };

/// SHOW TRIGGERS of a database.
pub(crate) fn show_triggers(
    security: &SecurityContext<'_>,
    database: &str,
    context: &Arc<StatementContext>,
) -> ResultSet {
    let mut result = ResultSet::of_texts(&["Trigger", "Event", "Table", "Statement", "Timing"]);
    result.columns.push(typed_column("Created", CREATED, false));
    let names = ["sql_mode", "Definer", "character_set_client", "collation_connection", "Database Collation"];
    result.columns.extend(names.map(|name| text_column(name, 288)));
    let source = security.source(context);
    let row = |view: TriggerView<'_>| {
        let def = view.def;
        let mut row = vec![s(&*def.name), s(def.event.word()), s(&*view.table.name), s(&*def.body)];
        row.extend([s(def.time.word()), view.created(context), s(view.sql_mode()), s(view.definer())]);
        row.extend([s(&*def.client_charset), s(&*def.connection_collation), s(&*def.database_collation)]);
        row
    };
    result.rows = trigger_views(&source, Some(database), None).map(row).collect();
    result
}

/// SHOW CREATE TRIGGER (1227 without TRIGGER on the table, 1360).
pub(crate) fn show_create_trigger(
    security: &SecurityContext<'_>,
    name: &ObjectName,
    context: &Arc<StatementContext>,
) -> SqlResult<ResultSet> {
    let (database, name) = security.qualify(name)?;
    let catalog = security.shared.catalog.load();
    let found = catalog.trigger(&database, &name).ok_or_else(|| SqlError::new(ErrorCode::TriggerDoesNotExist, &[]));
    let (table, def) = found?;
    if !security.access.on_table(&database, &table.name).contains(Privileges::TRIGGER) {
        security.check_needs(&[Need::server(Privileges::TRIGGER, &[], "TRIGGER")])?;
    }
    let view = TriggerView { database: &database, table, def, order: 0 };
    let mut result = ResultSet::of_texts(&[
        "Trigger",
        "sql_mode",
        "SQL Original Statement",
        "character_set_client",
        "collation_connection",
        "Database Collation",
    ]);
    result.columns.push(typed_column("Created", CREATED, false));
    let mut row = vec![s(&*def.name), s(view.sql_mode()), s(view.create_text())];
    row.extend([s(&*def.client_charset), s(&*def.connection_collation), s(&*def.database_collation)]);
    row.push(view.created(context));
    result.rows.push(row);
    Ok(result)
}
