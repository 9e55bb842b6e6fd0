//! Which clients the server admits beside what their accounts demand: `offline_mode` and `max_user_connections`.

use crate::session::Session;
use squall_catalog::{AccessMap, AccountKey, Accounts};
use squall_instrumentation::process::Process;
use squall_server_state::ServerState;
use squall_server_state::variables::{Values, ids};
use squall_types::{ErrorCode, SqlError, SqlResult};

/// Who goes on while the server is offline.
const ADMINISTRATOR: &str = "CONNECTION_ADMIN";

/// Sessions that work for the server have no socket.
fn is_client(process: &Process) -> bool {
    process.socket.is_some()
}

fn account_of(accounts: &Accounts, process: &Process) -> Option<AccountKey> {
    accounts.find(&process.user, process.peer).map(|account| account.key())
}

impl Session {
    /// 3032 while the server is offline, but for those who administer connections.
    pub(super) fn check_is_online(&self) -> SqlResult<()> {
        let is_offline = Values(&self.shared.globals.load_values()).on(ids::OFFLINE_MODE);
        if is_offline && is_client(&self.process) && !self.access.has_dynamic(ADMINISTRATOR) {
            return Err(SqlError::new(ErrorCode::ServerOfflineMode, &[]));
        }
        Ok(())
    }

    /// The connection is there for others to see; 1203 if its account has as many as it may.
    pub(crate) fn enter_process_list(&self) -> SqlResult<()> {
        let processes = &self.shared.processes;
        let count_max = Values(&self.shared.globals.load_values()).number(ids::MAX_USER_CONNECTIONS);
        if count_max == 0 || !is_client(&self.process) {
            processes.add(self.process.clone());
            return Ok(());
        }
        let accounts = self.shared.accounts.load_full();
        let is_alike = |other: &Process| {
            is_client(other)
                && other.user == self.process.user
                && account_of(&accounts, other).is_some_and(|account| account == self.account)
        };
        let count_max = usize::try_from(count_max).unwrap_or(usize::MAX);
        match processes.add_below(self.process.clone(), count_max, is_alike) {
            true => Ok(()),
            false => Err(SqlError::new(ErrorCode::TooManyUserConnections, &[&self.info.user])),
        }
    }
}

/// Ends the connections of clients who may not stay while the server is offline. Roles are those that they begin with.
pub(crate) fn end_connections_of_users(state: &ServerState) {
    let accounts = state.accounts.load_full();
    let all_roles = Values(&state.globals.load_values()).on(ids::ACTIVATE_ALL_ROLES_ON_LOGIN);
    let stays = |process: &Process| {
        let account = accounts.find(&process.user, process.peer);
        account.is_some_and(|account| {
            let roles = accounts.roles_at_first(account, all_roles);
            AccessMap::new(&accounts, &account.key(), &roles).has_dynamic(ADMINISTRATOR)
        })
    };
    for process in state.processes.all().iter().filter(|process| is_client(process) && !stays(process)) {
        state.kill(process, true);
    }
}
