//! Follows the rows that others change in a table while something is made of all of its rows: an index, or a copy.

use crate::read_view::ReadView;
use crate::store::RowStore;
use crate::table::Table;
use crate::table::key_capture::StorageKey;
use squall_types::{SqlResult, Value};
use std::sync::Arc;

/// The changed rows of a table from a snapshot on. Dropping it ends that.
pub struct RowCapture {
    store: RowStore,
    storages: Vec<Arc<Table>>,
    view: ReadView,
}

/// What has changed between two snapshots.
pub struct ChangedRows {
    /// The rows as they were: what was made of the table is made of these.
    pub before: ReadView,
    /// The rows as they are.
    pub now: ReadView,
    /// Of each storage the storage keys of rows that may be others, or gone, or new, in their order.
    pub(crate) keys: Vec<(Arc<Table>, Vec<StorageKey>)>,
}

/// Some of the changed rows of a storage.
#[derive(Clone, Copy)]
pub struct ChangedPiece<'c> {
    storage: &'c Table,
    keys: &'c [StorageKey],
}

impl ChangedRows {
    /// All of them, at most `count` at a time.
    pub fn pieces(&self, count: usize) -> impl Iterator<Item = ChangedPiece<'_>> {
        self.keys
            .iter()
            .flat_map(move |(storage, keys)| keys.chunks(count).map(move |keys| ChangedPiece { storage, keys }))
    }

    /// The values of rows as a view has them; those that it has not are left out.
    pub fn rows<'c>(
        &self,
        view: &'c ReadView,
        piece: ChangedPiece<'c>,
    ) -> impl Iterator<Item = SqlResult<Vec<Value>>> + 'c {
        piece.keys.iter().filter_map(|key| values_at(view, piece.storage, key).transpose())
    }

    /// The values of each row as it was and as it is: `None` where it was not there, or is gone.
    pub fn pairs<'c>(
        &'c self,
        piece: ChangedPiece<'c>,
    ) -> impl Iterator<Item = SqlResult<[Option<Vec<Value>>; 2]>> + 'c {
        piece.keys.iter().map(move |key| {
            Ok([values_at(&self.before, piece.storage, key)?, values_at(&self.now, piece.storage, key)?])
        })
    }

    /// How many there are.
    pub fn count(&self) -> usize {
        self.keys.iter().map(|(_, keys)| keys.len()).sum()
    }
}

fn values_at(view: &ReadView, storage: &Table, key: &StorageKey) -> SqlResult<Option<Vec<Value>>> {
    view.row_at(storage, key, false)?.map(|row| row.values(storage)).transpose()
}

impl RowStore {
    /// Follows the changes of a table's rows from now on. The caller keeps definitions of the table away, and others who do the same.
    pub fn capture_rows(&self, table: &Arc<Table>) -> RowCapture {
        let storages = table.storages();
        let log = self.committer().log.lock();
        storages.iter().for_each(|storage| storage.data.captured.begin());
        let view = self.newest_view();
        drop(log);
        RowCapture { store: self.clone(), storages, view }
    }

    /// What has been applied, which may not be durable yet. The caller holds the lock of the log.
    fn newest_view(&self) -> ReadView {
        ReadView { snapshot: self.0.db.snapshot(), own: None, step: 0 }
    }
}

impl RowCapture {
    /// The storages that are followed.
    pub fn storages(&self) -> &[Arc<Table>] {
        &self.storages
    }

    /// The rows up to which changes have been taken.
    pub fn view(&self) -> &ReadView {
        &self.view
    }

    /// Takes the changes since the last time; `None` if it is not known which rows have changed.
    pub fn take(&mut self) -> Option<ChangedRows> {
        let log = self.store.committer().log.lock();
        let keys = self.storages.iter().map(|storage| Some((storage.clone(), storage.data.captured.take()?)));
        let keys = keys.collect::<Option<_>>()?;
        let now = self.store.newest_view();
        drop(log);
        let before = std::mem::replace(&mut self.view, now.clone());
        Some(ChangedRows { before, now, keys })
    }
}

impl Drop for RowCapture {
    fn drop(&mut self) {
        self.storages.iter().for_each(|storage| storage.data.captured.end());
    }
}
