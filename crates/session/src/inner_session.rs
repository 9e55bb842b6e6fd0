//! The inner session of a statement. It runs the bodies of stored functions and triggers, in the statement's own transaction.
//!
//! It is made once for a statement and runs on its own thread, which is neither an event loop nor a thread of the query pool. Each call
//! lends it the transaction.

use crate::result::writer::LocalFuture;
use crate::session::inside::UsedTable;
use crate::session::{Session, TemporaryTables};
use crate::thread_runtime::run_on_this_thread;
use parking_lot::Mutex;
use squall_accounting::work_meter::carried;
use squall_executor::env::WeakTransaction;
use squall_executor::runtime::STACK_BYTES;
use squall_planner::BoundQuery;
use squall_planner::dml::DmlPlan;
use squall_row_store::{RowStore, Transaction, TransactionOptions};
use squall_statement_context::{ProgramSession, StatementContext, off_pool};
use squall_system_variables::ValueTable;
use squall_types::{SqlError, SqlResult, Value, Warning};
use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};

/// The work of the session in one call. Returns values: the result of a function.
pub(crate) type Work = Box<dyn for<'s> FnOnce(&'s mut Session) -> LocalFuture<'s, SqlResult<Vec<Value>>> + Send>;

/// A call on its way to the session.
struct Order {
    work: Work,
    transaction: Transaction,
    used: Arc<[UsedTable]>,
    is_in_trigger: bool,
    done: Sender<Done>,
}

/// The result of a call.
struct Done {
    transaction: Option<Transaction>,
    result: SqlResult<Vec<Value>>,
    warnings: Vec<Warning>,
    /// State of the outer session, if it may have changed.
    set: Option<SetByPrograms>,
}

/// Settings that programs may have changed for the outer session.
struct SetByPrograms {
    variables: ValueTable,
    temporary_tables: TemporaryTables,
}

/// Where the session is.
enum Place {
    /// It waits for its first call.
    Here(Box<Session>),
    /// On its thread.
    Away(Sender<Order>),
    Nowhere,
}

/// A session inside of a statement.
pub(crate) struct InnerSession {
    store: Arc<RowStore>,
    place: Mutex<Place>,
    /// The statement's transaction, while its operators run.
    transaction: Mutex<Option<WeakTransaction>>,
    used: Mutex<Arc<[UsedTable]>>,
    set: Mutex<Option<SetByPrograms>>,
}

impl std::fmt::Debug for InnerSession {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("InnerSession").finish_non_exhaustive()
    }
}

impl ProgramSession for InnerSession {
    fn lend(&self, transaction: Box<dyn Any + Send + Sync>) {
        *self.transaction.lock() = transaction.downcast().ok().map(|transaction| *transaction);
    }
}

impl InnerSession {
    /// That of a statement, while it has one.
    pub fn of(context: &StatementContext) -> Option<&InnerSession> {
        let session: &dyn Any = &**context.programs.session()?;
        session.downcast_ref()
    }

    /// Does `work` in the transaction that the statement lends. Its warnings are the statement's.
    ///
    /// # Errors
    /// 1235 where a statement lends none; those of `work`.
    pub fn call(&self, work: Work, context: &StatementContext) -> SqlResult<Vec<Value>> {
        let lent = self.transaction.lock().as_ref().and_then(WeakTransaction::upgrade);
        let lent = lent.ok_or_else(no_place)?;
        // Another operator may have it for as long as a call takes.
        off_pool(|| self.run(work, &mut *lent.lock()?, context))
    }

