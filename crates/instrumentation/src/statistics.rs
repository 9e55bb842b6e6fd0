//! Counts of ended sessions, and counts for all sessions.

use crate::accounts::Accounts;
use crate::memory::MemorySeen;
use crate::process::Process;
use crate::recent::RecentStatement;
use crate::socket_use::SocketTotals;
use crate::statements::Statements;
use crate::tables::Tables;
use crate::waits::{WaitConsumers, WaitEvent};
use parking_lot::Mutex;
use std::collections::{BTreeMap, VecDeque};
use std::sync::atomic::AtomicBool;

/// Statements by digest that are kept, as in MySQL's default of `performance_schema_digests_size`.
const DIGESTS_MAX: u64 = 10_000;

/// The server's part; the sessions' is with their [processes](crate::process::Process).
#[derive(Debug)]
pub struct Statistics {
    /// `performance_schema`: whether statements are counted.
    pub is_on: AtomicBool,
    /// Consumer `events_statements_cpu`: whether their processor time is measured.
    pub measures_processor_time: AtomicBool,
    /// Statements by digest, of sessions that are gone.
    pub statements: Statements,
    /// The counts of accounts, users and hosts.
    pub accounts: Accounts,
    /// Rows of tables that sessions that are gone have read and changed.
    pub tables: Tables,
    /// The least and the most memory that each part has been seen with.
    pub memory_seen: MemorySeen,
    /// The counts of closed sockets.
    pub sockets_of_gone: Mutex<SocketTotals>,
    /// Which waits are kept.
    pub wait_consumers: WaitConsumers,
    /// The last statements of connections that are gone, with their threads.
    pub recent_of_gone: Mutex<VecDeque<(u64, RecentStatement)>>,
    /// Logins that were refused, by user.
    pub refused_logins: Mutex<BTreeMap<String, u64>>,
    /// The last waits of closed sessions.
    pub waits_of_gone: Mutex<VecDeque<(u64, WaitEvent)>>,
}

/// Statements of connections that are gone that are kept; as many waits.
const RECENT_OF_GONE_MAX: usize = 1_000;

/// Users whose refused logins are counted.
const REFUSED_NAMES_MAX: usize = 10_000;

impl Default for Statistics {
    fn default() -> Self {
        Statistics {
            is_on: AtomicBool::new(true),
            measures_processor_time: AtomicBool::new(false),
            statements: Statements::new(DIGESTS_MAX),
            accounts: Accounts::default(),
            tables: Tables::default(),
            memory_seen: MemorySeen::default(),
            sockets_of_gone: Mutex::default(),
            wait_consumers: WaitConsumers::default(),
            recent_of_gone: Mutex::default(),
            refused_logins: Mutex::default(),
            waits_of_gone: Mutex::default(),
        }
    }
}

impl Statistics {
    /// A connection is gone: what it has counted is kept.
    pub fn forget(&self, process: &Process) {
        process.statements.retire(&self.statements);
        process.tables.retire(&self.tables);
        keep_last(
            &self.recent_of_gone,
            process.recent_statements().into_iter().map(|statement| (process.id, statement)),
        );
        keep_last(&self.waits_of_gone, process.waits.recent().into_iter().map(|wait| (process.id, wait)));
        self.accounts.disconnected(process);
        if let Some(socket) = &process.socket {
            self.sockets_of_gone.lock().merge(&socket.totals());
            // The socket may go on with another session.
            socket.clear();
        }
    }

    /// A client was not let in under a name that an account has. The names are no more than those of accounts that there have been.
    pub fn refused_login(&self, user: &str) {
        let mut refused = self.refused_logins.lock();
        if refused.len() < REFUSED_NAMES_MAX || refused.contains_key(user) {
            *refused.entry(user.to_owned()).or_default() += 1;
        }
    }
}

fn keep_last<T>(kept: &Mutex<VecDeque<T>>, more: impl Iterator<Item = T>) {
    let mut kept = kept.lock();
    kept.extend(more);
    let surplus = kept.len().saturating_sub(RECENT_OF_GONE_MAX);
    kept.drain(..surplus);
}
