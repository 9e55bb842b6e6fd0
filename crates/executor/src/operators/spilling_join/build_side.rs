//! Reads the build side of a join into memory, as far as it fits.

use arrow::array::{Array, ArrayRef, AsArray, GenericByteViewArray};
use arrow::datatypes::{ByteViewType, DataType};
use arrow::record_batch::RecordBatch;
use datafusion::common::Result;
use datafusion::execution::SendableRecordBatchStream;
use datafusion::execution::memory_pool::MemoryReservation;
use futures::StreamExt;
use std::sync::Arc;

/// Bytes that the hash table takes for each row: a bucket of twelve or so bytes, at most half of them full, and a link.
const TABLE_BYTES_PER_ROW: usize = 40;
/// Values of up to this many bytes are in the view itself.
const INLINE_BYTES: u32 = 12;

/// Rows of a build side, and the memory that was taken for them.
pub(super) struct BuildRows {
    batches: Vec<RecordBatch>,
    reservation: MemoryReservation,
}

impl BuildRows {
    pub(super) fn into_parts(self) -> (Vec<RecordBatch>, MemoryReservation) {
        (self.batches, self.reservation)
    }

    /// Takes back the batch that no memory was left for.
    pub(super) fn take_last(&mut self) -> Vec<RecordBatch> {
        self.batches.pop().into_iter().collect()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.batches.is_empty()
    }
}

/// A build side, as far as it was read.
pub(super) enum Collected {
    /// All of it is in memory.
    All(BuildRows),
    /// There is more of it than may be in memory.
    Part(BuildRows, SendableRecordBatchStream),
}

/// Reads `input` until it ends, takes more than `bytes_max`, or the pool has no more.
pub(super) async fn collect(
    mut input: SendableRecordBatchStream,
    reservation: MemoryReservation,
    bytes_max: usize,
) -> Result<Collected> {
    let mut build = BuildRows { batches: Vec::new(), reservation };
    while let Some(batch) = input.next().await.transpose()? {
        tokio::task::consume_budget().await;
        if batch.num_rows() == 0 {
            continue;
        }
        let batch = compact(batch)?;
        let bytes = memory_of(&batch);
        build.batches.push(batch);
        // One batch may be larger than the share.
        let within = build.batches.len() == 1 || build.reservation.size() + bytes <= bytes_max;
        let fits = within && build.reservation.try_grow(bytes).is_ok();
        if !fits {
            return Ok(Collected::Part(build, input));
        }
    }
    Ok(Collected::All(build))
}

/// Bytes that a row batch takes in a hash join.
pub(in crate::operators) fn memory_of(batch: &RecordBatch) -> usize {
    let values: usize = batch
        .columns()
        .iter()
        .map(|column| match column.data_type() {
            DataType::Utf8View => view_bytes(column.as_string_view()),
            DataType::BinaryView => view_bytes(column.as_binary_view()),
            _ => column.to_data().get_slice_memory_size().unwrap_or_else(|_| column.get_array_memory_size()),
        })
        .sum();
    values + batch.num_rows() * TABLE_BYTES_PER_ROW
}

fn view_bytes<T: ByteViewType + ?Sized>(array: &GenericByteViewArray<T>) -> usize {
    array.views().len() * size_of::<u128>() + used_bytes(array)
}

/// Bytes of the values that are not in their views.
fn used_bytes<T: ByteViewType + ?Sized>(array: &GenericByteViewArray<T>) -> usize {
    array.lengths().filter(|length| *length > INLINE_BYTES).map(|length| length as usize).sum()
}

/// The batch without the values that no row of it has any more: a filter leaves views into all that was read.
pub(in crate::operators) fn compact(batch: RecordBatch) -> Result<RecordBatch> {
    fn is_sparse<T: ByteViewType + ?Sized>(array: &GenericByteViewArray<T>) -> bool {
        let held: usize = array.data_buffers().iter().map(|buffer| buffer.capacity()).sum();
        held > 2 * used_bytes(array)
    }
    let columns = batch.columns().iter().map(|column| -> ArrayRef {
        match column.data_type() {
            DataType::Utf8View if is_sparse(column.as_string_view()) => Arc::new(column.as_string_view().gc()),
            DataType::BinaryView if is_sparse(column.as_binary_view()) => Arc::new(column.as_binary_view().gc()),
            _ => Arc::clone(column),
        }
    });
    Ok(RecordBatch::try_new(batch.schema(), columns.collect())?)
}
