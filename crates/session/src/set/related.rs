//! Variables whose values depend on each other: sets the values that InnoDB would choose, with its warnings.

use super::{Assignment, Persist};
use crate::session::Session;
use squall_server_state::check;
use squall_statement_context::StatementContext;
use squall_system_variables::{VariableDef, VariableId};
use squall_types::{ErrorCode, SqlError, SqlResult, Value};

const IO_CAPACITY: VariableId = VariableId::of("innodb_io_capacity");
const IO_CAPACITY_MAX: VariableId = VariableId::of("innodb_io_capacity_max");
const DIRTY_PAGES: VariableId = VariableId::of("innodb_max_dirty_pages_pct");
const DIRTY_PAGES_LOW: VariableId = VariableId::of("innodb_max_dirty_pages_pct_lwm");
const COMMIT_CONCURRENCY: VariableId = VariableId::of("innodb_commit_concurrency");
const WRITE_AHEAD_SIZE: VariableId = VariableId::of("innodb_log_write_ahead_size");
const DELAYED_THREADS: VariableId = VariableId::of("max_delayed_threads");
const DELAYED_THREADS_OLDER: VariableId = VariableId::of("max_insert_delayed_threads");

/// A warning (1210) with InnoDB's own text.
fn warn(context: &StatementContext, message: String) {
    context.diagnostics.warn(SqlError::with_message(ErrorCode::WrongArguments, message));
}

impl Session {
    /// 1231 for what a value may not become, told before it is moved into its range.
    pub(super) fn check_given(&self, (id, definition): (VariableId, &VariableDef), given: &Value) -> SqlResult<()> {
        if id != COMMIT_CONCURRENCY {
            return Ok(());
        }
        let is_zero = match given {
            Value::Int(number) => *number == 0,
            Value::UInt(number) => *number == 0,
            _ => return Ok(()),
        };
        // From 0 to another number or back, InnoDB's threads would count wrongly.
        let was_zero = self.value_before(COMMIT_CONCURRENCY, true, &[]) == Value::UInt(0);
        if is_zero != was_zero {
            return Err(SqlError::new(ErrorCode::WrongValueForVar, &[&definition.name, &check::text(given)]));
        }
        Ok(())
    }

    /// A checked value, adapted to the values of other variables; 1231 if they allow none.
    pub(super) fn beside_others(
        &self,
        (id, definition): (VariableId, &VariableDef),
        value: Value,
        is_global: bool,
        assignments: &mut Vec<Assignment>,
        context: &StatementContext,
    ) -> SqlResult<Value> {
        let other = |id| self.value_before(id, true, assignments);
        let bounded = |value: Value, bound: Value, side: &str, by: &str, shown: &str| {
            warn(context, format!("{} cannot be set {side} than {by}.", definition.name));
            warn(context, format!("Setting {shown} to {}", definition.show(&bound)));
            drop(value);
            Ok(bound)
        };
        let wrong = || SqlError::new(ErrorCode::WrongValueForVar, &[&definition.name, &check::text(&value)]);
        match (id, &value) {
            (IO_CAPACITY, Value::UInt(number)) => match other(IO_CAPACITY_MAX) {
                Value::UInt(max) if *number > max => {
                    bounded(value, Value::UInt(max), "higher", "innodb_io_capacity_max", definition.name)
                }
                _ => Ok(value),
            },
            (IO_CAPACITY_MAX, Value::UInt(number)) => match other(IO_CAPACITY) {
                Value::UInt(min) if *number < min => {
                    bounded(value, Value::UInt(min), "lower", "innodb_io_capacity", definition.name)
                }
                _ => Ok(value),
            },
            // The name in the second message is InnoDB's.
            (DIRTY_PAGES_LOW, Value::Double(number)) => match other(DIRTY_PAGES) {
                Value::Double(max) if *number > max => {
                    let (by, shown) = ("innodb_max_dirty_pages_pct", "innodb_max_dirty_page_pct_lwm");
                    bounded(value, Value::Double(max), "higher", by, shown)
                }
                _ => Ok(value),
            },
            (DIRTY_PAGES, Value::Double(number)) => {
                if matches!(other(DIRTY_PAGES_LOW), Value::Double(low) if *number < low) {
                    let by = "innodb_max_dirty_pages_pct_lwm";
                    warn(context, format!("{} cannot be set lower than {by}.", definition.name));
                    warn(context, format!("Lowering innodb_max_dirty_page_pct_lwm to {number:.6}"));
                    let lowered = Value::Double(*number);
                    assignments.push(Assignment::Global { id: DIRTY_PAGES_LOW, value: lowered, persist: Persist::No });
                }
                Ok(value)
            }
            (WRITE_AHEAD_SIZE, Value::UInt(number)) if !number.is_power_of_two() => {
                let power = number.next_power_of_two();
                warn(context, format!("{} should be set to power of 2, in range [512,16384]", definition.name));
                warn(context, format!("Setting {} to {power}", definition.name));
                Ok(Value::UInt(power))
            }
            (DELAYED_THREADS | DELAYED_THREADS_OLDER, Value::UInt(number)) if !is_global && *number != 0 => {
                if other(DELAYED_THREADS) == value { Ok(value) } else { Err(wrong()) }
            }
            _ => Ok(value),
        }
    }
}
