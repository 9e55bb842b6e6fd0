//! An open data directory, and the extensions of the server: modules and their procedures.
//!
//! Reading order: [`Database`], `Shared`, `module`, `procedure`, `statement_runner` (statements of a procedure).

mod module;
mod procedure;
mod procedure_call;
mod records;
mod statement_runner;

pub use module::{BackgroundStatements, Module, ModuleObjects, UrlSource};
pub(crate) use procedure::Procedures;
pub use procedure::{Parameter, ParameterMode, Procedure, ProcedureHead};
pub use procedure_call::ProcedureCall;
pub use records::ModuleRecords;
pub(crate) use statement_runner::StatementRunner;

use crate::event_scheduler::EventScheduler;
use crate::listener::Listeners;
use crate::plans::routine_cache::RoutineCache;
use crate::plans::shared_cache::SharedPlanCache;
use crate::plans::slot::SchemaVersions;
use crate::plans::trigger_cache::TriggerCache;
use crate::sequences::Sequences;
use crate::state::first_settings::FirstSettingsCache;
use crate::state::write_locked_tables::WriteLockedTables;
use squall_accounting::work_meter::carried;
use squall_catalog::{AccessMap, AccountDef, AccountKey, Privileges};
use squall_jobs::JobSystem;
use squall_registry::Registry;
use squall_row_store::{Branches, DirectoryLock, EngineWork};
use squall_server_state::globals::GlobalChange;
use squall_server_state::variable_origin::VariableOrigin;
use squall_server_state::variables::{Values, ids};
use squall_server_state::{ServerState, now_micros};
use squall_statement_context::{BindSettings, StatementContext, WaitingPlace};
use squall_system_tables::ProcessorSampler;
use squall_system_variables::{ValueTable, VariableValues};
use squall_types::temporal::TimeZone;
use squall_types::{ErrorCode, SqlError, SqlResult, Value};
use std::ops::Deref;
use std::path::Path;
use std::sync::{Arc, Weak};
use tokio::sync::Notify;

/// Where queries spill to and files of clients wait, in the data directory; emptied at each start.
pub(crate) const TEMPORARY_FOLDER: &str = "tmp";
/// An open database. Cheap to clone; the last clone closes it.
#[derive(Clone, Debug)]
pub struct Database(pub(crate) Arc<Shared>);

/// A database that others keep open, or close.
#[derive(Clone, Debug)]
pub struct WeakDatabase(Weak<Shared>);

impl WeakDatabase {
    /// The database, if it is still open.
    pub fn upgrade(&self) -> Option<Database> {
        self.0.upgrade().map(Database)
    }
}

/// The state that all sessions of a database share.
#[derive(Debug)]
pub(crate) struct Shared {
    // Dropped before the store.
    pub engine_work: EngineWork,
    /// Branches of global transactions.
    pub branches: Branches,
    /// The server's state below its sessions.
    pub state: ServerState,
    pub procedures: Procedures,
    pub modules: Vec<Arc<dyn Module>>,
    /// Samples of the time of processors, for ndbinfo.
    pub processor_sampler: Arc<ProcessorSampler>,
    pub listeners: Listeners,
    pub events: Arc<EventScheduler>,
    /// Held by the session that makes a backup by stages.
    pub backup_turn: Arc<tokio::sync::Mutex<()>>,
    /// See [`OpenOptions::shutdown`].
    pub shutdown: Option<Arc<Notify>>,
    /// The plans and statements that sessions share.
    pub plans: SharedPlanCache,
    /// What sessions begin with.
    pub first_settings: FirstSettingsCache,
    /// Bodies of stored routines.
    pub routines: RoutineCache,
    /// Values that sequences have reserved.
    pub sequences: Sequences,
    /// Parsed bodies of triggers.
    pub triggers: TriggerCache,
    /// The tables of LOCK TABLES … WRITE.
    pub write_locked: Arc<WriteLockedTables>,
    // Dropped last: another process may open the directory from then on.
    pub _lock: DirectoryLock,
}

impl Deref for Shared {
    type Target = ServerState;

    fn deref(&self) -> &ServerState {
        &self.state
    }
}

impl Shared {
    /// Runs something that may wait for a lock, another statement or a client, on a thread of its own.
    ///
    /// # Errors
    /// 1135 if no thread is left; then `work` is dropped. Those of `work`.
    pub async fn waiting<T: Send + 'static>(
        self: &Arc<Shared>,
        work: impl FnOnce(&Shared) -> SqlResult<T> + Send + 'static,
    ) -> SqlResult<T> {
        let place = self.runtime.waiting_threads().take()?;
        self.waiting_in(place, work).await
    }

    /// The same in a place that has been taken before what the work has with it was given away.
    ///
    /// # Errors
    /// Those of `work`.
    pub async fn waiting_in<T: Send + 'static>(
        self: &Arc<Shared>,
        place: WaitingPlace,
        work: impl FnOnce(&Shared) -> SqlResult<T> + Send + 'static,
    ) -> SqlResult<T> {
        let shared = self.clone();
        let task = self.runtime.spawn_waiting(place, move || work(&shared));
        task.await.unwrap_or_else(|error| Err(task_failed(&error)))
    }

    /// Runs something that computes, or waits for a disk and no other statement, where blocking is allowed.
    pub async fn blocking<T: Send + 'static>(
        self: &Arc<Shared>,
        work: impl FnOnce(&Shared) -> SqlResult<T> + Send + 'static,
    ) -> SqlResult<T> {
        let shared = self.clone();
        let task = self.runtime.pool().spawn_blocking(carried(move || work(&shared)));
        task.await.unwrap_or_else(|error| Err(task_failed(&error)))
    }

    /// Whether an account's password has expired now.
    pub fn has_expired_password(&self, account: &AccountDef) -> bool {
        let by_default = Values(&self.globals.load_values()).number(ids::DEFAULT_PASSWORD_LIFETIME);
        account.has_expired_password(by_default, now_micros())
    }

    /// The versions that plans are made at now.
    pub fn schema_versions(&self) -> SchemaVersions {
        SchemaVersions { catalog: self.catalog.version(), functions: self.registry.functions_version() }
    }
}

