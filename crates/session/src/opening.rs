//! Opens a data directory, and makes sessions for the process itself.

use crate::database::{Database, Module, Procedures, Shared, TEMPORARY_FOLDER};
use crate::event_scheduler::EventScheduler;
use crate::listener::Listeners;
use crate::plans::routine_cache::RoutineCache;
use crate::plans::shared_cache::SharedPlanCache;
use crate::plans::trigger_cache::TriggerCache;
use crate::result::writer::ConnectionInfo;
use crate::sequences::Sequences;
use crate::session::Session;
use crate::state::first_settings::FirstSettingsCache;
use parking_lot::Mutex;
use squall_catalog::{Catalog, CatalogCell, TableDef, TableEntry, TableId};
use squall_column_store::ColumnCache;
use squall_column_tables::ColumnTables;
use squall_definitions::edit::insert_database;
use squall_executor::runtime::{QueryRuntime, RuntimeOptions};
use squall_instrumentation::Statistics;
use squall_jobs::JobSystem;
use squall_logs::Logs;
use squall_logs::error_log::{Severity, error_log};
use squall_planner::dml::RulesCache;
use squall_registry::Registry;
use squall_row_store::{
    Branches, DdlChanges, DirectoryLock, EngineWork, LogContents, RowStore, StoreOptions, SystemChange, SystemRecords,
    TableEngine, WorkFailed,
};
use squall_server_state::accounts::AccountStore;
use squall_server_state::globals::GlobalVariables;
use squall_server_state::log_settings::default_file;
use squall_server_state::memory_limit::query_memory_limit;
use squall_server_state::thread_limit::waiting_threads_max;
use squall_server_state::variables::{Values, ids};
use squall_server_state::{AllocatedMemory, ServerState, now_micros};
use squall_system_tables::{Server, virtual_database, virtual_databases};
use squall_types::durable_files::create_own_folder;
use squall_types::{CollationId, SqlError, SqlResult, Value};
use std::path::Path;
use std::sync::{Arc, Weak};
use std::time::Instant;
use tokio::sync::Notify;

/// Where the row store is in a data directory.
const ROWS_FOLDER: &str = "rows";

/// How a database is opened.
#[derive(Debug, Default)]
pub struct OpenOptions {
    /// Functions, tables and variables that are declared beside the core's.
    pub registry: Registry,
    /// Variables known at the start only, by name: `port`, `socket`, `bind_address` …
    pub startup_variables: Vec<(String, Value)>,
    /// Password of a `root` that the first start makes; `None` for one without password.
    pub root_password: Option<String>,
    /// Clients from anywhere may be `root`; otherwise only this machine's.
    pub root_from_anywhere: bool,
    /// Parts of the server beside the core, in the order in which they start.
    pub modules: Vec<Arc<dyn Module>>,
    /// See [`StoreOptions::keep_freed_memory`].
    pub keep_freed_memory: Option<fn(bool)>,
    /// Tells what the process's allocator has taken, if it counts.
    pub allocated_memory: Option<fn() -> AllocatedMemory>,
    /// Told by SHUTDOWN. `None` where the program does not end when a client says so: SHUTDOWN is error 1235.
    pub shutdown: Option<Arc<Notify>>,
    /// Neither events nor the work of modules begin: tables are only looked at.
    pub without_background: bool,
}

/// Tells plans and listeners of a new catalog.
fn watcher(shared: Weak<Shared>) -> impl Fn(u64) {
    move |version| {
        if let Some(shared) = shared.upgrade() {
            shared.plans.catalog_changed(version);
            shared.listeners.tell(|listener| listener.catalog_changed(version));
        }
    }
}

/// Everything that the core and the modules declare.
pub(crate) fn declared(mut registry: Registry, modules: &[Arc<dyn Module>]) -> (Registry, Procedures) {
    squall_functions::register_all(&mut registry);
    let mut procedures = Procedures::default();
    for module in modules {
        registry.variables.begin_module(module.name());
        module.declare(&mut registry);
        module.procedures().into_iter().for_each(|procedure| procedures.add(procedure));
    }
    (registry, procedures)
}

