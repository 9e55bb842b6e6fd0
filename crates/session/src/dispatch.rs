//! Which part of the session runs a statement.

use crate::authorization::AuthorizedStatement;
use crate::plans::Route;
use crate::program::check_program;
use crate::result::writer::ResultWriter;
use crate::result::{Failure, Outcome};
use crate::session::{Session, StatementRun};
use squall_instrumentation::process::count;
use squall_instrumentation::stages;
use squall_parser::ast::{MaintenanceKind, Set, Statement};
use squall_types::{ErrorCode, SqlError};

impl Session {
    /// Runs a statement up to its answer.
    pub(crate) async fn dispatch(
        &mut self,
        run: &StatementRun<'_>,
        writer: &mut dyn ResultWriter,
    ) -> Result<Outcome, Failure> {
        if self.is_read_only_now() && never_read_only(run.request.statement) {
            return Err(SqlError::new(ErrorCode::ReadOnlyTransaction, &[]).into());
        }
        if commits_first(run.request.statement) {
            self.implicit_commit().await?;
        }
        if let Some(stage) = stage_of(run.request.statement) {
            self.stage(stage);
        }
        let _pass = match changes_accounts_or_events(run.request.statement) {
            true => Some(self.definition_pass().await?),
            false => None,
        };
        let run = self.authorize_statement(run)?;
        self.carry_out(run, writer).await
    }

    /// Runs a statement that the session may run.
    async fn carry_out(
        &mut self,
        run: AuthorizedStatement<'_, '_>,
        writer: &mut dyn ResultWriter,
    ) -> Result<Outcome, Failure> {
        let run = run.run();
        match (self.choose(run), run.request.statement) {
            (Route::PointChange(change), _) => self.run_data_change(run, Some(&change.plan)).await,
            (Route::Change, _) => self.run_data_change(run, None).await,
            (Route::Procedure, Statement::Call(call)) => self.run_call(call, run, writer).await,
            (route, Statement::Query(query)) => self.run_query(route, query, run, writer).await,
            _ => self.run_command(run, writer).await,
        }
    }

    /// Runs a statement that is neither a query nor a change of rows nor CALL.
    async fn run_command(&mut self, run: &StatementRun<'_>, writer: &mut dyn ResultWriter) -> Result<Outcome, Failure> {
        match run.request.statement {
            Statement::LoadData(load) => self.load_data(load, run, writer).await,
            Statement::Do(exprs) => Ok(self.run_do(exprs, run).await?),
            Statement::Explain(explain) => self.run_explain(explain, run, writer).await,
            Statement::Show(show) => Ok(self.run_show(show, &run.context).await?),
            Statement::DescribeTable(describe) => Ok(self.describe_table(describe)?),
            Statement::Empty => Ok(Outcome::done()),
            Statement::Transaction(transaction) => Ok(self.run_transaction(transaction).await?),
            Statement::Set(set) => Ok(Box::pin(self.run_set(set, run)).await?),
            Statement::Use(name) => {
                self.use_database(name)?;
                self.settings_changed();
                Ok(Outcome::done())
            }
            Statement::Prepare(prepare) => Ok(self.run_prepare(prepare, &run.context).await?),
            Statement::Execute(execute) => self.run_execute(execute, run, writer).await,
            Statement::ExecuteImmediate(execute) => self.run_execute_immediate(execute, run, writer).await,
            Statement::Deallocate(name) => {
                if !self.remove_named_statement(name) {
                    let error = ErrorCode::UnknownStatementHandler;
                    return Err(SqlError::new(error, &[&name.as_str(), &"DEALLOCATE PREPARE"]).into());
                }
                Ok(Outcome::done())
            }
            Statement::Kill(kill) => {
                count(&self.process.status.kill);
                Ok(self.run_kill(kill, run).await?)
            }
            Statement::Signal(signal) => Ok(self.run_signal(signal, run).await?),
            Statement::GetDiagnostics(get) => Ok(self.get_diagnostics(get, run).await?),
            Statement::Program(_) => {
                check_program(run.request.statement, false)?;
                self.run_program(run.request.statement, squall_parser::ast::Span::default(), run.request.sql, writer)
                    .await??;
                Ok(Outcome::done())
            }
            Statement::CreateEvent(event) => Ok(Box::pin(self.run_create_event(event, run)).await?),
            Statement::DropEvent(drop) => Ok(Box::pin(self.run_drop_event(drop, &run.context)).await?),
            Statement::LockTables(locks) => Ok(self.lock_tables(locks).await?),
            Statement::UnlockTables => {
                count(&self.process.status.unlock_tables);
                // Only a LOCK TABLES that is in force is ended with a commit.
                if self.table_locks.is_some() {
                    self.commit().await?;
                    self.table_locks = None;
                }
                self.global_read_lock = None;
                Ok(Outcome::done())
            }
            Statement::Shutdown => {
                self.shut_down_server()?;
                Ok(Outcome::done())
            }
            Statement::Flush(flush) => Ok(self.run_flush(flush).await?),
            Statement::Reset(reset) => Ok(Box::pin(self.run_reset(reset)).await?),
            Statement::TableMaintenance(maintenance) => Ok(self.maintain_tables(maintenance, &run.context).await?),
            Statement::CreateUser(_)
            | Statement::DropUser(_)
            | Statement::RenameUser(_)
            | Statement::CreateRole(_)
            | Statement::DropRole(_)
            | Statement::Grant(_)
            | Statement::Revoke(_) => Ok(Box::pin(self.run_account_statement(run.request.statement)).await?),
            statement if is_definition(statement) => {
                let outcome = self.run_definition(run).await;
                // TEMPORARY tables come and go without a new catalog.
                self.settings_version += 1;
                outcome
            }
            other => match self.run_program_definition(other, &run.context)? {
                Some(outcome) => Ok(outcome),
                None => Err(SqlError::unsupported(statement_name(other)).into()),
            },
        }
    }
}

