//! Makes sessions from another session's state: for statements that functions run, and for later work of an account.

use super::external::nested_result;
use crate::api::KillCallback;
use crate::authorization::SecurityContext;
use crate::authorization::grants::check_writable_for;
use crate::collector::Collector;
use crate::commands::end_session;
use crate::database::{Database, Shared};
use crate::result::writer::ConnectionInfo;
use crate::sequences::{KnownSequence, KnownSequences, LastValues, SequenceUse};
use crate::session::{Authenticated, Session, TemporaryTables};
use crate::state::appended_rows::Appends;
use crate::state::image::SessionImage;
use crate::thread_runtime::run_on_this_thread;
use parking_lot::Mutex;
use squall_accounting::SessionMemory;
use squall_accounting::work_meter::carried;
use squall_catalog::{AccessMap, AccountKey, ActiveGrants, Privileges, TableEntry};
use squall_executor::runtime::STACK_BYTES;
use squall_instrumentation::process::Process;
use squall_server_state::variables::{Values, ids};
use squall_statement_context::{
    AppendColumn, KillState, NestedResult, NestedStatements, SequenceCall, StatementContext, off_pool, thread_error,
};
use squall_types::{ErrorCode, SqlError, SqlResult, Value};
use std::path::PathBuf;
use std::sync::{Arc, Weak};
use std::time::Duration;

/// Functions that run statements that run functions go this deep at most (1424).
const DEPTH_MAX: u32 = 4;

impl SessionImage {
    /// A session like it, which the process list shows and KILL can end.
    ///
    /// # Errors
    /// 1049 when the default database is gone, 1044 when the account may not use it any more.
    pub fn open(self, database: &Database, on_kill: KillCallback) -> SqlResult<Session> {
        let id = database.0.processes.next_id();
        Session::of_image(database.0.clone(), id, self, Arc::default(), on_kill, 0)
    }
}

/// The way from the functions of a session into SQL.
#[derive(Debug)]
pub(crate) struct SessionStatements {
    shared: Weak<Shared>,
    account: AccountKey,
    active_grants: Arc<ActiveGrants>,
    pub(crate) info: ConnectionInfo,
    client_host: Box<str>,
    appends: Arc<Appends>,
    last_values: Arc<LastValues>,
    known_sequences: KnownSequences,
    memory: Arc<SessionMemory>,
    pub(crate) depth: u32,
    /// The dynamic privilege that was asked for last, and of which accounts.
    asked: Mutex<Option<(u64, Box<str>, bool)>>,
    /// The same for the definer of the routine that was called last, as it was in these accounts.
    definer: Mutex<Option<(u64, Arc<SessionStatements>)>>,
    /// Who has logged in.
    pub(crate) authenticated: Arc<Authenticated>,
    /// Whether the session is a child, or works for one.
    pub(crate) is_within_child: bool,
    /// Whether it is inside of a statement, for a stored function or a trigger.
    pub(crate) is_inside: bool,
    /// Whose turn it is to have a child.
    pub(crate) turn: Mutex<()>,
}

impl SessionStatements {
    /// Of a session.
    pub fn new(session: &Session) -> Self {
        Self {
            shared: Arc::downgrade(&session.shared),
            account: session.identity.account.clone(),
            active_grants: session.identity.active_grants.clone(),
            info: session.identity.info.clone(),
            client_host: session.security().client_host().into(),
            appends: session.appends.clone(),
            last_values: session.last_values.clone(),
            known_sequences: KnownSequences::default(),
            memory: session.process.memory.clone(),
            depth: session.nesting.session_depth,
            asked: Mutex::default(),
            definer: Mutex::default(),
            authenticated: session.identity.authenticated(),
            is_within_child: session.nesting.is_within_child || session.identity.info.parent.is_some(),
            is_inside: session.nesting.inside.is_some(),
            turn: Mutex::default(),
        }
    }

    /// The same as another account, with the roles that it has at first.
    fn of_definer(&self, account: &AccountKey, active_grants: ActiveGrants) -> Self {
        Self {
            shared: self.shared.clone(),
            account: account.clone(),
            active_grants: Arc::new(active_grants),
            info: self.info.clone(),
            client_host: self.client_host.clone(),
            appends: self.appends.clone(),
            last_values: self.last_values.clone(),
            known_sequences: KnownSequences::default(),
            memory: self.memory.clone(),
            depth: self.depth,
            asked: Mutex::default(),
            definer: Mutex::default(),
            authenticated: self.authenticated.clone(),
            is_within_child: self.is_within_child,
            is_inside: self.is_inside,
            turn: Mutex::default(),
        }
    }

    pub(crate) fn shared(&self) -> SqlResult<Arc<Shared>> {
        self.shared.upgrade().ok_or_else(|| SqlError::internal("the database is closing"))
    }

