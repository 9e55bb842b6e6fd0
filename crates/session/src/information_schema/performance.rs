//! performance_schema's tables of statements, accounts, threads and errors.
//!
//! What is not measured is 0, as MySQL has it for instruments that are off: temporary tables, sorts, scans, CPU time and memory of
//! statements.

use super::{
    ColumnSpec, Source, TableSpec, choice, double, int, int32, local_micros, long_text, moment, s, s_or_null,
    small_uint, text, time, u, uint,
};
use crate::database::now_micros;
use crate::process::Process;
use crate::session::Session;
use crate::statistics::accounts::{AccountKey, host_without_port};
use crate::statistics::errors::ErrorStatistics;
use crate::statistics::statements::{EventTotals, StatementStatistics, count_event};
use crate::statistics::totals::{Histogram, PICOS_PER_MICRO, Totals, bucket_end_picos, bucket_start_picos};
use squall_parser::ast::ObjectName;
use squall_registry::VirtualScan;
use squall_types::{SqlResult, Value};
use std::collections::BTreeMap;
use std::sync::atomic::Ordering;

const PERFORMANCE: &str = "performance_schema";
const YES_NO: &[&str] = &["YES", "NO"];
/// A background thread's number is that of the operating system above this, so that it is no connection's.
const BACKGROUND_THREADS_FROM: u64 = 1 << 32;

/// The columns of sums over statements, behind some and before others.
macro_rules! summary {
    ([$($before:expr),*], [$($behind:expr),*]) => {
        &[
            $($before,)*
            uint("COUNT_STAR"),
            uint("SUM_TIMER_WAIT"),
            uint("MIN_TIMER_WAIT"),
            uint("AVG_TIMER_WAIT"),
            uint("MAX_TIMER_WAIT"),
            uint("SUM_LOCK_TIME"),
            uint("SUM_ERRORS"),
            uint("SUM_WARNINGS"),
            uint("SUM_ROWS_AFFECTED"),
            uint("SUM_ROWS_SENT"),
            uint("SUM_ROWS_EXAMINED"),
            uint("SUM_CREATED_TMP_DISK_TABLES"),
            uint("SUM_CREATED_TMP_TABLES"),
            uint("SUM_SELECT_FULL_JOIN"),
            uint("SUM_SELECT_FULL_RANGE_JOIN"),
            uint("SUM_SELECT_RANGE"),
            uint("SUM_SELECT_RANGE_CHECK"),
            uint("SUM_SELECT_SCAN"),
            uint("SUM_SORT_MERGE_PASSES"),
            uint("SUM_SORT_RANGE"),
            uint("SUM_SORT_ROWS"),
            uint("SUM_SORT_SCAN"),
            uint("SUM_NO_INDEX_USED"),
            uint("SUM_NO_GOOD_INDEX_USED"),
            uint("SUM_CPU_TIME"),
            uint("MAX_CONTROLLED_MEMORY"),
            uint("MAX_TOTAL_MEMORY"),
            uint("COUNT_SECONDARY"),
            $($behind,)*
        ]
    };
}

/// The ordinal of `COUNT_BUCKET` in `events_statements_histogram_by_digest`.
const COUNT_BUCKET: usize = 5;
/// Columns of the summary that come behind those that are measured.
const NOT_MEASURED: usize = 17;

const fn user() -> ColumnSpec {
    text("USER", 32).or_null()
}

const fn host() -> ColumnSpec {
    text("HOST", 255).or_null()
}

const fn event_name() -> ColumnSpec {
    text("EVENT_NAME", 128)
}

