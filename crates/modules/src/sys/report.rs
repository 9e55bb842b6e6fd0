//! `diagnostics`: the state of the server, and its changes during a time.

use super::analyzer::{drop_temporary, shown};
use super::config::setting;
use super::saved_setup;
use super::statements::message;
use crate::views::view::{Kind, View};
use squall_session::procedure::Parameter;
use squall_session::result::ResultSet;
use squall_session::{Failure, ProcedureCall};
use squall_types::{CollationId, SqlError, SqlResult, SqlType, Value};
use std::collections::BTreeMap;
use std::time::Instant;

/// How long it takes, and the pause between two looks, unless the caller says otherwise.
const RUNTIME_SECONDS: i64 = 60;
const INTERVAL_SECONDS: i64 = 30;

const CONFIGURATIONS: &[&str] = &["current", "medium", "full"];

/// Views that are shown as they are at the end.
const OVERALL: &[&str] = &[
    "processlist",
    "innodb_lock_waits",
    "memory_global_total",
    "memory_global_by_current_bytes",
    "memory_by_user_by_current_bytes",
];
/// The tables that are shown with their final state and with their changes.
const COUNTED: &[&str] = &[
    "waits_global_by_latency",
    "io_global_by_file_by_bytes",
    "io_global_by_wait_by_latency",
    "user_summary",
    "host_summary",
    "user_summary_by_statement_type",
    "schema_table_statistics",
    "schema_index_statistics",
];
/// Those that read information_schema.
const OF_SCHEMAS: &[&str] = &["schema_object_overview", "schema_auto_increment_columns", "schema_redundant_indexes"];

/// The snapshot of statements at the beginning.
const STATEMENTS: &str = "sys.tmp_diagnostics_digests";

/// The parameters.
pub(super) fn parameters() -> Vec<Parameter> {
    let collation = CollationId::UTF8MB4_0900_AI_CI;
    let unsigned = match SqlType::INT {
        SqlType::Int { width, zerofill, display_width, .. } => {
            SqlType::Int { width, unsigned: true, zerofill, display_width }
        }
        other => other,
    };
    vec![
        Parameter::new("in_max_runtime", unsigned.clone()),
        Parameter::new("in_interval", unsigned),
        Parameter::new(
            "in_auto_config",
            SqlType::Enum { members: CONFIGURATIONS.iter().map(|name| name.to_string()).collect(), collation },
        ),
    ]
}

/// What was seen of a number.
struct Metric {
    kind: String,
    first: f64,
    last: f64,
    least: f64,
    greatest: f64,
    sum: f64,
    looks: u32,
}

/// The procedure.
pub(super) async fn diagnostics(call: &mut ProcedureCall<'_>) -> Result<(), Failure> {
    let runtime = call.number(0).unwrap_or(RUNTIME_SECONDS);
    let interval = call.number(1).unwrap_or(INTERVAL_SECONDS);
    let refusal = |message: &str| Failure::from(SqlError::signal(*b"45000", message));
    if runtime <= 0 {
        return Err(refusal("in_max_runtime must be greater than 0"));
    }
    if interval <= 0 {
        return Err(refusal("in_interval must be greater than 0"));
    }
    if runtime < interval {
        return Err(refusal("in_max_runtime must be greater than or equal to in_interval"));
    }
    // Everything that can be turned on is cheap: medium is as much as full.
    let sets_up = matches!(call.argument(2), Value::UInt(2 | 3));
    if sets_up {
        saved_setup::save(call, 0).await?;
        let sql = "UPDATE performance_schema.setup_consumers SET enabled = 'YES' WHERE name = 'global_instrumentation' OR \
                   name LIKE 'events_waits%'";
        call.query(sql).await?;
    }
    let reported = report(call, runtime, interval).await;
    drop_temporary(call, STATEMENTS).await?;
    call.query("CALL sys.statement_performance_analyzer('cleanup', NULL, NULL)").await?;
    if sets_up {
        saved_setup::reload(call).await?;
    }
    reported
}

fn is_on(call: &ProcedureCall<'_>, name: &str) -> bool {
    setting(call.context(), name).is_some_and(|value| value.eq_ignore_ascii_case("on"))
}

