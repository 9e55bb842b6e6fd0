//! Hash joins whose build side may be larger than memory: Grace hash join.
//!
//! DataFusion's hash join keeps its whole build side in memory and fails when the pool is used up. Here the build side is
//! collected first. If it fits, that join runs on it. If not, both sides are distributed over files by the hash of their
//! keys, and each pair of files is joined by itself. A pair whose build side still does not fit is distributed again by
//! another hash. If one key alone has too many rows, they are joined a chunk at a time, and the other side is read once
//! for each chunk.
//!
//! Source of the idea: Kitsuregawa, Tanaka and Moto-oka, "Application of Hash to Data Base Machine and Its
//! Architecture", New Generation Computing 1 (1983).
//!
//! Reading order: [`SpillingHashJoinExec`], [`build_side`], [`buckets`] (dealing out), [`disk`] (the pairs), [`sources`].

mod buckets;
mod build_side;
mod disk;
mod sources;
#[cfg(test)]
mod tests;

use crate::rewrite::replace_each;
use build_side::{Collected, collect};
pub(super) use build_side::{compact, memory_of};
use datafusion::common::tree_node::{TreeNode, TreeNodeRecursion};
use datafusion::common::{DataFusionError, Result, Statistics, internal_err};
use datafusion::execution::memory_pool::{MemoryConsumer, MemoryLimit, MemoryReservation, UnboundedMemoryPool};
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_plan::joins::{HashJoinExec, PartitionMode};
use datafusion::physical_plan::metrics::{
    BaselineMetrics, ExecutionPlanMetricsSet, MetricsSet, RecordOutput, SpillMetrics,
};
use datafusion::physical_plan::statistics::{ChildStats, StatisticsArgs};
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::physical_plan::{
    ChildrenPropertiesMode, DisplayAs, DisplayFormatType, ExecutionPlan, ExecutionPlanProperties, PlanProperties,
    ReplaceChildrenOptions,
};
use disk::DiskJoin;
use futures::{StreamExt, TryStreamExt};
use parking_lot::Mutex;
use sources::InContextExec;
pub(super) use sources::StreamExec;
use std::fmt;
use std::sync::Arc;
use tokio::sync::OnceCell;

/// Part of the pool that the build sides of one plan take before they spill, as a divisor: sorts and groups of the same
/// plan, and other statements, need the rest.
const POOL_DIVISOR: usize = 2;
/// A build side gets this much however small its share is, if the pool has it.
const BUILD_BYTES_MIN: usize = 1 << 20;

/// Lets the hash joins of a plan spill.
///
/// Joins that treat NULL keys as NOT IN does stay as they are: a NULL in any file would decide about the rows of all.
pub fn let_joins_spill(plan: Arc<dyn ExecutionPlan>) -> Result<Arc<dyn ExecutionPlan>> {
    let mut joins = 0;
    plan.apply(|plan| {
        joins += usize::from(plan.is::<HashJoinExec>());
        Ok(TreeNodeRecursion::Continue)
    })?;
    if joins == 0 {
        return Ok(plan);
    }
    replace_each(plan, |join: &HashJoinExec| match join.null_aware {
        true => Ok(None),
        false => Ok(Some(Arc::new(SpillingHashJoinExec::new(join.builder().build()?, Share::OfPool { joins })))),
    })
}

/// The hash join that a plan's node is, spilling or not.
pub fn as_hash_join(plan: &Arc<dyn ExecutionPlan>) -> Option<&HashJoinExec> {
    plan.downcast_ref::<HashJoinExec>().or_else(|| plan.downcast_ref::<SpillingHashJoinExec>().map(|plan| &plan.join))
}

/// How much memory a build side may take.
#[derive(Clone, Copy, Debug)]
enum Share {
    /// The share of the pool for each of a plan's joins.
    OfPool {
        /// Hash joins of the plan.
        joins: usize,
    },
    /// This many bytes.
    #[cfg(test)]
    Bytes(usize),
}

impl Share {
    fn bytes(self, context: &TaskContext, partitions: usize) -> usize {
        match self {
            Share::OfPool { joins } => match context.memory_pool().memory_limit() {
                MemoryLimit::Finite(bytes) => (bytes / POOL_DIVISOR / (joins * partitions).max(1)).max(BUILD_BYTES_MIN),
                _ => usize::MAX,
            },
            #[cfg(test)]
            Share::Bytes(bytes) => bytes,
        }
    }
}

