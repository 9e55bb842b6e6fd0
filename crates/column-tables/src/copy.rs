//! Column copies of row tables. The first copy takes all rows, later ones only the rows that have changed.
//!
//! A row that has changed since it was copied has a mark in the row store, written by the commit of the change. A reader takes
//! marked rows from the row store, and the others from segments. Sealing copies them and removes the marks. An incomplete copy
//! is not read: its manifest lacks the entry that says it is complete.

use crate::entry::{complete_name, entry_name};
use crate::level::load::SegmentLoad;
use crate::level::{ColumnTable, TableState};
use squall_catalog::IndexId;
use squall_row_store::{Direction, HeldTable, LevelStore, ReadView, SegmentRowWriter, Table, ValueRange};
use squall_types::SqlResult;
use std::sync::Arc;
use std::time::Instant;

/// Rows that are read between two looks at whether the copy is still wanted.
const ROWS_PER_CHECK: u64 = 4096;

impl ColumnTable {
    /// Whether all rows have been copied once; also if it is no copy.
    fn copy_is_complete(&self, store: &dyn LevelStore, table: &Table) -> SqlResult<bool> {
        Ok(!self.is_copy() || ColumnTable::manifest_of_copy(&store.read_view(), table)?.is_some())
    }

    /// How many rows a table's copy shows, and how many there are, in one snapshot; `None` if no copy is complete. `check` is called every
    /// few thousand rows, and its error ends the work.
    pub fn count_copy(
        view: &ReadView,
        table: &Arc<Table>,
        check: &dyn Fn() -> SqlResult<()>,
    ) -> SqlResult<Option<(u64, u64)>> {
        let Some(manifest) = ColumnTable::manifest_of_copy(view, table)? else { return Ok(None) };
        let (mut hidden, mut delta, mut read) = (0, 0, 0u64);
        let checked = |read: &mut u64| {
            *read += 1;
            if read.is_multiple_of(ROWS_PER_CHECK) { check() } else { Ok(()) }
        };
        let mut changes = view.changes_since_copied(table)?;
        while let Some(change) = changes.next_row()? {
            checked(&mut read)?;
            hidden += u64::from(manifest.find(table, change.key())?.is_some());
            delta += u64::from(change.row(table)?.is_some());
        }
        let sealed: u64 = manifest.segments().iter().map(|segment| segment.live_rows()).sum();
        let mut cursor = view.scan(table, &table.range(IndexId(0), ValueRange::ALL)?, Direction::Forward);
        let mut rows = 0;
        while cursor.next_row()?.is_some() {
            checked(&mut read)?;
            rows += 1;
        }
        Ok(Some((sealed.saturating_sub(hidden) + delta, rows)))
    }

    /// Makes a new copy, while others read and write the table. `check` is called
    /// every few thousand rows, and its error ends the work.
    pub fn make_copy(
        self: &Arc<Self>,
        store: &dyn LevelStore,
        table: &HeldTable,
        check: &dyn Fn() -> SqlResult<()>,
    ) -> SqlResult<()> {
        let _turn = self.turn.lock();
        while !self.complete_copy(store, table, check)? {}
        Ok(())
    }

    /// Copies all rows if that has not been done: nothing may be sealed before. `false` if another thread seals. The caller
    /// holds the right to seal.
    pub(crate) fn complete_copy(
        self: &Arc<Self>,
        store: &dyn LevelStore,
        table: &HeldTable,
        check: &dyn Fn() -> SqlResult<()>,
    ) -> SqlResult<bool> {
        Ok(self.copy_is_complete(store, table)? || self.copy_all(store, table, check)?)
    }

    /// Copies all rows as they are in one snapshot; `false` if another thread seals.
    fn copy_all(
        self: &Arc<Self>,
        store: &dyn LevelStore,
        table: &HeldTable,
        check: &dyn Fn() -> SqlResult<()>,
    ) -> SqlResult<bool> {
        let began = Instant::now();
        self.change_status(|status| {
            status.state = TableState::Sealing;
            status.work = Some((began, None));
        });
        let copied = self.copy_rows(store, table, check);
        self.change_status(|status| {
            status.state = TableState::Idle;
            status.work = Some((began, Some(began.elapsed())));
            status.seals += u64::from(copied.is_ok());
            status.last_error = copied.as_ref().err().map(|error| error.message.clone());
        });
        copied
    }

    fn copy_rows(
        self: &Arc<Self>,
        store: &dyn LevelStore,
        table: &HeldTable,
        check: &dyn Fn() -> SqlResult<()>,
    ) -> SqlResult<bool> {
        let Some(mut sealing) = store.begin_copying(table)? else { return Ok(false) };
        let changes_before = self.delta_changes();
        // What is listed so far has no readers, and all of its rows are copied again.
        let stale = self.segments(sealing.manifest()?)?;
        let mut load = Box::new(SegmentLoad::new((**table).clone(), self.clone()));
        let mut read = 0u64;
        while let Some(row) = sealing.next_row()? {
            if read.is_multiple_of(ROWS_PER_CHECK) {
                check()?;
            }
            read += 1;
            if let Some(row) = row.row(table)? {
                load.push(row)?;
            }
        }
        let mut manifest: Vec<_> = load.finish()?.into_iter().map(|entry| (entry.name, Some(entry.content))).collect();
        manifest.push((complete_name(), Some(Vec::new())));
        manifest.extend(stale.segments().iter().map(|segment| (entry_name(segment.number), None)));
        let committed = sealing.commit(manifest);
        // Whatever became of the sync: the log may have the manifest when it is read again. What it does not have is removed by
        // the next start.
        load.keep();
        self.drop_segments(committed?, stale.segments())?;
        self.segment_changes(changes_before);
        Ok(true)
    }
}
