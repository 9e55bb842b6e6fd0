//! The stored functions and triggers of a statement that run statements themselves: parts of it, in its transaction and in the state of
//! its session.
//!
//! While the operators of a statement run, its session waits. Its state is lent to the [`StatementPrograms`] meanwhile
//! ([`Session::lend_state`]). The thread that evaluates a call takes it and the transaction, runs the body as the session would, and
//! gives both back. What belongs to the statement around, and not to the connection, is put aside for the time of the call
//! ([`CallFrame`]).

use crate::session::inside::UsedTable;
use crate::session::{CallFrame, Session, SessionState};
use crate::stack::on_growing_stack;
use crate::thread_runtime::run_on_this_thread;
use parking_lot::Mutex;
use squall_executor::env::WeakTransaction;
use squall_planner::BoundQuery;
use squall_planner::dml::DmlPlan;
use squall_row_store::{TableStore, Transaction, TransactionOptions};
use squall_statement_context::{ProgramRunner, StatementContext, off_pool};
use squall_types::{SqlError, SqlResult};
use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use tokio::sync::oneshot;

/// A session around the state that is lent, and what its calls have in place of what belongs to the statement.
struct Lent {
    session: Session,
    frame: CallFrame,
}

/// Where the state is.
enum Place {
    /// With the statement: its operators do not run.
    WithStatement,
    /// It waits for a call.
    Here(Box<Lent>),
    /// A call has it.
    InCall,
    /// A call has it, and the statement waits for the end of that.
    Awaited(oneshot::Sender<Box<Lent>>),
}

/// Runs the stored programs of a statement.
pub(crate) struct StatementPrograms {
    store: Arc<dyn TableStore>,
    place: Mutex<Place>,
    /// The statement's transaction, while its operators run.
    transaction: Mutex<Option<WeakTransaction>>,
    /// The tables that the statement and those around it use; `None` while no programs may run.
    used: Mutex<Option<Arc<[UsedTable]>>>,
}

/// The state while a call has it. It is given back however the call ends: the statement waits for it.
struct Taken<'p> {
    programs: &'p StatementPrograms,
    lent: Option<Box<Lent>>,
}

impl Drop for Taken<'_> {
    fn drop(&mut self) {
        if let Some(lent) = self.lent.take() {
            if std::thread::panicking() {
                lent.session.process.kill_connection();
            }
            self.programs.give_back(lent);
        }
    }
}

impl std::fmt::Debug for StatementPrograms {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("StatementPrograms").finish_non_exhaustive()
    }
}

impl ProgramRunner for StatementPrograms {
    fn lend(&self, transaction: Box<dyn Any + Send + Sync>) {
        *self.transaction.lock() = transaction.downcast().ok().map(|transaction| *transaction);
    }
}

impl StatementPrograms {
    /// Those of a statement, once they may run.
    pub fn of(context: &StatementContext) -> Option<&StatementPrograms> {
        let runner: &dyn Any = &**context.programs.runner()?;
        runner.downcast_ref()
    }

    /// Does `work` in the session's state and in the transaction that the statement lends, on this thread. Its warnings are the
    /// statement's.
    ///
    /// # Errors
    /// 1235 where a statement lends none; 1135 if there is no thread for it; those of `work`.
    pub fn call<T>(
        &self,
        context: &StatementContext,
        work: impl AsyncFnOnce(&mut Session) -> SqlResult<T>,
    ) -> SqlResult<T> {
        let lent = self.transaction.lock().as_ref().and_then(WeakTransaction::upgrade);
        let lent = lent.ok_or_else(no_place)?;
        // Another operator may have it for as long as a call takes, and the body may wait.
        off_pool(|| {
            let mut transaction = lent.lock()?;
            let mut taken = Taken { programs: self, lent: Some(self.take().ok_or_else(no_place)?) };
            match &mut taken.lent {
                Some(lent) => self.run(lent, &mut transaction, context, work),
                None => Err(no_place()),
            }
        })?
    }

    fn run<T>(
        &self,
        Lent { session, frame }: &mut Lent,
        transaction: &mut Transaction,
        context: &StatementContext,
        work: impl AsyncFnOnce(&mut Session) -> SqlResult<T>,
    ) -> SqlResult<T> {
        let idle = self.store.begin_with(TransactionOptions::autocommit(), None);
        let grants_before = session.identity.active_grants.clone();
        frame.enter(&mut session.state, std::mem::replace(transaction, idle), context);
        if session.nested.is_none() {
            session.offer_nested_statements();
        }
        let body = || on_growing_stack(|| run_on_this_thread(work(session)));
        let ran = catch_unwind(AssertUnwindSafe(body));
        let result = ran.unwrap_or_else(|_| {
            // It may have left the session with the rights of its definer.
            session.process.kill_connection();
            Err(SqlError::internal("a stored program panicked"))
        });
        let result = result.flatten();
        let (lent, warnings) = frame.leave(&mut session.state, result.is_ok());
        if !Arc::ptr_eq(&grants_before, &session.identity.active_grants) {
            // The body has set roles, and the frame what came of it.
            session.offer_nested_statements();
        }
        session.publish_counts();
        let Some(lent) = lent else {
            // Nothing more may be written in place of what is lost.
            transaction.abort();
            return Err(SqlError::internal("a stored program lost its transaction"));
        };
        *transaction = lent;
        for warning in warnings {
            context.diagnostics.push(warning.level, warning.error);
        }
        result
    }

