//! Digits of quotients that are not shown.
//!
//! A quotient has `div_precision_increment` more digits than its dividend where it is shown, or kept in a column. MySQL knows more of them, in groups of
//! nine, and goes on with those: `2/3*3` is 2.0000, `FLOOR(99999/100000)` is 0, `ROUND(12495/100000, 2)` is 0.12 (`Item_func_div::decimal_op` does not
//! round, what shows a number does).

use super::ExprBuilder;
use crate::expr::{BoundExpr, Call, Case, has_hidden_digits, scale_of_parts};
use crate::operators::arithmetic_op::ArithmeticOp;
use crate::operators::control::ExtremeOfRow;
use crate::operators::convert::ConvertKernel;
use crate::operators::decimal;
use crate::typing::numeric::{decimal_digits, decimal_of_digits};
use squall_registry::ExprType;
use squall_types::{SqlResult, SqlType};
use std::any::Any;
use std::sync::Arc;

impl ExprBuilder<'_> {
    /// The expression with all digits that are known of its value, for what is made of it. Its type is another then.
    pub fn unrounded(&self, expr: BoundExpr) -> BoundExpr {
        match has_hidden_digits(&expr) {
            true => self.with_hidden_digits(&expr).unwrap_or(expr),
            false => expr,
        }
    }

    /// `None` if there are none after all.
    fn with_hidden_digits(&self, expr: &BoundExpr) -> Option<BoundExpr> {
        match expr {
            BoundExpr::Call(call) => self.call_with_hidden_digits(call),
            BoundExpr::Case(case) => {
                let results: Vec<BoundExpr> = case.results().map(|result| self.unrounded(result.clone())).collect();
                let (results, ty) = self.of_most_digits(results, &case.ty).ok()?;
                let mut results = results.into_iter();
                let branches = case.branches.iter().map(|(when, _)| Some((when.clone(), results.next()?)));
                let branches = branches.collect::<Option<Vec<_>>>()?;
                Some(BoundExpr::Case(Arc::new(Case { branches, otherwise: results.next(), ty })))
            }
            BoundExpr::Coalesce { values, ty } => {
                let values = values.iter().map(|value| self.unrounded(value.clone())).collect();
                let (values, ty) = self.of_most_digits(values, ty).ok()?;
                Some(BoundExpr::Coalesce { values, ty })
            }
            _ => None,
        }
    }

    fn call_with_hidden_digits(&self, call: &Call) -> Option<BoundExpr> {
        let kernel: &dyn Any = call.kernel.as_ref();
        if let Some(kernel) = kernel.downcast_ref::<decimal::Arithmetic>() {
            let scale = self.known_scale(kernel, &call.args);
            let integer_digits = u32::from(kernel.precision.saturating_sub(kernel.scale));
            let (precision, scale) = decimal_of_digits(integer_digits, u32::from(scale));
            let ty = ExprType { sql_type: SqlType::decimal(precision, scale), ..call.ty.clone() };
            let kernel = decimal::Arithmetic { op: kernel.op, precision, scale, unrounded: true };
            let args = call.args.clone();
            return Some(BoundExpr::call(Call::new(call.name.clone(), Arc::new(kernel), args, ty, call.volatility)));
        }
        if kernel.is::<ConvertKernel>() {
            return call.args.first().cloned();
        }
        if let Some(kernel) = kernel.downcast_ref::<ExtremeOfRow>() {
            let args = call.args.iter().map(|arg| self.unrounded(arg.clone())).collect();
            let (args, ty) = self.of_most_digits(args, &call.ty).ok()?;
            let kernel = Arc::new(ExtremeOfRow { greatest: kernel.greatest, collation: None });
            return Some(BoundExpr::call(Call::new(call.name.clone(), kernel, args, ty, call.volatility)));
        }
        let arg = self.unrounded(call.args.first()?.clone());
        if kernel.is::<decimal::Negate>() { self.negate(arg).ok() } else { self.call(&call.name, vec![arg]).ok() }
    }

    fn known_scale(&self, kernel: &decimal::Arithmetic, args: &[BoundExpr]) -> u8 {
        let scales: Vec<u8> = args.iter().map(|arg| decimal_digits(&arg.sql_type()).1 as u8).collect();
        let (Some(left), Some(right)) = (scales.first(), scales.last()) else { return kernel.scale };
        let increment = self.context.settings.div_precision_increment;
        let known = match kernel.op {
            ArithmeticOp::Divide => decimal::unrounded_scale(*left, *right, increment),
            op => scale_of_parts(op, *left, *right),
        };
        known.max(kernel.scale)
    }

    /// The values as decimals that have room for the digits of each.
    fn of_most_digits(&self, values: Vec<BoundExpr>, shown: &ExprType) -> SqlResult<(Vec<BoundExpr>, ExprType)> {
        let digits = values.iter().map(|value| decimal_digits(&value.sql_type()));
        let (integer, scale) =
            digits.fold(decimal_digits(&shown.sql_type), |most, digits| (most.0.max(digits.0), most.1.max(digits.1)));
        let (precision, scale) = decimal_of_digits(integer, scale);
        let ty = ExprType { sql_type: SqlType::decimal(precision, scale), ..shown.clone() };
        let values: SqlResult<Vec<_>> = values.into_iter().map(|value| self.convert(value, &ty)).collect();
        Ok((values?, ty))
    }
}