/// How the store of a database is opened.
fn store_options(keep_freed_memory: Option<fn(bool)>) -> StoreOptions {
    StoreOptions {
        keep_freed_memory,
        bind_partitions: Some(squall_planner::partition::bind_partitions),
        ..StoreOptions::default()
    }
}

impl Database {
    /// Reads the redo log of a closed data directory, and reports its content. Nothing is changed.
    ///
    /// # Errors
    /// When another process has it open, or it cannot be read.
    pub fn check_log(directory: &Path) -> SqlResult<LogContents> {
        RowStore::check_log(&directory.join(ROWS_FOLDER))
    }

    /// Ends the redo log of a closed data directory before a fragment. All later commits are lost.
    ///
    /// # Errors
    /// Those of [`Database::check_log`], and 1105 if the log cannot be read as far as that.
    pub fn end_log(directory: &Path, fragment: u64) -> SqlResult<LogContents> {
        RowStore::end_log(&directory.join(ROWS_FOLDER), fragment)
    }

    /// Opens a data directory, which is made if it is not there.
    pub fn open(directory: impl AsRef<Path>, options: OpenOptions) -> SqlResult<Database> {
        let directory = directory.as_ref().to_path_buf();
        check_restored(&directory)?;
        let lock = DirectoryLock::take(&directory)?;
        let modules = options.modules;
        let (mut registry, procedures) = declared(options.registry, &modules);
        // The cache's size is a variable of the store's own records, so they are read first with the default.
        let column_cache = Arc::new(ColumnCache::new(0));
        let engines = storage_engines(&directory, &column_cache, &modules);
        let (store, branches) = open_store(&directory, store_options(options.keep_freed_memory), engines)?;
        let globals = Arc::new(GlobalVariables::load(&registry.variables, &*store, store.engines())?);
        for (name, value) in options.startup_variables {
            globals.set_startup(&registry.variables, &name, value)?;
        }
        set_directory_variables(&globals, &registry, &directory, &*store)?;
        let own: Vec<&str> = modules.iter().flat_map(|module| module.databases()).copied().collect();
        bootstrap_catalog(&store, &own)?;
        let module_databases = own.iter().map(|name| name.to_string()).collect();
        let catalog = Arc::new(CatalogCell::new(store.load_catalog()));
        let accounts = AccountStore::load(&*store)?;
        accounts.bootstrap(&*store, options.root_password.as_deref(), options.root_from_anywhere, now_micros())?;
        let jobs = JobSystem::open(store.clone(), store.clone(), &catalog.load(), {
            let globals = globals.clone();
            move || globals.durability()
        })?;
        let threads = std::thread::available_parallelism().map_or(1, usize::from);
        let runtime = open_runtime(&globals, &directory, threads)?;
        let engine_work = start_engines(&store, threads)?;
        let plans = SharedPlanCache::new(Values(&globals.load_values()).number(ids::PLAN_CACHE_SIZE));
        let listeners = Listeners::new(modules.iter().flat_map(|module| module.listeners()).collect());
        let events = EventScheduler::new(Arc::<RowStore>::downgrade(&store));
        let shared = Arc::new_cyclic(|weak: &Weak<Shared>| {
            register_tables(&mut registry, weak.clone());
            modules.iter().for_each(|module| module.declare_derived(&mut registry));
            let state = ServerState {
                directory,
                column_cache,
                store,
                catalog,
                accounts,
                registry: Arc::new(registry),
                globals,
                jobs,
                processes: Arc::default(),
                statistics: Statistics::default(),
                allocated_memory: options.allocated_memory,
                runtime: Arc::new(runtime),
                rules: RulesCache::default(),
                logs: Logs::default(),
                log_change: Mutex::new(()),
                ddl: Mutex::new(()),
                module_databases,
                catalog_watcher: Box::new(watcher(weak.clone())),
                started: Instant::now(),
                started_micros: now_micros(),
                user_locks: Arc::default(),
                definition_times: Default::default(),
                prepared_count: Default::default(),
            };
            Shared {
                engine_work,
                branches,
                state,
                procedures,
                modules,
                processor_sampler: Arc::default(),
                listeners,
                events,
                backup_turn: Arc::default(),
                shutdown: options.shutdown,
                plans,
                first_settings: FirstSettingsCache::default(),
                routines: RoutineCache::default(),
                sequences: Sequences::default(),
                triggers: TriggerCache::default(),
                write_locked: Arc::default(),
                _lock: lock,
            }
        });
        shared.apply_variables();
        Database(shared).started(!options.without_background)
    }

