//! Chunks of some thousand segment rows: values of a few of their columns, from any segments.

use crate::columns::TableColumns;
use crate::decode::from_utc;
use crate::snapshot::ColumnSnapshot;
use arrow::array::ArrayRef;
use roaring::RoaringBitmap;
use squall_functions::arrow_map::value_at;
use squall_row_store::{StoreResult, Table};
use squall_types::temporal::TimeZone;
use squall_types::{SqlResult, SqlType, Value};
use std::sync::Arc;

/// Rows of a chunk: those that are looked at between two looks at KILL.
pub const CHUNK_ROWS: usize = 4096;

/// A row of a segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SegmentRow {
    /// Which of the snapshot's segments.
    pub segment: usize,
    /// Its position there.
    pub position: u32,
}

/// Values of some columns of some rows.
pub struct SegmentChunk<'a> {
    table: &'a Arc<Table>,
    snapshot: &'a ColumnSnapshot,
    rows: &'a [SegmentRow],
    /// Of each row which of `parts` has it, and where.
    places: Vec<(usize, usize)>,
    parts: Vec<ChunkPart>,
}

/// The rows of a chunk that are of one segment.
struct ChunkPart {
    segment: usize,
    positions: Vec<u32>,
    /// By ordinal; `None` for columns that are not read.
    columns: Vec<Option<ArrayRef>>,
}

impl<'a> SegmentChunk<'a> {
    /// Reads the `columns`, by ordinal, of rows in whatever order.
    ///
    /// # Errors
    /// Those of reading segments.
    pub fn read(
        table: &'a Arc<Table>,
        snapshot: &'a ColumnSnapshot,
        rows: &'a [SegmentRow],
        columns: &[bool],
    ) -> SqlResult<SegmentChunk<'a>> {
        let mut parts: Vec<ChunkPart> = Vec::new();
        let mut part_of: Vec<Option<usize>> = vec![None; snapshot.segments.len()];
        let mut places = Vec::with_capacity(rows.len());
        for row in rows {
            let part = *part_of[row.segment].get_or_insert_with(|| {
                parts.push(ChunkPart { segment: row.segment, positions: Vec::new(), columns: Vec::new() });
                parts.len() - 1
            });
            places.push((part, parts[part].positions.len()));
            parts[part].positions.push(row.position);
        }
        for part in &mut parts {
            let segment = &snapshot.segments[part.segment].segment;
            let source = TableColumns::new(table, segment, &snapshot.cache);
            let read = |(ordinal, read): (usize, &bool)| {
                read.then(|| source.array(ordinal, part.positions.iter().copied())).transpose()
            };
            part.columns = columns.iter().enumerate().map(read).collect::<SqlResult<_>>()?;
        }
        Ok(SegmentChunk { table, snapshot, rows, places, parts })
    }

    /// The rows, in the order that they were asked for.
    pub fn rows(&self) -> &'a [SegmentRow] {
        self.rows
    }

    /// A row's values as statements see them, with the TIMESTAMP columns of these ordinals in a time zone; NULL where a column is not
    /// read.
    ///
    /// # Errors
    /// When a value is none of its column's type.
    pub fn seen(&self, row: usize, timestamps: &[usize], zone: &TimeZone) -> SqlResult<Vec<Value>> {
        let mut values = self.stored(row)?;
        for ordinal in timestamps {
            if let Value::DateTime(moment) = &mut values[*ordinal] {
                *moment = from_utc(zone, *moment);
            }
        }
        Ok(values)
    }

    /// A row's values as they are stored; NULL where a column is not read.
    ///
    /// # Errors
    /// When a value is none of its column's type.
    pub fn stored(&self, row: usize) -> SqlResult<Vec<Value>> {
        let (part, at) = self.places[row];
        let columns = self.table.def().columns.iter().zip(&self.parts[part].columns);
        columns.map(|(column, array)| value_of(array.as_ref(), at, &column.sql_type)).collect()
    }

    /// Storage keys of the rows.
    ///
    /// # Errors
    /// Those of reading segments.
    pub fn keys(&self) -> SqlResult<Vec<Vec<u8>>> {
        let keys =
            |part: &ChunkPart| self.snapshot.segments[part.segment].keys(self.snapshot, self.table, &part.positions);
        let mut keys = self.parts.iter().map(keys).collect::<SqlResult<Vec<_>>>()?;
        Ok(self.places.iter().map(|(part, at)| std::mem::take(&mut keys[*part][*at])).collect())
    }
}

fn value_of(array: Option<&ArrayRef>, at: usize, sql_type: &SqlType) -> SqlResult<Value> {
    array.map_or(Ok(Value::Null), |array| value_at(array, at, sql_type))
}

/// The action on a chunk.
pub type ChunkVisit<'v> = dyn FnMut(&SegmentChunk<'_>) -> StoreResult<()> + 'v;

/// Calls `visit` for rows of a segment, in order.
///
/// # Errors
/// Those of reading segments and of `visit`, and that of `interrupt`, which is asked before each chunk.
pub fn for_each_chunk(
    table: &Arc<Table>,
    snapshot: &ColumnSnapshot,
    (segment, positions): (usize, &RoaringBitmap),
    columns: &[bool],
    interrupt: &dyn Fn() -> SqlResult<()>,
    visit: &mut ChunkVisit<'_>,
) -> StoreResult<()> {
    let mut rows = positions.iter().map(|position| SegmentRow { segment, position });
    loop {
        interrupt()?;
        let chunk: Vec<SegmentRow> = rows.by_ref().take(CHUNK_ROWS).collect();
        if chunk.is_empty() {
            return Ok(());
        }
        visit(&SegmentChunk::read(table, snapshot, &chunk, columns)?)?;
    }
}
