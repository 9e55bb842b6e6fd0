//! The counts of a finished plan for MySQL's counters of scans, sorts and temporary tables.

use crate::TableOperator;
use crate::operators::as_sort;
use datafusion::physical_plan::aggregates::{AggregateExec, AggregateMode};
use datafusion::physical_plan::union::UnionExec;
use datafusion::physical_plan::{ExecutionPlan, InputOrderMode};
use squall_accounting::PlanCounts;
use squall_statement_context::StatementContext;
use std::sync::Arc;

/// Tells a statement what its plan has done, when it is dropped.
pub(super) struct CountedPlan {
    pub plan: Arc<dyn ExecutionPlan>,
    pub context: Arc<StatementContext>,
}

impl Drop for CountedPlan {
    fn drop(&mut self) {
        self.context.planned(&plan_counts(&self.plan));
    }
}

/// The counts of a plan so far.
fn plan_counts(plan: &Arc<dyn ExecutionPlan>) -> PlanCounts {
    let mut counter = Counter { counts: PlanCounts::default(), first: true };
    counter.walk(plan);
    counter.counts
}

struct Counter {
    counts: PlanCounts,
    /// The next table is the first of its query.
    first: bool,
}

impl Counter {
    fn walk(&mut self, plan: &Arc<dyn ExecutionPlan>) {
        match TableOperator::of(plan.as_ref()) {
            Some(TableOperator::Rows(scan)) => {
                let first = self.next_table();
                match (&scan.path.ranges, scan.path.index_def(&scan.source.def)) {
                    (Some(ranges), _) if ranges.parts_constant < ranges.parts_used => self.counts.ranged(first),
                    (Some(_), _) => {}
                    (None, index) => self.counts.scanned(first, index.is_none_or(|index| index.primary)),
                }
            }
            Some(TableOperator::Star(star)) => {
                let first = self.next_table();
                self.counts.scanned(first, true);
                star.dimensions().iter().for_each(|dimension| self.walk(dimension));
            }
            Some(TableOperator::Columns(_) | TableOperator::Virtual(_)) => {
                let first = self.next_table();
                self.counts.scanned(first, true);
            }
            Some(TableOperator::DocumentValues(_) | TableOperator::Nearest(_)) => {
                let first = self.next_table();
                self.counts.scanned(first, false);
            }
            Some(TableOperator::Lookup(join)) => self.walk(join.outer()),
            None if plan.is::<UnionExec>() => {
                for part in plan.children() {
                    self.first = true;
                    self.walk(part);
                }
            }
            None => {
                plan.children().into_iter().for_each(|child| self.walk(child));
                self.count_operator(plan);
            }
        }
    }

    fn next_table(&mut self) -> bool {
        std::mem::take(&mut self.first)
    }

    fn count_operator(&mut self, plan: &Arc<dyn ExecutionPlan>) {
        let metrics = plan.metrics();
        let metric = |value: Option<usize>| value.unwrap_or(0) as u64;
        let spills = metric(metrics.as_ref().and_then(|metrics| metrics.spill_count()));
        if as_sort(plan).is_some() {
            self.counts.sorted(metric(metrics.as_ref().and_then(|metrics| metrics.output_rows())));
            self.counts.sort_merge_passes += spills;
        } else if plan
            .downcast_ref::<AggregateExec>()
            .is_some_and(|aggregate| is_hashed(aggregate) && !is_partial(aggregate))
        {
            self.counts.tmp_tables += 1;
            self.counts.tmp_disk_tables += u64::from(spills > 0);
        }
    }
}

/// Whether another aggregation takes over what this one has.
fn is_partial(aggregate: &AggregateExec) -> bool {
    matches!(aggregate.mode(), AggregateMode::Partial | AggregateMode::PartialReduce)
}

/// Whether an aggregation keeps its groups in a table rather than reading them in order.
pub fn is_hashed(aggregate: &AggregateExec) -> bool {
    !aggregate.group_expr().is_empty() && !matches!(aggregate.input_order_mode(), InputOrderMode::Sorted)
}