    /// The session's grants now: a statement that a function runs may come after a REVOKE.
    fn access(&self, shared: &Shared) -> Arc<AccessMap> {
        shared.accounts.access_now(&self.account, &self.active_grants)
    }

    /// Calls with a sequence that the account may use. `changes` says that it needs INSERT, and not only SELECT.
    fn with_sequence<T>(
        &self,
        (database, name): (&str, &str),
        changes: bool,
        context: &StatementContext,
        call: impl FnOnce(&KnownSequence, &SequenceUse<'_>) -> SqlResult<T>,
    ) -> SqlResult<T> {
        let shared = self.shared()?;
        let (needed, word) = if changes { (Privileges::INSERT, "INSERT") } else { (Privileges::SELECT, "SELECT") };
        let refuse = |privileges: Privileges| match privileges.contains(needed) {
            true => Ok(()),
            false => {
                let (user, host) = (&self.account.user, &self.client_host);
                Err(SqlError::new(ErrorCode::TableAccessDenied, &[&word, user, host, &name]))
            }
        };
        let places = (&shared.sequences, &shared.state);
        let known = self.known_sequences.find(places, (database, name), || self.access(&shared), refuse)?;
        if changes {
            if context.is_read_only {
                return Err(SqlError::new(ErrorCode::ReadOnlyTransaction, &[]));
            }
            check_writable_for(&shared, &known.access)?;
        }
        let seconds = Values(&context.variables.session).number(ids::INNODB_LOCK_WAIT_TIMEOUT);
        call(&known, &SequenceUse { state: &shared.state, context, lock_wait: Duration::from_secs(seconds) })
    }

    fn image(&self, context: &StatementContext) -> SessionImage {
        SessionImage {
            account: self.account.clone(),
            active_grants: self.active_grants.clone(),
            info: ConnectionInfo { parent: None, ..self.info.clone() },
            database: context.settings.database.clone(),
            variables: context.variables.session.clone(),
            user_variables: context.user_variables.clone(),
        }
    }

    fn run_here(&self, shared: Arc<Shared>, sql: &str, context: &StatementContext) -> SqlResult<Vec<NestedResult>> {
        let parent = shared.processes.get(context.connection_id);
        let id = shared.processes.next_id();
        let _member = parent.map(|parent| NestedMember::new(parent, id));
        let (image, kill) = (self.image(context), context.kill.clone());
        let mut session = Session::of_image(shared, id, image, kill, Arc::new(|| {}), self.depth + 1)?;
        session.nesting.is_within_read_only = context.is_read_only;
        session.nesting.is_within_child = self.is_within_child;
        session.identity.authenticated = Some(self.authenticated.clone());
        session.offer_nested_statements();
        let mut collector = Collector::charged(&self.memory);
        let ran = run_on_this_thread(session.run_within_command(sql, &mut collector))?;
        collector.refused()?;
        ran.map_err(SqlError::internal)?;
        Ok(collector.into_results()?.into_iter().map(nested_result).collect())
    }
}

impl NestedStatements for SessionStatements {
    fn run(&self, sql: &str, context: &StatementContext) -> SqlResult<Vec<NestedResult>> {
        if self.depth == DEPTH_MAX {
            return Err(SqlError::new(ErrorCode::SpNoRecursion, &[]));
        }
        let shared = self.shared()?;
        // A thread of its own: where a function runs there may be a runtime already, and not much of a stack left.
        off_pool(|| {
            let place = shared.runtime.waiting_threads().take()?;
            std::thread::scope(|scope| {
                let work = carried(|| place.run(|| self.run_here(shared, sql, context)));
                let thread = std::thread::Builder::new().name("nested".to_string()).stack_size(STACK_BYTES);
                let running = thread.spawn_scoped(scope, work).map_err(|error| thread_error(&error))?;
                running.join().unwrap_or_else(|_| Err(SqlError::internal("a nested statement panicked")))
            })
        })?
    }

    fn run_list(&self, text: &str, context: &StatementContext) -> SqlResult<u64> {
        self.run_in_child(text, &[], context).map(|end| end.statements)
    }

    fn queue_list(&self, text: &str, context: &StatementContext) -> SqlResult<()> {
        self.queue_for_child(text, &[], context)
    }

    fn append_columns(&self, database: &str, table: &str) -> SqlResult<Option<Arc<[AppendColumn]>>> {
        self.appends.columns(database, table, || {
            let shared = self.shared()?;
            if !self.access(&shared).on_any_column(database, table).contains(Privileges::INSERT) {
                let (user, host) = (&self.account.user, &self.client_host);
                return Err(SqlError::new(ErrorCode::TableAccessDenied, &[&"INSERT", user, host, &table]));
            }
            let catalog = shared.catalog.load();
            let Some(TableEntry::Table(table)) = catalog.entry(database, table) else { return Ok(None) };
            Ok(Some((table.clone(), shared.runtime.reserve(&self.memory, "rows that functions append"))))
        })
    }

