//! ORDER BY … LIMIT whose rows may be too many for memory.
//!
//! DataFusion keeps the rows in a heap that fails when the pool is used up. It also keeps the whole batch of each long value. So here
//! it gets one part of the input at a time; the rows that it keeps are copied and begin the next part. If the wanted rows do not fit
//! into a share of the pool, a sort that spills sorts them and the rest of the input.

use crate::operators::spilling_join::{StreamExec, compact, memory_of};
use crate::rewrite::replace_each;
use arrow::record_batch::RecordBatch;
use datafusion::common::tree_node::TreeNodeRecursion;
use datafusion::common::{Result, Statistics};
use datafusion::execution::memory_pool::{MemoryConsumer, MemoryLimit};
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
    ChildrenPropertiesMode, DisplayAs, DisplayFormatType, ExecutionPlan, ExecutionPlanProperties,
    InputDistributionRequirements, PlanProperties, ReplaceChildrenOptions,
};
use futures::{StreamExt, TryStreamExt};
use parking_lot::Mutex;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

/// Part of the pool that one heap may take from the input at a time, as a divisor.
const POOL_DIVISOR: usize = 8;
/// So much may be taken however small the share is.
const BYTES_MIN: usize = 1 << 20;

/// Lets the sorts of a plan that have a limit spill.
pub fn let_limited_sorts_spill(plan: Arc<dyn ExecutionPlan>) -> Result<Arc<dyn ExecutionPlan>> {
    replace_each(plan, |sort: &SortExec| {
        let spilling = || {
            let (sort, metrics) = (Arc::new(sort.clone()), ExecutionPlanMetricsSet::new());
            Arc::new(SpillingTopExec { sort, spilling: Arc::default(), metrics }) as _
        };
        Ok(sort.fetch().is_some_and(|rows| rows > 0).then(spilling))
    })
}

/// The sort that a plan's node is, with a limit or not.
pub fn as_sort(plan: &Arc<dyn ExecutionPlan>) -> Option<&SortExec> {
    plan.downcast_ref::<SortExec>().or_else(|| plan.downcast_ref::<SpillingTopExec>().map(|plan| &*plan.sort))
}

/// A sort with a limit that spills.
#[derive(Debug)]
pub struct SpillingTopExec {
    /// The sort as planned. It never runs itself.
    sort: Arc<SortExec>,
    /// The sorts that have run in its place, for their metrics.
    spilling: Arc<Mutex<Vec<Arc<dyn ExecutionPlan>>>>,
    metrics: ExecutionPlanMetricsSet,
}

impl SpillingTopExec {
    /// Bytes of the input that one partition's heap is given at a time.
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

/// An input that is read by one heap after another.
struct Input {
    rows: SendableRecordBatchStream,
    ended: bool,
    /// Bytes of values that the current heap has been given.
    given: usize,
}

/// The parameters of one partition's run.
struct Run {
    sort: Arc<SortExec>,
    metrics: ExecutionPlanMetricsSet,
    partition: usize,
    spilling: Arc<Mutex<Vec<Arc<dyn ExecutionPlan>>>>,
    context: Arc<TaskContext>,
    bytes_max: usize,
}

impl Run {
    async fn rows(self, input: SendableRecordBatchStream) -> Result<SendableRecordBatchStream> {
        let wanted = self.sort.fetch();
        let baseline = BaselineMetrics::new(&self.metrics, self.partition);
        let reservation = MemoryConsumer::new("LimitedSortRows").register(self.context.memory_pool());
        let input = Arc::new(tokio::sync::Mutex::new(Input { rows: input, ended: false, given: 0 }));
        let mut first: Vec<RecordBatch> = Vec::new();
        let is_all = loop {
            input.lock().await.given = 0;
            // The operator that keeps them is charged for them.
            reservation.free();
            let source = self.source(std::mem::take(&mut first), &input, self.bytes_max);
            let heap = SortExec::new(self.sort.expr().clone(), source).with_fetch(wanted);
            let mut rows = heap.execute(0, Arc::clone(&self.context))?;
            while let Some(batch) = rows.next().await.transpose()? {
                first.push(compact(batch)?);
            }
            if let Some(time) = heap.metrics().and_then(|metrics| metrics.elapsed_compute()) {
                baseline.elapsed_compute().add_duration(Duration::from_nanos(time as u64));
            }
            let bytes = first.iter().map(memory_of).sum();
            let fits = bytes <= self.bytes_max / 2 && reservation.try_grow(bytes).is_ok();
            let at = input.lock().await;
            // A heap that knows that nothing better comes leaves the rest alone.
            if at.ended || at.given < self.bytes_max {
                break true;
            }
            if !fits {
                break false;
            }
        };
        let rows = if is_all {
            let paid = futures::stream::iter(first.into_iter().map(Ok)).inspect(move |_| {
                // For as long as rows come.
                let _ = &reservation;
            });
            Box::pin(RecordBatchStreamAdapter::new(self.sort.schema(), paid)) as SendableRecordBatchStream
        } else {
            reservation.free();
            let source = self.source(first, &input, usize::MAX);
            let sort: Arc<dyn ExecutionPlan> = Arc::new(SortExec::new(self.sort.expr().clone(), source));
            self.spilling.lock().push(Arc::clone(&sort));
            GlobalLimitExec::new(sort, 0, wanted).execute(0, Arc::clone(&self.context))?
        };
        let rows = rows.map(move |batch| match batch {
            Ok(batch) => Ok(batch.record_output(&baseline)),
            Err(error) => Err(error),
        });
        Ok(Box::pin(RecordBatchStreamAdapter::new(self.sort.schema(), rows)))
    }

