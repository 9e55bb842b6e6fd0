//! Rewrites bound expressions from the top down.

use squall_functions::expr::{BoundExpr, Case};
use std::sync::Arc;

/// Rewrites from the top: where `f` gives an expression it stands in place of the node, parts and all; where it gives
/// none the node's parts are rewritten.
pub(crate) fn rewrite_down(expr: BoundExpr, f: &mut dyn FnMut(&BoundExpr) -> Option<BoundExpr>) -> BoundExpr {
    if let Some(replacement) = f(&expr) {
        return replacement;
    }
    match expr {
        leaf @ (BoundExpr::Literal(..)
        | BoundExpr::Column(_)
        | BoundExpr::Parameter { .. }
        | BoundExpr::Opaque { .. }) => leaf,
        BoundExpr::Call(call) => {
            let mut call = Arc::unwrap_or_clone(call);
            call.args = list(std::mem::take(&mut call.args), f);
            BoundExpr::call(call)
        }
        BoundExpr::And(parts) => BoundExpr::And(list(parts, f)),
        BoundExpr::Or(parts) => BoundExpr::Or(list(parts, f)),
        BoundExpr::Not(operand) => BoundExpr::Not(boxed(*operand, f)),
        BoundExpr::Xor(left, right) => BoundExpr::Xor(boxed(*left, f), boxed(*right, f)),
        BoundExpr::IsNull { operand, negated } => BoundExpr::IsNull { operand: boxed(*operand, f), negated },
        BoundExpr::IsTruth { operand, truth, negated } => {
            BoundExpr::IsTruth { operand: boxed(*operand, f), truth, negated }
        }
        BoundExpr::Compare { op, left, right, collation } => {
            BoundExpr::Compare { op, left: boxed(*left, f), right: boxed(*right, f), collation }
        }
        BoundExpr::InList { operand, list: items, negated, collation } => {
            BoundExpr::InList { operand: boxed(*operand, f), list: list(items, f), negated, collation }
        }
        BoundExpr::Case(case) => {
            let case = Arc::unwrap_or_clone(case);
            let branches =
                case.branches.into_iter().map(|(when, then)| (rewrite_down(when, f), rewrite_down(then, f))).collect();
            let otherwise = case.otherwise.map(|otherwise| rewrite_down(otherwise, f));
            BoundExpr::Case(Arc::new(Case { branches, otherwise, ty: case.ty }))
        }
        BoundExpr::Coalesce { values, ty } => BoundExpr::Coalesce { values: list(values, f), ty },
    }
}

fn list(exprs: Vec<BoundExpr>, f: &mut dyn FnMut(&BoundExpr) -> Option<BoundExpr>) -> Vec<BoundExpr> {
    exprs.into_iter().map(|expr| rewrite_down(expr, f)).collect()
}

fn boxed(expr: BoundExpr, f: &mut dyn FnMut(&BoundExpr) -> Option<BoundExpr>) -> Box<BoundExpr> {
    Box::new(rewrite_down(expr, f))
}
