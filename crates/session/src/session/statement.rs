//! The life of a statement: context, privileges, dispatch, transaction, diagnostics, answer.

use super::{Request, Session, SessionState, StatementRun};
use crate::plans::prepared::PreparedStatement;
use crate::plans::statements::syntax_error_near;
use crate::result::writer::{ResultWriter, StatusInfo};
use crate::result::{Failure, Outcome, put_rows};
use crate::state::timer::TimerGuard;
use parking_lot::Mutex;
use squall_instrumentation::process::count;
use squall_parser::ast::Statement;
use squall_planner::dml::DmlResult;
use squall_server_state::now_micros;
use squall_statement_context::{FulltextSlot, Programs, StatementContext, TableUses};
use squall_system_variables::VariableValues;
use squall_types::{ErrorCode, SqlError, SqlMode, SqlResult};
use std::borrow::Cow;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// As much of a statement as the process list shows.
const SHOWN_BYTES_MAX: usize = 64 << 10;

impl Session {
    /// A command that executes a statement begins, with a text that has not been [shown](SessionState::shown) yet.
    pub(crate) fn begin_command(&mut self, command: &'static str, sql: &[u8]) {
        self.count_question();
        self.begin_unasked(command, sql);
    }

    /// A command executes a prepared statement.
    pub(crate) fn begin_execution(&mut self, prepared: &PreparedStatement) {
        self.count_question();
        self.count_query();
        self.show_text("Execute", &self.shown_prepared(prepared));
    }

    fn count_question(&mut self) {
        count(&self.process.status.questions);
        self.command.is_counted = true;
    }

    fn count_query(&self) {
        self.process.kill.reset();
        count(&self.process.status.queries);
    }

    /// A command begins that is none of `Questions`, as those are that only prepare a statement.
    pub(crate) fn begin_unasked(&mut self, command: &'static str, sql: &[u8]) {
        self.count_query();
        self.show_command(command, sql);
    }

    /// The process list shows a statement.
    pub(crate) fn show_command(&self, command: &'static str, sql: &[u8]) {
        self.show_text(command, &self.shown(&sql[..sql.len().min(SHOWN_BYTES_MAX)]));
    }

    fn show_text(&self, command: &'static str, shown: &[u8]) {
        self.process.begin(command, &String::from_utf8_lossy(shown), now_micros());
    }

    pub(crate) async fn end_command(&mut self, writer: &mut dyn ResultWriter) -> std::io::Result<()> {
        self.process.begin("Sleep", "", now_micros());
        if self.command.ends_connection {
            self.process.kill_connection();
        }
        writer.flush().await
    }

    /// The life of one statement; tells whether it succeeded.
    pub(crate) async fn run(
        &mut self,
        request: Request<'_>,
        more_results: bool,
        writer: &mut dyn ResultWriter,
    ) -> std::io::Result<bool> {
        if request.placeholders as usize > request.parameters.len() {
            // A `?` outside of a prepared statement.
            let error = placeholder_error(request.sql);
            self.finish_with_error(&error, None);
            writer.error(&error);
            return Ok(false);
        }
        if self.command.target.is_some() {
            self.note_state_left(request.statement, request.text());
        }
        let run = StatementRun::begin(self, request);
        self.instruments().begin_stages(run.begun.start_micros);
        let logs = run.begun.logs;
        let logged = if logs.any() { self.log_start(logs, request.logged(), Some(request.statement)) } else { Ok(()) };
        let timer = self.start_timer(&run);
        let kept = if keeps_diagnostics(request.statement) { self.diagnostics.total() } else { 0 };
        let allowed =
            logged.and_then(|()| self.check_state(request.statement)).and_then(|()| self.count_use(request.statement));
        let result = match allowed {
            Ok(()) => self.dispatch(&run, writer).await,
            Err(error) => Err(Failure::Sql(error)),
        };
        drop(timer);
        match self.end_work(&run, result).await {
            Ok(outcome) => {
                self.finish(&outcome, Some(&run));
                let written = self.write(outcome, kept, more_results, writer).await;
                self.record_run(&run, 0);
                written.map(|()| true)
            }
            Err(Failure::Sql(error)) => {
                self.finish_with_error(&error, Some(&run.context));
                writer.error(&error);
                self.record_run(&run, error.code);
                Ok(false)
            }
            Err(Failure::Client(error)) => {
                // The client does not read its result.
                self.record_run(&run, ErrorCode::NetWriteInterrupted.number());
                Err(error)
            }
        }
    }

