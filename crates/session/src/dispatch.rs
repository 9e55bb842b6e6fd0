//! Calls the part of the session that runs a statement.

use crate::authorization::accounts::{needs_of_account_statement, needs_of_default_role, needs_of_password};
use crate::authorization::definition::needs_of_definition;
use crate::authorization::programs::{needs_of_create_trigger, needs_of_drop_trigger, needs_of_routine_definition};
use crate::authorization::show::needs_of_show;
use crate::authorization::statement::{
    event_need, name_need, needs_of_call, needs_of_delete, needs_of_event, needs_of_flush, needs_of_handler,
    needs_of_insert, needs_of_key_cache, needs_of_lock, needs_of_maintenance, needs_of_update,
};
use crate::authorization::{AuthorizedStatement, SecurityContext, undeclared};
use crate::key_cache::cache_index;
use crate::key_cache::load_index;
use crate::program::{ProgramKind, check_program};
use crate::result::writer::ResultWriter;
use crate::result::{Failure, Outcome};
use crate::session::{Session, StatementRun};
use crate::state::locals::Locals;
use crate::statement_kind::{
    changes_server, commits_first, is_definition, is_held_up_by_locks, is_module_definition, is_routine_definition,
    is_server_definition, never_read_only,
};
use squall_catalog::{Need, Privileges};
use squall_instrumentation::stages;
use squall_parser::ast::{Ident, RequiredPrivileges, Set, Statement, StatementClass, Transaction, Uninstall};
use squall_statement_context::StatementContext;
use squall_types::{ErrorCode, Level, SqlError, SqlResult};

impl Session {
    /// Runs a statement up to its answer.
    pub(crate) async fn dispatch(
        &mut self,
        run: &StatementRun<'_>,
        writer: &mut dyn ResultWriter,
    ) -> Result<Outcome, Failure> {
        self.process.status.statements.count(run.request.statement.traits().kind);
        self.check_inside(run.request.statement)?;
        self.check_branch(run.request.statement)?;
        self.check_backup_stage(run.request.statement)?;
        let statement = run.request.statement;
        if (self.is_read_only_now() && never_read_only(statement))
            || (self.nesting.is_within_read_only && changes_server(statement))
        {
            return Err(SqlError::new(ErrorCode::ReadOnlyTransaction, &[]).into());
        }
        if commits_first(run.request.statement) {
            self.implicit_commit().await?;
        }
        self.close_handlers(run.request.statement)?;
        if let Some(stage) = stage_of(run.request.statement) {
            self.instruments().stage(stage);
        }
        let _pass = match is_held_up_by_locks(run.request.statement) {
            true => Some(self.definition_pass().await?),
            false => None,
        };
        self.wait_for_write_locks(run).await?;
        let authorized = self.authorize_statement(run)?;
        self.choose(run).run(self, authorized, writer).await
    }

