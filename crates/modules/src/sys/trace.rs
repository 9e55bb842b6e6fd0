//! `ps_trace_statement_digest` and `ps_trace_thread`. They read performance_schema repeatedly, since it keeps only the last events, and
//! show all events that they have read.

use super::saved_setup;
use super::statements::{literal, message, number, text};
use crate::views::form::{self, Style};
use squall_session::procedure::Parameter;
use squall_session::result::{ResultSet, number_column, text_column};
use squall_session::{Failure, ProcedureCall};
use squall_types::{CollationId, SqlResult, SqlType, Value};
use std::collections::BTreeMap;
use std::time::{Duration, Instant};

/// Events that are kept of one trace: what comes later is not looked at.
const EVENTS_MAX: usize = 100_000;
/// Statements whose texts are longer may have been cut.
const WHOLE_TEXT_BYTES: usize = 1024;
/// How long a thread is watched, and the pause between two looks, unless the caller says otherwise.
const THREAD_SECONDS: f64 = 60.0;
const INTERVAL_SECONDS: f64 = 1.0;
/// The least time between two looks.
const INTERVAL_SECONDS_MIN: f64 = 0.001;

const fn decimal(precision: u8, scale: u8) -> SqlType {
    SqlType::Decimal { precision, scale, unsigned: false, zerofill: false }
}

/// The parameters of `ps_trace_statement_digest`.
pub(super) fn digest_parameters() -> Vec<Parameter> {
    vec![
        Parameter::new("in_digest", SqlType::varchar(64, CollationId::UTF8MB4_0900_AI_CI)),
        Parameter::new("in_runtime", SqlType::INT),
        Parameter::new("in_interval", decimal(2, 2)),
        Parameter::new("in_start_fresh", SqlType::BOOL),
        Parameter::new("in_auto_enable", SqlType::BOOL),
    ]
}

/// The parameters of `ps_trace_thread`.
pub(super) fn thread_parameters() -> Vec<Parameter> {
    vec![
        Parameter::new("in_thread_id", SqlType::BIGINT_UNSIGNED),
        Parameter::new("in_outfile", SqlType::varchar(255, CollationId::UTF8MB4_0900_AI_CI)),
        Parameter::new("in_max_runtime", decimal(20, 2)),
        Parameter::new("in_interval", decimal(20, 2)),
        Parameter::new("in_start_fresh", SqlType::BOOL),
        Parameter::new("in_auto_setup", SqlType::BOOL),
        Parameter::new("in_debug", SqlType::BOOL),
    ]
}

fn seconds(call: &ProcedureCall<'_>, at: usize) -> Option<f64> {
    match call.argument(at) {
        Value::Decimal(number) => Some(number.to_f64()),
        Value::Int(number) => Some(*number as f64),
        _ => None,
    }
}

fn is_set(call: &ProcedureCall<'_>, at: usize) -> bool {
    call.number(at).is_some_and(|number| number != 0)
}

fn time(picos: u64) -> Value {
    Value::String(form::time(picos as f64, Style::Units))
}

/// How long one watches.
struct Watch {
    end: Option<Instant>,
    interval: f64,
}

impl Watch {
    fn new(runtime: f64, interval: f64) -> Watch {
        let runtime = Duration::try_from_secs_f64(runtime.max(0.0)).ok();
        Watch { end: runtime.and_then(|runtime| Instant::now().checked_add(runtime)), interval }
    }

    /// Waits for the next look; `false` if there is none. KILL ends the wait.
    async fn goes_on(&self, call: &mut ProcedureCall<'_>) -> SqlResult<bool> {
        let left = match self.end {
            Some(end) => end.saturating_duration_since(Instant::now()).as_secs_f64(),
            None => f64::MAX,
        };
        if left <= 0.0 {
            return Ok(false);
        }
        let pause = self.interval.max(INTERVAL_SECONDS_MIN).min(left);
        call.query(&format!("DO SLEEP({pause:.6})")).await?;
        Ok(true)
    }
}

