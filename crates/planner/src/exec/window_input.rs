//! The rows that windows gather.
//!
//! DataFusion's operator of windows over whole partitions keeps all of its input and charges nobody for it.

use datafusion::common::tree_node::{Transformed, TransformedResult, TreeNode, TreeNodeRecursion};
use datafusion::common::{Result, Statistics, internal_err};
use datafusion::execution::memory_pool::MemoryConsumer;
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_plan::execution_plan::{ChildrenPropertiesMode, ReplaceChildrenOptions};
use datafusion::physical_plan::statistics::{ChildStats, StatisticsArgs};
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::physical_plan::windows::WindowAggExec;
use datafusion::physical_plan::{DisplayAs, DisplayFormatType, ExecutionPlan, PlanProperties};
use futures::TryStreamExt;
use std::fmt;
use std::sync::Arc;

/// Charges the input of a plan's windows that keep it.
pub(crate) fn charge_windows(plan: Arc<dyn ExecutionPlan>) -> Result<Arc<dyn ExecutionPlan>> {
    plan.transform_up(|plan| {
        let Some(window) = plan.downcast_ref::<WindowAggExec>() else { return Ok(Transformed::no(plan)) };
        if window.input().is::<WindowInputExec>() {
            return Ok(Transformed::no(plan));
        }
        let input = Arc::new(WindowInputExec { input: window.input().clone() });
        let options = ReplaceChildrenOptions::new(ChildrenPropertiesMode::Recompute);
        Ok(Transformed::yes(plan.replace_children(vec![input], options)?))
    })
    .data()
}

/// Gives its input's rows, which are charged until the one that takes them is done.
#[derive(Debug)]
struct WindowInputExec {
    input: Arc<dyn ExecutionPlan>,
}

impl DisplayAs for WindowInputExec {
    fn fmt_as(&self, _t: DisplayFormatType, f: &mut fmt::Formatter) -> fmt::Result {
        write!(f, "WindowInputExec")
    }
}

impl ExecutionPlan for WindowInputExec {
    fn name(&self) -> &str {
        "WindowInputExec"
    }

    fn properties(&self) -> &Arc<PlanProperties> {
        self.input.properties()
    }

    fn maintains_input_order(&self) -> Vec<bool> {
        vec![true]
    }

    fn children(&self) -> Vec<&Arc<dyn ExecutionPlan>> {
        vec![&self.input]
    }

    fn apply_expressions(
        &self,
        _f: &mut dyn FnMut(&Arc<dyn PhysicalExpr>) -> Result<TreeNodeRecursion>,
    ) -> Result<TreeNodeRecursion> {
        Ok(TreeNodeRecursion::Continue)
    }

    fn replace_children(
        self: Arc<Self>,
        mut children: Vec<Arc<dyn ExecutionPlan>>,
        _: ReplaceChildrenOptions,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        match children.pop() {
            Some(input) => Ok(Arc::new(Self { input })),
            None => internal_err!("WindowInputExec has one child"),
        }
    }

    fn with_new_children(self: Arc<Self>, children: Vec<Arc<dyn ExecutionPlan>>) -> Result<Arc<dyn ExecutionPlan>> {
        self.replace_children(children, ReplaceChildrenOptions::new(ChildrenPropertiesMode::Recompute))
    }

    fn execute(&self, partition: usize, task: Arc<TaskContext>) -> Result<SendableRecordBatchStream> {
        let reservation = MemoryConsumer::new("rows of windows").register(task.memory_pool());
        let input = self.input.execute(partition, task)?;
        let charged = input.and_then(move |batch| {
            let charged = reservation.try_grow(batch.get_array_memory_size());
            async move { charged.map(|()| batch) }
        });
        Ok(Box::pin(RecordBatchStreamAdapter::new(self.schema(), charged)))
    }

    fn child_stats_requests(&self, partition: Option<usize>) -> Vec<ChildStats> {
        vec![ChildStats::At(partition)]
    }

    fn statistics_from_inputs(
        &self,
        input_stats: &[Arc<Statistics>],
        _args: &StatisticsArgs,
    ) -> Result<Arc<Statistics>> {
        match input_stats.first() {
            Some(statistics) => Ok(Arc::clone(statistics)),
            None => internal_err!("WindowInputExec has one child"),
        }
    }
}