    /// Does something in a transaction.
    ///
    /// # Errors
    /// Those of `work`.
    pub fn run(&self, work: Work, transaction: &mut Transaction, context: &StatementContext) -> SqlResult<Vec<Value>> {
        let orders = self.orders()?;
        let idle = self.store.begin_with(TransactionOptions::autocommit(), None);
        let (done, answer) = channel();
        let transaction_now = std::mem::replace(transaction, idle);
        let is_in_trigger = context.is_in_trigger;
        let order = Order { work, transaction: transaction_now, used: self.used.lock().clone(), is_in_trigger, done };
        let ended = || SqlError::internal("the session of a stored program has ended");
        orders.send(order).map_err(|_| ended())?;
        let done = answer.recv().map_err(|_| ended())?;
        *transaction = done.transaction.ok_or_else(|| SqlError::internal("a stored program lost its transaction"))?;
        if done.set.is_some() {
            *self.set.lock() = done.set;
        }
        for warning in done.warnings {
            context.diagnostics.push(warning.level, warning.error);
        }
        done.result
    }

    /// Where calls are sent to; the thread begins with the first.
    fn orders(&self) -> SqlResult<Sender<Order>> {
        let mut place = self.place.lock();
        if let Place::Away(orders) = &*place {
            return Ok(orders.clone());
        }
        let Place::Here(session) = std::mem::replace(&mut *place, Place::Nowhere) else {
            return Err(SqlError::internal("a statement without its inner session"));
        };
        let (sender, orders) = channel();
        let thread = std::thread::Builder::new().name("program".to_string()).stack_size(STACK_BYTES);
        thread.spawn(carried(move || serve(*session, &orders))).map_err(SqlError::internal)?;
        *place = Place::Away(sender.clone());
        Ok(sender)
    }
}

/// 1235 where a statement lends no transaction.
pub(crate) fn no_place() -> SqlError {
    SqlError::unsupported(
        "stored functions with statements in this place (SET a variable to their result and use that)",
    )
}

/// The life of the session's thread: until the statement is over.
fn serve(mut session: Session, orders: &Receiver<Order>) {
    while let Ok(Order { work, transaction, used, is_in_trigger, done }) = orders.recv() {
        let version = session.settings_version;
        session.begin_call(transaction, used, is_in_trigger);
        let ran = catch_unwind(AssertUnwindSafe(|| run_on_this_thread(work(&mut session))));
        let result = match ran {
            Ok(Ok(result)) => result,
            Ok(Err(error)) => Err(error),
            Err(_) => Err(SqlError::internal("a stored program panicked")),
        };
        let (transaction, warnings) = session.end_call(result.is_ok());
        let set = (session.settings_version != version).then(|| SetByPrograms {
            variables: session.variables.session.clone(),
            temporary_tables: session.temporary_tables.clone(),
        });
        // A caller that waits no longer has lost the statement.
        let _ = done.send(Done { transaction, result, warnings, set });
    }
}

impl Session {
    /// Makes the session for the stored programs that a statement calls, if it does. `tables` are those that it uses.
    ///
    /// # Errors
    /// 1424 for sessions too deep inside of each other.
    pub(crate) fn open_programs(
        &self,
        context: &StatementContext,
        tables: impl Iterator<Item = UsedTable>,
    ) -> SqlResult<()> {
        if !context.programs.are_called() {
            return Ok(());
        }
        context.programs.session_or_make(|| {
            let inner = self.inside_of_statement(context)?;
            let made: Arc<dyn ProgramSession> = Arc::new(InnerSession {
                store: self.shared.store.clone(),
                place: Mutex::new(Place::Here(Box::new(inner))),
                transaction: Mutex::default(),
                used: Mutex::default(),
                set: Mutex::default(),
            });
            Ok(made)
        })?;
        if let Some(inner) = InnerSession::of(context) {
            let around = self.nesting.inside.iter().flat_map(|inside| inside.used.iter().cloned());
            *inner.used.lock() = tables.chain(around).collect();
        }
        Ok(())
    }

    /// Takes over what programs have set: variables of the session, and its TEMPORARY tables.
    pub(crate) fn close_programs(&mut self, context: &StatementContext) {
        let Some(inner) = InnerSession::of(context) else { return };
        *inner.transaction.lock() = None;
        if let Some(set) = inner.set.lock().take() {
            self.variables.session = set.variables;
            self.temporary_tables = set.temporary_tables;
            self.settings_changed();
        }
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
