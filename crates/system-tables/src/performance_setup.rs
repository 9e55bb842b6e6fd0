//! performance_schema's setup tables: the measurements that are on.
//!
//! The server measures everything or nothing: `global_instrumentation` has the value of the variable `performance_schema` until the
//! next start. Turning on an instrument that is on changes nothing, so scripts that turn everything on work. Most other changes are
//! refused. Single waits and single connections (`INSTRUMENTED` in `threads`) can be turned off. The processor time of statements is
//! measured if its consumer is on.

use super::performance_files::ROW_TABLE;
use super::performance_sockets::CLIENT_SOCKET;
use super::{DescribedTable, s};
use squall_accounting::file_use;
use squall_instrumentation::{Statistics, memory, stages, waits};
use squall_parser::ast::StatementKind;
use squall_registry::VirtualChange;
use squall_server_state::ServerState;
use squall_server_state::variable_origin::VariableOrigin;
use squall_server_state::variables::ids;
use squall_statement_context::StatementContext;
use squall_types::{SqlError, SqlResult, Value};
use std::sync::atomic::{AtomicBool, Ordering};

/// Consumers. Those without a switch get what is measured.
const CONSUMERS: &[&str] = &[
    "events_stages_current",
    "events_stages_history",
    "events_stages_history_long",
    PROCESSOR_TIME,
    "events_statements_current",
    "events_statements_history",
    "events_statements_history_long",
    "events_transactions_current",
    "events_transactions_history",
    "events_transactions_history_long",
    "events_waits_current",
    "events_waits_history",
    "events_waits_history_long",
    ALL_MEASURING,
    "thread_instrumentation",
    "statements_digest",
];

/// What is measured beside statements and waits of sessions.
const OTHERS: &[&str] = &["transaction", waits::TABLE_IO, CLIENT_SOCKET];

fn yes_no(yes: bool) -> Value {
    s(if yes { "YES" } else { "NO" })
}

/// Carries a change of a table out.
pub(crate) type Change = fn(&ServerState, VirtualChange<'_>, &StatementContext) -> SqlResult<()>;

/// The ordinal of `TIMED` in setup_instruments.
const TIMED: usize = 2;
/// The ordinal of `INSTRUMENTED` in threads.
const INSTRUMENTED: usize = 13;
/// The consumer that stands for all measuring.
const ALL_MEASURING: &str = "global_instrumentation";
/// The one of processor time.
const PROCESSOR_TIME: &str = "events_statements_cpu";

/// How a table is changed, if it is one of those that are changed in MySQL.
pub(crate) fn change_of(table: &str) -> Option<Change> {
    match table {
        "setup_consumers" => Some(change_consumer),
        "setup_instruments" => Some(change_instrument),
        "threads" => Some(change_thread),
        "setup_actors" | "setup_objects" | "setup_threads" => Some(refuse),
        _ => None,
    }
}

fn refuse(_: &ServerState, _: VirtualChange<'_>, _: &StatementContext) -> SqlResult<()> {
    Err(SqlError::unsupported("measuring a part: SET GLOBAL performance_schema turns all of it on or off"))
}

/// What cannot be timed has no time to be turned on: scripts that turn everything on try to.
fn change_instrument(shared: &ServerState, change: VirtualChange<'_>, context: &StatementContext) -> SqlResult<()> {
    match change {
        VirtualChange::Update { old, new }
            if old.get(TIMED).is_some_and(Value::is_null)
                && old.iter().zip(new).enumerate().all(|(at, (old, new))| at == TIMED || old == new) =>
        {
            Ok(())
        }
        change => refuse(shared, change, context),
    }
}

/// A connection is no longer counted, or is again.
fn change_thread(shared: &ServerState, change: VirtualChange<'_>, context: &StatementContext) -> SqlResult<()> {
    let VirtualChange::Update { old, new } = &change else { return refuse(shared, change, context) };
    let is_other = |(at, (old, new)): (usize, (&Value, &Value))| at != INSTRUMENTED && old != new;
    let process = match old.first() {
        Some(Value::UInt(id)) => shared.processes.get(*id),
        _ => None,
    };
    let (Some(process), Some(Value::String(instrumented))) = (process, new.get(INSTRUMENTED)) else {
        return refuse(shared, change, context);
    };
    if old.iter().zip(*new).enumerate().any(is_other) {
        return refuse(shared, change, context);
    }
    process.is_instrumented.store(instrumented.eq_ignore_ascii_case("YES"), Ordering::Relaxed);
    Ok(())
}

/// The switch of a consumer that has one of its own.
fn switch<'s>(statistics: &'s Statistics, consumer: &str) -> Option<&'s AtomicBool> {
    match consumer {
        PROCESSOR_TIME => Some(&statistics.measures_processor_time),
        consumer => statistics.wait_consumers.switch(consumer),
    }
}

