//! Child sessions: they run a list of statements for another session, outside its transaction.
//!
//! A child has the account that has logged in, a few settings of the caller, and its own KILL. The caller waits for it, so the child
//! can never get a lock that the caller holds. The lock tables know of the call, and end such a wait as a deadlock.

use crate::api::KillCallback;
use crate::database::{Database, Shared};
use crate::execute::list::ListEnd;
use crate::procedure::{NestedMember, SessionStatements};
use crate::session::Session;
use crate::state::image::SessionImage;
use crate::statement_kind::DYNAMIC_SQL;
use crate::thread_runtime::run_on_this_thread;
use bytes::Bytes;
use squall_accounting::work_meter::carried;
use squall_executor::runtime::STACK_BYTES;
use squall_server_state::now_micros;
use squall_server_state::variables::ids;
use squall_statement_context::{StatementContext, UserVariables, off_pool, thread_error};
use squall_system_variables::VariableId;
use squall_types::{ErrorCode, SqlError, SqlResult, Value};
use std::sync::Arc;

/// The privilege to run texts in child sessions.
pub const DYNAMIC_EXECUTE: &str = "DYNAMIC_EXECUTE";

/// Variables that a child begins with as its caller has them; all others are as in any new session.
const OF_CALLER: [VariableId; 6] = [
    ids::SQL_MODE,
    ids::TIME_ZONE,
    ids::CHARACTER_SET_CLIENT,
    ids::CHARACTER_SET_CONNECTION,
    ids::CHARACTER_SET_RESULTS,
    ids::COLLATION_CONNECTION,
];

impl SessionImage {
    /// Runs a list of statements in a child session like it, on a thread that may block and is no runtime's. `opened` is told the
    /// child's number, which KILL takes.
    ///
    /// # Errors
    /// When there can be no such session. How the list ends is no error.
    pub fn run_list(
        self,
        database: &Database,
        (list, parameters): (&str, &[Value]),
        opened: impl FnOnce(u64),
    ) -> SqlResult<ListEnd> {
        let id = database.0.processes.next_id();
        let mut child = Session::child_of_image(database.0.clone(), id, self, Arc::new(|| {}), 0)?;
        opened(id);
        run_on_this_thread(child.run_child(list, parameters))
    }
}

impl Session {
    fn child_of_image(
        shared: Arc<Shared>,
        id: u64,
        image: SessionImage,
        on_kill: KillCallback,
        depth: u32,
    ) -> SqlResult<Session> {
        let mut child = Session::of_image(shared, id, image, Arc::default(), on_kill, depth)?;
        child.tell_of_connection();
        Ok(child)
    }

    async fn run_child(&mut self, list: &str, parameters: &[Value]) -> ListEnd {
        let list = Bytes::copy_from_slice(list.as_bytes());
        self.process.begin("Execute", "", now_micros());
        self.run_list_as_one(&list, parameters, true).await
    }
}

impl SessionStatements {
    /// Runs a list of statements in a child session and waits for its end.
    ///
    /// # Errors
    /// Those of [`NestedStatements::run_list`](squall_statement_context::NestedStatements::run_list).
    pub(crate) fn run_in_child(
        &self,
        list: &str,
        parameters: &[Value],
        context: &StatementContext,
    ) -> SqlResult<ListEnd> {
        let shared = self.may_open_child()?;
        // A thread of its own, as for other nested statements.
        let ended = off_pool(|| {
            // One child after the other, also where a query runs on several threads.
            let _turn = self.turn.lock();
            context.kill.check()?;
            let place = shared.runtime.waiting_threads().take()?;
            std::thread::scope(|scope| {
                let work = carried(|| place.run(|| self.run_child_here(shared, list, parameters, context)));
                let thread = std::thread::Builder::new().name("execute".to_string()).stack_size(STACK_BYTES);
                let running = thread.spawn_scoped(scope, work).map_err(|error| thread_error(&error))?;
                running.join().unwrap_or_else(|_| Err(SqlError::internal("a child session panicked")))
            })
        })??;
        ended.into_result(context)
    }