fn task_failed(error: &tokio::task::JoinError) -> SqlError {
    SqlError::internal(format_args!("a background task failed: {error}"))
}

impl Drop for Shared {
    fn drop(&mut self) {
        self.events.stop();
    }
}

impl Database {
    /// The job system.
    pub fn jobs(&self) -> &JobSystem {
        &self.0.jobs
    }

    /// Everything that is declared.
    pub fn registry(&self) -> &Registry {
        &self.0.registry
    }

    /// Values of global variables, now.
    pub fn globals(&self) -> ValueTable {
        self.0.globals.load_values()
    }

    /// Sets a global variable and keeps it, as SET PERSIST by `user` (`user@host`) does.
    ///
    /// # Errors
    /// When the value cannot be kept; then it does not hold either.
    pub fn persist_global(&self, name: &str, value: Value, user: &str) -> SqlResult<()> {
        let id = self.0.registry.variables.find(name);
        let id = id.ok_or_else(|| SqlError::new(ErrorCode::UnknownSystemVariable, &[&name]))?;
        let origin = VariableOrigin::dynamic(user);
        let change = GlobalChange {
            running: vec![(name.to_owned(), self.0.globals.load_values().get(id).clone(), value.clone())],
            persisted: vec![(name.to_owned(), Some(value.clone()))],
            ..GlobalChange::default()
        };
        self.0.globals.commit(&*self.0.store, &change, &origin)?;
        self.0.globals.set_by(&[(id, value)], &origin);
        self.0.globals.follow(|| {
            self.0.apply_account_variables();
            for module in &self.0.modules {
                // A module tells the error log what it cannot follow.
                let _told = module.variables_changed();
            }
        });
        Ok(())
    }

    /// The durable records of a module under a name of its own, which begins with the module's.
    pub fn records(&self, space: &'static str) -> ModuleRecords {
        ModuleRecords::new(self.downgrade(), space)
    }

    /// The grants of a statement's account.
    pub fn access_of(&self, context: &StatementContext) -> Arc<AccessMap> {
        self.0.access_of(context)
    }

    /// Lets the session of a statement read a table without storage through another one, as views of the invoker's do. What statements
    /// name themselves is authorized before.
    ///
    /// # Errors
    /// 1142.
    pub fn check_may_select(&self, context: &StatementContext, database: &str, table: &str) -> SqlResult<()> {
        if squall_system_tables::is_public(database, table)
            || self.access_of(context).on_table(database, table).contains(Privileges::SELECT)
        {
            return Ok(());
        }
        let user = context.current_user.rsplit_once('@').map_or("", |(user, _)| user);
        let host = context.user.rsplit_once('@').map_or("", |(_, host)| host);
        Err(SqlError::new(ErrorCode::TableAccessDenied, &[&"SELECT", &user, &host, &table]))
    }

    /// The context in which the server itself reads virtual tables: without an account, in UTC, with global
    /// variables.
    pub fn server_context(&self) -> Arc<StatementContext> {
        let globals = self.globals();
        let variables = VariableValues { global: globals.clone(), session: globals, ..VariableValues::default() };
        Arc::new(StatementContext {
            now_micros: now_micros(),
            settings: Arc::new(BindSettings { time_zone: Arc::new(TimeZone::utc()), ..BindSettings::default() }),
            variables,
            is_of_server: true,
            ..StatementContext::default()
        })
    }

    /// Whether there is such an account.
    pub fn has_account(&self, account: &AccountKey) -> bool {
        self.0.accounts.load_now().get(account).is_some()
    }

    /// The database without keeping it open.
    pub fn downgrade(&self) -> WeakDatabase {
        WeakDatabase(Arc::downgrade(&self.0))
    }

    /// The directory.
    pub fn directory(&self) -> &Path {
        &self.0.directory
    }

    /// Connections that are open now.
    pub fn connection_count(&self) -> usize {
        self.0.processes.len()
    }

    /// Ends all connections, as a shutdown does.
    pub fn kill_all(&self) {
        for process in self.0.processes.all() {
            process.kill_connection();
            self.0.interrupt(&process);
        }
    }

    /// Finishes what is under way and syncs. Statements that come later fail with 1053.
    pub fn close(&self) -> SqlResult<()> {
        self.0.events.stop();
        for module in self.0.modules.iter().rev() {
            module.stop();
        }
        self.0.jobs.stop();
        self.0.logs.drain();
        self.0.engine_work.stop();
        self.0.store.close()
    }

    /// Whether some account can be used from another machine, or `root` has a password: what listening beyond this
    /// machine needs.
    pub fn root_has_password(&self) -> bool {
        self.0
            .accounts
            .load_full()
            .accounts
            .values()
            .filter(|account| account.user == "root")
            .all(|account| !account.authentication.is_empty() || account.locked)
    }
}
