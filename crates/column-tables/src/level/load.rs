//! Loads make segments of their rows directly.

use super::ColumnTable;
use super::load_block::ColumnBlock;
use super::uncommitted::UncommittedSegments;
use crate::decode::{ColumnDecoder, append_column};
use crate::entry::SegmentEntry;
use crate::rows::SegmentRows;
use crate::{segment_columns, segment_ordinals};
use arrow::array::{ArrayRef, UInt64Array};
use squall_accounting::work_meter::carried;
use squall_column_store::segment::SEGMENT_ROWS_MAX;
use squall_row_store::{BlockKeys, ManifestEntry, Row, SegmentBlock, SegmentRowWriter, Table, UncommittedRows};
use squall_types::{SqlError, SqlResult};
use std::sync::Arc;
use std::thread::JoinHandle;

/// Bytes of rows that end a segment early: its columns are in memory, twice, until it is written.
pub const SEGMENT_BYTES_MAX: usize = 160 << 20;

/// Rows that are decoded at a time.
const BATCH_ROWS: usize = 1024;

/// Makes segments of rows that come in the order of their keys. Dropped before they are the table's, it removes them.
pub(crate) struct SegmentLoad {
    table: Arc<Table>,
    column_table: Arc<ColumnTable>,
    /// By the columns' ordinals.
    decoders: Vec<(usize, ColumnDecoder)>,
    /// Rows that have come in columns, by the segment's columns.
    parts: Vec<Vec<ArrayRef>>,
    /// Hidden row numbers, of a table that has them.
    numbers: Vec<u64>,
    batch: Vec<Row>,
    rows: usize,
    bytes: usize,
    first_key: Vec<u8>,
    last_key: Vec<u8>,
    /// The segment that is being written, while rows of the next one come.
    writing: Option<JoinHandle<SqlResult<ManifestEntry>>>,
    written: Vec<ManifestEntry>,
    /// What is written, until it is the table's.
    segments: Option<UncommittedSegments>,
}

impl SegmentLoad {
    pub fn new(table: Arc<Table>, column_table: Arc<ColumnTable>) -> SegmentLoad {
        SegmentLoad {
            decoders: decoders(&table, column_table.is_copy()),
            table,
            parts: Vec::new(),
            segments: Some(UncommittedSegments::new(column_table.clone())),
            column_table,
            numbers: Vec::new(),
            batch: Vec::with_capacity(BATCH_ROWS),
            rows: 0,
            bytes: 0,
            first_key: Vec::new(),
            last_key: Vec::new(),
            writing: None,
            written: Vec::new(),
        }
    }

    fn decode_batch(&mut self) -> SqlResult<()> {
        for (ordinal, decoder) in &mut self.decoders {
            append_column(&self.table, &self.batch, *ordinal, decoder)?;
        }
        if self.table.has_hidden_row_id() {
            for row in &self.batch {
                self.numbers.push(self.table.hidden_row_number(row.key_bytes())?);
            }
        }
        self.batch.clear();
        Ok(())
    }

    /// The rows that have come one by one become a part.
    fn end_batch(&mut self) -> SqlResult<()> {
        self.decode_batch()?;
        let delta = decoders(&self.table, self.column_table.is_copy());
        let mut ended = std::mem::replace(&mut self.decoders, delta);
        self.add_part(ended.iter_mut().map(|(_, decoder)| decoder.finish()).collect());
        Ok(())
    }

    fn add_part(&mut self, arrays: Vec<ArrayRef>) {
        if arrays.first().is_none_or(|array| array.is_empty()) {
            return;
        }
        self.parts.resize_with(arrays.len(), Vec::new);
        self.parts.iter_mut().zip(arrays).for_each(|(parts, array)| parts.push(array));
    }

    /// Begins to write the segment of the rows so far.
    fn begin_segment(&mut self) -> SqlResult<()> {
        self.end_batch()?;
        self.end_segment()?;
        let mut parts = std::mem::take(&mut self.parts);
        let numbers = self.table.has_hidden_row_id().then(|| UInt64Array::from(std::mem::take(&mut self.numbers)));
        let keys = (std::mem::take(&mut self.first_key), std::mem::take(&mut self.last_key));
        let (column_table, columns) =
            (self.column_table.clone(), segment_columns(&self.table, self.column_table.is_copy())?);
        parts.extend(numbers.map(|numbers| vec![Arc::new(numbers) as ArrayRef]));
        let write = move || {
            let parts: Vec<&[ArrayRef]> = parts.iter().map(Vec::as_slice).collect();
            let threads = std::thread::available_parallelism().map_or(1, usize::from);
            column_table.write_segment_of_parts(&columns, &parts, keys, threads)
        };
        let thread = std::thread::Builder::new().name("squall-segment".into()).spawn(carried(write));
        self.writing = Some(thread.map_err(SqlError::internal)?);
        (self.rows, self.bytes) = (0, 0);
        Ok(())
    }

