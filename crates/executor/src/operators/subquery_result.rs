//! Answers of subqueries, and a bounded cache of them.

use arrow::datatypes::SchemaRef;
use arrow::record_batch::RecordBatch;
use datafusion::execution::TaskContext;
use datafusion::execution::memory_pool::{MemoryConsumer, MemoryReservation};
use std::collections::HashMap;
use std::sync::Arc;

/// The rows of one run of a subquery.
#[derive(Clone, Debug)]
pub(crate) struct SubqueryResult(Arc<ChargedRows>);

#[derive(Debug)]
struct ChargedRows {
    rows: RecordBatch,
    /// The memory of the rows, charged while a reader has them.
    _reservation: Option<MemoryReservation>,
}

impl SubqueryResult {
    pub(crate) fn new(rows: RecordBatch, reservation: MemoryReservation) -> Self {
        Self(Arc::new(ChargedRows { rows, _reservation: Some(reservation) }))
    }

    /// Some of the rows of a larger answer, which pays for them.
    pub(crate) fn part_of(rows: &RecordBatch, begin: usize, count: usize) -> Self {
        Self(Arc::new(ChargedRows { rows: rows.slice(begin, count), _reservation: None }))
    }

    /// No rows.
    pub(crate) fn empty(schema: &SchemaRef) -> Self {
        let rows = RecordBatch::new_empty(Arc::clone(schema));
        Self(Arc::new(ChargedRows { rows, _reservation: None }))
    }

    pub(crate) fn rows(&self) -> &RecordBatch {
        &self.0.rows
    }

    pub(crate) fn row_count(&self) -> usize {
        self.0.rows.num_rows()
    }

    /// The same for clones of one result, different for results that are alive together.
    pub(crate) fn id(&self) -> usize {
        Arc::as_ptr(&self.0) as usize
    }
}

/// Results by key, which are charged by themselves. It is emptied when it holds too much: a result can always be made again.
#[derive(Debug)]
pub(crate) struct SubqueryCache {
    results: HashMap<Vec<u8>, SubqueryResult>,
    reservation: MemoryReservation,
    bytes: usize,
}

impl SubqueryCache {
    /// Small enough to matter little, large enough that few subqueries run twice.
    const BYTES_MAX: usize = 32 << 20;

    pub(crate) fn new(task: &TaskContext) -> Self {
        let reservation = MemoryConsumer::new("Apply").register(task.memory_pool());
        Self { results: HashMap::new(), reservation, bytes: 0 }
    }

    pub(crate) fn get(&self, key: &[u8]) -> Option<SubqueryResult> {
        self.results.get(key).cloned()
    }

    /// Drops everything; whether there was something.
    pub(crate) fn clear(&mut self) -> bool {
        let any = !self.results.is_empty();
        self.results.clear();
        self.reservation.free();
        self.bytes = 0;
        any
    }

    pub(crate) fn insert(&mut self, key: Vec<u8>, result: SubqueryResult) {
        // Key, map entry and the batch's own bookkeeping, roughly.
        let own_bytes = key.len() + 256;
        let bytes = own_bytes + result.rows().get_array_memory_size();
        if self.bytes + bytes > Self::BYTES_MAX || self.reservation.try_grow(own_bytes).is_err() {
            self.clear();
            if bytes > Self::BYTES_MAX || self.reservation.try_grow(own_bytes).is_err() {
                return;
            }
        }
        self.bytes += bytes;
        self.results.insert(key, result);
    }
}
