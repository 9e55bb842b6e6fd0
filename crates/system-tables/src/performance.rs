//! performance_schema's tables of statements, accounts, threads and errors.
//!
//! Values that are not measured are 0, as in MySQL for instruments and consumers that are off.

use super::background_threads::{BACKGROUND_THREADS_FROM, background_threads};
use super::performance_sums::{self, account, accounts, by_account};
use super::{
    ColumnSpec, PERFORMANCE, Source, TableSpec, choice, double, int, local_micros, long_text, moment, s, s_or_null,
    small_uint, text, u, uint,
};
use squall_accounting::PlanCounts;
use squall_instrumentation::accounts::{AccountKey, AccountStatistics, host_without_port};
use squall_instrumentation::memory;
use squall_instrumentation::process::Process;
use squall_instrumentation::statements::{EventTotals, StatementStatistics};
use squall_instrumentation::totals::{
    Histogram, PICOS_PER_MICRO, PICOS_PER_NANO, Totals, bucket_end_picos, bucket_start_picos,
};
use squall_registry::VirtualScan;
use squall_server_state::now_micros;
use squall_types::{SqlResult, Value};
use std::sync::atomic::Ordering;

const YES_NO: &[&str] = &["YES", "NO"];
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

const fn user() -> ColumnSpec {
    text("USER", 32).or_null()
}

const fn host() -> ColumnSpec {
    text("HOST", 255).or_null()
}

const fn event_name() -> ColumnSpec {
    text("EVENT_NAME", 128)
}

pub(crate) const TABLES: &[TableSpec] = &[
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
        rows: |source, _| by_account(source, account, event_rows),
    },
    TableSpec {
        database: PERFORMANCE,
        name: "events_statements_summary_by_user_by_event_name",
        columns: summary!([user(), event_name()], []),
        rows: |source, _| by_account(source, performance_sums::user, event_rows),
    },
    TableSpec {
        database: PERFORMANCE,
        name: "events_statements_summary_by_host_by_event_name",
        columns: summary!([host(), event_name()], []),
        rows: |source, _| by_account(source, performance_sums::host, event_rows),
    },
    TableSpec {
        database: PERFORMANCE,
        name: "events_statements_summary_global_by_event_name",
        columns: summary!([event_name()], []),
        rows: |source, _| by_account(source, performance_sums::all_together, event_rows),
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
        rows: |source, _| connections(source, account),
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
        rows: |source, _| connections(source, performance_sums::user),
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
        rows: |source, _| connections(source, performance_sums::host),
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
];

/// The columns of sums over statements.
fn totals(sum: &Totals) -> impl Iterator<Item = Value> {
    statement_times(sum).into_iter().chain(measured_totals(sum))
}

/// Count, sum, least, average and greatest time.
pub(crate) fn statement_times(sum: &Totals) -> [Value; 5] {
    let average = sum.sum_micros.saturating_mul(PICOS_PER_MICRO).checked_div(sum.count).unwrap_or(0);
    [u(sum.count), picos(sum.sum_micros), picos(sum.min_micros), u(average), picos(sum.max_micros)]
}

/// What stands behind the times.
pub(crate) fn measured_totals(sum: &Totals) -> impl Iterator<Item = Value> {
    let measured = [
        picos(sum.lock_micros),
        u(sum.errors),
        u(sum.warnings),
        u(sum.rows_affected),
        u(sum.rows_sent),
        u(sum.rows_examined),
    ];
    let memory = [u(sum.memory_bytes_max), u(sum.memory_bytes_max), u(0)];
    measured.into_iter().chain(plan_columns(&sum.plan)).chain([processor_time(sum.processor_nanos)]).chain(memory)
}

/// The columns between rows and processor time.
pub(crate) fn plan_columns(plan: &PlanCounts) -> [Value; 13] {
    [
        plan.tmp_disk_tables,
        plan.tmp_tables,
        plan.select_full_join,
        plan.select_full_range_join,
        plan.select_range,
        // No plan is made again for each row.
        0,
        plan.select_scan,
        plan.sort_merge_passes,
        plan.sort_range,
        plan.sort_rows,
        plan.sort_scan,
        plan.no_index_used,
        0,
    ]
    .map(u)
}

/// Processor time in picoseconds.
pub(crate) fn processor_time(nanos: u64) -> Value {
    u(nanos.saturating_mul(PICOS_PER_NANO))
}

