//! One row at a time, for expressions that assign user variables: `@n := @n + 1` of a row sees what the row before left.

use arrow::record_batch::RecordBatch;
use datafusion::common::tree_node::{Transformed, TransformedResult, TreeNode, TreeNodeRecursion};
use datafusion::common::{Result, internal_datafusion_err};
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_expr::{PhysicalExpr, ScalarFunctionExpr};
use datafusion::physical_plan::execution_plan::{ChildrenPropertiesMode, ReplaceChildrenOptions};
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::physical_plan::{DisplayAs, DisplayFormatType, ExecutionPlan, PlanProperties};
use futures::StreamExt;
use std::fmt;
use std::sync::Arc;

/// Cuts the batches of its input into single rows.
#[derive(Debug)]
struct OneRowExec {
    input: Arc<dyn ExecutionPlan>,
}

impl DisplayAs for OneRowExec {
    fn fmt_as(&self, _t: DisplayFormatType, f: &mut fmt::Formatter) -> fmt::Result {
        write!(f, "OneRowExec")
    }
}

impl ExecutionPlan for OneRowExec {
    fn name(&self) -> &str {
        "OneRowExec"
    }

    fn properties(&self) -> &Arc<PlanProperties> {
        self.input.properties()
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
        Ok(Arc::new(OneRowExec { input }))
    }

    fn execute(&self, partition: usize, context: Arc<TaskContext>) -> Result<SendableRecordBatchStream> {
        let rows = self.input.execute(partition, context)?.flat_map(|batch| {
            let rows: Vec<Result<RecordBatch>> = match batch {
                Ok(batch) => (0..batch.num_rows()).map(|row| Ok(batch.slice(row, 1))).collect(),
                Err(error) => vec![Err(error)],
            };
            futures::stream::iter(rows)
        });
        Ok(Box::pin(RecordBatchStreamAdapter::new(self.schema(), rows)))
    }
}

/// Gives operators that assign user variables their rows one at a time.
pub fn one_row_at_a_time(plan: Arc<dyn ExecutionPlan>) -> Result<Arc<dyn ExecutionPlan>> {
    plan.transform_up(|plan| {
        let [input] = plan.children()[..] else { return Ok(Transformed::no(plan)) };
        let mut assigns = false;
        plan.apply_expressions(&mut |expr| {
            expr.apply(|expr| {
                assigns |= expr.downcast_ref::<ScalarFunctionExpr>().is_some_and(|call| is_assignment(call.name()));
                Ok(if assigns { TreeNodeRecursion::Stop } else { TreeNodeRecursion::Continue })
            })
        })?;
        if !assigns {
            return Ok(Transformed::no(plan));
        }
        let input = Arc::new(OneRowExec { input: Arc::clone(input) });
        let options = ReplaceChildrenOptions::new(ChildrenPropertiesMode::Recompute);
        Ok(Transformed::yes(plan.replace_children(vec![input], options)?))
    })
    .data()
}

/// Whether a function is the assignment of a user variable.
pub fn is_assignment(name: &str) -> bool {
    name.starts_with('@') && name.ends_with(":=")
}
