//! The statement: the root of a tree, and the table of what other parts must know of each statement.

use super::*;

/// One SQL statement.
#[derive(Clone, Debug, PartialEq)]
pub enum Statement {
    /// SELECT, VALUES, TABLE, WITH … SELECT, parenthesised queries and set operations.
    Query(Box<Query>),
    /// INSERT and REPLACE.
    Insert(Box<Insert>),
    Update(Box<Update>),
    Delete(Box<Delete>),
    LoadData(Box<LoadData>),
    Do(Vec<Expr>),
    Call(Box<Call>),
    Handler(Box<Handler>),

    CreateDatabase(Box<CreateDatabase>),
    AlterDatabase(Box<AlterDatabase>),
    DropDatabase(DropDatabase),
    CreateTable(Box<CreateTable>),
    AlterTable(Box<AlterTable>),
    DropTable(Box<DropTable>),
    TruncateTable(ObjectName),
    RenameTable(RenameTable),
    CreateIndex(Box<CreateIndex>),
    DropIndex(Box<DropIndex>),
    /// CREATE VIEW and ALTER VIEW.
    CreateView(Box<CreateView>),
    DropView(DropView),
    CreateSequence(Box<CreateSequence>),
    AlterSequence(Box<AlterSequence>),
    DropSequence(DropObject),
    CreateServer(Box<CreateServer>),
    AlterServer {
        name: Ident,
        options: Vec<(Ident, Box<str>)>,
    },
    DropServer {
        if_exists: bool,
        name: Ident,
    },
    CreateHttpEndpoint {
        or_replace: bool,
        if_not_exists: bool,
        endpoint: Box<HttpEndpoint>,
    },
    AlterHttpEndpoint(Box<HttpEndpoint>),
    CreateApiToken(Box<CreateApiToken>),
    DropApiToken {
        if_exists: bool,
        id: Box<str>,
    },
    DropHttpEndpoint {
        if_exists: bool,
        name: Ident,
    },

    CreateProcedure(Box<CreateRoutine>),
    CreateFunction(Box<CreateRoutine>),
    CreateLoadableFunction(Box<CreateLoadableFunction>),
    AlterProcedure(Box<AlterRoutine>),
    AlterFunction(Box<AlterRoutine>),
    DropProcedure(DropObject),
    DropFunction(DropObject),
    CreateTrigger(Box<CreateTrigger>),
    DropTrigger(DropObject),
    /// CREATE EVENT and ALTER EVENT.
    CreateEvent(Box<CreateEvent>),
    DropEvent(DropObject),
    /// A compound or control statement of a stored program.
    Program(Box<ProgramStatement>),

    /// CREATE USER and ALTER USER.
    CreateUser(Box<CreateUser>),
    DropUser(DropUser),
    RenameUser(Vec<(AccountName, AccountName)>),
    CreateRole(CreateRole),
    DropRole(DropUser),
    Grant(Box<Grant>),
    Revoke(Box<Revoke>),

    /// Comments alone.
    Empty,

    Transaction(Transaction),
    LockTables(LockTables),
    UnlockTables,
    /// `LOCK INSTANCE FOR BACKUP`.
    LockInstance,
    UnlockInstance,
    /// `BACKUP SERVER TO …`, and MariaDB's `BACKUP STAGE …`, `BACKUP LOCK table` and `BACKUP UNLOCK`.
    Backup(Backup),

    Set(Set),
    Use(Ident),
    Show(Box<Show>),
    Explain(Box<Explain>),
    DescribeTable(DescribeTable),
    Help(Box<str>),

    Prepare(Prepare),
    Execute(Execute),
    ExecuteImmediate(ExecuteImmediate),
    ExecuteText(Box<ExecuteText>),
    /// `DEALLOCATE PREPARE`, `DROP PREPARE`.
    Deallocate(Ident),

    Kill(Box<Kill>),
    Flush(Flush),
    Reset(Reset),
    TableMaintenance(Box<TableMaintenance>),
    /// `CACHE INDEX … IN cache`.
    CacheIndex {
        tables: Vec<CachedTable>,
        cache: Ident,
    },
    /// `LOAD INDEX INTO CACHE`.
    LoadIndex {
        tables: Vec<CachedTable>,
    },
    Install(Box<Install>),
    Uninstall(Uninstall),
    Replication(Box<Replication>),
    Shutdown,
    Restart,

