//! Kernels of control-flow functions that must evaluate each value once.

use crate::comparison::physical_order;
use squall_registry::ScalarKernel;
use squall_statement_context::StatementContext;
use squall_types::{CollationId, SqlResult, Value, collation};
use std::cmp::Ordering;

/// The first value that is not NULL.
#[derive(Debug)]
pub struct CoalesceKernel;

impl ScalarKernel for CoalesceKernel {
    fn eval(&self, arguments: &[Value], _context: &StatementContext) -> SqlResult<Value> {
        Ok(arguments.iter().find(|value| !value.is_null()).cloned().unwrap_or(Value::Null))
    }
}

/// The greatest or least of a row's values; NULL if any is.
#[derive(Debug)]
pub struct ExtremeOfRow {
    /// The greatest.
    pub greatest: bool,
    /// How strings compare.
    pub collation: Option<CollationId>,
}

impl ScalarKernel for ExtremeOfRow {
    fn eval(&self, arguments: &[Value], _context: &StatementContext) -> SqlResult<Value> {
        let Some((mut best, rest)) = arguments.split_first() else { return Ok(Value::Null) };
        let better = if self.greatest { Ordering::Greater } else { Ordering::Less };
        for value in rest {
            let ordering = match (value, best, self.collation) {
                (Value::String(value), Value::String(best), Some(collation)) => {
                    Some(collation::compare(collation, value, best))
                }
                _ => physical_order(value, best)?,
            };
            match ordering {
                None => return Ok(Value::Null),
                Some(ordering) if ordering == better => best = value,
                Some(_) => {}
            }
        }
        Ok(best.clone())
    }
}
