//! Sealing: moves rows from the store to the level below it.

use crate::commit::{Committer, SealRequest};
use crate::engine::{Iter, Slice, Snapshot};
use crate::error::engine_error;
use crate::table::Table;
use crate::table::row::{Row, has_large_values};
use crate::table::segment_level::{DELETED, DeltaRow, ManifestEntry, SegmentLevel, read_manifest};
use crate::table_part::TablePart;
use squall_types::{SqlError, SqlResult};
use std::sync::Arc;

/// The store's rows of a table on their way out of it, or into a copy.
pub struct Sealing {
    committer: Arc<Committer>,
    table: Arc<Table>,
    level: Arc<SegmentLevel>,
    snapshot: Snapshot,
    /// Keys that have been read.
    keys: Vec<Slice>,
    rows: Iter,
    /// Whether rows are read that have no marks, too.
    all: bool,
    /// Whether all rows have been read.
    read_to_end: bool,
}

impl Sealing {
    /// Begins to seal changed rows into the level of a part; `None` if another sealing of it is under way.
    pub(crate) fn begin(committer: &Arc<Committer>, table: &Arc<Table>, part: TablePart) -> SqlResult<Option<Sealing>> {
        let level = match part {
            TablePart::Rows => table.data.segment_level().cloned(),
            TablePart::Copy(_) => table.data.copy(),
        };
        Self::begin_level(committer, table, level.ok_or_else(no_level)?, false)
    }

    /// Begins to copy all rows; otherwise as [`Sealing::begin`].
    pub(crate) fn begin_copy(committer: &Arc<Committer>, table: &Arc<Table>) -> SqlResult<Option<Sealing>> {
        Self::begin_level(committer, table, table.data.copy().ok_or_else(no_level)?, true)
    }

    fn begin_level(
        committer: &Arc<Committer>,
        table: &Arc<Table>,
        level: Arc<SegmentLevel>,
        all: bool,
    ) -> SqlResult<Option<Sealing>> {
        let snapshot = {
            let _log = committer.log.lock();
            if !level.note_changes_from_now() {
                return Ok(None);
            }
            committer.db.snapshot()
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
        let (committer, table) = (committer.clone(), table.clone());
        let sealing = Sealing { committer, table, level, snapshot, keys, rows, all, read_to_end: false };
        // Commits that were applied before changes were noted are not visible to all readers yet, and may still be taken
        // back by a failed sync.
        sealing.committer.advance_or_sync(sealing.snapshot.clone())?;
        Ok(Some(sealing))
    }

    /// The manifest as it is. Other writers of it hold the table's exclusive lock.
    pub fn manifest(&self) -> SqlResult<Vec<ManifestEntry>> {
        read_manifest(self.level.part, &self.table.data.keyspace, self.snapshot.seqno())
    }

    /// The next row of the store in the order of the keys. Those that have been read are sealed by the commit.
    pub fn next_row(&mut self) -> SqlResult<Option<DeltaRow>> {
        let Some(entry) = self.rows.next() else {
            self.read_to_end = true;
            return Ok(None);
        };
        let (key, value) = entry.into_inner().map_err(engine_error)?;
        if self.all {
            return self.delta_row(key, Some(value)).map(Some);
        }
        self.keys.push(key.clone());
        if self.level.part == TablePart::Rows {
            return self.delta_row(key, (*value != DELETED).then_some(value)).map(Some);
        }
        let key = self.level.part.row_key(&key);
        let row = self.snapshot.get(&self.table.data.keyspace, &key).map_err(engine_error)?;
        self.delta_row(key, row).map(Some)
    }

    fn delta_row(&self, key: Slice, row: Option<Slice>) -> SqlResult<DeltaRow> {
        let with_large_values = match &row {
            Some(value) if has_large_values(value) => {
                let row = Row::check(&self.table, key.clone(), value.clone())?;
                Some(row.in_snapshot(&self.table, &self.snapshot))
            }
            _ => None,
        };
        Ok(DeltaRow { key, row, with_large_values })
    }

    /// Ends a sealing that has found no rows.
    pub fn end_empty(self) {
        debug_assert!(self.read_to_end && self.keys.is_empty(), "rows have been read, or are left");
        self.level.note_empty(self.snapshot.seqno());
    }

    /// Replaces the rows that were read by new contents of entries of the manifest (`None` removes an entry), durably and in
    /// one step. Gives the first sequence number that has it: readers of earlier ones ([`LevelStore::is_past`](crate::LevelStore::is_past)) go by the old manifest.
    pub fn commit(mut self, manifest: Vec<(Vec<u8>, Option<Vec<u8>>)>) -> SqlResult<u64> {
        let part = self.level.part;
        let manifest = manifest
            .into_iter()
            .map(|(name, content)| (Slice::from(part.manifest_key(&name)), content.map(Slice::from)));
        let request = SealRequest {
            data: self.table.data.clone(),
            level: self.level.clone(),
            keys: std::mem::take(&mut self.keys),
            whole_as_of: self.read_to_end.then(|| self.snapshot.seqno()),
            manifest: manifest.collect(),
        };
        self.committer.seal(request)
    }
}

fn no_level() -> SqlError {
    SqlError::internal("a part of a table without a level cannot be sealed")
}

impl Drop for Sealing {
    fn drop(&mut self) {
        self.level.note_changes_no_more();
    }
}
