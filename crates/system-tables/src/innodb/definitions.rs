//! Tables, columns, keys and foreign keys by their numbers.

use super::PAGE_BYTES;
use crate::source::Source;
use crate::spec::{TableSpec, blob, int, int32, long_text, s, small_uint, text, u, uint};
use crate::tables::row_format;
use squall_catalog::{Database, ForeignKey, IndexDef, ReferentialAction, TableDef, TableEntry};
use squall_registry::VirtualScan;
use squall_row_store::TableStatistics;
use squall_types::{IntWidth, SqlResult, SqlType, StringKind, Value};
use std::sync::Arc;

const DATABASE: &str = "information_schema";

pub(crate) const TABLES: &[TableSpec] = &[
    TableSpec {
        database: DATABASE,
        name: "INNODB_TABLES",
        columns: &[
            uint("TABLE_ID"),
            text("NAME", 655),
            int32("FLAG"),
            int32("N_COLS"),
            int("SPACE"),
            text("ROW_FORMAT", 12).or_null(),
            small_uint("ZIP_PAGE_SIZE"),
            text("SPACE_TYPE", 10).or_null(),
            int32("INSTANT_COLS"),
            int32("TOTAL_ROW_VERSIONS"),
        ],
        rows: tables,
    },
    TableSpec {
        database: DATABASE,
        name: "INNODB_TABLESPACES",
        columns: &[
            small_uint("SPACE"),
            text("NAME", 655),
            small_uint("FLAG"),
            text("ROW_FORMAT", 22).or_null(),
            small_uint("PAGE_SIZE"),
            small_uint("ZIP_PAGE_SIZE"),
            text("SPACE_TYPE", 10).or_null(),
            small_uint("FS_BLOCK_SIZE"),
            uint("FILE_SIZE"),
            uint("ALLOCATED_SIZE"),
            uint("AUTOEXTEND_SIZE"),
            text("SERVER_VERSION", 10).or_null(),
            small_uint("SPACE_VERSION"),
            text("ENCRYPTION", 1).or_null(),
            text("STATE", 10).or_null(),
        ],
        rows: tablespaces,
    },
    TableSpec {
        database: DATABASE,
        name: "INNODB_TABLESTATS",
        columns: &[
            uint("TABLE_ID"),
            text("NAME", 193),
            text("STATS_INITIALIZED", 193),
            uint("NUM_ROWS"),
            uint("CLUST_INDEX_SIZE"),
            uint("OTHER_INDEX_SIZE"),
            uint("MODIFIED_COUNTER"),
            uint("AUTOINC"),
            int32("REF_COUNT"),
        ],
        rows: table_statistics,
    },
    TableSpec {
        database: DATABASE,
        name: "INNODB_COLUMNS",
        columns: &[
            uint("TABLE_ID"),
            text("NAME", 193),
            uint("POS"),
            int32("MTYPE"),
            int32("PRTYPE"),
            int32("LEN"),
            int32("HAS_DEFAULT"),
            long_text("DEFAULT_VALUE").or_null(),
        ],
        rows: columns,
    },
    TableSpec {
        database: DATABASE,
        name: "INNODB_INDEXES",
        columns: &[
            uint("INDEX_ID"),
            text("NAME", 193),
            uint("TABLE_ID"),
            int32("TYPE"),
            int32("N_FIELDS"),
            int32("PAGE_NO"),
            int32("SPACE"),
            int32("MERGE_THRESHOLD"),
        ],
        rows: indexes,
    },
    TableSpec {
        database: DATABASE,
        name: "INNODB_FIELDS",
        columns: &[blob("INDEX_ID").or_null(), text("NAME", 64), uint("POS")],
        rows: fields,
    },
    TableSpec {
        database: DATABASE,
        name: "INNODB_FOREIGN",
        columns: &[
            text("ID", 129).or_null(),
            text("FOR_NAME", 129).or_null(),
            text("REF_NAME", 129).or_null(),
            int("N_COLS"),
            uint("TYPE"),
        ],
        rows: foreign_keys,
    },
    TableSpec {
        database: DATABASE,
        name: "INNODB_FOREIGN_COLS",
        columns: &[text("ID", 129).or_null(), text("FOR_COL_NAME", 64), text("REF_COL_NAME", 64), small_uint("POS")],
        rows: foreign_key_columns,
    },
];

/// What InnoDB's number of fields counts beside the columns: row id, transaction and rollback pointer.
const SYSTEM_COLUMNS: usize = 3;

/// The flags of a table and of its space, of the formats DYNAMIC and COMPACT.
const TABLE_FLAG: i64 = 33;
const SPACE_FLAG: u64 = 16_417;

fn base_tables<'s>(source: &'s Source<'_>) -> impl Iterator<Item = (&'s Database, &'s Arc<TableDef>)> {
    source.entries(None, None).filter_map(|(database, _, entry)| match entry {
        TableEntry::Table(table) => Some((database, table)),
        TableEntry::View(_) => None,
    })
}

fn name_of(database: &str, table: &str) -> Value {
    s(format!("{database}/{table}"))
}