async fn report(call: &mut ProcedureCall<'_>, runtime: i64, interval: i64) -> Result<(), Failure> {
    let has_raw = is_on(call, "diagnostics.include_raw");
    title(call, "The server").await?;
    send(
        call,
        "SELECT 'Hostname' AS `Name`, @@global.hostname AS `Value` UNION ALL SELECT 'Port', @@global.port UNION ALL SELECT \
         'MySQL Version', VERSION() UNION ALL SELECT 'Report Time', NOW() UNION ALL SELECT 'Data Directory', \
         @@global.datadir UNION ALL SELECT 'Sys Schema Version', sys_version FROM sys.version",
    )
    .await?;
    title(call, "Storage engines").await?;
    send(call, "SELECT ENGINE, SUPPORT, COMMENT FROM information_schema.ENGINES ORDER BY ENGINE").await?;
    title(call, "Consumers").await?;
    send(call, "SELECT NAME, ENABLED FROM performance_schema.setup_consumers ORDER BY NAME").await?;
    title(call, "Variables that were changed").await?;
    send(
        call,
        "SELECT i.VARIABLE_NAME, v.VARIABLE_VALUE, i.VARIABLE_SOURCE FROM \
         performance_schema.variables_info AS i JOIN performance_schema.global_variables AS v USING (VARIABLE_NAME) WHERE \
         i.VARIABLE_SOURCE <> 'COMPILED' ORDER BY 1",
    )
    .await?;

    let started = Instant::now();
    let mut before = Vec::new();
    for view in views(COUNTED) {
        before.push((view, raw(call, view).await?));
    }
    if has_raw {
        for (view, rows) in &before {
            title(call, &format!("Initial sys.{}", view.name)).await?;
            call.send_rows(&shown(call, view, rows.clone())).await?;
        }
    }
    drop_temporary(call, STATEMENTS).await?;
    call.query(&format!("CALL sys.statement_performance_analyzer('create_tmp', '{STATEMENTS}', NULL)")).await?;
    call.query("CALL sys.statement_performance_analyzer('snapshot', NULL, NULL)").await?;
    call.query(&format!("CALL sys.statement_performance_analyzer('save', '{STATEMENTS}', NULL)")).await?;
    let mut metrics = BTreeMap::new();
    look(call, &mut metrics).await?;
    loop {
        let left = runtime as f64 - started.elapsed().as_secs_f64();
        if left <= 0.0 {
            break;
        }
        call.query(&format!("DO SLEEP({:.6})", left.min(interval as f64))).await?;
        look(call, &mut metrics).await?;
    }
    let elapsed = started.elapsed().as_secs_f64();

    for view in views(OVERALL) {
        let rows = raw(call, view).await?;
        title(call, &format!("Overall sys.{}", view.name)).await?;
        call.send_rows(&shown(call, view, rows)).await?;
    }
    if is_on(call, "diagnostics.allow_i_s_tables") {
        for view in views(OF_SCHEMAS) {
            let rows = raw(call, view).await?;
            title(call, &format!("Overall sys.{}", view.name)).await?;
            call.send_rows(&shown(call, view, rows)).await?;
        }
    }
    for (view, first) in &before {
        let last = raw(call, view).await?;
        title(call, &format!("Overall sys.{}", view.name)).await?;
        call.send_rows(&shown(call, view, last.clone())).await?;
        title(call, &format!("Delta sys.{}", view.name)).await?;
        call.send_rows(&shown(call, view, difference(view, first, last))).await?;
    }
    call.query("CALL sys.statement_performance_analyzer('snapshot', NULL, NULL)").await?;
    title(call, "Overall statements").await?;
    send(call, "CALL sys.statement_performance_analyzer('overall', NULL, NULL)").await?;
    title(call, "Delta statements").await?;
    send(call, &format!("CALL sys.statement_performance_analyzer('delta', '{STATEMENTS}', NULL)")).await?;
    title(call, "Delta sys.metrics").await?;
    call.send_rows(&changed(&metrics, elapsed)).await
}

async fn title(call: &mut ProcedureCall<'_>, text: &str) -> Result<(), Failure> {
    message(call, "The following output is:", text).await
}

async fn send(call: &mut ProcedureCall<'_>, sql: &str) -> Result<(), Failure> {
    call.send(sql).await.map(|_| ())
}

/// Views by their names, as far as they are there.
fn views(names: &'static [&'static str]) -> impl Iterator<Item = &'static View> {
    names.iter().filter_map(|name| crate::views::all().find(|view| view.name == *name))
}

/// The rows of a view, without units.
async fn raw(call: &mut ProcedureCall<'_>, view: &View) -> SqlResult<Vec<Vec<Value>>> {
    let name = view.variants().last().map(|(name, _)| name).unwrap_or_default();
    let results = call.query(&format!("SELECT * FROM sys.`{name}`")).await?;
    Ok(results.into_iter().flat_map(|result| result.rows).collect())
}