/// What a READ ONLY transaction does not do, whatever it is about: definitions, of TEMPORARY tables too, accounts, events, and
/// OPTIMIZE and REPAIR TABLE. Changes of rows are refused by the tables that they are made in.
fn never_read_only(statement: &Statement) -> bool {
    match statement {
        Statement::TableMaintenance(maintenance) => {
            matches!(maintenance.kind, MaintenanceKind::Optimize | MaintenanceKind::Repair)
        }
        other => is_definition(other) || changes_accounts_or_events(other),
    }
}

/// The stage that a statement is in while it is carried out. Queries tell by themselves.
fn stage_of(statement: &Statement) -> Option<&'static str> {
    match statement {
        Statement::Query(_) => None,
        Statement::AlterTable(_) | Statement::CreateIndex(_) | Statement::DropIndex(_) => Some(stages::ALTERING),
        Statement::CreateTable(_) => Some(stages::CREATING),
        _ => Some(stages::EXECUTING),
    }
}

/// Definitions of what is not in the catalog; a global read lock stands against them, too.
fn changes_accounts_or_events(statement: &Statement) -> bool {
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
        _ => false,
    }
}

/// Statements that end the open transaction first.
fn commits_first(statement: &Statement) -> bool {
    match statement {
        // TEMPORARY tables are the session's own business.
        Statement::CreateTable(create) => !create.temporary,
        Statement::DropTable(drop) => !drop.temporary,
        Statement::LockTables(_) | Statement::Flush(_) | Statement::TableMaintenance(_) => true,
        other => is_definition(other) || changes_accounts_or_events(other),
    }
}

/// Statements about databases, tables, keys and views.
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
    )
}

/// What a statement that is not supported is called in the error.
fn statement_name(statement: &Statement) -> &'static str {
    match statement {
        Statement::Handler(_) => "HANDLER",
        Statement::CreateSequence(_) | Statement::AlterSequence(_) | Statement::DropSequence(_) => "SEQUENCE",
        Statement::CreateServer(_) | Statement::AlterServer { .. } | Statement::DropServer { .. } => "SERVER",
        Statement::CreateProcedure(_) | Statement::AlterProcedure(_) | Statement::DropProcedure(_) => "PROCEDURE",
        Statement::CreateFunction(_)
        | Statement::CreateLoadableFunction(_)
        | Statement::AlterFunction(_)
        | Statement::DropFunction(_) => "FUNCTION",
        Statement::CreateTrigger(_) | Statement::DropTrigger(_) => "TRIGGER",
        Statement::LockInstance | Statement::UnlockInstance => "LOCK INSTANCE",
        Statement::Help(_) => "HELP",
        Statement::CacheIndex { .. } => "CACHE INDEX",
        Statement::LoadIndex { .. } => "LOAD INDEX",
        Statement::Install(_) | Statement::Uninstall(_) => "INSTALL",
        Statement::Replication(_) => "replication",
        Statement::Restart => "RESTART",
        _ => "this statement",
    }
}