    /// Runs a statement that is neither a query nor a change of rows nor CALL.
    pub(crate) async fn run_command(
        &mut self,
        run: &StatementRun<'_>,
        writer: &mut dyn ResultWriter,
    ) -> Result<Outcome, Failure> {
        match run.request.statement {
            Statement::Insert(insert) => Ok(self.insert_into_sequence(insert, run).await?),
            Statement::LoadData(load) => self.load_data(load, run, writer).await,
            Statement::Handler(handler) => self.run_handler(handler, run, writer).await,
            Statement::Help(wanted) => Ok(self.run_help(wanted)),
            Statement::Do(exprs) => Ok(self.run_do(exprs, run).await?),
            Statement::Explain(explain) => self.run_explain(explain, run, writer).await,
            Statement::Show(show) => Ok(self.run_show(show, &run.context).await?),
            Statement::DescribeTable(describe) => Ok(self.describe_table(describe)?),
            Statement::Empty => Ok(Outcome::done()),
            Statement::Transaction(Transaction::Xa(xa)) => Ok(Box::pin(self.run_xa(xa, &run.context)).await?),
            Statement::Transaction(transaction) => Ok(self.run_transaction(transaction).await?),
            Statement::Set(Set::Statement { items, statement }) => {
                Box::pin(self.run_set_for_statement(items, statement, run, writer)).await
            }
            Statement::Set(set) => Ok(Box::pin(self.run_set(set, run)).await?),
            Statement::Use(name) => {
                self.use_database(name)?;
                self.settings_changed();
                Ok(Outcome::done())
            }
            Statement::Prepare(prepare) => Ok(self.run_prepare(prepare, &run.context).await?),
            Statement::Execute(execute) => self.run_execute(execute, run, writer).await,
            Statement::ExecuteImmediate(execute) => self.run_execute_immediate(execute, run, writer).await,
            Statement::ExecuteText(execute) => self.run_execute_text(execute, run, writer).await,
            Statement::Deallocate(name) => Ok(self.deallocate(name)?),
            Statement::Kill(kill) => Ok(self.run_kill(kill, run).await?),
            Statement::Signal(signal) => Ok(self.run_signal(signal, run).await?),
            Statement::GetDiagnostics(get) => Ok(self.get_diagnostics(get, run).await?),
            Statement::Program(_) => {
                check_program(run.request.statement, ProgramKind::Block, &self.shared.registry.variables)?;
                let (body, source) = (run.request.statement, run.request.sql);
                let span = squall_parser::ast::Span::default();
                let ran = self.run_program(body, span, source, Locals::default(), None, writer).await?;
                ran.0?;
                Ok(Outcome::done())
            }
            Statement::CreateEvent(event) => Ok(Box::pin(self.run_create_event(event, run)).await?),
            Statement::DropEvent(drop) => Ok(Box::pin(self.run_drop_event(drop, &run.context)).await?),
            Statement::LockTables(locks) => Ok(self.lock_tables(locks).await?),
            Statement::UnlockTables => Ok(self.unlock_tables().await?),
            Statement::LockInstance => Ok(self.lock_instance().await?),
            Statement::UnlockInstance => {
                self.held_locks.backup = None;
                Ok(Outcome::done())
            }
            Statement::Backup(backup) => Ok(self.run_backup(backup, &run.context).await?),
            Statement::Shutdown => Ok(self.shut_down_server().map(|()| Outcome::done())?),
            Statement::Restart => Err(not_supervised().into()),
            Statement::CacheIndex { tables, cache } => Ok(cache_index(&self.security(), tables, cache)?),
            Statement::LoadIndex { tables } => Ok(load_index(&self.security(), tables)?),
            Statement::Flush(flush) => Ok(self.run_flush(flush).await?),
            Statement::Reset(reset) => Ok(Box::pin(self.run_reset(reset, run)).await?),
            Statement::TableMaintenance(maintenance) => Ok(self.maintain_tables(maintenance, &run.context).await?),
            Statement::CreateUser(_)
            | Statement::DropUser(_)
            | Statement::RenameUser(_)
            | Statement::CreateRole(_)
            | Statement::DropRole(_)
            | Statement::Grant(_)
            | Statement::Revoke(_) => Ok(Box::pin(self.run_account_statement(run)).await?),
            statement if is_definition(statement) => {
                let outcome = self.run_definition(run).await;
                // TEMPORARY tables come and go without a new catalog.
                self.settings_version.renew();
                outcome
            }
            statement if is_server_definition(statement) => Ok(Box::pin(self.run_server_definition(statement)).await?),
            Statement::Uninstall(uninstall) => Ok(not_installed(uninstall, &run.context)?),
            statement if is_module_definition(statement) => {
                Ok(Box::pin(self.define_module_object(statement, &run.context)).await?)
            }
            statement if is_routine_definition(statement) => Ok(Box::pin(self.run_routine_definition(run)).await?),
            other => Err(SqlError::unsupported(statement_name(other)).into()),
        }
    }

    /// DEALLOCATE PREPARE.
    ///
    /// # Errors
    /// 1243 if there is no statement of that name.
    fn deallocate(&mut self, name: &Ident) -> SqlResult<Outcome> {
        if self.prepared.named(name).is_some_and(|statement| self.prepared.is_running(&statement)) {
            return Err(SqlError::new(ErrorCode::PsNoRecursion, &[]));
        }
        match self.remove_named_statement(name) {
            true => Ok(Outcome::done()),
            false => Err(SqlError::new(ErrorCode::UnknownStatementHandler, &[&name.as_str(), &"DEALLOCATE PREPARE"])),
        }
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

/// Why RESTART fails: what ends a server does not start it again.
fn not_supervised() -> SqlError {
    SqlError::new(ErrorCode::RestartServerFailed, &[&"mysqld is not managed by supervisor process"])
}

/// UNINSTALL. Nothing can be installed, so there is never what it names.
fn not_installed(uninstall: &Uninstall, context: &StatementContext) -> SqlResult<Outcome> {
    let (kind, name, if_exists) = match uninstall {
        Uninstall::Plugin { if_exists, name } => ("PLUGIN", name.as_str(), *if_exists),
        Uninstall::Library { if_exists, library } => ("SONAME", &**library, *if_exists),
        Uninstall::Components(names) => {
            let first = names.first().map_or("", |name| &**name);
            return Err(SqlError::new(ErrorCode::ComponentNotLoaded, &[&first]));
        }
    };
    let missing = SqlError::new(ErrorCode::SpDoesNotExist, &[&kind, &name]);
    match if_exists {
        true => context.diagnostics.push(Level::Note, missing),
        false => return Err(missing),
    }
    Ok(Outcome::done())
}

/// The name of an unsupported statement in the error.
fn statement_name(statement: &Statement) -> &'static str {
    match statement {
        Statement::CreateLoadableFunction(_) => "loadable FUNCTION",
        Statement::Install(_) => "INSTALL",
        Statement::Replication(_) => "replication",
        _ => "this statement",
    }
}

impl Session {
    /// Lets a statement be run, if the session may do what its names say. What queries and changes of rows touch is asked
    /// once they are bound ([`Session::authorize`]).
    ///
    /// # Errors
    /// MySQL's for the first privilege that is missing.
    pub(crate) fn authorize_statement<'r, 's>(
        &self,
        run: &'r StatementRun<'s>,
    ) -> SqlResult<AuthorizedStatement<'r, 's>> {
        let security = self.security();
        AuthorizedStatement::check(&security, &needs_of(&security, run.request.statement)?, run)
    }

