//! SIGNAL and RESIGNAL.

use crate::program_errors as errors;
use crate::result::Outcome;
use crate::session::{Session, StatementRun};
use crate::signalled::{SignalItem, is_warning, state_of, unhandled};
use squall_parser::ast::{Signal, SignalCondition};
use squall_statement_context::StatementContext;
use squall_types::{Level, SqlError, SqlResult};

impl Session {
    /// Adds the handled condition to a statement's conditions, with the conditions below it.
    fn keep_below(&self, handled: &SqlError, context: &StatementContext) {
        if let [below @ .., last] = self.diagnostics.rows()
            && last.error == *handled
        {
            below.iter().for_each(|row| context.diagnostics.push(row.level, row.error.clone()));
        }
        context.diagnostics.push(Level::Error, handled.clone());
    }

    /// SIGNAL, and RESIGNAL of what is being handled. A warning (class 01) is one; everything else is an error.
    ///
    /// # Errors
    /// The signalled error; 1645 for a RESIGNAL where nothing is handled.
    pub(crate) async fn run_signal(&mut self, signal: &Signal, run: &StatementRun<'_>) -> SqlResult<Outcome> {
        let handled = self.locals.as_ref().and_then(|locals| locals.lock().handled().cloned());
        let mut error = match (signal.condition.as_ref(), handled) {
            (Some(SignalCondition::Name(name)), None) => return Err(errors::undefined_condition(name)),
            (_, None) if signal.resignal => return Err(errors::resignal_without_handler()),
            (None, Some(handled)) => handled,
            (None, None) => return Err(errors::resignal_without_handler()),
            (Some(SignalCondition::Name(name)), _) => return Err(errors::undefined_condition(name)),
            (Some(condition), handled) => {
                let sqlstate = state_of(condition).unwrap_or(*b"45000");
                match handled.filter(|_| signal.resignal) {
                    // A new condition with the words of the one that is handled, which stays below it.
                    Some(handled) => {
                        self.keep_below(&handled, &run.context);
                        SqlError { sqlstate, code: unhandled(sqlstate).code, ..handled }
                    }
                    None => unhandled(sqlstate),
                }
            }
        };
        for (name, value) in &signal.items {
            let item = SignalItem::of(name)?;
            let (value, sql_type) = self.evaluate(value, run.request.sql, run.request.parameters, &run.context).await?;
            item.set(&mut error, &value, &sql_type, &run.context)?;
        }
        if is_warning(&error) {
            run.context.diagnostics.warn(error);
            return Ok(Outcome::done());
        }
        Err(error)
    }
}