    /// Ends the work of a statement: inserts the rows that its functions append, and commits its transaction or rolls it back.
    async fn end_work(&mut self, run: &StatementRun<'_>, result: Result<Outcome, Failure>) -> Result<Outcome, Failure> {
        let result = match result {
            Ok(outcome) => self.insert_appended(&run.context).await.map(|()| outcome).map_err(Failure::Sql),
            Err(failure) => {
                self.appends.take();
                Err(failure)
            }
        };
        let result = match result {
            Ok(outcome) => Ok(self.end_statement(run.request.statement).await.map(|()| outcome)?),
            Err(failure) => {
                self.statement_failed().await;
                if let Failure::Sql(error) = &failure {
                    self.note_branch_failure(error.code);
                }
                Err(failure)
            }
        };
        // Programs can set variables of the session.
        self.command.leaves_state |= run.context.programs.are_called();
        result
    }

    /// Warnings, notes and errors of the statement before, as far as they were kept.
    pub fn warnings(&self) -> &[squall_types::Warning] {
        self.diagnostics.rows()
    }

    /// The statement's copy of its session's settings, made at its start.
    pub(crate) fn statement_context(&mut self, statement: &Statement) -> StatementContext {
        StatementContext { strict_write: self.is_strict_for(statement), ..self.query_context() }
    }

    /// The same for what changes rows or variables of a program: in a strict mode, values that do not fit are errors.
    pub(crate) fn change_context(&mut self) -> StatementContext {
        StatementContext { strict_write: self.settings.bind.sql_mode.is_strict(), ..self.query_context() }
    }

    /// The same for what changes nothing.
    pub(crate) fn query_context(&mut self) -> StatementContext {
        let settings = &self.state.settings;
        let now = match &self.nesting.inside {
            Some(inside) => inside.now_micros,
            None if settings.timestamp_micros != 0 => settings.timestamp_micros,
            None => now_micros(),
        };
        self.state.random_state =
            self.state.random_state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        StatementContext {
            settings: settings.bind.clone(),
            now_micros: now,
            connection_id: self.process.id,
            user: self.identity.user.clone(),
            current_user: self.identity.current_user.clone(),
            active_grants: self.identity.active_grants.clone(),
            version: self.version.clone(),
            strict_write: false,
            found_rows: self.previous.found_rows,
            row_count: self.previous.row_count,
            last_insert_id: AtomicU64::new(self.previous.last_insert_id),
            insert_id_is_given: AtomicBool::new(false),
            diagnostics: squall_statement_context::Diagnostics::new(settings.max_error_count),
            user_variables: self.user_variables.clone(),
            kill: self.process.kill.clone(),
            random_state: AtomicU64::new(self.random_state),
            user_locks: self.shared.user_locks.clone(),
            variables: VariableValues { global: self.shared.globals.load_values(), ..self.variables.clone() },
            rows_examined: AtomicU64::new(0),
            table_uses: TableUses::default(),
            plan_counts: Mutex::default(),
            memory: self.process.memory.clone(),
            nested: self.nested.clone(),
            programs: Programs::default(),
            fulltext: FulltextSlot::default(),
            is_of_server: false,
            is_external_body: false,
            is_in_trigger: self.is_in_trigger(),
            is_read_only: self.is_read_only_now(),
        }
    }

    /// Whether the session is in a state to run the statement at all.
    pub(crate) fn check_state(&mut self, statement: &Statement) -> SqlResult<()> {
        self.refresh_access();
        self.process.kill.check()?;
        if self.identity.password_expired && !sets_password(statement) {
            return Err(SqlError::new(ErrorCode::MustChangePassword, &[]));
        }
        Ok(())
    }

