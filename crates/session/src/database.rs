//! A data directory that is open: everything that sessions share.

use crate::api::{Account, Backend, Connection, ConnectionInfo, FrontEndSettings, KillCallback};
use crate::event::EventScheduler;
use crate::listener::Listeners;
use crate::module::Module;
use crate::procedure::Procedures;
use crate::session::{Session, client};
use crate::session_plan_cache::SchemaVersions;
use crate::shared_plan_cache::SharedPlanCache;
use parking_lot::Mutex;
use squall_catalog::{AccessMap, AccountKey, Catalog, CatalogCell, Privileges, TableDef, TableEntry, TableId};
use squall_column_store::ColumnCache;
use squall_column_tables::{BackgroundSealer, ColumnTables};
use squall_definitions::edit::insert_database;
use squall_executor::runtime::{QueryRuntime, RuntimeOptions};
use squall_instrumentation::Statistics;
use squall_instrumentation::process::ProcessList;
use squall_jobs::JobSystem;
use squall_logs::error_log::{Severity, error_log};
use squall_logs::{Client, Logs};
use squall_planner::dml::RulesCache;
use squall_registry::{BindSettings, Registry, StatementContext, ValueTable, VariableValues};
use squall_row_store::{DdlChanges, DirectoryLock, LogContents, RowStore, StoreOptions};
use squall_server_state::accounts::AccountStore;
use squall_server_state::globals::GlobalVariables;
use squall_server_state::log_settings::default_file;
use squall_server_state::variables::{Values, ids};
use squall_server_state::{AllocatedMemory, ServerState, now_micros};
use squall_types::temporal::TimeZone;
use squall_types::{CollationId, ErrorCode, SqlError, SqlResult, Value};
use std::net::IpAddr;
use std::ops::Deref;
use std::path::Path;
use std::sync::{Arc, Weak};
use std::time::Instant;
use tokio::sync::Notify;

/// Where queries spill to and files of clients wait, in the data directory; emptied at each start.
pub(crate) const TEMPORARY_FOLDER: &str = "tmp";
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
    /// Tells what the process's allocator has taken, where somebody knows.
    pub allocated_memory: Option<fn() -> AllocatedMemory>,
    /// Told by SHUTDOWN. `None` where the program does not end when a client says so: SHUTDOWN is error 1235.
    pub shutdown: Option<Arc<Notify>>,
}

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

/// What all sessions of a database share.
#[derive(Debug)]
pub(crate) struct Shared {
    // Dropped before the store.
    pub sealer: Mutex<BackgroundSealer>,
    /// What is known of the server below its sessions.
    pub state: ServerState,
    pub procedures: Procedures,
    pub modules: Vec<Arc<dyn Module>>,
    pub listeners: Listeners,
    pub events: Arc<EventScheduler>,
    /// See [`OpenOptions::shutdown`].
    pub shutdown: Option<Arc<Notify>>,
    /// What sessions have found out about statements.
    pub plans: SharedPlanCache,
    // Dropped last: another process may open the directory from then on.
    _lock: DirectoryLock,
}

impl Deref for Shared {
    type Target = ServerState;

    fn deref(&self) -> &ServerState {
        &self.state
    }
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
fn declared(mut registry: Registry, modules: &[Arc<dyn Module>]) -> (Registry, Procedures) {
    squall_functions::register_all(&mut registry);
    let mut procedures = Procedures::default();
    for module in modules {
        module.declare(&mut registry);
        module.procedures().into_iter().for_each(|procedure| procedures.add(procedure));
    }
    (registry, procedures)
}

impl Shared {
    /// The versions that plans are made at now.
    pub fn schema_versions(&self) -> SchemaVersions {
        SchemaVersions { catalog: self.catalog.version(), functions: self.registry.functions_version() }
    }
}

impl Database {
    /// Reads the redo log of a data directory that no process has open and says what is there. Nothing is changed.
    ///
    /// # Errors
    /// When another process has it open, or it cannot be read.
    pub fn check_log(directory: &Path) -> SqlResult<LogContents> {
        RowStore::check_log(&directory.join(ROWS_FOLDER))
    }

    /// Has the redo log of a data directory that no process has open end before a fragment: what was committed from there on is given up.
    ///
    /// # Errors
    /// Those of [`Database::check_log`], and 1105 if the log cannot be read as far as that.
    pub fn end_log(directory: &Path, fragment: u64) -> SqlResult<LogContents> {
        RowStore::end_log(&directory.join(ROWS_FOLDER), fragment)
    }