pub(super) const TABLES: &[TableSpec] = &[
    TableSpec {
        database: PERFORMANCE,
        name: "events_statements_summary_by_digest",
        columns: summary!(
            [text("SCHEMA_NAME", 64).or_null(), text("DIGEST", 64).or_null(), long_text("DIGEST_TEXT").or_null()],
            [
                moment("FIRST_SEEN"),
                moment("LAST_SEEN"),
                uint("QUANTILE_95"),
                uint("QUANTILE_99"),
                uint("QUANTILE_999"),
                long_text("QUERY_SAMPLE_TEXT").or_null(),
                moment("QUERY_SAMPLE_SEEN"),
                uint("QUERY_SAMPLE_TIMER_WAIT")
            ]
        ),
        rows: by_digest,
    },
    TableSpec {
        database: PERFORMANCE,
        name: "events_statements_histogram_by_digest",
        columns: &[
            text("SCHEMA_NAME", 64).or_null(),
            text("DIGEST", 64).or_null(),
            small_uint("BUCKET_NUMBER"),
            uint("BUCKET_TIMER_LOW"),
            uint("BUCKET_TIMER_HIGH"),
            uint("COUNT_BUCKET"),
            uint("COUNT_BUCKET_AND_LOWER"),
            double("BUCKET_QUANTILE"),
        ],
        rows: histogram_by_digest,
    },
    TableSpec {
        database: PERFORMANCE,
        name: "events_statements_histogram_global",
        columns: &[
            small_uint("BUCKET_NUMBER"),
            uint("BUCKET_TIMER_LOW"),
            uint("BUCKET_TIMER_HIGH"),
            uint("COUNT_BUCKET"),
            uint("COUNT_BUCKET_AND_LOWER"),
            double("BUCKET_QUANTILE"),
        ],
        rows: histogram_global,
    },
    TableSpec {
        database: PERFORMANCE,
        name: "events_statements_summary_by_thread_by_event_name",
        columns: summary!([uint("THREAD_ID"), event_name()], []),
        rows: by_thread,
    },
    TableSpec {
        database: PERFORMANCE,
        name: "events_statements_summary_by_account_by_event_name",
        columns: summary!([user(), host(), event_name()], []),
        rows: |source, _| {
            by_account(source, |account| vec![s_or_null(account.user.clone()), s_or_null(account.host.clone())])
        },
    },
    TableSpec {
        database: PERFORMANCE,
        name: "events_statements_summary_by_user_by_event_name",
        columns: summary!([user(), event_name()], []),
        rows: |source, _| by_account(source, |account| vec![s_or_null(account.user.clone())]),
    },
    TableSpec {
        database: PERFORMANCE,
        name: "events_statements_summary_by_host_by_event_name",
        columns: summary!([host(), event_name()], []),
        rows: |source, _| by_account(source, |account| vec![s_or_null(account.host.clone())]),
    },
    TableSpec {
        database: PERFORMANCE,
        name: "events_statements_summary_global_by_event_name",
        columns: summary!([event_name()], []),
        rows: |source, _| by_account(source, |_| Vec::new()),
    },
    TableSpec {
        database: PERFORMANCE,
        name: "accounts",
        columns: &[
            user(),
            host(),
            int("CURRENT_CONNECTIONS"),
            int("TOTAL_CONNECTIONS"),
            uint("MAX_SESSION_CONTROLLED_MEMORY"),
            uint("MAX_SESSION_TOTAL_MEMORY"),
        ],
        rows: |source, _| {
            connections(source, |account| vec![s_or_null(account.user.clone()), s_or_null(account.host.clone())])
        },
    },
    TableSpec {
        database: PERFORMANCE,
        name: "users",
        columns: &[
            user(),
            int("CURRENT_CONNECTIONS"),
            int("TOTAL_CONNECTIONS"),
            uint("MAX_SESSION_CONTROLLED_MEMORY"),
            uint("MAX_SESSION_TOTAL_MEMORY"),
        ],
        rows: |source, _| connections(source, |account| vec![s_or_null(account.user.clone())]),
    },
    TableSpec {
        database: PERFORMANCE,
        name: "hosts",
        columns: &[
            host(),
            int("CURRENT_CONNECTIONS"),
            int("TOTAL_CONNECTIONS"),
            uint("MAX_SESSION_CONTROLLED_MEMORY"),
            uint("MAX_SESSION_TOTAL_MEMORY"),
        ],
        rows: |source, _| connections(source, |account| vec![s_or_null(account.host.clone())]),
    },
    TableSpec {
        database: PERFORMANCE,
        name: "threads",
        columns: &[
            uint("THREAD_ID"),
            text("NAME", 128),
            text("TYPE", 10),
            uint("PROCESSLIST_ID").or_null(),
            text("PROCESSLIST_USER", 32).or_null(),
            text("PROCESSLIST_HOST", 255).or_null(),
            text("PROCESSLIST_DB", 64).or_null(),
            text("PROCESSLIST_COMMAND", 16).or_null(),
            int("PROCESSLIST_TIME").or_null(),
            text("PROCESSLIST_STATE", 64).or_null(),
            long_text("PROCESSLIST_INFO").or_null(),
            uint("PARENT_THREAD_ID").or_null(),
            text("ROLE", 64).or_null(),
            choice("INSTRUMENTED", YES_NO),
            choice("HISTORY", YES_NO),
            text("CONNECTION_TYPE", 16).or_null(),
            uint("THREAD_OS_ID").or_null(),
            text("RESOURCE_GROUP", 64).or_null(),
            choice("EXECUTION_ENGINE", &["PRIMARY", "SECONDARY"]).or_null(),
            uint("CONTROLLED_MEMORY"),
            uint("MAX_CONTROLLED_MEMORY"),
            uint("TOTAL_MEMORY"),
            uint("MAX_TOTAL_MEMORY"),
            choice("TELEMETRY_ACTIVE", YES_NO),
        ],
        rows: threads,
    },
    TableSpec {
        database: PERFORMANCE,
        name: "events_errors_summary_global_by_error",
        columns: &[
            int32("ERROR_NUMBER").or_null(),
            text("ERROR_NAME", 64).or_null(),
            text("SQL_STATE", 5).or_null(),
            uint("SUM_ERROR_RAISED"),
            uint("SUM_ERROR_HANDLED"),
            time("FIRST_SEEN").or_null(),
            time("LAST_SEEN").or_null(),
        ],
        rows: errors,
    },
];

