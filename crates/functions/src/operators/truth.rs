//! The truth of strings and documents.

use super::coerce;
use crate::expr::truth_of;
use squall_registry::{ScalarKernel, StatementContext};
use squall_types::{SqlResult, SqlType, Value};

/// Whether a string's number is other than zero.
#[derive(Debug)]
pub struct TruthKernel;

impl ScalarKernel for TruthKernel {
    fn eval(&self, arguments: &[Value], context: &StatementContext) -> SqlResult<Value> {
        let Some(value) = arguments.first() else { return Ok(Value::Null) };
        Ok(match coerce::to_double(value, &SqlType::Null, context)? {
            Some(number) => Value::from(number != 0.0),
            None => Value::Null,
        })
    }
}

/// AND or OR of many conditions at once.
#[derive(Debug)]
pub struct ChainKernel {
    /// All of them must be true; otherwise one is enough.
    pub and: bool,
}

impl ScalarKernel for ChainKernel {
    fn eval(&self, arguments: &[Value], _context: &StatementContext) -> SqlResult<Value> {
        let mut unknown = false;
        for argument in arguments {
            match truth_of(argument)? {
                Some(truth) if truth != self.and => return Ok(Value::from(truth)),
                Some(_) => {}
                None => unknown = true,
            }
        }
        Ok(if unknown { Value::Null } else { Value::from(self.and) })
    }
}