/// The number of a key: tables number their own.
fn index_number(table: &TableDef, index: &IndexDef) -> u64 {
    u64::from(table.id.0) << 16 | u64::from(index.id.0 & 0xFFFF)
}

pub(super) fn tables(source: &Source<'_>, _: &VirtualScan<'_>) -> SqlResult<Vec<Vec<Value>>> {
    let row = |(database, table): (&Database, &Arc<TableDef>)| {
        let id = u64::from(table.id.0);
        vec![
            u(id),
            name_of(&database.name, &table.name),
            Value::Int(TABLE_FLAG),
            Value::Int((table.columns.len() + SYSTEM_COLUMNS) as i64),
            Value::Int(id as i64),
            s(row_format(table)),
            u(0),
            s("Single"),
            Value::Int(0),
            Value::Int(0),
        ]
    };
    Ok(base_tables(source).map(row).collect())
}

fn statistics(source: &Source<'_>, table: &Arc<TableDef>) -> SqlResult<TableStatistics> {
    let store = &source.state.store;
    let data = store.table(table)?;
    let (statistics, level) = (store.table_stats(&data), store.level_bytes(&data)?);
    Ok(TableStatistics {
        data_bytes: statistics.data_bytes + level.data,
        index_bytes: statistics.index_bytes + level.index,
        ..statistics
    })
}

fn tablespaces(source: &Source<'_>, _: &VirtualScan<'_>) -> SqlResult<Vec<Vec<Value>>> {
    let row = |(database, table): (&Database, &Arc<TableDef>)| {
        let sizes = statistics(source, table)?;
        let bytes = sizes.data_bytes + sizes.index_bytes;
        Ok(vec![
            u(u64::from(table.id.0)),
            name_of(&database.name, &table.name),
            u(SPACE_FLAG),
            s(row_format(table)),
            u(PAGE_BYTES),
            u(0),
            s("Single"),
            u(4096),
            u(bytes),
            u(bytes),
            u(0),
            s("8.4.0"),
            u(1),
            s("N"),
            s("normal"),
        ])
    };
    base_tables(source).map(row).collect()
}

pub(super) fn table_statistics(source: &Source<'_>, _: &VirtualScan<'_>) -> SqlResult<Vec<Vec<Value>>> {
    let store = &source.state.store;
    let row = |(database, table): (&Database, &Arc<TableDef>)| {
        let sizes = statistics(source, table)?;
        let has_counter = table.columns.iter().any(|column| column.auto_increment);
        let next = if has_counter { store.peek_auto_increment(&*store.table(table)?) } else { 0 };
        Ok(vec![
            u(u64::from(table.id.0)),
            name_of(&database.name, &table.name),
            s("Initialized"),
            u(sizes.row_count),
            u(sizes.data_bytes.div_ceil(PAGE_BYTES)),
            u(sizes.index_bytes.div_ceil(PAGE_BYTES)),
            u(0),
            u(next),
            Value::Int(1),
        ])
    };
    base_tables(source).map(row).collect()
}

/// InnoDB's kind of a type, MySQL's number of it, and its bytes.
fn type_numbers(sql_type: &SqlType) -> (i64, i64, i64) {
    /// Kinds.
    const FIXED_BINARY: i64 = 3;
    const BINARY: i64 = 4;
    const BLOB: i64 = 5;
    const INTEGER: i64 = 6;
    const FLOAT: i64 = 9;
    const DOUBLE: i64 = 10;
    const VARCHAR: i64 = 12;
    const CHAR: i64 = 13;
    match sql_type {
        SqlType::Int { width, .. } => match width {
            IntWidth::Tiny => (INTEGER, 1, 1),
            IntWidth::Small => (INTEGER, 2, 2),
            IntWidth::Medium => (INTEGER, 9, 3),
            IntWidth::Int => (INTEGER, 3, 4),
            IntWidth::Big => (INTEGER, 8, 8),
        },
        SqlType::Year => (INTEGER, 13, 1),
        SqlType::Enum { .. } => (INTEGER, 254, 2),
        SqlType::Set { .. } => (INTEGER, 254, 8),
        SqlType::Bit { .. } => (FIXED_BINARY, 16, 8),
        SqlType::Decimal { .. } => (FIXED_BINARY, 246, 5),
        SqlType::Float { .. } => (FLOAT, 4, 4),
        SqlType::Double { .. } => (DOUBLE, 5, 8),
        SqlType::Date => (INTEGER, 10, 3),
        SqlType::Time { .. } => (INTEGER, 11, 3),
        SqlType::Timestamp { .. } => (INTEGER, 7, 4),
        SqlType::DateTime { .. } => (FIXED_BINARY, 12, 5),
        SqlType::Json => (BLOB, 245, 12),
        SqlType::String { kind, length, .. } => {
            let bytes = i64::from(*length);
            match kind {
                StringKind::Text(_) => (BLOB, 252, 10),
                StringKind::Char if sql_type.is_binary_string() => (FIXED_BINARY, 254, bytes),
                StringKind::Char => (CHAR, 254, bytes),
                _ if sql_type.is_binary_string() => (BINARY, 15, bytes),
                _ => (VARCHAR, 15, bytes),
            }
        }
        other => (BINARY, 15, other.digit_bytes().unwrap_or_default() as i64),
    }
}

