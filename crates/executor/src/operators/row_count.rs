//! Rows without columns, gathered as their number.
//!
//! A join keeps the rows of one side. Rows without needed columns (`SELECT COUNT(*) FROM a, b, c`) have no counted memory,
//! but each batch of them takes some: a product of many tables would fill the machine with empty batches.

use crate::operators::pass_through::{PassThrough, PassThroughExec};
use arrow::record_batch::{RecordBatch, RecordBatchOptions};
use datafusion::common::Result;
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use futures::StreamExt;
use std::sync::Arc;

/// One batch of as many rows as its input has.
#[derive(Clone, Debug)]
struct RowCount;

/// `input` as one batch, if its rows have no columns.
pub(super) fn as_row_count(input: &Arc<dyn ExecutionPlan>) -> Arc<dyn ExecutionPlan> {
    match input.schema().fields().is_empty() && !PassThroughExec::is_of::<RowCount>(input) {
        true => Arc::new(PassThroughExec::new(Arc::clone(input), RowCount)),
        false => Arc::clone(input),
    }
}

impl PassThrough for RowCount {
    fn label(&self) -> &str {
        "RowCountExec"
    }

    fn execute(
        &self,
        input: &Arc<dyn ExecutionPlan>,
        partition: usize,
        task: Arc<TaskContext>,
    ) -> Result<SendableRecordBatchStream> {
        let schema = input.schema();
        let mut input = input.execute(partition, task)?;
        let all = Arc::clone(&schema);
        let counted = async move {
            let mut rows = 0_usize;
            while let Some(batch) = input.next().await {
                rows = rows.saturating_add(batch?.num_rows());
            }
            let options = RecordBatchOptions::new().with_row_count(Some(rows));
            Ok(RecordBatch::try_new_with_options(all, Vec::new(), &options)?)
        };
        Ok(Box::pin(RecordBatchStreamAdapter::new(schema, futures::stream::once(counted))))
    }
}
