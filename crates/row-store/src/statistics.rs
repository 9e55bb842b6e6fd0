//! Cheap statistics for the planner and for information_schema.

use crate::batch::Batch;
use crate::bytes::{Reader, Writer};
use crate::engine::AbstractTree;
use crate::error::engine_error;
use crate::index_key::{Direction, IndexCodec, split_index_id};
use crate::meta;
use crate::read_view::ReadView;
use crate::store::{RowStore, StoreInner, malformed};
use crate::table::{Table, TableData};
use rustc_hash::{FxHashMap, FxHashSet};
use squall_catalog::IndexId;
use squall_types::SqlResult;
use std::sync::Arc;
use std::sync::atomic::Ordering;

const STATISTICS_VERSION: u8 = 1;

/// Entries of an index that are looked at.
const SAMPLE_ENTRIES: u64 = 20_000;

/// Small tables are not sampled again for every few changes.
const CHANGES_UNSAMPLED_MIN: u64 = 200;

/// Statistics of a table's size.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TableStatistics {
    /// Committed rows; exact while the store is open, an estimate after a crash.
    pub row_count: u64,
    /// Bytes of rows in the table's files, as they are compressed there.
    pub data_bytes: u64,
    /// Bytes of secondary indexes likewise. The size of a file with both is divided by their numbers.
    pub index_bytes: u64,
}

impl RowStore {
    /// What is known of a table's size.
    pub fn table_stats(&self, table: &Table) -> TableStatistics {
        let Some(partitions) = table.partitions() else {
            let row_count = table.data.row_count.load(Ordering::Relaxed).max(0).unsigned_abs();
            let (data_bytes, index_bytes) = sizes(table, row_count);
            return TableStatistics { row_count, data_bytes, index_bytes };
        };
        partitions.iter().map(|partition| self.table_stats(partition)).fold(TableStatistics::default(), |sum, part| {
            TableStatistics {
                row_count: sum.row_count + part.row_count,
                data_bytes: sum.data_bytes + part.data_bytes,
                index_bytes: sum.index_bytes + part.index_bytes,
            }
        })
    }

    /// Distinct values of each prefix of an index's parts (one column, two, …), as last sampled; `None` before
    /// that. Tables are sampled in the background after a tenth of their rows has changed, and by
    /// [`RowStore::analyze`].
    pub fn distinct_prefixes(&self, table: &Table, index: IndexId) -> Option<Vec<u64>> {
        let id = table.index_codec(index).ok()?.id;
        table.data.distinct.read().get(&id).cloned()
    }

    /// Counts rows and samples every index, as ANALYZE TABLE does.
    pub fn analyze(&self, table: &Arc<Table>) -> SqlResult<()> {
        for storage in table.partitions().unwrap_or(std::slice::from_ref(table)) {
            let mut rows = 0;
            let mut cursor = self.read_view().scan(storage, &table.rows_codec().full_range(), Direction::Forward);
            while cursor.next_pair()?.is_some() {
                rows += 1;
            }
            storage.data.row_count.store(rows, Ordering::Relaxed);
        }
        self.sample(table)
    }

    /// Samples every index.
    fn sample(&self, table: &Arc<Table>) -> SqlResult<()> {
        let view = self.read_view();
        for storage in table.partitions().unwrap_or(std::slice::from_ref(table)) {
            storage.data.changes_unsampled.store(0, Ordering::Relaxed);
        }
        let rows = self.table_stats(table).row_count;
        let mut sampled = FxHashMap::default();
        for codec in std::iter::once(table.rows_codec()).chain(table.secondary_codecs()) {
            sampled.insert(codec.id, sample_index(&view, table, codec, rows)?);
        }
        *table.data.distinct.write() = sampled;
        self.0.samples.forget(table);
        table.data.changes.fetch_add(1, Ordering::Relaxed);
        Ok(())
    }

    /// Samples the indexes of tables of which a tenth has changed since they were last sampled.
    pub(crate) fn sample_changed(&self) -> SqlResult<()> {
        let changed: FxHashSet<_> = self
            .0
            .data
            .read()
            .values()
            .filter(|data| {
                let rows = data.row_count.load(Ordering::Relaxed).max(0).unsigned_abs();
                data.changes_unsampled.load(Ordering::Relaxed) > (rows / 10).max(CHANGES_UNSAMPLED_MIN)
            })
            .map(|data| data.logical.id)
            .collect();
        if changed.is_empty() {
            return Ok(());
        }
        let catalog = self.load_catalog();
        for id in changed {
            if let Some((_, def)) = catalog.table_by_id(id) {
                self.sample(&self.table(def)?)?;
            }
        }
        Ok(())
    }
}

/// The weight of a row without statistics, in index entries.
const ENTRIES_PER_ROW: f64 = 3.0;

/// Bytes and number of records.
#[derive(Default)]
struct Share {
    bytes: u64,
    records: u64,
}

impl Share {
    fn add(&mut self, bytes: u64, records: u64) {
        self.bytes += bytes;
        self.records += records;
    }

