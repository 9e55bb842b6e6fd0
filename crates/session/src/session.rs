//! One connection, and its methods that run texts. `state` has what belongs to it.
//!
//! [`Session::run_text`] runs the statements of a text one by one; `statement` has the life of one statement.

mod call_frame;
mod command;
mod counted;
mod ended;
mod held_locks;
mod identity;
pub(crate) mod inside;
mod instruments;
mod nesting;
mod state;
mod statement;
mod statement_run;

pub(crate) use self::call_frame::CallFrame;
pub(crate) use self::ended::{DigestOf, Ended};
pub(crate) use self::held_locks::{HeldLocks, HeldTableLocks};
pub(crate) use self::identity::{Authenticated, Identity};
use self::instruments::Instruments;
use self::nesting::Nesting;
pub(crate) use self::state::SessionState;
pub(crate) use self::statement::keeps_diagnostics;
pub(crate) use self::statement_run::{Begun, Bindable, StatementRun};
use crate::api::KillCallback;
use crate::database::Shared;
use crate::listener::{EndedStatement, ListenedSession};
use crate::plans::long_statement::{LongStatement, Text};
use crate::plans::prepared::PreparedStatement;
use crate::plans::statements::{Statements, TextStatement, Unread};
use crate::plans::{Found, Route, Unanswered};
use crate::result::writer::{ConnectionInfo, OkInfo, ResultWriter, SessionChange};
use crate::state::diagnostics::DiagnosticsArea;
use crate::state::log::{Logged, SessionLog};
use crate::state::prepared_statements::PreparedStatements;
use crate::state::settings::Settings;
use crate::state::transaction::TransactionState;
use bytes::Bytes;
use squall_accounting::work_meter::measured;
use squall_catalog::{AccountKey, TableDef};
use squall_definitions::names::check_database_name;
use squall_instrumentation::process::Process;
use squall_logs::Client;
use squall_parser::ParseOptions;
use squall_parser::ast::{Span, Statement};
pub(crate) use squall_planner::bind::parse_error;
use squall_server_state::now_micros;
use squall_server_state::variables::ids;
use squall_statement_context::{BindSettings, KillState, UserVariables};
use squall_types::collation::Charset;
use squall_types::{ErrorCode, SqlError, SqlResult, Value};
use std::borrow::Cow;
use std::collections::HashMap;
use std::net::IpAddr;
use std::ops::{Deref, DerefMut};
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// As much of a statement as listeners are shown.
const LISTENED_BYTES_MAX: usize = 64 << 10;

/// TEMPORARY tables by database and name.
pub(crate) type TemporaryTables = HashMap<(String, String), Arc<TableDef>>;

/// One connection: runs one statement at a time in its state.
///
/// It is the only runner of statements. What runs statements of its own (an event, a queued statement, EXECUTE CONCURRENT) has a session of
/// its own; a program inside of a statement runs in the state of the session around.
pub struct Session {
    pub(crate) shared: Arc<Shared>,
    pub(crate) process: Arc<Process>,
    pub(crate) state: SessionState,
}

impl Deref for Session {
    type Target = SessionState;

    fn deref(&self) -> &SessionState {
        &self.state
    }
}

impl DerefMut for Session {
    fn deref_mut(&mut self) -> &mut SessionState {
        &mut self.state
    }
}

impl std::fmt::Debug for Session {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Session")
            .field("id", &self.process.id)
            .field("user", &self.identity.user)
            .finish_non_exhaustive()
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        if self.stands_in {
            // The holder of the state ends the session.
            return;
        }
        if self.logs_disconnect {
            self.log_disconnect();
            self.shared.listeners.tell(|listener| listener.disconnected(&self.listened()));
        }
        self.give_up_transaction();
        self.drop_temporary_tables();
        self.shared.user_locks.end_session(self.process.id);
        self.shared.prepared_count.fetch_sub(self.prepared.len() as u64, Ordering::Relaxed);
        self.shared.processes.remove(&self.process);
        self.shared.statistics.forget(&self.process);
        self.instruments().take_lock_micros();
    }
}

