//! Rows from all over a table, by which planners judge conditions and columns.

use crate::engine::AbstractTree;
use crate::index_key::{Direction, KeyRange, key_between};
use crate::kept_samples::KeptSample;
use crate::read_view::ReadView;
use crate::store::RowStore;
use crate::table::{Row, Table};
use squall_types::SqlResult;
use std::ops::Bound;
use std::sync::Arc;

/// Tables of up to so many rows are read as a whole …
const WHOLE_ROWS_MAX: u64 = 8192;
/// … if these have no more bytes.
const WHOLE_BYTES_MAX: usize = 8 << 20;
/// Rows that are read between two looks at that.
const CHUNK_ROWS: usize = 256;
/// Longer rows are left out of what is read at places.
const ROW_BYTES_MAX: usize = 32 << 10;
/// Places of larger tables that are looked at. They cost a search each, and as much more when they have to be read from a disk.
const PLACES: u64 = 256;
/// Rows that are read at each.
const ROWS_PER_PLACE: usize = 4;
/// How often places are looked for between those that have rows.
const ROUNDS: usize = 4;

/// Rows from all over a table.
#[derive(Debug, Default)]
pub struct SampledRows {
    /// Rows, place after place; those of a place follow each other in the table.
    pub rows: Vec<Row>,
    /// Numbers of the rows that are the first of their place.
    pub places: Vec<usize>,
    /// Whether these are all rows that there are.
    pub is_whole: bool,
}

impl RowStore {
    /// Rows of a table: all of a small one, and otherwise a few from each of many places. The places are as far from each other as the
    /// table's files tell: each file has as many of them as is its share of the records, evenly between its first and its last key. Where
    /// that meets gaps, more places are looked at between those that have rows.
    ///
    /// # Errors
    /// Those of reading the rows.
    pub fn sample_rows(&self, table: &Arc<Table>) -> SqlResult<SampledRows> {
        let view = self.read_view();
        let all = self.table_stats(table).row_count;
        let storages = table.partitions().unwrap_or(std::slice::from_ref(table));
        if all <= WHOLE_ROWS_MAX
            && let Some(whole) = SampledRows::whole(&view, storages)?
        {
            return Ok(whole);
        }
        let mut sampled = SampledRows::default();
        for storage in storages {
            let rows = self.table_stats(storage).row_count;
            sampled.add_some(&view, storage, rows, (PLACES * rows).div_ceil(all.max(1)))?;
        }
        Ok(sampled)
    }

    /// What was last given to [`RowStore::keep_sample`], unless a tenth of the rows has changed since.
    pub fn kept_sample(&self, table: &Table) -> Option<Arc<dyn KeptSample>> {
        self.0.samples.get(table)
    }

    /// Keeps what has been made of a sample of the rows for the next planner.
    pub fn keep_sample(&self, table: &Table, sample: Arc<dyn KeptSample>) {
        self.0.samples.insert(table, sample);
    }
}

/// A part of a table: its first possible key, and the first one behind it.
type Span = (Vec<u8>, Vec<u8>);

impl SampledRows {
    /// All rows, unless they are more than the table is taken to have, or long.
    fn whole(view: &ReadView, storages: &[Arc<Table>]) -> SqlResult<Option<SampledRows>> {
        let mut whole = SampledRows { is_whole: true, ..SampledRows::default() };
        let mut bytes = 0;
        for storage in storages {
            let place = whole.rows.len();
            let mut cursor = view.scan(storage, &storage.rows_codec().full_range(), Direction::Forward);
            let mut goes_on = true;
            while goes_on {
                let read = whole.rows.len();
                goes_on = cursor.next_batch(CHUNK_ROWS, &mut whole.rows)?;
                bytes += whole.rows[read..].iter().map(Row::size_bytes).sum::<usize>();
                if bytes > WHOLE_BYTES_MAX || whole.rows.len() as u64 > 2 * WHOLE_ROWS_MAX {
                    return Ok(None);
                }
            }
            whole.places.extend((whole.rows.len() > place).then_some(place));
        }
        Ok(Some(whole))
    }

