//! The first rows of an order, in DataFusion's heap.
//!
//! The heap fails when the pool is used up, and keeps the whole batch of each long value. So here it gets one part of the input at a
//! time; the rows that it keeps are copied and begin the next part. If the wanted rows do not fit into a share of the pool, a sort that
//! spills sorts them and the rest of the input.

use super::{Run, rows_of_spilling};
use crate::operators::spilling_join::{StreamExec, compact, memory_of};
use arrow::record_batch::RecordBatch;
use datafusion::common::Result;
use datafusion::execution::SendableRecordBatchStream;
use datafusion::execution::memory_pool::MemoryConsumer;
use datafusion::physical_plan::sorts::sort::SortExec;
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::physical_plan::{ExecutionPlan, ExecutionPlanProperties};
use futures::StreamExt;
use std::sync::Arc;
use std::time::Duration;

/// An input that is read by one heap after another.
struct Input {
    rows: SendableRecordBatchStream,
    ended: bool,
    /// Bytes of values that the current heap has been given.
    given: usize,
}

impl Run {
    /// The first rows of the input.
    pub(super) async fn first_rows(self, input: SendableRecordBatchStream) -> Result<SendableRecordBatchStream> {
        let wanted = self.sort.fetch();
        let baseline = self.baseline();
        let reservation = MemoryConsumer::new("LimitedSortRows").register(self.context.memory_pool());
        let input = Arc::new(tokio::sync::Mutex::new(Input { rows: input, ended: false, given: 0 }));
        let mut first: Vec<RecordBatch> = Vec::new();
        let is_all = loop {
            input.lock().await.given = 0;
            // The operator that keeps them is charged for them.
            reservation.free();
            let source = self.source(std::mem::take(&mut first), &input, self.bytes_max);
            let heap = SortExec::new(self.sort.expr().clone(), source).with_fetch(wanted);
            let mut rows = heap.execute(0, Arc::clone(&self.context))?;
            while let Some(batch) = rows.next().await.transpose()? {
                first.push(compact(batch)?);
            }
            if let Some(time) = heap.metrics().and_then(|metrics| metrics.elapsed_compute()) {
                baseline.elapsed_compute().add_duration(Duration::from_nanos(time as u64));
            }
            let bytes = first.iter().map(memory_of).sum();
            let fits = bytes <= self.bytes_max / 2 && reservation.try_grow(bytes).is_ok();
            let at = input.lock().await;
            // A heap that knows that nothing better comes leaves the rest alone.
            if at.ended || at.given < self.bytes_max {
                break true;
            }
            if !fits {
                break false;
            }
        };
        let rows = if is_all {
            let paid = futures::stream::iter(first.into_iter().map(Ok)).inspect(move |_| {
                // For as long as rows come.
                let _ = &reservation;
            });
            Box::pin(RecordBatchStreamAdapter::new(self.sort.schema(), paid)) as SendableRecordBatchStream
        } else {
            reservation.free();
            let source = self.source(first, &input, usize::MAX);
            rows_of_spilling(&self, source)?
        };
        Ok(self.counted(rows, baseline))
    }

    /// Rows that are there, and more of the input until this many bytes of it have come.
    fn source(
        &self,
        first: Vec<RecordBatch>,
        input: &Arc<tokio::sync::Mutex<Input>>,
        bytes_max: usize,
    ) -> Arc<dyn ExecutionPlan> {
        let more = futures::stream::try_unfold(Arc::clone(input), move |shared| async move {
            let mut input = shared.lock().await;
            if input.given >= bytes_max {
                return Ok(None);
            }
            let Some(batch) = input.rows.next().await.transpose()? else {
                input.ended = true;
                return Ok(None);
            };
            let batch = compact(batch)?;
            input.given = input.given.saturating_add(memory_of(&batch));
            drop(input);
            Ok(Some((batch, shared)))
        });
        let rows = futures::stream::iter(first.into_iter().map(Ok)).chain(more);
        let rows = RecordBatchStreamAdapter::new(self.sort.input().schema(), rows);
        let order = self.sort.input().equivalence_properties().clone();
        Arc::new(StreamExec::with_order(Box::pin(rows), order))
    }
}