/// Whether a column counts or sums up, so that the difference between two times means something.
fn is_sum(name: &str, kind: Kind) -> bool {
    let is_number = matches!(kind, Kind::Count | Kind::Time | Kind::Bytes);
    let is_other = ["avg", "max", "min", "current", "unique", "pct"].iter().any(|word| name.contains(word));
    is_number && !is_other
}

/// What rows have more than those of before with the same names; rows that have not changed are left out. Averages are those of the end.
fn difference(view: &View, before: &[Vec<Value>], after: Vec<Vec<Value>>) -> Vec<Vec<Value>> {
    let is_key = |kind: Kind| matches!(kind, Kind::Text(_) | Kind::LongText | Kind::Statement | Kind::File);
    let key = |row: &[Value]| -> Vec<String> {
        let keys = row.iter().zip(view.columns).filter(|(_, column)| is_key(column.kind));
        keys.map(|(value, _)| format!("{value:?}")).collect()
    };
    let earlier: BTreeMap<Vec<String>, &Vec<Value>> = before.iter().map(|row| (key(row), row)).collect();
    let subtracted = |row: Vec<Value>| {
        let before = earlier.get(&key(&row));
        let mut has_changed = before.is_none();
        let values = row.into_iter().zip(view.columns).enumerate().map(|(at, (value, column))| {
            let old = before.and_then(|row| row.get(at));
            match (&value, old) {
                (Value::UInt(new), Some(Value::UInt(old))) if is_sum(column.name, column.kind) => {
                    has_changed |= new != old;
                    Value::UInt(new.saturating_sub(*old))
                }
                _ => value,
            }
        });
        let values: Vec<Value> = values.collect();
        has_changed.then_some(values)
    };
    after.into_iter().filter_map(subtracted).collect()
}

/// Looks at the numbers of the server once more.
async fn look(call: &mut ProcedureCall<'_>, metrics: &mut BTreeMap<String, Metric>) -> SqlResult<()> {
    let results = call.query("SELECT Variable_name, Variable_value, Type FROM sys.metrics").await?;
    for row in results.into_iter().flat_map(|result| result.rows) {
        let [Value::String(name), Value::String(value), Value::String(kind)] = &row[..] else { continue };
        let Some(value) = value.parse::<f64>().ok().filter(|value| value.is_finite()) else { continue };
        let (kind, first) = (kind.clone(), value);
        let metric = metrics.entry(name.clone()).or_insert_with(|| Metric {
            kind,
            first,
            last: first,
            least: first,
            greatest: first,
            sum: 0.0,
            looks: 0,
        });
        metric.last = value;
        metric.least = metric.least.min(value);
        metric.greatest = metric.greatest.max(value);
        metric.sum += value;
        metric.looks += 1;
    }
    Ok(())
}

/// Numbers that have changed.
fn changed(metrics: &BTreeMap<String, Metric>, seconds: f64) -> ResultSet {
    let names = ["Variable_name", "Variable_value", "Delta", "Delta/s", "Min", "Avg", "Max", "Type"];
    let mut rows = ResultSet::of_texts(&names);
    for (name, metric) in metrics.iter().filter(|(_, metric)| metric.least != metric.greatest) {
        let number = |number: f64| match number.fract() == 0.0 {
            true => Value::String(format!("{number:.0}")),
            false => Value::String(format!("{number:.2}")),
        };
        let delta = metric.last - metric.first;
        let mut row = vec![Value::from(&**name)];
        row.extend([metric.last, delta, delta / seconds.max(f64::EPSILON)].map(number));
        row.extend([metric.least, metric.sum / f64::from(metric.looks.max(1)), metric.greatest].map(number));
        row.push(Value::from(&*metric.kind));
        rows.rows.push(row);
    }
    rows
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_has_not_changed_is_left_out() {
        let view = views(&["waits_global_by_latency"]).next().unwrap();
        let row = |event: &str, total, latency, average| {
            vec![Value::from(event), Value::UInt(total), Value::UInt(latency), Value::UInt(average), Value::UInt(9)]
        };
        let before = [row("a", 1, 10, 10), row("b", 2, 20, 10)];
        let after = vec![row("a", 3, 60, 20), row("b", 2, 20, 10), row("c", 1, 5, 5)];
        assert_eq!(difference(view, &before, after), [row("a", 2, 50, 20), row("c", 1, 5, 5)]);
    }
}
