//! The state of a server that does not belong to sessions.

use crate::accounts::AccountStore;
use crate::action_times::DefinitionTimes;
use crate::globals::GlobalVariables;
use crate::memory_limit::query_memory_limit;
use crate::thread_limit::waiting_threads_max;
use crate::variables::{Values, ids};
use parking_lot::Mutex;
use squall_catalog::{AccessMap, AccountKey, CatalogCell};
use squall_column_store::ColumnCache;
use squall_executor::runtime::QueryRuntime;
use squall_instrumentation::{Process, ProcessList, Statistics};
use squall_jobs::JobSystem;
use squall_logs::Logs;
use squall_logs::error_log::{Severity, error_log};
use squall_planner::dml::RulesCache;
use squall_registry::Registry;
use squall_row_store::{Durability, RowStore};
use squall_statement_context::{StatementContext, UserLocks};
use squall_types::{SqlResult, Value};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

/// The memory that the allocator has taken from the system.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AllocatedMemory {
    /// Bytes now.
    pub bytes: u64,
    /// The most that it ever were.
    pub peak_bytes: u64,
}

/// The parts of an open database, of which its sessions and the tables about the server are made.
pub struct ServerState {
    /// The data directory.
    pub directory: PathBuf,
    /// Columns of column tables.
    pub column_cache: Arc<ColumnCache>,
    /// Tables, and records of the server's own.
    pub store: Arc<RowStore>,
    /// The catalog now.
    pub catalog: Arc<CatalogCell>,
    /// The accounts now.
    pub accounts: AccountStore,
    /// Functions, variables and virtual tables that are declared.
    pub registry: Arc<Registry>,
    /// Values of global variables.
    pub globals: Arc<GlobalVariables>,
    /// Work done later.
    pub jobs: JobSystem,
    /// The connections.
    pub processes: Arc<ProcessList>,
    /// The counts for performance_schema.
    pub statistics: Statistics,
    /// Tells what the process's allocator has taken, if it counts.
    pub allocated_memory: Option<fn() -> AllocatedMemory>,
    /// Where queries run.
    pub runtime: Arc<QueryRuntime>,
    /// Bound defaults, generated columns and checks of tables.
    pub rules: RulesCache,
    /// The logs.
    pub logs: Logs,
    /// Held while new values of log variables take effect.
    pub log_change: Mutex<()>,
    /// Held by a definition, from reading the old catalog to publishing the new one.
    pub ddl: Mutex<()>,
    /// Databases of modules, which no statement may drop.
    pub module_databases: Vec<String>,
    /// Told of each new version of the catalog.
    pub catalog_watcher: Box<dyn Fn(u64) + Send + Sync>,
    /// When it was opened.
    pub started: Instant,
    /// The same, microseconds since 1970 UTC.
    pub started_micros: i64,
    /// `GET_LOCK`'s.
    pub user_locks: Arc<UserLocks>,
    /// How long the steps of definitions have taken.
    pub definition_times: DefinitionTimes,
    /// Prepared statements of all sessions.
    pub prepared_count: AtomicU64,
}

impl std::fmt::Debug for ServerState {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ServerState").field("directory", &self.directory).finish_non_exhaustive()
    }
}

impl ServerState {
    /// Whether a database belongs to a module.
    pub fn is_of_module(&self, database: &str) -> bool {
        self.module_databases.iter().any(|own| own == database)
    }

    /// The catalog that has just been published has this version.
    pub fn tell_of_catalog(&self, version: u64) {
        (self.catalog_watcher)(version);
    }

    /// Has the values of variables take effect that the server was started with.
    pub fn apply_variables(&self) {
        if let Err(error) = self.apply_store_variables() {
            // Values stay in their rows then.
            error_log().write(Severity::Warning, &error.message);
        }
        self.apply_statistics_variables();
        if self.accounts.load_now().has_restrictions() {
            // They hold whatever the server was started with.
            self.globals.set(&[(ids::PARTIAL_REVOKES, Value::from(true))]);
        }
        self.apply_account_variables();
        if let Err(error) = self.apply_log_variables() {
            // A log that was persisted and cannot be written now is no reason not to serve.
            error_log().write(Severity::Warning, &error.message);
        }
    }

