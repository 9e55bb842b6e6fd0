//! The statement: the root of a tree.

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
    /// MariaDB's `BACKUP STAGE …`, `BACKUP LOCK table` and `BACKUP UNLOCK`.
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