impl Session {
    pub(crate) fn new(
        shared: Arc<Shared>,
        id: u64,
        account: AccountKey,
        info: ConnectionInfo,
        on_kill: KillCallback,
    ) -> SqlResult<Session> {
        let mut session = Session::new_in(shared, id, account, info, on_kill, Arc::default(), 0)?;
        session.tell_of_connection();
        Ok(session)
    }

    /// Tells the logs and the listeners that the session has begun; they are told of its end, too.
    pub(crate) fn tell_of_connection(&mut self) {
        self.log_connect();
        self.shared.listeners.tell(|listener| listener.connected(&self.listened()));
        self.logs_disconnect = true;
    }

    /// A session whose statements `kill` stops, inside of this many others.
    pub(crate) fn new_in(
        shared: Arc<Shared>,
        id: u64,
        account: AccountKey,
        mut info: ConnectionInfo,
        on_kill: KillCallback,
        kill: Arc<KillState>,
        nested_depth: u32,
    ) -> SqlResult<Session> {
        let host = host_of(info.address);
        let has_port = info.address.is_some() && info.port != 0;
        let shown_host = if has_port { format!("{host}:{}", info.port) } else { host.clone() };
        let now = now_micros();
        let process = Process::new(id, info.user.clone(), shown_host, info.attributes.clone(), on_kill, kill, now);
        let process = process.with_socket(info.socket.take(), info.address, info.tls.clone());
        let process = Arc::new(process.with_caller(info.parent, info.interactive));
        process.memory.set_budget(shared.runtime.budget());
        process.set_user_variables(&Arc::new(UserVariables::new(&process.memory)));
        let client =
            Client { account_user: account.user.clone(), since_micros: now, ..client(id, &info, &host) }.described();
        let first = shared.first_settings.of(shared.globals.load_values(), info.collation, info.ignore_space);
        let identity = Identity::new(account, info, &host);
        let mut session = Session { state: SessionState::new(identity, client, &process, first), shared, process };
        session.nesting.session_depth = nested_depth;
        session.activate_default_roles();
        session.check_may_connect()?;
        if !session.identity.info.database.is_empty() {
            let database = session.identity.info.database.clone();
            session.use_database(&database)?;
        }
        session.command.changes.clear();
        session.enter_process_list()?;
        session.shared.statistics.accounts.connected(&session.process);
        Ok(session)
    }

