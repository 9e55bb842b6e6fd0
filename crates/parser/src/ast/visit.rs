//! Walks the tree of an expression.

use super::Expr;
use super::expr_parts::{Part, push_parts};

impl Expr {
    /// What it is, not behind a [`Deep`](super::Deep).
    pub fn peeled(&self) -> &Expr {
        let mut expr = self;
        while let Expr::Deep(inner) = expr {
            expr = inner;
        }
        expr
    }

    /// Calls `found` with the expression and everything inside it, queries left out.
    pub fn visit(&self, found: &mut dyn FnMut(&Expr)) {
        // Trees are at most as deep as the parser lets them be; one level at a time keeps the stack flat.
        let mut pending = vec![Part::Expr(self)];
        while let Some(part) = pending.pop() {
            if let Part::Expr(expr) = part {
                found(expr);
                push_parts(expr, &mut pending);
            }
        }
    }
}