    GetDiagnostics(Box<GetDiagnostics>),
    /// SIGNAL and RESIGNAL.
    Signal(Box<Signal>),
}

/// What a statement changes. Implicit commits, global locks and READ ONLY transactions depend on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StatementClass {
    /// Reads or changes rows of tables.
    Rows,
    /// Defines databases, tables, keys, views or triggers.
    Definition,
    /// Defines stored procedures or functions.
    RoutineDefinition,
    /// Defines events.
    EventDefinition,
    /// Defines names of other servers.
    ServerDefinition,
    /// Defines objects that modules keep.
    ModuleDefinition,
    /// Changes accounts, roles or privileges.
    Account,
    /// Begins or ends transactions, or locks tables.
    Transaction,
    /// Runs another statement from a text.
    DynamicSql,
    /// Runs the statements of a block.
    Program,
    /// Changes the session alone.
    Session,
    /// Shows the state of the server or of objects.
    Information,
    /// Acts on tables' storage, the server or its files.
    Administration,
    /// Is refused for all accounts.
    Unsupported,
}

/// The privileges that a statement needs before it runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RequiredPrivileges {
    /// None, or the code that runs it asks: the binder for rows and columns, SET for each variable, nested statements for themselves.
    Nothing,
    /// Those on the objects that it names.
    OnObjects,
    /// RELOAD.
    Reload,
    /// SHUTDOWN.
    Shutdown,
    /// SUPER.
    Super,
    /// BACKUP_ADMIN.
    BackupAdmin,
    /// SYSTEM_VARIABLES_ADMIN.
    SystemVariablesAdmin,
}

/// What counters, logs, locks and authorization must know of a statement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StatementTraits {
    pub kind: StatementKind,
    pub class: StatementClass,
    pub requires: RequiredPrivileges,
}

macro_rules! traits {
    ($($statement:pat => $kind:expr, $class:ident, $requires:ident;)*) => {
        impl Statement {
            /// The line of the statement in the table below. A statement without one does not compile.
            pub fn traits(&self) -> StatementTraits {
                use {RequiredPrivileges as R, Statement as S, StatementClass as C, StatementKind as K};
                match self {
                    $($statement => StatementTraits { kind: $kind, class: C::$class, requires: R::$requires },)*
                }
            }
        }
    };
}

