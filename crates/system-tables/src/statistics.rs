//! STATISTICS: one row per part of a key.

use super::{ColumnSpec, Source, TableSpec, int, long_text, s, s_or_null, small_uint, text, u, yes_no};
use crate::type_text::{part_text, shown_type};
use squall_catalog::{IndexDef, IndexPart, TableDef, TableEntry};
use squall_registry::VirtualScan;
use squall_types::{SqlResult, Value};
use std::sync::Arc;

pub(crate) const TABLES: &[TableSpec] =
    &[TableSpec { database: "information_schema", name: "STATISTICS", columns: COLUMNS, rows: statistics }];

const COLUMNS: &[ColumnSpec] = &[
    text("TABLE_CATALOG", 64),
    text("TABLE_SCHEMA", 64),
    text("TABLE_NAME", 64),
    int("NON_UNIQUE"),
    text("INDEX_SCHEMA", 64),
    text("INDEX_NAME", 64).or_null(),
    small_uint("SEQ_IN_INDEX"),
    text("COLUMN_NAME", 64).or_null(),
    text("COLLATION", 1).or_null(),
    int("CARDINALITY").or_null(),
    int("SUB_PART").or_null(),
    text("PACKED", 1).or_null(),
    text("NULLABLE", 3),
    text("INDEX_TYPE", 11),
    text("COMMENT", 8),
    text("INDEX_COMMENT", 2048),
    text("IS_VISIBLE", 3),
    long_text("EXPRESSION").or_null(),
];

fn statistics(source: &Source<'_>, scan: &VirtualScan<'_>) -> SqlResult<Vec<Vec<Value>>> {
    let mut rows = Vec::new();
    for (database, _, entry) in source.entries(scan.equal_text(1), scan.equal_text(2)) {
        if let TableEntry::Table(table) = entry {
            rows.extend(index_rows(source.state, &database.name, table)?);
        }
    }
    Ok(rows)
}

/// The rows of one table.
pub fn index_rows(
    shared: &squall_server_state::ServerState,
    database: &str,
    table: &Arc<TableDef>,
) -> SqlResult<Vec<Vec<Value>>> {
    let data = shared.store.table(table)?;
    let row_count = shared.store.table_stats(&data).row_count;
    let mut rows = Vec::new();
    for index in &table.indexes {
        let distinct = shared.store.distinct_prefixes(&data, index.id);
        for (at, part) in index.parts.iter().enumerate() {
            let Some(column) = table.part_column(part) else { continue };
            let sampled = distinct.as_ref().and_then(|counts| counts.get(at).copied());
            // Hashes are of all parts together.
            let is_unknown = index.is_hashed() && at + 1 < index.parts.len();
            let cardinality = (!is_unknown).then(|| sampled.unwrap_or(row_count) as i64);
            rows.push(vec![
                s("def"),
                s(database),
                s(&table.name),
                Value::Int(i64::from(!index.unique)),
                s(database),
                s(&index.name),
                u(at as u64 + 1),
                if column.is_hidden() { Value::Null } else { s(&column.name) },
                order(index, part),
                cardinality.map_or(Value::Null, Value::Int),
                part_bytes(index, part).map_or(Value::Null, Value::Int),
                Value::Null,
                s(if column.nullable { "YES" } else { "" }),
                s(shown_type(index.index_type).name()),
                s(""),
                s(&index.comment),
                yes_no(!index.invisible),
                s_or_null(part_text(column)),
            ]);
        }
    }
    Ok(rows)
}

/// SUB_PART: a prefix's length, and the four numbers of a rectangle that MySQL has in its spatial keys.
fn part_bytes(index: &IndexDef, part: &IndexPart) -> Option<i64> {
    if index.is_spatial() { Some(32) } else { part.prefix.map(i64::from) }
}

/// A for ascending, D for descending; an index of words or documents has no order of the column's values.
fn order(index: &IndexDef, part: &IndexPart) -> Value {
    match (index.is_fulltext() || index.is_vector(), part.descending) {
        (true, _) => Value::Null,
        (false, true) => s("D"),
        (false, false) => s("A"),
    }
}
