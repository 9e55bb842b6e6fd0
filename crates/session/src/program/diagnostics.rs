//! GET DIAGNOSTICS.

use crate::program_errors as errors;
use crate::result::Outcome;
use crate::session::{Session, StatementRun};
use squall_catalog::NameKey;
use squall_functions::build::literal_type;
use squall_functions::operators::coerce::to_i64;
use squall_parser::ast::{DiagnosticsItem, DiagnosticsItems, GetDiagnostics, VariableTarget};
use squall_statement_context::{StatementContext, held_by_variable};
use squall_types::condition::ConditionItem;
use squall_types::{Level, SqlError, SqlResult, Value, Warning};

impl Session {
    /// GET DIAGNOSTICS of the statement before, or of what is being handled. A statement that succeeds leaves them as they are.
    ///
    /// # Errors
    /// 1887 for STACKED where nothing is handled, 1327 for a variable that is not declared.
    pub(crate) async fn get_diagnostics(&mut self, get: &GetDiagnostics, run: &StatementRun<'_>) -> SqlResult<Outcome> {
        let handled = self.locals.as_ref().and_then(|locals| locals.lock().handled().cloned());
        let (rows, row_count) = match (get.stacked, handled) {
            (true, None) => return Err(errors::stacked_without_handler()),
            (true, Some(error)) => (vec![Warning { level: Level::Error, error }], -1),
            (false, _) => (self.warnings().to_vec(), run.context.row_count),
        };
        let of_statement = |name: &str| match name {
            "NUMBER" => Value::Int(rows.len() as i64),
            _ => Value::Int(row_count),
        };
        match &get.what {
            DiagnosticsItems::Statement(items) => {
                items.iter().try_for_each(|item| self.give(item, of_statement(&item.name), &run.context))?;
            }
            DiagnosticsItems::Condition { number, items } => {
                let (number, ty) = self.evaluate(number, run.request.sql, run.request.parameters, &run.context).await?;
                let at = to_i64(&number, &ty, &run.context)?.and_then(|number| usize::try_from(number).ok());
                let Some(condition) = at.and_then(|at| rows.get(at.checked_sub(1)?)) else {
                    // MySQL adds it to those that there are, and does not fail.
                    self.diagnostics.push(Level::Error, errors::no_such_condition());
                    self.publish_counts();
                    return Ok(Outcome::done());
                };
                items
                    .iter()
                    .try_for_each(|item| self.give(item, of_condition(&condition.error, &item.name), &run.context))?;
            }
        }
        Ok(Outcome::done())
    }

    fn give(&self, item: &DiagnosticsItem, value: Value, context: &StatementContext) -> SqlResult<()> {
        let sql_type = literal_type(&value, context.settings.collation).sql_type;
        match &item.target {
            VariableTarget::User(name) => {
                let (value, sql_type) = held_by_variable(value, sql_type);
                self.user_variables.assign(NameKey::new(name), value, sql_type)?;
            }
            VariableTarget::Local(name) => self.set_target(name, (value, &sql_type), context)?,
        }
        Ok(())
    }
}

/// An item of a condition. What only SIGNAL could have said, and has not, is empty.
fn of_condition(error: &SqlError, name: &str) -> Value {
    if let Some(said) = ConditionItem::of_name(name).and_then(|item| error.items.get(item)) {
        return Value::from(said);
    }
    let [class, _, subclass, ..] = error.sqlstate;
    let is_standard = |first: u8| matches!(first, b'0'..=b'4' | b'A'..=b'H');
    let origin = |is_iso: bool| Value::from(if is_iso { "ISO 9075" } else { "MySQL" });
    match name {
        "RETURNED_SQLSTATE" => Value::from(error.sqlstate_str()),
        "MYSQL_ERRNO" => Value::Int(error.code.into()),
        "MESSAGE_TEXT" => Value::from(error.message.as_str()),
        "CLASS_ORIGIN" => origin(is_standard(class)),
        "SUBCLASS_ORIGIN" => origin(is_standard(class) && is_standard(subclass)),
        _ => Value::from(""),
    }
}
