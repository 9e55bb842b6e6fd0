//! Administration, explanation, prepared statements and diagnostics.

use super::{
    Expr, Ident, ObjectName, PartitionNames, SqlString, Statement, StatementKind, SystemVariable, VariableTarget,
};

/// EXPLAIN, DESCRIBE, DESC and MariaDB's ANALYZE of a statement.
#[derive(Clone, Debug, PartialEq)]
pub struct Explain {
    /// `EXPLAIN ANALYZE`, and MariaDB's `ANALYZE statement`.
    pub analyze: bool,
    pub extended: bool,
    pub partitions: bool,
    /// `FORMAT = TRADITIONAL|JSON|TREE`, upper case.
    pub format: Option<Box<str>>,
    /// `INTO @var`.
    pub into: Option<Box<str>>,
    /// `FOR SCHEMA name`.
    pub schema: Option<Ident>,
    pub target: ExplainTarget,
}

#[derive(Clone, Debug, PartialEq)]
pub enum ExplainTarget {
    Statement(Box<Statement>),
    Connection(Expr),
}

/// `DESCRIBE table [column | 'pattern']`.
#[derive(Clone, Debug, PartialEq)]
pub struct DescribeTable {
    pub table: ObjectName,
    /// A pattern as of LIKE; a column name is one too.
    pub column: Option<Box<str>>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Kill {
    pub kind: KillKind,
    /// MariaDB's HARD and SOFT; HARD is the default.
    pub soft: bool,
    pub target: KillTarget,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KillKind {
    Connection,
    Query,
}

#[derive(Clone, Debug, PartialEq)]
pub enum KillTarget {
    /// A connection's id; with `query_id` (MariaDB's `KILL QUERY ID n`) a statement's.
    Id { id: Expr, query_id: bool },
    /// MariaDB's `KILL USER account`.
    User(super::AccountName),
}

#[derive(Clone, Debug, PartialEq)]
pub struct Flush {
    /// `NO_WRITE_TO_BINLOG`, `LOCAL`.
    pub local: bool,
    pub targets: Vec<FlushTarget>,
}

#[derive(Clone, Debug, PartialEq)]
pub enum FlushTarget {
    BinaryLogs,
    EngineLogs,
    ErrorLogs,
    GeneralLogs,
    RelayLogs {
        channel: Option<Box<str>>,
    },
    SlowLogs,
    Hosts,
    Logs,
    OptimizerCosts,
    Privileges,
    Status,
    UserResources,
    /// `TABLES [t, …] [WITH READ LOCK | FOR EXPORT]`.
    Tables {
        names: Vec<ObjectName>,
        lock: Option<FlushLock>,
    },
    /// MariaDB's `QUERY CACHE`, `DES_KEY_FILE` and tables of plugins, upper case.
    Other(Box<str>),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FlushLock {
    ReadLock,
    /// MariaDB's `AND DISABLE CHECKPOINT`.
    ReadLockDisableCheckpoint,
    Export,
}

#[derive(Clone, Debug, PartialEq)]
pub enum Reset {
    /// `BINARY LOGS AND GTIDS [TO n]`, `MASTER [TO n]`.
    BinaryLogs {
        to: Option<u64>,
    },
    Replica {
        all: bool,
        channel: Option<Box<str>>,
    },
    QueryCache,
    /// `RESET PERSIST TO VERSION n`: global variables get the values that they had after a change of the history.
    PersistVersion {
        version: u64,
    },
    /// `RESET PERSIST [[IF EXISTS] name]`.
    Persist {
        if_exists: bool,
        variable: Option<SystemVariable>,
    },
}

/// ANALYZE, CHECK, CHECKSUM, OPTIMIZE, REPAIR TABLE.
#[derive(Clone, Debug, PartialEq)]
pub struct TableMaintenance {
    pub kind: MaintenanceKind,
    pub local: bool,
    pub tables: Vec<ObjectName>,
    /// CHECK's FOR UPGRADE, QUICK, FAST, MEDIUM, EXTENDED, CHANGED; REPAIR's QUICK, EXTENDED, USE_FRM,
    /// FORCE; CHECKSUM's QUICK, EXTENDED; upper case.
    pub options: Vec<Box<str>>,
    /// ANALYZE's `UPDATE|DROP HISTOGRAM ON columns`.
    pub histogram: Option<Histogram>,
    /// CHECK VIEW and REPAIR VIEW of MariaDB.
    pub view: bool,
}

/// A table of CACHE INDEX and LOAD INDEX.
#[derive(Clone, Debug, PartialEq)]
pub struct CachedTable {
    pub name: ObjectName,
    pub partitions: Option<PartitionNames>,
    pub indexes: Vec<Ident>,
    /// LOAD INDEX's IGNORE LEAVES.
    pub ignore_leaves: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MaintenanceKind {
    Analyze,
    Check,
    Checksum,
    Optimize,
    Repair,
}

impl MaintenanceKind {
    /// How MySQL counts it.
    pub(super) fn counted_as(&self) -> StatementKind {
        use StatementKind as K;
        match self {
            MaintenanceKind::Analyze => K::Analyze,
            MaintenanceKind::Check => K::Check,
            MaintenanceKind::Checksum => K::Checksum,
            MaintenanceKind::Optimize => K::Optimize,
            MaintenanceKind::Repair => K::Repair,
        }
    }
}

#[derive(Clone, Debug, PartialEq)]
pub struct Histogram {
    /// UPDATE; otherwise DROP.
    pub update: bool,
    pub columns: Vec<Ident>,
    pub buckets: Option<u64>,
    pub data: Option<Box<str>>,
    /// `AUTO UPDATE` is true, `MANUAL UPDATE` false.
    pub automatic: Option<bool>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Prepare {
    pub name: Ident,
    /// A string literal or a user variable (MariaDB: any expression).
    pub source: Expr,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Execute {
    pub name: Ident,
    /// User variables (MariaDB: any expressions).
    pub using: Vec<Expr>,
}

/// `EXECUTE {@variable | 'text'} [USING …] [WITH NO RETURN] [CONCURRENT] [WAIT]`.
#[derive(Clone, Debug, PartialEq)]
pub struct ExecuteText {
    /// A string literal or a user variable.
    pub source: Expr,
    /// Values of the `?` of the text, from its first statement to its last.
    pub using: Vec<Expr>,
    /// `WITH NO RETURN`: several statements, whose results are not sent.
    pub no_return: bool,
    /// `CONCURRENT`: in a session of its own.
    pub concurrent: bool,
    /// `WAIT`: the statement ends when that session has.
    pub wait: bool,
}

/// `EXECUTE IMMEDIATE text`.
#[derive(Clone, Debug, PartialEq)]
pub struct ExecuteImmediate {
    pub source: Expr,
    pub using: Vec<Expr>,
}

#[derive(Clone, Debug, PartialEq)]
pub enum Install {
    Plugin {
        name: Ident,
        library: Box<str>,
    },
    /// MariaDB's `INSTALL SONAME`.
    Library(Box<str>),
    Components {
        names: Vec<Box<str>>,
        settings: Vec<super::SetItem>,
    },
}

impl Install {
    /// How MySQL counts it.
    pub(super) fn kind(&self) -> StatementKind {
        use StatementKind as K;
        match self {
            Install::Components { .. } => K::InstallComponent,
            _ => K::InstallPlugin,
        }
    }
}

#[derive(Clone, Debug, PartialEq)]
pub enum Uninstall {
    Plugin { if_exists: bool, name: Ident },
    Library { if_exists: bool, library: Box<str> },
    Components(Vec<Box<str>>),
}

impl Uninstall {
    /// How MySQL counts it.
    pub(super) fn kind(&self) -> StatementKind {
        use StatementKind as K;
        match self {
            Uninstall::Components(_) => K::UninstallComponent,
            _ => K::UninstallPlugin,
        }
    }
}

/// Replication statements: what they say is kept as words, for the code that carries them out.
#[derive(Clone, Debug, PartialEq)]
pub enum Replication {
    PurgeTo(Box<str>),
    PurgeBefore(Expr),
    /// `CHANGE REPLICATION SOURCE TO`, `CHANGE MASTER TO`: names upper case.
    ChangeSource {
        options: Vec<(Box<str>, ReplicationValue)>,
        channel: Option<Box<str>>,
    },
    /// `CHANGE REPLICATION FILTER`.
    ChangeFilter {
        rules: Vec<(Box<str>, Vec<SqlString>)>,
        channel: Option<Box<str>>,
    },
    StartReplica {
        threads: Vec<Box<str>>,
        until: Vec<(Box<str>, ReplicationValue)>,
        options: Vec<(Box<str>, Box<str>)>,
        channel: Option<Box<str>>,
    },
    StopReplica {
        threads: Vec<Box<str>>,
        channel: Option<Box<str>>,
    },
    StartGroup {
        options: Vec<(Box<str>, Box<str>)>,
    },
    StopGroup,
    /// `BINLOG 'base64'`.
    Binlog(SqlString),
}

impl Replication {
    /// How MySQL counts it.
    pub(super) fn kind(&self) -> StatementKind {
        use StatementKind as K;
        match self {
            Replication::PurgeTo(_) => K::Purge,
            Replication::PurgeBefore(_) => K::PurgeBeforeDate,
            Replication::ChangeSource { .. } => K::ChangeReplicationSource,
            Replication::ChangeFilter { .. } => K::ChangeReplFilter,
            Replication::StartReplica { .. } => K::ReplicaStart,
            Replication::StopReplica { .. } => K::ReplicaStop,
            Replication::StartGroup { .. } => K::GroupReplicationStart,
            Replication::StopGroup => K::GroupReplicationStop,
            Replication::Binlog(_) => K::Binlog,
        }
    }
}

#[derive(Clone, Debug, PartialEq)]
pub enum ReplicationValue {
    Null,
    Number(Box<str>),
    String(SqlString),
    Word(Box<str>),
    List(Vec<ReplicationValue>),
}

/// `GET [CURRENT|STACKED] DIAGNOSTICS`.
#[derive(Clone, Debug, PartialEq)]
pub struct GetDiagnostics {
    pub stacked: bool,
    pub what: DiagnosticsItems,
}

#[derive(Clone, Debug, PartialEq)]
pub enum DiagnosticsItems {
    /// Names are NUMBER and ROW_COUNT.
    Statement(Vec<DiagnosticsItem>),
    Condition {
        number: Expr,
        items: Vec<DiagnosticsItem>,
    },
}

#[derive(Clone, Debug, PartialEq)]
pub struct DiagnosticsItem {
    pub target: VariableTarget,
    /// Upper case.
    pub name: Box<str>,
}

/// SIGNAL and RESIGNAL.
#[derive(Clone, Debug, PartialEq)]
pub struct Signal {
    pub resignal: bool,
    /// `None` for a bare RESIGNAL only.
    pub condition: Option<SignalCondition>,
    /// Upper case names: MESSAGE_TEXT, MYSQL_ERRNO, …
    pub items: Vec<(Box<str>, Expr)>,
}

#[derive(Clone, Debug, PartialEq)]
pub enum SignalCondition {
    SqlState(Box<str>),
    Name(Ident),
}