    /// The state, for a call.
    fn take(&self) -> Option<Box<Lent>> {
        let mut place = self.place.lock();
        match std::mem::replace(&mut *place, Place::InCall) {
            Place::Here(lent) => Some(lent),
            other => {
                *place = other;
                None
            }
        }
    }

    fn give_back(&self, lent: Box<Lent>) {
        let mut place = self.place.lock();
        match std::mem::replace(&mut *place, Place::WithStatement) {
            // A session that has ended waits no longer: it ends here.
            Place::Awaited(statement) => drop(statement.send(lent)),
            _ => *place = Place::Here(lent),
        }
    }

    /// The state, for the statement, as soon as no call has it any more. `None` if it has it already.
    async fn end(&self) -> SqlResult<Option<Box<Lent>>> {
        *self.transaction.lock() = None;
        *self.used.lock() = None;
        let returned = {
            let mut place = self.place.lock();
            match std::mem::replace(&mut *place, Place::WithStatement) {
                Place::WithStatement => return Ok(None),
                Place::Here(lent) => return Ok(Some(lent)),
                Place::InCall | Place::Awaited(_) => {
                    let (sender, returned) = oneshot::channel();
                    *place = Place::Awaited(sender);
                    returned
                }
            }
        };
        returned.await.map(Some).map_err(|_| SqlError::internal("a stored program lost its session"))
    }
}

/// 1235 where a statement lends no transaction.
pub(crate) fn no_place() -> SqlError {
    SqlError::unsupported(
        "stored functions with statements in this place (SET a variable to their result and use that)",
    )
}

impl Session {
    /// The stored programs that a statement calls, if it does, may run as soon as its state is lent. `tables` are those that it uses.
    ///
    /// # Errors
    /// 1424 for statements too deep inside of each other.
    pub(crate) fn open_programs(
        &self,
        context: &StatementContext,
        tables: impl Iterator<Item = UsedTable>,
    ) -> SqlResult<()> {
        if !context.programs.are_called() {
            return Ok(());
        }
        self.check_depth()?;
        context.programs.runner_or_make(|| {
            Arc::new(StatementPrograms {
                store: self.shared.store.clone(),
                place: Mutex::new(Place::WithStatement),
                transaction: Mutex::default(),
                used: Mutex::default(),
            })
        });
        if let Some(programs) = StatementPrograms::of(context) {
            let around = self.nesting.inside.iter().flat_map(|inside| inside.used.iter().cloned());
            *programs.used.lock() = Some(tables.chain(around).collect());
        }
        Ok(())
    }

    /// Lends the state to the statement's programs, if they have been [opened](Session::open_programs), until it is [taken
    /// back](Session::take_state_back). Another state with the same settings stands in its place: nothing that is done to that one lasts.
    pub(crate) fn lend_state(&mut self, context: &StatementContext) {
        let Some(programs) = StatementPrograms::of(context) else { return };
        let Some(used) = programs.used.lock().clone() else { return };
        let frame = CallFrame::new(self, context, used);
        let stand_in = self.state.stand_in();
        let state: SessionState = std::mem::replace(&mut self.state, stand_in);
        let session = Session { shared: self.shared.clone(), process: self.process.clone(), state };
        *programs.place.lock() = Place::Here(Box::new(Lent { session, frame }));
    }

    /// Takes the state back that was lent; waits for a call that has not ended.
    ///
    /// # Errors
    /// If a call has lost it.
    pub(crate) async fn take_state_back(&mut self, context: &StatementContext) -> SqlResult<()> {
        let Some(programs) = StatementPrograms::of(context) else { return Ok(()) };
        if let Some(mut lent) = programs.end().await? {
            std::mem::swap(&mut self.state, &mut lent.session.state);
        }
        Ok(())
    }
}

/// The tables that a query reads.
pub(crate) fn tables_of_query(query: &BoundQuery) -> impl Iterator<Item = UsedTable> {
    query.tables.iter().map(|table| (table.database.clone(), table.name.clone()))
}

/// The tables that a change reads or changes.
pub(crate) fn tables_of_change(plan: &DmlPlan) -> impl Iterator<Item = UsedTable> {
    let changed = plan.targets().map(|target| (target.database.clone(), target.def().name.as_str().into()));
    changed.chain(plan.query().into_iter().flat_map(tables_of_query))
}