/// A hash join that spills.
#[derive(Debug)]
pub struct SpillingHashJoinExec {
    /// The join as planned: sides, keys, condition, type, projection. It never runs itself.
    join: HashJoinExec,
    share: Share,
    /// The way of each build side: one for all partitions, or one for each.
    ways: Vec<Arc<OnceCell<Way>>>,
    metrics: ExecutionPlanMetricsSet,
}

/// How a join runs, which the size of its build side decides.
enum Way {
    Memory {
        join: Arc<dyn ExecutionPlan>,
        context: Arc<TaskContext>,
        reservation: Arc<MemoryReservation>,
    },
    /// Taken by the first partition; there is nothing left for the others.
    Disk(Mutex<Option<Box<DiskJoin>>>),
    /// An error, which all partitions report.
    Failed(Arc<DataFusionError>),
}

impl fmt::Debug for Way {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Way::Memory { .. } => "Memory",
            Way::Disk(_) => "Disk",
            Way::Failed(_) => "Failed",
        })
    }
}

/// The parameters of one run of a join.
#[derive(Clone)]
struct Run {
    /// The join with sides to be replaced.
    shape: Arc<HashJoinExec>,
    context: Arc<TaskContext>,
    /// Bytes that a build side may take.
    build_bytes_max: usize,
    spill_metrics: SpillMetrics,
}

impl Run {
    /// Memory for a build side; it is the pool's that has to have it.
    fn reservation(&self) -> MemoryReservation {
        MemoryConsumer::new("HashJoinInput").register(self.context.memory_pool())
    }

    /// The environment of a join whose build side is charged already: the join would charge it again.
    fn paid_context(&self) -> Arc<TaskContext> {
        let mut resources = (*self.context.runtime_env()).clone();
        resources.memory_pool = Arc::new(UnboundedMemoryPool::default());
        let context = &self.context;
        Arc::new(TaskContext::new(
            context.task_id(),
            context.session_id(),
            context.session_config().clone(),
            context.scalar_functions().clone(),
            context.higher_order_functions().clone(),
            context.aggregate_functions().clone(),
            context.window_functions().clone(),
            Arc::new(resources),
        ))
    }

    /// The join of other sides of the same columns, in one partition.
    fn join(&self, left: Arc<dyn ExecutionPlan>, right: Arc<dyn ExecutionPlan>) -> Result<HashJoinExec> {
        self.shape
            .builder()
            .reset_state()
            .with_new_children(vec![left, right])?
            .with_partition_mode(PartitionMode::Partitioned)
            .build()
    }
}

impl SpillingHashJoinExec {
    fn new(join: HashJoinExec, share: Share) -> Self {
        let ways = match join.partition_mode() {
            PartitionMode::Partitioned => join.right().output_partitioning().partition_count(),
            _ => 1,
        };
        let ways = (0..ways).map(|_| Arc::default()).collect();
        Self { join, share, ways, metrics: ExecutionPlanMetricsSet::new() }
    }

    /// Whether every partition has its own build side.
    fn is_partitioned(&self) -> bool {
        *self.join.partition_mode() == PartitionMode::Partitioned
    }

    /// Reads the build side of a partition and decides how to go on.
    async fn find_way(&self, run: Run, partition: usize) -> Result<Way> {
        let (left_partition, right_partition) = match self.is_partitioned() {
            true => (partition, Some(partition)),
            false => (0, None),
        };
        let input = self.join.left().execute(left_partition, Arc::clone(&run.context))?;
        let right = InContextExec::new(Arc::clone(self.join.right()), right_partition, Arc::clone(&run.context));
        match collect(input, run.reservation(), run.build_bytes_max).await? {
            Collected::All(build) => {
                let (batches, reservation) = build.into_parts();
                let left = Arc::new(StreamExec::of_batches(self.join.left().schema(), batches));
                let join = match self.is_partitioned() {
                    true => run.join(left, Arc::new(right))?,
                    false => {
                        self.join.builder().reset_state().with_new_children(vec![left, Arc::new(right)])?.build()?
                    }
                };
                let context = run.paid_context();
                Ok(Way::Memory { join: Arc::new(join), context, reservation: Arc::new(reservation) })
            }
            Collected::Part(build, rest) => {
                let disk = DiskJoin::begin(run, build, rest, right.into_one_stream()?).await?;
                Ok(Way::Disk(Mutex::new(Some(Box::new(disk)))))
            }
        }
    }

