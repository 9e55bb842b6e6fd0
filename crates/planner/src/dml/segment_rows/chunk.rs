//! Chunks of some thousand segment rows: values of a few of their columns, from any segments.

use super::super::DmlContext;
use super::super::target::Target;
use arrow::array::ArrayRef;
use roaring::RoaringBitmap;
use squall_column_tables::{ColumnSnapshot, TableColumns, from_utc};
use squall_functions::arrow_map::value_at;
use squall_row_store::StoreResult;
use squall_types::{SqlResult, SqlType, Value};

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
    target: &'a Target,
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
    pub fn read(
        target: &'a Target,
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
            let source = TableColumns::new(&target.table, segment, &snapshot.cache);
            let read = |(ordinal, read): (usize, &bool)| {
                read.then(|| source.array(ordinal, part.positions.iter().copied())).transpose()
            };
            part.columns = columns.iter().enumerate().map(read).collect::<SqlResult<_>>()?;
        }
        Ok(SegmentChunk { target, snapshot, rows, places, parts })
    }

    /// The rows, in the order that they were asked for.
    pub fn rows(&self) -> &'a [SegmentRow] {
        self.rows
    }

    /// A row's values as statements see them; NULL where a column is not read.
    pub fn seen(&self, context: &DmlContext<'_>, row: usize) -> SqlResult<Vec<Value>> {
        let mut values = self.stored(row)?;
        for ordinal in &self.target.rules.timestamps {
            if let Value::DateTime(moment) = &mut values[*ordinal] {
                *moment = from_utc(&context.env.context.settings.time_zone, *moment);
            }
        }
        Ok(values)
    }

    /// A row's values as they are stored; NULL where a column is not read.
    pub fn stored(&self, row: usize) -> SqlResult<Vec<Value>> {
        let (part, at) = self.places[row];
        let columns = self.target.def().columns.iter().zip(&self.parts[part].columns);
        columns.map(|(column, array)| value_of(array.as_ref(), at, &column.sql_type)).collect()
    }

    /// Storage keys of the rows.
    pub fn keys(&self) -> SqlResult<Vec<Vec<u8>>> {
        let keys = |part: &ChunkPart| {
            self.snapshot.segments[part.segment].keys(self.snapshot, &self.target.table, &part.positions)
        };
        let mut keys = self.parts.iter().map(keys).collect::<SqlResult<Vec<_>>>()?;
        Ok(self.places.iter().map(|(part, at)| std::mem::take(&mut keys[*part][*at])).collect())
    }
}

fn value_of(array: Option<&ArrayRef>, at: usize, sql_type: &SqlType) -> SqlResult<Value> {
    array.map_or(Ok(Value::Null), |array| value_at(array, at, sql_type))
}

/// The action on a chunk.
pub type ChunkVisit<'v> = dyn FnMut(&mut DmlContext<'_>, &SegmentChunk<'_>) -> StoreResult<()> + 'v;

/// Calls `visit` for rows of a segment, in order.
pub fn for_each_chunk(
    context: &mut DmlContext<'_>,
    target: &Target,
    snapshot: &ColumnSnapshot,
    (segment, positions): (usize, &RoaringBitmap),
    columns: &[bool],
    visit: &mut ChunkVisit<'_>,
) -> StoreResult<()> {
    let mut rows = positions.iter().map(|position| SegmentRow { segment, position });
    loop {
        context.env.context.kill.check()?;
        let chunk: Vec<SegmentRow> = rows.by_ref().take(CHUNK_ROWS).collect();
        if chunk.is_empty() {
            return Ok(());
        }
        visit(context, &SegmentChunk::read(target, snapshot, &chunk, columns)?)?;
    }
}
