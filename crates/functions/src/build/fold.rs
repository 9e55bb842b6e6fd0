//! Folding constants.

use super::ExprBuilder;
use crate::expr::{BoundExpr, EmptyRow, is_brief, is_long, is_quotient};
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
            // Quotients are not folded, because an outer operation uses more digits than a literal would have.
            BoundExpr::Call(call) => call.volatility == Volatility::Immutable && !is_quotient(&expr) && is_brief(call),
            _ => true,
        };
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

/// Literals, and quotients of them.
fn is_constant(expr: &BoundExpr) -> bool {
    match expr {
        BoundExpr::Literal(value, _) => !is_long(value),
        BoundExpr::Call(call) if is_quotient(expr) => call.args.iter().all(|arg| matches!(arg, BoundExpr::Literal(..))),
        _ => false,
    }
}
