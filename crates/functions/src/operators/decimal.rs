//! Arithmetic of decimals.

use super::arithmetic_op::ArithmeticOp;
use crate::arrow_map::decimal_type;
use crate::wrong_value::{division_by_zero, out_of_range};
use arrow::array::{ArrayRef, AsArray, Decimal128Array};
use arrow::compute::kernels::arity::{binary, try_binary};
use arrow::datatypes::{DataType, Decimal128Type, Decimal256Type, i256};
use arrow::error::ArrowError;
use squall_registry::ScalarKernel;
use squall_statement_context::StatementContext;
use squall_types::{Decimal, SqlResult, Value};
use std::borrow::Cow;
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
        let (left, right) = (Numbers::of(left)?, Numbers::of(right)?);
        let factors = match self.op {
            ArithmeticOp::Add | ArithmeticOp::Subtract => [
                power_of_ten(self.scale.checked_sub(left.scale)?)?,
                power_of_ten(self.scale.checked_sub(right.scale)?)?,
            ],
            ArithmeticOp::Multiply if left.scale.checked_add(right.scale)? == self.scale => [1, 1],
            _ => return None,
        };
        // What a type of more digits holds, 128 bits may not.
        let limit = power_of_ten(self.precision).unwrap_or(i128::MAX).unsigned_abs();
        let greatest = [left.magnitude.checked_mul(factors[0])?, right.magnitude.checked_mul(factors[1])?];
        let bound = match self.op {
            ArithmeticOp::Multiply => greatest[0].checked_mul(greatest[1]),
            _ => greatest[0].checked_add(greatest[1]),
        };
        let (left, right) = (left.array.as_ref(), right.array.as_ref());
        let result: Decimal128Array = match (self.op, bound.is_some_and(|bound| bound.unsigned_abs() < limit)) {
            (ArithmeticOp::Multiply, true) if greatest.iter().all(|value| *value <= i128::from(i64::MAX)) => {
                // One multiplication of 64 bits.
                binary(left, right, |left: i128, right: i128| i128::from(left as i64) * i128::from(right as i64))
                    .ok()?
            }
            (ArithmeticOp::Multiply, true) => binary(left, right, i128::wrapping_mul).ok()?,
            (ArithmeticOp::Subtract, true) => {
                binary(left, right, |left: i128, right: i128| left * factors[0] - right * factors[1]).ok()?
            }
            (_, true) => binary(left, right, |left: i128, right: i128| left * factors[0] + right * factors[1]).ok()?,
            // Rows without a value may be what makes it look too great.
            (op, false) => try_binary(left, right, |left: i128, right: i128| {
                let result = match op {
                    ArithmeticOp::Multiply => left.checked_mul(right),
                    _ => match (left.checked_mul(factors[0]), right.checked_mul(factors[1])) {
                        (Some(left), Some(right)) if op == ArithmeticOp::Subtract => left.checked_sub(right),
                        (Some(left), Some(right)) => left.checked_add(right),
                        _ => None,
                    },
                };
                result
                    .filter(|value| value.unsigned_abs() < limit)
                    .ok_or_else(|| ArrowError::ArithmeticOverflow("DECIMAL".to_string()))
            })
            .ok()?,
        };
        Some(Ok(match decimal_type(self.precision, self.scale) {
            DataType::Decimal256(..) => {
                let wide = result.unary::<_, Decimal256Type>(i256::from_i128);
                Arc::new(wide.with_data_type(decimal_type(self.precision, self.scale)))
            }
            narrow => Arc::new(result.with_data_type(narrow)),
        }))
    }
}

fn power_of_ten(digits: u8) -> Option<i128> {
    10_i128.checked_pow(u32::from(digits))
}

/// Decimals that 128 bits hold.
struct Numbers<'a> {
    array: Cow<'a, Decimal128Array>,
    scale: u8,
    /// None is farther from zero.
    magnitude: i128,
}

impl<'a> Numbers<'a> {
    /// `None` if they are no decimals, or one needs more bits.
    fn of(array: &'a ArrayRef) -> Option<Numbers<'a>> {
        let (array, scale) = match array.data_type() {
            DataType::Decimal128(_, scale) => (Cow::Borrowed(array.as_primitive::<Decimal128Type>()), *scale),
            DataType::Decimal256(_, scale) => {
                let narrow =
                    |value: i256| value.to_i128().ok_or_else(|| ArrowError::ArithmeticOverflow("DECIMAL".to_string()));
                let wide = array.as_primitive::<Decimal256Type>();
                (Cow::Owned(wide.try_unary::<_, Decimal128Type, _>(narrow).ok()?), *scale)
            }
            _ => return None,
        };
        let (least, greatest) = array
            .values()
            .iter()
            .fold((0_i128, 0_i128), |(least, greatest), value| (least.min(*value), greatest.max(*value)));
        let magnitude = greatest.max(least.checked_neg()?);
        Some(Numbers { array, scale: u8::try_from(scale).ok()?, magnitude })
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