    /// Stops a SELECT after `max_execution_time`, any statement after `max_statement_time`.
    pub(crate) fn start_timer(&self, run: &StatementRun<'_>) -> Option<TimerGuard> {
        // The time is that of the statement around.
        if self.nesting.inside.is_some() {
            return None;
        }
        let of_query = match run.request.statement {
            Statement::Query(query) => {
                crate::hints::max_execution_millis(query).unwrap_or(self.settings.max_execution_millis)
            }
            _ => 0,
        };
        let millis = match (of_query, self.settings.max_statement_millis) {
            (0, millis) | (millis, 0) => millis,
            (of_query, of_any) => of_query.min(of_any),
        };
        self.start_timer_of(millis, &run.context)
    }

    /// Stops a statement after this many milliseconds; 0 for never.
    pub(crate) fn start_timer_of(&self, millis: u64, context: &StatementContext) -> Option<TimerGuard> {
        if millis == 0 {
            return None;
        }
        let kill = context.kill.clone();
        let (shared, process) = (self.shared.clone(), self.process.clone());
        let task = self.shared.runtime.pool().spawn(async move {
            tokio::time::sleep(std::time::Duration::from_millis(millis)).await;
            kill.time_out();
            shared.interrupt(&process);
        });
        Some(TimerGuard(task))
    }

    /// As [`SessionState::finish`] for a statement that failed.
    pub(crate) fn finish_with_error(&mut self, error: &SqlError, context: Option<&StatementContext>) {
        self.previous.row_count = -1;
        match context {
            Some(context) => self.state.diagnostics.replace(context, Some(error), self.state.settings.notes),
            None => self.diagnostics.only(error),
        }
        if self.instruments().counts_statements() {
            self.process.errors.raised(error.code, error.sqlstate, now_micros());
        }
        self.publish_counts();
    }

    /// Writes what a statement has given. Conditions that it has `kept` are not its own: they are not counted.
    async fn write(
        &mut self,
        outcome: Outcome,
        kept: u64,
        more_results: bool,
        writer: &mut dyn ResultWriter,
    ) -> std::io::Result<()> {
        let mut status = self.status_info(more_results);
        status.warnings = status.warnings.saturating_sub(u16::try_from(kept).unwrap_or(u16::MAX));
        match outcome {
            Outcome::Ok(mut ok) => {
                if std::mem::take(&mut ok.tells_warnings) {
                    ok.info.push_str(&format!("  Warnings: {}", self.diagnostics.total()));
                }
                writer.ok(&ok, &status);
            }
            Outcome::Rows(result) => {
                writer.begin_result_set(&result.columns);
                put_rows(writer, &result.rows).await?;
                writer.end_result_set(&status);
            }
            Outcome::Streamed { .. } => writer.end_result_set(&status),
        }
        Ok(())
    }
}

