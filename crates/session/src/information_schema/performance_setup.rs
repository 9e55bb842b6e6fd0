//! performance_schema's tables of what is measured. They show how it is; they cannot be changed.

use super::{DescribedTable, s};
use crate::statistics::{event_name, memory, stages, waits};
use squall_types::{Value, file_use};
use std::sync::atomic::Ordering;

/// Consumers, and whether they get anything.
const CONSUMERS: &[(&str, bool)] = &[
    ("events_stages_current", true),
    ("events_stages_history", true),
    ("events_stages_history_long", true),
    ("events_statements_cpu", false),
    ("events_statements_current", true),
    ("events_statements_history", true),
    ("events_statements_history_long", true),
    ("events_transactions_current", true),
    ("events_transactions_history", true),
    ("events_transactions_history_long", true),
    ("events_waits_current", false),
    ("events_waits_history", false),
    ("events_waits_history_long", false),
    ("global_instrumentation", true),
    ("thread_instrumentation", true),
    ("statements_digest", true),
];

/// What is measured beside statements and waits of sessions.
const OTHERS: &[&str] = &["transaction", waits::TABLE_IO];

fn yes_no(yes: bool) -> Value {
    s(if yes { "YES" } else { "NO" })
}

pub(super) const TABLES: &[DescribedTable] = &[
    ("performance_timers", "TIMER_NAME:v11 TIMER_FREQUENCY:i? TIMER_RESOLUTION:i? TIMER_OVERHEAD:i?", |_, _| {
        Ok(vec![vec![s("MICROSECOND"), Value::Int(1_000_000), Value::Int(1), Value::Null]])
    }),
    ("setup_actors", "HOST:v255 USER:v32 ROLE:v32 ENABLED:v3 HISTORY:v3", |_, _| {
        Ok(vec![vec![s("%"), s("%"), s("%"), s("YES"), s("YES")]])
    }),
    ("setup_consumers", "NAME:v64 ENABLED:v3", |source, _| {
        let is_on = source.shared.statistics.is_on.load(Ordering::Relaxed);
        Ok(CONSUMERS.iter().map(|(name, used)| vec![s(*name), yes_no(is_on && *used)]).collect())
    }),
    (
        "setup_instruments",
        "NAME:v128 ENABLED:v3 TIMED:v3? PROPERTIES:v90 FLAGS:v20? VOLATILITY:n DOCUMENTATION:text?",
        |source, _| {
            let is_on = source.shared.statistics.is_on.load(Ordering::Relaxed);
            let row = |name: &&str| {
                vec![s(*name), yes_no(is_on), yes_no(is_on), s(""), Value::Null, Value::Int(0), Value::Null]
            };
            Ok(event_name::ALL
                .iter()
                .chain(stages::ALL)
                .chain(waits::OF_SESSIONS)
                .chain(OTHERS)
                .chain(file_use::EVENTS)
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