/// Rows of a query.
async fn rows(call: &mut ProcedureCall<'_>, sql: &str) -> SqlResult<Vec<Vec<Value>>> {
    Ok(call.query(sql).await?.into_iter().flat_map(|result| result.rows).collect())
}

async fn forget(call: &mut ProcedureCall<'_>, tables: &[&str]) -> SqlResult<()> {
    for table in tables {
        call.query(&format!("TRUNCATE TABLE performance_schema.{table}")).await?;
    }
    Ok(())
}

/// Turns everything on, while a trace runs.
async fn enable(call: &mut ProcedureCall<'_>) -> Result<(), Failure> {
    saved_setup::save(call, 0).await?;
    let sql = "UPDATE performance_schema.setup_consumers SET enabled = 'YES' WHERE name = 'global_instrumentation' OR name \
               LIKE 'events_waits%'";
    call.query(sql).await?;
    Ok(())
}

/// A statement that was seen.
struct Seen {
    wait: u64,
    lock: u64,
    sent: u64,
    examined: u64,
    temporary_tables: u64,
    full_scan: bool,
    text: String,
    schema: String,
    /// Names and times, in their order.
    stages: BTreeMap<u64, (String, u64)>,
}

/// `ps_trace_statement_digest`.
pub(super) async fn digest(call: &mut ProcedureCall<'_>) -> Result<(), Failure> {
    let enables = is_set(call, 4);
    if enables {
        enable(call).await?;
    }
    let watched = watch_digest(call).await;
    if enables {
        saved_setup::reload(call).await?;
    }
    show_digest(call, &watched?).await
}

async fn watch_digest(call: &mut ProcedureCall<'_>) -> SqlResult<BTreeMap<(u64, u64), Seen>> {
    let digest = literal(call.text(0).unwrap_or_default());
    let (runtime, interval) = (seconds(call, 1).unwrap_or(0.0), seconds(call, 2).unwrap_or(INTERVAL_SECONDS));
    if is_set(call, 3) {
        forget(call, &["events_statements_history_long", "events_stages_history_long"]).await?;
    }
    let statements = format!(
        "SELECT thread_id, event_id, timer_wait, lock_time, rows_sent, rows_examined, created_tmp_tables + \
         created_tmp_disk_tables, no_index_used + no_good_index_used, sql_text, current_schema FROM \
         performance_schema.events_statements_history_long WHERE digest = {digest}"
    );
    let stages = format!(
        "SELECT s.thread_id, s.event_id, g.event_id, g.event_name, g.timer_wait FROM \
         performance_schema.events_stages_history_long AS g JOIN performance_schema.events_statements_history_long AS s ON \
         s.thread_id = g.thread_id AND s.event_id = g.nesting_event_id WHERE s.digest = {digest}"
    );
    let (mut seen, watch) = (BTreeMap::new(), Watch::new(runtime, interval));
    loop {
        for row in rows(call, &statements).await? {
            let at = |column: usize| number(row.get(column));
            if seen.len() >= EVENTS_MAX {
                break;
            }
            seen.entry((at(0), at(1))).or_insert_with(|| Seen {
                wait: at(2),
                lock: at(3),
                sent: at(4),
                examined: at(5),
                temporary_tables: at(6),
                full_scan: at(7) > 0,
                text: text(row.get(8)),
                schema: text(row.get(9)),
                stages: BTreeMap::new(),
            });
        }
        for row in rows(call, &stages).await? {
            let at = |column: usize| number(row.get(column));
            if let Some(statement) = seen.get_mut(&(at(0), at(1))) {
                statement.stages.insert(at(2), (text(row.get(3)), at(4)));
            }
        }
        if !watch.goes_on(call).await? {
            return Ok(seen);
        }
    }
}

