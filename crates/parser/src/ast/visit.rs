//! Walks the tree of an expression.

use super::{Expr, JsonResponse, SequenceOperation};

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
        let mut pending = vec![self];
        while let Some(expr) = pending.pop() {
            found(expr);
            push_children(expr, &mut pending);
        }
    }
}

fn push_children<'e>(expr: &'e Expr, pending: &mut Vec<&'e Expr>) {
    match expr {
        Expr::Literal(_)
        | Expr::Column(_)
        | Expr::Placeholder(_)
        | Expr::UserVariable(_)
        | Expr::SystemVariable(_)
        | Expr::Exists(_)
        | Expr::Subquery(_)
        | Expr::Default
        | Expr::DefaultOf(_)
        | Expr::InsertValue(_) => {}
        Expr::Assign { value, .. } => pending.push(value),
        Expr::Unary { operand, .. }
        | Expr::Is { operand, .. }
        | Expr::ConvertUsing { operand, .. }
        | Expr::Collate { operand, .. }
        | Expr::Extract { operand, .. }
        | Expr::WeightString { operand, .. }
        | Expr::JsonArrow { operand, .. }
        | Expr::InLiterals { operand, .. }
        | Expr::InSubquery { operand, .. } => pending.push(operand),
        Expr::Deep(expr) => pending.push(expr),
        Expr::Chain { first, rest } => {
            pending.push(first);
            pending.extend(rest.iter().map(|(_, operand)| operand));
        }
        Expr::Binary { left, right, .. } => pending.extend([&**left, &**right]),
        Expr::And(list) | Expr::Or(list) | Expr::Row(list) | Expr::Grouping(list) => pending.extend(list),
        Expr::Between { operand, low, high, .. } => pending.extend([&**operand, &**low, &**high]),
        Expr::InList { operand, list, .. } => {
            pending.push(operand);
            pending.extend(list);
        }
        Expr::Like { operand, pattern, escape, .. } => {
            pending.extend([&**operand, &**pattern]);
            pending.extend(escape.as_deref());
        }
        Expr::Regexp { operand, pattern, .. } => pending.extend([&**operand, &**pattern]),
        Expr::MemberOf { value, array } => pending.extend([&**value, &**array]),
        Expr::Quantified { left, .. } => pending.push(left),
        Expr::Case { operand, branches, otherwise } => {
            pending.extend(operand.as_deref());
            pending.extend(branches.iter().flat_map(|branch| [&branch.when, &branch.then]));
            pending.extend(otherwise.as_deref());
        }
        Expr::Cast(cast) => pending.push(&cast.operand),
        Expr::Interval { value, .. } => pending.push(value),
        Expr::Function(call) => pending.extend(&call.arguments),
        Expr::Aggregate(call) => {
            pending.extend(&call.arguments);
            pending.extend(call.order_by.iter().map(|item| &item.expr));
        }
        Expr::Window(call) => pending.extend(&call.arguments),
        Expr::Trim { remove, operand, .. } => {
            pending.extend(remove.as_deref());
            pending.push(operand);
        }
        Expr::TimestampAdd { amount, operand, .. } => pending.extend([&**amount, &**operand]),
        Expr::TimestampDiff { from, to, .. } => pending.extend([&**from, &**to]),
        Expr::GetFormat { format, .. } => pending.push(format),
        Expr::Char { arguments, .. } => pending.extend(arguments),
        Expr::Match { against, .. } => pending.push(against),
        Expr::JsonValue(value) => {
            pending.extend([&value.document, &value.path]);
            for response in [&value.on_empty, &value.on_error].into_iter().flatten() {
                if let JsonResponse::Default(expr) = response {
                    pending.push(expr);
                }
            }
        }
        Expr::Sequence { operation, .. } => {
            if let SequenceOperation::Set(arguments) = operation {
                pending.extend(arguments);
            }
        }
    }
}