    /// Queues a list of statements for a child session.
    ///
    /// # Errors
    /// Those of [`NestedStatements::queue_list`](squall_statement_context::NestedStatements::queue_list).
    pub(crate) fn queue_for_child(
        &self,
        list: &str,
        parameters: &[Value],
        context: &StatementContext,
    ) -> SqlResult<()> {
        let shared = self.may_open_child()?;
        // It would run when the statement that must change nothing is over.
        if context.is_read_only {
            return Err(SqlError::new(ErrorCode::ReadOnlyTransaction, &[]));
        }
        let background = shared.modules.iter().find_map(|module| module.background_statements());
        let background = background.ok_or_else(|| SqlError::unsupported("EXECUTE without WAIT in this server"))?;
        off_pool(|| background.queue(&self.child_image(&shared, context), list, parameters))?
    }

    fn may_open_child(&self) -> SqlResult<Arc<Shared>> {
        if self.is_within_child {
            let text = "A Concurrent Execution Session can not launch another session.";
            return Err(SqlError::new(ErrorCode::WrongArguments, &[&text]));
        }
        if self.is_inside {
            return Err(SqlError::new(ErrorCode::NotAllowedInFunctionOrTrigger, &[&DYNAMIC_SQL]));
        }
        let shared = self.shared()?;
        let who = &self.authenticated;
        let access = shared.accounts.access_now(&who.account, &who.active_grants);
        if !access.has_dynamic(DYNAMIC_EXECUTE) {
            return Err(SqlError::new(ErrorCode::SpecificAccessDenied, &[&DYNAMIC_EXECUTE]));
        }
        Ok(shared)
    }

    fn child_image(&self, shared: &Shared, context: &StatementContext) -> SessionImage {
        let mut variables = shared.globals.load_values();
        for id in OF_CALLER {
            variables.set(id, context.variables.session.get(id).clone());
        }
        variables.set(ids::AUTOCOMMIT, Value::Int(1));
        let mut info = self.info.clone();
        info.parent = Some(context.connection_id);
        SessionImage {
            account: self.authenticated.account.clone(),
            active_grants: self.authenticated.active_grants.clone(),
            info,
            database: context.settings.database.clone(),
            variables,
            user_variables: Arc::new(UserVariables::default()),
        }
    }

    fn run_child_here(
        &self,
        shared: Arc<Shared>,
        list: &str,
        parameters: &[Value],
        context: &StatementContext,
    ) -> SqlResult<ListEnd> {
        let (caller, id) = (context.connection_id, shared.processes.next_id());
        let _member = shared.processes.get(caller).map(|parent| NestedMember::new(parent, id));
        let _call = Call::begin(&shared, caller, id);
        let image = self.child_image(&shared, context);
        let mut child = Session::child_of_image(shared.clone(), id, image, Arc::new(|| {}), self.depth + 1)?;
        child.nesting.is_within_read_only = context.is_read_only;
        // KILL of the caller may have come before the child was there to be told.
        context.kill.check()?;
        let end = run_on_this_thread(child.run_child(list, parameters))?;
        if end.failed.is_some() {
            // The caller was to stop, which has stopped the child.
            context.kill.check()?;
        }
        Ok(end)
    }
}

/// A session waits for another one for as long as this is there.
struct Call {
    shared: Arc<Shared>,
    caller: u64,
    child: u64,
}

impl Call {
    fn begin(shared: &Arc<Shared>, caller: u64, child: u64) -> Call {
        shared.store.begin_call(caller, child);
        shared.user_locks.begin_call(caller, child);
        Call { shared: shared.clone(), caller, child }
    }
}

impl Drop for Call {
    fn drop(&mut self) {
        self.shared.store.end_call(self.caller, self.child);
        self.shared.user_locks.end_call(self.caller, self.child);
    }
}
