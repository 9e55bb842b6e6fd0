//! performance_schema's sums of statements, errors, transactions, waits and stages: by thread, account, user and host, and in total.

use super::background_threads::{BACKGROUND_THREADS_FROM, TASKS};
use super::{DescribedTable, Source, local_time, s, s_or_null, u};
use squall_accounting::file_use::{self, ThreadFileTimes};
use squall_instrumentation::accounts::{AccountKey, AccountStatistics};
use squall_instrumentation::errors::{ErrorStatistics, ErrorsByNumber};
use squall_instrumentation::process::Process;
use squall_instrumentation::stages;
use squall_instrumentation::timed::{Timed, TimesByEvent, times_of_files};
use squall_instrumentation::transactions::TransactionTotals;
use squall_instrumentation::waits;
use squall_registry::VirtualScan;
use squall_types::{SqlResult, Value};

const PICOS_PER_NANO: u64 = 1000;

type Rows = SqlResult<Vec<Vec<Value>>>;
/// The columns that name an account or a part of one.
type Columns = fn(&AccountKey) -> Vec<Value>;

pub(crate) const TABLES: &[DescribedTable] = &[
    ("events_errors_summary_by_thread_by_error", "THREAD_ID:u $ERROR", |source, scan| {
        by_thread(source, |process| error_rows(scan, &process.errors.snapshot()))
    }),
    ("events_errors_summary_by_account_by_error", "USER:v32? HOST:v255? $ERROR", |source, scan| {
        by_account(source, account, |account| error_rows(scan, &account.errors))
    }),
    ("events_errors_summary_by_user_by_error", "USER:v32? $ERROR", |source, scan| {
        by_account(source, user, |account| error_rows(scan, &account.errors))
    }),
    ("events_errors_summary_by_host_by_error", "HOST:v255? $ERROR", |source, scan| {
        by_account(source, host, |account| error_rows(scan, &account.errors))
    }),
    ("events_errors_summary_global_by_error", "$ERROR", |source, scan| {
        by_account(source, all_together, |account| error_rows(scan, &account.errors))
    }),
    (
        "events_transactions_summary_by_thread_by_event_name",
        "THREAD_ID:u EVENT_NAME:v128 * *READ_WRITE *READ_ONLY",
        |source, _| by_thread(source, |process| transaction_rows(&process.transactions.totals())),
    ),
    (
        "events_transactions_summary_by_account_by_event_name",
        "USER:v32? HOST:v255? EVENT_NAME:v128 * *READ_WRITE *READ_ONLY",
        |source, _| by_account(source, account, |account| transaction_rows(&account.transactions)),
    ),
    (
        "events_transactions_summary_by_user_by_event_name",
        "USER:v32? EVENT_NAME:v128 * *READ_WRITE *READ_ONLY",
        |source, _| by_account(source, user, |account| transaction_rows(&account.transactions)),
    ),
    (
        "events_transactions_summary_by_host_by_event_name",
        "HOST:v255? EVENT_NAME:v128 * *READ_WRITE *READ_ONLY",
        |source, _| by_account(source, host, |account| transaction_rows(&account.transactions)),
    ),
    ("events_transactions_summary_global_by_event_name", "EVENT_NAME:v128 * *READ_WRITE *READ_ONLY", |source, _| {
        by_account(source, all_together, |account| transaction_rows(&account.transactions))
    }),
    ("events_waits_summary_by_thread_by_event_name", "THREAD_ID:u EVENT_NAME:v128 *", |source, _| {
        waits_by_thread(source)
    }),
    ("events_waits_summary_by_account_by_event_name", "USER:v32? HOST:v255? EVENT_NAME:v128 *", |source, _| {
        by_account(source, account, |account| wait_rows(&account.waits, &account.files))
    }),
    ("events_waits_summary_by_user_by_event_name", "USER:v32? EVENT_NAME:v128 *", |source, _| {
        by_account(source, user, |account| wait_rows(&account.waits, &account.files))
    }),
    ("events_waits_summary_by_host_by_event_name", "HOST:v255? EVENT_NAME:v128 *", |source, _| {
        by_account(source, host, |account| wait_rows(&account.waits, &account.files))
    }),
    ("events_stages_summary_by_thread_by_event_name", "THREAD_ID:u EVENT_NAME:v128 *", |source, _| {
        by_thread(source, |process| event_rows(stages::ALL, &process.stages.list()))
    }),
    ("events_stages_summary_by_account_by_event_name", "USER:v32? HOST:v255? EVENT_NAME:v128 *", |source, _| {
        by_account(source, account, |account| event_rows(stages::ALL, &account.stages))
    }),
    ("events_stages_summary_by_user_by_event_name", "USER:v32? EVENT_NAME:v128 *", |source, _| {
        by_account(source, user, |account| event_rows(stages::ALL, &account.stages))
    }),
    ("events_stages_summary_by_host_by_event_name", "HOST:v255? EVENT_NAME:v128 *", |source, _| {
        by_account(source, host, |account| event_rows(stages::ALL, &account.stages))
    }),
    ("events_stages_summary_global_by_event_name", "EVENT_NAME:v128 *", |source, _| {
        by_account(source, all_together, |account| event_rows(stages::ALL, &account.stages))
    }),
];

