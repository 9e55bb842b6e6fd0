//! CALL, and what a procedure has to work with.

use super::arguments::Destination;
use super::pass_on::PassOn;
use super::{Parameter, ProcedureHead};
use crate::api::{OkInfo, ResultWriter};
use crate::collector::{Collector, StatementResult};
use crate::database::Database;
use crate::long_statement::Text;
use crate::result::{Failure, Outcome, ResultSet, put_rows, typed_column};
use crate::session::{Request, Session, StatementRun, parse_error};
use squall_catalog::{AccessMap, AccountKey, NameKey, Need};
use squall_instrumentation::process::count;
use squall_parser::ast::Call;
use squall_registry::{StatementContext, held_by_variable};
use squall_types::{CollationId, ErrorCode, SqlError, SqlResult, SqlType, Value};
use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// Procedures that call each other go this deep at most (1456).
const DEPTH_MAX: u32 = 16;

/// A procedure at work: its arguments, and the session that called it.
pub struct ProcedureCall<'a> {
    session: &'a mut Session,
    context: &'a Arc<StatementContext>,
    writer: &'a mut dyn ResultWriter,
    arguments: Vec<Value>,
}

impl std::fmt::Debug for ProcedureCall<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ProcedureCall").field("arguments", &self.arguments).finish_non_exhaustive()
    }
}

