//! The changes of a commit, for the engine and for other parts that must know of them.

use crate::batch::{Batch, Part};
use crate::engine::{Engine, Slice};
use crate::error::io_error;
use crate::gate::WriteGate;
use crate::index_key::is_row_key;
use crate::pending_files::{self, PendingFiles};
use crate::table::TableData;
use crate::table::segment_level::{DELETED, SegmentLevel};
use crate::table_files::{FilePlan, MadeFile, TableFiles, check_order, for_ranges, parts_max};
use crate::table_part::TablePart;
use crate::validation::Keys;
use crate::write_set::{DeadSteps, TableWrites, WriteSet};
use crate::written::Change;
use parking_lot::Mutex;
use squall_catalog::TableId;
use squall_types::SqlResult;
use std::ops::Bound;
use std::path::Path;
use std::sync::Arc;

/// The bytes of a change in the log and in memory beside its key and value, roughly.
pub(crate) const CHANGE_OVERHEAD_BYTES: usize = 32;

/// A transaction's changes, and what others have to be told of them.
#[derive(Default)]
pub(crate) struct Changes {
    pub batch: Batch,
    /// Of each table.
    pub counts: Vec<Counts>,
    /// The rows' keys; `None` if they are too many to be told.
    pub rows: Vec<(Arc<TableData>, Option<Vec<Slice>>)>,
    /// Copies of columns, with the marks of rows that are changed.
    pub copies: Vec<(Arc<SegmentLevel>, Vec<Slice>)>,
    /// Tables of whose rows below the store's many are changed, by their manifests.
    pub manifests: Vec<(Arc<TableData>, Vec<Slice>)>,
    /// All keys.
    pub keys: Vec<(TableId, Keys)>,
    /// The batch for the log and the engine's buffers.
    pub bytes: usize,
}

/// The differences that a commit adds to a table's statistics.
pub(crate) struct Counts {
    pub data: Arc<TableData>,
    /// Rows inserted less rows deleted.
    pub row_delta: i64,
    /// Changes of what the store has.
    pub changes: u64,
    /// Changes of segment rows.
    pub segment_changes: u64,
    /// The next AUTO_INCREMENT value, as the log has it with the commit.
    pub counter: u64,
}

/// The changed keys of a table, for observers.
#[derive(Default)]
struct Told {
    rows: Vec<Slice>,
    manifest: Vec<Slice>,
    marks: Vec<Slice>,
    count: u64,
}

/// The meaning of a table's keys.
struct KeyKinds<'t> {
    data: &'t TableData,
    copy: Option<&'t SegmentLevel>,
    /// Whether the keys of rows are to be told.
    tells_rows: bool,
}

impl KeyKinds<'_> {
    /// Records a change for its observers, and in the engine's form.
    fn note(&self, key: &Slice, change: &mut Change, told: &mut Told) {
        told.count += 1;
        if is_row_key(key) {
            if self.tells_rows {
                told.rows.push(key.clone());
            }
            if self.data.segment_level().is_some() {
                change.get_or_insert_with(|| Slice::from(DELETED));
            }
        } else if self.data.segment_level().is_some() && TablePart::Rows.is_manifest_key(key) {
            told.manifest.push(key.clone());
        } else if self.copy.is_some_and(|copy| copy.part.is_delta_key(key)) {
            told.marks.push(key.clone());
        }
    }
}

impl Changes {
    /// Gathers what a transaction has written. Makes files of the tables from spilled writes, which takes a while.
    ///
    /// # Errors
    /// Errors of making files.
    pub fn of(writes: WriteSet, db: &Engine, gate: &WriteGate) -> SqlResult<Changes> {
        let mut found = Changes::default();
        writes.check()?;
        let (tables, dead) = writes.into_tables();
        for table in tables {
            if table.is_spilled() {
                found.add_files(table, &dead, db, gate)?;
            } else {
                found.add_keys(table)?;
            }
        }
        Ok(found)
    }

