//! Turns delta rows into a segment.

use crate::decode::{ColumnDecoder, append_column};
use crate::entry::{SegmentEntry, entry_name};
use crate::level::ColumnTable;
use crate::{segment_columns, segment_ordinals};
use arrow::array::{ArrayRef, UInt64Array};
use roaring::RoaringBitmap;
use rustc_hash::FxHashMap;
use squall_row_store::{HeldTable, LevelStore, Row, Table};
use squall_types::SqlResult;
use std::sync::Arc;

/// Rows and deletes that one seal takes out of the row store. Its commit holds others up for a few milliseconds.
pub const SEAL_ROWS_MAX: usize = 1 << 16;

/// Bytes of stored rows that end a seal early: they are in memory until the segment is written.
const SEAL_BYTES_MAX: usize = 64 << 20;

/// The result of a seal.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SealOutcome {
    /// Rows that are in the new segment.
    pub rows: u64,
    /// Rows of older segments that were deleted, or are in the new one in another version.
    pub replaced: u64,
    /// Whether there is nothing left that could be sealed.
    pub complete: bool,
}

impl ColumnTable {
    /// Moves up to [`SEAL_ROWS_MAX`] delta rows of the table into a segment, on `threads` threads; `None` if another thread
    /// is at it.
    pub fn seal(&self, store: &dyn LevelStore, table: &HeldTable, threads: usize) -> SqlResult<Option<SealOutcome>> {
        let Some(mut sealing) = store.begin_sealing(table, self.part)? else { return Ok(None) };
        let changes_before = self.delta_changes();
        let manifest = self.segments(sealing.manifest()?)?;
        let mut rows = Vec::new();
        let mut replaced: FxHashMap<u64, RoaringBitmap> = FxHashMap::default();
        let (mut read, mut bytes, mut outcome) = (0, 0, SealOutcome { complete: true, ..SealOutcome::default() });
        let (mut first_key, mut last_key, mut numbers) = (None, Vec::new(), Vec::new());
        while let Some(delta) = sealing.next_row()? {
            if let Some((segment, position)) = manifest.find(table, delta.key())? {
                replaced.entry(segment.number).or_default().insert(position);
                outcome.replaced += 1;
            }
            if let Some(row) = delta.row(table)? {
                if table.has_hidden_row_id() {
                    numbers.push(table.hidden_row_number(delta.key())?);
                }
                first_key.get_or_insert_with(|| delta.key().to_vec());
                last_key = delta.key().to_vec();
                outcome.rows += 1;
                bytes += row.size_bytes();
                rows.push(row);
            }
            read += 1;
            if read == SEAL_ROWS_MAX || bytes >= SEAL_BYTES_MAX {
                outcome.complete = false;
                break;
            }
        }
        if read == 0 {
            sealing.end_empty();
            self.segment_changes(changes_before);
            return Ok(Some(outcome));
        }
        let (mut changes, mut dropped) = (Vec::new(), Vec::new());
        for segment in manifest.segments() {
            if let Some(positions) = replaced.remove(&segment.number) {
                let entry = SegmentEntry { deleted: &segment.entry.deleted | positions, ..segment.entry.clone() };
                if entry.is_empty() {
                    dropped.push(segment.clone());
                }
                changes.push((entry_name(segment.number), (!entry.is_empty()).then(|| entry.encode())));
            }
        }
        if let Some(first_key) = first_key {
            let mut arrays = columns_of(table, &segment_ordinals(table, self.is_copy()), &rows)?;
            if table.has_hidden_row_id() {
                arrays.push(Arc::new(UInt64Array::from(numbers)));
            }
            let entry =
                self.write_segment(&segment_columns(table, self.is_copy())?, &arrays, (first_key, last_key), threads)?;
            changes.push((entry.name, Some(entry.content)));
        }
        let seqno = sealing.commit(changes)?;
        self.drop_segments(seqno, &dropped)?;
        if outcome.complete {
            self.segment_changes(changes_before);
        }
        Ok(Some(outcome))
    }
}

/// The columns of rows, TIMESTAMPs in UTC.
fn columns_of(table: &Table, ordinals: &[usize], rows: &[Row]) -> SqlResult<Vec<ArrayRef>> {
    let column = |ordinal: &usize| {
        let mut decoder = ColumnDecoder::stored(&table.def().columns[*ordinal].sql_type, rows.len());
        append_column(table, rows, *ordinal, &mut decoder)?;
        Ok(decoder.finish())
    };
    ordinals.iter().map(column).collect()
}
