//! Counts of statements and of their work: by session, by user, and in all.

use super::DATABASE;
use crate::performance_sums::{accounts, user};
use crate::source::Source;
use crate::spec::{ColumnSpec, TableSpec, s, text, u, uint};
use squall_instrumentation::accounts::{AccountStatistics, host_without_port};
use squall_instrumentation::process::{Process, SessionStatus};
use squall_instrumentation::statements::EventTotals;
use squall_registry::VirtualScan;
use squall_server_state::variables::{Values, ids};
use squall_types::{ErrorCode, SqlResult, Value};

pub(crate) const TABLES: &[TableSpec] = &[
    TableSpec {
        database: DATABASE,
        name: "SESSION_STATEMENTS",
        columns: super::NAME_AND_VALUE,
        rows: |source, _| Ok(source.process().map(|process| statement_rows(&process.status)).unwrap_or_default()),
    },
    TableSpec {
        database: DATABASE,
        name: "GLOBAL_STATEMENTS",
        columns: super::NAME_AND_VALUE,
        rows: |source, _| Ok(statement_rows(&source.state.processes.total_status())),
    },
    TableSpec { database: DATABASE, name: "CURRENT_SQL_COMMANDS", columns: CURRENT, rows: current },
    TableSpec { database: DATABASE, name: "CUMULATIVE_SQL_COMMANDS", columns: CUMULATIVE, rows: cumulative },
    TableSpec {
        database: DATABASE,
        name: "CUMULATIVE_USER_STATS",
        columns: &[
            text("USERNAME", 32),
            uint("BYTES_RECEIVED"),
            uint("BYTES_SENT"),
            uint("DENIED_CONNECTIONS"),
            uint("LOST_CONNECTIONS"),
            uint("ACCESS_DENIED"),
            uint("CONNECTED_TIME_SEC"),
            uint("EXECUTION_TIME_NSEC"),
            uint("ROWS_FETCHED"),
            uint("ROWS_UPDATED"),
            uint("ROWS_DELETED"),
            uint("ROWS_INSERTED"),
        ],
        rows: user_statistics,
    },
    TableSpec {
        database: DATABASE,
        name: "SCOREBOARD_STATISTICS",
        columns: &[
            uint("SCOREBOARD_SIZE"),
            uint("NUMBER_OF_RANGE_LOCKS"),
            uint("MAX_USERS_LOGGED"),
            uint("MEMORY_USAGE_BYTES"),
        ],
        rows: scoreboard,
    },
];

const CURRENT: &[ColumnSpec] = &[
    text("USERNAME", 32),
    text("IP", 255),
    uint("COUNT_SELECT"),
    uint("COUNT_DELETE"),
    uint("COUNT_UPDATE"),
    uint("COUNT_INSERT"),
    uint("COUNT_ROLLBACK"),
    uint("COUNT_COMMIT"),
    uint("COUNT_CREATE"),
    uint("COUNT_ALTER"),
    uint("COUNT_DROP"),
    uint("COUNT_ADMIN"),
];

const CUMULATIVE: &[ColumnSpec] = &[
    text("USERNAME", 32),
    uint("COUNT_SELECT"),
    uint("COUNT_DELETE"),
    uint("COUNT_UPDATE"),
    uint("COUNT_INSERT"),
    uint("COUNT_ROLLBACK"),
    uint("COUNT_COMMIT"),
    uint("COUNT_CREATE"),
    uint("COUNT_ALTER"),
    uint("COUNT_DROP"),
    uint("COUNT_ADMIN"),
];

/// What the names of status variables of statements begin with.
const STATEMENTS: &str = "Com_";

/// Counts of statements, without those of the protocol's commands for prepared statements.
fn statement_counts(status: &SessionStatus) -> impl Iterator<Item = (&'static str, u64)> {
    status.values().into_iter().filter_map(|(name, count)| Some((name.strip_prefix(STATEMENTS)?, count)))
}

fn statement_rows(status: &SessionStatus) -> Vec<Vec<Value>> {
    let mut counts: Vec<(&str, u64)> = statement_counts(status).collect();
    counts.sort_unstable();
    counts.into_iter().map(|(name, count)| vec![s(name), s(count.to_string())]).collect()
}

/// The column that counts a kind of statement, from 0; `None` for kinds that none counts.
fn column_of(kind: &str) -> Option<usize> {
    let column = match kind {
        "select" => 0,
        "delete" | "delete_multi" => 1,
        "update" | "update_multi" => 2,
        "insert" | "insert_select" | "replace" | "replace_select" | "load" => 3,
        "rollback" => 4,
        "commit" => 5,
        "admin_commands" | "analyze" | "check" | "checksum" | "flush" | "kill" | "lock_instance" | "optimize"
        | "purge" | "repair" | "reset" | "restart" | "shutdown" | "unlock_instance" => 9,
        _ if kind.starts_with("create_") => 6,
        _ if kind.starts_with("alter_") => 7,
        _ if kind.starts_with("drop_") => 8,
        _ => return None,
    };
    Some(column)
}

