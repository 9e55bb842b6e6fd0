//! Operators that pass on the rows of their one input: the properties that they all have.

use crate::operator::{Operator, execution_plan, only_input};
use datafusion::common::{Result, Statistics, internal_err};
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_plan::buffer::BufferExec;
use datafusion::physical_plan::coalesce_partitions::CoalescePartitionsExec;
use datafusion::physical_plan::coop::CooperativeExec;
use datafusion::physical_plan::limit::LocalLimitExec;
use datafusion::physical_plan::projection::ProjectionExec;
use datafusion::physical_plan::repartition::RepartitionExec;
use datafusion::physical_plan::sorts::sort_preserving_merge::SortPreservingMergeExec;
use datafusion::physical_plan::{ExecutionPlan, PlanProperties};
use std::any::Any;
use std::fmt;
use std::sync::Arc;

/// How the operator changes rows. Their number stays the same, in the same order, unless the properties say otherwise.
pub(crate) trait PassThrough: Any + fmt::Debug + Send + Sync {
    /// The operator's name in plans.
    fn label(&self) -> &str;

    /// Whether what is known of the input's rows is asked for.
    fn has_statistics(&self) -> bool {
        true
    }

    /// The properties of the output rows.
    fn properties(&self, input: &Arc<dyn ExecutionPlan>) -> Arc<PlanProperties> {
        Arc::clone(input.properties())
    }

    /// Expressions that it evaluates.
    fn expressions(&self) -> Vec<&Arc<dyn PhysicalExpr>> {
        Vec::new()
    }

    /// Whether another execution may run it, too: it keeps nothing that it has found out.
    fn runs_again(&self) -> bool {
        true
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

/// An operator that does something to the rows of its input.
#[derive(Debug)]
pub(crate) struct PassThroughExec {
    input: Arc<dyn ExecutionPlan>,
    properties: Arc<PlanProperties>,
    what: Arc<dyn PassThrough>,
}

impl PassThroughExec {
    pub fn new(input: Arc<dyn ExecutionPlan>, what: impl PassThrough) -> Self {
        Self::of(input, Arc::new(what))
    }

    fn of(input: Arc<dyn ExecutionPlan>, what: Arc<dyn PassThrough>) -> Self {
        Self { properties: what.properties(&input), input, what }
    }

    /// See [`PassThrough::runs_again`].
    pub fn runs_again(&self) -> bool {
        self.what.runs_again()
    }

    /// Whether a plan's topmost operator is one that does `T`.
    pub fn is_of<T: PassThrough>(plan: &Arc<dyn ExecutionPlan>) -> bool {
        <Self as Operator>::of(plan.as_ref()).is_some_and(|operator| (&*operator.what as &dyn Any).is::<T>())
    }
}

impl Operator for PassThroughExec {
    fn label(&self) -> &str {
        self.what.label()
    }

    fn keeps_order(&self) -> bool {
        true
    }

    fn wants_partitions(&self) -> bool {
        false
    }

    fn asks_inputs(&self) -> bool {
        self.what.has_statistics()
    }

    fn output(&self) -> &Arc<PlanProperties> {
        &self.properties
    }

    fn inputs(&self) -> Vec<&Arc<dyn ExecutionPlan>> {
        vec![&self.input]
    }

    fn expressions(&self) -> impl Iterator<Item = &Arc<dyn PhysicalExpr>> {
        self.what.expressions().into_iter()
    }

    fn over(self: Arc<Self>, inputs: Vec<Arc<dyn ExecutionPlan>>) -> Result<Arc<Self>> {
        Ok(Arc::new(Self::of(only_input(inputs)?, Arc::clone(&self.what))))
    }

    fn stream(&self, partition: usize, task: Arc<TaskContext>) -> Result<SendableRecordBatchStream> {
        self.what.execute(&self.input, partition, task)
    }

    fn estimate(&self, inputs: &[Arc<Statistics>], _: Option<usize>) -> Result<Arc<Statistics>> {
        match inputs.first() {
            Some(statistics) => Ok(Arc::clone(statistics)),
            None => internal_err!("{} has one input", self.label()),
        }
    }
}

execution_plan!(PassThroughExec);

/// Whether a plan's topmost operator only hands rows on, as users see it: it has no line in EXPLAIN.
pub fn moves_rows(plan: &dyn ExecutionPlan) -> bool {
    plan.is::<PassThroughExec>()
        || plan.is::<ProjectionExec>()
        || plan.is::<RepartitionExec>()
        || plan.is::<CoalescePartitionsExec>()
        || plan.is::<CooperativeExec>()
        || plan.is::<BufferExec>()
        || plan.is::<SortPreservingMergeExec>()
        || plan.is::<LocalLimitExec>()
}
