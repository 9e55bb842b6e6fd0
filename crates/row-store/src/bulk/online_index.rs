//! Builds indexes over rows that others go on changing.
//!
//! The entries of a snapshot's rows are sorted and put into files, as without writers ([`RowStore::build_indexes`]). Meanwhile commits note the
//! keys of the rows that they change ([`RowCapture`]). Those rows are looked at again, in the snapshot and in a newer one: entries that
//! differ are replaced, and so on round by round, until few rows are left. The last round takes place under the table's exclusive lock. It
//! is what InnoDB does with its log of row changes, but the changes themselves are read from the snapshots.
//!
//! Nobody reads or writes the entries meanwhile, since no definition has the indexes. What a crash leaves of them is removed by the next build
//! of an index with that number.

use super::index::{codecs_of, columns_of};
use crate::batch::Batch;
use crate::error::{StoreError, StoreResult, corrupted};
use crate::index_key::{Entry, IndexCodec, row_key_of_entry};
use crate::read_view::ReadView;
use crate::row_capture::RowCapture;
use crate::store::RowStore;
use crate::table::Table;
use crate::table::key_capture::StorageKey;
use rustc_hash::FxHashSet;
use squall_catalog::{IndexId, TableDef};
use squall_types::{SqlResult, Value};
use std::sync::Arc;

/// Changed rows that are looked at between two looks whether the build is still wanted, and whose entries are one batch.
const ROWS_AT_ONCE: usize = 1024;

/// So few changed rows are left to the exclusive lock.
const ROWS_LEFT: usize = 1024;

/// After so many rounds the exclusive lock is taken, however many rows change; sooner if that does not become less.
const ROUNDS_MAX: usize = 16;

/// Called with the rows that have been read since the last time; its error ends the build.
pub type CheckBuild<'c> = &'c (dyn Fn(u64) -> SqlResult<()> + Sync);

/// Indexes on their way. Dropping it gives them up.
pub struct OnlineIndexBuild {
    store: RowStore,
    indexes: Vec<IndexId>,
    /// Their entries are those of the rows of its view.
    capture: RowCapture,
    is_finished: bool,
}

impl RowStore {
    /// Fills indexes of a definition that is not in the catalog yet while others change the table's rows, up to the last few changes.
    /// The caller keeps other definitions of the table away, until it has dropped what it gets.
    ///
    /// # Errors
    /// A duplicate of a unique index; the errors of `check`; those of reading and writing.
    pub fn build_indexes_online(
        &self,
        def: &Arc<TableDef>,
        indexes: &[IndexId],
        check: CheckBuild<'_>,
    ) -> StoreResult<OnlineIndexBuild> {
        let capture = self.capture_rows(&Arc::new(self.open_table(def)?));
        let mut build =
            OnlineIndexBuild { store: self.clone(), indexes: indexes.to_vec(), capture, is_finished: false };
        for storage in build.capture.storages() {
            self.fill_indexes(storage, &codecs_of(storage, indexes)?, build.capture.view(), check)?;
        }
        let mut before = usize::MAX;
        for _ in 0..ROUNDS_MAX {
            match build.catch_up(check)? {
                // Others are about as fast.
                Some(rows) if rows > ROWS_LEFT && rows < before / 5 * 4 => before = rows,
                _ => break,
            }
        }
        Ok(build)
    }
}

impl OnlineIndexBuild {
    /// Takes over what has changed since the last time. Gives the number of rows; `None` if it is not known which they are: then the indexes
    /// are of no use.
    ///
    /// # Errors
    /// Those of [`RowStore::build_indexes_online`].
    pub fn catch_up(&mut self, check: CheckBuild<'_>) -> StoreResult<Option<usize>> {
        let Some(changed) = self.capture.take() else { return Ok(None) };
        for (storage, keys) in &changed.keys {
            let codecs = codecs_of(storage, &self.indexes)?;
            let entries = EntriesOfRow { table: storage, columns: columns_of(&codecs), codecs: &codecs };
            let round = Round { store: &self.store, before: &changed.before, now: &changed.now, entries };
            // A unique key that one row has given up may be another's: first all old entries go.
            keys.chunks(ROWS_AT_ONCE).try_for_each(|keys| {
                check(0)?;
                round.remove(keys)
            })?;
            for keys in keys.chunks(ROWS_AT_ONCE) {
                check(keys.len() as u64)?;
                round.insert(keys)?;
            }
        }
        Ok(Some(changed.count()))
    }

