//! One row at a time, for expressions that assign user variables: `@n := @n + 1` of a row sees the value that the row
//! before assigned.

use crate::operators::pass_through::{PassThrough, PassThroughExec};
use crate::rewrite::{replace_nodes, with_inputs};
use arrow::record_batch::RecordBatch;
use datafusion::common::Result;
use datafusion::common::tree_node::{TreeNode, TreeNodeRecursion};
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::logical_expr::ScalarUDF;
use datafusion::physical_expr::ScalarFunctionExpr;
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use futures::StreamExt;
use squall_functions::expr::CallUdf;
use std::sync::Arc;

/// Cuts the batches of its input into single rows.
#[derive(Clone, Debug)]
struct OneRow;

impl PassThrough for OneRow {
    fn label(&self) -> &str {
        "OneRowExec"
    }

    fn execute(
        &self,
        input: &Arc<dyn ExecutionPlan>,
        partition: usize,
        task: Arc<TaskContext>,
    ) -> Result<SendableRecordBatchStream> {
        let rows = input.execute(partition, task)?.flat_map(|batch| {
            let rows: Vec<Result<RecordBatch>> = match batch {
                Ok(batch) => (0..batch.num_rows()).map(|row| Ok(batch.slice(row, 1))).collect(),
                Err(error) => vec![Err(error)],
            };
            futures::stream::iter(rows)
        });
        Ok(Box::pin(RecordBatchStreamAdapter::new(input.schema(), rows)))
    }
}

/// Gives operators that assign user variables their rows one at a time.
pub fn one_row_at_a_time(plan: Arc<dyn ExecutionPlan>) -> Result<Arc<dyn ExecutionPlan>> {
    replace_nodes(plan, |plan| {
        let [input] = plan.children()[..] else { return Ok(None) };
        let mut assigns = false;
        plan.apply_expressions(&mut |expr| {
            expr.apply(|expr| {
                assigns |= expr.downcast_ref::<ScalarFunctionExpr>().is_some_and(|call| is_assignment(call.fun()));
                Ok(if assigns { TreeNodeRecursion::Stop } else { TreeNodeRecursion::Continue })
            })
        })?;
        if !assigns {
            return Ok(None);
        }
        let input = Arc::new(PassThroughExec::new(Arc::clone(input), OneRow));
        with_inputs(plan, vec![input]).map(Some)
    })
}

/// Whether a function is the assignment of a user variable.
pub fn is_assignment(function: &ScalarUDF) -> bool {
    CallUdf::of(function).is_some_and(|udf| udf.call().kernel.assigns_variables())
}
