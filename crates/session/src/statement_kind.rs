//! What follows from the class of a statement: locks that stop it, implicit commits, and where it is refused.

use squall_parser::ast::{
    Backup, MaintenanceKind, Set, SetItem, Statement, StatementClass, Transaction, VariableScope,
};
use squall_types::{ErrorCode, SqlError, SqlResult};

/// Definitions of objects outside the catalog, and statements that rewrite tables: a global read lock and a backup lock also stop
/// them.
pub(crate) fn is_held_up_by_locks(statement: &Statement) -> bool {
    if let Statement::TableMaintenance(maintenance) = statement {
        return matches!(maintenance.kind, MaintenanceKind::Optimize | MaintenanceKind::Repair);
    }
    match statement.traits().class {
        StatementClass::RoutineDefinition
        | StatementClass::EventDefinition
        | StatementClass::ServerDefinition
        | StatementClass::ModuleDefinition
        | StatementClass::Account => true,
        StatementClass::Rows
        | StatementClass::Definition
        | StatementClass::Transaction
        | StatementClass::DynamicSql
        | StatementClass::Program
        | StatementClass::Session
        | StatementClass::Information
        | StatementClass::Administration
        | StatementClass::Unsupported => false,
    }
}

/// Statements that end the open transaction first.
pub(crate) fn commits_first(statement: &Statement) -> bool {
    match statement {
        // TEMPORARY tables are the session's own business.
        Statement::CreateTable(create) => !create.temporary,
        Statement::DropTable(drop) => !drop.temporary,
        Statement::LockTables(_) | Statement::Flush(_) | Statement::Backup(_) => true,
        Statement::CacheIndex { .. } | Statement::LoadIndex { .. } => true,
        Statement::TableMaintenance(maintenance) => maintenance.kind != MaintenanceKind::Checksum,
        other => never_read_only(other),
    }
}

/// Whether a statement ends the open transaction, or begins another.
pub(crate) fn ends_transaction(statement: &Statement) -> bool {
    match statement {
        Statement::Transaction(transaction) => !matches!(
            transaction,
            Transaction::Savepoint(_) | Transaction::RollbackTo(_) | Transaction::ReleaseSavepoint(_)
        ),
        other => commits_first(other),
    }
}

/// The name of statements that run texts, in errors.
pub(crate) const DYNAMIC_SQL: &str = "Dynamic SQL";

/// Refuses statements that a stored function or trigger may not run, directly or by a call, because it is inside another statement
/// and its transaction (1336, 1422).
pub(crate) fn refused_in_function(statement: &Statement) -> SqlResult<()> {
    let refused = |what: &str| Err(SqlError::new(ErrorCode::NotAllowedInFunctionOrTrigger, &[&what]));
    match statement {
        statement if statement.traits().class == StatementClass::DynamicSql => refused(DYNAMIC_SQL),
        Statement::Flush(_) => refused("FLUSH"),
        Statement::Backup(_) => refused("BACKUP"),
        Statement::Reset(_) => refused("RESET"),
        Statement::UnlockTables => refused("UNLOCK TABLES"),
        Statement::LockInstance | Statement::UnlockInstance => refused("LOCK INSTANCE"),
        Statement::Install(_) | Statement::Uninstall(_) => {
            Err(SqlError::new(ErrorCode::CommitNotAllowedInFunctionOrTrigger, &[]))
        }
        statement if ends_transaction(statement) => {
            Err(SqlError::new(ErrorCode::CommitNotAllowedInFunctionOrTrigger, &[]))
        }
        _ => Ok(()),
    }
}

/// Refuses statements with a result set in a stored `function` or `trigger` (1415).
pub(crate) fn refused_for_its_rows(statement: &Statement, of: &str) -> SqlResult<()> {
    let gives_rows = match statement {
        Statement::Query(query) => query.into.is_none(),
        Statement::Show(_)
        | Statement::Explain(_)
        | Statement::DescribeTable(_)
        | Statement::TableMaintenance(_)
        | Statement::Backup(Backup::Server { .. })
        | Statement::CacheIndex { .. }
        | Statement::LoadIndex { .. } => true,
        _ => false,
    };
    match gives_rows {
        true => Err(SqlError::new(ErrorCode::SpNoResultSet, &[&of])),
        false => Ok(()),
    }
}

/// Statements about databases, tables, keys, views and triggers.
pub(crate) fn is_definition(statement: &Statement) -> bool {
    statement.traits().class == StatementClass::Definition
}

/// Statements about names of other servers.
pub(crate) fn is_server_definition(statement: &Statement) -> bool {
    statement.traits().class == StatementClass::ServerDefinition
}

/// Statements about objects that modules keep.
pub(crate) fn is_module_definition(statement: &Statement) -> bool {
    statement.traits().class == StatementClass::ModuleDefinition
}

/// Statements about stored procedures and functions.
pub(crate) fn is_routine_definition(statement: &Statement) -> bool {
    statement.traits().class == StatementClass::RoutineDefinition
}

/// Statements that a READ ONLY transaction refuses for all objects: definitions, also of TEMPORARY tables, accounts, events, and
/// OPTIMIZE and REPAIR TABLE. Changes of rows are refused by the tables that they are made in.
pub(crate) fn never_read_only(statement: &Statement) -> bool {
    is_definition(statement) || is_held_up_by_locks(statement)
}

/// Statements that count as updates of their account (MAX_UPDATES_PER_HOUR): they change rows, definitions or accounts. What a program
/// changes does not count, as in MySQL.
pub(crate) fn counts_as_update(statement: &Statement) -> bool {
    match statement {
        Statement::Insert(_) | Statement::Update(_) | Statement::Delete(_) | Statement::LoadData(_) => true,
        Statement::Set(Set::Statement { statement, .. }) => counts_as_update(statement),
        other => never_read_only(other),
    }
}

/// Statements that change what other sessions see or do, though neither rows nor definitions. A READ ONLY transaction runs them, as in
/// MySQL; a session that may change nothing does not.
pub(crate) fn changes_server(statement: &Statement) -> bool {
    let is_of_server = |scope: Option<VariableScope>| scope.is_some_and(|scope| scope != VariableScope::Session);
    let sets_server = |item: &SetItem| match item {
        SetItem::System { variable, .. } => variable.prefix.is_some() || is_of_server(variable.scope),
        _ => false,
    };
    match statement {
        Statement::Set(Set::Items(items) | Set::Statement { items, .. }) => items.iter().any(sets_server),
        Statement::Set(Set::Transaction { scope, .. }) => is_of_server(*scope),
        // A branch may be another session's.
        Statement::Transaction(Transaction::Xa(_)) => true,
        statement => statement.traits().class == StatementClass::Administration,
    }
}
