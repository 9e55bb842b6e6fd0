//! BIT_AND, BIT_OR, BIT_XOR.

use super::codec::{decode_value, encode_value};
use crate::operators::bits::BitOp;
use squall_registry::{AggregateKernel, ValueAccumulator};
use squall_statement_context::StatementContext;
use squall_types::{ErrorCode, SqlError, SqlResult, Value};
use std::sync::Arc;

/// Combines the bits of all values: integers of 64 bits, or byte strings of one length.
#[derive(Debug)]
pub struct BitsKernel {
    /// AND, OR or XOR.
    pub op: BitOp,
    /// Of byte strings; then their declared length, the length of the result for no rows.
    pub byte_length: Option<usize>,
}

impl AggregateKernel for BitsKernel {
    fn accumulator(&self, _context: Arc<StatementContext>) -> Box<dyn ValueAccumulator> {
        let neutral = if self.op == BitOp::And { 0xFF } else { 0 };
        let neutral = match self.byte_length {
            Some(length) => Value::Bytes(vec![neutral; length]),
            None => Value::UInt(if self.op == BitOp::And { u64::MAX } else { 0 }),
        };
        Box::new(Bits { op: self.op, neutral, value: None })
    }
}

#[derive(Debug)]
struct Bits {
    op: BitOp,
    neutral: Value,
    value: Option<Value>,
}

impl Bits {
    fn combine(&mut self, value: &Value) -> SqlResult<()> {
        let combined = match (&self.value, value) {
            (_, Value::Null) => return Ok(()),
            (None, Value::Int(value)) => Value::UInt(*value as u64),
            (None, value) => value.clone(),
            (Some(Value::UInt(left)), Value::UInt(right)) => Value::UInt(self.integer(*left, *right)),
            (Some(Value::UInt(left)), Value::Int(right)) => Value::UInt(self.integer(*left, *right as u64)),
            (Some(Value::Bytes(left)), Value::Bytes(right)) => {
                if left.len() != right.len() {
                    return Err(SqlError::with_message(
                        ErrorCode::WrongArguments,
                        "Binary operands of bitwise operators must be of equal length",
                    ));
                }
                let op = self.op;
                let byte = |(left, right): (&u8, &u8)| match op {
                    BitOp::And => left & right,
                    BitOp::Or => left | right,
                    _ => left ^ right,
                };
                Value::Bytes(left.iter().zip(right).map(byte).collect())
            }
            _ => return Err(SqlError::internal("bits of something without bits")),
        };
        self.value = Some(combined);
        Ok(())
    }

    fn integer(&self, left: u64, right: u64) -> u64 {
        match self.op {
            BitOp::And => left & right,
            BitOp::Or => left | right,
            _ => left ^ right,
        }
    }
}

impl ValueAccumulator for Bits {
    fn update(&mut self, arguments: &[Value]) -> SqlResult<()> {
        arguments.first().map_or(Ok(()), |value| self.combine(value))
    }

    fn evaluate(&mut self) -> SqlResult<Value> {
        Ok(self.value.clone().unwrap_or_else(|| self.neutral.clone()))
    }

    fn state(&mut self) -> SqlResult<Vec<u8>> {
        let mut state = Vec::new();
        encode_value(self.value.as_ref().unwrap_or(&Value::Null), &mut state);
        Ok(state)
    }

    fn merge(&mut self, mut state: &[u8]) -> SqlResult<()> {
        let value = decode_value(&mut state)?;
        self.combine(&value)
    }

    fn size(&self) -> usize {
        size_of::<Self>()
    }
}
