//! Rows of column tables that a statement has found: by conditions, by their addresses or by their keys.

use crate::address::RowAddress;
use crate::chunk::SegmentRow;
use crate::columns::TableColumns;
use crate::rows::SegmentRows;
use crate::snapshot::{ColumnSnapshot, VisibleSegment};
use roaring::RoaringBitmap;
use rustc_hash::FxHashMap;
use squall_catalog::TableId;
use squall_column_store::predicate::{Condition, Predicate, matching_rows};
use squall_row_store::{ReadView, Table};
use squall_types::{SqlError, SqlResult};
use std::sync::Arc;

impl ColumnSnapshot {
    /// Of each segment the visible rows that satisfy a condition.
    ///
    /// # Errors
    /// Those of reading segments, and that of `interrupt`, which is asked before each segment.
    pub fn matching(
        &self,
        table: &Arc<Table>,
        predicate: &Predicate,
        interrupt: &dyn Fn() -> SqlResult<()>,
    ) -> SqlResult<Vec<RoaringBitmap>> {
        let condition = Condition::from(predicate);
        let mut found = Vec::with_capacity(self.segments.len());
        for visible in &self.segments {
            interrupt()?;
            let columns = TableColumns::new(table, &visible.segment, &self.cache);
            let rows = matching_rows(&condition, &columns, Some(&visible.hidden));
            found.push(rows.map_err(|error| crate::sql_error(&table.def().name, error))?);
        }
        Ok(found)
    }

    /// Which segment has the row of a storage key, and at which position; `None` if it is in none, or not any more.
    pub fn find(&self, table: &Table, key: &[u8]) -> SqlResult<Option<(usize, u32)>> {
        for (at, visible) in self.segments.iter().enumerate() {
            let rows = SegmentRows { table, segment: &visible.segment, cache: &self.cache };
            if let Some(position) = rows.find(key)?.filter(|position| !visible.hidden.contains(*position)) {
                return Ok(Some((at, position)));
            }
        }
        Ok(None)
    }

    /// Adds the storage keys of rows, given for each segment.
    ///
    /// # Errors
    /// Those of reading segments.
    pub fn push_keys(&self, table: &Table, rows: &[RoaringBitmap], keys: &mut Vec<Vec<u8>>) -> SqlResult<()> {
        for (visible, rows) in self.segments.iter().zip(rows) {
            let positions: Vec<u32> = rows.iter().collect();
            keys.extend(visible.keys(self, table, &positions)?);
        }
        Ok(())
    }
}

/// Where a row is that a query has found.
pub enum Place {
    /// In a segment.
    InSegment(SegmentRow),
    /// In none; its storage key.
    Delta(Vec<u8>),
}

/// A column table as a query saw it: where the rows are that it found.
pub struct FoundPlaces {
    table: Arc<Table>,
    snapshot: Arc<ColumnSnapshot>,
    /// Which of the snapshot's segments has a number in a table or partition.
    segments: FxHashMap<(TableId, u64), usize>,
}

impl FoundPlaces {
    /// The segments of a column table in a view.
    ///
    /// # Errors
    /// Those of reading the manifest; an internal one for other tables.
    pub fn of(view: &ReadView, table: &Arc<Table>) -> SqlResult<FoundPlaces> {
        let snapshot = ColumnSnapshot::of(view, table)?;
        let snapshot = snapshot.ok_or_else(|| SqlError::internal("no column table"))?;
        let place = |(at, visible): (usize, &VisibleSegment)| ((visible.segment.storage, visible.segment.number), at);
        let segments = snapshot.segments.iter().enumerate().map(place).collect();
        Ok(FoundPlaces { table: table.clone(), snapshot: Arc::new(snapshot), segments })
    }

    /// The table as the query saw it.
    pub fn snapshot(&self) -> &Arc<ColumnSnapshot> {
        &self.snapshot
    }

    fn segment_row(&self, address: RowAddress) -> SqlResult<SegmentRow> {
        let segment =
            self.segments.get(&(address.storage, address.segment)).copied().filter(|segment| {
                (address.position as usize) < self.snapshot.segments[*segment].segment.segment().rows()
            });
        let segment = segment.ok_or_else(|| SqlError::internal("a row of a segment that is not there"))?;
        Ok(SegmentRow { segment, position: address.position })
    }

    /// The storage key of a row.
    ///
    /// # Errors
    /// Those of reading segments; an internal one for an address that the query did not see.
    pub fn key(&self, address: RowAddress) -> SqlResult<Vec<u8>> {
        let row = self.segment_row(address)?;
        let mut keys = self.snapshot.segments[row.segment].keys(&self.snapshot, &self.table, &[row.position])?;
        keys.pop().ok_or_else(|| SqlError::internal("a position without a key"))
    }

    /// Where a row is, from its key or address.
    ///
    /// # Errors
    /// Those of [`FoundPlaces::key`].
    pub fn place(&self, found: &[u8]) -> SqlResult<Place> {
        if let Some(address) = RowAddress::decode(found) {
            return Ok(Place::InSegment(self.segment_row(address)?));
        }
        Ok(match self.snapshot.find(&self.table, found)? {
            Some((segment, position)) => Place::InSegment(SegmentRow { segment, position }),
            None => Place::Delta(found.to_vec()),
        })
    }
}