    /// Opens a data directory, which is made if it is not there.
    pub fn open(directory: impl AsRef<Path>, options: OpenOptions) -> SqlResult<Database> {
        let directory = directory.as_ref().to_path_buf();
        let lock = DirectoryLock::take(&directory)?;
        let modules = options.modules;
        let (mut registry, procedures) = declared(options.registry, &modules);
        // The cache's size is a variable of the store's own records, so they are read first with the default.
        let column_cache = Arc::new(ColumnCache::new(0));
        let column_tables = Arc::new(ColumnTables::new(directory.join("columns"), column_cache.clone()));
        let store_options = StoreOptions { keep_freed_memory: options.keep_freed_memory, ..StoreOptions::default() };
        let store = RowStore::open_with(directory.join(ROWS_FOLDER), store_options, Some(column_tables.clone()))?;
        let store = Arc::new(store);
        let globals = Arc::new(GlobalVariables::load(&registry.variables, &store)?);
        for (name, value) in options.startup_variables {
            globals.set_startup(&registry.variables, &name, value)?;
        }
        set_directory_variables(&globals, &registry, &directory, &store)?;
        let own: Vec<&str> = modules.iter().flat_map(|module| module.databases()).copied().collect();
        bootstrap_catalog(&store, &own)?;
        let module_databases = own.iter().map(|name| name.to_string()).collect();
        let catalog = Arc::new(CatalogCell::new(store.load_catalog()));
        let accounts = AccountStore::load(&store)?;
        accounts.bootstrap(&store, options.root_password.as_deref(), options.root_from_anywhere, now_micros())?;
        let jobs = JobSystem::open(&store, &catalog.load(), {
            let globals = globals.clone();
            move || globals.durability()
        })?;
        let threads = std::thread::available_parallelism().map_or(1, usize::from);
        let runtime = open_runtime(&globals, &directory, threads)?;
        let sealer = BackgroundSealer::start(&column_tables, Arc::downgrade(&store), threads, |table, error| {
            error_log().write(Severity::Warning, &format!("sealing table {table}: {}", error.message));
        })?;
        let processes = Arc::new(ProcessList::default());
        let plans = SharedPlanCache::new(Values(&globals.load_values()).number(ids::PLAN_CACHE_SIZE));
        let listeners = Listeners::new(modules.iter().flat_map(|module| module.listeners()).collect());
        let shared = Arc::new_cyclic(|weak| {
            crate::server_tables::register(&mut registry, weak);
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
                processes,
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
                prepared_count: Default::default(),
            };
            Shared {
                sealer: Mutex::new(sealer),
                state,
                procedures,
                modules,
                listeners,
                events: Arc::default(),
                shutdown: options.shutdown,
                plans,
                _lock: lock,
            }
        });
        shared.apply_variables();
        let database = Database(shared);
        for module in &database.0.modules {
            module.start(&database)?;
        }
        let events_run = Values(&database.0.globals.load_values()).text(ids::EVENT_SCHEDULER) == "ON";
        database.0.events.start(&database.0, events_run)?;
        Ok(database)
    }

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

    /// Sets a global variable and keeps it, as SET PERSIST does.
    ///
    /// # Errors
    /// When the value cannot be kept; then it does not hold either.
    pub fn persist_global(&self, name: &str, value: Value) -> SqlResult<()> {
        let id = self.0.registry.variables.find(name);
        let id = id.ok_or_else(|| SqlError::new(ErrorCode::UnknownSystemVariable, &[&name]))?;
        self.0.globals.persist(&self.0.store, &[(name, value.clone())])?;
        self.0.globals.set(&[(id, value)]);
        self.0.apply_account_variables();
        self.0.modules.iter().for_each(|module| module.variables_changed());
        Ok(())
    }

    /// What the account of a statement may do.
    pub fn access_of(&self, context: &StatementContext) -> AccessMap {
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

    /// What the server reads virtual tables with for itself: as no account, in UTC, with global variables.
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

    /// The directory.
    pub fn directory(&self) -> &Path {
        &self.0.directory
    }

    /// Connections at this moment.
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
        self.0.sealer.lock().close();
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

fn query_memory(globals: &GlobalVariables) -> usize {
    match Values(&globals.load_values()).number(ids::QUERY_MEMORY_LIMIT) {
        0 => machine_memory().map_or(1 << 30, |bytes| bytes / 4 * 3),
        bytes => usize::try_from(bytes).unwrap_or(usize::MAX),
    }
}

/// Memory of the machine in bytes, where the system tells.
fn machine_memory() -> Option<usize> {
    let text = std::fs::read_to_string("/proc/meminfo").ok()?;
    let line = text.lines().find(|line| line.starts_with("MemTotal:"))?;
    let kilobytes: usize = line.split_whitespace().nth(1)?.parse().ok()?;
    Some(kilobytes << 10)
}

fn set_directory_variables(
    globals: &GlobalVariables,
    registry: &Registry,
    directory: &Path,
    store: &RowStore,
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
        memory_bytes_max: query_memory(globals),
        spill_directory: directory.join(TEMPORARY_FOLDER),
        spill_bytes_max: 1 << 40,
        threads,
    })
}

