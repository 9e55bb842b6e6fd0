//! information_schema's tables of dependencies between objects, and of further properties of columns, tables and databases.

use super::{ColumnSpec, Source, TableSpec, int, json, local_time, long_text, s, text, time, u, uint};
use crate::partition_text;
use squall_catalog::{PartitionSet, Partitioning, RoutineKind, TableDef, TableEntry, ViewDef};
use squall_parser::ast::{NameMut, ObjectName};
use squall_parser::keywords;
use squall_planner::bind::parse_view;
use squall_registry::VirtualScan;
use squall_types::{SqlResult, Value};
use std::collections::BTreeSet;

const DATABASE: &str = "information_schema";

pub(crate) const TABLES: &[TableSpec] = &[
    TableSpec {
        database: DATABASE,
        name: "VIEW_TABLE_USAGE",
        columns: &[
            text("VIEW_CATALOG", 64),
            text("VIEW_SCHEMA", 64),
            text("VIEW_NAME", 64),
            text("TABLE_CATALOG", 64),
            text("TABLE_SCHEMA", 64),
            text("TABLE_NAME", 64),
        ],
        rows: view_table_usage,
    },
    TableSpec {
        database: DATABASE,
        name: "VIEW_ROUTINE_USAGE",
        columns: &[
            text("TABLE_CATALOG", 64),
            text("TABLE_SCHEMA", 64),
            text("TABLE_NAME", 64),
            text("SPECIFIC_CATALOG", 64),
            text("SPECIFIC_SCHEMA", 64),
            text("SPECIFIC_NAME", 64),
        ],
        rows: view_routine_usage,
    },
    TableSpec {
        database: DATABASE,
        name: "SCHEMATA_EXTENSIONS",
        columns: &[text("CATALOG_NAME", 64), text("SCHEMA_NAME", 64), text("OPTIONS", 256).or_null()],
        rows: |source, scan| {
            let databases = source.databases(scan.equal_text(1));
            Ok(databases.map(|database| vec![s("def"), s(&database.name), s("")]).collect())
        },
    },
    TableSpec {
        database: DATABASE,
        name: "TABLES_EXTENSIONS",
        columns: &[
            text("TABLE_CATALOG", 64),
            text("TABLE_SCHEMA", 64),
            text("TABLE_NAME", 64),
            json("ENGINE_ATTRIBUTE").or_null(),
            json("SECONDARY_ENGINE_ATTRIBUTE").or_null(),
        ],
        rows: |source, scan| {
            let tables = source.entries(scan.equal_text(1), scan.equal_text(2));
            let row = |database: &str, name: &str| vec![s("def"), s(database), s(name), Value::Null, Value::Null];
            Ok(tables.map(|(database, name, _)| row(&database.name, name)).collect())
        },
    },
    TableSpec {
        database: DATABASE,
        name: "COLUMNS_EXTENSIONS",
        columns: &[
            text("TABLE_CATALOG", 64),
            text("TABLE_SCHEMA", 64),
            text("TABLE_NAME", 64),
            text("COLUMN_NAME", 64),
            json("ENGINE_ATTRIBUTE").or_null(),
            json("SECONDARY_ENGINE_ATTRIBUTE").or_null(),
        ],
        rows: columns_extensions,
    },
    TableSpec {
        database: DATABASE,
        name: "TABLE_CONSTRAINTS_EXTENSIONS",
        columns: &[
            text("CONSTRAINT_CATALOG", 64),
            text("CONSTRAINT_SCHEMA", 64),
            text("CONSTRAINT_NAME", 64),
            text("TABLE_NAME", 64),
            json("ENGINE_ATTRIBUTE").or_null(),
            json("SECONDARY_ENGINE_ATTRIBUTE").or_null(),
        ],
        rows: table_constraints_extensions,
    },
    TableSpec { database: DATABASE, name: "PARTITIONS", columns: PARTITIONS, rows: partitions },
    TableSpec {
        database: DATABASE,
        name: "KEYWORDS",
        columns: &[text("WORD", 128).or_null(), int("RESERVED").or_null()],
        rows: |_, _| {
            let mut words: Vec<_> = keywords().map(|(word, reserved)| (word.to_uppercase(), reserved)).collect();
            words.sort_unstable();
            Ok(words.into_iter().map(|(word, reserved)| vec![s(word), Value::Int(i64::from(reserved))]).collect())
        },
    },
];