fn change_consumer(shared: &ServerState, change: VirtualChange<'_>, context: &StatementContext) -> SqlResult<()> {
    let VirtualChange::Update { old: [Value::String(name), _], new: [new_name, Value::String(enabled)] } = &change
    else {
        return refuse(shared, change, context);
    };
    let is_on = match () {
        () if enabled.eq_ignore_ascii_case("YES") => true,
        () if enabled.eq_ignore_ascii_case("NO") => false,
        () => return refuse(shared, change, context),
    };
    match (switch(&shared.statistics, name), name.as_str()) {
        _ if *new_name != Value::from(name.as_str()) => return refuse(shared, change, context),
        (Some(switch), _) => switch.store(is_on, Ordering::Relaxed),
        (None, ALL_MEASURING) => {
            let value = (ids::PERFORMANCE_SCHEMA, Value::UInt(u64::from(is_on)));
            shared.globals.set_by(&[value], &VariableOrigin::dynamic(&context.user));
        }
        (None, _) => return refuse(shared, change, context),
    }
    shared.globals.follow(|| shared.apply_statistics_variables());
    Ok(())
}

pub(crate) const TABLES: &[DescribedTable] = &[
    ("performance_timers", "TIMER_NAME:v11 TIMER_FREQUENCY:i? TIMER_RESOLUTION:i? TIMER_OVERHEAD:i?", |_, _| {
        Ok(vec![vec![s("MICROSECOND"), Value::Int(1_000_000), Value::Int(1), Value::Null]])
    }),
    ("setup_actors", "HOST:v255 USER:v32 ROLE:v32 ENABLED:v3 HISTORY:v3", |_, _| {
        Ok(vec![vec![s("%"), s("%"), s("%"), s("YES"), s("YES")]])
    }),
    ("setup_consumers", "NAME:v64 ENABLED:v3", |source, _| {
        let statistics = &source.state.statistics;
        let row = |name: &&str| {
            let switch = match *name {
                ALL_MEASURING => Some(&statistics.is_on),
                name => switch(statistics, name),
            };
            vec![s(*name), yes_no(switch.is_none_or(|switch| switch.load(Ordering::Relaxed)))]
        };
        Ok(CONSUMERS.iter().map(row).collect())
    }),
    (
        "setup_instruments",
        "NAME:v128 ENABLED:v3 TIMED:v3? PROPERTIES:v90 FLAGS:v20? VOLATILITY:n DOCUMENTATION:text?",
        |_, _| {
            let row = |name: &&str| {
                let is_timed = *name != CLIENT_SOCKET && *name != ROW_TABLE && !memory::NAMES.contains(name);
                let timed = if is_timed { s("YES") } else { Value::Null };
                vec![s(*name), s("YES"), timed, s(""), Value::Null, Value::Int(0), Value::Null]
            };
            Ok(StatementKind::EVENT_NAMES
                .iter()
                .chain(stages::ALL)
                .chain(waits::OF_SESSIONS)
                .chain(OTHERS)
                .chain(file_use::EVENTS)
                .chain(&[ROW_TABLE])
                .chain(memory::NAMES)
                .map(row)
                .collect())
        },
    ),
    ("setup_objects", "OBJECT_TYPE:v9 OBJECT_SCHEMA:v64? OBJECT_NAME:v64 ENABLED:v3 TIMED:v3", |_, _| Ok(Vec::new())),
    ("setup_threads", "NAME:v128 ENABLED:v3 HISTORY:v3 PROPERTIES:v20 VOLATILITY:n DOCUMENTATION:text?", |_, _| {
        Ok(vec![vec![s("thread/sql/one_connection"), s("YES"), s("YES"), s("user"), Value::Int(0), Value::Null]])
    }),
    ("log_status", "SERVER_UUID:v36 LOCAL:text REPLICATION:text STORAGE_ENGINES:text", super::no_rows),
    (
        "innodb_redo_log_files",
        "FILE_ID:i FILE_NAME:v2000 START_LSN:i END_LSN:i SIZE_IN_BYTES:i IS_FULL:n CONSUMER_LEVEL:n",
        super::no_rows,
    ),
    (
        "binary_log_transaction_compression_stats",
        "LOG_TYPE:v6 COMPRESSION_TYPE:v64 TRANSACTION_COUNTER:u COMPRESSED_BYTES_COUNTER:u UNCOMPRESSED_BYTES_COUNTER:u \
         COMPRESSION_PERCENTAGE:n FIRST_TRANSACTION_ID:text? FIRST_TRANSACTION_COMPRESSED_BYTES:u \
         FIRST_TRANSACTION_UNCOMPRESSED_BYTES:u FIRST_TRANSACTION_TIMESTAMP:moment? LAST_TRANSACTION_ID:text? \
         LAST_TRANSACTION_COMPRESSED_BYTES:u LAST_TRANSACTION_UNCOMPRESSED_BYTES:u LAST_TRANSACTION_TIMESTAMP:moment?",
        super::no_rows,
    ),
];
