//! The names of statements as performance_schema has them.

use squall_parser::ast::{
    DeleteTarget, InsertSource, MaintenanceKind, Set, Show, Statement, TableReference, Transaction,
};

/// A text that no grammar takes.
pub(crate) const ERROR: &str = "statement/sql/error";
/// A query.
pub(crate) const SELECT: &str = "statement/sql/select";
/// What has no name of its own.
const OTHER: &str = "statement/abstract/Query";

/// The name of a statement's kind.
pub(crate) fn of(statement: &Statement) -> &'static str {
    match statement {
        Statement::Query(_) => SELECT,
        Statement::Insert(insert) => match (insert.replace, matches!(insert.source, InsertSource::Query(_))) {
            (false, false) => "statement/sql/insert",
            (false, true) => "statement/sql/insert_select",
            (true, false) => "statement/sql/replace",
            (true, true) => "statement/sql/replace_select",
        },
        Statement::Update(update) => match &update.tables[..] {
            [TableReference::Table(_)] => "statement/sql/update",
            _ => "statement/sql/update_multi",
        },
        Statement::Delete(delete) => match delete.target {
            DeleteTarget::Single { .. } => "statement/sql/delete",
            DeleteTarget::Multiple { .. } => "statement/sql/delete_multi",
        },
        Statement::LoadData(_) => "statement/sql/load",
        Statement::Do(_) => "statement/sql/do",
        Statement::Call(_) => "statement/sql/call_procedure",
        Statement::CreateDatabase(_) => "statement/sql/create_db",
        Statement::AlterDatabase(_) => "statement/sql/alter_db",
        Statement::DropDatabase(_) => "statement/sql/drop_db",
        Statement::CreateTable(_) => "statement/sql/create_table",
        Statement::AlterTable(_) => "statement/sql/alter_table",
        Statement::DropTable(_) => "statement/sql/drop_table",
        Statement::TruncateTable(_) => "statement/sql/truncate",
        Statement::RenameTable(_) => "statement/sql/rename_table",
        Statement::CreateIndex(_) => "statement/sql/create_index",
        Statement::DropIndex(_) => "statement/sql/drop_index",
        Statement::CreateView(_) => "statement/sql/create_view",
        Statement::DropView(_) => "statement/sql/drop_view",
        Statement::CreateEvent(event) if event.alter => "statement/sql/alter_event",
        Statement::CreateEvent(_) => "statement/sql/create_event",
        Statement::DropEvent(_) => "statement/sql/drop_event",
        Statement::CreateUser(user) if user.alter => "statement/sql/alter_user",
        Statement::CreateUser(_) => "statement/sql/create_user",
        Statement::DropUser(_) => "statement/sql/drop_user",
        Statement::RenameUser(_) => "statement/sql/rename_user",
        Statement::CreateRole(_) => "statement/sql/create_role",
        Statement::DropRole(_) => "statement/sql/drop_role",
        Statement::Grant(_) => "statement/sql/grant",
        Statement::Revoke(_) => "statement/sql/revoke",
        Statement::Transaction(transaction) => of_transaction(transaction),
        Statement::LockTables(_) => "statement/sql/lock_tables",
        Statement::UnlockTables => "statement/sql/unlock_tables",
        Statement::Set(set) => match set {
            Set::Password(_) => "statement/sql/set_password",
            Set::Role(_) => "statement/sql/set_role",
            Set::DefaultRole(_) => "statement/sql/alter_user_default_role",
            _ => "statement/sql/set_option",
        },
        Statement::Use(_) => "statement/sql/change_db",
        Statement::Show(show) => of_show(show),
        Statement::Explain(_) => "statement/sql/explain_other",
        Statement::DescribeTable(_) => "statement/sql/show_fields",
        Statement::Help(_) => "statement/sql/help",
        Statement::Prepare(_) => "statement/sql/prepare_sql",
        Statement::Execute(_) | Statement::ExecuteImmediate(_) => "statement/sql/execute_sql",
        Statement::Deallocate(_) => "statement/sql/dealloc_sql",
        Statement::Kill(_) => "statement/sql/kill",
        Statement::Flush(_) => "statement/sql/flush",
        Statement::Reset(_) => "statement/sql/reset",
        Statement::TableMaintenance(maintenance) => match maintenance.kind {
            MaintenanceKind::Analyze => "statement/sql/analyze",
            MaintenanceKind::Check => "statement/sql/check",
            MaintenanceKind::Checksum => "statement/sql/checksum",
            MaintenanceKind::Optimize => "statement/sql/optimize",
            MaintenanceKind::Repair => "statement/sql/repair",
        },
        Statement::Shutdown => "statement/sql/shutdown",
        Statement::Restart => "statement/sql/restart",
        Statement::GetDiagnostics(_) => "statement/sql/get_diagnostics",
        Statement::Signal(_) => "statement/sql/signal",
        _ => OTHER,
    }
}

fn of_transaction(transaction: &Transaction) -> &'static str {
    match transaction {
        Transaction::Begin { .. } => "statement/sql/begin",
        Transaction::Commit(_) => "statement/sql/commit",
        Transaction::Rollback(_) => "statement/sql/rollback",
        Transaction::Savepoint(_) => "statement/sql/savepoint",
        Transaction::RollbackTo(_) => "statement/sql/rollback_to_savepoint",
        Transaction::ReleaseSavepoint(_) => "statement/sql/release_savepoint",
        Transaction::Xa(_) => OTHER,
    }
}

fn of_show(show: &Show) -> &'static str {
    match show {
        Show::CharacterSets(_) => "statement/sql/show_charsets",
        Show::Collations(_) => "statement/sql/show_collations",
        Show::Columns { .. } => "statement/sql/show_fields",
        Show::CreateDatabase { .. } => "statement/sql/show_create_db",
        Show::CreateTable(_) | Show::CreateView(_) => "statement/sql/show_create_table",
        Show::CreateUser(_) => "statement/sql/show_create_user",
        Show::Databases(_) => "statement/sql/show_databases",
        Show::Engines => "statement/sql/show_storage_engines",
        Show::Errors(_) | Show::ErrorCount => "statement/sql/show_errors",
        Show::Events { .. } => "statement/sql/show_events",
        Show::FunctionStatus(_) => "statement/sql/show_function_status",
        Show::Grants { .. } => "statement/sql/show_grants",
        Show::Indexes { .. } => "statement/sql/show_keys",
        Show::OpenTables { .. } => "statement/sql/show_open_tables",
        Show::Plugins { .. } => "statement/sql/show_plugins",
        Show::Privileges => "statement/sql/show_privileges",
        Show::ProcedureStatus(_) => "statement/sql/show_procedure_status",
        Show::ProcessList { .. } => "statement/sql/show_processlist",
        Show::Status { .. } => "statement/sql/show_status",
        Show::TableStatus { .. } => "statement/sql/show_table_status",
        Show::Tables { .. } => "statement/sql/show_tables",
        Show::Triggers { .. } => "statement/sql/show_triggers",
        Show::Variables { .. } => "statement/sql/show_variables",
        Show::Warnings(_) | Show::WarningCount => "statement/sql/show_warnings",
        _ => OTHER,
    }
}
