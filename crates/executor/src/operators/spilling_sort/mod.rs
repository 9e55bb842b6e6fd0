//! Sorts whose rows may be too many for memory, and are sorted by their keys' bytes where they are not.
//!
//! [`in_memory`] collects the input and sorts it; if that takes more than a share of the pool, DataFusion's sort does it, which spills. A few
//! rows that are wanted of many are kept in a heap ([`first_rows`]).

mod first_rows;
mod in_memory;

use crate::rewrite::replace_each;
use datafusion::common::tree_node::TreeNodeRecursion;
use datafusion::common::{Result, Statistics};
use datafusion::execution::memory_pool::MemoryLimit;
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_plan::limit::GlobalLimitExec;
use datafusion::physical_plan::metrics::{
    BaselineMetrics, ExecutionPlanMetricsSet, MetricValue, MetricsSet, RecordOutput,
};
use datafusion::physical_plan::sorts::sort::SortExec;
use datafusion::physical_plan::statistics::{ChildStats, StatisticsArgs};
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::physical_plan::{
    ChildrenPropertiesMode, DisplayAs, DisplayFormatType, ExecutionPlan, InputDistributionRequirements, PlanProperties,
    ReplaceChildrenOptions,
};
use futures::{StreamExt, TryStreamExt};
use parking_lot::Mutex;
use std::fmt;
use std::sync::Arc;

/// Part of the pool that one sort may keep of its input, as a divisor.
const POOL_DIVISOR: usize = 8;
/// So few rows are kept in a heap.
const HEAP_ROWS_MAX: usize = 4096;
/// So much may be taken however small the share is.
const BYTES_MIN: usize = 1 << 20;

/// Puts the sorts of a plan behind nodes of their own.
pub fn let_sorts_spill(plan: Arc<dyn ExecutionPlan>) -> Result<Arc<dyn ExecutionPlan>> {
    replace_each(plan, |sort: &SortExec| {
        let spilling = || {
            let (sort, metrics) = (Arc::new(sort.clone()), ExecutionPlanMetricsSet::new());
            Arc::new(SpillingSortExec { sort, spilling: Arc::default(), metrics }) as _
        };
        Ok((sort.fetch() != Some(0)).then(spilling))
    })
}

/// The sort that a plan's node is, with a limit or not.
pub fn as_sort(plan: &Arc<dyn ExecutionPlan>) -> Option<&SortExec> {
    plan.downcast_ref::<SortExec>().or_else(|| plan.downcast_ref::<SpillingSortExec>().map(|plan| &*plan.sort))
}

/// A sort.
#[derive(Debug)]
pub struct SpillingSortExec {
    /// The sort as planned. It never runs itself.
    sort: Arc<SortExec>,
    /// The sorts that have run in its place, for their metrics.
    spilling: Arc<Mutex<Vec<Arc<dyn ExecutionPlan>>>>,
    metrics: ExecutionPlanMetricsSet,
}

impl SpillingSortExec {
    /// Bytes that one partition keeps in memory.
    fn bytes_max(&self, context: &TaskContext) -> usize {
        let partitions = self.properties().output_partitioning().partition_count().max(1);
        match context.memory_pool().memory_limit() {
            MemoryLimit::Finite(bytes) => (bytes / POOL_DIVISOR / partitions).max(BYTES_MIN),
            _ => usize::MAX,
        }
    }
}

/// Whether a sort has this metric beside the rows that it gives.
fn is_of_spilling(value: &MetricValue) -> bool {
    matches!(
        value,
        MetricValue::SpillCount(_)
            | MetricValue::SpilledBytes(_)
            | MetricValue::SpilledRows(_)
            | MetricValue::ElapsedCompute(_)
    )
}

/// The parameters of one partition's run.
struct Run {
    sort: Arc<SortExec>,
    metrics: ExecutionPlanMetricsSet,
    partition: usize,
    /// See [`SpillingSortExec::spilling`].
    spilling: Arc<Mutex<Vec<Arc<dyn ExecutionPlan>>>>,
    context: Arc<TaskContext>,
    bytes_max: usize,
}

impl Run {
    fn baseline(&self) -> BaselineMetrics {
        BaselineMetrics::new(&self.metrics, self.partition)
    }