/// The columns of sums over statements.
fn totals(sum: &Totals) -> impl Iterator<Item = Value> {
    let picos = |micros: u64| u(micros.saturating_mul(PICOS_PER_MICRO));
    let average = sum.sum_micros.saturating_mul(PICOS_PER_MICRO).checked_div(sum.count).unwrap_or(0);
    let measured = vec![
        u(sum.count),
        picos(sum.sum_micros),
        picos(sum.min_micros),
        u(average),
        picos(sum.max_micros),
        picos(sum.lock_micros),
        u(sum.errors),
        u(sum.warnings),
        u(sum.rows_affected),
        u(sum.rows_sent),
        u(sum.rows_examined),
    ];
    measured.into_iter().chain(std::iter::repeat_n(u(0), NOT_MEASURED))
}

/// All statements by digest, and the sums of those for which there was no room.
fn statements(source: &Source<'_>) -> (Vec<StatementStatistics>, Totals) {
    let processes = source.shared.processes.all();
    source.shared.statistics.statements.snapshot(processes.iter().map(|process| &process.statements))
}

fn digest_columns(statistics: &StatementStatistics) -> [Value; 2] {
    [s_or_null(statistics.schema.as_deref()), s(format!("{:032x}", statistics.digest.hash))]
}

fn by_digest(source: &Source<'_>, scan: &VirtualScan<'_>) -> SqlResult<Vec<Vec<Value>>> {
    source.may_select(PERFORMANCE, "events_statements_summary_by_digest")?;
    let (all, others) = statements(source);
    let moment = |micros: i64| local_micros(scan.context, micros);
    let mut rows: Vec<Vec<Value>> = all
        .iter()
        .map(|statistics| {
            let mut row = Vec::from(digest_columns(statistics));
            row.push(s(&statistics.digest.text));
            row.extend(totals(&statistics.totals));
            row.extend([moment(statistics.first_seen), moment(statistics.last_seen)]);
            row.extend([0.95, 0.99, 0.999].map(|share| u(statistics.histogram.quantile(share))));
            row.extend([
                s(&*statistics.sample.text),
                moment(statistics.sample.seen),
                u(statistics.sample.micros.saturating_mul(PICOS_PER_MICRO)),
            ]);
            row
        })
        .collect();
    if others.count > 0 {
        let mut row = vec![Value::Null; 3];
        row.extend(totals(&others));
        row.extend([moment(0), moment(0), u(0), u(0), u(0), Value::Null, moment(0), u(0)]);
        rows.push(row);
    }
    Ok(rows)
}

/// The buckets of a histogram, up to the last one that is used.
fn buckets(histogram: &Histogram) -> Vec<Vec<Value>> {
    let counts: Vec<(u16, u64)> = histogram.counts().collect();
    let total: u64 = counts.iter().map(|(_, count)| count).sum();
    let mut seen = 0;
    counts
        .into_iter()
        .map(|(bucket, count)| {
            seen += count;
            vec![
                u(u64::from(bucket)),
                u(bucket_start_picos(bucket)),
                u(bucket_end_picos(bucket)),
                u(count),
                u(seen),
                Value::Double(if total == 0 { 0.0 } else { seen as f64 / total as f64 }),
            ]
        })
        .collect()
}

