//! Walks and rewrites bound expressions.

use super::{BoundExpr, Call, Case};
use std::sync::Arc;

impl BoundExpr {
    /// Calls `f` on the node and then on everything below it.
    pub fn visit(&self, f: &mut dyn FnMut(&BoundExpr)) {
        f(self);
        self.for_each_child(&mut |child| child.visit(f));
    }

    /// Calls `f` on the parts of the node.
    pub fn for_each_child(&self, f: &mut dyn FnMut(&BoundExpr)) {
        match self {
            BoundExpr::Literal(..) | BoundExpr::Column(_) | BoundExpr::Parameter { .. } | BoundExpr::Opaque { .. } => {}
            BoundExpr::Call(call) => call.args.iter().for_each(f),
            BoundExpr::And(list) | BoundExpr::Or(list) => list.iter().for_each(f),
            BoundExpr::Not(operand) | BoundExpr::IsNull { operand, .. } | BoundExpr::IsTruth { operand, .. } => {
                f(operand)
            }
            BoundExpr::Xor(left, right) | BoundExpr::Compare { left, right, .. } => {
                f(left);
                f(right);
            }
            BoundExpr::InList { operand, list, .. } => {
                f(operand);
                list.iter().for_each(f);
            }
            BoundExpr::Case(case) => {
                for (when, then) in &case.branches {
                    f(when);
                    f(then);
                }
                if let Some(otherwise) = &case.otherwise {
                    f(otherwise);
                }
            }
            BoundExpr::Coalesce { values, .. } => values.iter().for_each(f),
        }
    }

    /// Rewrites the tree from the leaves up. `f` sees each node with its parts already rewritten and must keep its type.
    pub fn rewrite(self, f: &mut dyn FnMut(BoundExpr) -> BoundExpr) -> BoundExpr {
        let list = |list: Vec<BoundExpr>, f: &mut dyn FnMut(BoundExpr) -> BoundExpr| {
            list.into_iter().map(|expr| expr.rewrite(f)).collect::<Vec<_>>()
        };
        let node = match self {
            leaf @ (BoundExpr::Literal(..)
            | BoundExpr::Column(_)
            | BoundExpr::Parameter { .. }
            | BoundExpr::Opaque { .. }) => leaf,
            BoundExpr::Call(call) => {
                let call = Arc::unwrap_or_clone(call);
                let args = list(call.args, f);
                BoundExpr::call(Call { args, ..call })
            }
            BoundExpr::And(conditions) => BoundExpr::And(list(conditions, f)),
            BoundExpr::Or(conditions) => BoundExpr::Or(list(conditions, f)),
            BoundExpr::Not(operand) => BoundExpr::Not(Box::new(operand.rewrite(f))),
            BoundExpr::Xor(left, right) => BoundExpr::Xor(Box::new(left.rewrite(f)), Box::new(right.rewrite(f))),
            BoundExpr::IsNull { operand, negated } => {
                BoundExpr::IsNull { operand: Box::new(operand.rewrite(f)), negated }
            }
            BoundExpr::IsTruth { operand, truth, negated } => {
                BoundExpr::IsTruth { operand: Box::new(operand.rewrite(f)), truth, negated }
            }
            BoundExpr::Compare { op, left, right, collation } => {
                let (left, right) = (Box::new(left.rewrite(f)), Box::new(right.rewrite(f)));
                BoundExpr::Compare { op, left, right, collation }
            }
            BoundExpr::InList { operand, list: items, negated, collation } => {
                let (operand, list) = (Box::new(operand.rewrite(f)), list(items, f));
                BoundExpr::InList { operand, list, negated, collation }
            }
            BoundExpr::Case(case) => {
                let case = Arc::unwrap_or_clone(case);
                let branches =
                    case.branches.into_iter().map(|(when, then)| (when.rewrite(f), then.rewrite(f))).collect();
                let otherwise = case.otherwise.map(|otherwise| otherwise.rewrite(f));
                BoundExpr::Case(Arc::new(Case { branches, otherwise, ty: case.ty }))
            }
            BoundExpr::Coalesce { values, ty } => BoundExpr::Coalesce { values: list(values, f), ty },
        };
        f(node)
    }
}
