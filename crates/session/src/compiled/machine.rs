//! Runs compiled programs.

use super::{CompiledProgram, Ended, Operation, Paused, Variable};
use crate::converted::converted;
use crate::program_errors::case_not_found;
use crate::signalled::{SignalItem, is_warning, unhandled};
use squall_functions::expr::BoundExpr;
use squall_statement_context::StatementContext;
use squall_types::{SqlResult, SqlType, Value};

/// Where a program is.
#[derive(Debug, Default)]
pub(crate) struct Machine {
    next: usize,
}

impl Machine {
    /// Goes on for this many operations at most. `variables` are those of the program, in the order of their places; `result` is what a function
    /// returns a value for.
    ///
    /// # Errors
    /// Those of expressions and conversions; 1317 and 3024 when the statement is stopped.
    pub fn run(
        &mut self,
        program: &CompiledProgram,
        variables: &mut Vec<Value>,
        result: Option<&Variable>,
        operations_max: usize,
        context: &StatementContext,
    ) -> SqlResult<Result<Ended, Paused>> {
        for _ in 0..operations_max {
            let Some(operation) = program.operations.get(self.next) else { return Ok(Ok(Ended::AtEnd)) };
            self.next += 1;
            match operation {
                Operation::Set { slot, expr, from } => {
                    let value = expr.eval(variables.as_slice(), context)?;
                    let value = stored(value, from, &program.variables[*slot], context)?;
                    variables[*slot] = value;
                }
                Operation::Evaluate(expr) => {
                    expr.eval(variables.as_slice(), context)?;
                }
                Operation::Signal { sqlstate, items } => signal(*sqlstate, items, variables, context)?,
                Operation::Clear(slot) => variables[*slot] = Value::Null,
                Operation::Jump(to) => self.jump(*to, context)?,
                Operation::JumpUnless { condition, to } => {
                    if condition.eval_condition(variables.as_slice(), context)? != Some(true) {
                        self.jump(*to, context)?;
                    }
                }
                Operation::Return { expr, from } => {
                    let value = expr.eval(variables.as_slice(), context)?;
                    let value = match result {
                        Some(result) => stored(value, from, result, context)?,
                        None => value,
                    };
                    return Ok(Ok(Ended::Returned(value)));
                }
                Operation::CaseNotFound => return Err(case_not_found()),
            }
        }
        Ok(Err(Paused))
    }

    /// Goes elsewhere; back only if the statement is not to be stopped.
    fn jump(&mut self, to: usize, context: &StatementContext) -> SqlResult<()> {
        if to < self.next {
            context.kill.check()?;
        }
        self.next = to;
        Ok(())
    }
}

/// The condition of SIGNAL: a warning, or else an error.
fn signal(
    sqlstate: [u8; 5],
    items: &[(SignalItem, BoundExpr, SqlType)],
    variables: &[Value],
    context: &StatementContext,
) -> SqlResult<()> {
    let mut error = unhandled(sqlstate);
    for (item, value, from) in items {
        item.set(&mut error, &value.eval(variables, context)?, from, context)?;
    }
    if !is_warning(&error) {
        return Err(error);
    }
    context.diagnostics.warn(error);
    Ok(())
}

/// A value as a variable holds it.
pub(crate) fn stored(
    value: Value,
    from: &SqlType,
    variable: &Variable,
    context: &StatementContext,
) -> SqlResult<Value> {
    match (&value, from, &variable.sql_type) {
        (Value::Null, ..) => Ok(value),
        // What is computed of whole numbers is a BIGINT, most of the time.
        (Value::Int(number), SqlType::Int { .. }, SqlType::Int { width, unsigned: false, zerofill: false, .. })
            if fits(*number, width.bits()) =>
        {
            Ok(value)
        }
        (Value::Double(_), SqlType::Double { .. }, SqlType::Double { unsigned: false, digits: None, .. }) => Ok(value),
        (Value::String(_), SqlType::String { .. }, to) if from == to => Ok(value),
        _ => converted(value, from, &variable.sql_type, &variable.name, context),
    }
}

/// Whether a number is one of this many bits, its sign among them.
fn fits(number: i64, bits: u32) -> bool {
    number >> (bits - 1) == 0 || number >> (bits - 1) == -1
}
