//! Gives the parts of a UNION one after another, as they were written, so the order of rows does not depend on which part is faster.

use crate::operators::pass_through::{PassThrough, PassThroughExec};
use datafusion::common::Result;
use datafusion::common::tree_node::{Transformed, TransformedResult, TreeNode};
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_expr::Partitioning;
use datafusion::physical_plan::coalesce_partitions::CoalescePartitionsExec;
use datafusion::physical_plan::limit::GlobalLimitExec;
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::physical_plan::{ExecutionPlan, PlanProperties};
use futures::TryStreamExt;
use std::sync::Arc;

/// Makes one partition of many by running them one after another.
#[derive(Clone, Debug)]
struct InOrder;

impl PassThrough for InOrder {
    fn label(&self) -> &str {
        "InOrderExec"
    }

    fn properties(&self, input: &Arc<dyn ExecutionPlan>) -> Arc<PlanProperties> {
        // Constants stay constant. An order within a partition is no order of the output.
        let mut equalities = input.properties().equivalence_properties().clone();
        equalities.clear_orderings();
        equalities.clear_per_partition_constants();
        Arc::new(PlanProperties::new(
            equalities,
            Partitioning::UnknownPartitioning(1),
            input.properties().emission_type,
            input.properties().boundedness,
        ))
    }

    fn execute(
        &self,
        input: &Arc<dyn ExecutionPlan>,
        _partition: usize,
        task: Arc<TaskContext>,
    ) -> Result<SendableRecordBatchStream> {
        let (schema, input) = (input.schema(), Arc::clone(input));
        let partitions = 0..input.properties().output_partitioning().partition_count();
        let parts = futures::stream::iter(partitions.map(Ok));
        // A part is not even begun before the one in front of it has ended.
        let rows = parts.and_then(move |partition| futures::future::ready(input.execute(partition, Arc::clone(&task))));
        Ok(Box::pin(RecordBatchStreamAdapter::new(schema, rows.try_flatten())))
    }
}

/// Puts partitions in their order wherever a plan brings them together, and at its top.
pub fn in_order(plan: Arc<dyn ExecutionPlan>) -> Result<Arc<dyn ExecutionPlan>> {
    let plan = plan.transform_up(|plan| {
        let Some(together) = plan.downcast_ref::<CoalescePartitionsExec>() else { return Ok(Transformed::no(plan)) };
        let ordered: Arc<dyn ExecutionPlan> = Arc::new(PassThroughExec::new(Arc::clone(together.input()), InOrder));
        Ok(Transformed::yes(match together.fetch() {
            None => ordered,
            fetch => Arc::new(GlobalLimitExec::new(ordered, 0, fetch)),
        }))
    });
    let plan = plan.data()?;
    match plan.properties().output_partitioning().partition_count() {
        1 => Ok(plan),
        _ => Ok(Arc::new(PassThroughExec::new(plan, InOrder))),
    }
}
