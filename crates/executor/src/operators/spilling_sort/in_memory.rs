//! Sorting in memory: by the bytes that differ.
//!
//! Each row's keys are one string of bytes that compares as they do (Arrow's row format). Of these bytes few differ between rows: numbers
//! are smaller than their types, and columns of an order often have short ranges. The positions that do differ make a number of 8 or 16
//! bytes, and sorting numbers takes no look at the rows; only where more positions differ, equal numbers are compared by all bytes.

use super::{Run, rows_of_spilling};
use crate::env::StatementEnv;
use crate::operators::spilling_join::{StreamExec, compact, memory_of};
use arrow::compute::interleave_record_batch;
use arrow::record_batch::RecordBatch;
use arrow::row::{RowConverter, Rows, SortField};
use datafusion::common::{DataFusionError, Result};
use datafusion::execution::SendableRecordBatchStream;
use datafusion::execution::memory_pool::{MemoryConsumer, MemoryReservation};
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::physical_plan::{ExecutionPlan, ExecutionPlanProperties, PhysicalExpr};
use futures::StreamExt;
use squall_statement_context::{StatementContext, off_pool};
use std::cmp::Ordering;
use std::sync::Arc;

/// Rows that are given at a time.
const OUTPUT_ROWS: usize = 8192;
/// Rows that are sorted between two looks at KILL.
const CHUNK_ROWS: usize = 1 << 16;
/// More rows are sorted beside the pool of threads that others count on.
const ROWS_ON_POOL_MAX: usize = 1 << 16;
/// Bytes at the beginning of keys of different lengths that may become the number.
const PREFIX_BYTES_MAX: usize = 64;

/// A row: the number, its batch, and its place in that.
type Entry<N> = (N, u32, u32);

/// All rows of the order.
struct Sorted {
    batches: Vec<RecordBatch>,
    /// Batch and row.
    order: Vec<(u32, u32)>,
    next: usize,
    /// The memory of both.
    _reservation: MemoryReservation,
}

impl Run {
    /// All rows of the input in order, or as many as are wanted.
    pub(super) async fn all_rows(self, mut input: SendableRecordBatchStream) -> Result<SendableRecordBatchStream> {
        let reservation = MemoryConsumer::new("Sort").register(self.context.memory_pool());
        let mut batches = Vec::new();
        let mut bytes = 0;
        let mut fits = true;
        while fits && let Some(batch) = input.next().await.transpose()? {
            let batch = compact(batch)?;
            bytes += memory_of(&batch);
            fits = bytes <= self.bytes_max && reservation.try_resize(bytes).is_ok();
            if batch.num_rows() > 0 {
                batches.push(batch);
            }
        }
        let baseline = self.baseline();
        if fits {
            let context = Arc::clone(&StatementEnv::of(self.context.session_config())?.context);
            let timer = baseline.elapsed_compute().timer();
            let exprs = self.sort.expr().iter();
            let fields = exprs.clone().map(|sort| {
                let data_type = sort.expr.data_type(&self.sort.input().schema())?;
                Ok(SortField::new_with_options(data_type, sort.options))
            });
            let converter = RowConverter::new(fields.collect::<Result<_>>()?)?;
            let exprs: Vec<_> = exprs.map(|sort| Arc::clone(&sort.expr)).collect();
            let rows = batches.iter().map(RecordBatch::num_rows).sum::<usize>();
            let mut sorted = None;
            let mut work = || sorted = Some(order_of(&converter, &exprs, &batches, &reservation, &context));
            if rows <= ROWS_ON_POOL_MAX || off_pool(&mut work).is_err() {
                work();
            }
            timer.done();
            if let Some(mut order) = sorted.transpose()?.flatten() {
                order.truncate(self.sort.fetch().unwrap_or(usize::MAX));
                let sorted = Sorted { batches, order, next: 0, _reservation: reservation };
                let rows = futures::stream::iter(sorted);
                let rows = Box::pin(RecordBatchStreamAdapter::new(self.sort.schema(), rows));
                return Ok(self.counted(rows, baseline));
            }
        }
        // The sort that spills is charged for them.
        drop(reservation);
        let collected = futures::stream::iter(batches.into_iter().map(Ok));
        let rows = RecordBatchStreamAdapter::new(self.sort.input().schema(), collected.chain(input));
        if self.sort.fetch().is_some() {
            return self.first_rows(Box::pin(rows)).await;
        }
        let order = self.sort.input().equivalence_properties().clone();
        let rows = rows_of_spilling(&self, Arc::new(StreamExec::with_order(Box::pin(rows), order)))?;
        Ok(self.counted(rows, baseline))
    }
}