    /// The description of the session for listeners.
    pub(crate) fn listened(&self) -> ListenedSession<'_> {
        ListenedSession {
            connection_id: self.process.id,
            parent_id: self.identity.info.parent,
            user: &self.identity.user,
            current_user: &self.identity.current_user,
            database: self.default_database().map(|name| &**name),
        }
    }

    /// Tells listeners that a statement with this text has ended, which may be a part of a longer one.
    pub(crate) fn tell_of_statement(&self, sql: &[u8], micros: u64, error: Option<u16>) {
        if self.shared.listeners.is_empty() {
            return;
        }
        let sql = self.shown(sql);
        let ended = EndedStatement { sql: &sql[..sql.len().min(LISTENED_BYTES_MAX)], micros, error };
        self.shared.listeners.tell(|listener| listener.statement_ended(&self.listened(), &ended));
    }

    /// `CONNECTION_ID()`.
    pub fn id(&self) -> u64 {
        self.process.id
    }

    /// Runs every statement of a text.
    pub async fn run_text(&mut self, sql: &[u8], writer: &mut dyn ResultWriter) -> std::io::Result<()> {
        self.run_unanswered(sql, Unanswered::default(), writer).await
    }

    /// The same for one that was not answered at once.
    pub(crate) async fn run_unanswered(
        &mut self,
        sql: &[u8],
        unanswered: Unanswered,
        writer: &mut dyn ResultWriter,
    ) -> std::io::Result<()> {
        let text = Text::new(sql);
        let meter = self.instruments().work_meter();
        let statements = self.run_statements(&text, unanswered, None, writer);
        measured(meter, statements).await.map(|_| ())
    }

    /// Runs every statement of a text as a client has sent it. Each is read in the character set that those before have left.
    pub(crate) async fn run_client_text(
        &mut self,
        sql: &Bytes,
        mut unanswered: Unanswered,
        writer: &mut dyn ResultWriter,
    ) -> std::io::Result<()> {
        let mut rest = sql.clone();
        loop {
            let charset = self.client_charset();
            let text = match self.read_client_text(&rest).await {
                Ok(text) => text,
                Err(error) => {
                    self.finish_with_error(&error, None);
                    writer.error(&error);
                    return self.end_command(writer).await;
                }
            };
            let meter = self.instruments().work_meter();
            let statements = match &text.utf8 {
                Cow::Borrowed(_) => Text::shared(&rest),
                Cow::Owned(decoded) => Text::new(decoded),
            };
            let unanswered = std::mem::take(&mut unanswered);
            match measured(meter, self.run_statements(&statements, unanswered, Some(charset), writer)).await? {
                Some(next) => rest = rest.slice(text.place_in_bytes(next)..),
                None => return Ok(()),
            }
        }
    }

    /// Runs statements to the end of a text, or until the client's character set is another one than that which the text was
    /// read in: where the next statement begins.
    async fn run_statements(
        &mut self,
        whole: &Text<'_>,
        unanswered: Unanswered,
        read_in: Option<Charset>,
        writer: &mut dyn ResultWriter,
    ) -> std::io::Result<Option<usize>> {
        let sql = whole.bytes();
        let (known_route, normalized) = match unanswered.0 {
            Some(Found { statement: Some(statement), route: route @ Route::PointChange(_), parameters }) => {
                self.begin_command("Query", sql);
                let request = Request {
                    parameters: &parameters,
                    route: Some(&route),
                    placeholders: statement.placeholders,
                    normalized: Some(&statement),
                    ..Request::without_parameters(&statement.statement, sql)
                };
                self.run(request, false, writer).await?;
                return self.end_command(writer).await.map(|()| None);
            }
            Some(Found { statement, route: Route::FullPlanner, .. }) => (Some(Route::FullPlanner), statement),
            _ => (None, None),
        };
        let mut statements = Statements::of(whole);
        loop {
            let statement = match self.next_statement(&mut statements).await {
                Ok(Some(statement)) => statement,
                Ok(None) => return self.end_command(writer).await.map(|()| None),
                Err(unread) => {
                    self.refuse_unread("Query", &unread, statements.rest(), writer);
                    return self.end_command(writer).await.map(|()| None);
                }
            };
            if !statement.is_last() && !self.multi_statements {
                let unread = Unread::Failed(statement.unexpected_next());
                self.refuse_unread("Query", &unread, statement.text, writer);
                return self.end_command(writer).await.map(|()| None);
            }
            self.begin_command("Query", statement.text);
            let request = Request {
                route: known_route.as_ref(),
                normalized: normalized.as_deref(),
                ..Request::of_text(&statement)
            };
            let results_collation = self.settings.results_collation;
            let succeeded = self.run(request, !statement.is_last(), writer).await?;
            if self.settings.results_collation != results_collation {
                writer.set_results_collation(self.settings.results_collation.map(|collation| collation.0));
            }
            if !succeeded || statement.is_last() {
                return self.end_command(writer).await.map(|()| None);
            }
            if writer.needs_flush() {
                writer.flush().await?;
            }
            if read_in.is_some_and(|charset| charset != self.client_charset()) {
                return Ok(statements.next_start());
            }
        }
    }

    /// Tells a client that the next statement of its command cannot be read.
    pub(crate) fn refuse_unread(
        &mut self,
        command: &'static str,
        unread: &Unread,
        text: &[u8],
        writer: &mut dyn ResultWriter,
    ) {
        let is_unparsed = matches!(unread, Unread::Unparsed(_));
        if is_unparsed {
            self.begin_command(command, text);
            self.log_unparsed(text);
        }
        self.finish_with_error(unread.error(), None);
        if is_unparsed {
            self.count_unparsed(text);
        }
        writer.error(unread.error());
    }

    /// See [`Shared::waiting`].
    pub(crate) async fn waiting<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Shared) -> SqlResult<T> + Send + 'static,
    ) -> SqlResult<T> {
        self.shared.waiting(work).await
    }

    /// See [`Shared::blocking`].
    pub(crate) async fn blocking<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Shared) -> SqlResult<T> + Send + 'static,
    ) -> SqlResult<T> {
        self.shared.blocking(work).await
    }

    /// COM_INIT_DB and USE.
    pub fn use_database(&mut self, name: &str) -> SqlResult<()> {
        if name.is_empty() {
            return Err(SqlError::new(ErrorCode::NoDatabase, &[]));
        }
        let catalog = self.shared.catalog.load();
        let found = match catalog.database(name) {
            Some(database) => Some((database.name.clone(), database.collation)),
            None => squall_system_tables::virtual_database(name)
                .map(|name| (name.to_string(), squall_types::CollationId(33))),
        };
        self.refresh_access();
        // An account without privileges on a database does not learn whether it exists.
        if squall_system_tables::virtual_database(name).is_none() && !self.identity.access.sees_database(name) {
            let error = ErrorCode::DbAccessDenied;
            return Err(SqlError::new(error, &[&self.identity.account.user, &self.identity.account.host, &name]));
        }
        let Some((name, collation)) = found else {
            check_database_name(name)?;
            return Err(SqlError::new(ErrorCode::BadDatabase, &[&name]));
        };
        self.process.set_database(&name);
        self.set_session_value(ids::COLLATION_DATABASE, Value::from(collation.name()));
        self.set_session_value(ids::CHARACTER_SET_DATABASE, Value::from(collation.charset().name()));
        if self.settings.track_schema {
            self.command.changes.push(SessionChange::Schema(name.clone()));
        }
        self.set_default_database(Some(name.into()));
        Ok(())
    }

    /// What it is measured with.
    pub(crate) fn instruments(&self) -> Instruments<'_> {
        Instruments { shared: &self.shared, process: &self.process }
    }

    /// Forgets what queries and changes of rows leave behind: enough for a session that has run nothing else to be taken for
    /// a new one.
    pub fn rewind(&mut self) {
        self.shared.user_locks.end_session(self.process.id);
        (self.previous.found_rows, self.previous.row_count, self.previous.last_insert_id) = (0, -1, 0);
        self.diagnostics = DiagnosticsArea::default();
        self.publish_counts();
    }

    /// The session has other `@variables`.
    pub(crate) fn set_user_variables(&mut self, variables: Arc<UserVariables>) {
        self.process.set_user_variables(&variables);
        self.user_variables = variables;
    }

    /// `COM_RESET_CONNECTION`: as if newly connected.
    pub(crate) fn reset_state(&mut self) {
        self.give_up_transaction();
        self.drop_temporary_tables();
        self.held_locks.tables = None;
        self.xa = None;
        self.handlers.clear();
        self.held_locks.global_read = None;
        self.end_backup();
        self.held_locks.backup = None;
        self.shared.user_locks.end_session(self.process.id);
        self.shared.prepared_count.fetch_sub(self.prepared.len() as u64, Ordering::Relaxed);
        self.prepared = PreparedStatements::default();
        self.session_plans.clear();
        self.take_first_settings();
        self.set_user_variables(Arc::new(UserVariables::new(&self.process.memory)));
        self.last_values.lock().clear();
        self.transaction = TransactionState::default();
        self.diagnostics = DiagnosticsArea::default();
        self.previous.found_rows = 0;
        self.previous.row_count = -1;
        self.previous.last_insert_id = 0;
        self.activate_default_roles();
    }

    /// Its variables are those of a session that begins. The default database stays.
    fn take_first_settings(&mut self) {
        let (info, database) = (&self.identity.info, self.default_database().cloned());
        let global = self.shared.globals.load_values();
        let first = self.shared.first_settings.of(global, info.collation, info.ignore_space);
        (self.variables, self.settings) = (first.variables, first.settings);
        self.set_default_database(database);
    }
}

