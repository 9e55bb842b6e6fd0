//! Whether more digits are known of a number than are shown: `build::unrounded` tells what of.

use super::BoundExpr;
use crate::operators::arithmetic_op::ArithmeticOp;
use crate::operators::control::ExtremeOfRow;
use crate::operators::convert::ConvertKernel;
use crate::operators::decimal;
use crate::typing::numeric::decimal_digits;
use squall_types::{Decimal, SqlType};
use std::any::Any;

/// Levels of an expression whose outermost operation may not be hidden in a call, as those around it look at it.
pub(super) const SHOWN_LEVELS_MAX: u32 = 100;

/// Places that `left op right` has of the places of its operands, unless it is a quotient.
pub(crate) fn scale_of_parts(op: ArithmeticOp, left: u8, right: u8) -> u8 {
    match op {
        ArithmeticOp::Multiply => left.saturating_add(right),
        _ => left.max(right),
    }
}

/// Whether more digits are known of a decimal than it has.
pub(crate) fn has_hidden_digits(expr: &BoundExpr) -> bool {
    let is_looked_into = || expr.depth().levels <= SHOWN_LEVELS_MAX;
    match expr {
        BoundExpr::Call(call) if matches!(call.ty.sql_type, SqlType::Decimal { .. }) => {
            let scale_of = |expr: &BoundExpr| decimal_digits(&expr.sql_type()).1;
            let kernel: &dyn Any = call.kernel.as_ref();
            if let Some(kernel) = kernel.downcast_ref::<decimal::Arithmetic>() {
                let [left, right] = call.args.as_slice() else { return false };
                let parts = || scale_of_parts(kernel.op, scale_of(left) as u8, scale_of(right) as u8);
                let is_divided = kernel.op == ArithmeticOp::Divide;
                return is_looked_into()
                    && !kernel.unrounded
                    && (is_divided || parts().min(Decimal::SCALE_MAX) > kernel.scale);
            }
            match call.args.as_slice() {
                [arg] if kernel.is::<ConvertKernel>() => {
                    matches!(arg.sql_type(), SqlType::Decimal { .. })
                        && scale_of(arg) > decimal_digits(&call.ty.sql_type).1
                }
                [arg] if kernel.is::<decimal::Negate>() || &*call.name == "ABS" => {
                    is_looked_into() && has_hidden_digits(arg)
                }
                args if kernel.is::<ExtremeOfRow>() => is_looked_into() && args.iter().any(has_hidden_digits),
                _ => false,
            }
        }
        BoundExpr::Case(case) if matches!(case.ty.sql_type, SqlType::Decimal { .. }) => {
            is_looked_into() && case.results().any(has_hidden_digits)
        }
        BoundExpr::Coalesce { values, ty } if matches!(ty.sql_type, SqlType::Decimal { .. }) => {
            is_looked_into() && values.iter().any(has_hidden_digits)
        }
        _ => false,
    }
}

/// Whether an expression has the digits that are hidden otherwise.
pub(crate) fn is_unrounded(expr: &BoundExpr) -> bool {
    let BoundExpr::Call(call) = expr else { return false };
    let kernel: &dyn Any = call.kernel.as_ref();
    kernel.downcast_ref::<decimal::Arithmetic>().is_some_and(|kernel| kernel.unrounded)
}
