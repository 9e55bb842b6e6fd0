//! The rows that windows gather.
//!
//! DataFusion's operator of windows over whole partitions keeps all of its input and charges no pool for it.

use crate::operators::pass_through::{PassThrough, PassThroughExec};
use crate::rewrite::replace_inputs;
use datafusion::common::Result;
use datafusion::execution::memory_pool::MemoryConsumer;
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::physical_plan::windows::WindowAggExec;
use futures::TryStreamExt;
use std::sync::Arc;

/// Charges the input of a plan's windows that keep it.
pub(crate) fn charge_windows(plan: Arc<dyn ExecutionPlan>) -> Result<Arc<dyn ExecutionPlan>> {
    replace_inputs(plan, |window: &WindowAggExec| {
        let input = window.input();
        let is_charged = PassThroughExec::is_of::<WindowInput>(input);
        Ok((!is_charged).then(|| Arc::new(PassThroughExec::new(input.clone(), WindowInput)) as _))
    })
}

/// Gives its input's rows, which are charged until the one that takes them is done.
#[derive(Clone, Debug)]
struct WindowInput;

impl PassThrough for WindowInput {
    fn label(&self) -> &str {
        "WindowInputExec"
    }

    fn execute(
        &self,
        input: &Arc<dyn ExecutionPlan>,
        partition: usize,
        task: Arc<TaskContext>,
    ) -> Result<SendableRecordBatchStream> {
        let reservation = MemoryConsumer::new("rows of windows").register(task.memory_pool());
        let charged = input.execute(partition, task)?.and_then(move |batch| {
            let charged = reservation.try_grow(batch.get_array_memory_size());
            async move { charged.map(|()| batch) }
        });
        Ok(Box::pin(RecordBatchStreamAdapter::new(input.schema(), charged)))
    }
}
