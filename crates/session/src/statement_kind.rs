//! Kinds of statements: definitions, and statements that end transactions.

use squall_parser::ast::{MaintenanceKind, Set, Statement, Transaction};
use squall_types::{ErrorCode, SqlError, SqlResult};

/// Definitions of objects outside the catalog, and statements that rewrite tables: a global read lock and a backup lock also stop
/// them.
pub(crate) fn is_held_up_by_locks(statement: &Statement) -> bool {
    match statement {
        Statement::Set(set) => matches!(set, Set::Password(_) | Set::DefaultRole(_)),
        Statement::CreateEvent(_)
        | Statement::DropEvent(_)
        | Statement::CreateUser(_)
        | Statement::DropUser(_)
        | Statement::RenameUser(_)
        | Statement::CreateRole(_)
        | Statement::DropRole(_)
        | Statement::Grant(_)
        | Statement::Revoke(_) => true,
        Statement::TableMaintenance(maintenance) => {
            matches!(maintenance.kind, MaintenanceKind::Optimize | MaintenanceKind::Repair)
        }
        other => is_routine_definition(other) || is_server_definition(other) || is_module_definition(other),
    }
}

/// Statements that end the open transaction first.
pub(crate) fn commits_first(statement: &Statement) -> bool {
    match statement {
        // TEMPORARY tables are the session's own business.
        Statement::CreateTable(create) => !create.temporary,
        Statement::DropTable(drop) => !drop.temporary,
        Statement::LockTables(_) | Statement::Flush(_) | Statement::TableMaintenance(_) | Statement::Backup(_) => true,
        other => is_definition(other) || is_held_up_by_locks(other),
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
        Statement::Prepare(_)
        | Statement::Execute(_)
        | Statement::ExecuteImmediate(_)
        | Statement::ExecuteText(_)
        | Statement::Deallocate(_) => refused(DYNAMIC_SQL),
        Statement::Flush(_) => refused("FLUSH"),
        Statement::Backup(_) => refused("BACKUP"),
        Statement::Reset(_) => refused("RESET"),
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
        Statement::Show(_) | Statement::Explain(_) | Statement::DescribeTable(_) | Statement::TableMaintenance(_) => {
            true
        }
        _ => false,
    };
    match gives_rows {
        true => Err(SqlError::new(ErrorCode::SpNoResultSet, &[&of])),
        false => Ok(()),
    }
}

/// Statements about databases, tables, keys, views and triggers.
pub(crate) fn is_definition(statement: &Statement) -> bool {
    matches!(
        statement,
        Statement::CreateDatabase(_)
            | Statement::AlterDatabase(_)
            | Statement::DropDatabase(_)
            | Statement::CreateTable(_)
            | Statement::AlterTable(_)
            | Statement::DropTable(_)
            | Statement::TruncateTable(_)
            | Statement::RenameTable(_)
            | Statement::CreateIndex(_)
            | Statement::DropIndex(_)
            | Statement::CreateView(_)
            | Statement::DropView(_)
            | Statement::CreateTrigger(_)
            | Statement::DropTrigger(_)
    )
}

/// Statements about names of other servers.
pub(crate) fn is_server_definition(statement: &Statement) -> bool {
    matches!(statement, Statement::CreateServer(_) | Statement::AlterServer { .. } | Statement::DropServer { .. })
}

/// Statements about objects that modules keep.
pub(crate) fn is_module_definition(statement: &Statement) -> bool {
    matches!(
        statement,
        Statement::CreateHttpEndpoint { .. }
            | Statement::AlterHttpEndpoint(_)
            | Statement::DropHttpEndpoint { .. }
            | Statement::CreateApiToken(_)
            | Statement::DropApiToken { .. }
    )
}

/// Statements about stored procedures and functions.
pub(crate) fn is_routine_definition(statement: &Statement) -> bool {
    matches!(
        statement,
        Statement::CreateProcedure(_)
            | Statement::CreateFunction(_)
            | Statement::AlterProcedure(_)
            | Statement::AlterFunction(_)
            | Statement::DropProcedure(_)
            | Statement::DropFunction(_)
    )
}

/// Statements that a READ ONLY transaction refuses for all objects: definitions, also of TEMPORARY tables, accounts, events, and
/// OPTIMIZE and REPAIR TABLE. Changes of rows are refused by the tables that they are made in.
pub(crate) fn never_read_only(statement: &Statement) -> bool {
    match statement {
        Statement::TableMaintenance(maintenance) => {
            matches!(maintenance.kind, MaintenanceKind::Optimize | MaintenanceKind::Repair)
        }
        other => is_definition(other) || is_held_up_by_locks(other),
    }
}