fn histogram_by_digest(source: &Source<'_>, scan: &VirtualScan<'_>) -> SqlResult<Vec<Vec<Value>>> {
    source.may_select(PERFORMANCE, "events_statements_histogram_by_digest")?;
    // Whoever asks for buckets that are used is spared the others, which are most of them.
    let only_used = scan.excludes(COUNT_BUCKET, &u(0));
    let mut rows = Vec::new();
    for statistics in statements(source).0 {
        let key = digest_columns(&statistics);
        for bucket in buckets(&statistics.histogram) {
            if !only_used || bucket.get(COUNT_BUCKET - key.len()) != Some(&u(0)) {
                rows.push([key.to_vec(), bucket].concat());
            }
        }
    }
    Ok(rows)
}

fn histogram_global(source: &Source<'_>, _: &VirtualScan<'_>) -> SqlResult<Vec<Vec<Value>>> {
    source.may_select(PERFORMANCE, "events_statements_histogram_global")?;
    let mut sum = Histogram::default();
    statements(source).0.iter().for_each(|statistics| sum.merge(&statistics.histogram));
    Ok(buckets(&sum))
}

fn by_thread(source: &Source<'_>, _: &VirtualScan<'_>) -> SqlResult<Vec<Vec<Value>>> {
    source.may_select(PERFORMANCE, "events_statements_summary_by_thread_by_event_name")?;
    let mut rows = Vec::new();
    for process in source.shared.processes.all() {
        for (event, sum) in process.statements.by_event() {
            rows.push([u(process.id), s(event)].into_iter().chain(totals(&sum)).collect());
        }
    }
    Ok(rows)
}

/// Sums of kinds of statements over accounts that have the same columns.
fn by_account(source: &Source<'_>, columns: fn(&AccountKey) -> Vec<Value>) -> SqlResult<Vec<Vec<Value>>> {
    source.may_select(PERFORMANCE, "events_statements_summary_by_account_by_event_name")?;
    let mut sums: Vec<(Vec<Value>, EventTotals)> = Vec::new();
    let mut add = |account: &AccountKey, events: EventTotals| {
        let key = columns(account);
        let at = sums.iter().position(|(known, _)| *known == key).unwrap_or_else(|| {
            sums.push((key, Vec::new()));
            sums.len() - 1
        });
        for (event, totals) in events {
            count_event(&mut sums[at].1, event, |sum| sum.merge(&totals));
        }
    };
    for (account, statistics) in source.shared.statistics.accounts.snapshot() {
        add(&account, statistics.by_event);
    }
    for process in source.shared.processes.all() {
        add(&AccountKey::of(&process), process.statements.by_event());
    }
    let mut rows = Vec::new();
    for (key, mut events) in sums {
        events.sort_unstable_by_key(|(event, _)| *event);
        for (event, sum) in events {
            rows.push(key.iter().cloned().chain([s(event)]).chain(totals(&sum)).collect());
        }
    }
    Ok(rows)
}

/// Connections over accounts that have the same columns.
fn connections(source: &Source<'_>, columns: fn(&AccountKey) -> Vec<Value>) -> SqlResult<Vec<Vec<Value>>> {
    source.may_select(PERFORMANCE, "accounts")?;
    let mut sums: Vec<(Vec<Value>, i64, i64)> = Vec::new();
    for (account, statistics) in source.shared.statistics.accounts.snapshot() {
        let key = columns(&account);
        match sums.iter_mut().find(|(known, ..)| *known == key) {
            Some((_, current, total)) => {
                *current += statistics.current_connections;
                *total += statistics.total_connections;
            }
            None => sums.push((key, statistics.current_connections, statistics.total_connections)),
        }
    }
    let row = |(mut key, current, total): (Vec<Value>, i64, i64)| {
        key.extend([Value::Int(current), Value::Int(total), u(0), u(0)]);
        key
    };
    Ok(sums.into_iter().map(row).collect())
}

fn threads(source: &Source<'_>, _: &VirtualScan<'_>) -> SqlResult<Vec<Vec<Value>>> {
    source.may_select(PERFORMANCE, "threads")?;
    let now = now_micros();
    let mut rows: Vec<Vec<Value>> =
        source.shared.processes.all().iter().map(|process| foreground_thread(process, now)).collect();
    for (number, name) in background_threads() {
        let mut row = vec![u(BACKGROUND_THREADS_FROM + number), s(format!("thread/{name}")), s("BACKGROUND")];
        row.extend(std::iter::repeat_n(Value::Null, 10));
        row.extend([s("NO"), s("NO"), Value::Null, u(number), Value::Null, Value::Null]);
        row.extend([u(0), u(0), u(0), u(0), s("NO")]);
        rows.push(row);
    }
    Ok(rows)
}