traits! {
    S::Query(_) => K::Select, Rows, Nothing;
    S::Insert(insert) => insert.kind(), Rows, OnObjects;
    S::Update(update) => update.kind(), Rows, OnObjects;
    S::Delete(delete) => delete.kind(), Rows, OnObjects;
    S::LoadData(_) => K::Load, Rows, OnObjects;
    S::Do(_) => K::Do, Rows, Nothing;
    S::Call(_) => K::CallProcedure, Rows, OnObjects;
    S::Handler(handler) => handler.kind(), Rows, OnObjects;
    S::Explain(_) => K::ExplainOther, Rows, Nothing;

    S::CreateDatabase(_) => K::CreateDb, Definition, OnObjects;
    S::AlterDatabase(_) => K::AlterDb, Definition, OnObjects;
    S::DropDatabase(_) => K::DropDb, Definition, OnObjects;
    S::CreateTable(_) => K::CreateTable, Definition, OnObjects;
    S::AlterTable(_) => K::AlterTable, Definition, OnObjects;
    S::DropTable(_) => K::DropTable, Definition, OnObjects;
    S::TruncateTable(_) => K::Truncate, Definition, OnObjects;
    S::RenameTable(_) => K::RenameTable, Definition, OnObjects;
    S::CreateIndex(_) => K::CreateIndex, Definition, OnObjects;
    S::DropIndex(_) => K::DropIndex, Definition, OnObjects;
    S::CreateView(_) => K::CreateView, Definition, OnObjects;
    S::DropView(_) => K::DropView, Definition, OnObjects;
    S::CreateSequence(_) | S::AlterSequence(_) | S::DropSequence(_) => K::Other, Definition, OnObjects;
    S::CreateTrigger(_) => K::CreateTrigger, Definition, OnObjects;
    S::DropTrigger(_) => K::DropTrigger, Definition, OnObjects;
    S::CreateProcedure(_) => K::CreateProcedure, RoutineDefinition, OnObjects;
    S::CreateFunction(_) => K::CreateFunction, RoutineDefinition, OnObjects;
    S::AlterProcedure(_) => K::AlterProcedure, RoutineDefinition, OnObjects;
    S::AlterFunction(_) => K::AlterFunction, RoutineDefinition, OnObjects;
    S::DropProcedure(_) => K::DropProcedure, RoutineDefinition, OnObjects;
    S::DropFunction(_) => K::DropFunction, RoutineDefinition, OnObjects;
    S::CreateEvent(event) => if event.alter { K::AlterEvent } else { K::CreateEvent }, EventDefinition, OnObjects;
    S::DropEvent(_) => K::DropEvent, EventDefinition, OnObjects;
    S::CreateServer(_) => K::CreateServer, ServerDefinition, Super;
    S::AlterServer { .. } => K::AlterServer, ServerDefinition, Super;
    S::DropServer { .. } => K::DropServer, ServerDefinition, Super;
    // The module that keeps them asks.
    S::CreateHttpEndpoint { .. } | S::AlterHttpEndpoint(_) | S::DropHttpEndpoint { .. } => K::Other, ModuleDefinition, Nothing;
    S::CreateApiToken(_) | S::DropApiToken { .. } => K::Other, ModuleDefinition, Nothing;

    S::CreateUser(user) => if user.alter { K::AlterUser } else { K::CreateUser }, Account, OnObjects;
    S::DropUser(_) => K::DropUser, Account, OnObjects;
    S::RenameUser(_) => K::RenameUser, Account, OnObjects;
    S::CreateRole(_) => K::CreateRole, Account, OnObjects;
    S::DropRole(_) => K::DropRole, Account, OnObjects;
    S::Grant(grant) => grant.kind(), Account, OnObjects;
    S::Revoke(revoke) => revoke.kind(), Account, OnObjects;
    S::Set(Set::Password(_)) => K::SetPassword, Account, OnObjects;
    S::Set(Set::DefaultRole(_)) => K::AlterUserDefaultRole, Account, OnObjects;

    S::Transaction(transaction) => transaction.kind(), Transaction, Nothing;
    S::LockTables(_) => K::LockTables, Transaction, OnObjects;
    S::UnlockTables => K::UnlockTables, Transaction, Nothing;
    S::LockInstance => K::LockInstance, Administration, BackupAdmin;
    S::UnlockInstance => K::UnlockInstance, Administration, BackupAdmin;
    S::Backup(Backup::Stage(_) | Backup::Lock(_)) => K::LockInstance, Administration, Reload;
    S::Backup(Backup::Server { .. }) => K::Other, Administration, BackupAdmin;
    S::Backup(Backup::Unlock) => K::UnlockInstance, Administration, Reload;

    S::Prepare(_) => K::PrepareSql, DynamicSql, Nothing;
    S::Execute(_) | S::ExecuteImmediate(_) | S::ExecuteText(_) => K::ExecuteSql, DynamicSql, Nothing;
    S::Deallocate(_) => K::DeallocSql, DynamicSql, Nothing;
    S::Program(_) => K::Other, Program, Nothing;

    S::Empty => K::EmptyQuery, Session, Nothing;
    S::Set(Set::Role(_)) => K::SetRole, Session, Nothing;
    S::Set(_) => K::SetOption, Session, Nothing;
    // `use_database` checks that the account sees the database.
    S::Use(_) => K::ChangeDb, Session, Nothing;
    S::GetDiagnostics(_) => K::GetDiagnostics, Session, Nothing;
    S::Signal(signal) => if signal.resignal { K::Resignal } else { K::Signal }, Session, Nothing;

    S::Show(show) => show.kind(), Information, OnObjects;
    // Grants decide what is shown.
    S::DescribeTable(_) => K::ShowFields, Information, Nothing;
    S::Help(_) => K::Help, Information, Nothing;

    // An expression says whose connection it is.
    S::Kill(_) => K::Kill, Administration, Nothing;
    S::Flush(_) => K::Flush, Administration, OnObjects;
    S::Reset(Reset::Persist { .. } | Reset::PersistVersion { .. }) => K::Reset, Administration, SystemVariablesAdmin;
    S::Reset(_) => K::Reset, Administration, Reload;
    S::TableMaintenance(maintenance) => maintenance.kind.counted_as(), Administration, OnObjects;
    S::CacheIndex { .. } => K::AssignToKeycache, Administration, OnObjects;
    S::LoadIndex { .. } => K::PreloadKeys, Administration, OnObjects;
    S::Shutdown => K::Shutdown, Administration, Shutdown;
    S::Restart => K::Restart, Administration, Shutdown;

    S::CreateLoadableFunction(_) => K::CreateUdf, Unsupported, Nothing;
    S::Install(install) => install.kind(), Unsupported, Nothing;
    S::Uninstall(uninstall) => uninstall.kind(), Unsupported, Nothing;
    S::Replication(replication) => replication.kind(), Unsupported, Nothing;
}

