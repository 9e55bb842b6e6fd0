//! Limits for new connections besides those of the account: `offline_mode` and `max_user_connections`.

use crate::session::Session;
use squall_catalog::{AccountKey, Accounts};
use squall_instrumentation::process::Process;
use squall_server_state::variables::{Values, ids};
use squall_types::{ErrorCode, SqlError, SqlResult};

fn account_of(accounts: &Accounts, process: &Process) -> Option<AccountKey> {
    accounts.find(&process.user, process.peer).map(|account| account.key())
}

/// Whether it counts as one of its account's connections: a client's, or the child of one.
fn counts(process: &Process) -> bool {
    process.is_client() || process.parent.is_some()
}

impl Session {
    /// 3032 while the server is offline, except for accounts with CONNECTION_ADMIN.
    pub(super) fn check_is_online(&self) -> SqlResult<()> {
        let is_offline = Values(&self.shared.globals.load_values()).on(ids::OFFLINE_MODE);
        if is_offline && self.process.is_client() && !self.identity.access.has_dynamic("CONNECTION_ADMIN") {
            return Err(SqlError::new(ErrorCode::ServerOfflineMode, &[]));
        }
        Ok(())
    }

    /// The connection is there for others to see; 1203 if its account has as many as it may.
    pub(crate) fn enter_process_list(&self) -> SqlResult<()> {
        let processes = &self.shared.processes;
        let count_max = Values(&self.shared.globals.load_values()).number(ids::MAX_USER_CONNECTIONS);
        if count_max == 0 || !counts(&self.process) {
            processes.add(self.process.clone());
            return Ok(());
        }
        let accounts = self.shared.accounts.load_full();
        let is_alike = |other: &Process| {
            counts(other)
                && other.user == self.process.user
                && account_of(&accounts, other).is_some_and(|account| account == self.identity.account)
        };
        let count_max = usize::try_from(count_max).unwrap_or(usize::MAX);
        match processes.add_below(self.process.clone(), count_max, is_alike) {
            true => Ok(()),
            false => Err(SqlError::new(ErrorCode::TooManyUserConnections, &[&self.identity.info.user])),
        }
    }
}
