//! Arithmetic of decimals.

use super::arithmetic_op::ArithmeticOp;
use crate::arrow_map::decimal_type;
use crate::wrong_value::{division_by_zero, out_of_range};
use arrow::array::{ArrayRef, AsArray, Decimal128Array};
use arrow::compute::kernels::arity::try_binary;
use arrow::datatypes::{DataType, Decimal128Type};
use arrow::error::ArrowError;
use squall_registry::ScalarKernel;
use squall_statement_context::StatementContext;
use squall_types::{Decimal, SqlResult, Value};
use std::sync::Arc;

/// `left op right` with a result of `precision` and `scale`; DIV is [`IntegerDivide`].
#[derive(Debug)]
pub struct Arithmetic {
    /// The operator.
    pub op: ArithmeticOp,
    /// Digits of the result.
    pub precision: u8,
    /// Digits of the result after the point.
    pub scale: u8,
    /// A quotient that the expression goes on with: it has more digits than one that is shown.
    pub unrounded: bool,
}

/// Digits after the point of a quotient that the expression goes on with. MySQL keeps digits in groups of nine.
pub fn unrounded_scale(left: u8, right: u8, increment: u8) -> u8 {
    let groups = |digits: u32| digits.div_ceil(9) * 9;
    let (left, right) = (u32::from(left), u32::from(right));
    let surplus = groups(left) - left + groups(right) - right;
    let increment = u32::from(increment).saturating_sub(surplus);
    let scale = groups(groups(left) + groups(right) + increment).min(u32::from(Decimal::SCALE_MAX).max(left));
    u8::try_from(scale).unwrap_or(Decimal::SCALE_MAX)
}

fn pair(arguments: &[Value]) -> Option<(Decimal, Decimal)> {
    match arguments {
        [Value::Decimal(left), Value::Decimal(right)] => Some((*left, *right)),
        _ => None,
    }
}

impl ScalarKernel for Arithmetic {
    fn eval(&self, arguments: &[Value], context: &StatementContext) -> SqlResult<Value> {
        let Some((left, right)) = pair(arguments) else { return Ok(Value::Null) };
        let result = match self.op {
            ArithmeticOp::Add => left.checked_add(right),
            ArithmeticOp::Subtract => left.checked_sub(right),
            ArithmeticOp::Multiply => left.checked_mul(right),
            ArithmeticOp::Divide | ArithmeticOp::IntegerDivide | ArithmeticOp::Modulo if right.is_zero() => {
                division_by_zero(context)?;
                return Ok(Value::Null);
            }
            ArithmeticOp::Divide | ArithmeticOp::IntegerDivide if self.unrounded => {
                left.div_unrounded(right, context.settings.div_precision_increment)
            }
            ArithmeticOp::Divide | ArithmeticOp::IntegerDivide => {
                left.checked_div(right, context.settings.div_precision_increment)
            }
            ArithmeticOp::Modulo => left.checked_rem(right),
        };
        result
            .and_then(|result| result.rescale(self.scale))
            .filter(|result| result.precision() <= self.precision)
            .map(Value::Decimal)
            .ok_or_else(|| out_of_range("DECIMAL"))
    }

    fn has_eval_arrays(&self) -> bool {
        matches!(self.op, ArithmeticOp::Add | ArithmeticOp::Subtract | ArithmeticOp::Multiply)
    }

    fn eval_arrays(&self, arguments: &[ArrayRef], _context: &StatementContext) -> Option<SqlResult<ArrayRef>> {
        let [left, right] = arguments else { return None };
        let left: &Decimal128Array = left.as_primitive_opt::<Decimal128Type>()?;
        let right: &Decimal128Array = right.as_primitive_opt::<Decimal128Type>()?;
        let DataType::Decimal128(..) = decimal_type(self.precision, self.scale) else { return None };
        let (left_scale, right_scale) = (u8::try_from(left.scale()).ok()?, u8::try_from(right.scale()).ok()?);
        let limit = 10_i128.checked_pow(u32::from(self.precision))?;
        let within = |value: Option<i128>| {
            value
                .filter(|value| value.unsigned_abs() < limit.unsigned_abs())
                .ok_or_else(|| ArrowError::ArithmeticOverflow("DECIMAL".to_string()))
        };
        let result: Result<Decimal128Array, ArrowError> = match self.op {
            ArithmeticOp::Add | ArithmeticOp::Subtract => {
                let left_factor = 10_i128.checked_pow(u32::from(self.scale.checked_sub(left_scale)?))?;
                let right_factor = 10_i128.checked_pow(u32::from(self.scale.checked_sub(right_scale)?))?;
                let subtract = self.op == ArithmeticOp::Subtract;
                try_binary(left, right, |left: i128, right: i128| {
                    let sum = match (left.checked_mul(left_factor), right.checked_mul(right_factor)) {
                        (Some(left), Some(right)) if subtract => left.checked_sub(right),
                        (Some(left), Some(right)) => left.checked_add(right),
                        _ => None,
                    };
                    within(sum)
                })
            }
            ArithmeticOp::Multiply if left_scale + right_scale == self.scale => {
                try_binary(left, right, |left: i128, right: i128| within(left.checked_mul(right)))
            }
            _ => return None,
        };
        let result = result.ok()?.with_data_type(decimal_type(self.precision, self.scale));
        Some(Ok(Arc::new(result)))
    }
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
        if right.is_zero() {
            division_by_zero(context)?;
            return Ok(Value::Null);
        }
        let type_name = if self.unsigned { "BIGINT UNSIGNED" } else { "BIGINT" };
        let quotient = left.integer_div(right).and_then(|quotient| quotient.unscaled().to_i128());
        super::integer::narrow(quotient.ok_or_else(|| out_of_range(type_name))?, self.unsigned)
    }
}

/// `-operand`.
#[derive(Debug)]
pub struct Negate;

impl ScalarKernel for Negate {
    fn eval(&self, arguments: &[Value], _context: &StatementContext) -> SqlResult<Value> {
        match arguments.first() {
            Some(Value::Decimal(value)) => Ok(Value::Decimal(value.negate())),
            _ => Ok(Value::Null),
        }
    }

    fn has_eval_arrays(&self) -> bool {
        true
    }

    fn eval_arrays(&self, arguments: &[ArrayRef], _context: &StatementContext) -> Option<SqlResult<ArrayRef>> {
        arrow::compute::kernels::numeric::neg(arguments.first()?).ok().map(Ok)
    }
}
