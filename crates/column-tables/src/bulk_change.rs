//! Changes many segment rows of a table at a time, by its manifest.
//!
//! The session that deletes or replaces them has the exclusive lock of the table (`row_store::Transaction::begin_bulk_change`). The
//! commit marks more positions of segments as deleted, and adds segments with the new versions of rows. Delta rows are changed one by
//! one, as always.

use crate::columns::TableColumns;
use crate::entry::{SegmentEntry, entry_name};
use crate::level::ColumnTable;
use crate::level::uncommitted::UncommittedSegments;
use crate::listed_segment::ListedSegment;
use crate::rows::SegmentRows;
use crate::snapshot::{ColumnSnapshot, VisibleSegment};
use crate::{ROW_NUMBER, segment_columns};
use arrow::array::ArrayRef;
use roaring::RoaringBitmap;
use rustc_hash::FxHashMap;
use squall_catalog::TableId;
use squall_row_store::{ManifestChange, ManifestEntry, StoreResult, Table, Transaction};
use squall_types::{SqlError, SqlResult};
use std::sync::Arc;

/// Changes of segment rows of one table, as one reader sees them.
pub struct BulkChange {
    /// By the table or partition that they are of.
    storages: FxHashMap<TableId, StorageChange>,
    threads: usize,
}

/// Those of a table without partitions, or of a partition: each has a manifest.
struct StorageChange {
    table: Arc<Table>,
    column_table: Arc<ColumnTable>,
    /// By segment: its entry of the manifest, with the deleted and replaced rows.
    entries: FxHashMap<u64, SegmentEntry>,
    written: Vec<ManifestEntry>,
    segments: UncommittedSegments,
    deleted: u64,
    replaced: u64,
}

impl BulkChange {
    /// Nothing yet; segments are written on up to `threads` threads. `None` if it is no column table.
    pub fn new(table: &Arc<Table>, threads: usize) -> Option<BulkChange> {
        let storages = table.storages().into_iter();
        let storages = storages.map(|table| Some((table.storage_id(), StorageChange::new(table)?)));
        Some(BulkChange { storages: storages.collect::<Option<_>>()?, threads })
    }

    fn storage_mut(&mut self, segment: &ListedSegment) -> SqlResult<&mut StorageChange> {
        self.storages.get_mut(&segment.storage).ok_or_else(unknown_storage)
    }

    /// The table or partition that has a segment.
    ///
    /// # Errors
    /// An internal one for a segment of another table.
    pub fn storage_of(&self, segment: &ListedSegment) -> SqlResult<&Arc<Table>> {
        self.storages.get(&segment.storage).map(|storage| &storage.table).ok_or_else(unknown_storage)
    }

    /// Deletes rows of a segment, none of which is deleted already.
    ///
    /// # Errors
    /// An internal one for a segment of another table.
    pub fn delete(&mut self, segment: &ListedSegment, positions: &RoaringBitmap) -> SqlResult<()> {
        let storage = self.storage_mut(segment)?;
        storage.deleted += positions.len();
        storage.hide(segment, positions);
        Ok(())
    }

    /// Replaces rows of a segment, at ascending positions and none of them deleted already, by others with the same keys:
    /// `columns` are those that have new values, with their ordinals, TIMESTAMPs in UTC.
    ///
    /// # Errors
    /// Those of reading and writing segments.
    pub fn replace(
        &mut self,
        snapshot: &ColumnSnapshot,
        segment: &ListedSegment,
        positions: &[u32],
        columns: Vec<(usize, ArrayRef)>,
    ) -> SqlResult<()> {
        let threads = self.threads;
        self.storage_mut(segment)?.replace(snapshot, segment, positions, columns, threads)
    }

    /// Rows deleted and replaced.
    pub fn rows(&self) -> u64 {
        self.storages.values().map(|storage| storage.deleted + storage.replaced).sum()
    }

    /// Changes the manifests.
    ///
    /// # Errors
    /// Those of the transaction.
    pub fn finish(self, transaction: &mut Transaction) -> StoreResult<()> {
        self.storages.into_values().try_for_each(|storage| {
            let table = storage.table.clone();
            transaction.change_list(&table, storage.finish())
        })
    }
}

fn unknown_storage() -> SqlError {
    SqlError::internal("a segment of another table")
}

impl StorageChange {
    fn new(table: Arc<Table>) -> Option<StorageChange> {
        let column_table = ColumnTable::of(&table)?;
        Some(StorageChange {
            table,
            segments: UncommittedSegments::new(column_table.clone()),
            column_table,
            entries: FxHashMap::default(),
            written: Vec::new(),
            deleted: 0,
            replaced: 0,
        })
    }

    fn hide(&mut self, segment: &ListedSegment, positions: &RoaringBitmap) {
        let entry = self.entries.entry(segment.number).or_insert_with(|| segment.entry.clone());
        entry.deleted |= positions;
    }

    fn replace(
        &mut self,
        snapshot: &ColumnSnapshot,
        segment: &ListedSegment,
        positions: &[u32],
        columns: Vec<(usize, ArrayRef)>,
        threads: usize,
    ) -> SqlResult<()> {
        let (Some(first), Some(last)) = (positions.first(), positions.last()) else { return Ok(()) };
        let rows = SegmentRows { table: &self.table, segment, cache: &snapshot.cache };
        let mut ends = rows.keys(&[*first, *last])?.into_iter();
        let (Some(first_key), Some(last_key)) = (ends.next(), ends.next()) else {
            return Err(SqlError::internal("positions without keys"));
        };
        let kept = TableColumns::new(&self.table, segment, &snapshot.cache);
        let mut arrays = Vec::with_capacity(self.table.def().columns.len() + 1);
        for ordinal in 0..self.table.def().columns.len() {
            arrays.push(match columns.iter().find(|(changed, _)| *changed == ordinal) {
                Some((_, array)) => array.clone(),
                None => kept.array(ordinal, positions.iter().copied())?,
            });
        }
        if self.table.has_hidden_row_id() {
            let missing = || SqlError::internal("a segment without row numbers");
            arrays.push(rows.column(ROW_NUMBER, positions)?.ok_or_else(missing)?);
        }
        let specs = segment_columns(&self.table, false)?;
        let entry = self.column_table.write_segment(&specs, &arrays, (first_key, last_key), threads)?;
        self.segments.push(&entry);
        self.written.push(entry);
        self.replaced += positions.len() as u64;
        self.hide(segment, &positions.iter().copied().collect());
        Ok(())
    }

    /// What happens to the manifest.
    fn finish(self) -> ManifestChange {
        let changed = self.entries.into_iter().map(|(number, entry)| (entry_name(number), Some(entry.encode())));
        let written = self.written.into_iter().map(|entry| (entry.name, Some(entry.content)));
        ManifestChange {
            entries: changed.chain(written).collect(),
            rows: Some(Box::new(self.segments)),
            row_delta: -(self.deleted as i64),
            changed: self.deleted + self.replaced,
        }
    }
}

impl VisibleSegment {
    /// Storage keys of rows at some positions.
    pub fn keys(&self, snapshot: &ColumnSnapshot, table: &Table, positions: &[u32]) -> SqlResult<Vec<Vec<u8>>> {
        SegmentRows { table, segment: &self.segment, cache: &snapshot.cache }.keys(positions)
    }
}
