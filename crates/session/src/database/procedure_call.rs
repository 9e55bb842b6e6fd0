//! The input of a procedure: its arguments, its writer, and a runner of statements.

use super::{Database, StatementRunner};
use crate::collector::{Collector, StatementResult};
use crate::result::pass_on::PassOn;
use crate::result::writer::{OkInfo, ResultWriter, StatusInfo};
use crate::result::{Failure, ResultSet, send_result_set};
use crate::state::image::SessionImage;
use crate::state::timer::TimerGuard;
use squall_catalog::{AccessMap, AccountKey, NameKey, Need};
use squall_statement_context::{StatementContext, held_by_variable};
use squall_types::{SqlError, SqlResult, SqlType, Value};
use std::collections::HashMap;
use std::sync::Arc;

/// A procedure at work: its arguments, and the session that called it.
pub struct ProcedureCall<'a> {
    runner: &'a mut dyn StatementRunner,
    context: &'a Arc<StatementContext>,
    writer: &'a mut dyn ResultWriter,
    arguments: Vec<Value>,
}

impl std::fmt::Debug for ProcedureCall<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ProcedureCall").field("arguments", &self.arguments).finish_non_exhaustive()
    }
}

impl<'a> ProcedureCall<'a> {
    pub(crate) fn new(
        runner: &'a mut dyn StatementRunner,
        context: &'a Arc<StatementContext>,
        writer: &'a mut dyn ResultWriter,
        arguments: Vec<Value>,
    ) -> ProcedureCall<'a> {
        ProcedureCall { runner, context, writer, arguments }
    }

    /// The arguments as the procedure has left them.
    pub(crate) fn into_arguments(self) -> Vec<Value> {
        self.arguments
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
        self.runner.account()
    }

    /// Whether it may do something.
    ///
    /// # Errors
    /// MySQL's for the first need that its grants do not meet.
    pub fn check(&self, needs: &[Need]) -> SqlResult<()> {
        self.runner.check(needs)
    }

    /// Its grants.
    pub fn access(&self) -> &AccessMap {
        self.runner.access()
    }

    /// Stops the statement (3024) when `max_execution_time` is over, unless the guard is dropped before. MySQL has that
    /// for SELECT alone; a procedure that waits for others may want it.
    pub fn start_timer(&self) -> Option<TimerGuard> {
        self.runner.start_timer(self.context)
    }

    /// Does something where blocking is allowed.
    ///
    /// # Errors
    /// Those of the work.
    pub async fn blocking<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> SqlResult<T> + Send + 'static,
    ) -> SqlResult<T> {
        self.runner.shared().blocking(move |_| work()).await
    }

    /// The database that everything is in.
    pub fn database(&self) -> Database {
        Database(self.runner.shared().clone())
    }

    /// The session as it is now, for another like it; user variables are copied if they are wanted.
    pub fn image(&self, with_user_variables: bool) -> SessionImage {
        let user_variables = match with_user_variables {
            true => self.runner.user_variables().lock().clone(),
            false => HashMap::new(),
        };
        self.runner.image(Arc::new(user_variables.into()))
    }

    /// `@name`; `None` if it was never set.
    pub fn user_variable(&self, name: &str) -> Option<Value> {
        self.runner.user_variables().lock().get(&NameKey::new(name)).map(|(value, _)| value.clone())
    }

    /// Adds an ASCII text to the list `@name`, whose items have commas between them. The list is not copied: it may be long.
    ///
    /// # Errors
    /// 1041 if there is no memory for a new list.
    pub fn add_to_list(&mut self, name: &str, item: &str) -> SqlResult<()> {
        let mut variables = self.runner.user_variables().lock();
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
        self.runner.user_variables().assign(NameKey::new(name), value, sql_type)
    }

    /// Runs a text of one or more statements in the caller's session and collects what they answer.
    ///
    /// # Errors
    /// The first statement's that fails.
    pub async fn query(&mut self, sql: &str) -> SqlResult<Vec<StatementResult>> {
        let mut collector = Collector::charged(self.runner.memory());
        let ran = self.runner.run_within(sql, &mut collector).await;
        collector.refused()?;
        ran.map_err(SqlError::internal)?;
        self.runner.give_state_to(self.context);
        collector.into_results()
    }

    /// Runs a text of one or more statements in the caller's session and sends their result sets to the client. Gives what
    /// the last statement without rows said.
    ///
    /// # Errors
    /// The first statement's that fails; it has to be returned on, for rows may have been sent already.
    pub async fn send(&mut self, sql: &str) -> Result<OkInfo, Failure> {
        let mut writer = PassOn::new(self.writer);
        self.runner.run_within(sql, &mut writer).await?;
        let (ok, error) = (writer.ok, writer.error);
        self.runner.give_state_to(self.context);
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
        send_result_set(self.writer, result, &self.runner.more_results()).await
    }

    /// Where result sets go that do not fit into memory. The caller begins and ends each of them with
    /// [`ProcedureCall::more_results`] as its status.
    pub fn writer(&mut self) -> &mut dyn ResultWriter {
        self.writer
    }

    /// The status of every result set of a procedure: another result follows.
    pub fn more_results(&mut self) -> StatusInfo {
        self.runner.more_results()
    }
}