    fn weight(&self) -> Option<f64> {
        (self.bytes > 0 && self.records > 0).then(|| self.bytes as f64 / self.records as f64)
    }
}

/// Bytes of rows and of secondary indexes. Files are in the order of their keys, so that few have both in them.
fn sizes(table: &Table, row_count: u64) -> (u64, u64) {
    let range = table.rows_codec().full_range();
    let (mut rows, mut entries, mut mixed) = (Share::default(), Share::default(), Vec::new());
    for file in table.data.keyspace.tree.current_version().iter_tables() {
        let file = &file.metadata;
        match (range.contains(file.key_range.min()), range.contains(file.key_range.max())) {
            (_, true) => rows.add(file.file_size, file.item_count),
            (false, false) => entries.add(file.file_size, file.item_count),
            (true, false) => mixed.push((file.file_size, file.item_count)),
        }
    }
    let weight = rows.weight().zip(entries.weight()).map_or(ENTRIES_PER_ROW, |(row, entry)| row / entry);
    for (bytes, records) in mixed {
        let of_rows = row_count.saturating_sub(rows.records).min(records);
        let heavy = of_rows as f64 * weight;
        let part = heavy / (heavy + (records - of_rows) as f64).max(1.0);
        let row_bytes = (bytes as f64 * part) as u64;
        rows.add(row_bytes, of_rows);
        entries.add(bytes - row_bytes, records - of_rows);
    }
    (rows.bytes, entries.bytes)
}

/// Distinct values of each prefix of an index's parts, reckoned from the entries at its front.
fn sample_index(view: &ReadView, table: &Arc<Table>, codec: &IndexCodec, rows: u64) -> SqlResult<Vec<u64>> {
    if codec.has_terms() || codec.is_copy || codec.is_hashed {
        return Ok(Vec::new());
    }
    let mut cursor = view.scan(table, &codec.full_range(), Direction::Forward);
    let mut distinct = vec![0u64; codec.parts.len()];
    let mut previous: Vec<u8> = Vec::new();
    let mut seen = 0;
    while seen < SAMPLE_ENTRIES
        && let Some((key, _)) = cursor.next_pair()?
    {
        let mut rest = split_index_id(&key).map_or(&key[..], |(_, rest)| rest);
        for (at, column) in codec.parts.iter().enumerate() {
            if column.part.decode(&mut rest).is_err() {
                break;
            }
            let end = key.len() - rest.len();
            if previous.get(..end) != Some(&key[..end]) {
                distinct[at..].iter_mut().for_each(|count| *count += 1);
                break;
            }
        }
        previous.clear();
        previous.extend_from_slice(&key);
        seen += 1;
    }
    if seen == SAMPLE_ENTRIES {
        // The front's density is taken for that of the rest.
        distinct.iter_mut().for_each(|count| *count = count.saturating_mul(rows.max(seen)) / seen);
    }
    Ok(distinct)
}

impl StoreInner {
    pub fn load_statistics(&self, data: &TableData) -> SqlResult<()> {
        let key = meta::table_key(meta::STATISTICS, data.id);
        let Some(record) = self.meta.get(key).map_err(engine_error)? else {
            data.row_count.store(data.keyspace.approximate_len() as i64, Ordering::Relaxed);
            return Ok(());
        };
        let mut reader = Reader::new(&record);
        if reader.u8()? != STATISTICS_VERSION {
            return Err(malformed("statistics"));
        }
        data.row_count.store(reader.i64()?, Ordering::Relaxed);
        let indexes = reader.list(|reader| Ok((IndexId(reader.u32()?), reader.list(Reader::uint)?)))?;
        *data.distinct.write() = indexes.into_iter().collect();
        Ok(())
    }

    /// Adds a table's statistics to a batch, if it is a table of the catalog.
    pub fn put_statistics(&self, batch: &mut Batch, data: &TableData) -> SqlResult<()> {
        if !self.meta.contains_key(meta::table_key(meta::GENERATION, data.id)).map_err(engine_error)? {
            return Ok(());
        }
        let mut out = Writer::new(STATISTICS_VERSION);
        out.i64(data.row_count.load(Ordering::Relaxed));
        let distinct: Vec<_> = data.distinct.read().iter().map(|(id, counts)| (*id, counts.clone())).collect();
        out.list(&distinct, |out, (id, counts)| {
            out.uint(u64::from(id.0));
            out.list(counts, |out, count| out.uint(*count));
        });
        batch.insert(&self.meta, meta::table_key(meta::STATISTICS, data.id), out.finish());
        Ok(())
    }

    /// Saves the statistics of tables that have changed.
    pub fn save_statistics(&self) -> SqlResult<()> {
        // The catalog's lock keeps a drop from coming between looking a table up and writing its record.
        let catalog = self.catalog.lock();
        let mut batch = Batch::default();
        for data in self.data.read().values() {
            if data.changes.swap(0, Ordering::Relaxed) == 0 || data.is_retired() {
                continue;
            }
            self.put_statistics(&mut batch, data)?;
        }
        let saved = self.committer.write(batch, false);
        drop(catalog);
        saved
    }
}