    fn counted(&self, rows: SendableRecordBatchStream, baseline: BaselineMetrics) -> SendableRecordBatchStream {
        let rows = rows.map(move |batch| match batch {
            Ok(batch) => Ok(batch.record_output(&baseline)),
            Err(error) => Err(error),
        });
        Box::pin(RecordBatchStreamAdapter::new(self.sort.schema(), rows))
    }
}

/// The rows of a source in order, by a sort that spills.
fn rows_of_spilling(run: &Run, source: Arc<dyn ExecutionPlan>) -> Result<SendableRecordBatchStream> {
    let sort: Arc<dyn ExecutionPlan> = Arc::new(SortExec::new(run.sort.expr().clone(), source));
    run.spilling.lock().push(Arc::clone(&sort));
    let wanted = run.sort.fetch();
    let sort = if wanted.is_some() { Arc::new(GlobalLimitExec::new(sort, 0, wanted)) } else { sort };
    sort.execute(0, Arc::clone(&run.context))
}

impl DisplayAs for SpillingSortExec {
    fn fmt_as(&self, t: DisplayFormatType, f: &mut fmt::Formatter) -> fmt::Result {
        self.sort.fmt_as(t, f)
    }
}

impl ExecutionPlan for SpillingSortExec {
    fn name(&self) -> &str {
        "SpillingSortExec"
    }

    fn properties(&self) -> &Arc<PlanProperties> {
        self.sort.properties()
    }

    fn input_distribution_requirements(&self) -> InputDistributionRequirements {
        self.sort.input_distribution_requirements()
    }

    fn children(&self) -> Vec<&Arc<dyn ExecutionPlan>> {
        self.sort.children()
    }

    fn apply_expressions(
        &self,
        f: &mut dyn FnMut(&Arc<dyn PhysicalExpr>) -> Result<TreeNodeRecursion>,
    ) -> Result<TreeNodeRecursion> {
        self.sort.apply_expressions(f)
    }

    fn replace_children(
        self: Arc<Self>,
        children: Vec<Arc<dyn ExecutionPlan>>,
        options: ReplaceChildrenOptions,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let sort = Arc::clone(&self.sort).replace_children(children, options)?;
        let_sorts_spill(sort)
    }

    fn with_new_children(self: Arc<Self>, children: Vec<Arc<dyn ExecutionPlan>>) -> Result<Arc<dyn ExecutionPlan>> {
        self.replace_children(children, ReplaceChildrenOptions::new(ChildrenPropertiesMode::Recompute))
    }

    fn reset_state(self: Arc<Self>) -> Result<Arc<dyn ExecutionPlan>> {
        let_sorts_spill(Arc::clone(&self.sort).reset_state()?)
    }

    fn execute(&self, partition: usize, context: Arc<TaskContext>) -> Result<SendableRecordBatchStream> {
        let input = self.sort.input().execute(partition, Arc::clone(&context))?;
        let bytes_max = self.bytes_max(&context);
        let (sort, spilling, metrics) = (Arc::clone(&self.sort), Arc::clone(&self.spilling), self.metrics.clone());
        let run = Run { sort, metrics, partition, spilling, context, bytes_max };
        Ok(match self.sort.fetch() {
            Some(rows) if rows <= HEAP_ROWS_MAX => {
                let rows = futures::stream::once(run.first_rows(input)).try_flatten();
                Box::pin(RecordBatchStreamAdapter::new(self.schema(), rows))
            }
            _ => {
                let rows = futures::stream::once(run.all_rows(input)).try_flatten();
                Box::pin(RecordBatchStreamAdapter::new(self.schema(), rows))
            }
        })
    }

    fn metrics(&self) -> Option<MetricsSet> {
        let mut all = self.metrics.clone_inner();
        for sort in self.spilling.lock().iter() {
            let spills = sort.metrics().into_iter().flat_map(|set| set.iter().cloned().collect::<Vec<_>>());
            spills.filter(|one| is_of_spilling(one.value())).for_each(|one| all.push(one));
        }
        Some(all)
    }

    fn fetch(&self) -> Option<usize> {
        self.sort.fetch()
    }

    fn child_stats_requests(&self, partition: Option<usize>) -> Vec<ChildStats> {
        self.sort.child_stats_requests(partition)
    }

    fn statistics_from_inputs(&self, inputs: &[Arc<Statistics>], args: &StatisticsArgs) -> Result<Arc<Statistics>> {
        self.sort.statistics_from_inputs(inputs, args)
    }
}
