//! The process list: the connections and their current statements.

use crate::errors::CountedErrors;
use crate::prepared::PreparedUses;
use crate::recent::RecentStatement;
use crate::socket_use::{SocketTotals, SocketUse, TlsUse};
use crate::stages::CountedStages;
use crate::statement_counters::{StatementCounters, add_counter};
use crate::statements::CountedStatements;
use crate::tables::CountedTables;
use crate::transactions::CountedTransactions;
use crate::waits::CountedWaits;
use parking_lot::{Mutex, RwLock};
use squall_accounting::file_use::FileTimes;
use squall_accounting::{PlanCounts, SessionMemory};
use squall_statement_context::{KillState, UserVariables};
use std::any::Any;
use std::collections::BTreeMap;
use std::net::IpAddr;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU8, AtomicU64, Ordering};
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

/// Called when KILL hits a connection, from any thread, so that its front end stops waiting for the client.
pub type KillCallback = Arc<dyn Fn() + Send + Sync>;

/// One connection as others see it.
pub struct Process {
    /// `CONNECTION_ID()`.
    pub id: u64,
    /// User part as the client gave it.
    pub user: String,
    /// `localhost`, or address and port.
    pub host: String,
    /// KILL and time-outs.
    pub kill: Arc<KillState>,
    /// Its current action.
    pub activity: Mutex<Activity>,
    /// When that began, microseconds since 1970 UTC.
    pub since_micros: AtomicI64,
    /// Connection attributes.
    pub attributes: Vec<(String, String)>,
    /// Counters of this session.
    pub status: SessionStatus,
    /// Whether what it does is counted, if anything is: `INSTRUMENTED` in `performance_schema.threads`.
    pub is_instrumented: AtomicBool,
    /// The statements that it has run.
    pub statements: CountedStatements,
    /// Rows of tables that it has read and changed.
    pub tables: CountedTables,
    /// Errors that its statements have ended with.
    pub errors: CountedErrors,
    /// Its transactions.
    pub transactions: CountedTransactions,
    /// Its waits.
    pub waits: CountedWaits,
    /// Its statements' use of files.
    pub files: Arc<FileTimes>,
    /// The reservations of its statements.
    pub memory: Arc<SessionMemory>,
    /// The bytes that its open transaction has written; the most of any.
    pub written_bytes: AtomicU64,
    /// The most that one has written, bytes.
    pub written_bytes_high: AtomicU64,
    /// How its connection is encrypted, if it is.
    pub tls: Option<Arc<TlsUse>>,
    /// The counts of its client's socket, if it has one.
    pub socket: Option<Arc<SocketUse>>,
    /// These counts at the last FLUSH STATUS.
    socket_flushed: Mutex<SocketTotals>,
    /// Where that is; `None` for a Unix socket.
    pub peer: Option<IpAddr>,
    /// Stages of its statements.
    pub stages: CountedStages,
    /// Its prepared statements.
    pub prepared: PreparedUses,
    /// Its session's `@variables`.
    user_variables: Mutex<Arc<UserVariables>>,
    /// Names of the savepoints of its transaction.
    savepoints: Mutex<Vec<String>>,
    /// When it began.
    connected: Instant,
    /// How far the current LOAD DATA or INTO OUTFILE is.
    pub transfer: TransferProgress,
    /// Sessions that run statements for functions of this one's statement.
    pub nested: Mutex<Vec<u64>>,
    /// The session whose EXECUTE it works for, as a child with a transaction and a KILL of its own.
    pub parent: Option<u64>,
    /// Whether the client is interactive.
    pub is_interactive: bool,
    /// Statements that it has plans of, as far as they are in the cache of all sessions: values of the cache's.
    plan_uses: Mutex<Vec<Weak<dyn Any + Send + Sync>>>,
    on_kill: KillCallback,
}

impl std::fmt::Debug for Process {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Process").field("id", &self.id).field("user", &self.user).finish_non_exhaustive()
    }
}