    /// Begins the background work of modules, and events, unless it is only looked at.
    fn started(self, works: bool) -> SqlResult<Database> {
        if works {
            for module in &self.0.modules {
                module.start(&self)?;
            }
            self.0.start_events(Values(&self.0.globals.load_values()).text(ids::EVENT_SCHEDULER) == "ON")?;
        }
        Ok(self)
    }

    /// A session for this process itself: `root`, with every privilege.
    pub fn connect(&self) -> SqlResult<Session> {
        let account = self
            .0
            .accounts
            .load_full()
            .find("root", None)
            .map(|account| account.key())
            .unwrap_or_else(|| squall_catalog::AccountKey::new("root", "localhost"));
        let info = ConnectionInfo {
            user: "root".to_string(),
            multi_statements: true,
            local_files: true,
            ..Default::default()
        };
        let id = self.0.processes.next_id();
        Session::new(self.0.clone(), id, account, info, Arc::new(|| {}))
    }
}

/// Refuses a directory that a restore has not finished.
fn check_restored(directory: &Path) -> SqlResult<()> {
    match squall_backup::is_being_restored(directory) {
        true => Err(SqlError::internal(format_args!(
            "the restore of a backup to {} was not finished: empty the directory and restore again",
            directory.display()
        ))),
        false => Ok(()),
    }
}

/// Opens the row store, with the branches of global transactions that are prepared: they lock before all other
/// transactions.
fn open_store(
    directory: &Path,
    options: StoreOptions,
    engines: Vec<Arc<dyn TableEngine>>,
) -> SqlResult<(Arc<RowStore>, Branches)> {
    create_own_folder(&directory.join(ROWS_FOLDER)).map_err(SqlError::internal)?;
    let store = RowStore::open_with(directory.join(ROWS_FOLDER), options, engines)?;
    let branches = Branches::recover(&store)?;
    Ok((Arc::new(store), branches))
}

/// Declares the tables about the server.
fn register_tables(registry: &mut Registry, server: Weak<dyn Server>) {
    squall_system_tables::register(registry, &server);
}

/// The storage engines beside that of rows: that of column tables, and those of modules.
pub(crate) fn storage_engines(
    directory: &Path,
    column_cache: &Arc<ColumnCache>,
    modules: &[Arc<dyn Module>],
) -> Vec<Arc<dyn TableEngine>> {
    let mut engines: Vec<Arc<dyn TableEngine>> =
        vec![Arc::new(ColumnTables::new(directory.join("columns"), column_cache.clone()))];
    engines.extend(modules.iter().flat_map(|module| module.storage_engines(directory)));
    engines
}

/// Begins the storage engines' work in the background, whose failures are in the error log.
fn start_engines(store: &Arc<RowStore>, threads: usize) -> SqlResult<EngineWork> {
    let failed: WorkFailed = Arc::new(|table, error| {
        error_log().write(Severity::Warning, &format!("work in the background on table {table}: {}", error.message));
    });
    store.start_engines(threads, &failed)
}

