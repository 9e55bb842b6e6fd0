//! SCHEMATA, TABLES, VIEWS.

use super::{
    ColumnSpec, Source, TableSpec, choice, int, local_time, long_text, s, s_or_null, text, time, u, uint, yes_no,
};
use squall_catalog::{Database, TableDef, TableEntry, ViewDef};
use squall_registry::VirtualScan;
use squall_types::{CollationId, SqlResult, Value};

const NAME: u32 = 64;

pub(crate) const TABLES: &[TableSpec] = &[
    TableSpec {
        database: "information_schema",
        name: "SCHEMATA",
        columns: &[
            text("CATALOG_NAME", NAME),
            text("SCHEMA_NAME", NAME),
            text("DEFAULT_CHARACTER_SET_NAME", NAME),
            text("DEFAULT_COLLATION_NAME", NAME),
            text("SQL_PATH", 1).or_null(),
            choice("DEFAULT_ENCRYPTION", &["NO", "YES"]),
        ],
        rows: schemata,
    },
    TableSpec { database: "information_schema", name: "TABLES", columns: TABLE_COLUMNS, rows: tables },
    TableSpec {
        database: "information_schema",
        name: "VIEWS",
        columns: &[
            text("TABLE_CATALOG", NAME),
            text("TABLE_SCHEMA", NAME),
            text("TABLE_NAME", NAME),
            long_text("VIEW_DEFINITION"),
            choice("CHECK_OPTION", &["NONE", "LOCAL", "CASCADED"]),
            choice("IS_UPDATABLE", &["NO", "YES"]),
            text("DEFINER", 288),
            text("SECURITY_TYPE", 7),
            text("CHARACTER_SET_CLIENT", NAME),
            text("COLLATION_CONNECTION", NAME),
        ],
        rows: views,
    },
];

const TABLE_COLUMNS: &[ColumnSpec] = &[
    text("TABLE_CATALOG", NAME),
    text("TABLE_SCHEMA", NAME),
    text("TABLE_NAME", NAME),
    choice("TABLE_TYPE", &["BASE TABLE", "VIEW", "SYSTEM VIEW", "SEQUENCE"]),
    text("ENGINE", NAME).or_null(),
    int("VERSION").or_null(),
    choice("ROW_FORMAT", &["Fixed", "Dynamic", "Compressed", "Redundant", "Compact", "Paged"]).or_null(),
    uint("TABLE_ROWS").or_null(),
    uint("AVG_ROW_LENGTH").or_null(),
    uint("DATA_LENGTH").or_null(),
    uint("MAX_DATA_LENGTH").or_null(),
    uint("INDEX_LENGTH").or_null(),
    uint("DATA_FREE").or_null(),
    uint("AUTO_INCREMENT").or_null(),
    time("CREATE_TIME").or_null(),
    time("UPDATE_TIME").or_null(),
    time("CHECK_TIME").or_null(),
    text("TABLE_COLLATION", NAME).or_null(),
    int("CHECKSUM").or_null(),
    text("CREATE_OPTIONS", 256).or_null(),
    text("TABLE_COMMENT", 2048).or_null(),
];

fn schemata(source: &Source<'_>, scan: &VirtualScan<'_>) -> SqlResult<Vec<Vec<Value>>> {
    let wanted = scan.equal_text(1);
    let row = |name: &str, collation: CollationId| {
        vec![s("def"), s(name), s(collation.charset().name()), s(collation.name()), Value::Null, s("NO")]
    };
    let mut rows = Vec::new();
    for name in super::virtual_databases().iter().filter(|name| wanted.is_none_or(|wanted| wanted == **name)) {
        rows.push(row(name, CollationId::UTF8MB3_GENERAL_CI));
    }
    for database in source.databases(wanted) {
        rows.push(row(&database.name, database.collation));
    }
    Ok(rows)
}

impl Source<'_> {
    /// The databases that are visible, or the one that is wanted.
    pub(crate) fn databases(&self, wanted: Option<&str>) -> impl Iterator<Item = &Database> {
        self.catalog
            .databases()
            .values()
            .filter(move |database| wanted.is_none_or(|wanted| wanted == database.name))
            .filter(|database| self.access.sees_database(&database.name))
            .map(|database| &**database)
    }

    /// The tables and views that are visible.
    pub(crate) fn entries<'s>(
        &'s self,
        database: Option<&'s str>,
        table: Option<&'s str>,
    ) -> impl Iterator<Item = (&'s Database, &'s str, &'s TableEntry)> {
        self.databases(database).flat_map(move |database| {
            database
                .tables
                .iter()
                .filter(move |(name, _)| table.is_none_or(|table| table == name.as_str()))
                .filter(|(name, _)| self.access.sees_table(&database.name, name))
                .filter(|(name, _)| !crate::is_system_table(&database.name, name))
                .map(move |(name, entry)| (database, name.as_str(), entry))
        })
    }
}