impl ProcedureCall<'_> {
    /// The value of a parameter, of its declared type or NULL.
    pub fn argument(&self, at: usize) -> &Value {
        self.arguments.get(at).unwrap_or(&Value::Null)
    }

    /// The value of a parameter of a character type; `None` for NULL.
    pub fn text(&self, at: usize) -> Option<&str> {
        match self.argument(at) {
            Value::String(text) => Some(text),
            _ => None,
        }
    }

    /// The value of a parameter of a whole-number type; `None` for NULL.
    pub fn number(&self, at: usize) -> Option<i64> {
        match self.argument(at) {
            Value::Int(number) => Some(*number),
            Value::UInt(number) => Some(i64::try_from(*number).unwrap_or(i64::MAX)),
            _ => None,
        }
    }

    /// Gives an OUT or INOUT parameter its value.
    pub fn set_argument(&mut self, at: usize, value: Value) {
        if let Some(argument) = self.arguments.get_mut(at) {
            *argument = value;
        }
    }

    /// The statement: settings, warnings, KILL.
    pub fn context(&self) -> &Arc<StatementContext> {
        self.context
    }

    /// The account that calls.
    pub fn account(&self) -> &AccountKey {
        &self.session.account
    }

    /// Whether it may do something.
    ///
    /// # Errors
    /// MySQL's for the first need that its grants do not meet.
    pub fn check(&self, needs: &[Need]) -> SqlResult<()> {
        self.session.check_needs(needs)
    }

    /// What it may do.
    pub fn access(&self) -> &AccessMap {
        &self.session.access
    }

    /// Stops the statement (3024) when `max_execution_time` is over, unless the guard is dropped before. MySQL has that
    /// for SELECT alone; a procedure that waits for others may want it.
    pub fn start_timer(&self) -> Option<crate::session::TimerGuard> {
        self.session.start_timer_of(self.session.settings.max_execution_millis, self.context)
    }

    /// Does something where blocking is allowed.
    ///
    /// # Errors
    /// Those of the work.
    pub async fn blocking<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> SqlResult<T> + Send + 'static,
    ) -> SqlResult<T> {
        self.session.blocking(move |_| work()).await
    }

    /// The database that everything is in.
    pub fn database(&self) -> Database {
        Database(self.session.shared.clone())
    }

    /// The session as it is now, for another like it; user variables are copied if they are wanted.
    pub fn image(&self, with_user_variables: bool) -> super::SessionImage {
        let user_variables = match with_user_variables {
            true => self.session.user_variables.lock().clone(),
            false => HashMap::new(),
        };
        super::SessionImage {
            account: self.session.account.clone(),
            active_roles: self.session.active_roles.clone(),
            info: self.session.info.clone(),
            database: self.session.default_database().cloned(),
            variables: self.session.variables.session.clone(),
            user_variables: Arc::new(user_variables.into()),
        }
    }

    /// `@name`; `None` if it was never set.
    pub fn user_variable(&self, name: &str) -> Option<Value> {
        self.session.user_variables.lock().get(&NameKey::new(name)).map(|(value, _)| value.clone())
    }

    /// Adds an ASCII text to the list `@name`, whose items have commas between them. The list is not copied: it may be long.
    ///
    /// # Errors
    /// 1041 if there is no memory for a new list.
    pub fn add_to_list(&mut self, name: &str, item: &str) -> SqlResult<()> {
        let mut variables = self.session.user_variables.lock();
        if let Some((Value::String(list), SqlType::String { length, .. })) = variables.get_mut(&NameKey::new(name))
            && !list.is_empty()
        {
            list.push(',');
            list.push_str(item);
            *length = length.saturating_add(item.len() as u32 + 1);
            return Ok(());
        }
        drop(variables);
        self.set_user_variable(name, Value::from(item))
    }

    /// SET @name.
    ///
    /// # Errors
    /// 1041 if there is no memory for the value.
    pub fn set_user_variable(&mut self, name: &str, value: Value) -> SqlResult<()> {
        let sql_type = squall_functions::build::literal_type(&value, self.context.settings.collation).sql_type;
        let (value, sql_type) = held_by_variable(value, sql_type);
        self.session.user_variables.assign(NameKey::new(name), value, sql_type)
    }

    /// Runs a text of one or more statements in the caller's session and collects what they answer.
    ///
    /// # Errors
    /// The first statement's that fails.
    pub async fn query(&mut self, sql: &str) -> SqlResult<Vec<StatementResult>> {
        let mut collector = Collector::charged(&self.session.process.memory);
        let ran = self.session.run_within(sql, &mut collector).await;
        collector.refused()?;
        ran.map_err(SqlError::internal)?;
        self.after_statements();
        collector.into_results()
    }

    /// Runs a text of one or more statements in the caller's session and sends their result sets to the client. Gives what
    /// the last statement without rows said.
    ///
    /// # Errors
    /// The first statement's that fails; it has to be returned on, for rows may have been sent already.
    pub async fn send(&mut self, sql: &str) -> Result<OkInfo, Failure> {
        let mut writer = PassOn::new(self.writer);
        self.session.run_within(sql, &mut writer).await?;
        let (ok, error) = (writer.ok, writer.error);
        self.after_statements();
        match error {
            Some(error) => Err(error.into()),
            None => Ok(ok.unwrap_or_default()),
        }
    }

    /// Sends a result set of the procedure's own to the client.
    ///
    /// # Errors
    /// When the client is gone.
    pub async fn send_rows(&mut self, result: &ResultSet) -> Result<(), Failure> {
        self.session.send_result(result, false, self.writer).await
    }

    /// Where result sets go that do not fit into memory. The caller begins and ends each of them with
    /// [`ProcedureCall::more_results`] as its status.
    pub fn writer(&mut self) -> &mut dyn ResultWriter {
        self.writer
    }

    /// The status of every result set of a procedure: another result follows.
    pub fn more_results(&mut self) -> crate::api::StatusInfo {
        self.session.status_info(true)
    }

    /// The session's state after statements is the CALL's.
    fn after_statements(&mut self) {
        self.session.diagnostics.copy_to(&self.context.diagnostics);
        self.context.last_insert_id.store(self.session.last_insert_id, Ordering::Relaxed);
    }
}

