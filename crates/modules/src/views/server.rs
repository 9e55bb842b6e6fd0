//! Metrics and versions of the server.

use super::source::{Row, Tables};
use super::view::{Names, View, count, host, long, name};
use squall_types::{SqlResult, Value};

/// The version of `sys` whose objects these are.
const SYS_VERSION: &str = "2.1.3";

pub(super) const VIEWS: &[View] = &[
    View {
        name: "metrics",
        names: Names::Plain,
        columns: &[host("Variable_name"), long("Variable_value"), host("Type"), name("Enabled")],
        rows: metrics,
        over_time: true,
    },
    View {
        name: "ps_check_lost_instrumentation",
        names: Names::Plain,
        columns: &[name("variable_name"), long("variable_value")],
        rows: |tables| {
            const PREFIX: &[u8] = b"performance_schema";
            let is_lost = |row: &Row<'_>| {
                let name = row.text("VARIABLE_NAME");
                let prefix = name.as_bytes().get(..PREFIX.len());
                prefix.is_some_and(|prefix| prefix.eq_ignore_ascii_case(PREFIX)) && name.ends_with("_lost")
            };
            let columns = &["VARIABLE_NAME", "VARIABLE_VALUE"];
            let status = tables.get_where("global_status", columns, &["VARIABLE_NAME"], is_lost)?;
            let rows = status.iter().filter(|row| row.text("VARIABLE_VALUE") != "0");
            Ok(rows.map(|row| vec![row.get("VARIABLE_NAME"), row.get("VARIABLE_VALUE")]).collect())
        },
        over_time: true,
    },
    View {
        name: "version",
        names: Names::Plain,
        columns: &[name("sys_version"), name("mysql_version")],
        rows: |tables| {
            let variables = tables.get("global_variables", &["VARIABLE_NAME", "VARIABLE_VALUE"])?;
            let version = variables.iter().find(|row| row.text("VARIABLE_NAME") == "version");
            Ok(vec![vec![Value::from(SYS_VERSION), version.map_or(Value::Null, |row| row.get("VARIABLE_VALUE"))]])
        },
        over_time: false,
    },
    View {
        name: "schema_object_overview",
        names: Names::Plain,
        columns: &[name("db"), name("object_type"), count("count")],
        rows: overview,
        over_time: false,
    },
];

fn metrics(tables: &mut Tables<'_>) -> SqlResult<Vec<Vec<Value>>> {
    let status = tables.get("global_status", &["VARIABLE_NAME", "VARIABLE_VALUE"])?;
    let row =
        |name: &str, value: Value, kind: &str| vec![Value::from(name), value, Value::from(kind), Value::from("YES")];
    let mut rows: Vec<Vec<Value>> = status
        .iter()
        .map(|variable| {
            let name = variable.text("VARIABLE_NAME").to_ascii_lowercase();
            row(&name, variable.get("VARIABLE_VALUE"), "Global Status")
        })
        .collect();
    let memory = tables
        .get("memory_summary_global_by_event_name", &["CURRENT_NUMBER_OF_BYTES_USED", "SUM_NUMBER_OF_BYTES_ALLOC"])?;
    for (name, column) in [
        ("memory_current_allocated", "CURRENT_NUMBER_OF_BYTES_USED"),
        ("memory_total_allocated", "SUM_NUMBER_OF_BYTES_ALLOC"),
    ] {
        let sum: u64 = memory.iter().map(|row| row.number(column)).sum();
        rows.push(row(name, Value::String(sum.to_string()), "Performance Schema"));
    }
    rows.sort_by(|left, right| {
        super::sums::order(left.get(2), right.get(2)).then_with(|| super::sums::order(left.first(), right.first()))
    });
    Ok(rows)
}

fn overview(tables: &mut Tables<'_>) -> SqlResult<Vec<Vec<Value>>> {
    let mut counts: std::collections::BTreeMap<(String, String), u64> = std::collections::BTreeMap::new();
    let mut add = |schema: &str, kind: String| *counts.entry((schema.to_string(), kind)).or_default() += 1;
    for table in tables.get_of("information_schema", "TABLES", &["TABLE_SCHEMA", "TABLE_TYPE"])?.iter() {
        add(table.text("TABLE_SCHEMA"), table.text("TABLE_TYPE").to_string());
    }
    for index in tables.get_of("information_schema", "STATISTICS", &["TABLE_SCHEMA", "INDEX_TYPE"])?.iter() {
        add(index.text("TABLE_SCHEMA"), format!("INDEX ({})", index.text("INDEX_TYPE")));
    }
    for routine in tables.get_of("information_schema", "ROUTINES", &["ROUTINE_SCHEMA", "ROUTINE_TYPE"])?.iter() {
        add(routine.text("ROUTINE_SCHEMA"), routine.text("ROUTINE_TYPE").to_string());
    }
    for event in tables.get_of("information_schema", "EVENTS", &["EVENT_SCHEMA", "EVENT_TYPE"])?.iter() {
        add(event.text("EVENT_SCHEMA"), "EVENT".to_string());
    }
    let row = |((schema, kind), count)| vec![Value::String(schema), Value::String(kind), Value::UInt(count)];
    Ok(counts.into_iter().map(row).collect())
}
