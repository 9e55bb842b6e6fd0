//! COUNT on rows: for several arguments and for DISTINCT.

use super::codec::take;
use squall_registry::{AggregateKernel, ValueAccumulator};
use squall_statement_context::StatementContext;
use squall_types::{SqlResult, Value};
use std::sync::Arc;

/// Counts rows without a NULL among the arguments.
#[derive(Debug)]
pub struct CountKernel;

impl AggregateKernel for CountKernel {
    fn accumulator(&self, _context: Arc<StatementContext>) -> Box<dyn ValueAccumulator> {
        Box::new(Count(0))
    }
}

#[derive(Debug)]
struct Count(i64);

impl ValueAccumulator for Count {
    fn update(&mut self, arguments: &[Value]) -> SqlResult<()> {
        self.0 += i64::from(!arguments.iter().any(Value::is_null));
        Ok(())
    }

    fn evaluate(&mut self) -> SqlResult<Value> {
        Ok(Value::Int(self.0))
    }

    fn state(&mut self) -> SqlResult<Vec<u8>> {
        Ok(self.0.to_le_bytes().to_vec())
    }

    fn merge(&mut self, mut state: &[u8]) -> SqlResult<()> {
        self.0 += i64::from_le_bytes(take(&mut state)?);
        Ok(())
    }

    fn size(&self) -> usize {
        size_of::<Self>()
    }
}