fn foreground_thread(process: &Process, now: i64) -> Vec<Value> {
    let activity = process.activity.lock();
    let shown = |text: &str| s_or_null(Some(text).filter(|text| !text.is_empty()));
    vec![
        u(process.id),
        s("thread/sql/one_connection"),
        s("FOREGROUND"),
        u(process.id),
        s(&process.user),
        s(host_without_port(&process.host)),
        shown(&activity.database),
        s(activity.command),
        Value::Int((now - process.since_micros.load(Ordering::Relaxed)).max(0) / 1_000_000),
        shown(activity.state),
        shown(&activity.statement),
        Value::Null,
        Value::Null,
        s("YES"),
        s("NO"),
        Value::Null,
        Value::Null,
        Value::Null,
        s("PRIMARY"),
        u(0),
        u(0),
        u(0),
        u(0),
        s("NO"),
    ]
}

/// The process's threads, by the operating system's numbers, and what they do; where it tells.
fn background_threads() -> BTreeMap<u64, String> {
    let mut threads = BTreeMap::new();
    let Ok(tasks) = std::fs::read_dir("/proc/self/task") else { return threads };
    for task in tasks.flatten() {
        let number = task.file_name().to_str().and_then(|name| name.parse().ok());
        let name = std::fs::read_to_string(task.path().join("comm"));
        if let (Some(number), Ok(name)) = (number, name) {
            threads.insert(number, name.trim_end().to_string());
        }
    }
    threads
}

fn errors(source: &Source<'_>, scan: &VirtualScan<'_>) -> SqlResult<Vec<Vec<Value>>> {
    source.may_select(PERFORMANCE, "events_errors_summary_global_by_error")?;
    let raised = source.shared.statistics.errors.snapshot();
    let row = |(number, error): (u16, ErrorStatistics)| {
        vec![
            Value::Int(i64::from(number)),
            Value::Null,
            s(String::from_utf8_lossy(&error.sqlstate)),
            u(error.raised),
            u(0),
            super::local_time(scan.context, error.first_seen),
            super::local_time(scan.context, error.last_seen),
        ]
    };
    Ok(raised.into_iter().map(row).collect())
}

/// What TRUNCATE TABLE forgets.
enum Counted {
    Digests,
    Events,
    Errors,
    Accounts,
    Recent,
}

/// What a table of performance_schema shows that TRUNCATE TABLE can forget.
fn counted(table: &str) -> Option<Counted> {
    Some(match table.to_ascii_lowercase().as_str() {
        "events_statements_summary_by_digest"
        | "events_statements_histogram_by_digest"
        | "events_statements_histogram_global" => Counted::Digests,
        "events_errors_summary_global_by_error" => Counted::Errors,
        "accounts" | "users" | "hosts" => Counted::Accounts,
        "events_statements_current" | "events_statements_history" | "events_statements_history_long" => Counted::Recent,
        table if table.starts_with("events_statements_summary_") => Counted::Events,
        _ => return None,
    })
}

impl Session {
    /// Whether TRUNCATE TABLE of a table makes the server forget what it has counted.
    pub(crate) fn is_counted(&self, name: &ObjectName) -> SqlResult<bool> {
        let (database, table) = self.qualify(name)?;
        Ok(database.eq_ignore_ascii_case(PERFORMANCE) && counted(&table).is_some())
    }

    /// TRUNCATE TABLE of one of these tables forgets what was counted; `false` if it is another table.
    pub(crate) fn truncate_performance(&self, name: &ObjectName) -> SqlResult<bool> {
        let (database, table) = self.qualify(name)?;
        let counted = counted(&table).filter(|_| database.eq_ignore_ascii_case(PERFORMANCE));
        let (statistics, processes) = (&self.shared.statistics, self.shared.processes.all());
        match counted {
            None => return Ok(false),
            Some(Counted::Digests) => {
                statistics.statements.clear(processes.iter().map(|process| &process.statements));
            }
            Some(Counted::Errors) => statistics.errors.clear(),
            Some(Counted::Accounts) => statistics.accounts.clear(),
            Some(Counted::Recent) => {
                processes.iter().for_each(|process| process.statements.clear_recent());
                statistics.recent_of_gone.lock().clear();
            }
            Some(Counted::Events) => {
                processes.iter().for_each(|process| process.statements.clear_events());
                statistics.accounts.clear_events();
            }
        }
        Ok(true)
    }
}
