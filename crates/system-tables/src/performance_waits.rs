//! performance_schema's tables of single waits: of sessions for commits and locks, of threads for files.

use super::background_threads::BACKGROUND_THREADS_FROM;
use super::performance_events::timer;
use super::{DescribedTable, Source, s, s_or_null, u};
use squall_accounting::file_use::{self, FileEvent, FileOperation, ThreadFileEvents};
use squall_catalog::{IndexId, TableDef, TableEntry, TableId};
use squall_instrumentation::stages::StageEvent;
use squall_instrumentation::waits::{OF_HISTORY, OF_HISTORY_LONG, WaitEvent};
use squall_registry::VirtualScan;
use squall_server_state::now_micros;
use squall_types::{SqlResult, Value};
use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// A wait.
const WAIT: &str = "THREAD_ID:u EVENT_ID:u END_EVENT_ID:u? EVENT_NAME:v128 SOURCE:v64? TIMER_START:u? TIMER_END:u? \
    TIMER_WAIT:u? SPINS:w? OBJECT_SCHEMA:v64? OBJECT_NAME:v512? INDEX_NAME:v64? OBJECT_TYPE:v64? \
    OBJECT_INSTANCE_BEGIN:u NESTING_EVENT_ID:u? NESTING_EVENT_TYPE:v11? OPERATION:v32 NUMBER_OF_BYTES:i? \
    FLAGS:w?";

/// How many waits of a thread are in `events_waits_history`, as in MySQL's default of its size.
const HISTORY_MAX: usize = 10;
const PICOS_PER_NANO: u64 = 1000;
const NANOS_PER_MICRO: u64 = 1000;

pub(crate) const TABLES: &[DescribedTable] = &[
    ("events_waits_current", WAIT, current),
    ("events_waits_history", WAIT, history),
    ("events_waits_history_long", WAIT, history_long),
];

/// Something that was waited for.
enum Wait {
    OfSession(WaitEvent),
    OfFile { event: FileEvent, start_micros: i64 },
}

impl Wait {
    fn of_file(event: FileEvent, now_micros: i64) -> Wait {
        let ago = i64::try_from(event.started.elapsed().as_micros()).unwrap_or(i64::MAX);
        Wait::OfFile { event, start_micros: now_micros.saturating_sub(ago) }
    }

    /// When it was over, microseconds since 1970 UTC; when it began, if it lasts.
    fn end_micros(&self) -> i64 {
        let (start_micros, nanos) = match self {
            Wait::OfSession(event) => (event.start_micros, event.nanos.unwrap_or(0)),
            Wait::OfFile { event, start_micros } => (*start_micros, event.nanos),
        };
        start_micros.saturating_add(i64::try_from(nanos / NANOS_PER_MICRO).unwrap_or(i64::MAX))
    }

    fn is_kept(&self, history: u8) -> bool {
        let kept = match self {
            Wait::OfSession(event) => event.kept,
            Wait::OfFile { event, .. } => event.kept,
        };
        kept & history != 0
    }
}

/// Tables that waits were for, by number: they may have been dropped since.
type Tables = HashMap<TableId, (String, Arc<TableDef>)>;

fn tables(source: &Source<'_>) -> Tables {
    let mut tables = Tables::new();
    for (name, database) in source.catalog.databases() {
        for entry in database.tables.values() {
            if let TableEntry::Table(def) = entry {
                tables.insert(def.id, (name.as_str().to_string(), def.clone()));
            }
        }
    }
    tables
}

/// Schema, name, index and type of the object of a wait, and the operation.
fn lock_object(tables: &Tables, object: Option<(TableId, Option<IndexId>)>) -> [Value; 5] {
    let Some((table, index)) = object else {
        return [Value::Null, Value::Null, Value::Null, Value::Null, s("wait")];
    };
    let known = tables.get(&table);
    let index_name = |id: IndexId| {
        let (_, def) = known?;
        let index = def.indexes.iter().find(|index| index.id == id);
        Some(index.map_or("PRIMARY", |index| index.name.as_str()))
    };
    [
        s_or_null(known.map(|(database, _)| database)),
        s_or_null(known.map(|(_, def)| &def.name)),
        s_or_null(index.and_then(index_name)),
        s("TABLE"),
        s(if index.is_some() { "record lock" } else { "metadata lock" }),
    ]
}

/// The stage that a wait was in, if it is among the last ones of its statement, or its statement: number and kind.
fn nesting(stages: &[StageEvent], start_micros: i64, statement: u64) -> (u64, &'static str) {
    let is_around = |stage: &&StageEvent| {
        stage.statement == statement
            && stage.start_micros <= start_micros
            && stage.end_micros.is_none_or(|end| start_micros <= end)
    };
    match stages.iter().rev().find(is_around) {
        Some(stage) => (stage.event_id, "STAGE"),
        None => (statement, "STATEMENT"),
    }
}

