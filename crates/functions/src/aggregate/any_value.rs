//! ANY_VALUE: the value of the group's first row.

use super::codec::{decode_value, encode_value};
use squall_registry::{AggregateKernel, ValueAccumulator};
use squall_statement_context::StatementContext;
use squall_types::{SqlResult, Value};
use std::sync::Arc;

/// The kernel of ANY_VALUE.
#[derive(Debug)]
pub struct AnyValueKernel;

impl AggregateKernel for AnyValueKernel {
    fn accumulator(&self, _context: Arc<StatementContext>) -> Box<dyn ValueAccumulator> {
        Box::new(AnyValue(None))
    }
}

#[derive(Debug)]
struct AnyValue(Option<Value>);

impl ValueAccumulator for AnyValue {
    fn update(&mut self, arguments: &[Value]) -> SqlResult<()> {
        if self.0.is_none() {
            self.0 = arguments.first().cloned();
        }
        Ok(())
    }

    fn evaluate(&mut self) -> SqlResult<Value> {
        Ok(self.0.clone().unwrap_or(Value::Null))
    }

    fn state(&mut self) -> SqlResult<Vec<u8>> {
        let mut state = Vec::new();
        if let Some(value) = &self.0 {
            encode_value(value, &mut state);
        }
        Ok(state)
    }

    fn merge(&mut self, mut state: &[u8]) -> SqlResult<()> {
        if self.0.is_none() && !state.is_empty() {
            self.0 = Some(decode_value(&mut state)?);
        }
        Ok(())
    }

    fn size(&self) -> usize {
        match &self.0 {
            Some(Value::String(text)) => size_of::<Self>() + text.capacity(),
            Some(Value::Json(document)) => size_of::<Self>() + document.capacity(),
            Some(Value::Bytes(bytes)) => size_of::<Self>() + bytes.capacity(),
            _ => size_of::<Self>(),
        }
    }
}
