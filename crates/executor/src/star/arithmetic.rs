//! Arithmetic of the arguments of aggregates, as the kernel does it: on whole numbers, DECIMALs without their point.

use crate::access::filter::scalar_value;
use datafusion::common::{Column, ScalarValue};
use datafusion::logical_expr::Expr;
use squall_column_store::star::{Expression, Operator};
use squall_functions::expr::CallUdf;
use squall_functions::operators::convert::ConvertKernel;
use squall_types::{Decimal, SqlType, Value};

/// A number that the kernel computes.
pub(super) struct Number {
    pub(super) expression: Expression,
    /// Digits after the point.
    scale: u8,
}

/// An expression, if the kernel can compute it and gives what SQL does. `column` finds the columns of the table.
pub(super) fn number<'t>(expr: &Expr, column: &impl Fn(&Column) -> Option<(usize, &'t SqlType)>) -> Option<Number> {
    match expr {
        Expr::Column(name) => {
            let (ordinal, sql_type) = column(name)?;
            let scale = match sql_type {
                SqlType::Int { .. } => 0,
                SqlType::Decimal { precision, scale, .. } if *precision <= 18 => *scale,
                _ => return None,
            };
            Some(Number { expression: Expression::Column(ordinal), scale })
        }
        Expr::Literal(scalar, _) => literal(scalar),
        Expr::ScalarFunction(function) => {
            let call = CallUdf::of(&function.func)?.call();
            if let ([operand], Some(convert)) = (function.args.as_slice(), call.kernel_as::<ConvertKernel>()) {
                return converted(number(operand, column)?, convert);
            }
            let [left, right] = function.args.as_slice() else { return None };
            let operator = match &*call.name {
                "*" => Operator::Multiply,
                "+" => Operator::Add,
                "-" => Operator::Subtract,
                _ => return None,
            };
            let (left, right) = (number(left, column)?, number(right, column)?);
            match &call.ty.sql_type {
                // Differences of unsigned numbers are errors below zero.
                SqlType::Int { unsigned: false, .. } if left.scale == 0 && right.scale == 0 => {
                    Some(Number { expression: of_integers(operator, left, right), scale: 0 })
                }
                SqlType::Decimal { precision, scale, .. } => of_decimals(operator, left, right, (*precision, *scale)),
                _ => None,
            }
        }
        _ => None,
    }
}

fn literal(scalar: &ScalarValue) -> Option<Number> {
    let (value, scale) = match scalar_value(scalar, &SqlType::BIGINT)? {
        Value::Int(value) => (value, 0),
        Value::Decimal(value) => (i64::try_from(value.unscaled().to_i128()?).ok()?, value.scale()),
        _ => return None,
    };
    Some(Number { expression: Expression::Literal(value), scale })
}

/// A whole number as a DECIMAL, which holds each of its type.
fn converted(operand: Number, convert: &ConvertKernel) -> Option<Number> {
    let SqlType::Decimal { precision, scale, .. } = &convert.to else { return None };
    /// Digits of a BIGINT UNSIGNED.
    const INTEGER_DIGITS: u8 = 20;
    let digits = match &convert.from {
        SqlType::Int { .. } => INTEGER_DIGITS,
        SqlType::Decimal { precision, scale, .. } => precision - scale,
        _ => return None,
    };
    let holds_all = precision - scale >= digits || is_of_digits(&convert.from, precision - scale);
    if holds_all { scaled(operand, *scale) } else { None }
}

/// Whether a type of integers has no more digits.
fn is_of_digits(sql_type: &SqlType, digits: u8) -> bool {
    match sql_type {
        SqlType::Int { .. } => squall_functions::typing::numeric::decimal_digits(sql_type).0 <= u32::from(digits),
        _ => false,
    }
}

/// The same number with more digits after the point.
fn scaled(number: Number, scale: u8) -> Option<Number> {
    let more = scale.checked_sub(number.scale)?;
    if more == 0 {
        return Some(number);
    }
    let factor = Box::new(Expression::Literal(10_i64.checked_pow(u32::from(more))?));
    let expression = Expression::Decimal(Operator::Multiply, Box::new(number.expression), factor);
    Some(Number { expression, scale })
}

fn of_integers(operator: Operator, left: Number, right: Number) -> Expression {
    let (left, right) = (Box::new(left.expression), Box::new(right.expression));
    match operator {
        Operator::Add => Expression::Add(left, right),
        Operator::Subtract => Expression::Subtract(left, right),
        Operator::Multiply => Expression::Multiply(left, right),
    }
}

/// Arithmetic of DECIMALs. The kernel refuses what 128 bits do not hold, so a result has at most 39 digits: it is neither out of range nor
/// rounded unless its type has fewer than its operands make.
fn of_decimals(operator: Operator, left: Number, right: Number, (precision, scale): (u8, u8)) -> Option<Number> {
    let (left, right) = match operator {
        Operator::Multiply if left.scale.checked_add(right.scale)? == scale => (left, right),
        Operator::Multiply => return None,
        Operator::Add | Operator::Subtract => (scaled(left, scale)?, scaled(right, scale)?),
    };
    if precision == Decimal::PRECISION_MAX {
        return None;
    }
    let expression = Expression::Decimal(operator, Box::new(left.expression), Box::new(right.expression));
    Some(Number { expression, scale })
}