async fn show_digest(call: &mut ProcedureCall<'_>, seen: &BTreeMap<(u64, u64), Seen>) -> Result<(), Failure> {
    const SUMMARY: &str = "SUMMARY STATISTICS";
    const LONGEST: &str = "LONGEST RUNNING STATEMENT";
    message(call, SUMMARY, SUMMARY).await?;
    let sum = |of: fn(&Seen) -> u64| seen.values().map(of).fold(0, u64::saturating_add);
    let count = |number: u64| Value::Int(i64::try_from(number).unwrap_or(i64::MAX));
    let measured = |first: &str, last: &str| {
        let mut columns = vec![number_column(first), text_column("exec_time", 17), text_column("lock_time", 17)];
        columns.extend(["rows_sent", "rows_examined", "tmp_tables", last].map(number_column));
        columns
    };
    let mut summary = ResultSet::new(measured("executions", "full_scans"));
    summary.rows.push(vec![
        count(seen.len() as u64),
        time(sum(|statement| statement.wait)),
        time(sum(|statement| statement.lock)),
        count(sum(|statement| statement.sent)),
        count(sum(|statement| statement.examined)),
        count(sum(|statement| statement.temporary_tables)),
        count(sum(|statement| u64::from(statement.full_scan))),
    ]);
    call.send_rows(&summary).await?;
    let mut by_stage: BTreeMap<&str, (u64, u64)> = BTreeMap::new();
    for (name, wait) in seen.values().flat_map(|statement| statement.stages.values()) {
        let known = by_stage.entry(name).or_default();
        *known = (known.0 + 1, known.1.saturating_add(*wait));
    }
    let mut stages: Vec<_> = by_stage.into_iter().collect();
    stages.sort_by_key(|(name, (_, wait))| (std::cmp::Reverse(*wait), *name));
    let columns = vec![text_column("event_name", 128), number_column("count"), text_column("latency", 17)];
    let mut of_stages = ResultSet::new(columns);
    of_stages.rows =
        stages.iter().map(|(name, (times, wait))| vec![Value::from(*name), count(*times), time(*wait)]).collect();
    call.send_rows(&of_stages).await?;

    message(call, LONGEST, LONGEST).await?;
    let longest = seen.iter().max_by_key(|(_, statement)| statement.wait);
    let mut statements = ResultSet::new(measured("thread_id", "full_scan"));
    statements.rows.extend(longest.map(|((thread, _), statement)| {
        let (wait, lock) = (time(statement.wait), time(statement.lock));
        let rows = [statement.sent, statement.examined, statement.temporary_tables, u64::from(statement.full_scan)];
        [count(*thread), wait, lock].into_iter().chain(rows.map(count)).collect()
    }));
    call.send_rows(&statements).await?;
    let Some((_, longest)) = longest else { return Ok(()) };
    message(call, "sql_text", &longest.text).await?;
    let mut of_stages = ResultSet::new(vec![text_column("event_name", 128), text_column("latency", 17)]);
    of_stages.rows = longest.stages.values().map(|(name, wait)| vec![Value::from(&**name), time(*wait)]).collect();
    call.send_rows(&of_stages).await?;
    explain(call, longest).await
}

/// How the longest statement is carried out, if that can be told: its text has to be whole, and its names to mean the same here.
async fn explain(call: &mut ProcedureCall<'_>, statement: &Seen) -> Result<(), Failure> {
    const EXPLAINED: &[&str] = &["SELECT", "INSERT", "REPLACE", "UPDATE", "DELETE", "WITH", "TABLE"];
    let word =
        statement.text.trim_start().split(|letter: char| !letter.is_ascii_alphabetic()).next().unwrap_or_default();
    let is_known = EXPLAINED.iter().any(|known| known.eq_ignore_ascii_case(word));
    let here = call.context().settings.database.as_deref().unwrap_or_default().to_string();
    if !is_known || statement.text.len() >= WHOLE_TEXT_BYTES || here != statement.schema {
        return Ok(());
    }
    // One statement, whatever the text is.
    let sql = Value::String(format!("EXPLAIN {}", statement.text));
    call.set_user_variable("sys.ps_trace_statement_digest.sql", sql)?;
    let prepared = "PREPARE `__sys.ps_trace_statement_digest` FROM @`sys.ps_trace_statement_digest.sql`";
    if call.query(prepared).await.is_ok() {
        let explained = call.query("EXECUTE `__sys.ps_trace_statement_digest`").await;
        call.query("DEALLOCATE PREPARE `__sys.ps_trace_statement_digest`").await?;
        if let Some(plan) = explained.ok().and_then(|mut results| results.pop()) {
            call.send_rows(&ResultSet { columns: plan.columns, rows: plan.rows }).await?;
        }
    }
    Ok(())
}

