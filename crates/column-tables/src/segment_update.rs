//! Changes of many rows of segments: deletes them, or writes new versions of them into new segments.

use crate::bulk_change::BulkChange;
use crate::chunk::{SegmentChunk, for_each_chunk};
use crate::level::load::SEGMENT_BYTES_MAX;
use crate::snapshot::ColumnSnapshot;
use arrow::array::{ArrayRef, UInt32Array};
use roaring::RoaringBitmap;
use squall_catalog::TableDef;
use squall_functions::arrow_map::ValueArrayBuilder;
use squall_row_store::{StoreResult, Table, Transaction};
use squall_types::{SqlError, SqlResult, Value};
use std::sync::Arc;

/// Segment rows from which on they are changed many at a time: fewer are marked in the row store as fast as bitmaps and
/// segments are written, and leave the table to others.
pub const BULK_ROWS_MIN: u64 = 1024;

/// Deletes rows of a segment, with their entries in the table's indexes.
///
/// # Errors
/// Those of reading segments and of the transaction, and that of `interrupt`, which is asked again and again.
pub fn delete_segment_rows(
    transaction: &mut Transaction,
    table: &Arc<Table>,
    snapshot: &ColumnSnapshot,
    (segment, rows): (usize, &RoaringBitmap),
    change: &mut BulkChange,
    interrupt: &dyn Fn() -> SqlResult<()>,
) -> StoreResult<()> {
    if rows.is_empty() {
        return Ok(());
    }
    let indexed = indexed_columns(table.def());
    if !indexed.is_empty() {
        let storage = change.storage_of(&snapshot.segments[segment].segment)?.clone();
        let mut columns = vec![false; table.def().columns.len()];
        indexed.iter().for_each(|ordinal| columns[*ordinal] = true);
        for_each_chunk(table, snapshot, (segment, rows), &columns, interrupt, &mut |chunk| {
            for (at, key) in chunk.keys()?.iter().enumerate() {
                transaction.delete_entries(&storage, key, &chunk.stored(at)?)?;
            }
            Ok(())
        })?;
    }
    Ok(change.delete(&snapshot.segments[segment].segment, rows)?)
}

/// The columns of indexes that have entries for each row: keys that are not made of bitmaps, beside the primary one.
fn indexed_columns(def: &TableDef) -> Vec<usize> {
    let with_entries = def.indexes.iter().filter(|index| !index.primary && !index.is_bitmap());
    let mut columns: Vec<usize> = with_entries.flat_map(|index| def.index_ordinals(index)).collect();
    columns.sort_unstable();
    columns.dedup();
    columns
}

/// New versions of many rows of a table, under way.
pub struct SegmentUpdate {
    table: Arc<Table>,
    snapshot: Arc<ColumnSnapshot>,
    /// The columns that get other values.
    changing: Vec<usize>,
    /// Those that indexes have entries of, if any of them changes.
    indexed: Vec<usize>,
    change: BulkChange,
    /// By segment.
    pending: Vec<Pending>,
    /// About what all that is pending takes.
    pending_bytes: usize,
}

impl SegmentUpdate {
    /// Rows of a snapshot get other values in the columns of these ordinals.
    pub fn new(
        table: &Arc<Table>,
        snapshot: Arc<ColumnSnapshot>,
        change: BulkChange,
        changing: Vec<usize>,
    ) -> SegmentUpdate {
        let indexed = indexed_columns(table.def());
        let indexed = if changing.iter().any(|ordinal| indexed.contains(ordinal)) { indexed } else { Vec::new() };
        let pending = snapshot.segments.iter().map(|_| Pending::new(table.def(), &changing)).collect();
        SegmentUpdate { table: table.clone(), snapshot, changing, indexed, change, pending, pending_bytes: 0 }
    }

    /// The table before the changes.
    pub fn snapshot(&self) -> &Arc<ColumnSnapshot> {
        &self.snapshot
    }

    /// By ordinal: whether the old values of a column are needed to write the new versions.
    pub fn columns_read(&self) -> Vec<bool> {
        let mut columns = vec![false; self.table.def().columns.len()];
        self.changing.iter().chain(&self.indexed).for_each(|ordinal| columns[*ordinal] = true);
        columns
    }

    /// Whether entries of indexes change, for which a row's key has to be known.
    pub fn changes_entries(&self) -> bool {
        !self.indexed.is_empty()
    }

