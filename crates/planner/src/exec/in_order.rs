//! The parts of a UNION one after another, as they were written: what comes out does not depend on which part is faster.

use datafusion::common::tree_node::{Transformed, TransformedResult, TreeNode, TreeNodeRecursion};
use datafusion::common::{Result, internal_datafusion_err};
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_expr::{Partitioning, PhysicalExpr};
use datafusion::physical_plan::coalesce_partitions::CoalescePartitionsExec;
use datafusion::physical_plan::limit::GlobalLimitExec;
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::physical_plan::{DisplayAs, DisplayFormatType, ExecutionPlan, PlanProperties};
use futures::TryStreamExt;
use std::fmt;
use std::sync::Arc;

/// Makes one partition of many by running them one after another.
#[derive(Debug)]
struct InOrderExec {
    input: Arc<dyn ExecutionPlan>,
    properties: Arc<PlanProperties>,
}

impl InOrderExec {
    fn new(input: Arc<dyn ExecutionPlan>) -> Self {
        // What is equal in every row stays so; what is in order within a partition is in none beyond it.
        let mut equalities = input.properties().equivalence_properties().clone();
        equalities.clear_orderings();
        equalities.clear_per_partition_constants();
        let properties = PlanProperties::new(
            equalities,
            Partitioning::UnknownPartitioning(1),
            input.properties().emission_type,
            input.properties().boundedness,
        );
        InOrderExec { input, properties: Arc::new(properties) }
    }
}

impl DisplayAs for InOrderExec {
    fn fmt_as(&self, _t: DisplayFormatType, f: &mut fmt::Formatter) -> fmt::Result {
        write!(f, "InOrderExec")
    }
}

impl ExecutionPlan for InOrderExec {
    fn name(&self) -> &str {
        "InOrderExec"
    }

    fn properties(&self) -> &Arc<PlanProperties> {
        &self.properties
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

    fn with_new_children(self: Arc<Self>, mut children: Vec<Arc<dyn ExecutionPlan>>) -> Result<Arc<dyn ExecutionPlan>> {
        let input = children.pop().ok_or_else(|| internal_datafusion_err!("rows come from somewhere"))?;
        Ok(Arc::new(InOrderExec::new(input)))
    }

    fn execute(&self, _partition: usize, context: Arc<TaskContext>) -> Result<SendableRecordBatchStream> {
        let input = Arc::clone(&self.input);
        let partitions = 0..input.properties().output_partitioning().partition_count();
        let parts = futures::stream::iter(partitions.map(Ok));
        // A part is not even begun before the one in front of it has ended.
        let rows =
            parts.and_then(move |partition| futures::future::ready(input.execute(partition, Arc::clone(&context))));
        Ok(Box::pin(RecordBatchStreamAdapter::new(self.schema(), rows.try_flatten())))
    }
}

/// Puts partitions in their order wherever a plan brings them together, and at its top.
pub fn in_order(plan: Arc<dyn ExecutionPlan>) -> Result<Arc<dyn ExecutionPlan>> {
    let plan = plan.transform_up(|plan| {
        let Some(together) = plan.downcast_ref::<CoalescePartitionsExec>() else { return Ok(Transformed::no(plan)) };
        let ordered: Arc<dyn ExecutionPlan> = Arc::new(InOrderExec::new(Arc::clone(together.input())));
        Ok(Transformed::yes(match together.fetch() {
            None => ordered,
            fetch => Arc::new(GlobalLimitExec::new(ordered, 0, fetch)),
        }))
    });
    let plan = plan.data()?;
    match plan.properties().output_partitioning().partition_count() {
        1 => Ok(plan),
        _ => Ok(Arc::new(InOrderExec::new(plan))),
    }
}
