//! Sealing: moves rows from the store to the level below it.

use crate::commit::SealRequest;
use crate::engine::{Iter, Slice, Snapshot};
use crate::error::engine_error;
use crate::store::RowStore;
use crate::table::Table;
use crate::table::segment_level::{DELETED, DeltaRow, ManifestEntry, SegmentLevel, read_manifest};
use crate::table_part::TablePart;
use squall_types::{SqlError, SqlResult};
use std::sync::Arc;

/// The store's rows of a table on their way out of it, or into a copy.
pub struct Sealing {
    store: RowStore,
    table: Arc<Table>,
    level: Arc<SegmentLevel>,
    snapshot: Snapshot,
    /// Keys that have been read.
    keys: Vec<Slice>,
    rows: Iter,
    /// Whether rows are read that have no marks, too.
    all: bool,
}

impl Sealing {
    /// Begins; `None` if another one of the same table is under way. Fails for a table without a Segment level.
    pub fn begin(store: &RowStore, table: &Arc<Table>) -> SqlResult<Option<Sealing>> {
        let level = table.data.segment_level().ok_or_else(|| SqlError::internal("a table that cannot be sealed"))?;
        Self::begin_level(store, table, level.clone(), false)
    }

    /// Begins to copy rows that have changed since they were copied, or all of them; otherwise as [`Sealing::begin`].
    pub fn begin_copy(store: &RowStore, table: &Arc<Table>, all: bool) -> SqlResult<Option<Sealing>> {
        let level = table.data.copy().ok_or_else(|| SqlError::internal("a table without a copy"))?;
        Self::begin_level(store, table, level, all)
    }

    fn begin_level(
        store: &RowStore,
        table: &Arc<Table>,
        level: Arc<SegmentLevel>,
        all: bool,
    ) -> SqlResult<Option<Sealing>> {
        let snapshot = {
            let _log = store.committer().log.lock();
            if !level.note_changes_from_now() {
                return Ok(None);
            }
            store.0.db.snapshot()
        };
        let keyspace = &table.data.keyspace;
        let mut keys = Vec::new();
        let mut range = level.part.delta_range();
        if all {
            for mark in snapshot.range(keyspace, range.to_slices()) {
                keys.push(mark.key().map_err(engine_error)?);
            }
            range = TablePart::Rows.delta_range();
        }
        let rows = snapshot.range(keyspace, range.to_slices());
        let sealing = Sealing { store: store.clone(), table: table.clone(), level, snapshot, keys, rows, all };
        // Commits that were applied before changes were noted are not visible to all readers yet, and may still be taken
        // back by a failed sync.
        store.committer().advance_or_sync(sealing.snapshot.clone())?;
        Ok(Some(sealing))
    }

    /// The manifest as it is. Other writers of it hold the table's exclusive lock.
    pub fn manifest(&self) -> SqlResult<Vec<ManifestEntry>> {
        read_manifest(self.level.part, &self.table.data.keyspace, self.snapshot.seqno())
    }

    /// The next row of the store in the order of the keys. Those that have been read are sealed by the commit.
    pub fn next_row(&mut self) -> SqlResult<Option<DeltaRow>> {
        let Some(entry) = self.rows.next() else { return Ok(None) };
        let (key, value) = entry.into_inner().map_err(engine_error)?;
        if self.all {
            return Ok(Some(DeltaRow { key, row: Some(value) }));
        }
        self.keys.push(key.clone());
        if self.level.part == TablePart::Rows {
            return Ok(Some(DeltaRow { key, row: (*value != DELETED).then_some(value) }));
        }
        let key = self.level.part.row_key(&key);
        let row = self.snapshot.get(&self.table.data.keyspace, &key).map_err(engine_error)?;
        Ok(Some(DeltaRow { key, row }))
    }

    /// Replaces the rows that were read by new contents of entries of the manifest (`None` removes an entry), durably and in
    /// one step. Gives the first sequence number that has it: readers of earlier ones ([`RowStore::is_past`]) go by the old manifest.
    pub fn commit(mut self, manifest: Vec<(Vec<u8>, Option<Vec<u8>>)>) -> SqlResult<u64> {
        let part = self.level.part;
        let manifest = manifest
            .into_iter()
            .map(|(name, content)| (Slice::from(part.manifest_key(&name)), content.map(Slice::from)));
        let request = SealRequest {
            data: self.table.data.clone(),
            level: self.level.clone(),
            sealed: std::mem::take(&mut self.keys),
            manifest: manifest.collect(),
        };
        self.store.committer().seal(request)
    }
}

impl Drop for Sealing {
    fn drop(&mut self) {
        self.level.note_changes_no_more();
    }
}
