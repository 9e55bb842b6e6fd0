//! Conditions.

use super::{BuildResult, ExprBuilder};
use crate::expr::{BoundExpr, Call, CompareOp, boolean_type};
use crate::fulltext::MatchKernel;
use crate::operators::json_compare::JsonCompareKernel;
use crate::operators::truth::TruthKernel;
use crate::typing::{display_length, string_of_length};
use squall_registry::ExprType;
use squall_types::json::{Document, Json};
use squall_types::{ErrorCode, SqlError, SqlType, Value};
use std::any::Any;
use std::sync::Arc;

impl ExprBuilder<'_> {
    /// The expression made fit to be a condition: numbers and dates are true when not zero, strings go through their
    /// number first, and documents are compared with the integer 0, so that `false` and `[]` are true. As in MySQL, which warns of that (3986).
    pub fn condition(&self, expr: BoundExpr) -> BoundExpr {
        match expr.sql_type() {
            SqlType::Json => {
                self.context.diagnostics.warn(SqlError::new(ErrorCode::JsonInBooleanContext, &[]));
                let kernel = Arc::new(JsonCompareKernel { op: CompareOp::NotEqual });
                let zero = self.literal(Value::Json(Document::from(&Json::Int(0))));
                self.immutable(CompareOp::NotEqual.symbol(), kernel, vec![expr, zero], boolean_type(true))
            }
            _ => self.truth(expr),
        }
    }

    /// The truth of a value as IF and CASE take it: documents go through their number, too.
    pub(super) fn truth(&self, expr: BoundExpr) -> BoundExpr {
        if expr.is_condition() {
            return expr;
        }
        // A small quotient is true that would be shown as 0.
        let expr = self.unrounded(expr);
        match expr.sql_type() {
            SqlType::String { .. } | SqlType::Json => {
                let ty = boolean_type(true);
                self.immutable("TRUTH", Arc::new(TruthKernel), vec![expr], ty)
            }
            SqlType::Double { .. } => unranked(expr),
            sql_type if sql_type.digit_bytes().is_some() => {
                let text = ExprType {
                    sql_type: string_of_length(display_length(&sql_type), self.context.settings.collation),
                    ..expr.ty()
                };
                self.truth(self.conversion(expr, &sql_type, text))
            }
            _ => expr,
        }
    }

    /// All of the conditions.
    pub fn and(&self, conditions: Vec<BoundExpr>) -> BoundExpr {
        let mut flat = Vec::with_capacity(conditions.len());
        for condition in conditions {
            match self.condition(condition) {
                BoundExpr::And(list) => flat.extend(list),
                // What is always true adds nothing.
                BoundExpr::Literal(value, _) if is_true(&value) => {}
                other => flat.push(other),
            }
        }
        match flat.len() {
            0 => BoundExpr::boolean(true),
            // A lone number is not 0 or 1 by itself.
            1 if flat[0].is_condition() => flat.swap_remove(0),
            _ => self.fold(BoundExpr::And(flat)),
        }
    }

    /// Any of the conditions.
    pub fn or(&self, conditions: Vec<BoundExpr>) -> BoundExpr {
        let mut flat = Vec::with_capacity(conditions.len());
        for condition in conditions {
            match self.condition(condition) {
                BoundExpr::Or(list) => flat.extend(list),
                BoundExpr::Literal(value, _) if is_false(&value) => {}
                other => flat.push(other),
            }
        }
        match flat.len() {
            0 => BoundExpr::boolean(false),
            1 if flat[0].is_condition() => flat.swap_remove(0),
            _ => self.fold(BoundExpr::Or(flat)),
        }
    }

    /// The opposite.
    pub fn not(&self, operand: BoundExpr) -> BoundExpr {
        match self.condition(operand) {
            BoundExpr::IsNull { operand, negated } => BoundExpr::IsNull { operand, negated: !negated },
            BoundExpr::IsTruth { operand, truth, negated } => BoundExpr::IsTruth { operand, truth, negated: !negated },
            BoundExpr::InList { operand, list, negated, collation } => {
                BoundExpr::InList { operand, list, negated: !negated, collation }
            }
            operand => self.fold(BoundExpr::Not(Box::new(operand))),
        }
    }

    /// Exactly one of two.
    pub fn xor(&self, left: BoundExpr, right: BoundExpr) -> BoundExpr {
        let (left, right) = (self.condition(left), self.condition(right));
        self.fold(BoundExpr::Xor(Box::new(left), Box::new(right)))
    }

    /// `IS [NOT] NULL`, `IS [NOT] UNKNOWN`.
    pub fn is_null(&self, operand: BoundExpr, negated: bool) -> BoundExpr {
        self.fold(BoundExpr::IsNull { operand: Box::new(operand), negated })
    }

    /// `IS [NOT] TRUE`, `IS [NOT] FALSE`.
    pub fn is_truth(&self, operand: BoundExpr, truth: bool, negated: bool) -> BoundExpr {
        let operand = Box::new(self.condition(operand));
        self.fold(BoundExpr::IsTruth { operand, truth, negated })
    }

    /// Conditions joined for a WHERE, where NULL and false are the same.
    pub fn filter(&self, conditions: Vec<BoundExpr>) -> BuildResult {
        Ok(self.and(conditions))
    }
}

/// MATCH as a condition: how well a row matches is not asked.
fn unranked(expr: BoundExpr) -> BoundExpr {
    let BoundExpr::Call(call) = &expr else { return expr };
    let kernel: &dyn Any = call.kernel.as_ref();
    match kernel.downcast_ref::<MatchKernel>() {
        Some(kernel) if kernel.ranked => {
            let kernel = Arc::new(kernel.unranked());
            let (args, ty) = (call.args.clone(), call.ty.clone());
            BoundExpr::call(Call::new(Arc::clone(&call.name), kernel, args, ty, call.volatility))
        }
        _ => expr,
    }
}

fn is_true(value: &Value) -> bool {
    matches!(crate::expr::truth_of(value), Ok(Some(true)))
}

fn is_false(value: &Value) -> bool {
    matches!(crate::expr::truth_of(value), Ok(Some(false)))
}