/// The event of a command of the protocol that prepares a statement.
pub const PREPARE_EVENT: &str = "statement/com/Prepare";
/// The event of statements without a name of their own.
const OTHER_EVENT: &str = "statement/abstract/Query";

macro_rules! kinds {
    ($($kind:ident = $name:literal;)*) => {
        /// What a statement is, as MySQL counts it: `statement/sql/…` in performance_schema and `Com_…` in SHOW STATUS.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum StatementKind {
            $(#[doc = $name] $kind,)*
            /// What has no name of its own.
            Other,
        }

        impl StatementKind {
            /// All kinds, by name; the last one has none.
            pub const ALL: &[StatementKind] = &[$(StatementKind::$kind,)* StatementKind::Other];

            /// Names of events of statements, of commands of the protocol too, in order.
            pub const EVENT_NAMES: &[&str] =
                &[OTHER_EVENT, PREPARE_EVENT, $(concat!("statement/sql/", $name),)*];

            /// The event of performance_schema.
            pub fn event_name(self) -> &'static str {
                match self {
                    $(StatementKind::$kind => concat!("statement/sql/", $name),)*
                    StatementKind::Other => OTHER_EVENT,
                }
            }

            /// The status variable that counts such statements.
            pub fn status_name(self) -> Option<&'static str> {
                let name = match self {
                    $(StatementKind::$kind => concat!("Com_", $name),)*
                    StatementKind::Other => return None,
                };
                (self != StatementKind::Error).then_some(name)
            }
        }
    };
}

