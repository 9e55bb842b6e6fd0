//! Arithmetic of doubles.

use super::arithmetic_op::ArithmeticOp;
use crate::wrong_value::{division_by_zero, out_of_range};
use arrow::array::{Array, ArrayRef, AsArray, Float64Array};
use arrow::compute::kernels::arity::{binary, unary};
use arrow::datatypes::Float64Type;
use squall_registry::ScalarKernel;
use squall_statement_context::StatementContext;
use squall_types::{SqlResult, Value};
use std::sync::Arc;

/// `left op right`; DIV is [`IntegerDivide`].
#[derive(Debug)]
pub struct Arithmetic {
    /// The operator.
    pub op: ArithmeticOp,
}

impl Arithmetic {
    fn compute(&self, left: f64, right: f64) -> f64 {
        let result = match self.op {
            ArithmeticOp::Add => left + right,
            ArithmeticOp::Subtract => left - right,
            ArithmeticOp::Multiply => left * right,
            ArithmeticOp::Divide | ArithmeticOp::IntegerDivide => left / right,
            ArithmeticOp::Modulo => left % right,
        };
        // One zero only: -0 would differ from 0 to Arrow's comparisons and hashes.
        result + 0.0
    }

    fn divides(&self) -> bool {
        !matches!(self.op, ArithmeticOp::Add | ArithmeticOp::Subtract | ArithmeticOp::Multiply)
    }
}

fn pair(arguments: &[Value]) -> Option<(f64, f64)> {
    match arguments {
        [Value::Double(left), Value::Double(right)] => Some((*left, *right)),
        _ => None,
    }
}

impl ScalarKernel for Arithmetic {
    fn eval(&self, arguments: &[Value], context: &StatementContext) -> SqlResult<Value> {
        let Some((left, right)) = pair(arguments) else { return Ok(Value::Null) };
        if right == 0.0 && self.divides() {
            division_by_zero(context)?;
            return Ok(Value::Null);
        }
        let result = self.compute(left, right);
        if result.is_finite() { Ok(Value::Double(result)) } else { Err(out_of_range("DOUBLE")) }
    }

    fn has_eval_arrays(&self) -> bool {
        true
    }

    fn eval_arrays(&self, arguments: &[ArrayRef], _context: &StatementContext) -> Option<SqlResult<ArrayRef>> {
        let [left, right] = arguments else { return None };
        let left: &Float64Array = left.as_primitive_opt()?;
        let right: &Float64Array = right.as_primitive_opt()?;
        let result: Float64Array = binary(left, right, |left, right| self.compute(left, right)).ok()?;
        // Overflows and divisions by zero are not finite; they are told row by row.
        all_finite(&result).then(|| Ok(Arc::new(result) as ArrayRef))
    }
}

/// Whether every value that is not NULL is finite.
fn all_finite(array: &Float64Array) -> bool {
    if array.null_count() == 0 {
        return array.values().iter().all(|value| value.is_finite());
    }
    array.iter().flatten().all(f64::is_finite)
}

/// `left DIV right`.
#[derive(Debug)]
pub struct IntegerDivide {
    /// Whether the result is unsigned.
    pub unsigned: bool,
}

impl ScalarKernel for IntegerDivide {
    fn eval(&self, arguments: &[Value], context: &StatementContext) -> SqlResult<Value> {
        let Some((left, right)) = pair(arguments) else { return Ok(Value::Null) };
        if right == 0.0 {
            division_by_zero(context)?;
            return Ok(Value::Null);
        }
        let quotient = (left / right).trunc();
        // The cast saturates, and what saturated does not narrow.
        super::integer::narrow(quotient as i128, self.unsigned)
    }
}

/// `-operand`.
#[derive(Debug)]
pub struct Negate;

impl ScalarKernel for Negate {
    fn eval(&self, arguments: &[Value], _context: &StatementContext) -> SqlResult<Value> {
        match arguments.first() {
            Some(Value::Double(value)) => Ok(Value::Double(0.0 - value)),
            _ => Ok(Value::Null),
        }
    }

    fn has_eval_arrays(&self) -> bool {
        true
    }

    fn eval_arrays(&self, arguments: &[ArrayRef], _context: &StatementContext) -> Option<SqlResult<ArrayRef>> {
        let operand: &Float64Array = arguments.first()?.as_primitive_opt()?;
        let negated = unary::<Float64Type, _, Float64Type>(operand, |value| 0.0 - value);
        Some(Ok(Arc::new(negated)))
    }
}