    /// Adds rows from `count` places of a table of so many rows.
    fn add_some(&mut self, view: &ReadView, table: &Arc<Table>, rows: u64, count: u64) -> SqlResult<()> {
        let mut spans = spans_of(view, table, rows, count)?;
        let mut missing = count;
        for _ in 0..ROUNDS {
            let mut found = Vec::new();
            for span in spans {
                let key = self.add_place(view, table, &span)?;
                found.extend(key.map(|key| (key, span.1)));
            }
            missing = missing.saturating_sub(found.len() as u64);
            if missing <= count / 2 || found.is_empty() {
                break;
            }
            let pieces = missing.div_ceil(found.len() as u64) + 1;
            spans = Vec::new();
            for (first, end) in found {
                let range = KeyRange { start: Bound::Included(first.clone()), end: Bound::Excluded(end) };
                let Some((last, _)) = view.scan(table, &range, Direction::Backward).next_pair()? else { continue };
                spans.extend(cut(&first, &behind(&last), pieces).into_iter().skip(1));
            }
        }
        Ok(())
    }

    /// Reads rows at the beginning of a span; gives the key of its first one. Where values change with every nth row, places would begin with
    /// a new value if all began with the first row of their span.
    fn add_place(&mut self, view: &ReadView, table: &Arc<Table>, (start, end): &Span) -> SqlResult<Option<Vec<u8>>> {
        let first = self.rows.len();
        let range = KeyRange { start: Bound::Included(start.clone()), end: Bound::Excluded(end.clone()) };
        let skipped = self.places.len() % ROWS_PER_PLACE;
        view.scan(table, &range, Direction::Forward).next_batch(skipped + ROWS_PER_PLACE, &mut self.rows)?;
        let found = self.rows.get(first).map(|row| row.key_bytes().to_vec());
        let read = self.rows.len() - first;
        self.rows.drain(first..first + skipped.min(read.saturating_sub(1)));
        let short = self.rows.split_off(first).into_iter().filter(|row| row.size_bytes() <= ROW_BYTES_MAX);
        self.rows.extend(short);
        self.places.extend((self.rows.len() > first).then_some(first));
        Ok(found)
    }
}

/// Spans that begin at about so many places of a table's rows, and have all of these rows.
fn spans_of(view: &ReadView, table: &Arc<Table>, rows: u64, count: u64) -> SqlResult<Vec<Span>> {
    let range = table.rows_codec().full_range();
    let end = |direction| view.scan(table, &range, direction).next_pair();
    let (Some((first, _)), Some((last, _))) = (end(Direction::Forward)?, end(Direction::Backward)?) else {
        return Ok(Vec::new());
    };
    let mut runs = Vec::new();
    for file in table.data.keyspace.tree.current_version().iter_tables() {
        let file = &file.metadata;
        let (min, max) = (file.key_range.min().max(&first), file.key_range.max().min(&last));
        if min <= max {
            runs.push((min.clone(), max.clone(), file.item_count));
        }
    }
    let in_files: u64 = runs.iter().map(|(.., records)| records).sum();
    // Nothing tells where those in memory are.
    let in_memory = rows.saturating_sub(in_files).max(1);
    runs.push((first, last.clone(), in_memory));
    let records = u128::from(in_files + in_memory);
    let places = |own: u64| (u128::from(count) * u128::from(own)).div_ceil(records) as u64;
    let mut starts: Vec<Vec<u8>> = runs
        .iter()
        .flat_map(|(first, last, own)| {
            let places = places(*own);
            (0..places).map(move |place| key_between(first, last, place, places))
        })
        .collect();
    starts.sort_unstable();
    starts.dedup();
    let ends: Vec<Vec<u8>> = starts.iter().skip(1).cloned().chain([behind(&last)]).collect();
    Ok(starts.into_iter().zip(ends).collect())
}

/// The first key behind another.
fn behind(key: &[u8]) -> Vec<u8> {
    [key, &[0]].concat()
}

/// A span in so many parts.
fn cut(first: &[u8], end: &[u8], parts: u64) -> Vec<Span> {
    let at = |part| if part == parts { end.to_vec() } else { key_between(first, end, part, parts) };
    (0..parts).map(|part| (at(part), at(part + 1))).collect()
}