const PARTITIONS: &[ColumnSpec] = &[
    text("TABLE_CATALOG", 64),
    text("TABLE_SCHEMA", 64),
    text("TABLE_NAME", 64),
    text("PARTITION_NAME", 64).or_null(),
    text("SUBPARTITION_NAME", 64).or_null(),
    uint("PARTITION_ORDINAL_POSITION").or_null(),
    uint("SUBPARTITION_ORDINAL_POSITION").or_null(),
    text("PARTITION_METHOD", 13).or_null(),
    text("SUBPARTITION_METHOD", 13).or_null(),
    text("PARTITION_EXPRESSION", 2048).or_null(),
    text("SUBPARTITION_EXPRESSION", 2048).or_null(),
    long_text("PARTITION_DESCRIPTION").or_null(),
    uint("TABLE_ROWS"),
    uint("AVG_ROW_LENGTH"),
    uint("DATA_LENGTH"),
    uint("MAX_DATA_LENGTH").or_null(),
    uint("INDEX_LENGTH"),
    uint("DATA_FREE"),
    time("CREATE_TIME"),
    time("UPDATE_TIME").or_null(),
    time("CHECK_TIME").or_null(),
    int("CHECKSUM").or_null(),
    long_text("PARTITION_COMMENT"),
    text("NODEGROUP", 256),
    text("TABLESPACE_NAME", 268).or_null(),
];

/// The tables and views that a view reads, by database and name: the text of a view has all names in full.
fn tables_of_view(database: &str, view: &ViewDef) -> BTreeSet<(String, String)> {
    let mut names = BTreeSet::new();
    if let Ok(mut query) = parse_view(view, database) {
        query.for_each_table_mut(&mut |name: &mut ObjectName| {
            let schema = name.schema.as_ref().map_or(database, |schema| schema.as_str());
            names.insert((schema.to_string(), name.name.to_string()));
        });
    }
    names
}

fn view_table_usage(source: &Source<'_>, scan: &VirtualScan<'_>) -> SqlResult<Vec<Vec<Value>>> {
    let mut rows = Vec::new();
    for (database, name, entry) in source.entries(scan.equal_text(1), scan.equal_text(2)) {
        let TableEntry::View(view) = entry else { continue };
        for (schema, table) in tables_of_view(&database.name, view) {
            if source.access.sees_table(&schema, &table) {
                rows.push(vec![s("def"), s(&database.name), s(name), s("def"), s(schema), s(table)]);
            }
        }
    }
    Ok(rows)
}

/// Stored functions that a view calls, by database and name.
fn functions_of_view(source: &Source<'_>, database: &str, view: &ViewDef) -> BTreeSet<(String, String)> {
    let mut functions = BTreeSet::new();
    if let Ok(mut query) = parse_view(view, database) {
        query.for_each_name_mut(&mut |name| {
            let NameMut::Function(call) = name else { return };
            let schema = call.schema.as_ref().map_or(database, |schema| schema.as_str());
            if let Some(routine) = source.catalog.routine(schema, RoutineKind::Function, &call.name) {
                functions.insert((schema.to_string(), routine.name.clone()));
            }
        });
    }
    functions
}

fn view_routine_usage(source: &Source<'_>, scan: &VirtualScan<'_>) -> SqlResult<Vec<Vec<Value>>> {
    let mut rows = Vec::new();
    for (database, name, entry) in source.entries(scan.equal_text(1), scan.equal_text(2)) {
        let TableEntry::View(view) = entry else { continue };
        for (schema, function) in functions_of_view(source, &database.name, view) {
            rows.push(vec![s("def"), s(&database.name), s(name), s("def"), s(schema), s(function)]);
        }
    }
    Ok(rows)
}

