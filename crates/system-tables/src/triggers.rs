//! information_schema.TRIGGERS, and the rows of SHOW TRIGGERS.

use crate::quoting::quote;
use crate::spec::hundredths;
use crate::{ColumnSpec, Source, TableSpec, local_micros, long_text, s, text, u, uint};
use squall_catalog::{Privileges, TableDef, TableEntry, TriggerDef};
use squall_registry::VirtualScan;
use squall_statement_context::StatementContext;
use squall_types::{SqlMode, SqlResult, Value};
use std::sync::Arc;

pub(crate) const TABLES: &[TableSpec] =
    &[TableSpec { database: "information_schema", name: "TRIGGERS", columns: TRIGGERS, rows: triggers }];

const TRIGGERS: &[ColumnSpec] = &[
    text("TRIGGER_CATALOG", 64),
    text("TRIGGER_SCHEMA", 64),
    text("TRIGGER_NAME", 64),
    text("EVENT_MANIPULATION", 6),
    text("EVENT_OBJECT_CATALOG", 64),
    text("EVENT_OBJECT_SCHEMA", 64),
    text("EVENT_OBJECT_TABLE", 64),
    uint("ACTION_ORDER"),
    text("ACTION_CONDITION", 1).or_null(),
    long_text("ACTION_STATEMENT"),
    text("ACTION_ORIENTATION", 3),
    text("ACTION_TIMING", 6),
    text("ACTION_REFERENCE_OLD_TABLE", 1).or_null(),
    text("ACTION_REFERENCE_NEW_TABLE", 1).or_null(),
    text("ACTION_REFERENCE_OLD_ROW", 3),
    text("ACTION_REFERENCE_NEW_ROW", 3),
    hundredths("CREATED"),
    text("SQL_MODE", 520),
    text("DEFINER", 288),
    text("CHARACTER_SET_CLIENT", 64),
    text("COLLATION_CONNECTION", 64),
    text("DATABASE_COLLATION", 64),
];

/// A trigger with where it is.
#[derive(Clone, Copy, Debug)]
pub struct TriggerView<'a> {
    /// Its database.
    pub database: &'a str,
    /// Its table.
    pub table: &'a Arc<TableDef>,
    /// Its definition.
    pub def: &'a TriggerDef,
    /// Which of those of its time and event it is, from 1.
    pub order: u64,
}

/// The triggers of tables that the reader of a source has TRIGGER on, by database and table, in the order of the table's definition.
pub fn trigger_views<'s>(
    source: &'s Source<'_>,
    database: Option<&'s str>,
    table: Option<&'s str>,
) -> impl Iterator<Item = TriggerView<'s>> {
    let tables = source.entries(database, table).filter_map(|(database, _, entry)| match entry {
        TableEntry::Table(table) if !table.triggers.is_empty() => Some((database.name.as_str(), table)),
        _ => None,
    });
    let seen =
        tables.filter(|(database, table)| source.access.on_table(database, &table.name).contains(Privileges::TRIGGER));
    seen.flat_map(|(database, table)| {
        table.triggers.iter().enumerate().map(move |(at, def)| {
            let before = table.triggers[..at].iter().filter(|other| other.is_for(def.time, def.event)).count();
            TriggerView { database, table, def, order: before as u64 + 1 }
        })
    })
}

impl TriggerView<'_> {
    /// `user@host`.
    pub fn definer(&self) -> String {
        format!("{}@{}", self.def.definer.user, self.def.definer.host)
    }

    /// Words of the `sql_mode` that it runs in.
    pub fn sql_mode(&self) -> String {
        SqlMode(self.def.sql_mode).to_string()
    }

    /// When it was made, in the session's time zone, in hundredths of a second.
    pub fn created(&self, context: &StatementContext) -> Value {
        let micros = self.def.created_micros;
        local_micros(context, micros - micros.rem_euclid(10_000))
    }

    /// The statement that makes it on its table as that is called now.
    pub fn create_text(&self) -> String {
        let def = self.def;
        format!(
            "CREATE DEFINER={}@{} TRIGGER {} {} {} ON {} FOR EACH ROW {}",
            quote(&def.definer.user),
            quote(&def.definer.host),
            quote(&def.name),
            def.time.word(),
            def.event.word(),
            quote(&self.table.name),
            def.body
        )
    }
}

fn triggers(source: &Source<'_>, scan: &VirtualScan<'_>) -> SqlResult<Vec<Vec<Value>>> {
    let row = |view: TriggerView<'_>| {
        let def = view.def;
        let mut row = vec![s("def"), s(view.database), s(&*def.name), s(def.event.word()), s("def")];
        row.extend([s(view.database), s(&*view.table.name), u(view.order), Value::Null, s(&*def.body)]);
        row.extend([s("ROW"), s(def.time.word()), Value::Null, Value::Null, s("OLD"), s("NEW")]);
        row.extend([view.created(source.context), s(view.sql_mode()), s(view.definer())]);
        row.extend([s(&*def.client_charset), s(&*def.connection_collation), s(&*def.database_collation)]);
        row
    };
    Ok(trigger_views(source, scan.equal_text(5), scan.equal_text(6)).map(row).collect())
}
