//! Folding constants.

use super::ExprBuilder;
use crate::expr::{BoundExpr, EmptyRow, has_hidden_digits, is_brief, is_long, is_unrounded};
use squall_registry::Volatility;

impl ExprBuilder<'_> {
    /// The node's value in place of the node, if its parts are literals, it always gives the same, and it gives it
    /// without error and warning: those belong to the run of the statement.
    pub fn fold(&self, expr: BoundExpr) -> BoundExpr {
        let mut constant = true;
        expr.for_each_child(&mut |child| constant &= is_constant(child));
        let foldable = match &expr {
            BoundExpr::Literal(..) | BoundExpr::Column(_) | BoundExpr::Parameter { .. } | BoundExpr::Opaque { .. } => {
                false
            }
            BoundExpr::Call(call) => call.volatility == Volatility::Immutable && is_brief(call),
            _ => true,
        };
        // An outer operation uses more digits than a literal would have.
        let foldable = foldable && !has_hidden_digits(&expr);
        if !constant || !foldable {
            return expr;
        }
        let warnings = self.context.diagnostics.count();
        let value = expr.eval(&EmptyRow, self.context);
        let warned = self.context.diagnostics.count() != warnings;
        if warned {
            self.context.diagnostics.truncate(warnings);
        }
        match value {
            Ok(value) if !warned => {
                let mut ty = expr.ty();
                ty.nullable = value.is_null();
                BoundExpr::Literal(value, ty)
            }
            _ => expr,
        }
    }
}

/// Literals, and what of them is not folded for its digits.
fn is_constant(expr: &BoundExpr) -> bool {
    match expr {
        BoundExpr::Literal(value, _) => !is_long(value),
        expr if has_hidden_digits(expr) || is_unrounded(expr) => {
            let mut constant = true;
            expr.for_each_child(&mut |child| constant &= is_constant(child));
            constant
        }
        _ => false,
    }
}