/// Kinds of events of a thread: a letter for each, and the query that tells number, name, begin, time, text and the event that
/// it is a part of.
const KINDS: &[(char, &str)] = &[
    (
        't',
        "SELECT event_id, CONCAT(event_name, ' ', LOWER(state)), timer_start, timer_wait, CONCAT(access_mode, ', ', \
         isolation_level), NULL FROM performance_schema.events_transactions_history WHERE thread_id = ",
    ),
    (
        's',
        "SELECT event_id, event_name, timer_start, timer_wait, sql_text, NULL FROM \
         performance_schema.events_statements_history WHERE thread_id = ",
    ),
    (
        'g',
        "SELECT event_id, event_name, timer_start, timer_wait, NULL, nesting_event_id FROM \
         performance_schema.events_stages_history WHERE thread_id = ",
    ),
    (
        'w',
        "SELECT event_id, event_name, timer_start, timer_wait, CONCAT_WS(' ', operation, CONCAT_WS('.', object_schema, \
         object_name, index_name)), nesting_event_id FROM performance_schema.events_waits_history WHERE thread_id = ",
    ),
];

/// An event of a thread.
struct Event {
    name: String,
    start: u64,
    wait: u64,
    text: String,
    /// The number of the statement that it is a part of.
    statement: Option<u64>,
}

/// `ps_trace_thread`.
pub(super) async fn thread(call: &mut ProcedureCall<'_>) -> Result<(), Failure> {
    let (thread, sets_up) = (number(Some(call.argument(0))), is_set(call, 5));
    if sets_up {
        enable(call).await?;
    }
    let watched = watch_thread(call, thread).await;
    if sets_up {
        saved_setup::reload(call).await?;
    }
    let graph = graph(thread, &watched?);
    let path = call.text(1).unwrap_or_default().to_string();
    call.set_user_variable("sys.ps_trace_thread.graph", Value::String(graph))?;
    let escaped = path.replace('\\', "\\\\").replace('\'', "''");
    let escaped = if call.context().settings.sql_mode.contains(squall_types::SqlMode::NO_BACKSLASH_ESCAPES) {
        path.replace('\'', "''")
    } else {
        escaped
    };
    let written = call.query(&format!("SELECT @`sys.ps_trace_thread.graph` INTO DUMPFILE '{escaped}'")).await;
    call.set_user_variable("sys.ps_trace_thread.graph", Value::Null)?;
    written?;
    message(call, "Info", &format!("Stack trace written to {path}")).await?;
    let program = |kind: &str| format!("dot -T{kind} -o {}.{kind} {path}", path.trim_end_matches(".dot"));
    message(call, "Convert to PDF", &program("pdf")).await?;
    message(call, "Convert to PNG", &program("png")).await
}

