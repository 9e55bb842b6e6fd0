//! Builds indexes over existing rows.

use super::ingest::Ingested;
use crate::conflicts::Conflicts;
use crate::engine::AbstractTree;
use crate::error::{StoreResult, corrupted};
use crate::index_key::{Entry, IndexCodec, KeyRange, TermScratch, row_key_of_entry};
use crate::read_view::ReadView;
use crate::sorter::Sorter;
use crate::store::RowStore;
use crate::table::Table;
use crate::{Direction, ValueRange};
use rustc_hash::FxHashSet;
use squall_accounting::work_meter::carried;
use squall_catalog::IndexId;
use squall_types::{SqlError, SqlResult, Value};
use std::ops::Bound;
use std::sync::Arc;

/// Rows after which a build looks whether it is still wanted.
const ROWS_PER_CHECK: u64 = 4096;

/// Threads that read a table, at most.
const THREADS_MAX: usize = 16;

/// Numbers of rows for each of them.
const ROW_NUMBERS: u64 = 1 << 48;

impl RowStore {
    /// Fills indexes of `table`'s definition from the rows that are there, all in one scan, of which each core does a
    /// part. `check` is called every few thousand rows with the number of those read since the last time; its error ends the build. The caller holds the table's exclusive
    /// lock and makes the definition the catalog's afterwards.
    pub fn build_indexes(
        &self,
        table: &Arc<Table>,
        indexes: &[IndexId],
        check: &(dyn Fn(u64) -> SqlResult<()> + Sync),
    ) -> StoreResult<()> {
        let codecs = codecs_of(table, indexes)?;
        if codecs.is_empty() {
            return Ok(());
        }
        for storage in table.storages() {
            self.fill_indexes(&storage, &codecs, &self.read_view(), check)?;
        }
        Ok(())
    }

    /// Fills indexes of a storage from the rows of a view. Nothing else may be in the indexes, or come into them meanwhile.
    pub(super) fn fill_indexes(
        &self,
        table: &Arc<Table>,
        codecs: &[&IndexCodec],
        view: &ReadView,
        check: &(dyn Fn(u64) -> SqlResult<()> + Sync),
    ) -> StoreResult<()> {
        for codec in codecs {
            if codec.id == IndexId(0) {
                return Err(SqlError::internal("a primary key is built by copying the table").into());
            }
            // An earlier attempt that was cut short may have left entries.
            self.0.clear_range(&table.data, &codec.full_range())?;
        }
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        let parts = parts(table, cores.min(THREADS_MAX))?;
        let sorters = std::thread::scope(|scope| -> SqlResult<Vec<Sorter>> {
            let mut threads = Vec::with_capacity(parts.len());
            for (at, part) in parts.iter().enumerate() {
                let mut sorter = self.sorter(parts.len());
                threads.push(scope.spawn(carried(move || {
                    collect_entries(table, codecs, view, part, at as u64 * ROW_NUMBERS, &mut sorter, check)?;
                    Ok::<_, SqlError>(sorter)
                })));
            }
            let joined = threads.into_iter().map(|thread| {
                thread.join().map_err(|_| SqlError::internal("an index build's thread has panicked")).flatten()
            });
            joined.collect()
        })?;
        let sorted = Sorter::finish_all(sorters)?;
        if codecs.iter().any(|codec| codec.unique)
            && let Some(loser) = Conflicts::find(table, &sorted, false, None)?.first_loser()
        {
            let row_key = row_key_of_entry(loser.key, loser.value).ok_or_else(|| corrupted(&table.def().name))?;
            let row = view.get(table, &row_key)?.ok_or_else(|| corrupted(&table.def().name))?;
            let codec = table.index_codec(loser.index)?;
            return Err(table.duplicate(codec, (&row.values(table)?, loser.key), row_key));
        }
        self.ingest(table, &sorted, &FxHashSet::default(), Ingested::Entries)?;
        Ok(())
    }
}

/// Indexes of a table.
pub(super) fn codecs_of<'t>(table: &'t Table, indexes: &[IndexId]) -> SqlResult<Vec<&'t IndexCodec>> {
    indexes.iter().map(|index| table.index_codec(*index)).collect()
}

/// Puts the entries of a range's rows into a sorter. `check` is as in [`RowStore::build_indexes`].
pub(crate) fn collect_entries(
    table: &Arc<Table>,
    codecs: &[&IndexCodec],
    view: &ReadView,
    range: &KeyRange,
    first_number: u64,
    sorter: &mut Sorter,
    check: &(dyn Fn(u64) -> SqlResult<()> + Sync),
) -> SqlResult<()> {
    let columns = columns_of(codecs);
    let mut cursor = view.scan(table, range, Direction::Forward);
    let mut values = vec![Value::Null; table.def().columns.len()];
    let (mut entry, mut scratch) = (Entry::default(), TermScratch::default());
    let mut number = first_number;
    while let Some(row) = cursor.next_row()? {
        if number.is_multiple_of(ROWS_PER_CHECK) {
            check(if number == first_number { 0 } else { ROWS_PER_CHECK })?;
        }
        let view = row.view(table);
        for ordinal in &columns {
            values[*ordinal] = view.get_value(*ordinal)?;
        }
        for codec in codecs {
            if codec.has_terms() {
                codec.for_each_term_entry(&values, &row.key, &mut scratch, |entry| {
                    sorter.push(&entry.key, &entry.value, number)
                })?;
                continue;
            }
            codec.replace_entry(&values, &row.key, &mut entry)?;
            sorter.push(&entry.key, &entry.value, number)?;
        }
        number += 1;
    }
    Ok(())
}

/// The columns that indexes have, by their ordinals.
pub(super) fn columns_of(codecs: &[&IndexCodec]) -> Vec<usize> {
    let mut columns: Vec<usize> = codecs.iter().flat_map(|codec| codec.parts.iter().map(|part| part.ordinal)).collect();
    columns.sort_unstable();
    columns.dedup();
    columns
}

/// Ranges that make up all rows of a table, at most `count` of about the same size: its files tell where rows lie.
fn parts(table: &Table, count: usize) -> SqlResult<Vec<KeyRange>> {
    let all = table.range(IndexId(0), ValueRange::ALL)?;
    let mut starts: Vec<Vec<u8>> = table
        .data
        .keyspace
        .tree
        .current_version()
        .iter_tables()
        .map(|file| file.metadata.key_range.min().to_vec())
        .filter(|key| all.contains(key))
        .collect();
    starts.sort_unstable();
    starts.dedup();
    let count = count.min(starts.len()).max(1);
    // The first file's start is that of the rows.
    let mut cuts: Vec<Vec<u8>> = (1..count).map(|part| starts[part * starts.len() / count].clone()).collect();
    cuts.dedup();
    let mut parts = Vec::with_capacity(count);
    let mut start = all.start;
    for cut in cuts {
        parts.push(KeyRange { start, end: Bound::Excluded(cut.clone()) });
        start = Bound::Included(cut);
    }
    parts.push(KeyRange { start, end: all.end });
    Ok(parts)
}