    /// Waits for the segment that is being written.
    fn end_segment(&mut self) -> SqlResult<()> {
        if let Some(writing) = self.writing.take() {
            let written = writing.join().map_err(|_| SqlError::internal("a load's thread has panicked"))??;
            self.segments.iter_mut().for_each(|segments| segments.push(&written));
            self.written.push(written);
        }
        Ok(())
    }
}

fn decoders(table: &Table, copy: bool) -> Vec<(usize, ColumnDecoder)> {
    let decoder = |ordinal: usize| (ordinal, ColumnDecoder::stored(&table.def().columns[ordinal].sql_type, 0));
    segment_ordinals(table, copy).into_iter().map(decoder).collect()
}

impl SegmentRowWriter for SegmentLoad {
    fn push(&mut self, row: Row) -> SqlResult<()> {
        if self.rows == 0 {
            self.first_key = row.key_bytes().to_vec();
        }
        self.rows += 1;
        self.bytes += row.size_bytes();
        let full = self.rows == SEGMENT_ROWS_MAX || self.bytes >= SEGMENT_BYTES_MAX;
        if full {
            self.last_key = row.key_bytes().to_vec();
        }
        self.batch.push(row);
        if full {
            return self.begin_segment();
        }
        if self.batch.len() == BATCH_ROWS {
            if let Some(last) = self.batch.last() {
                last.key_bytes().clone_into(&mut self.last_key);
            }
            self.decode_batch()?;
        }
        Ok(())
    }

    fn push_block(&mut self, block: Box<dyn SegmentBlock>, keys: &BlockKeys) -> SqlResult<()> {
        let block = block.into_any().downcast::<ColumnBlock>();
        let mut block = block.map_err(|_| SqlError::internal("a block of rows of another kind"))?;
        let (count, mut ends) = (keys.iter().len(), keys.iter());
        let Some(first) = ends.next() else { return Ok(()) };
        if self.rows > 0 && (self.rows + count > SEGMENT_ROWS_MAX || self.bytes + block.bytes() > SEGMENT_BYTES_MAX) {
            if let Some(last) = self.batch.last() {
                last.key_bytes().clone_into(&mut self.last_key);
            }
            self.begin_segment()?;
        }
        if self.rows == 0 {
            first.clone_into(&mut self.first_key);
        }
        ends.next_back().unwrap_or(first).clone_into(&mut self.last_key);
        self.end_batch()?;
        if self.table.has_hidden_row_id() {
            for key in keys.iter() {
                self.numbers.push(self.table.hidden_row_number(key)?);
            }
        }
        self.rows += count;
        self.bytes += block.bytes();
        let arrays = block.finish();
        self.add_part(arrays);
        Ok(())
    }

    fn finish(&mut self) -> SqlResult<Vec<ManifestEntry>> {
        if self.rows > 0 {
            if let Some(last) = self.batch.last() {
                last.key_bytes().clone_into(&mut self.last_key);
            }
            self.begin_segment()?;
        }
        self.end_segment()?;
        Ok(self.written.clone())
    }

    fn leave_out(&mut self, keys: &[Vec<u8>]) -> SqlResult<Vec<u64>> {
        let manifest = self.column_table.segments(self.written.clone())?;
        let mut entries: Vec<SegmentEntry> = manifest.segments().iter().map(|listed| listed.entry.clone()).collect();
        let mut found = Vec::with_capacity(keys.len());
        for key in keys {
            let mut rows_before = 0;
            for (listed, entry) in manifest.segments().iter().zip(&mut entries) {
                let rows = SegmentRows { table: &self.table, segment: listed, cache: manifest.cache() };
                if let Some(position) = rows.find(key)?.filter(|position| entry.deleted.insert(*position)) {
                    found.push(rows_before + u64::from(position));
                    break;
                }
                rows_before += u64::from(entry.identity.rows);
            }
        }
        for (written, entry) in self.written.iter_mut().zip(entries) {
            written.content = entry.encode();
        }
        Ok(found)
    }

    fn keep(mut self: Box<Self>) {
        if let Some(segments) = self.segments.take() {
            Box::new(segments).keep();
        }
    }
}

impl Drop for SegmentLoad {
    fn drop(&mut self) {
        // Its error is not reported any more.
        let _ = self.end_segment();
    }
}