impl SessionState {
    /// How the parser has to read text.
    pub(crate) fn parse_options(&self) -> ParseOptions {
        parse_options(&self.settings.bind)
    }

    /// `character_set_client`.
    pub(crate) fn client_charset(&self) -> Charset {
        self.settings.bind.client_collation.charset()
    }

    /// What follows from variables or from the default database has to be found again.
    pub(crate) fn settings_changed(&mut self) {
        let database = self.default_database().cloned();
        self.settings = Settings::decode(&self.variables, database, self.identity.info.ignore_space);
        self.settings_version.renew();
    }

    /// `DATABASE()`.
    pub(crate) fn default_database(&self) -> Option<&Arc<str>> {
        self.settings.bind.database.as_ref()
    }

    /// Sets `DATABASE()`.
    pub(crate) fn set_default_database(&mut self, name: Option<Arc<str>>) {
        Arc::make_mut(&mut self.settings.bind).database = name;
        self.settings_version.renew();
    }

    /// Sets a session value without checks.
    pub(crate) fn set_session_value(&mut self, id: squall_system_variables::VariableId, value: Value) {
        self.variables.session.set(id, value);
    }
}

/// A statement that is to run.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Request<'a> {
    /// The statement.
    pub statement: &'a Statement,
    /// The text that its spans refer to.
    pub sql: &'a [u8],
    /// Where it is in there, if it is not all of it.
    pub own_text: Option<Span>,
    /// Values of its `?`.
    pub parameters: &'a [Value],
    /// Its route, where that is known.
    pub route: Option<&'a Route>,
    /// How many `?` there are.
    pub placeholders: u32,
    /// The prepared statement that is executed, where it is one.
    pub prepared: Option<&'a PreparedStatement>,
    /// The normalized statement, where it is known.
    pub normalized: Option<&'a PreparedStatement>,
    /// The statement that was sent, if it is long.
    pub long: Option<&'a Arc<LongStatement>>,
}