fn set_directory_variables(
    globals: &GlobalVariables,
    registry: &Registry,
    directory: &Path,
    store: &dyn SystemRecords,
) -> SqlResult<()> {
    let path = directory.canonicalize().unwrap_or_else(|_| directory.to_path_buf());
    let set = |name: &str, value: String| globals.set_startup(&registry.variables, name, Value::String(value));
    set("datadir", format!("{}/", path.display()))?;
    set("tmpdir", path.join("tmp").display().to_string())?;
    if let Ok(name) = std::fs::read_to_string("/proc/sys/kernel/hostname") {
        set("hostname", name.trim().to_string())?;
    }
    set("system_time_zone", squall_types::temporal::TimeZone::system().abbreviation_at(now_micros() / 1_000_000))?;
    set("server_uuid", server_uuid(store)?)?;
    let values = globals.load_values();
    for id in [ids::GENERAL_LOG_FILE, ids::SLOW_QUERY_LOG_FILE] {
        if Values(&values).text(id).is_empty()
            && let Some(default) = default_file(Values(&values), id)
        {
            globals.set(&[(id, default)]);
        }
    }
    Ok(())
}

/// Where queries run.
fn open_runtime(globals: &GlobalVariables, directory: &Path, threads: usize) -> SqlResult<QueryRuntime> {
    QueryRuntime::open(&RuntimeOptions {
        memory_bytes_max: query_memory_limit(globals),
        spill_directory: directory.join(TEMPORARY_FOLDER),
        spill_bytes_max: 1 << 40,
        threads,
        waiting_threads_max: waiting_threads_max(globals),
    })
}

/// The identity of the directory, made at its first start.
fn server_uuid(store: &dyn SystemRecords) -> SqlResult<String> {
    if let Some(bytes) = store.system_get("server", b"uuid")? {
        return Ok(String::from_utf8_lossy(&bytes).into_owned());
    }
    let mut bytes = squall_server_state::random::bytes::<16>();
    bytes[6] = bytes[6] & 0x0f | 0x40;
    bytes[8] = bytes[8] & 0x3f | 0x80;
    let hex: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    let uuid = format!("{}-{}-{}-{}-{}", &hex[..8], &hex[8..12], &hex[12..16], &hex[16..20], &hex[20..]);
    store.commit_system(&[SystemChange {
        space: "server",
        key: b"uuid".to_vec(),
        value: Some(uuid.clone().into_bytes()),
    }])?;
    Ok(uuid)
}

/// A new directory has the database `mysql`, for what clients expect there, and those of the modules.
fn bootstrap_catalog(store: &RowStore, of_modules: &[&str]) -> SqlResult<()> {
    let mut catalog: Catalog = store.load_catalog();
    // Directories of older servers have some: a database without storage is in no catalog.
    let mut removed = false;
    for name in virtual_databases() {
        if catalog.database(name).is_some_and(|database| database.tables.is_empty()) {
            removed |= catalog.remove_database(name).is_some();
        }
    }
    let missing = |name: &&str| !catalog.databases().contains_key(*name) && virtual_database(name).is_none();
    let missing: Vec<&str> = std::iter::once("mysql").chain(of_modules.iter().copied()).filter(missing).collect();
    let has_jobs = catalog.table("mysql", "job").is_some();
    let of_jobs = ["job", "job_output"].into_iter().filter_map(|name| catalog.table("mysql", name));
    let changed: Vec<TableDef> = of_jobs.filter_map(|table| squall_jobs::with_missing_columns(table)).collect();
    if missing.is_empty() && has_jobs && changed.is_empty() && !removed {
        return Ok(());
    }
    catalog.next_database_id = catalog.next_database_id.max(1);
    catalog.next_table_id = catalog.next_table_id.max(1);
    catalog.version += 1;
    for name in missing {
        insert_database(&mut catalog, name, CollationId::UTF8MB4_0900_AI_CI);
    }
    for table in changed {
        catalog.put_entry("mysql", TableEntry::Table(Arc::new(table)));
    }
    if !has_jobs {
        let mut id = catalog.next_table_id;
        let next_id = || {
            id += 1;
            TableId(id - 1)
        };
        let tables = squall_jobs::tables(next_id, now_micros());
        catalog.next_table_id = id;
        for table in tables {
            catalog.put_entry("mysql", TableEntry::Table(Arc::new(table)));
        }
    }
    store.commit_ddl(&catalog, &DdlChanges::default())
}