/// A user and a host.
pub(crate) fn account(account: &AccountKey) -> Vec<Value> {
    vec![s_or_null(account.user.clone()), s_or_null(account.host.clone())]
}

/// A user, wherever from.
pub(crate) fn user(account: &AccountKey) -> Vec<Value> {
    vec![s_or_null(account.user.clone())]
}

/// A host, with any account.
pub(crate) fn host(account: &AccountKey) -> Vec<Value> {
    vec![s_or_null(account.host.clone())]
}

/// No column: all accounts together.
pub(crate) fn all_together(_: &AccountKey) -> Vec<Value> {
    Vec::new()
}

/// Sums of accounts with the same columns: current and ended connections, and the server's own threads, which have neither user nor
/// host.
pub(crate) fn accounts(source: &Source<'_>, columns: Columns) -> Vec<(Vec<Value>, AccountStatistics)> {
    let processes = source.state.processes.all();
    let mut all = source.state.statistics.accounts.with_present(processes.iter().map(|process| &**process));
    let background = all.entry(AccountKey::default()).or_default();
    let threads = std::fs::read_dir(TASKS).map_or(0, |tasks| i64::try_from(tasks.count()).unwrap_or(i64::MAX));
    (background.current_connections, background.total_connections) = (threads, threads);
    background.add_files(&file_use::background_times());
    let mut sums: Vec<(Vec<Value>, AccountStatistics)> = Vec::new();
    for (account, statistics) in all {
        let key = columns(&account);
        match sums.iter_mut().find(|(known, _)| *known == key) {
            Some((_, sum)) => sum.merge(&statistics),
            None => sums.push((key, statistics)),
        }
    }
    sums
}

/// Rows of each account, behind its columns.
pub(crate) fn by_account(
    source: &Source<'_>,
    columns: Columns,
    rows: impl Fn(&AccountStatistics) -> Vec<Vec<Value>>,
) -> Rows {
    let rows_of = |(key, statistics): (Vec<Value>, AccountStatistics)| {
        let rows = rows(&statistics).into_iter();
        rows.map(move |row| [key.clone(), row].concat()).collect::<Vec<_>>()
    };
    Ok(accounts(source, columns).into_iter().flat_map(rows_of).collect())
}

/// Rows of each connection, behind its number.
pub(crate) fn by_thread(source: &Source<'_>, rows: impl Fn(&Process) -> Vec<Vec<Value>>) -> Rows {
    let mut all = Vec::new();
    for process in source.state.processes.all() {
        all.extend(rows(&process).into_iter().map(|row| [vec![u(process.id)], row].concat()));
    }
    Ok(all)
}

/// Of connections, and of the server's own threads: what they do with files for no account.
fn waits_by_thread(source: &Source<'_>) -> Rows {
    let mut rows =
        by_thread(source, |process| wait_rows(&process.waits.list(), &times_of_files(&process.files.list())))?;
    for ThreadFileTimes { thread, times } in file_use::thread_times() {
        let known = event_rows(file_use::EVENTS, &times_of_files(&times));
        rows.extend(known.into_iter().map(|row| [vec![u(BACKGROUND_THREADS_FROM + thread)], row].concat()));
    }
    Ok(rows)
}

/// Waits of a session or account: for the server, and for files.
fn wait_rows(waits: &TimesByEvent, files: &TimesByEvent) -> Vec<Vec<Value>> {
    [event_rows(waits::OF_SESSIONS, waits), event_rows(file_use::EVENTS, files)].concat()
}

fn error_rows(scan: &VirtualScan<'_>, errors: &ErrorsByNumber) -> Vec<Vec<Value>> {
    let row = |(number, error): (&u16, &ErrorStatistics)| {
        vec![
            Value::Int(i64::from(*number)),
            Value::Null,
            s(String::from_utf8_lossy(&error.sqlstate)),
            u(error.raised),
            u(0),
            local_time(scan.context, error.first_seen),
            local_time(scan.context, error.last_seen),
        ]
    };
    errors.iter().map(row).collect()
}

fn transaction_rows(totals: &TransactionTotals) -> Vec<Vec<Value>> {
    let mut all = totals.read_write;
    all.merge(&totals.read_only);
    let times = [all, totals.read_write, totals.read_only];
    vec![[s("transaction")].into_iter().chain(times.iter().flat_map(timed)).collect()]
}

/// The events that are known, and what was counted of them.
pub(crate) fn event_rows(known: &[&'static str], times: &TimesByEvent) -> Vec<Vec<Value>> {
    let of = |event: &str| times.iter().find(|(counted, _)| *counted == event).map(|(_, times)| *times);
    let row = |event: &&'static str| {
        [s(*event)].into_iter().chain(timed(&of(event).unwrap_or_default())).collect::<Vec<Value>>()
    };
    known.iter().map(row).collect()
}

/// Count, sum, least, average and greatest time, picoseconds.
pub(crate) fn timed(times: &Timed) -> [Value; 5] {
    let picos = |nanos: u64| u(nanos.saturating_mul(PICOS_PER_NANO));
    let average = times.sum_nanos.saturating_mul(PICOS_PER_NANO).checked_div(times.count).unwrap_or(0);
    [u(times.count), picos(times.sum_nanos), picos(times.min_nanos), u(average), picos(times.max_nanos)]
}