impl Iterator for Sorted {
    type Item = Result<RecordBatch>;

    fn next(&mut self) -> Option<Self::Item> {
        let end = (self.next + OUTPUT_ROWS).min(self.order.len());
        let part = self.order.get(self.next..end).filter(|part| !part.is_empty())?;
        self.next = end;
        let part: Vec<(usize, usize)> = part.iter().map(|(batch, row)| (*batch as usize, *row as usize)).collect();
        let batches: Vec<&RecordBatch> = self.batches.iter().collect();
        Some(interleave_record_batch(&batches, &part).map_err(DataFusionError::from).and_then(compact))
    }
}

/// The places of the rows in order; `None` if there is no memory for sorting them.
fn order_of(
    converter: &RowConverter,
    exprs: &[Arc<dyn PhysicalExpr>],
    batches: &[RecordBatch],
    reservation: &MemoryReservation,
    context: &StatementContext,
) -> Result<Option<Vec<(u32, u32)>>> {
    let count = batches.iter().map(RecordBatch::num_rows).sum::<usize>();
    let mut rows = converter.empty_rows(0, 0);
    let mut charged = 0;
    for batch in batches {
        killed(context)?;
        let keys = exprs.iter().map(|expr| expr.evaluate(batch)?.into_array(batch.num_rows()));
        converter.append(&mut rows, &keys.collect::<Result<Vec<_>>>()?)?;
        let size = rows.size();
        if reservation.try_grow(size.saturating_sub(charged)).is_err() {
            return Ok(None);
        }
        charged = charged.max(size);
    }
    let differing = Differing::of(&rows, context)?;
    let is_short = differing.is_all && differing.positions.len() <= size_of::<u64>();
    let entry_bytes = if is_short { size_of::<Entry<u64>>() } else { size_of::<Entry<u128>>() };
    // Many entries are merged from one list into another.
    let entries_bytes = count * entry_bytes * if count > CHUNK_ROWS { 2 } else { 1 };
    let order_bytes = count * size_of::<(u32, u32)>();
    if u32::try_from(count).is_err() || reservation.try_grow(entries_bytes + order_bytes).is_err() {
        return Ok(None);
    }
    let order = match differing.is_all {
        true if is_short => {
            sorted(entries(batches, &rows, |key| differing.number(key) as u64), context, |_, _| Ordering::Equal)?
        }
        true => sorted(entries(batches, &rows, |key| differing.number(key)), context, |_, _| Ordering::Equal)?,
        false => {
            let mut first_rows = Vec::with_capacity(batches.len());
            let mut before = 0;
            for batch in batches {
                first_rows.push(before);
                before += batch.num_rows();
            }
            let key =
                |batch: u32, row: u32| rows.row(first_rows.get(batch as usize).map_or(0, |first| first + row as usize));
            let by_all_bytes =
                |left: &Entry<u128>, right: &Entry<u128>| key(left.1, left.2).cmp(&key(right.1, right.2));
            sorted(entries(batches, &rows, |key| differing.number(key)), context, by_all_bytes)?
        }
    };
    drop(rows);
    reservation.shrink(charged + entries_bytes);
    Ok(Some(order))
}

/// Positions of keys whose bytes differ between rows.
struct Differing {
    positions: Vec<usize>,
    /// Whether there are no others, so that keys of equal bytes there are equal.
    is_all: bool,
}

