//! Transactions and locks.

use super::{Ident, ObjectName, SqlString, StatementKind};

#[derive(Clone, Debug, PartialEq)]
pub enum Transaction {
    /// `BEGIN [WORK]`, `START TRANSACTION`.
    Begin {
        consistent_snapshot: bool,
        access: Option<AccessMode>,
    },
    Commit(Completion),
    Rollback(Completion),
    Savepoint(Ident),
    RollbackTo(Ident),
    ReleaseSavepoint(Ident),
    Xa(Xa),
}

impl Transaction {
    /// How MySQL counts it.
    pub(super) fn kind(&self) -> StatementKind {
        use StatementKind as K;
        match self {
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
}

/// `None` follows the variable completion_type.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Completion {
    pub chain: Option<bool>,
    pub release: Option<bool>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AccessMode {
    ReadOnly,
    ReadWrite,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TransactionCharacteristics {
    pub isolation: Option<IsolationLevel>,
    pub access: Option<AccessMode>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IsolationLevel {
    ReadUncommitted,
    ReadCommitted,
    RepeatableRead,
    Serializable,
}

#[derive(Clone, Debug, PartialEq)]
pub enum Xa {
    Start { xid: Xid, join: Option<XaJoin> },
    End { xid: Xid, suspend: Option<XaSuspend> },
    Prepare(Xid),
    Commit { xid: Xid, one_phase: bool },
    Rollback(Xid),
    Recover { convert_xid: bool },
}

#[derive(Clone, Debug, PartialEq)]
pub struct Xid {
    pub global: SqlString,
    pub branch: SqlString,
    /// 1 when not given.
    pub format: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum XaJoin {
    Join,
    Resume,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum XaSuspend {
    Suspend,
    ForMigrate,
}

/// Statements about backups: one that makes a backup, and MariaDB's for programs that do.
#[derive(Clone, Debug, PartialEq)]
pub enum Backup {
    /// `BACKUP SERVER TO 'directory'`.
    Server { directory: Box<str> },
    /// `BACKUP STAGE name`; the session knows the names.
    Stage(Ident),
    /// `BACKUP LOCK table`.
    Lock(ObjectName),
    /// `BACKUP UNLOCK`.
    Unlock,
}

#[derive(Clone, Debug, PartialEq)]
pub struct LockTables {
    pub locks: Vec<TableLock>,
    /// MariaDB's `WAIT n` and `NOWAIT`.
    pub wait: super::LockWait,
}

#[derive(Clone, Debug, PartialEq)]
pub struct TableLock {
    pub table: ObjectName,
    pub alias: Option<Ident>,
    pub kind: TableLockKind,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TableLockKind {
    Read,
    ReadLocal,
    Write,
    LowPriorityWrite,
}
