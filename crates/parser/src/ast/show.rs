//! SHOW.

use super::{AccountName, Expr, Ident, Limit, ObjectName, StatementKind, VariableScope};

/// `LIKE 'pattern'` or `WHERE condition`.
#[derive(Clone, Debug, PartialEq)]
pub enum ShowFilter {
    Like(Box<str>),
    Where(Expr),
}

#[derive(Clone, Debug, PartialEq)]
pub enum Show {
    BinaryLogs,
    /// `SHOW BINARY LOG STATUS`, `SHOW MASTER STATUS`.
    BinaryLogStatus,
    BinlogEvents {
        log: Option<Box<str>>,
        position: Option<u64>,
        limit: Option<Limit>,
    },
    CharacterSets(Option<ShowFilter>),
    Collations(Option<ShowFilter>),
    Columns {
        extended: bool,
        full: bool,
        table: ObjectName,
        filter: Option<ShowFilter>,
    },
    CreateDatabase {
        if_not_exists: bool,
        name: Ident,
    },
    CreateEvent(ObjectName),
    CreateFunction(ObjectName),
    /// SHOW CREATE HTTP ENDPOINT.
    CreateHttpEndpoint(Ident),
    CreateProcedure(ObjectName),
    CreateSequence(ObjectName),
    CreateTable(ObjectName),
    CreateTrigger(ObjectName),
    CreateUser(Option<AccountName>),
    CreateView(ObjectName),
    Databases(Option<ShowFilter>),
    /// `SHOW ENGINE name STATUS|MUTEX|LOGS`.
    Engine {
        name: Ident,
        what: EngineInformation,
    },
    Engines,
    Errors(Option<Limit>),
    ErrorCount,
    Events {
        schema: Option<Ident>,
        filter: Option<ShowFilter>,
    },
    FunctionCode(ObjectName),
    FunctionStatus(Option<ShowFilter>),
    Grants {
        user: Option<AccountName>,
        using: Vec<AccountName>,
    },
    Indexes {
        extended: bool,
        table: ObjectName,
        filter: Option<ShowFilter>,
    },
    OpenTables {
        schema: Option<Ident>,
        filter: Option<ShowFilter>,
    },
    /// `SONAME` is MariaDB's.
    Plugins {
        soname: Option<ShowFilter>,
        all: bool,
    },
    Privileges,
    ProcedureCode(ObjectName),
    ProcedureStatus(Option<ShowFilter>),
    ProcessList {
        full: bool,
    },
    Profile {
        types: Vec<ProfileType>,
        query: Option<u64>,
        limit: Option<Limit>,
    },
    Profiles,
    RelaylogEvents {
        log: Option<Box<str>>,
        position: Option<u64>,
        limit: Option<Limit>,
        channel: Option<Box<str>>,
    },
    Replicas,
    ReplicaStatus {
        channel: Option<Box<str>>,
        all: bool,
    },
    Status {
        scope: Option<VariableScope>,
        filter: Option<ShowFilter>,
    },
    TableStatus {
        schema: Option<Ident>,
        filter: Option<ShowFilter>,
    },
    Tables {
        extended: bool,
        full: bool,
        schema: Option<Ident>,
        filter: Option<ShowFilter>,
    },
    Triggers {
        schema: Option<Ident>,
        filter: Option<ShowFilter>,
    },
    Variables {
        scope: Option<VariableScope>,
        filter: Option<ShowFilter>,
    },
    Warnings(Option<Limit>),
    WarningCount,
    /// `SHOW PARSE_TREE statement`.
    ParseTree(Box<super::Statement>),
    /// MariaDB's.
    Authors,
    Contributors,
    /// SHOW API TOKENS.
    ApiTokens(Option<ShowFilter>),
    /// SHOW HTTP ENDPOINTS.
    HttpEndpoints(Option<ShowFilter>),
    /// MariaDB's `SHOW PACKAGE|USER_STATISTICS|…`: an information_schema table by its name.
    Information {
        name: Ident,
        filter: Option<ShowFilter>,
    },
    /// MariaDB's `SHOW EXPLAIN FOR id`.
    ExplainFor(Expr),
}

impl Show {
    /// How MySQL counts it.
    pub(super) fn kind(&self) -> StatementKind {
        use StatementKind as K;
        match self {
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
            Show::CreateHttpEndpoint(_)
            | Show::CreateSequence(_)
            | Show::Authors
            | Show::Contributors
            | Show::ApiTokens(_)
            | Show::HttpEndpoints(_)
            | Show::Information { .. }
            | Show::ExplainFor(_) => K::Other,
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EngineInformation {
    Status,
    Mutex,
    Logs,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProfileType {
    All,
    BlockIo,
    ContextSwitches,
    Cpu,
    Ipc,
    Memory,
    PageFaults,
    Source,
    Swaps,
}