pub(super) fn columns(source: &Source<'_>, _: &VirtualScan<'_>) -> SqlResult<Vec<Vec<Value>>> {
    const NOT_NULL: i64 = 256;
    const UNSIGNED: i64 = 512;
    const BINARY_TYPE: i64 = 1024;
    let mut rows = Vec::new();
    for (_, table) in base_tables(source) {
        for (at, column) in table.named_columns().iter().enumerate() {
            let (kind, number, bytes) = type_numbers(&column.sql_type);
            let mut precise = number;
            precise |= if column.nullable { 0 } else { NOT_NULL };
            precise |= if matches!(column.sql_type, SqlType::Int { unsigned: true, .. }) { UNSIGNED } else { 0 };
            let is_text = column.sql_type.is_string() && !column.sql_type.is_binary_string();
            precise |= if is_text { 0 } else { BINARY_TYPE };
            precise |= column.sql_type.collation().map_or(0, |collation| i64::from(collation.0) << 16);
            rows.push(vec![
                u(u64::from(table.id.0)),
                s(&column.name),
                u(at as u64),
                Value::Int(kind),
                Value::Int(precise),
                Value::Int(bytes),
                Value::Int(0),
                Value::Null,
            ]);
        }
    }
    Ok(rows)
}

pub(super) fn indexes(source: &Source<'_>, _: &VirtualScan<'_>) -> SqlResult<Vec<Vec<Value>>> {
    const UNIQUE: i64 = 2;
    const CLUSTERED: i64 = 3;
    const FULLTEXT: i64 = 32;
    /// MERGE_THRESHOLD unless a comment says otherwise.
    const THRESHOLD: i64 = 50;
    let mut rows = Vec::new();
    for (_, table) in base_tables(source) {
        for index in &table.indexes {
            let kind = match index {
                index if index.primary => CLUSTERED,
                index if index.is_fulltext() => FULLTEXT,
                index if index.unique => UNIQUE,
                _ => 0,
            };
            rows.push(vec![
                u(index_number(table, index)),
                s(&index.name),
                u(u64::from(table.id.0)),
                Value::Int(kind),
                Value::Int(index.parts.len() as i64),
                Value::Int(0),
                Value::Int(i64::from(table.id.0)),
                Value::Int(THRESHOLD),
            ]);
        }
    }
    Ok(rows)
}

pub(super) fn fields(source: &Source<'_>, _: &VirtualScan<'_>) -> SqlResult<Vec<Vec<Value>>> {
    let mut rows = Vec::new();
    for (_, table) in base_tables(source) {
        for index in &table.indexes {
            let number = index_number(table, index).to_string().into_bytes();
            for (at, ordinal) in table.index_ordinals(index).into_iter().enumerate() {
                let column = &table.columns[ordinal];
                rows.push(vec![Value::Bytes(number.clone()), s(&column.name), u(at as u64)]);
            }
        }
    }
    Ok(rows)
}

/// InnoDB's flags of what happens to rows that refer to others.
fn action_flags(key: &ForeignKey) -> u64 {
    let flag = |action, [cascade, set_null, no_action]: [u64; 3]| match action {
        ReferentialAction::Cascade => cascade,
        ReferentialAction::SetNull => set_null,
        ReferentialAction::NoAction => no_action,
        ReferentialAction::Restrict => 0,
    };
    flag(key.on_delete, [1, 2, 16]) | flag(key.on_update, [4, 8, 32])
}

pub(super) fn foreign_keys(source: &Source<'_>, _: &VirtualScan<'_>) -> SqlResult<Vec<Vec<Value>>> {
    let mut rows = Vec::new();
    for (database, table) in base_tables(source) {
        rows.extend(table.foreign_keys.iter().map(|key| {
            vec![
                name_of(&database.name, &key.name),
                name_of(&database.name, &table.name),
                name_of(&key.parent_database, &key.parent_table),
                Value::Int(key.columns.len() as i64),
                u(action_flags(key)),
            ]
        }));
    }
    Ok(rows)
}

pub(super) fn foreign_key_columns(source: &Source<'_>, _: &VirtualScan<'_>) -> SqlResult<Vec<Vec<Value>>> {
    let mut rows = Vec::new();
    for (database, table) in base_tables(source) {
        for key in &table.foreign_keys {
            let parent = source.catalog.table(&key.parent_database, &key.parent_table);
            let parents = key.parent_columns.names(parent.map(|parent| &**parent));
            let own = key.columns.iter().filter_map(|id| table.ordinal(*id));
            for ((ordinal, parent), at) in own.zip(parents).zip(1..) {
                let own = &table.columns[ordinal].name;
                rows.push(vec![name_of(&database.name, &key.name), s(own), s(parent), u(at)]);
            }
        }
    }
    Ok(rows)
}