impl Differing {
    fn of(rows: &Rows, context: &StatementContext) -> Result<Self> {
        let Some(first) = rows.iter().next() else { return Ok(Self { positions: Vec::new(), is_all: true }) };
        let first = first.as_ref().to_vec();
        let mut is_one_length = true;
        let mut differences = first.iter().map(|_| 0).collect::<Vec<u8>>();
        for (at, row) in rows.iter().enumerate() {
            if at.is_multiple_of(CHUNK_ROWS) {
                killed(context)?;
            }
            let row = row.as_ref();
            is_one_length &= row.len() == first.len();
            // Behind the end of a key nothing can be told of all.
            differences.truncate(row.len());
            for ((difference, byte), first) in differences.iter_mut().zip(row).zip(&first) {
                *difference |= byte ^ first;
            }
        }
        if !is_one_length {
            differences.truncate(PREFIX_BYTES_MAX);
        }
        let mut positions =
            differences.iter().enumerate().filter(|(_, difference)| **difference != 0).map(|(at, _)| at);
        let first_positions: Vec<usize> = positions.by_ref().take(size_of::<u128>()).collect();
        Ok(Self { positions: first_positions, is_all: is_one_length && positions.next().is_none() })
    }

    /// The bytes there, as a number of the same order.
    fn number(&self, key: &[u8]) -> u128 {
        let mut number = 0;
        for position in &self.positions {
            number = number << 8 | u128::from(key.get(*position).copied().unwrap_or_default());
        }
        number
    }
}

fn entries<N>(batches: &[RecordBatch], rows: &Rows, number: impl Fn(&[u8]) -> N) -> Vec<Entry<N>> {
    let mut keys = rows.iter();
    let places = batches
        .iter()
        .enumerate()
        .flat_map(|(at, batch)| (0..batch.num_rows()).map(move |row| (at as u32, row as u32)));
    places.filter_map(|(batch, row)| Some((number(keys.next()?.as_ref()), batch, row))).collect()
}

/// The places of entries in the order of their numbers, then of `ties`, then as they came.
fn sorted<N: Ord + Copy>(
    mut entries: Vec<Entry<N>>,
    context: &StatementContext,
    ties: impl Fn(&Entry<N>, &Entry<N>) -> Ordering,
) -> Result<Vec<(u32, u32)>> {
    let compare = |left: &Entry<N>, right: &Entry<N>| {
        left.0.cmp(&right.0).then_with(|| ties(left, right)).then_with(|| (left.1, left.2).cmp(&(right.1, right.2)))
    };
    for chunk in entries.chunks_mut(CHUNK_ROWS) {
        killed(context)?;
        chunk.sort_unstable_by(compare);
    }
    let mut run_rows = CHUNK_ROWS;
    let mut merged = Vec::with_capacity(if entries.len() > run_rows { entries.len() } else { 0 });
    while run_rows < entries.len() {
        for pair in entries.chunks(2 * run_rows) {
            let (left, right) = pair.split_at(run_rows.min(pair.len()));
            merge(left, right, &mut merged, compare, context)?;
        }
        std::mem::swap(&mut entries, &mut merged);
        merged.clear();
        run_rows *= 2;
    }
    killed(context)?;
    Ok(entries.into_iter().map(|(_, batch, row)| (batch, row)).collect())
}

/// Two runs as one.
fn merge<N: Copy>(
    mut left: &[Entry<N>],
    mut right: &[Entry<N>],
    merged: &mut Vec<Entry<N>>,
    compare: impl Fn(&Entry<N>, &Entry<N>) -> Ordering,
    context: &StatementContext,
) -> Result<()> {
    while let ([first, left_rest @ ..], [second, right_rest @ ..]) = (left, right) {
        if merged.len().is_multiple_of(CHUNK_ROWS) {
            killed(context)?;
        }
        if compare(first, second) == Ordering::Greater {
            merged.push(*second);
            right = right_rest;
        } else {
            merged.push(*first);
            left = left_rest;
        }
    }
    merged.extend_from_slice(left);
    merged.extend_from_slice(right);
    Ok(())
}

