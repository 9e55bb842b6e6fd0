//! DataFusion's own aggregates that the star kernel runs.

use datafusion::functions_aggregate::count::Count;
use datafusion::functions_aggregate::first_last::FirstValue;
use datafusion::functions_aggregate::min_max::{Max, Min};
use datafusion::logical_expr::AggregateUDF;
use std::any::Any;

/// One of DataFusion's aggregates.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PlainAggregate {
    /// COUNT.
    Count,
    /// MIN.
    Min,
    /// MAX.
    Max,
    /// A value of any row of the group.
    FirstValue,
}

impl PlainAggregate {
    /// Which one a function is; `None` for all others.
    pub(super) fn of(function: &AggregateUDF) -> Option<PlainAggregate> {
        let function: &dyn Any = function.inner().as_ref();
        let kinds = [
            (function.is::<Count>(), PlainAggregate::Count),
            (function.is::<Min>(), PlainAggregate::Min),
            (function.is::<Max>(), PlainAggregate::Max),
            (function.is::<FirstValue>(), PlainAggregate::FirstValue),
        ];
        kinds.into_iter().find_map(|(is_it, kind)| is_it.then_some(kind))
    }
}
