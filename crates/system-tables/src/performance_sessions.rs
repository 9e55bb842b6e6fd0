//! performance_schema's tables of open transactions and prepared statements.

use super::performance::{measured_totals, statement_times};
use super::performance_events::timer;
use super::{DescribedTable, Source, s, s_or_null, u};
use squall_instrumentation::prepared::PreparedUse;
use squall_instrumentation::stages::StageEvent;
use squall_instrumentation::totals::PICOS_PER_MICRO;
use squall_instrumentation::transactions::{TransactionEvent, TransactionOutcome};
use squall_registry::VirtualScan;
use squall_row_store::IsolationLevel;
use squall_types::{SqlResult, Value};
use std::sync::atomic::Ordering;

/// A transaction.
const TRANSACTION: &str = "THREAD_ID:u EVENT_ID:u END_EVENT_ID:u? EVENT_NAME:v128 STATE:v11? TRX_ID:u? GTID:v64? \
    XID_FORMAT_ID:n? XID_GTRID:v130? XID_BQUAL:v130? XA_STATE:v64? SOURCE:v64? TIMER_START:u? TIMER_END:u? TIMER_WAIT:u? \
    ACCESS_MODE:v10? ISOLATION_LEVEL:v64? AUTOCOMMIT:v3 NUMBER_OF_SAVEPOINTS:u? \
    NUMBER_OF_ROLLBACK_TO_SAVEPOINT:u? NUMBER_OF_RELEASE_SAVEPOINT:u? OBJECT_INSTANCE_BEGIN:u? \
    NESTING_EVENT_ID:u? NESTING_EVENT_TYPE:v11?";

/// A stage of a statement.
const STAGE: &str = "THREAD_ID:u EVENT_ID:u END_EVENT_ID:u? EVENT_NAME:v128 SOURCE:v64? TIMER_START:u? TIMER_END:u? \
    TIMER_WAIT:u? WORK_COMPLETED:u? WORK_ESTIMATED:u? NESTING_EVENT_ID:u? NESTING_EVENT_TYPE:v11?";

pub(crate) const TABLES: &[DescribedTable] = &[
    ("events_stages_current", STAGE, |source, _| {
        let mut rows = Vec::new();
        for process in source.state.processes.all() {
            let work = process.transfer.work();
            rows.extend(process.stages.current().map(|event| {
                let work = work.filter(|_| event.end_micros.is_none());
                stage(source, process.id, &event, work)
            }));
        }
        Ok(rows)
    }),
    ("events_stages_history", STAGE, |source, _| {
        Ok(recent_stages(source).iter().map(|(thread, event)| stage(source, *thread, event, None)).collect())
    }),
    ("events_stages_history_long", STAGE, |source, _| {
        let mut all = recent_stages(source);
        all.sort_by_key(|(_, event)| event.end_micros);
        Ok(all.iter().map(|(thread, event)| stage(source, *thread, event, None)).collect())
    }),
    ("events_transactions_current", TRANSACTION, |source, _| {
        let processes = source.state.processes.all();
        let current = |process: &std::sync::Arc<squall_instrumentation::process::Process>| {
            process.transactions.current().map(|event| transaction(source, process.id, &event))
        };
        Ok(processes.iter().filter_map(current).collect())
    }),
    ("events_transactions_history", TRANSACTION, |source, _| {
        Ok(recent(source).iter().map(|(thread, event)| transaction(source, *thread, event)).collect())
    }),
    ("events_transactions_history_long", TRANSACTION, |source, _| {
        let mut all = recent(source);
        all.sort_by_key(|(_, event)| event.end_micros);
        Ok(all.iter().map(|(thread, event)| transaction(source, *thread, event)).collect())
    }),
    (
        "prepared_statements_instances",
        "OBJECT_INSTANCE_BEGIN:u STATEMENT_ID:u STATEMENT_NAME:v64? SQL_TEXT:text OWNER_THREAD_ID:u \
         OWNER_EVENT_ID:u OWNER_OBJECT_TYPE:v9? OWNER_OBJECT_SCHEMA:v64? OWNER_OBJECT_NAME:v64? \
         EXECUTION_ENGINE:v9? TIMER_PREPARE:u COUNT_REPREPARE:u COUNT_EXECUTE:u SUM_TIMER_EXECUTE:u \
         MIN_TIMER_EXECUTE:u AVG_TIMER_EXECUTE:u MAX_TIMER_EXECUTE:u $STATEMENT_SUMS",
        prepared_statements,
    ),
];