/// The ten counts.
fn command_counts(status: &SessionStatus) -> Vec<Value> {
    let mut counts = [0u64; 10];
    for (kind, count) in statement_counts(status) {
        if let Some(column) = column_of(kind) {
            counts[column] += count;
        }
    }
    counts.map(u).to_vec()
}

/// Whether the tables have rows at all.
fn is_enabled(source: &Source<'_>) -> bool {
    Values(&source.state.globals.load_values()).on(ids::LOGGING_STATS_ENABLED)
}

fn current(source: &Source<'_>, _: &VirtualScan<'_>) -> SqlResult<Vec<Vec<Value>>> {
    if !is_enabled(source) {
        return Ok(Vec::new());
    }
    let processes = source.state.processes.all();
    let seen = processes.iter().filter(|process| source.sees_process(process));
    let row = |process: &std::sync::Arc<Process>| {
        let account = vec![s(&process.user), s(host_without_port(&process.host))];
        [account, command_counts(&process.status)].concat()
    };
    Ok(seen.map(row).collect())
}

/// The users that may be seen, as far as they are counted, with their counts since the start.
fn users(source: &Source<'_>) -> Vec<(String, AccountStatistics)> {
    if !is_enabled(source) {
        return Vec::new();
    }
    let mut users: Vec<(String, AccountStatistics)> = accounts(source, user)
        .into_iter()
        .filter_map(|(mut columns, statistics)| match columns.pop() {
            Some(Value::String(user)) => Some((user, statistics)),
            // The server's own threads.
            _ => None,
        })
        .collect();
    // Who was only refused has an account, but no counts.
    for user in source.state.statistics.refused_logins.lock().keys() {
        if !users.iter().any(|(known, _)| known == user) {
            users.push((user.clone(), AccountStatistics::default()));
        }
    }
    users.sort_by(|left, right| left.0.cmp(&right.0));
    users.truncate(users_max(source));
    users.retain(|(user, _)| source.sees_user(user));
    users
}

/// Users that are shown at most.
fn users_max(source: &Source<'_>) -> usize {
    let most = Values(&source.state.globals.load_values()).number(ids::LOGGING_STATS_MAX_USER_COUNT);
    usize::try_from(most).unwrap_or(usize::MAX)
}

fn cumulative(source: &Source<'_>, _: &VirtualScan<'_>) -> SqlResult<Vec<Vec<Value>>> {
    let row =
        |(user, statistics): (String, AccountStatistics)| [vec![s(user)], command_counts(&statistics.status)].concat();
    Ok(users(source).into_iter().map(row).collect())
}

/// The refusals of what privileges do not allow.
const DENIALS: &[ErrorCode] = &[
    ErrorCode::AccessDenied,
    ErrorCode::AccessDeniedChangeUser,
    ErrorCode::ColumnAccessDenied,
    ErrorCode::DbAccessDenied,
    ErrorCode::KillDenied,
    ErrorCode::ProcAccessDenied,
    ErrorCode::SpecificAccessDenied,
    ErrorCode::TableAccessDenied,
];

/// Rows that statements of some kinds have changed.
fn rows_of(events: &EventTotals, kinds: &[&str]) -> u64 {
    let is_of = |event: &str| event.strip_prefix("statement/sql/").is_some_and(|kind| kinds.contains(&kind));
    events.iter().filter(|(event, _)| is_of(event)).map(|(_, totals)| totals.rows_affected).sum()
}

fn user_statistics(source: &Source<'_>, _: &VirtualScan<'_>) -> SqlResult<Vec<Vec<Value>>> {
    let refused = source.state.statistics.refused_logins.lock().clone();
    let row = |(user, counted): (String, AccountStatistics)| {
        let events = &counted.by_event;
        let denied = DENIALS.iter().filter_map(|code| counted.errors.get(&code.number()));
        let refused = refused.get(&user).copied().unwrap_or(0);
        let micros: u64 = events.iter().map(|(_, totals)| totals.sum_micros).sum();
        vec![
            s(user),
            u(counted.sockets.read_bytes),
            u(counted.sockets.written_bytes),
            u(refused),
            u(counted.lost_connections),
            u(denied.map(|error| error.raised).sum()),
            u(counted.connected_time.as_secs()),
            u(micros.saturating_mul(1000)),
            u(events.iter().map(|(_, totals)| totals.rows_sent).sum()),
            u(rows_of(events, &["update", "update_multi"])),
            u(rows_of(events, &["delete", "delete_multi"])),
            u(rows_of(events, &["insert", "insert_select", "replace", "replace_select", "load"])),
        ]
    };
    Ok(users(source).into_iter().map(row).collect())
}

/// Each session counts by itself, without a lock, so there is no board to share: as many sessions are counted as can connect.
fn scoreboard(source: &Source<'_>, _: &VirtualScan<'_>) -> SqlResult<Vec<Vec<Value>>> {
    let sessions = Values(&source.state.globals.load_values()).number(ids::MAX_CONNECTIONS);
    let accounts = source.state.statistics.accounts.snapshot().len() * size_of::<AccountStatistics>();
    let processes = source.state.processes.len() * size_of::<Process>();
    Ok(vec![vec![u(sessions), u(0), u(users_max(source) as u64), u((accounts + processes) as u64)]])
}