kinds! {
    AlterDb = "alter_db";
    AlterEvent = "alter_event";
    AlterFunction = "alter_function";
    AlterProcedure = "alter_procedure";
    AlterServer = "alter_server";
    AlterTable = "alter_table";
    AlterUser = "alter_user";
    AlterUserDefaultRole = "alter_user_default_role";
    Analyze = "analyze";
    AssignToKeycache = "assign_to_keycache";
    Begin = "begin";
    Binlog = "binlog";
    CallProcedure = "call_procedure";
    ChangeDb = "change_db";
    ChangeReplFilter = "change_repl_filter";
    ChangeReplicationSource = "change_replication_source";
    Check = "check";
    Checksum = "checksum";
    Commit = "commit";
    CreateDb = "create_db";
    CreateEvent = "create_event";
    CreateFunction = "create_function";
    CreateIndex = "create_index";
    CreateProcedure = "create_procedure";
    CreateRole = "create_role";
    CreateServer = "create_server";
    CreateTable = "create_table";
    CreateTrigger = "create_trigger";
    CreateUdf = "create_udf";
    CreateUser = "create_user";
    CreateView = "create_view";
    DeallocSql = "dealloc_sql";
    Delete = "delete";
    DeleteMulti = "delete_multi";
    Do = "do";
    DropDb = "drop_db";
    DropEvent = "drop_event";
    DropFunction = "drop_function";
    DropIndex = "drop_index";
    DropProcedure = "drop_procedure";
    DropRole = "drop_role";
    DropServer = "drop_server";
    DropTable = "drop_table";
    DropTrigger = "drop_trigger";
    DropUser = "drop_user";
    DropView = "drop_view";
    EmptyQuery = "empty_query";
    Error = "error";
    ExecuteSql = "execute_sql";
    ExplainOther = "explain_other";
    Flush = "flush";
    GetDiagnostics = "get_diagnostics";
    Grant = "grant";
    GrantRoles = "grant_roles";
    GroupReplicationStart = "group_replication_start";
    GroupReplicationStop = "group_replication_stop";
    HaClose = "ha_close";
    HaOpen = "ha_open";
    HaRead = "ha_read";
    Help = "help";
    Insert = "insert";
    InsertSelect = "insert_select";
    InstallComponent = "install_component";
    InstallPlugin = "install_plugin";
    Kill = "kill";
    Load = "load";
    LockInstance = "lock_instance";
    LockTables = "lock_tables";
    Optimize = "optimize";
    PreloadKeys = "preload_keys";
    PrepareSql = "prepare_sql";
    Purge = "purge";
    PurgeBeforeDate = "purge_before_date";
    ReleaseSavepoint = "release_savepoint";
    RenameTable = "rename_table";
    RenameUser = "rename_user";
    Repair = "repair";
    Replace = "replace";
    ReplaceSelect = "replace_select";
    ReplicaStart = "replica_start";
    ReplicaStop = "replica_stop";
    Reset = "reset";
    Resignal = "resignal";
    Restart = "restart";
    Revoke = "revoke";
    RevokeAll = "revoke_all";
    RevokeRoles = "revoke_roles";
    Rollback = "rollback";
    RollbackToSavepoint = "rollback_to_savepoint";
    Savepoint = "savepoint";
    Select = "select";
    SetOption = "set_option";
    SetPassword = "set_password";
    SetRole = "set_role";
    ShowBinaryLogStatus = "show_binary_log_status";
    ShowBinlogEvents = "show_binlog_events";
    ShowBinlogs = "show_binlogs";
    ShowCharsets = "show_charsets";
    ShowCollations = "show_collations";
    ShowCreateDb = "show_create_db";
    ShowCreateEvent = "show_create_event";
    ShowCreateFunc = "show_create_func";
    ShowCreateProc = "show_create_proc";
    ShowCreateTable = "show_create_table";
    ShowCreateTrigger = "show_create_trigger";
    ShowCreateUser = "show_create_user";
    ShowDatabases = "show_databases";
    ShowEngineLogs = "show_engine_logs";
    ShowEngineMutex = "show_engine_mutex";
    ShowEngineStatus = "show_engine_status";
    ShowErrors = "show_errors";
    ShowEvents = "show_events";
    ShowFields = "show_fields";
    ShowFunctionCode = "show_function_code";
    ShowFunctionStatus = "show_function_status";
    ShowGrants = "show_grants";
    ShowKeys = "show_keys";
    ShowOpenTables = "show_open_tables";
    ShowParseTree = "show_parse_tree";
    ShowPlugins = "show_plugins";
    ShowPrivileges = "show_privileges";
    ShowProcedureCode = "show_procedure_code";
    ShowProcedureStatus = "show_procedure_status";
    ShowProcesslist = "show_processlist";
    ShowProfile = "show_profile";
    ShowProfiles = "show_profiles";
    ShowRelaylogEvents = "show_relaylog_events";
    ShowReplicaStatus = "show_replica_status";
    ShowReplicas = "show_replicas";
    ShowStatus = "show_status";
    ShowStorageEngines = "show_storage_engines";
    ShowTableStatus = "show_table_status";
    ShowTables = "show_tables";
    ShowTriggers = "show_triggers";
    ShowVariables = "show_variables";
    ShowWarnings = "show_warnings";
    Shutdown = "shutdown";
    Signal = "signal";
    Truncate = "truncate";
    UninstallComponent = "uninstall_component";
    UninstallPlugin = "uninstall_plugin";
    UnlockInstance = "unlock_instance";
    UnlockTables = "unlock_tables";
    Update = "update";
    UpdateMulti = "update_multi";
    XaCommit = "xa_commit";
    XaEnd = "xa_end";
    XaPrepare = "xa_prepare";
    XaRecover = "xa_recover";
    XaRollback = "xa_rollback";
    XaStart = "xa_start";
}
