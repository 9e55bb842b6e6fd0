//! performance_schema's tables of the use of tables and indexes.

use super::performance_sums::timed;
use super::{DescribedTable, Source, s, s_or_null};
use squall_catalog::{Catalog, TableDef, TableEntry};
use squall_instrumentation::tables::{ByTable, TableTotals};
use squall_registry::VirtualScan;
use squall_types::{SqlResult, Value};
use std::collections::HashSet;
use std::sync::Arc;

const TABLE: &str = "TABLE";

pub(crate) const TABLES: &[DescribedTable] = &[
    (
        "table_io_waits_summary_by_table",
        "OBJECT_TYPE:v64? OBJECT_SCHEMA:v64? OBJECT_NAME:v64? * *READ *WRITE *FETCH *INSERT *UPDATE *DELETE",
        by_table,
    ),
    (
        "table_io_waits_summary_by_index_usage",
        "OBJECT_TYPE:v64? OBJECT_SCHEMA:v64? OBJECT_NAME:v64? INDEX_NAME:v64? * *READ *WRITE *FETCH *INSERT *UPDATE \
         *DELETE",
        by_index,
    ),
    ("objects_summary_global_by_type", "OBJECT_TYPE:v64? OBJECT_SCHEMA:v64? OBJECT_NAME:v64? *", objects),
];

/// The base tables, in the order of their names.
fn base_tables(catalog: &Catalog) -> Vec<(&str, &Arc<TableDef>)> {
    let mut tables = Vec::new();
    for (name, database) in catalog.databases() {
        let entries = database.tables.values();
        tables.extend(entries.filter_map(|entry| match entry {
            TableEntry::Table(def) => Some((name.as_str(), def)),
            TableEntry::View(_) => None,
        }));
    }
    tables
}

fn counted(source: &Source<'_>, tables: &[(&str, &Arc<TableDef>)]) -> ByTable {
    let there: HashSet<_> = tables.iter().map(|(_, def)| def.id).collect();
    let processes = source.state.processes.all();
    let sessions = processes.iter().map(|process| &process.tables);
    source.state.statistics.tables.snapshot(sessions, |table| there.contains(&table))
}

/// What was done with tables that are there, by table and index.
pub(crate) fn rows_by_table(source: &Source<'_>) -> ByTable {
    counted(source, &base_tables(&source.catalog))
}

/// What was done with all tables.
pub(crate) fn all_tables(source: &Source<'_>) -> TableTotals {
    let mut sum = TableTotals::default();
    rows_by_table(source).values().for_each(|totals| sum.merge(totals));
    sum
}

fn operations(totals: &TableTotals) -> impl Iterator<Item = Value> {
    let fetched = totals.fetched;
    let times = [totals.all(), fetched, totals.written(), fetched, totals.inserted, totals.updated, totals.deleted];
    times.into_iter().flat_map(|times| timed(&times))
}

/// What was done with a table.
pub(crate) fn all_of(counted: &ByTable, def: &TableDef) -> TableTotals {
    let mut sum = TableTotals::default();
    let indexes = def.indexes.iter().map(|index| Some(index.id)).chain([None]);
    indexes.filter_map(|index| counted.get(&(def.id, index))).for_each(|totals| sum.merge(totals));
    sum
}

fn by_table(source: &Source<'_>, _: &VirtualScan<'_>) -> SqlResult<Vec<Vec<Value>>> {
    let tables = base_tables(&source.catalog);
    let counted = counted(source, &tables);
    let row = |(database, def): &(&str, &Arc<TableDef>)| {
        let names = [s(TABLE), s(*database), s(&def.name)];
        names.into_iter().chain(operations(&all_of(&counted, def))).collect()
    };
    Ok(tables.iter().map(row).collect())
}

/// What is done along no index, with NULL for its name: new rows, and reading all rows.
fn by_index(source: &Source<'_>, _: &VirtualScan<'_>) -> SqlResult<Vec<Vec<Value>>> {
    let tables = base_tables(&source.catalog);
    let counted = counted(source, &tables);
    let mut rows = Vec::new();
    for (database, def) in &tables {
        let indexes = def.indexes.iter().map(|index| (Some(index.id), Some(&index.name))).chain([(None, None)]);
        for (index, name) in indexes {
            let totals = counted.get(&(def.id, index)).copied().unwrap_or_default();
            let names = [s(TABLE), s(*database), s(&def.name), s_or_null(name)];
            rows.push(names.into_iter().chain(operations(&totals)).collect());
        }
    }
    Ok(rows)
}

fn objects(source: &Source<'_>, _: &VirtualScan<'_>) -> SqlResult<Vec<Vec<Value>>> {
    let tables = base_tables(&source.catalog);
    let counted = counted(source, &tables);
    let row = |(database, def): &(&str, &Arc<TableDef>)| {
        let names = [s(TABLE), s(*database), s(&def.name)];
        names.into_iter().chain(timed(&all_of(&counted, def).all())).collect()
    };
    Ok(tables.iter().map(row).collect())
}
