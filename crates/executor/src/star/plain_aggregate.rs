//! Aggregates without a kernel of their own that the star kernel runs.

use datafusion::functions_aggregate::count::Count;
use datafusion::functions_aggregate::min_max::{Max, Min};
use datafusion::logical_expr::AggregateUDF;
use squall_functions::aggregate::any_of_group::AnyOfGroup;
use std::any::Any;

/// One of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PlainAggregate {
    /// COUNT.
    Count,
    /// MIN.
    Min,
    /// MAX.
    Max,
    /// The value of any row of the group.
    AnyValue,
    /// The value of all rows of the group.
    Determined,
}

impl PlainAggregate {
    /// Which one a function is; `None` for all others.
    pub(super) fn of(function: &AggregateUDF) -> Option<PlainAggregate> {
        if let Some(any) = AnyOfGroup::of(function) {
            return Some(if any.is_determined() { PlainAggregate::Determined } else { PlainAggregate::AnyValue });
        }
        let function: &dyn Any = function.inner().as_ref();
        let kinds = [
            (function.is::<Count>(), PlainAggregate::Count),
            (function.is::<Min>(), PlainAggregate::Min),
            (function.is::<Max>(), PlainAggregate::Max),
        ];
        kinds.into_iter().find_map(|(is_it, kind)| is_it.then_some(kind))
    }
}
