//! The state of a connection, apart from the runner of its statements.

use super::command::{CommandState, PreviousStatement};
use super::{HeldLocks, Identity, Nesting, SessionLog, TemporaryTables};
use crate::plans::session_cache::SessionPlanCache;
use crate::sequences::LastValues;
use crate::state::appended_rows::Appends;
use crate::state::diagnostics::DiagnosticsArea;
use crate::state::first_settings::FirstSettings;
use crate::state::locals::SharedLocals;
use crate::state::open_handler::OpenHandler;
use crate::state::prepared_statements::PreparedStatements;
use crate::state::settings::Settings;
use crate::state::transaction::TransactionState;
use crate::state::xa::XaBranch;
use squall_instrumentation::process::Process;
use squall_logs::Client;
use squall_server_state::now_micros;
use squall_server_state::variables::{Values, ids};
use squall_statement_context::{NestedStatements, UserVariables};
use squall_system_variables::VariableValues;
use std::sync::Arc;

/// Everything that belongs to one connection, whatever runs its statements.
///
/// It can be moved to another thread. While the operators of a statement run, the stored functions and triggers that they call have it
/// ([`crate::statement_programs`]).
pub struct SessionState {
    pub(crate) identity: Identity,
    pub(crate) nesting: Nesting,
    pub(crate) held_locks: HeldLocks,
    pub(crate) command: CommandState,
    pub(crate) previous: PreviousStatement,
    pub(crate) variables: VariableValues,
    pub(crate) settings: Settings,
    pub(crate) user_variables: Arc<UserVariables>,
    pub(crate) transaction: TransactionState,
    pub(crate) diagnostics: DiagnosticsArea,
    pub(crate) prepared: PreparedStatements,
    /// Routes of texts.
    pub(crate) session_plans: SessionPlanCache,
    pub(crate) settings_version: SettingsVersion,
    /// TEMPORARY tables by database and name.
    pub(crate) temporary_tables: TemporaryTables,
    /// The branch of a global transaction that it works in, between XA START and XA PREPARE.
    pub(crate) xa: Option<XaBranch>,
    /// Tables that HANDLER has opened.
    pub(crate) handlers: Vec<OpenHandler>,
    pub(crate) random_state: u64,
    /// `VERSION()`.
    pub(crate) version: Arc<str>,
    pub(crate) multi_statements: bool,
    /// Variables of the stored program that runs.
    pub(crate) locals: Option<SharedLocals>,
    pub(crate) log: SessionLog,
    /// Whether the logs are told of its end, as they were of its beginning.
    pub(crate) logs_disconnect: bool,
    /// The way from functions into SQL.
    pub(crate) nested: Option<Arc<dyn NestedStatements>>,
    /// Rows that the current statement inserts at its end.
    pub(crate) appends: Arc<Appends>,
    /// What PREVIOUS VALUE FOR tells.
    pub(crate) last_values: Arc<LastValues>,
    /// Whether this only stands in the place of a state that is lent.
    pub(crate) stands_in: bool,
}

impl SessionState {
    /// The state of a new connection.
    pub(crate) fn new(identity: Identity, client: Client, process: &Process, first: FirstSettings) -> SessionState {
        let FirstSettings { variables, settings } = first;
        SessionState {
            nesting: Nesting::default(),
            held_locks: HeldLocks::default(),
            command: CommandState::at(now_micros()),
            previous: PreviousStatement::default(),
            transaction: TransactionState::default(),
            diagnostics: DiagnosticsArea::default(),
            prepared: PreparedStatements::default(),
            session_plans: SessionPlanCache::default(),
            settings_version: SettingsVersion::default(),
            temporary_tables: TemporaryTables::new(),
            locals: None,
            xa: None,
            handlers: Vec::new(),
            random_state: u64::from_le_bytes(squall_server_state::random::bytes()),
            version: Values(&variables.global).text(ids::VERSION).into(),
            multi_statements: identity.info.multi_statements,
            log: SessionLog::new(client),
            logs_disconnect: false,
            nested: None,
            appends: Arc::default(),
            last_values: Arc::default(),
            user_variables: process.user_variables(),
            settings,
            variables,
            identity,
            stands_in: false,
        }
    }

    /// A state of the same account and settings that holds nothing, to stand in the place of this one while it is lent.
    pub(crate) fn stand_in(&self) -> SessionState {
        SessionState {
            identity: self.identity.clone(),
            nesting: Nesting::default(),
            held_locks: HeldLocks::default(),
            command: CommandState::at(self.command.start_micros),
            previous: PreviousStatement::default(),
            variables: self.variables.clone(),
            settings: self.settings.clone(),
            user_variables: self.user_variables.clone(),
            transaction: TransactionState::default(),
            diagnostics: DiagnosticsArea::default(),
            prepared: PreparedStatements::default(),
            session_plans: SessionPlanCache::default(),
            settings_version: self.settings_version,
            temporary_tables: TemporaryTables::new(),
            xa: None,
            handlers: Vec::new(),
            random_state: self.random_state,
            version: self.version.clone(),
            multi_statements: self.multi_statements,
            locals: None,
            log: SessionLog::default(),
            logs_disconnect: false,
            nested: None,
            appends: Arc::default(),
            last_values: self.last_values.clone(),
            stands_in: true,
        }
    }
}

/// Changes with everything of a session that plans depend on.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct SettingsVersion {
    current: u64,
    /// The highest that there was.
    newest: u64,
}

impl SettingsVersion {
    /// The version of the settings as they are.
    pub fn get(self) -> u64 {
        self.current
    }

    /// The settings have changed.
    pub fn renew(&mut self) {
        self.newest += 1;
        self.current = self.newest;
    }

    /// The settings are again as they were at an earlier version, so plans of that time are valid again.
    pub fn return_to(&mut self, version: u64) {
        self.current = version;
    }
}

#[cfg(test)]
mod tests {
    use super::SettingsVersion;

    #[test]
    fn no_version_comes_twice() {
        let mut version = SettingsVersion::default();
        let outer = version.get();
        version.renew();
        let inner = version.get();
        version.return_to(outer);
        version.renew();
        assert!(![outer, inner].contains(&version.get()));
    }
}
