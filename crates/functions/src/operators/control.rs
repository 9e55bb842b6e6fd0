//! Kernels of control-flow functions whose values must each be looked at once.

use squall_registry::{ScalarKernel, StatementContext};
use squall_types::{SqlResult, Value};

/// The first value that is not NULL.
#[derive(Debug)]
pub struct CoalesceKernel;

impl ScalarKernel for CoalesceKernel {
    fn eval(&self, arguments: &[Value], _context: &StatementContext) -> SqlResult<Value> {
        Ok(arguments.iter().find(|value| !value.is_null()).cloned().unwrap_or(Value::Null))
    }
}