fn row(source: &Source<'_>, tables: &Tables, stages: &[StageEvent], thread: u64, wait: &Wait) -> Vec<Value> {
    let (event_id, name, start_micros, nanos, statement) = match wait {
        Wait::OfSession(event) => (event.event_id, event.name, event.start_micros, event.nanos, event.statement),
        Wait::OfFile { event, start_micros } => (event.number, event.event, *start_micros, Some(event.nanos), None),
    };
    let ([schema, object, index, kind, operation], bytes) = match wait {
        Wait::OfSession(event) => (lock_object(tables, event.object), Value::Null),
        Wait::OfFile { event, .. } => {
            let operation = match event.operation {
                FileOperation::Read => "read",
                FileOperation::Write => "write",
                FileOperation::Sync => "sync",
            };
            let bytes = i64::try_from(event.bytes).ok().filter(|_| event.operation != FileOperation::Sync);
            let path = s(event.path.to_string_lossy());
            ([Value::Null, path, Value::Null, s("FILE"), s(operation)], bytes.map_or(Value::Null, Value::Int))
        }
    };
    let nesting = statement.map(|statement| nesting(stages, start_micros, statement));
    let start = timer(source, start_micros);
    let picos = match nanos {
        Some(nanos) => nanos.saturating_mul(PICOS_PER_NANO),
        None => timer(source, now_micros()).saturating_sub(start),
    };
    vec![
        u(thread),
        u(event_id),
        if nanos.is_some() { u(event_id) } else { Value::Null },
        s(name),
        Value::Null,
        u(start),
        u(start.saturating_add(picos)),
        u(picos),
        Value::Null,
        schema,
        object,
        index,
        kind,
        u(0),
        nesting.map_or(Value::Null, |(event, _)| u(event)),
        s_or_null(nesting.map(|(_, kind)| kind)),
        operation,
        bytes,
        Value::Null,
    ]
}

fn stages_of(source: &Source<'_>, thread: u64) -> Vec<StageEvent> {
    source.state.processes.get(thread).map_or_else(Vec::new, |process| process.stages.seen())
}

/// The last operations of threads on files, those of connections too: it is the thread that waited.
fn of_files(now_micros: i64) -> impl Iterator<Item = (u64, Vec<Wait>)> {
    file_use::events().into_iter().map(move |ThreadFileEvents { thread, events }| {
        let waits = events.into_iter().map(|event| Wait::of_file(event, now_micros)).collect();
        (BACKGROUND_THREADS_FROM + thread, waits)
    })
}

/// The current or last wait of each thread.
fn current(source: &Source<'_>, _: &VirtualScan<'_>) -> SqlResult<Vec<Vec<Value>>> {
    let statistics = &source.state.statistics;
    if !statistics.wait_consumers.is_current() {
        return Ok(Vec::new());
    }
    let (tables, now) = (tables(source), now_micros());
    // The lock table knows its waiters, whether instrumentation is on or not.
    let waits = if statistics.is_on.load(Ordering::Relaxed) { source.state.store.lock_waits() } else { Vec::new() };
    let locks: HashMap<u64, WaitEvent> =
        waits.iter().map(|(id, event)| (*id, WaitEvent::of_lock(event, now))).collect();
    let mut rows = Vec::new();
    for process in source.state.processes.all() {
        let last = process.waits.current();
        let is_instrumented = process.is_instrumented.load(Ordering::Relaxed);
        let waits_for = locks.get(&process.id).filter(|_| is_instrumented).map(|lock| WaitEvent {
            event_id: last.map_or(0, |last| last.event_id) + 1,
            statement: Some(process.statements.event_count() + 1),
            ..*lock
        });
        let event = waits_for.or(last);
        let stages = process.stages.seen();
        rows.extend(event.map(|event| row(source, &tables, &stages, process.id, &Wait::OfSession(event))));
    }
    for (thread, mut waits) in of_files(now) {
        rows.extend(waits.pop().map(|wait| row(source, &tables, &[], thread, &wait)));
    }
    Ok(rows)
}

fn history(source: &Source<'_>, _: &VirtualScan<'_>) -> SqlResult<Vec<Vec<Value>>> {
    let tables = tables(source);
    let mut rows = Vec::new();
    for (thread, waits) in all(source) {
        let kept: Vec<&Wait> = waits.iter().filter(|wait| wait.is_kept(OF_HISTORY)).collect();
        let last = &kept[kept.len().saturating_sub(HISTORY_MAX)..];
        let stages = stages_of(source, thread);
        rows.extend(last.iter().map(|wait| row(source, &tables, &stages, thread, wait)));
    }
    Ok(rows)
}

fn history_long(source: &Source<'_>, _: &VirtualScan<'_>) -> SqlResult<Vec<Vec<Value>>> {
    let tables = tables(source);
    let gone = source.state.statistics.waits_of_gone.lock().clone();
    let gone = gone.into_iter().map(|(thread, event)| (thread, Wait::OfSession(event)));
    let present = all(source).into_iter().flat_map(|(thread, waits)| waits.into_iter().map(move |wait| (thread, wait)));
    let mut kept: Vec<(u64, Wait)> = gone.chain(present).filter(|(_, wait)| wait.is_kept(OF_HISTORY_LONG)).collect();
    kept.sort_by_key(|(_, wait)| wait.end_micros());
    let stages: HashMap<u64, Vec<StageEvent>> =
        source.state.processes.all().iter().map(|process| (process.id, process.stages.seen())).collect();
    let stages = |thread| stages.get(thread).map_or(&[][..], |stages| stages);
    Ok(kept.iter().map(|(thread, wait)| row(source, &tables, stages(thread), *thread, wait)).collect())
}

/// The last waits of each connection, and of each thread for files; the oldest first.
fn all(source: &Source<'_>) -> Vec<(u64, Vec<Wait>)> {
    let processes = source.state.processes.all();
    let of_sessions = processes
        .iter()
        .map(|process| (process.id, process.waits.recent().into_iter().map(Wait::OfSession).collect::<Vec<_>>()));
    of_sessions.chain(of_files(now_micros())).collect()
}