async fn watch_thread(call: &mut ProcedureCall<'_>, thread: u64) -> Result<BTreeMap<(usize, u64), Event>, Failure> {
    let runtime = seconds(call, 2).unwrap_or(THREAD_SECONDS);
    let interval = seconds(call, 3).unwrap_or(INTERVAL_SECONDS);
    if is_set(call, 4) {
        let tables = ["transactions", "statements", "stages", "waits"].map(|kind| format!("events_{kind}_history"));
        forget(call, &tables.each_ref().map(String::as_str)).await?;
    }
    message(call, "Info", &format!("Data collection starting for THREAD_ID = {thread}")).await?;
    let (mut events, watch) = (BTreeMap::new(), Watch::new(runtime, interval));
    loop {
        for (kind, (_, sql)) in KINDS.iter().enumerate() {
            for row in rows(call, &format!("{sql}{thread}")).await? {
                if events.len() >= EVENTS_MAX {
                    break;
                }
                let statement = row.get(5).filter(|statement| !statement.is_null()).map(|id| number(Some(id)));
                events.entry((kind, number(row.first()))).or_insert_with(|| Event {
                    name: text(row.get(1)),
                    start: number(row.get(2)),
                    wait: number(row.get(3)),
                    text: text(row.get(4)),
                    statement,
                });
            }
        }
        let is_there = format!("SELECT thread_id FROM performance_schema.threads WHERE thread_id = {thread}");
        if rows(call, &is_there).await?.is_empty() || !watch.goes_on(call).await? {
            return Ok(events);
        }
    }
}

/// The events in the language of `dot`: stages and waits hang on their statements, whatever has none on the thread.
fn graph(thread: u64, events: &BTreeMap<(usize, u64), Event>) -> String {
    const TEXT_CHARACTERS: usize = 100;
    const COLOURS: &[&str] = &["lightgrey", "orange", "yellow", "lightblue"];
    let escaped = |text: &str| text.replace('\\', "\\\\").replace('"', "\\\"").replace(['\n', '\r'], " ");
    let statements = KINDS.iter().position(|(letter, _)| *letter == 's').unwrap_or(0);
    let node = |kind: usize, id: u64| format!("{}{id}", KINDS.get(kind).map_or('e', |(letter, _)| *letter));
    let mut graph = String::from("digraph events {\n  rankdir = LR;\n  nodesep = 0.10;\n");
    graph.push_str(&format!("  thread [label = \"thread {thread}\", shape = box];\n"));
    let mut in_order: Vec<_> = events.iter().collect();
    in_order.sort_by_key(|((kind, id), event)| (event.start, *kind, *id));
    for ((kind, id), event) in in_order {
        let mut label = format!("({}) {}", form::time(event.wait as f64, Style::Units).trim(), escaped(&event.name));
        if !event.text.is_empty() {
            label.push_str("\\n");
            label.push_str(&escaped(&form::statement(&event.text, TEXT_CHARACTERS)));
        }
        let colour = COLOURS.get(*kind).unwrap_or(&"white");
        let own = node(*kind, *id);
        graph.push_str(&format!("  {own} [label = \"{label}\", style = filled, fillcolor = {colour}];\n"));
        let above = event.statement.filter(|statement| events.contains_key(&(statements, *statement)));
        let above = above.map_or_else(|| "thread".to_string(), |statement| node(statements, statement));
        graph.push_str(&format!("  {above} -> {own};\n"));
    }
    graph.push_str("}\n");
    graph
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_graph_has_each_event_once() {
        let event = |name: &str, start, text: &str, statement| Event {
            name: name.to_string(),
            start,
            wait: 2_000_000,
            text: text.to_string(),
            statement,
        };
        let events = BTreeMap::from([
            ((1, 7), event("statement/sql/select", 5, "SELECT \"a\\b\"\nFROM t", None)),
            ((3, 1), event("wait/lock", 6, "record lock d.t", Some(7))),
            ((3, 2), event("wait/lock", 4, "", Some(6))),
        ]);
        let graph = graph(9, &events);
        assert!(
            graph.contains("s7 [label = \"(2.00 us) statement/sql/select\\nSELECT \\\"a\\\\b\\\" FROM t\""),
            "{graph}"
        );
        assert!(graph.contains("  s7 -> w1;\n") && graph.contains("  thread -> w2;\n"), "{graph}");
        assert_eq!(graph.matches("->").count(), events.len());
    }
}
