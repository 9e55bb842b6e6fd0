//! Walks the direct parts of an expression, for reading and for changing.

use super::{
    AggregateCall, CaseBranch, ColumnName, Expr, FrameBound, JsonResponse, JsonValue, Query, SequenceOperation,
    WindowReference, WindowSpecification,
};

/// Makes a type of parts and a function that gives those of an expression. `$m` is `mut` or nothing: both walk the same tree.
macro_rules! expression_parts {
    ($(#[$attribute:meta])* $part:ident, $of_expr:ident, $of_aggregate:ident, $of_json_value:ident, $of_window:ident, $($m:tt)?) => {
        /// A part of an expression.
        $(#[$attribute])*
        pub(super) enum $part<'a> {
            /// An operand or argument.
            Expr(&'a $($m)? Expr),
            /// A subquery.
            Query(&'a $($m)? Query),
            /// The name of a column.
            Column(&'a $($m)? ColumnName),
        }

        /// Adds the direct parts of an expression.
        pub(super) fn $of_expr<'a>(expr: &'a $($m)? Expr, parts: &mut Vec<$part<'a>>) {
            let mut push = |expr: &'a $($m)? Expr| parts.push($part::Expr(expr));
            match expr {
                Expr::Column(name) => parts.push($part::Column(name)),
                Expr::Literal(_)
                | Expr::Placeholder(_)
                | Expr::UserVariable(_)
                | Expr::SystemVariable(_)
                | Expr::Default
                | Expr::DefaultOf(_)
                | Expr::InsertValue(_) => {}
                Expr::Exists(query) | Expr::Subquery(query) => parts.push($part::Query(query)),
                Expr::InSubquery { operand: left, query, .. } | Expr::Quantified { left, query, .. } => {
                    push(left);
                    parts.push($part::Query(query));
                }
                Expr::Unary { operand: only, .. }
                | Expr::Is { operand: only, .. }
                | Expr::ConvertUsing { operand: only, .. }
                | Expr::Collate { operand: only, .. }
                | Expr::Extract { operand: only, .. }
                | Expr::WeightString { operand: only, .. }
                | Expr::InLiterals { operand: only, .. }
                | Expr::JsonArrow { operand: only, .. }
                | Expr::Assign { value: only, .. }
                | Expr::Interval { value: only, .. }
                | Expr::GetFormat { format: only, .. } => push(only),
                Expr::Deep(expr) => push(expr),
                Expr::Chain { first, rest } => {
                    push(first);
                    rest.into_iter().for_each(|(_, operand)| push(operand));
                }
                Expr::Binary { left: first, right: second, .. }
                | Expr::Regexp { operand: first, pattern: second, .. }
                | Expr::MemberOf { value: first, array: second }
                | Expr::TimestampAdd { amount: first, operand: second, .. }
                | Expr::TimestampDiff { from: first, to: second, .. } => [first, second].into_iter().for_each(|expr| push(expr)),
                Expr::And(list)
                | Expr::Or(list)
                | Expr::Row(list)
                | Expr::Grouping(list)
                | Expr::Char { arguments: list, .. } => list.into_iter().for_each(push),
                Expr::Between { operand, low, high, .. } => [operand, low, high].into_iter().for_each(|expr| push(expr)),
                Expr::InList { operand, list, .. } => {
                    push(operand);
                    list.into_iter().for_each(push);
                }
                Expr::Like { operand, pattern, escape, .. } => {
                    push(operand);
                    push(pattern);
                    escape.into_iter().for_each(|expr| push(expr));
                }
                Expr::Case { operand, branches, otherwise } => {
                    operand.into_iter().for_each(|expr| push(expr));
                    let both = |branch: &'a $($m)? CaseBranch| [& $($m)? branch.when, & $($m)? branch.then];
                    branches.into_iter().flat_map(both).for_each(|expr| push(expr));
                    otherwise.into_iter().for_each(|expr| push(expr));
                }
                Expr::Trim { remove, operand, .. } => {
                    remove.into_iter().for_each(|expr| push(expr));
                    push(operand);
                }
                Expr::Cast(cast) => push(& $($m)? cast.operand),
                Expr::Function(call) => (& $($m)? call.arguments).into_iter().for_each(push),
                Expr::Aggregate(call) => $of_aggregate(call, parts),
                Expr::Window(call) => {
                    (& $($m)? call.arguments).into_iter().for_each(push);
                    if let WindowReference::Specification(window) = & $($m)? call.over {
                        $of_window(window, parts);
                    }
                }
                Expr::Match { columns, against, .. } => {
                    push(against);
                    columns.into_iter().for_each(|name| parts.push($part::Column(name)));
                }
                Expr::JsonValue(value) => $of_json_value(value, parts),
                Expr::Sequence { operation: SequenceOperation::Set(list), .. } => list.into_iter().for_each(push),
                Expr::Sequence { .. } => {}
            }
        }

        fn $of_json_value<'a>(value: &'a $($m)? JsonValue, parts: &mut Vec<$part<'a>>) {
            parts.push($part::Expr(& $($m)? value.document));
            parts.push($part::Expr(& $($m)? value.path));
            for response in [& $($m)? value.on_empty, & $($m)? value.on_error] {
                if let Some(JsonResponse::Default(expr)) = response {
                    parts.push($part::Expr(expr));
                }
            }
        }

        /// Adds the direct parts of a call of an aggregate.
        pub(super) fn $of_aggregate<'a>(call: &'a $($m)? AggregateCall, parts: &mut Vec<$part<'a>>) {
            for expr in & $($m)? call.arguments {
                parts.push($part::Expr(expr));
            }
            for item in & $($m)? call.order_by {
                parts.push($part::Expr(& $($m)? item.expr));
            }
            if let Some(WindowReference::Specification(window)) = & $($m)? call.over {
                $of_window(window, parts);
            }
        }

        fn $of_window<'a>(window: &'a $($m)? WindowSpecification, parts: &mut Vec<$part<'a>>) {
            for expr in & $($m)? window.partition_by {
                parts.push($part::Expr(expr));
            }
            for item in & $($m)? window.order_by {
                parts.push($part::Expr(& $($m)? item.expr));
            }
            let Some(frame) = & $($m)? window.frame else { return };
            if let FrameBound::Preceding(expr) | FrameBound::Following(expr) = & $($m)? frame.start {
                parts.push($part::Expr(expr));
            }
            if let Some(FrameBound::Preceding(expr) | FrameBound::Following(expr)) = & $($m)? frame.end {
                parts.push($part::Expr(expr));
            }
        }
    };
}

expression_parts!(
    #[expect(dead_code, reason = "readers look into no queries")]
    Part,
    push_parts,
    push_aggregate,
    push_json_value,
    push_window,
);
expression_parts!(PartMut, push_parts_mut, push_aggregate_mut, push_json_value_mut, push_window_mut, mut);