fn killed(context: &StatementContext) -> Result<()> {
    context.kill.check().map_err(|error| DataFusionError::External(Box::new(error)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use arrow::array::{ArrayRef, Decimal128Array, Int64Array, StringArray, UInt32Array};
    use arrow::compute::{SortColumn, SortOptions, concat, lexsort_to_indices, take};
    use proptest::prelude::*;

    /// The order of batches of two columns, and that of Arrow's own sort.
    fn orders(batches: &[Vec<ArrayRef>], options: SortOptions) -> (Vec<Vec<u8>>, Vec<Vec<u8>>) {
        let fields = batches[0].iter().map(|array| SortField::new_with_options(array.data_type().clone(), options));
        let converter = RowConverter::new(fields.collect()).unwrap();
        let mut rows = converter.empty_rows(0, 0);
        batches.iter().for_each(|batch| converter.append(&mut rows, batch).unwrap());
        let mut expected: Vec<Vec<u8>> = rows.iter().map(|row| row.as_ref().to_vec()).collect();
        let columns: Vec<ArrayRef> = (0..batches[0].len())
            .map(|at| concat(&batches.iter().map(|batch| batch[at].as_ref()).collect::<Vec<_>>()).unwrap())
            .collect();
        let by_arrow: Vec<_> =
            columns.iter().map(|values| SortColumn { values: values.clone(), options: Some(options) }).collect();
        let by_arrow: UInt32Array = lexsort_to_indices(&by_arrow, None).unwrap();
        let taken: Vec<ArrayRef> = columns.iter().map(|values| take(values, &by_arrow, None).unwrap()).collect();
        let arrow_rows = converter.convert_columns(&taken).unwrap();
        expected.sort();
        let arrow_rows: Vec<Vec<u8>> = arrow_rows.iter().map(|row| row.as_ref().to_vec()).collect();
        assert_eq!(expected, arrow_rows);
        let schema = Arc::new(arrow::datatypes::Schema::new(
            batches[0]
                .iter()
                .enumerate()
                .map(|(at, array)| arrow::datatypes::Field::new(format!("c{at}"), array.data_type().clone(), true))
                .collect::<Vec<_>>(),
        ));
        let record_batches: Vec<RecordBatch> =
            batches.iter().map(|batch| RecordBatch::try_new(schema.clone(), batch.clone()).unwrap()).collect();
        let exprs: Vec<Arc<dyn PhysicalExpr>> = (0..batches[0].len())
            .map(|at| Arc::new(datafusion::physical_expr::expressions::Column::new(&format!("c{at}"), at)) as _)
            .collect();
        let pool: Arc<dyn datafusion::execution::memory_pool::MemoryPool> =
            Arc::new(datafusion::execution::memory_pool::UnboundedMemoryPool::default());
        let reservation = MemoryConsumer::new("test").register(&pool);
        let context = StatementContext::default();
        let order = order_of(&converter, &exprs, &record_batches, &reservation, &context).unwrap().unwrap();
        let mut starts = vec![0];
        batches.iter().for_each(|batch| starts.push(starts.last().unwrap() + batch[0].len()));
        let ours = order
            .iter()
            .map(|(batch, row)| rows.row(starts[*batch as usize] + *row as usize).as_ref().to_vec())
            .collect();
        // Equal rows come as they came.
        for pair in order.windows(2) {
            let at = |(batch, row): (u32, u32)| starts[batch as usize] + row as usize;
            let (left, right) = (at(pair[0]), at(pair[1]));
            assert!(rows.row(left) != rows.row(right) || left < right);
        }
        (ours, arrow_rows)
    }

    proptest! {
        #[test]
        fn rows_are_in_the_order_of_arrow(
            parts in prop::collection::vec(
                prop::collection::vec((prop::option::of(-300_i64..300), 0_i128..5, "[ab]{0,20}"), 1..40), 1..5),
            wide in any::<bool>(),
            with_text in any::<bool>(),
            descending in any::<bool>(),
            nulls_first in any::<bool>(),
        ) {
            let batches: Vec<Vec<ArrayRef>> = parts.iter().map(|part| {
                let scale = if wide { 0x0123_4567_89AB } else { 1 };
                let numbers = part.iter().map(|(number, ..)| number.map(|number| number * scale));
                let decimals = part.iter().map(|(_, decimal, _)| decimal * i128::from(scale) * i128::from(scale));
                let mut columns: Vec<ArrayRef> = vec![
                    Arc::new(numbers.collect::<Int64Array>()),
                    Arc::new(Decimal128Array::from_iter_values(decimals)),
                ];
                if with_text {
                    columns.push(Arc::new(StringArray::from_iter_values(part.iter().map(|(.., text)| text))));
                }
                columns
            }).collect();
            let (ours, arrows) = orders(&batches, SortOptions { descending, nulls_first });
            prop_assert_eq!(ours, arrows);
        }
    }
}