    async fn rows(self: Arc<Self>, run: Run, partition: usize) -> Result<SendableRecordBatchStream> {
        let way = Arc::clone(&self.ways[if self.is_partitioned() { partition } else { 0 }]);
        let found = way.get_or_init(|| async {
            self.find_way(run, partition).await.unwrap_or_else(|error| Way::Failed(Arc::new(error)))
        });
        match found.await {
            Way::Memory { join, context, reservation } => {
                let at = if self.is_partitioned() { 0 } else { partition };
                let paid = Arc::clone(reservation);
                let rows = join.execute(at, Arc::clone(context))?.inspect(move |_| {
                    // Paid for as long as rows come.
                    let _ = &paid;
                });
                Ok(Box::pin(RecordBatchStreamAdapter::new(self.schema(), rows)))
            }
            Way::Disk(disk) => match disk.lock().take() {
                Some(disk) => disk.rows(self.schema(), self.properties().output_ordering().cloned(), self.join.fetch()),
                None => Ok(Box::pin(RecordBatchStreamAdapter::new(self.schema(), futures::stream::empty()))),
            },
            Way::Failed(error) => Err(DataFusionError::Shared(Arc::clone(error))),
        }
    }

    fn again(&self, join: HashJoinExec) -> Self {
        Self::new(join, self.share)
    }
}

impl DisplayAs for SpillingHashJoinExec {
    fn fmt_as(&self, t: DisplayFormatType, f: &mut fmt::Formatter) -> fmt::Result {
        self.join.fmt_as(t, f)
    }
}

impl ExecutionPlan for SpillingHashJoinExec {
    fn name(&self) -> &str {
        "SpillingHashJoinExec"
    }

    fn properties(&self) -> &Arc<PlanProperties> {
        self.join.properties()
    }

    fn children(&self) -> Vec<&Arc<dyn ExecutionPlan>> {
        self.join.children()
    }

    fn apply_expressions(
        &self,
        f: &mut dyn FnMut(&Arc<dyn PhysicalExpr>) -> Result<TreeNodeRecursion>,
    ) -> Result<TreeNodeRecursion> {
        self.join.apply_expressions(f)
    }

    fn replace_children(
        self: Arc<Self>,
        children: Vec<Arc<dyn ExecutionPlan>>,
        options: ReplaceChildrenOptions,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let builder = match options.children_properties {
            ChildrenPropertiesMode::Keep => self.join.builder(),
            ChildrenPropertiesMode::Recompute => self.join.builder().recompute_properties(),
        };
        Ok(Arc::new(self.again(builder.with_new_children(children)?.build()?)))
    }

    fn reset_state(self: Arc<Self>) -> Result<Arc<dyn ExecutionPlan>> {
        Ok(Arc::new(self.again(self.join.builder().reset_state().build()?)))
    }

    fn with_new_children(self: Arc<Self>, children: Vec<Arc<dyn ExecutionPlan>>) -> Result<Arc<dyn ExecutionPlan>> {
        self.replace_children(children, ReplaceChildrenOptions::new(ChildrenPropertiesMode::Recompute))
    }

    fn execute(&self, partition: usize, context: Arc<TaskContext>) -> Result<SendableRecordBatchStream> {
        if self.is_partitioned() && partition >= self.ways.len() {
            return internal_err!("a join of {} partitions has no partition {partition}", self.ways.len());
        }
        let run = Run {
            shape: Arc::new(self.join.builder().with_fetch(None).build()?),
            build_bytes_max: self.share.bytes(&context, self.ways.len()),
            context,
            spill_metrics: SpillMetrics::new(&self.metrics, partition),
        };
        let baseline = BaselineMetrics::new(&self.metrics, partition);
        let shared = Arc::new(Self {
            join: self.join.builder().build()?,
            share: self.share,
            ways: self.ways.clone(),
            metrics: self.metrics.clone(),
        });
        let rows = futures::stream::once(shared.rows(run, partition)).try_flatten();
        let rows = rows.map(move |batch| match batch {
            Ok(batch) => Ok(batch.record_output(&baseline)),
            Err(error) => Err(error),
        });
        Ok(Box::pin(RecordBatchStreamAdapter::new(self.schema(), rows)))
    }

    fn child_stats_requests(&self, partition: Option<usize>) -> Vec<ChildStats> {
        self.join.child_stats_requests(partition)
    }

    fn statistics_from_inputs(&self, inputs: &[Arc<Statistics>], args: &StatisticsArgs) -> Result<Arc<Statistics>> {
        self.join.statistics_from_inputs(inputs, args)
    }

    fn metrics(&self) -> Option<MetricsSet> {
        Some(self.metrics.clone_inner())
    }
}