fn columns_extensions(source: &Source<'_>, scan: &VirtualScan<'_>) -> SqlResult<Vec<Vec<Value>>> {
    let mut rows = Vec::new();
    for (database, name, entry) in source.entries(scan.equal_text(1), scan.equal_text(2)) {
        let columns: Vec<&str> = match entry {
            TableEntry::Table(table) => table.named_columns().iter().map(|column| column.name.as_str()).collect(),
            TableEntry::View(view) => view.columns.iter().map(String::as_str).collect(),
        };
        for column in columns {
            if source.access.sees_column(&database.name, name, column) {
                rows.push(vec![s("def"), s(&database.name), s(name), s(column), Value::Null, Value::Null]);
            }
        }
    }
    Ok(rows)
}

fn table_constraints_extensions(source: &Source<'_>, scan: &VirtualScan<'_>) -> SqlResult<Vec<Vec<Value>>> {
    let mut rows = Vec::new();
    for (database, name, entry) in source.entries(scan.equal_text(1), scan.equal_text(3)) {
        let TableEntry::Table(table) = entry else { continue };
        for index in table.indexes.iter().filter(|index| index.unique) {
            rows.push(vec![s("def"), s(&database.name), s(&index.name), s(name), Value::Null, Value::Null]);
        }
    }
    Ok(rows)
}

/// A row for each partition or subpartition, and one for each table without.
fn partitions(source: &Source<'_>, scan: &VirtualScan<'_>) -> SqlResult<Vec<Vec<Value>>> {
    let store = &source.state.store;
    let mut rows = Vec::new();
    for (database, name, entry) in source.entries(scan.equal_text(1), scan.equal_text(2)) {
        let TableEntry::Table(table) = entry else { continue };
        let whole = store.table(table)?;
        let mut storages = vec![(whole.clone(), vec![Value::Null; 9], s(""))];
        if let Some(partitioning) = &table.partitioning {
            storages.clear();
            for (number, (names, comment)) in partition_names(table, partitioning).into_iter().enumerate() {
                let mut one = PartitionSet::none(partitioning.storages().count());
                one.insert(number);
                storages.push((whole.restricted(&one), names, comment));
            }
        }
        for (data, names, comment) in storages {
            let (statistics, level) = (store.table_stats(&data), store.level_bytes(&data)?);
            let bytes = statistics.data_bytes + level.data;
            let mut row = vec![s("def"), s(&database.name), s(name)];
            let is_partition = !names[0].is_null();
            row.extend(names);
            row.extend([
                u(statistics.row_count),
                u(bytes.checked_div(statistics.row_count).unwrap_or(0)),
                u(bytes),
                u(0),
                u(statistics.index_bytes + level.index),
                u(0),
                local_time(source.context, table.created_micros),
                Value::Null,
                Value::Null,
                Value::Null,
                comment,
                if is_partition { s("default") } else { s("") },
                Value::Null,
            ]);
            rows.push(row);
        }
    }
    Ok(rows)
}

/// Columns 4 to 12 of each partition or subpartition, and its comment.
fn partition_names(table: &TableDef, partitioning: &Partitioning) -> Vec<(Vec<Value>, Value)> {
    let sub = partitioning.subpartition.as_ref();
    let mut rows = Vec::new();
    for (at, partition) in partitioning.partitions.iter().enumerate() {
        for (sub_at, storage) in partition.storages.iter().enumerate() {
            let optional = |value: Option<Value>| value.unwrap_or(Value::Null);
            let names = vec![
                s(&partition.name),
                optional(sub.map(|_| s(&storage.name))),
                u(at as u64 + 1),
                optional(sub.map(|_| u(sub_at as u64 + 1))),
                s(partitioning.scheme.name()),
                optional(sub.map(|sub| s(sub.name()))),
                s(partition_text::expression_text(table, &partitioning.scheme)),
                optional(sub.map(|sub| s(partition_text::expression_text(table, sub)))),
                optional(partition_text::values_text(table, &partitioning.scheme, &partition.values).map(s)),
            ];
            let comment = if storage.comment.is_empty() { &partition.comment } else { &storage.comment };
            rows.push((names, s(comment)));
        }
    }
    rows
}