impl Session {
    /// CALL.
    pub(crate) async fn run_call(
        &mut self,
        call: &Call,
        run: &StatementRun<'_>,
        writer: &mut dyn ResultWriter,
    ) -> Result<Outcome, Failure> {
        count(&self.process.status.call_procedure);
        let (database, name) = self.qualify(&call.procedure)?;
        let found = self.shared.procedures.find(&database, &name).cloned();
        let (database, name) = match &found {
            Some(procedure) => (procedure.head().database, procedure.head().name),
            None => (database.as_str(), name.as_str()),
        };
        let shown = || format!("{database}.{name}");
        let Some(procedure) = found else {
            return Err(SqlError::new(ErrorCode::SpDoesNotExist, &[&"PROCEDURE", &shown()]).into());
        };
        if self.call_depth == DEPTH_MAX {
            return Err(SqlError::new(ErrorCode::SpRecursionLimit, &[&DEPTH_MAX, &name]).into());
        }
        let destinations = self.destinations(procedure.head(), &call.arguments)?;
        let arguments = self.argument_values(&procedure.head().parameters, &call.arguments, run).await?;
        // What the arguments were computed in is no transaction of the procedure's statements.
        self.end_statement(run.request.statement).await?;
        // Results of the procedure's own go out before the statement has ended: with its conditions, not with those of the statement before.
        self.diagnostics.clear();
        self.call_depth += 1;
        let mut call = ProcedureCall { session: self, context: &run.context, writer, arguments };
        let result = procedure.call(&mut call).await;
        let arguments = call.arguments;
        self.call_depth -= 1;
        let ok = result?;
        self.give_out(procedure.head(), &destinations, arguments, writer).await?;
        Ok(Outcome::Ok(ok))
    }

    /// OUT and INOUT parameters get their values.
    async fn give_out(
        &mut self,
        head: &ProcedureHead,
        destinations: &[Destination],
        values: Vec<Value>,
        writer: &mut dyn ResultWriter,
    ) -> Result<(), Failure> {
        let mut out = ResultSet::default();
        let mut row = Vec::new();
        for ((parameter, destination), value) in head.parameters.iter().zip(destinations).zip(values) {
            match destination {
                Destination::Nowhere => {}
                Destination::UserVariable(name) => {
                    let sql_type = variable_type(parameter, &value);
                    let (value, sql_type) = held_by_variable(value, sql_type);
                    self.user_variables.assign(name.clone(), value, sql_type)?;
                }
                Destination::Placeholder => {
                    out.columns.push(typed_column(parameter.name, parameter.sql_type.clone(), false));
                    row.push(value);
                }
            }
        }
        if !row.is_empty() {
            out.rows.push(row);
            self.send_result(&out, true, writer).await?;
        }
        Ok(())
    }

    /// Sends a result set that is a part of a CALL's answer.
    async fn send_result(
        &mut self,
        result: &ResultSet,
        out_parameters: bool,
        writer: &mut dyn ResultWriter,
    ) -> Result<(), Failure> {
        writer.begin_result_set(&result.columns);
        put_rows(writer, &result.rows).await?;
        let mut status = self.status_info(true);
        status.out_parameters = out_parameters;
        writer.end_result_set(&status);
        Ok(())
    }

    /// Runs the statements of a text as a part of the command at hand, up to the first that fails.
    pub(crate) async fn run_within(&mut self, sql: &str, writer: &mut dyn ResultWriter) -> std::io::Result<()> {
        let whole = Text::new(sql.as_bytes());
        let mut start = 0;
        loop {
            let read = self.read_statement(&whole, start).await;
            let parsed = match read.and_then(|read| read.map_err(parse_error)) {
                Ok(parsed) => parsed,
                Err(error) => {
                    self.finish_with_error(&error, None);
                    writer.error(&error);
                    return Ok(());
                }
            };
            let request = Request {
                placeholders: parsed.placeholders,
                long: parsed.long(),
                ..Request::without_parameters(&parsed.statement, &sql.as_bytes()[start..start + parsed.end])
            };
            let succeeded = self.run(request, true, writer).await?;
            match parsed.rest {
                Some(rest) if succeeded => start += rest,
                _ => return Ok(()),
            }
        }
    }
}

/// The type of a user variable that has got a parameter's value.
fn variable_type(parameter: &Parameter, value: &Value) -> SqlType {
    match value {
        Value::Null => SqlType::Null,
        _ => match &parameter.sql_type {
            SqlType::Int { unsigned: true, .. } => SqlType::BIGINT_UNSIGNED,
            SqlType::Int { .. } => SqlType::BIGINT,
            _ => squall_functions::build::literal_type(value, CollationId::UTF8MB4_0900_AI_CI).sql_type,
        },
    }
}