    /// The store's form of `durability`.
    #[inline]
    pub fn durability(&self) -> Durability {
        self.globals.durability()
    }

    /// Counts statements, or does not, as its variable says.
    pub fn apply_statistics_variables(&self) {
        let globals = self.globals.load_values();
        let is_on = Values(&globals).number(ids::PERFORMANCE_SCHEMA) != 0;
        self.statistics.is_on.store(is_on, Ordering::Relaxed);
        self.statistics.wait_consumers.apply(is_on);
    }

    /// Gives the store, caches and the pool of threads the sizes that their variables say.
    ///
    /// # Errors
    /// Those of [`squall_row_store::RowStore::set_inline_values`].
    pub fn apply_store_variables(&self) -> SqlResult<()> {
        let globals = self.globals.load_values();
        self.store.resize_row_cache(Values(&globals).number(ids::ROW_CACHE_SIZE));
        let vectors = Values(&globals).number(ids::VECTOR_MEMORY_LIMIT);
        self.store.resize_vector_memory(usize::try_from(vectors).unwrap_or(usize::MAX));
        let changes = Values(&globals).number(ids::TRANSACTION_BUFFER_SIZE);
        self.store.set_transaction_buffer(usize::try_from(changes).unwrap_or(usize::MAX));
        let columns = Values(&globals).number(ids::COLUMN_CACHE_SIZE);
        self.column_cache.resize(usize::try_from(columns).unwrap_or(usize::MAX));
        self.runtime.set_waiting_threads(waiting_threads_max(&self.globals));
        self.runtime.set_memory_limit(query_memory_limit(&self.globals));
        // The longest value that there is turns it off.
        let values = u32::try_from(Values(&globals).number(ids::BLOB_INLINE_LIMIT)).unwrap_or(u32::MAX);
        self.store.set_inline_values(if values == u32::MAX { usize::MAX } else { values as usize })
    }

    /// Accounts have the roles that `mandatory_roles` says, and partial revokes if `partial_revokes` does.
    pub fn apply_account_variables(&self) {
        let values = self.globals.load_values();
        let values = Values(&values);
        self.accounts.set_variables(values.text(ids::MANDATORY_ROLES), values.on(ids::PARTIAL_REVOKES));
    }

    /// Ends a statement or a connection.
    pub fn kill(&self, process: &Process, connection: bool) {
        if connection {
            process.kill_connection();
        } else {
            process.kill.kill_query();
        }
        self.interrupt(process);
    }

    /// Ends the connections of clients that may not stay while the server is offline. Their default roles count.
    pub fn end_connections_of_users(&self) {
        let accounts = self.accounts.load_full();
        let all_roles = Values(&self.globals.load_values()).on(ids::ACTIVATE_ALL_ROLES_ON_LOGIN);
        let stays = |process: &Process| {
            let account = accounts.find(&process.user, process.peer);
            account.is_some_and(|account| {
                let roles = accounts.roles_at_first(account, all_roles);
                self.accounts.access(&accounts, &account.key(), &roles.into()).has_dynamic("CONNECTION_ADMIN")
            })
        };
        for process in self.processes.all().iter().filter(|process| process.is_client() && !stays(process)) {
            self.kill(process, true);
        }
    }

    /// Ends the lock waits of a connection, and of the sessions that work for it. Children stop with a statement that has to stop.
    pub fn interrupt(&self, process: &Process) {
        self.store.interrupt(process.id);
        let nested = process.nested.lock().clone();
        for id in nested {
            if let Some(child) = self.processes.get(id).filter(|child| child.parent.is_some())
                && process.kill.check().is_err()
            {
                child.kill.kill_query();
                self.interrupt(&child);
            }
            self.store.interrupt(id);
        }
    }

    /// The privileges of a statement's account, with its active roles.
    pub fn access_of(&self, context: &StatementContext) -> Arc<AccessMap> {
        if context.is_of_server {
            return Arc::new(AccessMap::all());
        }
        let (user, host) = context.current_user.rsplit_once('@').unwrap_or((&context.current_user, ""));
        let account = AccountKey::new(user, host);
        self.accounts.access_now(&account, &context.active_grants)
    }
}