fn picos(micros: u64) -> Value {
    u(micros.saturating_mul(PICOS_PER_MICRO))
}

/// All statements by digest, and the sums of those beyond the bound.
fn statements(source: &Source<'_>) -> (Vec<StatementStatistics>, Totals) {
    let processes = source.state.processes.all();
    source.state.statistics.statements.snapshot(processes.iter().map(|process| &process.statements))
}

fn digest_columns(statistics: &StatementStatistics) -> [Value; 2] {
    [s_or_null(statistics.schema.as_deref()), s(format!("{:032x}", statistics.digest.hash))]
}

fn by_digest(source: &Source<'_>, scan: &VirtualScan<'_>) -> SqlResult<Vec<Vec<Value>>> {
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
    // A reader that asks for buckets that are used is spared the others, which are most of them.
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

fn histogram_of_all(source: &Source<'_>) -> Histogram {
    let mut sum = Histogram::default();
    statements(source).0.iter().for_each(|statistics| sum.merge(&statistics.histogram));
    sum
}

/// Statements by the time that they have taken: the ends of intervals, picoseconds, and how many ended in each.
pub(crate) fn histogram(source: &Source<'_>) -> Vec<(u64, u64)> {
    let counts = histogram_of_all(source);
    counts.counts().filter(|(_, count)| *count > 0).map(|(bucket, count)| (bucket_end_picos(bucket), count)).collect()
}

fn histogram_global(source: &Source<'_>, _: &VirtualScan<'_>) -> SqlResult<Vec<Vec<Value>>> {
    Ok(buckets(&histogram_of_all(source)))
}

fn by_thread(source: &Source<'_>, _: &VirtualScan<'_>) -> SqlResult<Vec<Vec<Value>>> {
    performance_sums::by_thread(source, |process| event_totals(process.statements.by_event()))
}

fn event_rows(account: &AccountStatistics) -> Vec<Vec<Value>> {
    event_totals(account.by_event.clone())
}

fn event_totals(mut events: EventTotals) -> Vec<Vec<Value>> {
    events.sort_unstable_by_key(|(event, _)| *event);
    events.iter().map(|(event, sum)| [s(*event)].into_iter().chain(totals(sum)).collect()).collect()
}

/// Connections over accounts that have the same columns.
fn connections(source: &Source<'_>, columns: fn(&AccountKey) -> Vec<Value>) -> SqlResult<Vec<Vec<Value>>> {
    let row = |(mut key, account): (Vec<Value>, AccountStatistics)| {
        let (controlled, total) = account.session_memory_high;
        key.extend([Value::Int(account.current_connections), Value::Int(account.total_connections)]);
        key.extend([u(controlled), u(total)]);
        key
    };
    Ok(accounts(source, columns).into_iter().map(row).collect())
}

fn threads(source: &Source<'_>, _: &VirtualScan<'_>) -> SqlResult<Vec<Vec<Value>>> {
    let now = now_micros();
    let mut rows: Vec<Vec<Value>> =
        source.state.processes.all().iter().map(|process| foreground_thread(process, now)).collect();
    for (number, name) in background_threads() {
        let mut row = vec![u(BACKGROUND_THREADS_FROM + number), s(format!("thread/{name}")), s("BACKGROUND")];
        row.extend(std::iter::repeat_n(Value::Null, 10));
        // What they do with files is counted, for any account.
        row.extend([s("YES"), s("YES"), Value::Null, u(number), Value::Null, Value::Null]);
        row.extend([u(0), u(0), u(0), u(0), s("NO")]);
        rows.push(row);
    }
    Ok(rows)
}

fn foreground_thread(process: &Process, now: i64) -> Vec<Value> {
    let (controlled, controlled_high) = (process.memory.reserved() as u64, process.memory.high() as u64);
    let parts = memory::of_session(process);
    let total = parts.iter().fold((0, 0), |sum, part| (sum.0 + part.bytes, sum.1 + part.high_bytes));
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
        s(if process.is_instrumented.load(Ordering::Relaxed) { "YES" } else { "NO" }),
        s("YES"),
        Value::Null,
        Value::Null,
        Value::Null,
        s("PRIMARY"),
        u(controlled),
        u(controlled_high),
        u(total.0),
        u(total.1),
        s("NO"),
    ]
}