    /// Checks the needs that the names of a statement tell, for statements that are bound without being dispatched.
    ///
    /// # Errors
    /// As [`Session::authorize_statement`].
    pub(crate) fn check_names(&self, statement: &Statement) -> SqlResult<()> {
        self.security().check_needs(&needs_of(&self.security(), statement)?)
    }
}

/// What a statement needs, in the order in which it is asked for. The table of statements says what each requires.
fn needs_of(security: &SecurityContext<'_>, statement: &Statement) -> SqlResult<Vec<Need>> {
    let server = |any, dynamic, names| Ok(vec![Need::server(any, dynamic, names)]);
    match statement.traits().requires {
        RequiredPrivileges::Nothing => Ok(Vec::new()),
        RequiredPrivileges::OnObjects => needs_on_objects(security, statement),
        RequiredPrivileges::Reload => server(Privileges::RELOAD, &[], "RELOAD"),
        RequiredPrivileges::Shutdown => server(Privileges::SHUTDOWN, &[], "SHUTDOWN"),
        RequiredPrivileges::Super => server(Privileges::SUPER, &[], "SUPER"),
        RequiredPrivileges::BackupAdmin => server(Privileges::NONE, &["BACKUP_ADMIN"], "BACKUP_ADMIN"),
        RequiredPrivileges::SystemVariablesAdmin => {
            server(Privileges::NONE, &["SYSTEM_VARIABLES_ADMIN"], "SUPER or SYSTEM_VARIABLES_ADMIN")
        }
    }
}

/// What a statement needs on the objects that it names.
fn needs_on_objects(security: &SecurityContext<'_>, statement: &Statement) -> SqlResult<Vec<Need>> {
    match statement {
        Statement::Insert(insert) => needs_of_insert(security, insert),
        Statement::Update(update) => needs_of_update(security, update),
        Statement::Delete(delete) => needs_of_delete(security, delete),
        // The columns are asked for where it is bound: the file may be what has their names. No client is asked for a file in vain.
        Statement::LoadData(load) => Ok(name_need(security, &load.table, Privileges::INSERT)?.into_iter().collect()),
        Statement::Call(call) => needs_of_call(security, call),
        Statement::Handler(handler) => needs_of_handler(security, handler),
        Statement::CreateTrigger(create) => needs_of_create_trigger(security, create),
        Statement::DropTrigger(drop) => needs_of_drop_trigger(security, drop),
        Statement::CreateEvent(event) => needs_of_event(security, event),
        Statement::DropEvent(drop) => drop.names.iter().map(|name| event_need(security, name)).collect(),
        Statement::Set(Set::Password(password)) => needs_of_password(security, password),
        Statement::Set(Set::DefaultRole(default)) => needs_of_default_role(security, default),
        Statement::LockTables(lock) => needs_of_lock(security, lock),
        Statement::Flush(flush) => needs_of_flush(security, flush),
        Statement::TableMaintenance(maintenance) => needs_of_maintenance(security, maintenance),
        Statement::Show(show) => Ok(needs_of_show(show).into_iter().collect()),
        Statement::CacheIndex { tables, .. } | Statement::LoadIndex { tables } => needs_of_key_cache(security, tables),
        other => match other.traits().class {
            StatementClass::Definition => needs_of_definition(security, other),
            StatementClass::RoutineDefinition => needs_of_routine_definition(security, other),
            StatementClass::Account => needs_of_account_statement(security, other),
            // A statement that is declared with needs, but has none here, runs for no account.
            _ => Err(undeclared()),
        },
    }
}