    /// Takes the last changes over. The caller holds the table's exclusive lock. `false` if the indexes are of no use.
    ///
    /// # Errors
    /// Those of [`RowStore::build_indexes_online`].
    pub fn finish(mut self, check: CheckBuild<'_>) -> StoreResult<bool> {
        self.is_finished = self.catch_up(check)?.is_some();
        Ok(self.is_finished)
    }
}

impl Drop for OnlineIndexBuild {
    fn drop(&mut self) {
        if self.is_finished {
            return;
        }
        for table in self.capture.storages() {
            for codec in codecs_of(table, &self.indexes).unwrap_or_default() {
                // What stays is removed by the next build.
                let _ = self.store.0.clear_range(&table.data, &codec.full_range());
            }
        }
    }
}

/// Makes the entries of changed rows of a storage those of the rows as they are.
struct Round<'r> {
    store: &'r RowStore,
    before: &'r ReadView,
    now: &'r ReadView,
    entries: EntriesOfRow<'r>,
}

impl Round<'_> {
    fn remove(&self, keys: &[StorageKey]) -> SqlResult<()> {
        let mut batch = Batch::default();
        for key in keys {
            let (old, new) = (self.entries.at(self.before, key)?, self.entries.at(self.now, key)?);
            let gone = old.into_iter().filter(|(_, old)| !has(&new, old));
            gone.for_each(|(_, old)| batch.remove(&self.entries.table.data.keyspace, old.key));
        }
        write(self.store, batch)
    }

    fn insert(&self, keys: &[StorageKey]) -> StoreResult<()> {
        let table = self.entries.table;
        let mut batch = Batch::default();
        let mut exclusive = FxHashSet::default();
        for key in keys {
            let (old, new) = (self.entries.at(self.before, key)?, self.entries.at(self.now, key)?);
            for (codec, entry) in new.into_iter().filter(|(_, new)| !has(&old, new)) {
                if entry.exclusive && (!exclusive.insert(entry.key.clone()) || table.has_now(&entry.key)?) {
                    return Err(self.duplicate(codec, &entry, key)?);
                }
                batch.insert(&table.data.keyspace, entry.key, entry.value);
            }
        }
        Ok(write(self.store, batch)?)
    }

    /// The error of a row that has a unique key which another has.
    fn duplicate(&self, codec: &IndexCodec, entry: &Entry, key: &[u8]) -> SqlResult<StoreError> {
        let table = self.entries.table;
        let damaged = || corrupted(&table.def().name);
        let row = self.now.row_at(table, key, false)?.ok_or_else(damaged)?;
        let existing = match table.newest(&entry.key)?.0 {
            Some(value) => row_key_of_entry(&entry.key, &value).ok_or_else(damaged)?,
            None => key.to_vec(),
        };
        Ok(table.duplicate(codec, (&row.values(table)?, &entry.key), existing))
    }
}

/// Writes entries. They are durable with the definition.
fn write(store: &RowStore, batch: Batch) -> SqlResult<()> {
    if batch.is_empty() { Ok(()) } else { store.committer().write(batch, false) }
}

fn has(entries: &[(&IndexCodec, Entry)], entry: &Entry) -> bool {
    entries.iter().any(|(_, other)| other.key == entry.key && other.value == entry.value)
}

/// Makes the entries of rows by their keys.
struct EntriesOfRow<'t> {
    table: &'t Table,
    columns: Vec<usize>,
    codecs: &'t [&'t IndexCodec],
}

impl<'t> EntriesOfRow<'t> {
    /// Those of the row that a view has; none if it has no such row.
    fn at(&self, view: &ReadView, key: &[u8]) -> SqlResult<Vec<(&'t IndexCodec, Entry)>> {
        let Some(row) = view.row_at(self.table, key, false)? else { return Ok(Vec::new()) };
        let mut values = vec![Value::Null; self.table.def().columns.len()];
        let view = row.view(self.table);
        for ordinal in &self.columns {
            values[*ordinal] = view.get_value(*ordinal)?;
        }
        let mut entries = Vec::new();
        for codec in self.codecs {
            match codec.has_terms() {
                true => entries.extend(codec.term_entries(&values, key)?.into_iter().map(|entry| (*codec, entry))),
                false => entries.push((*codec, codec.entry(&values, key)?)),
            }
        }
        Ok(entries)
    }
}
