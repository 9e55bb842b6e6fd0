//! Kinds of statements, by the names that performance_schema and SHOW STATUS have for them.

use squall_parser::ast::{
    Backup, DeleteTarget, EngineInformation, Grant, Handler, InsertSource, Install, MaintenanceKind, Replication,
    Revoke, Set, Show, Statement, TableReference, Transaction, Uninstall, Xa,
};
use std::sync::atomic::{AtomicU64, Ordering};

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
                &[OTHER, PREPARE, $(concat!("statement/sql/", $name),)*];

            /// The event of performance_schema.
            pub fn event_name(self) -> &'static str {
                match self {
                    $(StatementKind::$kind => concat!("statement/sql/", $name),)*
                    StatementKind::Other => OTHER,
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

/// A command of the protocol that prepares a statement.
pub const PREPARE: &str = "statement/com/Prepare";
/// The event of statements without a name of their own.
const OTHER: &str = "statement/abstract/Query";

/// Status variables of what never happens here, be it that no grammar takes the statement, or that a prepared statement is not prepared
/// anew but planned anew. Monitoring asks for them.
pub const NEVER_COUNTED: &[&str] = &[
    "Com_alter_instance",
    "Com_alter_resource_group",
    "Com_alter_tablespace",
    "Com_clone",
    "Com_create_resource_group",
    "Com_create_spatial_reference_system",
    "Com_drop_resource_group",
    "Com_drop_spatial_reference_system",
    "Com_import",
    "Com_set_resource_group",
    "Com_stmt_reprepare",
];

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

/// Whether statements of this kind end with rows.
pub fn gives_rows(event: &str) -> bool {
    let Some(kind) = event.strip_prefix("statement/sql/") else { return false };
    kind.starts_with("show_")
        || ["select", "explain_other", "analyze", "check", "checksum", "optimize", "repair", "help"].contains(&kind)
}

impl StatementKind {
    /// The kind of a statement.
    pub fn of(statement: &Statement) -> StatementKind {
        use StatementKind as K;
        match statement {
            Statement::Query(_) => K::Select,
            Statement::Insert(insert) => match (insert.replace, matches!(insert.source, InsertSource::Query(_))) {
                (false, false) => K::Insert,
                (false, true) => K::InsertSelect,
                (true, false) => K::Replace,
                (true, true) => K::ReplaceSelect,
            },
            Statement::Update(update) => match &update.tables[..] {
                [TableReference::Table(_)] => K::Update,
                _ => K::UpdateMulti,
            },
            Statement::Delete(delete) => match delete.target {
                DeleteTarget::Single { .. } => K::Delete,
                DeleteTarget::Multiple { .. } => K::DeleteMulti,
            },
            Statement::LoadData(_) => K::Load,
            Statement::Do(_) => K::Do,
            Statement::Call(_) => K::CallProcedure,
            Statement::Handler(handler) => match **handler {
                Handler::Open { .. } => K::HaOpen,
                Handler::Read { .. } => K::HaRead,
                Handler::Close { .. } => K::HaClose,
            },
            Statement::Transaction(transaction) => of_transaction(transaction),
            Statement::LockTables(_) => K::LockTables,
            Statement::UnlockTables => K::UnlockTables,
            Statement::LockInstance | Statement::Backup(Backup::Stage(_) | Backup::Lock(_)) => K::LockInstance,
            Statement::UnlockInstance | Statement::Backup(Backup::Unlock) => K::UnlockInstance,
            Statement::Set(set) => match set {
                Set::Password(_) => K::SetPassword,
                Set::Role(_) => K::SetRole,
                Set::DefaultRole(_) => K::AlterUserDefaultRole,
                _ => K::SetOption,
            },
            Statement::Use(_) => K::ChangeDb,
            Statement::Show(show) => of_show(show),
            Statement::Explain(_) => K::ExplainOther,
            Statement::DescribeTable(_) => K::ShowFields,
            Statement::Help(_) => K::Help,
            Statement::Prepare(_) => K::PrepareSql,
            Statement::Execute(_) | Statement::ExecuteImmediate(_) | Statement::ExecuteText(_) => K::ExecuteSql,
            Statement::Deallocate(_) => K::DeallocSql,
            Statement::Empty => K::EmptyQuery,
            Statement::GetDiagnostics(_) => K::GetDiagnostics,
            Statement::Signal(signal) if signal.resignal => K::Resignal,
            Statement::Signal(_) => K::Signal,
            other => of_definition(other).or_else(|| of_administration(other)).unwrap_or(K::Other),
        }
    }
}

/// The kind of a statement about objects or accounts.
fn of_definition(statement: &Statement) -> Option<StatementKind> {
    use StatementKind as K;
    Some(match statement {
        Statement::CreateDatabase(_) => K::CreateDb,
        Statement::AlterDatabase(_) => K::AlterDb,
        Statement::DropDatabase(_) => K::DropDb,
        Statement::CreateTable(_) => K::CreateTable,
        Statement::AlterTable(_) => K::AlterTable,
        Statement::DropTable(_) => K::DropTable,
        Statement::TruncateTable(_) => K::Truncate,
        Statement::RenameTable(_) => K::RenameTable,
        Statement::CreateIndex(_) => K::CreateIndex,
        Statement::DropIndex(_) => K::DropIndex,
        Statement::CreateView(_) => K::CreateView,
        Statement::DropView(_) => K::DropView,
        Statement::CreateServer(_) => K::CreateServer,
        Statement::AlterServer { .. } => K::AlterServer,
        Statement::DropServer { .. } => K::DropServer,
        Statement::CreateProcedure(_) => K::CreateProcedure,
        Statement::CreateFunction(_) => K::CreateFunction,
        Statement::CreateLoadableFunction(_) => K::CreateUdf,
        Statement::AlterProcedure(_) => K::AlterProcedure,
        Statement::AlterFunction(_) => K::AlterFunction,
        Statement::DropProcedure(_) => K::DropProcedure,
        Statement::DropFunction(_) => K::DropFunction,
        Statement::CreateTrigger(_) => K::CreateTrigger,
        Statement::DropTrigger(_) => K::DropTrigger,
        Statement::CreateEvent(event) if event.alter => K::AlterEvent,
        Statement::CreateEvent(_) => K::CreateEvent,
        Statement::DropEvent(_) => K::DropEvent,
        Statement::CreateUser(user) if user.alter => K::AlterUser,
        Statement::CreateUser(_) => K::CreateUser,
        Statement::DropUser(_) => K::DropUser,
        Statement::RenameUser(_) => K::RenameUser,
        Statement::CreateRole(_) => K::CreateRole,
        Statement::DropRole(_) => K::DropRole,
        Statement::Grant(grant) => match **grant {
            Grant::Roles { .. } => K::GrantRoles,
            _ => K::Grant,
        },
        Statement::Revoke(revoke) => match **revoke {
            Revoke::Roles { .. } => K::RevokeRoles,
            Revoke::All { .. } => K::RevokeAll,
            _ => K::Revoke,
        },
        _ => return None,
    })
}

/// The kind of a statement about the server.
fn of_administration(statement: &Statement) -> Option<StatementKind> {
    use StatementKind as K;
    Some(match statement {
        Statement::Kill(_) => K::Kill,
        Statement::Flush(_) => K::Flush,
        Statement::Reset(_) => K::Reset,
        Statement::TableMaintenance(maintenance) => match maintenance.kind {
            MaintenanceKind::Analyze => K::Analyze,
            MaintenanceKind::Check => K::Check,
            MaintenanceKind::Checksum => K::Checksum,
            MaintenanceKind::Optimize => K::Optimize,
            MaintenanceKind::Repair => K::Repair,
        },
        Statement::CacheIndex { .. } => K::AssignToKeycache,
        Statement::LoadIndex { .. } => K::PreloadKeys,
        Statement::Install(install) => match **install {
            Install::Components { .. } => K::InstallComponent,
            _ => K::InstallPlugin,
        },
        Statement::Uninstall(Uninstall::Components(_)) => K::UninstallComponent,
        Statement::Uninstall(_) => K::UninstallPlugin,
        Statement::Replication(replication) => match **replication {
            Replication::PurgeTo(_) => K::Purge,
            Replication::PurgeBefore(_) => K::PurgeBeforeDate,
            Replication::ChangeSource { .. } => K::ChangeReplicationSource,
            Replication::ChangeFilter { .. } => K::ChangeReplFilter,
            Replication::StartReplica { .. } => K::ReplicaStart,
            Replication::StopReplica { .. } => K::ReplicaStop,
            Replication::StartGroup { .. } => K::GroupReplicationStart,
            Replication::StopGroup => K::GroupReplicationStop,
            Replication::Binlog(_) => K::Binlog,
        },
        Statement::Shutdown => K::Shutdown,
        Statement::Restart => K::Restart,
        _ => return None,
    })
}

fn of_transaction(transaction: &Transaction) -> StatementKind {
    use StatementKind as K;
    match transaction {
        Transaction::Begin { .. } => K::Begin,
        Transaction::Commit(_) => K::Commit,
        Transaction::Rollback(_) => K::Rollback,
        Transaction::Savepoint(_) => K::Savepoint,
        Transaction::RollbackTo(_) => K::RollbackToSavepoint,
        Transaction::ReleaseSavepoint(_) => K::ReleaseSavepoint,
        Transaction::Xa(xa) => match xa {
            Xa::Start { .. } => K::XaStart,
            Xa::End { .. } => K::XaEnd,
            Xa::Prepare(_) => K::XaPrepare,
            Xa::Commit { .. } => K::XaCommit,
            Xa::Rollback(_) => K::XaRollback,
            Xa::Recover { .. } => K::XaRecover,
        },
    }
}

fn of_show(show: &Show) -> StatementKind {
    use StatementKind as K;
    match show {
        Show::BinaryLogs => K::ShowBinlogs,
        Show::BinaryLogStatus => K::ShowBinaryLogStatus,
        Show::BinlogEvents { .. } => K::ShowBinlogEvents,
        Show::CharacterSets(_) => K::ShowCharsets,
        Show::Collations(_) => K::ShowCollations,
        Show::Columns { .. } => K::ShowFields,
        Show::CreateDatabase { .. } => K::ShowCreateDb,
        Show::CreateEvent(_) => K::ShowCreateEvent,
        Show::CreateFunction(_) => K::ShowCreateFunc,
        Show::CreateProcedure(_) => K::ShowCreateProc,
        Show::CreateTable(_) | Show::CreateView(_) => K::ShowCreateTable,
        Show::CreateTrigger(_) => K::ShowCreateTrigger,
        Show::CreateUser(_) => K::ShowCreateUser,
        Show::Databases(_) => K::ShowDatabases,
        Show::Engine { what, .. } => match what {
            EngineInformation::Status => K::ShowEngineStatus,
            EngineInformation::Mutex => K::ShowEngineMutex,
            EngineInformation::Logs => K::ShowEngineLogs,
        },
        Show::Engines => K::ShowStorageEngines,
        Show::Errors(_) | Show::ErrorCount => K::ShowErrors,
        Show::Events { .. } => K::ShowEvents,
        Show::FunctionCode(_) => K::ShowFunctionCode,
        Show::FunctionStatus(_) => K::ShowFunctionStatus,
        Show::Grants { .. } => K::ShowGrants,
        Show::Indexes { .. } => K::ShowKeys,
        Show::OpenTables { .. } => K::ShowOpenTables,
        Show::ParseTree(_) => K::ShowParseTree,
        Show::Plugins { .. } => K::ShowPlugins,
        Show::Privileges => K::ShowPrivileges,
        Show::ProcedureCode(_) => K::ShowProcedureCode,
        Show::ProcedureStatus(_) => K::ShowProcedureStatus,
        Show::ProcessList { .. } => K::ShowProcesslist,
        Show::Profile { .. } => K::ShowProfile,
        Show::Profiles => K::ShowProfiles,
        Show::RelaylogEvents { .. } => K::ShowRelaylogEvents,
        Show::ReplicaStatus { .. } => K::ShowReplicaStatus,
        Show::Replicas => K::ShowReplicas,
        Show::Status { .. } => K::ShowStatus,
        Show::TableStatus { .. } => K::ShowTableStatus,
        Show::Tables { .. } => K::ShowTables,
        Show::Triggers { .. } => K::ShowTriggers,
        Show::Variables { .. } => K::ShowVariables,
        Show::Warnings(_) | Show::WarningCount => K::ShowWarnings,
        // MariaDB's.
        _ => K::Other,
    }
}

/// How many statements of each kind a session has begun.
#[derive(Debug)]
pub struct StatementCounters([AtomicU64; StatementKind::ALL.len()]);

impl Default for StatementCounters {
    fn default() -> Self {
        Self([const { AtomicU64::new(0) }; StatementKind::ALL.len()])
    }
}

impl StatementCounters {
    /// Counts one; by the session itself, which is the only writer.
    #[inline]
    pub fn count(&self, kind: StatementKind) {
        let counter = &self.0[kind as usize];
        counter.store(counter.load(Ordering::Relaxed).wrapping_add(1), Ordering::Relaxed);
    }

    /// Status variables and their values.
    pub fn values(&self) -> impl Iterator<Item = (&'static str, u64)> {
        let counted = StatementKind::ALL.iter().zip(&self.0);
        let counted = counted.filter_map(|(kind, count)| Some((kind.status_name()?, count.load(Ordering::Relaxed))));
        counted.chain(NEVER_COUNTED.iter().map(|name| (*name, 0)))
    }

    /// Adds all counters to others.
    pub fn add_to(&self, sum: &StatementCounters) {
        for (counter, sum) in self.0.iter().zip(&sum.0) {
            sum.fetch_add(counter.load(Ordering::Relaxed), Ordering::Relaxed);
        }
    }

    /// Sets all counters to 0.
    pub fn clear(&self) {
        self.0.iter().for_each(|counter| counter.store(0, Ordering::Relaxed));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_in_order_and_each_kind_has_its_own_counter() {
        assert!(StatementKind::EVENT_NAMES.is_sorted());
        let counters = StatementCounters::default();
        for (place, kind) in StatementKind::ALL.iter().enumerate() {
            assert_eq!(*kind as usize, place);
            counters.count(*kind);
        }
        let counted = counters.values().filter(|(_, count)| *count == 1).count();
        // Texts with syntax errors, and statements without a name, have no status variable.
        assert_eq!(counted, StatementKind::ALL.len() - 2);
    }
}
