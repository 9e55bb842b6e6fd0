//! Bit operators on 64-bit integers and on byte strings.

use super::coerce;
use squall_registry::ScalarKernel;
use squall_statement_context::StatementContext;
use squall_types::{ErrorCode, SqlError, SqlResult, SqlType, Value};

/// The bit operators.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum BitOp {
    /// `&`.
    And,
    /// `|`.
    Or,
    /// `^`.
    Xor,
    /// `<<`.
    ShiftLeft,
    /// `>>`.
    ShiftRight,
    /// `~`.
    Not,
}

impl BitOp {
    /// As SQL writes it.
    pub fn symbol(self) -> &'static str {
        match self {
            BitOp::And => "&",
            BitOp::Or => "|",
            BitOp::Xor => "^",
            BitOp::ShiftLeft => "<<",
            BitOp::ShiftRight => ">>",
            BitOp::Not => "~",
        }
    }

    /// Whether it is a shift.
    pub fn shifts(self) -> bool {
        matches!(self, BitOp::ShiftLeft | BitOp::ShiftRight)
    }
}

/// Bit operators on integers, as 64 bits without sign.
#[derive(Debug)]
pub struct BitKernel {
    /// The operator.
    pub op: BitOp,
}

/// The 64 bits of an integer.
fn bits(value: &Value) -> Option<u64> {
    match value {
        Value::Int(value) => Some(*value as u64),
        Value::UInt(value) => Some(*value),
        _ => None,
    }
}

impl ScalarKernel for BitKernel {
    fn eval(&self, arguments: &[Value], _context: &StatementContext) -> SqlResult<Value> {
        let Some(left) = arguments.first().and_then(bits) else { return Ok(Value::Null) };
        if self.op == BitOp::Not {
            return Ok(Value::UInt(!left));
        }
        let Some(right) = arguments.get(1).and_then(bits) else { return Ok(Value::Null) };
        let shift = u32::try_from(right).unwrap_or(u32::MAX);
        Ok(Value::UInt(match self.op {
            BitOp::And => left & right,
            BitOp::Or => left | right,
            BitOp::Xor => left ^ right,
            BitOp::ShiftLeft => left.checked_shl(shift).unwrap_or(0),
            BitOp::ShiftRight => left.checked_shr(shift).unwrap_or(0),
            BitOp::Not => !left,
        }))
    }
}

/// A number of any kind to the 64 bits that a bit operator takes.
#[derive(Debug)]
pub struct ToBitsKernel {
    /// The type of the number.
    pub from: SqlType,
}

impl ScalarKernel for ToBitsKernel {
    fn eval(&self, arguments: &[Value], context: &StatementContext) -> SqlResult<Value> {
        let Some(value) = arguments.first() else { return Ok(Value::Null) };
        Ok(match coerce::to_integer(value, &self.from, context)? {
            Some(value) => Value::UInt(value as u64),
            None => Value::Null,
        })
    }
}

/// Bit operators on byte strings; the second operand of a shift is an integer.
#[derive(Debug)]
pub struct BitBytesKernel {
    /// The operator.
    pub op: BitOp,
}

impl ScalarKernel for BitBytesKernel {
    fn eval(&self, arguments: &[Value], _context: &StatementContext) -> SqlResult<Value> {
        let Some(Value::Bytes(left)) = arguments.first() else { return Ok(Value::Null) };
        let combine = |f: fn(u8, u8) -> u8| match arguments.get(1) {
            Some(Value::Bytes(right)) if right.len() != left.len() => Err(SqlError::with_message(
                ErrorCode::WrongArguments,
                "Binary operands of bitwise operators must be of equal length",
            )),
            Some(Value::Bytes(right)) => {
                Ok(Value::Bytes(left.iter().zip(right).map(|(left, right)| f(*left, *right)).collect()))
            }
            _ => Ok(Value::Null),
        };
        match self.op {
            BitOp::Not => Ok(Value::Bytes(left.iter().map(|byte| !byte).collect())),
            BitOp::And => combine(|left, right| left & right),
            BitOp::Or => combine(|left, right| left | right),
            BitOp::Xor => combine(|left, right| left ^ right),
            BitOp::ShiftLeft | BitOp::ShiftRight => Ok(match arguments.get(1).and_then(bits) {
                Some(count) => Value::Bytes(shifted(left, count, self.op == BitOp::ShiftLeft)),
                None => Value::Null,
            }),
        }
    }
}

/// The bytes as one long number, shifted within their length.
fn shifted(bytes: &[u8], count: u64, left: bool) -> Vec<u8> {
    let length = bytes.len();
    let mut result = vec![0; length];
    let Ok(count) = usize::try_from(count) else { return result };
    let (whole, part) = (count / 8, (count % 8) as u32);
    for (position, out) in result.iter_mut().enumerate() {
        // Each result byte has bits of two neighbours.
        let byte = |at: Option<usize>| at.and_then(|at| bytes.get(at)).copied().unwrap_or(0);
        *out = if left {
            let near = byte(position.checked_add(whole));
            let far = byte(position.checked_add(whole).and_then(|at| at.checked_add(1)));
            near << part | far.checked_shr(8 - part).unwrap_or(0)
        } else {
            let near = byte(position.checked_sub(whole));
            let far = byte(position.checked_sub(whole).and_then(|at| at.checked_sub(1)));
            near >> part | far.checked_shl(8 - part).unwrap_or(0)
        };
    }
    result
}