impl<'a> Request<'a> {
    /// A statement of a text.
    pub fn of_text(statement: &'a TextStatement<'a>) -> Self {
        Request {
            placeholders: statement.parsed.placeholders,
            long: statement.parsed.long(),
            ..Request::without_parameters(&statement.parsed.statement, statement.text)
        }
    }

    /// A statement that is only itself: not prepared, with no plan known.
    pub fn without_parameters(statement: &'a Statement, sql: &'a [u8]) -> Self {
        Request {
            statement,
            sql,
            own_text: None,
            parameters: &[],
            route: None,
            placeholders: 0,
            prepared: None,
            normalized: None,
            long: None,
        }
    }

    /// A prepared statement with values for its `?`.
    pub fn of_prepared(prepared: &'a PreparedStatement, parameters: &'a [Value]) -> Self {
        Request {
            statement: &prepared.statement,
            sql: &prepared.sql,
            own_text: None,
            parameters,
            route: None,
            placeholders: prepared.placeholders,
            prepared: Some(prepared),
            normalized: None,
            long: prepared.statement.long(),
        }
    }

    /// The text as logs want it.
    pub fn logged(&self) -> Logged<'a> {
        let executed = self.prepared.map(|prepared| (prepared.places(), self.parameters));
        Logged { sql: self.text(), executed }
    }

    /// Its own text.
    pub fn text(&self) -> &'a [u8] {
        self.own_text.map_or(self.sql, |span| span.bytes(self.sql))
    }
}

/// The host that an account names: `localhost` for this machine.
fn host_of(address: Option<IpAddr>) -> String {
    match address.map(|address| address.to_canonical()) {
        Some(address) if !address.is_loopback() => address.to_string(),
        _ => "localhost".to_string(),
    }
}

/// The client as logs name it, before anything is known of its account.
pub(crate) fn client(id: u64, info: &ConnectionInfo, host: &str) -> Client {
    let address = info.address.map(|address| address.to_canonical().to_string()).unwrap_or_default();
    Client { id, user: info.user.clone(), host: host.to_string(), address, parent: info.parent, ..Default::default() }
}

/// How the parser reads text under these settings.
pub fn parse_options(settings: &BindSettings) -> ParseOptions {
    let options = squall_planner::bind::parse_options(settings.sql_mode);
    let ignore_space = settings.ignore_space || options.ignore_space;
    ParseOptions { ignore_space, memory_max: settings.parser_memory_max, ..options }
}

/// The statement's message about its rows.
pub(crate) fn info_text(records: u64, duplicates: u64) -> OkInfo {
    OkInfo {
        affected_rows: records,
        info: format!("Records: {records}  Duplicates: {duplicates}"),
        tells_warnings: true,
        ..Default::default()
    }
}