    fn add_keys(&mut self, table: TableWrites) -> SqlResult<()> {
        let (data, row_delta, segment_changes) = (table.data.clone(), table.row_delta, table.segment_changes);
        let copy = data.copy();
        let kinds = KeyKinds { data: &data, copy: copy.as_deref(), tells_rows: true };
        let mut told = Told::default();
        let (mut keys, mut changes) = (Vec::new(), Vec::new());
        table.for_each_change(|key, mut change| {
            self.bytes += CHANGE_OVERHEAD_BYTES + key.len() + change.as_ref().map_or(0, |value| value.len());
            keys.push(key.clone());
            kinds.note(&key, &mut change, &mut told);
            changes.push((key, change));
        })?;
        self.batch.push_part(Part { keyspace: data.keyspace.clone(), changes });
        // Which rows a changed manifest is about is not said by keys.
        let keys = if told.manifest.is_empty() { Keys::Sorted(keys) } else { Keys::All };
        let rows = Some(std::mem::take(&mut told.rows));
        self.add(
            &data,
            copy,
            (keys, rows),
            told,
            Counts { data: data.clone(), row_delta, changes: 0, segment_changes, counter: 0 },
        );
        Ok(())
    }

    fn add_files(&mut self, mut table: TableWrites, dead: &DeadSteps, db: &Engine, gate: &WriteGate) -> SqlResult<()> {
        table.end_writing()?;
        let (data, row_delta, segment_changes) = (table.data.clone(), table.row_delta, table.segment_changes);
        let copy = data.copy();
        // Levels below are told which rows have others above them.
        let tells_rows = data.segment_level().is_some();
        let kinds = KeyKinds { data: &data, copy: copy.as_deref(), tells_rows };
        let folder = pending_files::make_folder(db).map_err(|error| io_error(&error))?;
        let (files, mut told) = files_of(&table, dead, &kinds, &folder, gate)?;
        self.bytes += files.files().len() * CHANGE_OVERHEAD_BYTES;
        self.batch.push_files(files);
        let rows = tells_rows.then(|| std::mem::take(&mut told.rows));
        self.add(
            &data,
            copy,
            (Keys::All, rows),
            told,
            Counts { data: data.clone(), row_delta, changes: 0, segment_changes, counter: 0 },
        );
        Ok(())
    }

    fn add(
        &mut self,
        data: &Arc<TableData>,
        copy: Option<Arc<SegmentLevel>>,
        (keys, rows): (Keys, Option<Vec<Slice>>),
        told: Told,
        counts: Counts,
    ) {
        let changes = told.count - told.manifest.len() as u64;
        self.counts.push(Counts { changes, ..counts });
        self.keys.push((data.logical.id, keys));
        if !told.manifest.is_empty() {
            self.manifests.push((data.clone(), told.manifest));
        }
        self.copies.extend(copy.filter(|_| !told.marks.is_empty()).map(|copy| (copy, told.marks)));
        self.rows.push((data.clone(), rows));
    }
}

/// Makes files of a table's writes, each core those of a range of keys.
fn files_of(
    table: &TableWrites,
    dead: &DeadSteps,
    kinds: &KeyKinds<'_>,
    folder: &Path,
    gate: &WriteGate,
) -> SqlResult<(PendingFiles, Told)> {
    let keyspace = &table.data.keyspace;
    let begun = Mutex::new(Vec::new());
    let plan = FilePlan {
        keyspace,
        gate,
        is_looked_up: &|index| table.is_looked_up(index),
        path: &|id| {
            begun.lock().push(id);
            pending_files::path_of(folder, keyspace.id(), id)
        },
    };
    let parts = for_ranges(&table.cuts(parts_max()), |from, to| {
        let bounds = (from.map_or(Bound::Unbounded, Bound::Included), to.map_or(Bound::Unbounded, Bound::Excluded));
        files_within(table, dead, bounds, kinds, &plan)
    });
    // Where one cannot be made the others are not needed.
    let parts = parts.inspect_err(|_| {
        begun.lock().iter().for_each(|id| pending_files::remove(folder, keyspace.id(), *id));
    })?;
    let mut all = Told::default();
    let mut made = Vec::new();
    for (files, told) in parts {
        made.extend(files);
        all.rows.extend(told.rows);
        all.manifest.extend(told.manifest);
        all.marks.extend(told.marks);
        all.count += told.count;
    }
    check_order(&made)?;
    Ok((PendingFiles::new(keyspace, made), all))
}

fn files_within(
    table: &TableWrites,
    dead: &DeadSteps,
    bounds: (Bound<&[u8]>, Bound<&[u8]>),
    kinds: &KeyKinds<'_>,
    plan: &FilePlan<'_>,
) -> SqlResult<(Vec<MadeFile>, Told)> {
    let (mut files, mut told) = (TableFiles::new(plan), Told::default());
    let mut newest = table.newest_within(bounds, dead);
    while let Some(mut written) = newest.next()? {
        kinds.note(&written.key, &mut written.change, &mut told);
        files.write(written.key, written.change)?;
    }
    Ok((files.finish()?, told))
}
