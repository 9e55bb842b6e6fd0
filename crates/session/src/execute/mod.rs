//! EXECUTE of texts: `EXECUTE {@variable | 'text'} [USING …] [WITH NO RETURN] [CONCURRENT] [WAIT]`.
//!
//! A text is one statement, which runs in place. With `WITH NO RETURN` it is a [`list`] of statements, all or nothing. With
//! `CONCURRENT` the list runs in its own session, a [`child`]. The function EXECUTE() of a module uses the same child sessions. All
//! texts run with the privileges of the account that has logged in: a text may come from a caller, so it must not get the privileges of
//! a routine's definer.

pub mod child;
pub mod list;

use self::list::SUBJECT;
use crate::plans::long_statement::Text;
use crate::procedure::SessionStatements;
use crate::result::writer::{OkInfo, ResultWriter};
use crate::result::{Failure, Outcome};
use crate::session::{Request, Session, StatementRun};
use crate::stack::{OnGrowingStack, check_stack};
use crate::state::log::Logged;
use bytes::Bytes;
use squall_parser::ast::{ExecuteText, Expr};
use squall_types::{ErrorCode, SqlError, SqlResult, Value};
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// Texts that execute texts go this deep at most (1210).
const DEPTH_MAX: u32 = 16;

impl Session {
    /// EXECUTE of a text.
    pub(crate) async fn run_execute_text(
        &mut self,
        execute: &ExecuteText,
        run: &StatementRun<'_>,
        writer: &mut dyn ResultWriter,
    ) -> Result<Outcome, Failure> {
        let text = self.executed_text(&execute.source, run).await?;
        let mut parameters = Vec::with_capacity(execute.using.len());
        for expr in &execute.using {
            parameters.push(self.evaluate(expr, run.request.sql, &[], &run.context).await?.0);
        }
        if squall_parser::placeholders(&text, &self.parse_options()).len() != parameters.len() {
            return Err(SqlError::new(ErrorCode::WrongArguments, &[&SUBJECT]).into());
        }
        if execute.concurrent {
            return Ok(self.execute_concurrently(text, parameters, execute.wait, run).await?);
        }
        if self.nesting.execute_depth == DEPTH_MAX {
            let what = format!("{SUBJECT}: texts that execute texts go {DEPTH_MAX} deep at most");
            return Err(SqlError::new(ErrorCode::WrongArguments, &[&what]).into());
        }
        check_stack()?;
        self.nesting.execute_depth += 1;
        let identity = self.enter_authenticated();
        // As a prepared statement, it has none of the program's variables.
        let locals = self.locals.take();
        // Whose statement it is stands in its context.
        let inner = run.with_context(Arc::new(self.statement_context(run.request.statement)));
        let work = async {
            match execute.no_return {
                true => self.execute_list(text, &parameters, &inner).await,
                false => self.execute_one(text, &parameters, &inner, writer).await,
            }
        };
        let result = OnGrowingStack(Box::pin(work)).await;
        run.context.take_over(&inner.context);
        self.locals = locals;
        if let Some(identity) = identity {
            self.leave_identity(identity);
        }
        self.nesting.execute_depth -= 1;
        result
    }

    /// The text that a statement names: 1210 if there is none.
    async fn executed_text(&mut self, source: &Expr, run: &StatementRun<'_>) -> SqlResult<Bytes> {
        let text = match self.evaluate(source, run.request.sql, &[], &run.context).await?.0 {
            Value::String(text) => text.into_bytes(),
            Value::Bytes(bytes) => bytes,
            _ => Vec::new(),
        };
        match text.is_empty() {
            true => Err(SqlError::new(ErrorCode::WrongArguments, &[&"Invalid Variable"])),
            false => Ok(text.into()),
        }
    }

    /// One statement as if it stood here: in the same transaction, with its result.
    async fn execute_one(
        &mut self,
        text: Bytes,
        parameters: &[Value],
        run: &StatementRun<'_>,
        writer: &mut dyn ResultWriter,
    ) -> Result<Outcome, Failure> {
        if !parameters.is_empty() {
            let (prepared, _) = self.prepare_text(&text).await?;
            return self.execute_in_place(prepared, parameters, run, writer).await;
        }
        let statement = self.only_statement(&Text::shared(&text)).await?;
        let request = Request::of_text(&statement);
        self.count_executed(request.statement)?;
        self.log_inner("Execute", Logged { sql: request.sql, executed: None });
        self.dispatch_inner(request, run, writer).await
    }

    /// A list in this session.
    async fn execute_list(
        &mut self,
        text: Bytes,
        parameters: &[Value],
        run: &StatementRun<'_>,
    ) -> Result<Outcome, Failure> {
        let end = self.run_list_as_one(&text, parameters, false).await;
        run.context.last_insert_id.store(self.previous.last_insert_id, Ordering::Relaxed);
        let affected_rows = end.affected_rows;
        end.into_result(&run.context)?;
        Ok(Outcome::Ok(OkInfo { affected_rows, ..OkInfo::default() }))
    }

    /// A list in a session of its own.
    async fn execute_concurrently(
        &mut self,
        text: Bytes,
        parameters: Vec<Value>,
        wait: bool,
        run: &StatementRun<'_>,
    ) -> SqlResult<Outcome> {
        let text = String::from_utf8(text.to_vec())
            .map_err(|_| SqlError::new(ErrorCode::WrongArguments, &[&format!("{SUBJECT}: the text is not UTF-8")]))?;
        let statements = SessionStatements::new(self);
        let context = run.context.clone();
        let affected_rows = self
            .waiting(move |_| match wait {
                true => statements.run_in_child(&text, &parameters, &context).map(|end| end.affected_rows),
                false => statements.queue_for_child(&text, &parameters, &context).map(|()| 0),
            })
            .await?;
        Ok(Outcome::Ok(OkInfo { affected_rows, ..OkInfo::default() }))
    }
}
