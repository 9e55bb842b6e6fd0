//! Limits of accounts: their connections (`offline_mode`, `max_user_connections`, MAX_CONNECTIONS_PER_HOUR) and their statements by the hour.

use crate::session::{Session, SessionState};
use crate::statement_kind::counts_as_update;
use squall_catalog::{AccountKey, Accounts};
use squall_instrumentation::process::Process;
use squall_parser::ast::Statement;
use squall_server_state::hourly_use::limit_reached;
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

    /// The connection is there for others to see; 1203 or 1226 if its account has as many as it may now, 1226 if it has had as many in
    /// this hour.
    pub(crate) fn enter_process_list(&self) -> SqlResult<()> {
        let processes = &self.shared.processes;
        let of_server = Values(&self.shared.globals.load_values()).number(ids::MAX_USER_CONNECTIONS);
        let accounts = self.shared.accounts.load_full();
        let of_account = accounts.get(&self.identity.account).map_or(0, |account| account.limits.user_connections);
        let count_max = if of_account == 0 { of_server } else { of_account };
        if count_max == 0 || !counts(&self.process) {
            processes.add(self.process.clone());
            return self.count_connection();
        }
        let is_alike = |other: &Process| {
            counts(other)
                && other.user == self.process.user
                && account_of(&accounts, other).is_some_and(|account| account == self.identity.account)
        };
        let room = usize::try_from(count_max).unwrap_or(usize::MAX);
        match processes.add_below(self.process.clone(), room, is_alike) {
            true => self.count_connection(),
            false if of_account == 0 => {
                Err(SqlError::new(ErrorCode::TooManyUserConnections, &[&self.identity.info.user]))
            }
            false => Err(limit_reached(&self.identity.account.user, "max_user_connections", of_account)),
        }
    }

    /// Counts a client's connection for its account. One that is refused leaves the process list with its session.
    fn count_connection(&self) -> SqlResult<()> {
        match &self.identity.hourly_use {
            Some(usage) if self.process.is_client() => usage.count_connection(),
            _ => Ok(()),
        }
    }
}

impl SessionState {
    /// Counts a statement for its account: 1226 if that has run as many in this hour as it may.
    pub(crate) fn count_use(&mut self, statement: &Statement) -> SqlResult<()> {
        let is_counted = std::mem::take(&mut self.command.is_counted);
        let Some(usage) = self.identity.hourly_use.as_ref().filter(|_| is_counted) else { return Ok(()) };
        usage.count_query()?;
        if counts_as_update(statement) { usage.count_update() } else { Ok(()) }
    }

    /// Whether its statements are a procedure's, function's or trigger's.
    pub(crate) fn is_in_program(&self) -> bool {
        self.nesting.call_depth > 0 || self.nesting.inside.is_some()
    }

    /// Counts what EXECUTE runs in its place: EXECUTE itself has been counted as a statement, and changes nothing.
    pub(crate) fn count_executed(&self, statement: &Statement) -> SqlResult<()> {
        match &self.identity.hourly_use {
            Some(usage) if !self.is_in_program() && counts_as_update(statement) => usage.count_update(),
            _ => Ok(()),
        }
    }
}