/// The identity of the directory, made at its first start.
fn server_uuid(store: &RowStore) -> SqlResult<String> {
    if let Some(bytes) = store.system_get("server", b"uuid")? {
        return Ok(String::from_utf8_lossy(&bytes).into_owned());
    }
    let mut bytes = squall_server_state::random::bytes::<16>();
    bytes[6] = bytes[6] & 0x0f | 0x40;
    bytes[8] = bytes[8] & 0x3f | 0x80;
    let hex: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    let uuid = format!("{}-{}-{}-{}-{}", &hex[..8], &hex[8..12], &hex[12..16], &hex[16..20], &hex[20..]);
    store.commit_system(&[squall_row_store::SystemChange {
        space: "server",
        key: b"uuid".to_vec(),
        value: Some(uuid.clone().into_bytes()),
    }])?;
    Ok(uuid)
}

/// A new directory has the database `mysql`, for what clients expect there, and those of the modules.
fn bootstrap_catalog(store: &RowStore, of_modules: &[&str]) -> SqlResult<()> {
    let mut catalog: Catalog = store.load_catalog();
    let missing = |name: &&str| !catalog.databases().contains_key(*name);
    let missing: Vec<&str> = std::iter::once("mysql").chain(of_modules.iter().copied()).filter(missing).collect();
    let has_jobs = catalog.table("mysql", "job").is_some();
    let of_jobs = ["job", "job_output"].into_iter().filter_map(|name| catalog.table("mysql", name));
    let changed: Vec<TableDef> = of_jobs.filter_map(|table| squall_jobs::with_missing_columns(table)).collect();
    if missing.is_empty() && has_jobs && changed.is_empty() {
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

impl Drop for Shared {
    fn drop(&mut self) {
        self.events.stop();
    }
}

impl Backend for Database {
    fn front_end_settings(&self) -> FrontEndSettings {
        let values = self.0.globals.load_values();
        let values = Values(&values);
        FrontEndSettings {
            version: values.text(ids::VERSION).to_string(),
            collation: squall_server_state::charset::collation(values.text(ids::COLLATION_SERVER))
                .map_or(255, |id| id.0),
            max_connections: values.number(ids::MAX_CONNECTIONS) as usize,
            connect_timeout_seconds: values.number(ids::CONNECT_TIMEOUT),
            net_write_timeout_seconds: values.number(ids::NET_WRITE_TIMEOUT),
            max_allowed_packet: values.number(ids::MAX_ALLOWED_PACKET) as usize,
            require_secure_transport: values.on(ids::REQUIRE_SECURE_TRANSPORT),
        }
    }

    fn next_connection_id(&self) -> u64 {
        self.0.processes.next_id()
    }

    fn account(&self, user: &str, address: Option<IpAddr>) -> Option<Account> {
        let accounts = self.0.accounts.load_full();
        let account = accounts.find(user, address)?;
        Some(Account {
            user: account.user.clone(),
            host: account.host.clone(),
            plugin: account.plugin.clone(),
            authentication: account.authentication.clone(),
            locked: account.locked,
            password_expired: account.password_expired,
            require_tls: account.require_tls,
        })
    }

    fn connect(
        &self,
        connection_id: u64,
        account: &Account,
        info: ConnectionInfo,
        on_kill: KillCallback,
    ) -> Result<Box<dyn Connection>, SqlError> {
        let key = squall_catalog::AccountKey::new(account.user.clone(), account.host.clone());
        let session = Session::new(self.0.clone(), connection_id, key, info, on_kill)?;
        Ok(Box::new(session))
    }

    fn client_gone(&self, connection_id: u64) {
        if let Some(process) = self.0.processes.get(connection_id) {
            self.0.kill(&process, true);
        }
    }

    fn connect_failed(&self) {
        self.0.processes.aborted_connects.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
    }

    fn connection_moved(&self) {
        self.0.processes.moved_connections.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
    }

    fn connection_refused(&self) {
        self.0.processes.refused_connections.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
    }

    fn login_refused(&self, connection_id: u64, info: &ConnectionInfo, error: &SqlError) {
        let now = now_micros();
        let host = info.address.map_or_else(|| "localhost".to_string(), |address| address.to_canonical().to_string());
        let client = Client { since_micros: now, ..client(connection_id, info, &host) }.described();
        let command = if info.changes_user { "Change user" } else { "Connect" };
        self.0.logs.write_refused(&client, command, error, now);
    }
}