impl SessionState {
    /// A statement as the process list, performance_schema and listeners have it: with `<secret>` in place of passwords, also within the texts that it runs. A long
    /// one is cut.
    pub(crate) fn shown<'t>(&self, text: &'t [u8]) -> Cow<'t, [u8]> {
        let beginning = &text[..text.len().min(SHOWN_BYTES_MAX)];
        if !squall_parser::may_hold_strings(beginning) || !squall_parser::may_hold_secrets(beginning) {
            return Cow::Borrowed(beginning);
        }
        let mut masked = Vec::with_capacity(beginning.len());
        squall_logs::text::push_statement(&mut masked, text, &self.parse_options(), SHOWN_BYTES_MAX, false);
        Cow::Owned(masked)
    }

    /// The same of a prepared statement, whose text is searched for secrets once.
    pub(crate) fn shown_prepared<'t>(&self, prepared: &'t PreparedStatement) -> Cow<'t, [u8]> {
        match prepared.may_hold_secrets() {
            true => self.shown(&prepared.sql),
            false => Cow::Borrowed(&prepared.sql[..prepared.sql.len().min(SHOWN_BYTES_MAX)]),
        }
    }

    /// Whether values that do not fit are errors in a statement.
    pub(crate) fn is_strict_for(&self, statement: &Statement) -> bool {
        self.settings.bind.sql_mode.is_strict() && (writes_strictly(statement) || self.assigns_locals(statement))
    }

    /// Remembers what later statements ask about a statement that succeeded. A query that was answered at once has no `run`, and
    /// no conditions.
    pub(crate) fn finish(&mut self, outcome: &Outcome, run: Option<&StatementRun<'_>>) {
        if let Some(run) = run {
            self.remember_id(outcome, run);
        }
        match outcome {
            Outcome::Ok(ok) => self.previous.row_count = i64::try_from(ok.affected_rows).unwrap_or(i64::MAX),
            Outcome::Rows(result) => self.previous.of_query(result.rows.len() as u64),
            Outcome::Streamed { rows } => self.previous.of_query(*rows),
        }
        match run {
            None => self.diagnostics.clear(),
            Some(run) if keeps_diagnostics(run.request.statement) => {}
            Some(run) => self.diagnostics.replace(&run.context, None, self.settings.notes),
        }
        self.publish_counts();
    }

    /// Remembers the LAST_INSERT_ID() that a statement has left.
    fn remember_id(&mut self, outcome: &Outcome, run: &StatementRun<'_>) {
        let context = &*run.context;
        self.previous.last_insert_id = context.last_insert_id.load(Ordering::Relaxed);
        // A procedure of the server may answer for a statement that ran elsewhere.
        if let Outcome::Ok(ok) = outcome
            && ok.last_insert_id != 0
            && matches!(run.request.statement, Statement::Call(_))
        {
            self.previous.last_insert_id = ok.last_insert_id;
        }
    }

    pub(crate) fn publish_counts(&mut self) {
        self.variables.warning_count = self.diagnostics.total();
        self.variables.error_count = self.diagnostics.errors();
    }

    /// The state that goes with every OK and EOF packet.
    pub(crate) fn status_info(&mut self, more_results: bool) -> StatusInfo {
        StatusInfo {
            in_transaction: self.transaction.is_open(),
            in_read_only_transaction: self.transaction.is_open() && self.is_read_only_now(),
            autocommit: self.settings.autocommit,
            more_results,
            no_backslash_escapes: self.settings.bind.sql_mode.contains(SqlMode::NO_BACKSLASH_ESCAPES),
            warnings: u16::try_from(self.diagnostics.total()).unwrap_or(u16::MAX),
            changes: std::mem::take(&mut self.command.changes),
            ..Default::default()
        }
    }
}

/// 1064 at a `?` that nothing will be bound to.
fn placeholder_error(text: &[u8]) -> SqlError {
    let at = text.iter().position(|byte| *byte == b'?').unwrap_or(text.len());
    syntax_error_near(text, at)
}

/// Statements that speak of the diagnostics area leave it as it is.
pub(crate) fn keeps_diagnostics(statement: &Statement) -> bool {
    use squall_parser::ast::Show;
    match statement {
        Statement::Show(show) => {
            matches!(**show, Show::Warnings(_) | Show::Errors(_) | Show::WarningCount | Show::ErrorCount)
        }
        Statement::GetDiagnostics(_) => true,
        _ => false,
    }
}

/// Whether conversions that lose data are errors in a strict mode.
fn writes_strictly(statement: &Statement) -> bool {
    match statement {
        Statement::Insert(insert) => !insert.ignore,
        Statement::Update(update) => !update.ignore,
        Statement::Delete(delete) => !delete.ignore,
        Statement::LoadData(load) => {
            load.duplicates != squall_parser::ast::LoadDuplicates::Ignore
                && load.source != squall_parser::ast::LoadSource::Client
        }
        Statement::CreateTable(create) => create.duplicates != squall_parser::ast::LoadDuplicates::Ignore,
        Statement::AlterTable(alter) => !alter.ignore,
        _ => false,
    }
}

fn sets_password(statement: &Statement) -> bool {
    match statement {
        Statement::CreateUser(create) => create.alter,
        Statement::Set(set) => matches!(set, squall_parser::ast::Set::Password(_)),
        _ => false,
    }
}

impl StatementRun<'_> {
    /// The id that the OK packet of a change tells; a generated one is the new LAST_INSERT_ID() too, one that was written is not.
    pub(crate) fn packet_id(&self, result: &DmlResult) -> u64 {
        if let Some(id) = result.generated_id {
            self.context.last_insert_id.store(id, Ordering::Relaxed);
            return id;
        }
        let tells = !matches!(self.request.statement, Statement::Delete(_));
        if tells && self.context.insert_id_is_given.load(Ordering::Relaxed) {
            return self.context.last_insert_id.load(Ordering::Relaxed);
        }
        result.explicit_id.unwrap_or(0)
    }
}