/// The action of a connection.
#[derive(Clone, Debug, Default)]
pub struct Activity {
    /// `Sleep`, `Query`, `Execute`, `Prepare` …
    pub command: &'static str,
    /// A word on the stage, empty for none.
    pub state: &'static str,
    /// The statement, empty for none.
    pub statement: String,
    /// Default database, empty for none.
    pub database: String,
}

/// What happens to rows and files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Transfer {
    /// LOAD DATA reads a file.
    Loading = 1,
    /// SELECT … INTO OUTFILE writes one.
    Writing,
    /// ALTER TABLE copies a table's rows.
    Copying,
    /// BACKUP SERVER copies files.
    BackingUp,
}

/// How far a LOAD DATA or an INTO OUTFILE is.
#[derive(Debug, Default)]
pub struct TransferProgress {
    /// A [`Transfer`]; 0 if nothing is under way.
    running: AtomicU8,
    rows: AtomicU64,
    bytes: AtomicU64,
    /// Of the whole file; 0 if that is not known.
    bytes_total: AtomicU64,
    /// Of the table that is copied, about.
    rows_total: AtomicU64,
}

impl TransferProgress {
    /// A transfer begins.
    pub fn begin(&self, transfer: Transfer) {
        for counter in [&self.rows, &self.bytes, &self.bytes_total, &self.rows_total] {
            counter.store(0, Ordering::Relaxed);
        }
        self.running.store(transfer as u8, Ordering::Relaxed);
    }

    /// Nothing is transferred any more.
    pub fn end(&self) {
        self.running.store(0, Ordering::Relaxed);
    }

    /// The file has this many bytes.
    pub fn set_bytes_total(&self, bytes: u64) {
        self.bytes_total.store(bytes, Ordering::Relaxed);
    }

    /// The table has about this many rows.
    pub fn set_rows_total(&self, rows: u64) {
        self.rows_total.store(rows, Ordering::Relaxed);
    }

    /// This many bytes of it have been read.
    pub fn set_bytes(&self, bytes: u64) {
        self.bytes.store(bytes, Ordering::Relaxed);
    }

    /// This many bytes more of it have been read.
    pub fn add_bytes(&self, bytes: usize) {
        self.bytes.fetch_add(bytes as u64, Ordering::Relaxed);
    }

    /// This many rows more have been made of it or are in it.
    pub fn add_rows(&self, rows: u64) {
        self.rows.fetch_add(rows, Ordering::Relaxed);
    }

    /// Work that is done and, if that is known, all of it: bytes of a file, or rows. `None` if nothing is under way.
    pub fn work(&self) -> Option<(u64, Option<u64>)> {
        let load = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        let (rows, bytes) = (load(&self.rows), load(&self.bytes));
        match (self.running.load(Ordering::Relaxed), load(&self.bytes_total), load(&self.rows_total)) {
            (0, ..) => None,
            (_, 0, 0) => Some((rows, None)),
            (_, 0, total) => Some((rows.min(total), Some(total))),
            (_, total, _) => Some((bytes.min(total), Some(total))),
        }
    }

    /// The state in the process list; `None` if nothing is running.
    pub fn shown(&self) -> Option<String> {
        let rows = self.rows.load(Ordering::Relaxed);
        match self.running.load(Ordering::Relaxed) {
            0 => None,
            running if running == Transfer::Writing as u8 => Some(format!("writing: {rows} rows")),
            running if running == Transfer::Copying as u8 => Some(match self.rows_total.load(Ordering::Relaxed) {
                0 => format!("copying: {rows} rows"),
                total => format!("copying: {rows} rows, {} % of the table", rows.min(total) * 100 / total),
            }),
            running if running == Transfer::BackingUp as u8 => {
                let (bytes, total) = (self.bytes.load(Ordering::Relaxed), self.bytes_total.load(Ordering::Relaxed));
                Some(format!("backing up: {} % of {} MB", bytes.min(total) * 100 / total.max(1), total >> 20))
            }
            _ => Some(match (self.bytes.load(Ordering::Relaxed), self.bytes_total.load(Ordering::Relaxed)) {
                (_, 0) => format!("loading: {rows} rows"),
                (bytes, total) => {
                    format!("loading: {rows} rows, {} % of the file read", bytes.min(total) * 100 / total)
                }
            }),
        }
    }
}

