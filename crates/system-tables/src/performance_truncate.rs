//! TRUNCATE TABLE of tables of performance_schema: resets the counts.

use super::PERFORMANCE;
use squall_accounting::file_use;
use squall_instrumentation::socket_use::SocketTotals;
use squall_instrumentation::transactions::TransactionTotals;
use squall_server_state::ServerState;

/// The counts that TRUNCATE TABLE resets.
enum Counted {
    Digests,
    Events,
    Errors,
    Accounts,
    Recent,
    Tables,
    Transactions,
    RecentTransactions,
    RecentStages,
    RecentWaits,
    Waits,
    Stages,
    Prepared,
    Status,
    Files,
    Sockets,
    Memory,
}

/// The counts of a table of performance_schema that TRUNCATE TABLE can reset.
fn counted(table: &str) -> Option<Counted> {
    Some(match table.to_ascii_lowercase().as_str() {
        "events_statements_summary_by_digest"
        | "events_statements_histogram_by_digest"
        | "events_statements_histogram_global" => Counted::Digests,
        "accounts" | "users" | "hosts" => Counted::Accounts,
        "events_statements_current" | "events_statements_history" | "events_statements_history_long" => Counted::Recent,
        "events_transactions_current" | "events_transactions_history" | "events_transactions_history_long" => {
            Counted::RecentTransactions
        }
        "events_stages_current" | "events_stages_history" | "events_stages_history_long" => Counted::RecentStages,
        "events_waits_current" | "events_waits_history" | "events_waits_history_long" => Counted::RecentWaits,
        "table_io_waits_summary_by_table"
        | "table_io_waits_summary_by_index_usage"
        | "objects_summary_global_by_type" => Counted::Tables,
        "file_summary_by_instance" | "file_summary_by_event_name" | "events_waits_summary_by_instance" => {
            Counted::Files
        }
        "socket_summary_by_instance" | "socket_summary_by_event_name" => Counted::Sockets,
        "memory_summary_global_by_event_name" => Counted::Memory,
        "prepared_statements_instances" => Counted::Prepared,
        "status_by_account" | "status_by_host" | "status_by_user" | "status_by_thread" => Counted::Status,
        table if table.starts_with("events_statements_summary_") => Counted::Events,
        table if table.starts_with("events_errors_summary_") => Counted::Errors,
        table if table.starts_with("events_transactions_summary_") => Counted::Transactions,
        table if table.starts_with("events_waits_summary_") => Counted::Waits,
        table if table.starts_with("events_stages_summary_") => Counted::Stages,
        _ => return None,
    })
}

/// Whether TRUNCATE TABLE of a table makes the server forget what it has counted.
pub fn is_counted_table(database: &str, table: &str) -> bool {
    database.eq_ignore_ascii_case(PERFORMANCE) && counted(table).is_some()
}

/// TRUNCATE TABLE of one of these tables forgets what was counted; `false` if it is another table.
pub fn truncate(state: &ServerState, database: &str, table: &str) -> bool {
    let Some(counted) = counted(table).filter(|_| database.eq_ignore_ascii_case(PERFORMANCE)) else {
        return false;
    };
    let (statistics, processes) = (&state.statistics, state.processes.all());
    let (sessions, accounts) = (processes.iter(), &statistics.accounts);
    match counted {
        Counted::Digests => statistics.statements.clear(sessions.map(|process| &process.statements)),
        Counted::Tables => statistics.tables.clear(sessions.map(|process| &process.tables)),
        Counted::Accounts => accounts.clear(),
        Counted::Recent => {
            sessions.for_each(|process| process.statements.clear_recent());
            statistics.recent_of_gone.lock().clear();
        }
        Counted::RecentTransactions => sessions.for_each(|process| process.transactions.clear_recent()),
        Counted::RecentStages => sessions.for_each(|process| process.stages.clear_recent()),
        Counted::RecentWaits => {
            sessions.for_each(|process| process.waits.clear_recent());
            statistics.waits_of_gone.lock().clear();
            file_use::clear_events();
        }
        Counted::Prepared => sessions.for_each(|process| process.prepared.clear()),
        Counted::Events => {
            sessions.for_each(|process| process.statements.clear_events());
            accounts.clear_of_each(|account| account.by_event.clear());
        }
        Counted::Errors => {
            sessions.for_each(|process| process.errors.clear());
            accounts.clear_of_each(|account| account.errors.clear());
        }
        Counted::Transactions => {
            sessions.for_each(|process| process.transactions.clear_totals());
            accounts.clear_of_each(|account| account.transactions = TransactionTotals::default());
        }
        Counted::Waits => {
            for process in sessions {
                process.waits.clear();
                process.files.clear();
            }
            accounts.clear_of_each(|account| {
                account.waits.clear();
                account.files.clear();
            });
            file_use::clear_thread_times();
        }
        Counted::Stages => {
            sessions.for_each(|process| process.stages.clear());
            accounts.clear_of_each(|account| account.stages.clear());
        }
        Counted::Files => {
            file_use::clear();
            state.store.clear_file_io();
        }
        Counted::Sockets => {
            sessions.filter_map(|process| process.socket.as_ref()).for_each(|socket| socket.clear());
            *statistics.sockets_of_gone.lock() = SocketTotals::default();
        }
        Counted::Memory => statistics.memory_seen.clear(),
        // As in FLUSH STATUS: what connections have counted goes to the server's sums.
        Counted::Status => {
            for process in sessions {
                process.status.add_to(&state.processes.retired);
                process.status.clear();
            }
            accounts.clear_of_each(|account| account.status.clear());
        }
    }
    true
}
