//! SIGNAL and RESIGNAL.

use crate::program_errors as errors;
use crate::result::Outcome;
use crate::session::{Session, StatementRun};
use squall_functions::operators::coerce::to_text;
use squall_parser::ast::{Signal, SignalCondition};
use squall_types::{ErrorCode, SqlError, SqlResult, SqlType, Value};

/// Characters of MESSAGE_TEXT; more are cut off.
const MESSAGE_CHARACTERS_MAX: usize = 128;

impl Session {
    /// SIGNAL, and RESIGNAL of what is being handled. A warning (class 01) is one; everything else is an error.
    ///
    /// # Errors
    /// What is signalled; 1645 for a RESIGNAL where nothing is handled.
    pub(crate) async fn run_signal(&mut self, signal: &Signal, run: &StatementRun<'_>) -> SqlResult<Outcome> {
        let handled = self.locals.as_ref().and_then(|locals| locals.lock().handled().cloned());
        let mut error = match (signal.condition.as_ref(), handled) {
            (_, None) if signal.resignal => return Err(errors::resignal_without_handler()),
            (None, Some(handled)) => handled,
            (None, None) => return Err(errors::resignal_without_handler()),
            (Some(SignalCondition::Name(name)), _) => return Err(errors::undefined_condition(name)),
            (Some(SignalCondition::SqlState(state)), handled) => {
                let mut sqlstate = *b"45000";
                sqlstate.copy_from_slice(state.as_bytes().get(..5).unwrap_or(b"45000"));
                match handled.filter(|_| signal.resignal) {
                    Some(handled) => SqlError { sqlstate, ..handled },
                    None => unhandled(sqlstate),
                }
            }
        };
        for (name, value) in &signal.items {
            let (value, sql_type) = self.evaluate(value, run.request.sql, run.request.parameters, &run.context).await?;
            match &**name {
                "MESSAGE_TEXT" => {
                    let text = text_of(&value, &sql_type).ok_or_else(|| wrong_value(name, "NULL"))?;
                    error.message = text.chars().take(MESSAGE_CHARACTERS_MAX).collect();
                }
                "MYSQL_ERRNO" => {
                    let number = text_of(&value, &sql_type).unwrap_or_else(|| "NULL".to_string());
                    let code = number.parse().ok().filter(|code| (1..u16::MAX).contains(code));
                    error.code = code.ok_or_else(|| wrong_value(name, &number))?;
                }
                // Only GET DIAGNOSTICS would show them.
                other => return Err(SqlError::unsupported(format_args!("SIGNAL … SET {other}"))),
            }
        }
        if error.sqlstate.starts_with(b"01") {
            run.context.diagnostics.warn(error);
            return Ok(Outcome::done());
        }
        Err(error)
    }
}

/// The number and the words of a state that says no more.
fn unhandled(sqlstate: [u8; 5]) -> SqlError {
    let (code, what) = match &sqlstate[..2] {
        b"01" => (1642, "warning"),
        b"02" => (1643, "not found"),
        _ => (1644, "exception"),
    };
    SqlError { code, sqlstate, message: format!("Unhandled user-defined {what} condition") }
}

fn text_of(value: &Value, sql_type: &SqlType) -> Option<String> {
    to_text(value, sql_type).map(|text| text.into_owned())
}

/// ER_WRONG_VALUE_FOR_VAR.
fn wrong_value(name: &str, value: &str) -> SqlError {
    SqlError::new(ErrorCode::WrongValueForVar, &[&name, &value])
}
