//! Arithmetic of 64-bit integers.

use super::arithmetic_op::ArithmeticOp;
use crate::wrong_value::{division_by_zero, out_of_range};
use arrow::array::{Array, ArrayRef, ArrowPrimitiveType, AsArray, Int64Array, PrimitiveArray};
use arrow::compute::kernels::numeric;
use arrow::datatypes::{Int64Type, UInt64Type};
use squall_registry::ScalarKernel;
use squall_statement_context::StatementContext;
use squall_types::{SqlResult, Value};
use std::sync::Arc;

/// `left op right`; `/` is not done in integers.
#[derive(Debug)]
pub struct Arithmetic {
    /// The operator.
    pub op: ArithmeticOp,
    /// Whether the left operand is unsigned.
    pub left_unsigned: bool,
    /// Whether the right operand is unsigned.
    pub right_unsigned: bool,
    /// Whether the result is.
    pub unsigned: bool,
}

/// An integer of either sign, wide enough for sums, products and quotients of two of 64 bits.
pub(super) fn wide(value: &Value) -> Option<i128> {
    match value {
        Value::Int(value) => Some(i128::from(*value)),
        Value::UInt(value) => Some(i128::from(*value)),
        _ => None,
    }
}

/// A wide integer as a BIGINT or BIGINT UNSIGNED.
pub(super) fn narrow(value: i128, unsigned: bool) -> SqlResult<Value> {
    if unsigned {
        u64::try_from(value).map(Value::UInt).map_err(|_| out_of_range("BIGINT UNSIGNED"))
    } else {
        i64::try_from(value).map(Value::Int).map_err(|_| out_of_range("BIGINT"))
    }
}

impl ScalarKernel for Arithmetic {
    fn eval(&self, arguments: &[Value], context: &StatementContext) -> SqlResult<Value> {
        let [left, right] = arguments else { return Ok(Value::Null) };
        let (Some(left), Some(right)) = (wide(left), wide(right)) else { return Ok(Value::Null) };
        let result = match self.op {
            ArithmeticOp::Add => left + right,
            ArithmeticOp::Subtract => left - right,
            // The product of two 64-bit integers of either kind has at most 128 bits with its sign.
            ArithmeticOp::Multiply => left.saturating_mul(right),
            ArithmeticOp::Divide | ArithmeticOp::IntegerDivide | ArithmeticOp::Modulo if right == 0 => {
                division_by_zero(context)?;
                return Ok(Value::Null);
            }
            ArithmeticOp::Divide | ArithmeticOp::IntegerDivide => left / right,
            ArithmeticOp::Modulo => left % right,
        };
        narrow(result, self.unsigned)
    }

    fn has_eval_arrays(&self) -> bool {
        self.op != ArithmeticOp::Divide
    }

    fn eval_arrays(&self, arguments: &[ArrayRef], _context: &StatementContext) -> Option<SqlResult<ArrayRef>> {
        let [left, right] = arguments else { return None };
        let left = &with_sign(left, self.left_unsigned, self.unsigned)?;
        let right = &with_sign(right, self.right_unsigned, self.unsigned)?;
        let result = match self.op {
            ArithmeticOp::Add => numeric::add(left, right),
            ArithmeticOp::Subtract => numeric::sub(left, right),
            ArithmeticOp::Multiply => numeric::mul(left, right),
            ArithmeticOp::Divide => return None,
            ArithmeticOp::IntegerDivide | ArithmeticOp::Modulo => {
                let clean =
                    if self.unsigned { has_no_zero::<UInt64Type>(right)? } else { has_no_zero::<Int64Type>(right)? };
                if !clean {
                    return None;
                }
                if self.op == ArithmeticOp::Modulo { numeric::rem(left, right) } else { numeric::div(left, right) }
            }
        };
        // An overflow is told row by row.
        result.ok().map(Ok)
    }
}

/// Numbers with or without a sign as they are the other way; `None` if one of them has no place there.
fn with_sign(array: &ArrayRef, is_unsigned: bool, unsigned: bool) -> Option<ArrayRef> {
    Some(match (is_unsigned, unsigned) {
        (true, true) | (false, false) => Arc::clone(array),
        (false, true) => {
            let numbers = array.as_primitive_opt::<Int64Type>()?;
            let has_place = numbers.iter().flatten().all(|number| number >= 0);
            Arc::new(has_place.then(|| numbers.unary::<_, UInt64Type>(|number| number as u64))?)
        }
        (true, false) => {
            let numbers = array.as_primitive_opt::<UInt64Type>()?;
            let has_place = numbers.iter().flatten().all(|number| i64::try_from(number).is_ok());
            Arc::new(has_place.then(|| numbers.unary::<_, Int64Type>(|number| number as i64))?)
        }
    })
}

/// Whether no value is zero; a place that is NULL may hold anything, and Arrow skips it.
fn has_no_zero<T: ArrowPrimitiveType>(array: &ArrayRef) -> Option<bool>
where
    T::Native: Default + PartialEq,
{
    let array: &PrimitiveArray<T> = array.as_primitive_opt()?;
    let zero = T::Native::default();
    Some(if array.null_count() == 0 {
        !array.values().contains(&zero)
    } else {
        array.iter().all(|value| value != Some(zero))
    })
}

/// `-operand`.
#[derive(Debug)]
pub struct Negate;

impl ScalarKernel for Negate {
    fn eval(&self, arguments: &[Value], _context: &StatementContext) -> SqlResult<Value> {
        match arguments.first().and_then(wide) {
            Some(value) => narrow(-value, false),
            None => Ok(Value::Null),
        }
    }

    fn has_eval_arrays(&self) -> bool {
        true
    }

    fn eval_arrays(&self, arguments: &[ArrayRef], _context: &StatementContext) -> Option<SqlResult<ArrayRef>> {
        let operand: &Int64Array = arguments.first()?.as_primitive_opt()?;
        let negated = numeric::neg(operand).ok()?;
        Some(Ok(Arc::clone(&negated)))
    }
}