    /// Rows that are there, and more of the input until this many bytes of it have come.
    fn source(
        &self,
        first: Vec<RecordBatch>,
        input: &Arc<tokio::sync::Mutex<Input>>,
        bytes_max: usize,
    ) -> Arc<dyn ExecutionPlan> {
        let more = futures::stream::try_unfold(Arc::clone(input), move |shared| async move {
            let mut input = shared.lock().await;
            if input.given >= bytes_max {
                return Ok(None);
            }
            let Some(batch) = input.rows.next().await.transpose()? else {
                input.ended = true;
                return Ok(None);
            };
            let batch = compact(batch)?;
            input.given = input.given.saturating_add(memory_of(&batch));
            drop(input);
            Ok(Some((batch, shared)))
        });
        let rows = futures::stream::iter(first.into_iter().map(Ok)).chain(more);
        let rows = RecordBatchStreamAdapter::new(self.sort.input().schema(), rows);
        let order = self.sort.input().equivalence_properties().clone();
        Arc::new(StreamExec::with_order(Box::pin(rows), order))
    }
}

impl DisplayAs for SpillingTopExec {
    fn fmt_as(&self, t: DisplayFormatType, f: &mut fmt::Formatter) -> fmt::Result {
        self.sort.fmt_as(t, f)
    }
}

impl ExecutionPlan for SpillingTopExec {
    fn name(&self) -> &str {
        "SpillingTopExec"
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
        let_limited_sorts_spill(sort)
    }

    fn with_new_children(self: Arc<Self>, children: Vec<Arc<dyn ExecutionPlan>>) -> Result<Arc<dyn ExecutionPlan>> {
        self.replace_children(children, ReplaceChildrenOptions::new(ChildrenPropertiesMode::Recompute))
    }

    fn reset_state(self: Arc<Self>) -> Result<Arc<dyn ExecutionPlan>> {
        let_limited_sorts_spill(Arc::clone(&self.sort).reset_state()?)
    }

    fn execute(&self, partition: usize, context: Arc<TaskContext>) -> Result<SendableRecordBatchStream> {
        let input = self.sort.input().execute(partition, Arc::clone(&context))?;
        let bytes_max = self.bytes_max(&context);
        let (sort, spilling, metrics) = (Arc::clone(&self.sort), Arc::clone(&self.spilling), self.metrics.clone());
        let run = Run { sort, metrics, partition, spilling, context, bytes_max };
        let rows = futures::stream::once(run.rows(input)).try_flatten();
        Ok(Box::pin(RecordBatchStreamAdapter::new(self.schema(), rows)))
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
