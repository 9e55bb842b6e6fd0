//! Accounts that have connected, and counts of what they have run.

use crate::errors::{ErrorsByNumber, merge_errors};
use crate::memory::{self, SessionPart};
use crate::process::{Process, SessionStatus};
use crate::socket_use::SocketTotals;
use crate::statements::{EventTotals, count_event};
use crate::timed::{TimesByEvent, merge_event, times_of_files};
use crate::transactions::TransactionTotals;
use parking_lot::Mutex;
use squall_accounting::file_use::IoTotals;
use std::collections::BTreeMap;
use std::time::Duration;

/// A user and a host. Both are `None` for the server's own threads.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct AccountKey {
    /// As the client gave it.
    pub user: Option<String>,
    /// Without a port.
    pub host: Option<String>,
}

impl AccountKey {
    /// That of a connection.
    pub fn of(process: &Process) -> AccountKey {
        AccountKey { user: Some(process.user.clone()), host: Some(host_without_port(&process.host).to_string()) }
    }
}

/// The host of `host:port`.
pub fn host_without_port(host: &str) -> &str {
    match host.rsplit_once(':') {
        Some((address, port)) if !port.is_empty() && port.bytes().all(|byte| byte.is_ascii_digit()) => address,
        _ => host,
    }
}

/// The counts of an account since the start.
#[derive(Clone, Debug, Default)]
pub struct AccountStatistics {
    /// How many there are now.
    pub current_connections: i64,
    /// How many there were.
    pub total_connections: i64,
    /// How many of them ended without the client's good-bye.
    pub lost_connections: u64,
    /// How long they were there, together.
    pub connected_time: Duration,
    /// Bytes through their sockets.
    pub sockets: SocketTotals,
    /// Statements of connections that are gone.
    pub by_event: EventTotals,
    /// Their status variables.
    pub status: SessionStatus,
    /// The errors that their statements ended with.
    pub errors: ErrorsByNumber,
    /// Their transactions.
    pub transactions: TransactionTotals,
    /// Their waits.
    pub waits: TimesByEvent,
    /// Their use of files.
    pub files: TimesByEvent,
    /// Stages of their statements.
    pub stages: TimesByEvent,
    /// Memory of connections that are there, in the order of [`memory::OF_SESSIONS`].
    pub memory: [SessionPart; memory::OF_SESSIONS.len()],
    /// The most that one of its connections has reserved for queries, and in all.
    pub session_memory_high: (u64, u64),
}

/// All accounts that have connected.
#[derive(Debug, Default)]
pub struct Accounts(Mutex<BTreeMap<AccountKey, AccountStatistics>>);

impl Accounts {
    /// A client has connected.
    pub fn connected(&self, process: &Process) {
        let mut accounts = self.0.lock();
        let account = accounts.entry(AccountKey::of(process)).or_default();
        account.current_connections += 1;
        account.total_connections += 1;
    }

    /// A connection is gone.
    pub fn disconnected(&self, process: &Process) {
        let mut accounts = self.0.lock();
        let account = accounts.entry(AccountKey::of(process)).or_default();
        account.current_connections -= 1;
        account.add(process);
        account.memory = Default::default();
    }

    /// A connection ends without the client's good-bye.
    pub fn lost(&self, process: &Process) {
        self.0.lock().entry(AccountKey::of(process)).or_default().lost_connections += 1;
    }

    /// A connection begins to count its status variables again after these.
    pub fn keep_status(&self, process: &Process, counted: &SessionStatus) {
        counted.add_to(&self.0.lock().entry(AccountKey::of(process)).or_default().status);
    }

    /// All of them.
    pub fn snapshot(&self) -> BTreeMap<AccountKey, AccountStatistics> {
        self.0.lock().clone()
    }

    /// All of them, with what connections that are there have counted.
    pub fn with_present<'p>(
        &self,
        processes: impl Iterator<Item = &'p Process>,
    ) -> BTreeMap<AccountKey, AccountStatistics> {
        let mut accounts = self.snapshot();
        for process in processes {
            accounts.entry(AccountKey::of(process)).or_default().add(process);
        }
        accounts
    }

    /// Forgets accounts without connections, and sets the others' connection counts to what is open.
    pub fn clear(&self) {
        self.0.lock().retain(|_, account| {
            account.total_connections = account.current_connections;
            account.by_event.clear();
            account.current_connections > 0
        });
    }

    /// Forgets something of each.
    pub fn clear_of_each(&self, clear: impl FnMut(&mut AccountStatistics)) {
        self.0.lock().values_mut().for_each(clear);
    }
}

impl AccountStatistics {
    /// Adds what a connection has counted.
    fn add(&mut self, process: &Process) {
        process.status.add_to(&self.status);
        self.connected_time += process.connected_time();
        if let Some(socket) = &process.socket {
            self.sockets.merge(&socket.totals());
        }
        for (event, totals) in process.statements.by_event() {
            count_event(&mut self.by_event, event, |sum| sum.merge(&totals));
        }
        merge_errors(&mut self.errors, &process.errors.snapshot());
        self.transactions.merge(&process.transactions.totals());
        process.waits.list().iter().for_each(|(event, times)| merge_event(&mut self.waits, event, times));
        self.add_files(&process.files.list());
        process.stages.list().iter().for_each(|(event, times)| merge_event(&mut self.stages, event, times));
        let parts = memory::of_session(process);
        self.merge_memory(&parts, (process.memory.high() as u64, parts.iter().map(|part| part.high_bytes).sum()));
    }

    /// Adds what was done with files.
    pub fn add_files(&mut self, files: &[(&'static str, IoTotals)]) {
        times_of_files(files).iter().for_each(|(event, times)| merge_event(&mut self.files, event, times));
    }

    fn merge_memory(&mut self, parts: &[SessionPart], high: (u64, u64)) {
        self.memory.iter_mut().zip(parts).for_each(|(sum, part)| sum.merge(part));
        let known = &mut self.session_memory_high;
        *known = (known.0.max(high.0), known.1.max(high.1));
    }

    /// Adds what another account is known for.
    pub fn merge(&mut self, other: &AccountStatistics) {
        self.current_connections += other.current_connections;
        self.total_connections += other.total_connections;
        self.lost_connections += other.lost_connections;
        self.connected_time += other.connected_time;
        self.sockets.merge(&other.sockets);
        other.status.add_to(&self.status);
        for (event, totals) in &other.by_event {
            count_event(&mut self.by_event, event, |sum| sum.merge(totals));
        }
        merge_errors(&mut self.errors, &other.errors);
        self.transactions.merge(&other.transactions);
        other.waits.iter().for_each(|(event, times)| merge_event(&mut self.waits, event, times));
        other.files.iter().for_each(|(event, times)| merge_event(&mut self.files, event, times));
        other.stages.iter().for_each(|(event, times)| merge_event(&mut self.stages, event, times));
        self.merge_memory(&other.memory, other.session_memory_high);
    }
}