    fn append(&self, database: &str, table: &str, row: &[Value]) -> SqlResult<()> {
        self.appends.push(database, table, row)
    }

    fn discard_appended(&self) {
        self.appends.take();
    }

    fn sequence_value(
        &self,
        database: &str,
        name: &str,
        call: SequenceCall,
        context: &StatementContext,
    ) -> SqlResult<Option<i64>> {
        let changes = call != SequenceCall::Previous;
        self.with_sequence((database, name), changes, context, |known, by| known.call(call, &self.last_values, by))
    }

    fn next_sequence_values(
        &self,
        database: &str,
        name: &str,
        count: usize,
        context: &StatementContext,
        take: &mut dyn FnMut(i64),
    ) -> SqlResult<()> {
        self.with_sequence((database, name), true, context, |known, by| {
            known.next_values(count, &self.last_values, by, take)
        })
    }

    fn sees_table(&self, database: &str, table: &str) -> bool {
        self.shared().is_ok_and(|shared| self.access(&shared).sees_table(database, table))
    }

    fn demand_privilege(&self, name: &str) -> SqlResult<()> {
        let shared = self.shared()?;
        let version = shared.accounts.load_now().version;
        let mut asked = self.asked.lock();
        let is_granted = match &*asked {
            // Functions ask at each call.
            Some((then, known, is_granted)) if *then == version && **known == *name => *is_granted,
            _ => {
                let is_granted = self.access(&shared).has_dynamic(name);
                *asked = Some((version, name.into(), is_granted));
                is_granted
            }
        };
        if is_granted { Ok(()) } else { Err(SqlError::new(ErrorCode::SpecificAccessDenied, &[&name])) }
    }

    fn is_among(&self, accounts: &[AccountKey]) -> bool {
        self.shared().is_ok_and(|shared| self.access(&shared).is_among(accounts))
    }

    fn as_account(&self, account: &AccountKey) -> Option<Arc<dyn NestedStatements>> {
        let shared = self.shared().ok()?;
        let accounts = shared.accounts.load_full();
        let mut kept = self.definer.lock();
        if let Some((version, statements)) = &*kept
            && *version == accounts.version
            && statements.account == *account
        {
            return Some(statements.clone());
        }
        let all_roles = Values(&shared.globals.load_values()).on(ids::ACTIVATE_ALL_ROLES_ON_LOGIN);
        let definer = accounts.get(account)?;
        let statements = Arc::new(self.of_definer(account, accounts.roles_at_first(definer, all_roles).into()));
        *kept = Some((accounts.version, statements.clone()));
        Some(statements)
    }

    fn kill(&self, id: u64, context: &StatementContext) -> SqlResult<()> {
        let shared = self.shared()?;
        let (access, temporary_tables) = (self.access(&shared), TemporaryTables::new());
        let security = SecurityContext {
            shared: &shared,
            account: &self.account,
            user: &context.user,
            access: &access,
            default_database: None,
            temporary_tables: &temporary_tables,
            locked: None,
        };
        end_session(&security, context.connection_id, id, true)
    }

    fn holds_read_lock(&self, id: u64) -> bool {
        self.shared().is_ok_and(|shared| shared.store.holds_read_lock(id))
    }

    fn server_file(&self, path: &str) -> SqlResult<PathBuf> {
        let shared = self.shared()?;
        crate::query::server_file(&shared, &self.account, &self.access(&shared), path)
    }
}

/// Has KILL of a session interrupt the lock waits of the session inside it, for as long as it is there.
pub(crate) struct NestedMember {
    parent: Arc<Process>,
    id: u64,
}

impl NestedMember {
    /// `id` works for the parent.
    pub fn new(parent: Arc<Process>, id: u64) -> Self {
        parent.nested.lock().push(id);
        Self { parent, id }
    }
}

impl Drop for NestedMember {
    fn drop(&mut self) {
        self.parent.nested.lock().retain(|id| *id != self.id);
    }
}

impl Session {
    /// Functions that it calls run statements with its account and its active roles.
    pub(crate) fn offer_nested_statements(&mut self) {
        self.nested = Some(Arc::new(SessionStatements::new(self)));
    }

    /// A session like another. `kill` is what stops its statements.
    pub(crate) fn of_image(
        shared: Arc<Shared>,
        id: u64,
        image: SessionImage,
        kill: Arc<KillState>,
        on_kill: KillCallback,
        nested_depth: u32,
    ) -> SqlResult<Session> {
        let info = ConnectionInfo { database: String::new(), multi_statements: true, ..image.info };
        let mut session = Session::new_in(shared, id, image.account, info, on_kill, kill, nested_depth)?;
        session.identity.active_grants = image.active_grants;
        session.rebuild_access();
        session.variables.session = image.variables;
        session.set_user_variables(image.user_variables);
        if let Some(database) = image.database {
            session.use_database(&database)?;
        }
        session.settings_changed();
        session.command.changes.clear();
        Ok(session)
    }
}