    /// Gives a row of a chunk other values, which have been checked and are as they are stored; `key` is its storage key, if entries change.
    ///
    /// # Errors
    /// 1062 and others of the transaction, and those of writing segments.
    pub fn put(
        &mut self,
        transaction: &mut Transaction,
        chunk: &SegmentChunk<'_>,
        (row, key): (usize, Option<&[u8]>),
        stored: &[Value],
    ) -> StoreResult<()> {
        let at = chunk.rows()[row];
        if self.changes_entries() {
            let key = key.ok_or_else(|| SqlError::internal("a row without its key"))?;
            let old = chunk.stored(row)?;
            let mut new = old.clone();
            self.changing.iter().for_each(|ordinal| new[*ordinal] = stored[*ordinal].clone());
            let storage = self.change.storage_of(&self.snapshot.segments[at.segment].segment)?;
            transaction.change_entries(storage, key, &old, &new)?;
        }
        self.pending_bytes += self.pending[at.segment].push(at.position, stored)?;
        if self.pending_bytes >= SEGMENT_BYTES_MAX {
            let greatest = (0..self.pending.len()).max_by_key(|segment| self.pending[*segment].bytes);
            greatest.map_or(Ok(()), |segment| self.write(segment))?;
        }
        Ok(())
    }

    /// Makes a segment of the new versions of rows of a segment.
    ///
    /// # Errors
    /// Those of writing segments.
    pub fn write(&mut self, segment: usize) -> SqlResult<()> {
        let pending = std::mem::replace(&mut self.pending[segment], Pending::new(self.table.def(), &self.changing));
        self.pending_bytes -= pending.bytes;
        pending.write(&mut self.change, &self.snapshot, segment)
    }

    /// Makes the manifest that has all new versions; gives how many.
    ///
    /// # Errors
    /// Those of writing segments, and that of `interrupt`, which is asked before each segment.
    pub fn finish(mut self, transaction: &mut Transaction, interrupt: &dyn Fn() -> SqlResult<()>) -> StoreResult<u64> {
        for segment in 0..self.pending.len() {
            interrupt()?;
            self.write(segment)?;
        }
        let changed = self.change.rows();
        self.change.finish(transaction)?;
        Ok(changed)
    }
}

/// New versions of rows of one segment.
struct Pending {
    positions: Vec<u32>,
    columns: Vec<(usize, ValueArrayBuilder)>,
    /// About what the new values take.
    bytes: usize,
}

impl Pending {
    fn new(def: &TableDef, changing: &[usize]) -> Pending {
        let builder = |ordinal: &usize| (*ordinal, ValueArrayBuilder::new(&def.columns[*ordinal].sql_type, 0));
        Pending { positions: Vec::new(), columns: changing.iter().map(builder).collect(), bytes: 0 }
    }

    /// Gives about how many bytes it takes.
    fn push(&mut self, position: u32, row: &[Value]) -> SqlResult<usize> {
        self.positions.push(position);
        let mut bytes = 0;
        for (ordinal, builder) in &mut self.columns {
            builder.append(&row[*ordinal])?;
            bytes += value_bytes(&row[*ordinal]);
        }
        self.bytes += bytes;
        Ok(bytes)
    }

    fn write(self, change: &mut BulkChange, snapshot: &ColumnSnapshot, segment: usize) -> SqlResult<()> {
        if self.positions.is_empty() {
            return Ok(());
        }
        let columns = self.columns.into_iter().map(|(ordinal, mut builder)| (ordinal, builder.finish()));
        let mut columns: Vec<(usize, ArrayRef)> = columns.collect();
        let mut positions = self.positions;
        if !positions.is_sorted() {
            let mut order: Vec<u32> = (0..positions.len() as u32).collect();
            order.sort_unstable_by_key(|at| positions[*at as usize]);
            positions.sort_unstable();
            let order = UInt32Array::from(order);
            for (_, array) in &mut columns {
                *array = arrow::compute::take(array, &order, None).map_err(SqlError::internal)?;
            }
        }
        change.replace(snapshot, &snapshot.segments[segment].segment, &positions, columns)
    }
}

/// About what a value takes in memory.
pub fn value_bytes(value: &Value) -> usize {
    let beside = match value {
        Value::String(text) => text.len(),
        Value::Json(document) => document.stored().len(),
        Value::Bytes(bytes) => bytes.len(),
        _ => 0,
    };
    size_of::<Value>() + beside
}