macro_rules! counters {
    ($($field:ident = $name:literal;)*) => {
        /// Counters of one session; SHOW GLOBAL STATUS adds them up.
        #[derive(Debug, Default)]
        pub struct SessionStatus {
            $(#[doc = $name] pub $field: AtomicU64,)*
            /// Statements by their kinds.
            pub statements: StatementCounters,
        }

        impl SessionStatus {
            /// Names and values.
            pub fn values(&self) -> Vec<(&'static str, u64)> {
                let mut values = vec![$(($name, self.$field.load(Ordering::Relaxed)),)*];
                values.extend(self.statements.values());
                values
            }

            /// Adds all counters to another set.
            pub fn add_to(&self, sum: &SessionStatus) {
                $(add_counter(&self.$field, &sum.$field);)*
                self.statements.add_to(&sum.statements);
            }

            /// Sets all counters to 0.
            pub fn clear(&self) {
                $(self.$field.store(0, Ordering::Relaxed);)*
                self.statements.clear();
            }
        }
    };
}

counters! {
    admin_commands = "Com_admin_commands";
    stmt_close = "Com_stmt_close";
    stmt_execute = "Com_stmt_execute";
    stmt_fetch = "Com_stmt_fetch";
    stmt_prepare = "Com_stmt_prepare";
    stmt_reset = "Com_stmt_reset";
    stmt_send_long_data = "Com_stmt_send_long_data";
    created_tmp_disk_tables = "Created_tmp_disk_tables";
    created_tmp_tables = "Created_tmp_tables";
    handler_commit = "Handler_commit";
    handler_prepare = "Handler_prepare";
    handler_rollback = "Handler_rollback";
    plan_hits = "Plan_cache_hits";
    plan_misses = "Plan_cache_misses";
    plan_shared_hits = "Plan_cache_shared_hits";
    questions = "Questions";
    queries = "Queries";
    rowwise = "Rowwise_queries";
    select_full_join = "Select_full_join";
    select_full_range_join = "Select_full_range_join";
    select_range = "Select_range";
    select_range_check = "Select_range_check";
    select_scan = "Select_scan";
    slow_queries = "Slow_queries";
    sort_merge_passes = "Sort_merge_passes";
    sort_range = "Sort_range";
    sort_rows = "Sort_rows";
    sort_scan = "Sort_scan";
}

impl Clone for SessionStatus {
    fn clone(&self) -> SessionStatus {
        let copy = SessionStatus::default();
        self.add_to(&copy);
        copy
    }
}

/// Adds one to a counter of the caller's own session: it has no other writer, so there is nothing to lock.
#[inline]
pub fn count(counter: &AtomicU64) {
    count_more(counter, 1);
}

#[inline]
fn count_more(counter: &AtomicU64, more: u64) {
    if more > 0 {
        counter.store(counter.load(Ordering::Relaxed).wrapping_add(more), Ordering::Relaxed);
    }
}

impl SessionStatus {
    /// Adds what a statement has done; by the session itself.
    pub fn add_plan(&self, counts: &PlanCounts) {
        if *counts == PlanCounts::default() {
            return;
        }
        count_more(&self.created_tmp_disk_tables, counts.tmp_disk_tables);
        count_more(&self.created_tmp_tables, counts.tmp_tables);
        count_more(&self.select_full_join, counts.select_full_join);
        count_more(&self.select_full_range_join, counts.select_full_range_join);
        count_more(&self.select_range, counts.select_range);
        count_more(&self.select_scan, counts.select_scan);
        count_more(&self.sort_merge_passes, counts.sort_merge_passes);
        count_more(&self.sort_range, counts.sort_range);
        count_more(&self.sort_rows, counts.sort_rows);
        count_more(&self.sort_scan, counts.sort_scan);
    }
}

impl Process {
    /// A connection that has just been made.
    pub fn new(
        id: u64,
        user: String,
        host: String,
        attributes: Vec<(String, String)>,
        on_kill: KillCallback,
        kill: Arc<KillState>,
        now_micros: i64,
    ) -> Process {
        let activity = Activity { command: "Sleep", ..Default::default() };
        Process {
            id,
            user,
            host,
            kill,
            activity: Mutex::new(activity),
            since_micros: AtomicI64::new(now_micros),
            attributes,
            status: SessionStatus::default(),
            is_instrumented: AtomicBool::new(true),
            statements: CountedStatements::default(),
            tables: CountedTables::default(),
            errors: CountedErrors::default(),
            transactions: CountedTransactions::default(),
            waits: CountedWaits::default(),
            files: Arc::default(),
            memory: Arc::default(),
            written_bytes: AtomicU64::new(0),
            written_bytes_high: AtomicU64::new(0),
            tls: None,
            socket: None,
            socket_flushed: Mutex::default(),
            peer: None,
            stages: CountedStages::default(),
            user_variables: Mutex::default(),
            savepoints: Mutex::default(),
            connected: Instant::now(),
            prepared: PreparedUses::default(),
            transfer: TransferProgress::default(),
            nested: Mutex::default(),
            parent: None,
            is_interactive: false,
            plan_uses: Mutex::default(),
            on_kill,
        }
    }

    /// Its session's `@variables`.
    pub fn user_variables(&self) -> Arc<UserVariables> {
        self.user_variables.lock().clone()
    }

    /// The session has others now.
    pub fn set_user_variables(&self, variables: &Arc<UserVariables>) {
        *self.user_variables.lock() = variables.clone();
    }

    /// Names of the savepoints of its transaction, the oldest first.
    pub fn savepoints(&self) -> Vec<String> {
        self.savepoints.lock().clone()
    }

    /// How long it has been there.
    pub fn connected_time(&self) -> Duration {
        self.connected.elapsed()
    }

    /// Its last statements, the oldest first, with the transactions that they were in.
    pub fn recent_statements(&self) -> Vec<RecentStatement> {
        let mut recent = self.statements.recent();
        recent.iter_mut().for_each(|statement| statement.transaction = self.transactions.around(statement.event_id));
        recent
    }

    /// The same for a client behind a socket.
    pub fn with_socket(
        self,
        socket: Option<Arc<SocketUse>>,
        peer: Option<IpAddr>,
        tls: Option<Arc<TlsUse>>,
    ) -> Process {
        Process { socket, peer, tls, ..self }
    }

    /// The same for a session that works for another one, with the client's attributes.
    pub fn with_caller(self, parent: Option<u64>, is_interactive: bool) -> Process {
        Process { parent, is_interactive, ..self }
    }

    /// Whether it is a client's; sessions that work for the server have no socket.
    pub fn is_client(&self) -> bool {
        self.socket.is_some()
    }

    /// The counts of its socket since the last FLUSH STATUS.
    pub fn socket_since_flush(&self) -> SocketTotals {
        let totals = self.socket.as_ref().map_or_else(SocketTotals::default, |socket| socket.totals());
        totals.since(&self.socket_flushed.lock())
    }

    /// It begins to count again; what it has counted is added to a sum, and told.
    pub fn flush_status(&self, sum: &SessionStatus) -> SessionStatus {
        let counted = self.status.clone();
        counted.add_to(sum);
        self.status.clear();
        if let Some(socket) = &self.socket {
            *self.socket_flushed.lock() = socket.totals();
        }
        counted
    }

    /// A command begins.
    pub fn begin(&self, command: &'static str, statement: &str, now_micros: i64) {
        self.since_micros.store(now_micros, Ordering::Relaxed);
        self.transfer.end();
        let mut activity = self.activity.lock();
        activity.command = command;
        activity.state = if command == "Sleep" { "" } else { "executing" };
        activity.statement.clear();
        // A statement of many megabytes is not copied for a list that shows its beginning.
        let mut end = statement.len().min(64 << 10);
        while !statement.is_char_boundary(end) {
            end -= 1;
        }
        activity.statement.push_str(&statement[..end]);
    }

    /// A command has ended that was too short to be shown.
    #[inline]
    pub fn rest(&self, now_micros: i64) {
        self.since_micros.store(now_micros, Ordering::Relaxed);
    }

    /// The default database changed.
    pub fn set_database(&self, database: &str) {
        let mut activity = self.activity.lock();
        activity.database.clear();
        activity.database.push_str(database);
    }

    /// The session has a plan from now on, for as long as it holds on to it. The cache of plans says what `T` is.
    pub fn add_plan_use<T: Any + Send + Sync>(&self, plan_use: &Arc<T>) {
        let mut uses = self.plan_uses.lock();
        if uses.len() == uses.capacity() {
            uses.retain(|known| known.strong_count() > 0);
        }
        let plan_use: Weak<T> = Arc::downgrade(plan_use);
        uses.push(plan_use);
    }

    /// The plans that it has.
    pub fn plan_uses<T: Any + Send + Sync>(&self) -> Vec<Arc<T>> {
        self.plan_uses.lock().iter().filter_map(|plan_use| plan_use.upgrade()?.downcast().ok()).collect()
    }

    /// KILL CONNECTION.
    pub fn kill_connection(&self) {
        self.kill.kill_connection();
        (self.on_kill)();
    }
}

/// The savepoints of a transaction, as others see them until it ends.
#[derive(Debug)]
pub struct ShownSavepoints {
    process: Arc<Process>,
    /// Those of the transaction around, which a function's is inside of.
    outer: Vec<String>,
}

impl ShownSavepoints {
    /// Of the transaction that a connection has begun.
    pub fn of(process: &Arc<Process>) -> ShownSavepoints {
        ShownSavepoints { process: process.clone(), outer: process.savepoints() }
    }

    /// It has these now, the oldest first.
    pub fn set(&self, names: Vec<String>) {
        *self.process.savepoints.lock() = names;
    }
}

impl Drop for ShownSavepoints {
    fn drop(&mut self) {
        let outer = std::mem::take(&mut self.outer);
        self.set(outer);
    }
}

/// All connections.
#[derive(Debug, Default)]
pub struct ProcessList {
    next_id: AtomicU64,
    processes: RwLock<BTreeMap<u64, Arc<Process>>>,
    /// Counters of connections that are gone.
    pub retired: SessionStatus,
    /// Connections so far.
    pub connections: AtomicU64,
    /// Connections that failed before they had a session.
    pub aborted_connects: AtomicU64,
    /// Connections that ended without a client's good-bye.
    pub aborted_clients: AtomicU64,
    /// Connections that were refused because there were too many.
    pub refused_connections: AtomicU64,
    /// Moves of connections from one event loop to another.
    pub moved_connections: AtomicU64,
    /// Connections that were encrypted.
    pub encrypted: AtomicU64,
    /// Those of them whose session of TLS went on from an earlier one.
    pub resumed: AtomicU64,
    /// Most connections at once.
    pub max_used: AtomicU64,
    /// When there were as many for the first time, microseconds since 1970 UTC.
    pub max_used_micros: AtomicI64,
    /// When FLUSH STATUS was run last, microseconds since 1970 UTC; 0 for never.
    pub flushed_micros: AtomicI64,
}

impl ProcessList {
    /// A number that no connection has had since the start.
    pub fn next_id(&self) -> u64 {
        self.next_id.fetch_add(1, Ordering::Relaxed) + 1
    }

    /// Adds a connection unless there are as many as may be of its kind; whether it was added.
    pub fn add_below(&self, process: Arc<Process>, count_max: usize, is_alike: impl Fn(&Process) -> bool) -> bool {
        let mut processes = self.processes.write();
        let others = processes.values().filter(|other| other.id != process.id && is_alike(other));
        if others.count() >= count_max {
            return false;
        }
        self.insert(&mut processes, process);
        true
    }

    /// Adds a connection.
    pub fn add(&self, process: Arc<Process>) {
        self.insert(&mut self.processes.write(), process);
    }

    fn insert(&self, processes: &mut BTreeMap<u64, Arc<Process>>, process: Arc<Process>) {
        processes.insert(process.id, process.clone());
        self.connections.fetch_add(1, Ordering::Relaxed);
        if let Some(tls) = &process.tls {
            self.encrypted.fetch_add(1, Ordering::Relaxed);
            self.resumed.fetch_add(u64::from(tls.resumed), Ordering::Relaxed);
        }
        self.note_most_used(processes.len(), process.since_micros.load(Ordering::Relaxed));
    }

    fn note_most_used(&self, count: usize, now_micros: i64) {
        if self.max_used.fetch_max(count as u64, Ordering::Relaxed) < count as u64 {
            self.max_used_micros.store(now_micros, Ordering::Relaxed);
        }
    }

    /// FLUSH STATUS: all begin to count again. What connections have counted stays among the server's sums, and among those of accounts.
    pub fn flush_status(&self, now_micros: i64, mut keep: impl FnMut(&Process, &SessionStatus)) {
        let processes = self.processes.write();
        processes.values().for_each(|process| keep(process, &process.flush_status(&self.retired)));
        self.aborted_clients.store(0, Ordering::Relaxed);
        self.max_used.store(0, Ordering::Relaxed);
        self.note_most_used(processes.len(), now_micros);
        self.flushed_micros.store(now_micros, Ordering::Relaxed);
    }

    /// Removes a connection and keeps its counters.
    pub fn remove(&self, process: &Arc<Process>) {
        let mut processes = self.processes.write();
        // COM_CHANGE_USER gives the number to a new session, which may be here already.
        if processes.get(&process.id).is_some_and(|current| Arc::ptr_eq(current, process)) {
            processes.remove(&process.id);
        }
        process.status.add_to(&self.retired);
    }

    /// The connection of that number.
    pub fn get(&self, id: u64) -> Option<Arc<Process>> {
        self.processes.read().get(&id).cloned()
    }

    /// All connections in the order of their numbers.
    pub fn all(&self) -> Vec<Arc<Process>> {
        self.processes.read().values().cloned().collect()
    }

    /// How many connections there are.
    pub fn len(&self) -> usize {
        self.processes.read().len()
    }

    /// Whether no client is connected.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The counters of all sessions, past and present.
    pub fn total_status(&self) -> SessionStatus {
        let sum = SessionStatus::default();
        self.retired.add_to(&sum);
        for process in self.all() {
            process.status.add_to(&sum);
        }
        sum
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_load_tells_how_far_it_is() {
        let load = TransferProgress::default();
        assert_eq!(load.shown(), None);
        load.begin(Transfer::Loading);
        load.add_rows(7);
        assert_eq!(load.shown().as_deref(), Some("loading: 7 rows"));
        load.set_bytes_total(200);
        load.add_bytes(50);
        assert_eq!(load.shown().as_deref(), Some("loading: 7 rows, 25 % of the file read"));
        load.begin(Transfer::Writing);
        load.add_rows(3);
        assert_eq!(load.shown().as_deref(), Some("writing: 3 rows"));
        load.begin(Transfer::Copying);
        load.set_rows_total(10);
        load.add_rows(4);
        assert_eq!(load.shown().as_deref(), Some("copying: 4 rows, 40 % of the table"));
        assert_eq!(load.work(), Some((4, Some(10))));
        load.end();
        assert_eq!((load.shown(), load.work()), (None, None));
    }
}
