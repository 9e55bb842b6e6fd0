//! Who has connected, and what they have run.

use super::statements::{EventTotals, count_event};
use crate::process::Process;
use parking_lot::Mutex;
use std::collections::BTreeMap;

/// A user and a host. Both are `None` for the server's own threads.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct AccountKey {
    pub user: Option<String>,
    pub host: Option<String>,
}

impl AccountKey {
    /// That of a connection.
    pub fn of(process: &Process) -> AccountKey {
        AccountKey { user: Some(process.user.clone()), host: Some(host_without_port(&process.host).to_string()) }
    }
}

/// The host of `host:port`.
pub(crate) fn host_without_port(host: &str) -> &str {
    match host.rsplit_once(':') {
        Some((address, port)) if !port.is_empty() && port.bytes().all(|byte| byte.is_ascii_digit()) => address,
        _ => host,
    }
}

/// What is known of an account since the start.
#[derive(Clone, Debug, Default)]
pub(crate) struct AccountStatistics {
    pub current_connections: i64,
    pub total_connections: i64,
    /// Statements of connections that are gone.
    pub by_event: EventTotals,
    /// Their status variables.
    pub status: BTreeMap<&'static str, u64>,
}

/// All accounts that have connected.
#[derive(Debug, Default)]
pub(crate) struct Accounts(Mutex<BTreeMap<AccountKey, AccountStatistics>>);

impl Accounts {
    /// Somebody has connected.
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
        for (name, value) in process.status.values() {
            *account.status.entry(name).or_default() += value;
        }
        for (event, totals) in process.statements.by_event() {
            count_event(&mut account.by_event, event, |sum| sum.merge(&totals));
        }
    }

    /// All of them.
    pub fn snapshot(&self) -> BTreeMap<AccountKey, AccountStatistics> {
        self.0.lock().clone()
    }

    /// Forgets who is not connected any more, and counts the others' connections anew.
    pub fn clear(&self) {
        self.0.lock().retain(|_, account| {
            account.total_connections = account.current_connections;
            account.by_event.clear();
            account.current_connections > 0
        });
    }

    /// Forgets what was run.
    pub fn clear_events(&self) {
        self.0.lock().values_mut().for_each(|account| account.by_event.clear());
    }
}