fn tables(source: &Source<'_>, scan: &VirtualScan<'_>) -> SqlResult<Vec<Vec<Value>>> {
    let (database, table) = (scan.equal_text(1), scan.equal_text(2));
    let mut rows = Vec::new();
    for (database, _, entry) in source.entries(database, table) {
        rows.push(match entry {
            TableEntry::Table(table) => base_table_row(source, &database.name, table)?,
            TableEntry::View(view) => view_row(&database.name, view),
        });
    }
    let mut virtual_tables: Vec<(&str, &str)> = source
        .state
        .registry
        .virtual_tables()
        .map(|table| (table.database(), table.name()))
        .filter(|(database, name)| !crate::is_unlisted(database, name))
        .filter(|(name, _)| database.is_none_or(|database| database.eq_ignore_ascii_case(name)))
        .filter(|(_, name)| table.is_none_or(|table| table.eq_ignore_ascii_case(name)))
        .collect();
    virtual_tables.sort_unstable();
    rows.extend(virtual_tables.into_iter().map(|(database, name)| system_view_row(database, name)));
    Ok(rows)
}

fn base_table_row(source: &Source<'_>, database: &str, table: &std::sync::Arc<TableDef>) -> SqlResult<Vec<Value>> {
    let store = &source.state.store;
    let data = store.table(table)?;
    let statistics = store.table_stats(&data);
    let rows = statistics.row_count;
    let level = store.level_bytes(&data)?;
    let (data_bytes, index_bytes) = (statistics.data_bytes + level.data, statistics.index_bytes + level.index);
    let next = table.auto_increment_ordinal().map(|_| store.peek_auto_increment(&data));
    let mut options: Vec<String> =
        table.options.iter().map(|(name, value)| format!("{}={value}", name.to_ascii_lowercase())).collect();
    options.extend(table.partitioning.as_ref().map(|_| "partitioned".to_string()));
    Ok(vec![
        s("def"),
        s(database),
        s(&table.name),
        s(table_type(table)),
        s(table.engine.as_str()),
        Value::Int(10),
        s(row_format(table)),
        u(rows),
        u(data_bytes.checked_div(rows).unwrap_or(0)),
        u(data_bytes),
        u(0),
        u(index_bytes),
        u(0),
        next.map_or(Value::Null, u),
        local_time(source.context, table.created_micros),
        Value::Null,
        Value::Null,
        s(table.collation.name()),
        Value::Null,
        s(options.join(" ")),
        s(&table.comment),
    ])
}

/// What TABLES says that a table is.
pub fn table_type(table: &TableDef) -> &'static str {
    if table.is_sequence() { "SEQUENCE" } else { "BASE TABLE" }
}

/// The row format as InnoDB names it.
pub(crate) fn row_format(table: &TableDef) -> &'static str {
    let option = |wanted: &str| table.options.iter().find(|(name, _)| name == wanted).map(|(_, value)| value.as_str());
    match (option("ROW_FORMAT"), option("KEY_BLOCK_SIZE")) {
        (Some("COMPRESSED"), _) | (None, Some(_)) => "Compressed",
        (Some("COMPACT"), _) => "Compact",
        (Some("REDUNDANT"), _) => "Redundant",
        _ => "Dynamic",
    }
}

fn view_row(database: &str, view: &ViewDef) -> Vec<Value> {
    let mut row = vec![s("def"), s(database), s(&view.name), s("VIEW")];
    row.resize(TABLE_COLUMNS.len() - 1, Value::Null);
    row.push(s("VIEW"));
    row
}

fn system_view_row(database: &str, name: &str) -> Vec<Value> {
    let mut row =
        vec![s("def"), s(database), s(name), s("SYSTEM VIEW"), Value::Null, Value::Int(10), Value::Null, u(0)];
    row.resize(TABLE_COLUMNS.len() - 2, Value::Null);
    row.push(s(""));
    row.push(s(""));
    row
}

fn views(source: &Source<'_>, scan: &VirtualScan<'_>) -> SqlResult<Vec<Vec<Value>>> {
    let mut rows = Vec::new();
    for (database, name, entry) in source.entries(scan.equal_text(1), scan.equal_text(2)) {
        let TableEntry::View(view) = entry else { continue };
        let shows = source.access.on_table(&database.name, name).contains(squall_catalog::Privileges::SHOW_VIEW)
            || *view.definer == *source.context.current_user;
        rows.push(vec![
            s("def"),
            s(&database.name),
            s(name),
            s_or_null(Some(if shows { view.query.as_str() } else { "" })),
            s(&view.check_option),
            yes_no(!squall_planner::bind::updatable::updatable(&source.catalog, &database.name, view)?.is_empty()),
            s(&view.definer),
            s(if view.security_invoker { "INVOKER" } else { "DEFINER" }),
            s("utf8mb4"),
            s("utf8mb4_0900_ai_ci"),
        ]);
    }
    Ok(rows)
}
