//! information_schema.EVENTS.

use squall_system_tables::{ColumnSpec, TableSpec, long_text, no_rows, text, time, uint};

pub(super) const EVENTS_TABLE: TableSpec =
    TableSpec { database: "information_schema", name: "EVENTS", columns: EVENTS, rows: no_rows };

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