fn recent(source: &Source<'_>) -> Vec<(u64, TransactionEvent)> {
    let processes = source.state.processes.all();
    let of_each =
        processes.iter().flat_map(|process| process.transactions.recent().into_iter().map(|event| (process.id, event)));
    of_each.collect()
}

fn recent_stages(source: &Source<'_>) -> Vec<(u64, StageEvent)> {
    let processes = source.state.processes.all();
    let of_each =
        processes.iter().flat_map(|process| process.stages.recent().into_iter().map(|event| (process.id, event)));
    of_each.collect()
}

fn stage(source: &Source<'_>, thread: u64, event: &StageEvent, work: Option<(u64, Option<u64>)>) -> Vec<Value> {
    let start = timer(source, event.start_micros);
    let end = timer(source, event.end_micros.unwrap_or_else(squall_server_state::now_micros));
    vec![
        u(thread),
        u(event.event_id),
        event.end_micros.map_or(Value::Null, |_| u(event.event_id)),
        s(event.name),
        Value::Null,
        u(start),
        u(end),
        u(end.saturating_sub(start)),
        work.map_or(Value::Null, |(completed, _)| u(completed)),
        work.and_then(|(_, estimated)| estimated).map_or(Value::Null, u),
        u(event.statement),
        s("STATEMENT"),
    ]
}

fn transaction(source: &Source<'_>, thread: u64, event: &TransactionEvent) -> Vec<Value> {
    let is_open = event.outcome == TransactionOutcome::Active;
    let end_micros = if is_open { squall_server_state::now_micros() } else { event.end_micros };
    let (start, end) = (timer(source, event.start_micros), timer(source, end_micros));
    let isolation = match event.isolation {
        IsolationLevel::ReadUncommitted => "READ UNCOMMITTED",
        IsolationLevel::ReadCommitted => "READ COMMITTED",
        IsolationLevel::RepeatableRead => "REPEATABLE READ",
        IsolationLevel::Serializable => "SERIALIZABLE",
    };
    let mut row = vec![
        u(thread),
        u(event.event_id),
        if is_open { Value::Null } else { u(event.event_id) },
        s("transaction"),
        s(match event.outcome {
            TransactionOutcome::Active => "ACTIVE",
            TransactionOutcome::Committed => "COMMITTED",
            TransactionOutcome::RolledBack => "ROLLED BACK",
        }),
        u(event.id),
        s("ANONYMOUS"),
    ];
    row.extend(std::iter::repeat_n(Value::Null, 5));
    row.extend([
        u(start),
        u(end),
        u(end.saturating_sub(start)),
        s(if event.read_only { "READ ONLY" } else { "READ WRITE" }),
        s(isolation),
        super::yes_no(event.autocommit),
        u(event.savepoints),
        u(event.rollbacks_to_savepoint),
        u(event.savepoints_released),
        Value::Null,
        u(event.begun_in),
        s("STATEMENT"),
    ]);
    row
}

fn prepared_statements(source: &Source<'_>, _: &VirtualScan<'_>) -> SqlResult<Vec<Vec<Value>>> {
    let mut rows = Vec::new();
    for process in source.state.processes.all() {
        rows.extend(process.prepared.list().iter().map(|prepared| prepared_statement(process.id, prepared)));
    }
    Ok(rows)
}

fn prepared_statement(thread: u64, prepared: &PreparedUse) -> Vec<Value> {
    let executed = prepared.totals();
    // A number that no other has, in place of an address.
    let instance = thread << 32 | prepared.id;
    let mut row = vec![
        u(instance),
        u(prepared.id),
        s_or_null(prepared.name.as_deref()),
        s(String::from_utf8_lossy(&prepared.text)),
        u(thread),
        u(prepared.owner_event),
        Value::Null,
        Value::Null,
        Value::Null,
        s("PRIMARY"),
        u(prepared.prepare_micros.saturating_mul(PICOS_PER_MICRO)),
        u(prepared.reprepared.load(Ordering::Relaxed)),
    ];
    row.extend(statement_times(&executed));
    row.extend(measured_totals(&executed));
    row
}
