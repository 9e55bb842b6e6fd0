//! SHOW.

use super::{AccountName, Expr, Ident, Limit, ObjectName, VariableScope};

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
