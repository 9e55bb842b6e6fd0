//! A table as an analytic scan reads it: segments with their valid positions, and delta rows.

use crate::columns::coded_array;
use crate::decode::{ColumnDecoder, append_column};
use crate::level::{ColumnTable, SegmentManifest};
use crate::listed_segment::ListedSegment;
use roaring::RoaringBitmap;
use rustc_hash::FxHashMap;
use squall_column_store::predicate::DeltaColumns;
use squall_column_store::{ColumnCache, ZONE_ROWS};
use squall_row_store::{DeltaRows, ReadView, Row, Table};
use squall_types::{SqlError, SqlResult};
use std::sync::Arc;

/// Changed rows of a copied table that a reader takes from the row store: they are in memory, and rows can be read instead.
pub const COPY_CHANGES_MAX: usize = 1 << 16;

/// All rows of a column table as one reader sees them.
#[derive(Debug)]
pub struct ColumnSnapshot {
    /// The segments, oldest first within each partition.
    pub segments: Vec<VisibleSegment>,
    /// Rows that are in no segment, in the order of their keys within each partition. Their number is bounded by how often tables are sealed.
    pub delta: Vec<Row>,
    /// What segments are read through.
    pub cache: Arc<ColumnCache>,
}

/// A segment with what a reader does not see of it.
#[derive(Debug)]
pub struct VisibleSegment {
    /// The segment.
    pub segment: Arc<ListedSegment>,
    /// Positions of rows that are deleted, or that delta rows or later segments have in another version.
    pub hidden: RoaringBitmap,
}

impl ColumnSnapshot {
    /// What a reader sees of a table by columns: its own, or those of its copy; `None` if neither can be read. Only the copied columns
    /// may be asked of a copy.
    pub fn by_columns(view: &ReadView, table: &Arc<Table>) -> SqlResult<Option<ColumnSnapshot>> {
        match table.traits().reads_by_column {
            true => ColumnSnapshot::of(view, table),
            false => ColumnSnapshot::of_copy(view, table),
        }
    }

    /// What a reader sees of a table, or of those of its partitions that are meant; `None` if it is no column table.
    pub fn of(view: &ReadView, table: &Arc<Table>) -> SqlResult<Option<ColumnSnapshot>> {
        let Some(column_table) = ColumnTable::of(table) else { return Ok(None) };
        let cache = column_table.cache.clone();
        let mut all = ColumnSnapshot { segments: Vec::new(), delta: Vec::new(), cache };
        for storage in table.storages() {
            let Some(manifest) = ColumnTable::manifest_at(view, &storage)? else { return Ok(None) };
            let part = Self::of_manifest(&manifest, view.delta_rows(&storage)?, &storage, usize::MAX)?;
            let Some(part) = part else { return Ok(None) };
            all.segments.extend(part.segments);
            all.delta.extend(part.delta);
        }
        Ok(Some(all))
    }

    /// What a reader sees of a table by its copy of columns; `None` if it has none that is complete, or too many rows have
    /// changed since they were copied. Only the copied columns may be asked for.
    pub fn of_copy(view: &ReadView, table: &Arc<Table>) -> SqlResult<Option<ColumnSnapshot>> {
        let Some(manifest) = ColumnTable::manifest_of_copy(view, table)? else { return Ok(None) };
        Self::of_manifest(&manifest, view.changes_since_copied(table)?, table, COPY_CHANGES_MAX)
    }

    fn of_manifest(
        manifest: &SegmentManifest,
        mut changes: DeltaRows,
        table: &Table,
        changes_max: usize,
    ) -> SqlResult<Option<ColumnSnapshot>> {
        let mut left = changes_max;
        let mut delta = Vec::new();
        let mut hidden: FxHashMap<u64, RoaringBitmap> = FxHashMap::default();
        while let Some(change) = changes.next_row()? {
            let Some(after) = left.checked_sub(1) else { return Ok(None) };
            left = after;
            if let Some((segment, position)) = manifest.find(table, change.key())? {
                hidden.entry(segment.number).or_default().insert(position);
            }
            delta.extend(change.row(table)?);
        }
        let segments = manifest.segments().iter().map(|segment| {
            let hidden = segment.deleted() | hidden.remove(&segment.number).unwrap_or_default();
            VisibleSegment { segment: segment.clone(), hidden }
        });
        Ok(Some(ColumnSnapshot { segments: segments.collect(), delta, cache: manifest.cache().clone() }))
    }

    /// Some columns of the delta rows as conditions and the star kernel ask for them, by their ordinals in the table.
    pub fn delta_columns(&self, table: &Table, ordinals: &[usize]) -> SqlResult<DeltaColumns> {
        let column = |ordinal: &usize| {
            let sql_type = &table.def().columns[*ordinal].sql_type;
            let mut decoder = ColumnDecoder::stored(sql_type, self.delta.len());
            append_column(table, &self.delta, *ordinal, &mut decoder)?;
            Ok((*ordinal, Arc::new(coded_array(sql_type, decoder.finish())?)))
        };
        let columns = ordinals.iter().map(column).collect::<SqlResult<Vec<_>>>()?;
        DeltaColumns::of_some(self.delta.len(), columns).map_err(SqlError::internal)
    }
}

impl VisibleSegment {
    /// Zones of its rows.
    pub fn zones(&self) -> usize {
        self.segment.segment().rows().div_ceil(ZONE_ROWS)
    }

    /// Rows that the reader sees.
    pub fn visible_rows(&self) -> u64 {
        self.segment.segment().rows() as u64 - self.hidden.len()
    }
}
