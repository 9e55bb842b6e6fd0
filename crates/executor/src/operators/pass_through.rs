//! Operators that hand the rows of their one input on: what they all have to tell DataFusion about themselves.

use datafusion::common::tree_node::TreeNodeRecursion;
use datafusion::common::{Result, Statistics, internal_err};
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_plan::execution_plan::{ChildrenPropertiesMode, ReplaceChildrenOptions};
use datafusion::physical_plan::statistics::{ChildStats, StatisticsArgs};
use datafusion::physical_plan::{DisplayAs, DisplayFormatType, ExecutionPlan, PlanProperties};
use std::fmt;
use std::sync::Arc;

/// What is done to rows on their way. There are as many of them afterwards, in the same order, unless the properties say otherwise.
pub(crate) trait PassThrough: fmt::Debug + Clone + Send + Sync + 'static {
    /// The operator's name in plans.
    const NAME: &'static str;
    /// Whether what is known of the input's rows is asked for.
    const HAS_STATISTICS: bool = true;

    /// What is known of the rows that come out.
    fn properties(input: &Arc<dyn ExecutionPlan>) -> Arc<PlanProperties> {
        Arc::clone(input.properties())
    }

    /// Expressions that it evaluates.
    fn expressions(&self) -> impl Iterator<Item = &Arc<dyn PhysicalExpr>> {
        std::iter::empty()
    }

    /// The rows of a partition: the input's, for an operator that only says something else of them.
    fn execute(
        &self,
        input: &Arc<dyn ExecutionPlan>,
        partition: usize,
        task: Arc<TaskContext>,
    ) -> Result<SendableRecordBatchStream> {
        input.execute(partition, task)
    }
}

/// An operator that does `T` to the rows of its input.
#[derive(Debug)]
pub(crate) struct PassThroughExec<T> {
    input: Arc<dyn ExecutionPlan>,
    properties: Arc<PlanProperties>,
    what: T,
}

impl<T: PassThrough> PassThroughExec<T> {
    pub fn new(input: Arc<dyn ExecutionPlan>, what: T) -> Self {
        Self { properties: T::properties(&input), input, what }
    }
}

impl<T: PassThrough> DisplayAs for PassThroughExec<T> {
    fn fmt_as(&self, _t: DisplayFormatType, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str(T::NAME)
    }
}

impl<T: PassThrough> ExecutionPlan for PassThroughExec<T> {
    fn name(&self) -> &str {
        T::NAME
    }

    fn properties(&self) -> &Arc<PlanProperties> {
        &self.properties
    }

    fn maintains_input_order(&self) -> Vec<bool> {
        vec![true]
    }

    fn benefits_from_input_partitioning(&self) -> Vec<bool> {
        vec![false]
    }

    fn children(&self) -> Vec<&Arc<dyn ExecutionPlan>> {
        vec![&self.input]
    }

    fn apply_expressions(
        &self,
        f: &mut dyn FnMut(&Arc<dyn PhysicalExpr>) -> Result<TreeNodeRecursion>,
    ) -> Result<TreeNodeRecursion> {
        for expr in self.what.expressions() {
            if f(expr)? == TreeNodeRecursion::Stop {
                return Ok(TreeNodeRecursion::Stop);
            }
        }
        Ok(TreeNodeRecursion::Continue)
    }

    fn replace_children(
        self: Arc<Self>,
        mut children: Vec<Arc<dyn ExecutionPlan>>,
        _: ReplaceChildrenOptions,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        match children.pop() {
            Some(input) => Ok(Arc::new(Self::new(input, self.what.clone()))),
            None => internal_err!("{} has one child", T::NAME),
        }
    }

    fn with_new_children(self: Arc<Self>, children: Vec<Arc<dyn ExecutionPlan>>) -> Result<Arc<dyn ExecutionPlan>> {
        self.replace_children(children, ReplaceChildrenOptions::new(ChildrenPropertiesMode::Recompute))
    }

    fn execute(&self, partition: usize, task: Arc<TaskContext>) -> Result<SendableRecordBatchStream> {
        self.what.execute(&self.input, partition, task)
    }

    fn child_stats_requests(&self, partition: Option<usize>) -> Vec<ChildStats> {
        vec![if T::HAS_STATISTICS { ChildStats::At(partition) } else { ChildStats::Skip }]
    }

    fn statistics_from_inputs(&self, inputs: &[Arc<Statistics>], _: &StatisticsArgs) -> Result<Arc<Statistics>> {
        match inputs.first() {
            Some(statistics) => Ok(Arc::clone(statistics)),
            None => internal_err!("{} has one child", T::NAME),
        }
    }
}
