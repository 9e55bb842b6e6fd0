//! The uncommitted writes of a transaction.
//!
//! Every write has the number of its step. A savepoint is such a number: rolling back to it drops the later steps. A scan is opened at
//! a number too, so a statement never sees its own later writes.
//!
//! Writes beyond the memory bound go to [files](spill). They keep their steps there; the set remembers which steps are rolled back.

mod entries;
mod postings;
mod spill;
#[cfg(test)]
mod tests;

pub(crate) use spill::{DeadSteps, Newest, SpillPlace};

use crate::engine::Slice;
use crate::sorter::Taken;
use crate::table::TableData;
use crate::table::segment_level::UncommittedRows;
use crate::table_part::TablePart;
use crate::written::{Change, Written};
use entries::{Entries, Version, Versions};
use lsm_tree::BoxedIterator;
use postings::Postings;
use rustc_hash::FxHashMap;
use spill::{Source, SpillFile, hash_of, item_of, sources};
use squall_catalog::{IndexId, TableId};
use squall_types::{SqlError, SqlResult};
use std::ops::Bound;
use std::sync::Arc;

/// Memory of an entry beyond its key and value, roughly.
const ENTRY_OVERHEAD_BYTES: usize = 200;

/// Entries of indexes of terms that are read are put among the others if they take less than this part of what may be in memory.
const FLUSHED_PART: usize = 64;

/// One table's writes.
pub(crate) struct TableWrites {
    pub data: Arc<TableData>,
    entries: Entries,
    /// Memory of `entries`, roughly.
    bytes: usize,
    postings: Postings,
    /// Postings that have been put among the entries, in the order of their steps.
    flushed: Vec<(u64, Slice)>,
    files: Vec<SpillFile>,
    /// Rows inserted less rows deleted.
    pub row_delta: i64,
    /// Segment rows that were changed many at a time.
    pub segment_changes: u64,
}

#[derive(Debug)]
struct Undo {
    step: u64,
    table: TableId,
    key: Slice,
    row_delta: i64,
    segment_changes: u64,
}

/// The rest of undo records whose writes were spilled.
struct SpilledCount {
    step: u64,
    table: TableId,
    row_delta: i64,
    segment_changes: u64,
}

/// A change of a table's manifest.
#[derive(Default)]
pub struct ManifestChange {
    /// New contents of entries; `None` removes an entry.
    pub entries: Vec<(Vec<u8>, Option<Vec<u8>>)>,
    /// The objects that the new entries name.
    pub rows: Option<Box<dyn UncommittedRows>>,
    /// Rows more, or less.
    pub row_delta: i64,
    /// Rows that are others now, or gone.
    pub changed: u64,
}

/// The uncommitted writes of a transaction.
#[derive(Default)]
pub(crate) struct WriteSet {
    tables: FxHashMap<TableId, TableWrites>,
    /// In the order of the steps.
    undo: Vec<Undo>,
    step: u64,
    /// Memory of all tables' writes.
    bytes: usize,
    /// Memory of what is on its way to files.
    spilling_bytes: usize,
    /// Bytes of files.
    spilled_bytes: u64,
    /// The last step of which anything has left memory; no later write is of it.
    spilled_to: u64,
    spilled_counts: Vec<SpilledCount>,
    dead: DeadSteps,
    /// A file could not be written, and some of the changes are lost.
    failed: Option<SqlError>,
    /// Known when there are entries of indexes of terms.
    place: Option<Arc<SpillPlace>>,
    /// It has been handed over, to be committed.
    is_taken: bool,
    /// The steps at which manifests were changed, and what the changes' new entries stand for.
    manifest_changes: Vec<(u64, Option<Box<dyn UncommittedRows>>)>,
}

/// A range of keys.
type Bounds<'a> = (Bound<&'a [u8]>, Bound<&'a [u8]>);

impl WriteSet {
    /// Ends the current step and returns it.
    pub fn next_step(&mut self) -> u64 {
        self.step += 1;
        self.step - 1
    }

    /// Memory taken, roughly.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// Memory that what leaves it takes all the same.
    pub fn bytes_kept(&self) -> usize {
        self.spilling_bytes + self.spilled_counts.len() * size_of::<SpilledCount>()
    }

    /// Bytes that its commit will need on the disk, roughly.
    pub fn bytes_to_come(&self) -> usize {
        self.bytes().saturating_add(usize::try_from(self.spilled_bytes).unwrap_or(usize::MAX))
    }

    /// The tables that were written to.
    pub fn tables(&self) -> impl Iterator<Item = TableId> {
        self.tables.keys().copied()
    }

    pub fn is_empty(&self) -> bool {
        self.undo.is_empty()
            && self
                .tables
                .values()
                .all(|table| table.postings.is_empty() && table.flushed.is_empty() && table.files.is_empty())
    }

    /// Writes a key.
    pub fn put(&mut self, data: &Arc<TableData>, key: Slice, change: Change, row_delta: i64) {
        self.put_counted(data, key, change, row_delta, 0);
    }

    /// Writes an entry of an index of terms, which is never looked up by its key.
    pub fn put_posting(&mut self, data: &Arc<TableData>, key: &[u8], value: Option<&[u8]>, place: &Arc<SpillPlace>) {
        let step = self.step;
        if self.place.is_none() {
            self.place = Some(place.clone());
        }
        let table = self.tables.entry(data.id).or_insert_with(|| TableWrites::new(data.clone()));
        let before = table.memory();
        table.postings.push(key, value, step);
        self.bytes += table.memory() - before;
    }

    /// Changes a table's manifest. No other transaction may until the end of this one.
    pub fn change_list(&mut self, data: &Arc<TableData>, change: ManifestChange) {
        let (mut row_delta, mut changed) = (change.row_delta, change.changed);
        for (name, content) in change.entries {
            let key = Slice::from(TablePart::Rows.manifest_key(&name));
            let (rows, counted) = (std::mem::take(&mut row_delta), std::mem::take(&mut changed));
            self.put_counted(data, key, content.map(Slice::from), rows, counted);
        }
        self.manifest_changes.push((self.step, change.rows));
    }

    /// Whether manifests are changed.
    pub fn has_manifest_changes(&self) -> bool {
        !self.manifest_changes.is_empty()
    }

    /// Gives each table that is written to, its rows more or less, and the newest write of every key of it, in order.
    ///
    /// # Errors
    /// Those of files, and what `take` gives.
    pub fn for_each_table(
        &mut self,
        take: &mut dyn FnMut(TableId, i64, &mut Newest<'_>) -> SqlResult<()>,
    ) -> SqlResult<()> {
        let ids: Vec<TableId> = self.tables.keys().copied().collect();
        for id in ids {
            self.flush_postings(id)?;
            let Some(table) = self.tables.get(&id) else { continue };
            let mut newest = table.newest_within((Bound::Unbounded, Bound::Unbounded), &self.dead);
            take(id, table.row_delta, &mut newest)?;
        }
        Ok(())
    }

    /// The last step up to `step` at which a manifest was changed.
    pub fn manifest_changed_at(&self, step: u64) -> Option<u64> {
        self.manifest_changes.iter().rev().map(|(at, _)| *at).find(|at| *at <= step)
    }

    /// Changes of a table's manifest as of a step, in the order of the keys.
    pub fn manifest_changes(&self, table: TableId, step: u64) -> SqlResult<Vec<(Slice, Change)>> {
        let range = TablePart::Rows.manifest_range();
        let bounds = (range.start.as_ref().map(Vec::as_slice), range.end.as_ref().map(Vec::as_slice));
        let changes = self.range(table, bounds, false, step, usize::MAX)?;
        Ok(changes.into_iter().map(|written| (written.key, written.change)).collect())
    }

    /// Takes out what new entries of manifests stand for, to be kept if they are committed.
    pub fn take_segment_rows(&mut self) -> Vec<Box<dyn UncommittedRows>> {
        self.manifest_changes.drain(..).filter_map(|(_, rows)| rows).collect()
    }

    fn put_counted(&mut self, data: &Arc<TableData>, key: Slice, change: Change, row_delta: i64, segment_changes: u64) {
        let step = self.step;
        let table = self.tables.entry(data.id).or_insert_with(|| TableWrites::new(data.clone()));
        table.row_delta += row_delta;
        table.segment_changes += segment_changes;
        self.undo.push(Undo { step, table: data.id, key: key.clone(), row_delta, segment_changes });
        let before = table.memory();
        table.put(Written { key, step, change });
        self.bytes = self.bytes + table.memory() - before;
    }

    /// The newest write of a key that is no entry of an index of terms.
    pub fn get(&self, table: TableId, key: &[u8]) -> SqlResult<Option<Change>> {
        self.get_at(table, key, u64::MAX)
    }

    /// The same as of a step.
    pub fn get_at(&self, table: TableId, key: &[u8], step: u64) -> SqlResult<Option<Change>> {
        let Some(table) = self.tables.get(&table) else { return Ok(None) };
        if let Some(version) = table.entries.get(key).and_then(|versions| versions.at(step)) {
            return Ok(Some(version.change.clone()));
        }
        if table.files.is_empty() {
            return Ok(None);
        }
        let hash = hash_of(key);
        for file in table.files.iter().rev() {
            if let Some(change) = file.get(key, hash, step, &self.dead)? {
                return Ok(Some(change));
            }
        }
        Ok(None)
    }

    /// The write to a key of the table of that id, or of one of its partitions.
    pub fn get_of_table(&self, table: TableId, key: &[u8]) -> SqlResult<Option<Change>> {
        // A table without partitions has one storage, of its own id.
        if self.tables.contains_key(&table) {
            return self.get(table, key);
        }
        for storage in self.storages_of(table) {
            if let Some(change) = self.get(storage, key)? {
                return Ok(Some(change));
            }
        }
        Ok(None)
    }

    /// The storages of a table that were written to.
    pub fn storages_of(&self, table: TableId) -> impl Iterator<Item = TableId> {
        self.tables.values().filter(move |writes| writes.data.logical.id == table).map(|writes| writes.data.id)
    }

    /// Whether a table has been written to.
    pub fn touches(&self, table: TableId) -> bool {
        self.tables.get(&table).is_some_and(|writes| !writes.is_empty())
    }

    /// Up to `limit` writes of a range as of a step, in order, or from its end. Entries of indexes of terms have been
    /// [flushed](WriteSet::flush_postings) before.
    pub fn range(
        &self,
        table: TableId,
        bounds: Bounds<'_>,
        reverse: bool,
        step: u64,
        limit: usize,
    ) -> SqlResult<Vec<Written>> {
        let Some(writes) = self.tables.get(&table) else { return Ok(Vec::new()) };
        let in_memory = writes.entries.range(bounds, reverse, step, limit);
        if writes.files.is_empty() {
            return Ok(in_memory);
        }
        let of_files: Vec<BoxedIterator<'static>> = sources(&writes.files, bounds);
        let mut of_files = Newest::of_files(of_files, reverse, step, &self.dead);
        let mut found = Vec::new();
        let mut in_memory = in_memory.into_iter().peekable();
        let mut next = of_files.next()?;
        while found.len() < limit {
            let Some(written) = next.take() else {
                found.extend(in_memory.by_ref().take(limit - found.len()));
                break;
            };
            let order = in_memory.peek().map(|other| match reverse {
                false => other.key.cmp(&written.key),
                true => written.key.cmp(&other.key),
            });
            match order {
                Some(std::cmp::Ordering::Less) => {
                    found.extend(in_memory.next());
                    next = Some(written);
                }
                Some(std::cmp::Ordering::Equal) => {
                    found.extend(in_memory.next().map(|other| if other.step > written.step { other } else { written }));
                    next = of_files.next()?;
                }
                Some(std::cmp::Ordering::Greater) | None => {
                    found.push(written);
                    next = of_files.next()?;
                }
            }
        }
        Ok(found)
    }

    /// Drops what was written after a step.
    pub fn rollback_to(&mut self, step: u64) {
        self.manifest_changes.retain(|(at, _)| *at <= step);
        if self.spilled_to > step {
            self.dead.add(step + 1, self.spilled_to);
            let tables = &mut self.tables;
            self.spilled_counts.retain(|count| {
                if let Some(table) = tables.get_mut(&count.table).filter(|_| count.step > step) {
                    table.row_delta -= count.row_delta;
                    table.segment_changes -= count.segment_changes;
                }
                count.step <= step
            });
        }
        for table in self.tables.values_mut() {
            table.postings.truncate_behind(step);
            while let Some((_, key)) = table.flushed.pop_if(|(at, _)| *at > step) {
                table.take_back(&key, step);
            }
        }
        while let Some(undo) = self.undo.pop_if(|undo| undo.step > step) {
            let Some(table) = self.tables.get_mut(&undo.table) else { continue };
            table.row_delta -= undo.row_delta;
            table.segment_changes -= undo.segment_changes;
            table.take_back(&undo.key, step);
        }
        self.bytes = self.tables.values().map(TableWrites::memory).sum();
    }

    /// Takes everything out, to be committed.
    pub fn take(&mut self) -> WriteSet {
        std::mem::replace(self, WriteSet { is_taken: true, ..WriteSet::default() })
    }

    /// Whether everything has been taken out.
    pub fn is_taken(&self) -> bool {
        self.is_taken
    }

    /// Hands everything over, table by table, with the steps that are not committed.
    pub fn into_tables(self) -> (impl Iterator<Item = TableWrites>, DeadSteps) {
        (self.tables.into_values(), self.dead)
    }

    // ---- what leaves memory ----

    /// Whether anything has left memory.
    pub fn is_spilled(&self) -> bool {
        self.spilled_to > 0
    }

    /// Sends writes to files if they take more memory than they should; `written` is the table that was written to last.
    ///
    /// # Errors
    /// That of writing. All that has been written is still there, and the statement may be rolled back.
    pub fn spill_if_large(&mut self, written: TableId, place: &Arc<SpillPlace>) -> SqlResult<()> {
        self.check()?;
        // While one half of the postings is written, the other one comes.
        if self.tables.get(&written).is_some_and(|table| table.postings.bytes() > place.bytes_max() / 2) {
            self.spill_postings(written, place)?;
        }
        if self.bytes > place.bytes_max()
            && let Some(largest) = self.tables.values().max_by_key(|table| table.memory())
        {
            let id = largest.data.id;
            match largest.postings.bytes() > largest.bytes {
                true => self.spill_postings(id, place)?,
                false => self.spill_entries(id, place)?,
            }
        }
        Ok(())
    }

    /// Later writes are told apart from spilled ones.
    fn end_spilled_step(&mut self) {
        self.spilled_to = self.next_step();
    }

    fn spill_entries(&mut self, id: TableId, place: &Arc<SpillPlace>) -> SqlResult<()> {
        let Some(table) = self.tables.get_mut(&id) else { return Ok(()) };
        let unbounded = (Bound::Unbounded, Bound::Unbounded);
        let items = table.entries.forward(unbounded).flat_map(|(key, versions)| {
            versions.newest_first().map(|version| item_of(key.clone(), version.step, version.change.clone()))
        });
        let file = SpillFile::write(place, &table.data.keyspace, items, table.bytes, true)?;
        (table.entries, table.flushed) = Default::default();
        self.bytes -= std::mem::take(&mut table.bytes);
        self.spilled_bytes += file.as_ref().map_or(0, |file| file.bytes);
        table.files.extend(file);
        let counts = &mut self.spilled_counts;
        self.undo.retain(|undo| {
            if undo.table == id && (undo.row_delta, undo.segment_changes) != (0, 0) {
                let Undo { step, row_delta, segment_changes, .. } = *undo;
                match counts.last_mut().filter(|last| (last.step, last.table) == (step, id)) {
                    Some(last) => {
                        last.row_delta += row_delta;
                        last.segment_changes += segment_changes;
                    }
                    None => counts.push(SpilledCount { step, table: id, row_delta, segment_changes }),
                }
            }
            undo.table != id
        });
        self.end_spilled_step();
        Ok(())
    }

    fn spill_postings(&mut self, id: TableId, place: &Arc<SpillPlace>) -> SqlResult<()> {
        let empty = self.end_postings_spill(id)?;
        let Some(table) = self.tables.get_mut(&id) else { return Ok(()) };
        let bytes = table.postings.bytes();
        table.postings.begin_spill(place, &table.data.keyspace, empty)?;
        self.bytes -= bytes;
        self.spilling_bytes += bytes;
        self.spilled_bytes += bytes as u64;
        self.end_spilled_step();
        Ok(())
    }

    /// Waits for the file of postings that is being written; gives the memory that was used for it.
    fn end_postings_spill(&mut self, id: TableId) -> SqlResult<Taken> {
        let Some(table) = self.tables.get_mut(&id) else { return Ok(Taken::default()) };
        self.spilling_bytes -= table.postings.spilling_bytes();
        match table.postings.end_spill() {
            Ok((file, empty)) => {
                table.files.extend(file);
                Ok(empty)
            }
            Err(error) => {
                self.failed = Some(error.clone());
                Err(error)
            }
        }
    }

    /// # Errors
    /// If some of the changes were lost on their way to a file: the transaction can only be rolled back.
    pub fn check(&self) -> SqlResult<()> {
        match &self.failed {
            None => Ok(()),
            Some(error) => Err(error.clone()),
        }
    }

    /// Whether entries of indexes of terms have to be [flushed](WriteSet::flush_postings) before writes of a range of a table are read.
    pub fn has_buffered_postings(&self, table: TableId, bounds: Bounds<'_>) -> bool {
        self.tables.get(&table).is_some_and(|table| !table.postings.is_empty() && table.postings.meet(bounds))
    }

    /// Moves entries of indexes of terms to a place where reads find them.
    ///
    /// # Errors
    /// Errors of writing many of them to a file.
    pub fn flush_postings(&mut self, id: TableId) -> SqlResult<()> {
        self.check()?;
        self.end_postings_spill(id)?;
        let Some(table) = self.tables.get_mut(&id) else { return Ok(()) };
        if let Some(place) = self.place.clone()
            && table.postings.bytes() > place.bytes_max() / FLUSHED_PART
        {
            self.spill_postings(id, &place)?;
            self.end_postings_spill(id)?;
            return Ok(());
        }
        let before = table.memory();
        for written in table.postings.drain() {
            table.flushed.push((written.step, written.key.clone()));
            table.put(written);
        }
        self.bytes = self.bytes + table.memory() - before;
        // Of a step some would be among the entries, others not.
        self.step += 1;
        Ok(())
    }
}

/// Memory of a version, roughly.
fn bytes_of(key: &Slice, change: &Change) -> usize {
    key.len() + change.as_ref().map_or(0, |value| value.len()) + ENTRY_OVERHEAD_BYTES
}

impl TableWrites {
    fn new(data: Arc<TableData>) -> TableWrites {
        TableWrites {
            data,
            entries: Entries::default(),
            bytes: 0,
            postings: Postings::default(),
            flushed: Vec::new(),
            files: Vec::new(),
            row_delta: 0,
            segment_changes: 0,
        }
    }

    fn is_empty(&self) -> bool {
        self.entries.is_empty() && self.postings.is_empty() && self.files.is_empty()
    }

    /// Memory that its writes take, roughly.
    fn memory(&self) -> usize {
        self.bytes + self.postings.bytes()
    }

    fn put(&mut self, written: Written) {
        let Written { key, step, change } = written;
        self.bytes += bytes_of(&key, &change);
        let version = Version { step, change };
        match self.entries.get_mut(&key) {
            Some(versions) => {
                let previous = std::mem::replace(&mut versions.newest, version);
                if previous.step == step {
                    self.bytes -= bytes_of(&key, &previous.change);
                } else {
                    versions.older.push(previous);
                }
            }
            None => self.entries.insert(key, Versions { newest: version, older: Vec::new() }),
        }
    }

    /// Takes the last write of a key back if it is of a later step.
    fn take_back(&mut self, key: &Slice, step: u64) {
        let Some(versions) = self.entries.get_mut(key) else { return };
        // A key written twice in one step has two undo records and one version.
        if versions.newest.step <= step {
            return;
        }
        self.bytes -= bytes_of(key, &versions.newest.change);
        match versions.older.pop() {
            Some(previous) => versions.newest = previous,
            None => self.entries.remove(key),
        }
    }

    /// Whether anything has left memory.
    pub fn is_spilled(&self) -> bool {
        !self.files.is_empty() || self.postings.is_spilling()
    }

    /// Whether entries of an index are looked up by their keys.
    pub fn is_looked_up(&self, index: IndexId) -> bool {
        !self.postings.are_of(index)
    }

    /// Takes the newest write of every key, in order, of a table of which nothing has left memory.
    pub fn for_each_change(mut self, mut take: impl FnMut(Slice, Change)) -> SqlResult<()> {
        if self.postings.is_empty() {
            self.entries.into_changes().for_each(|(key, change)| take(key, change));
            return Ok(());
        }
        self.postings.sort();
        let dead = DeadSteps::default();
        let mut newest = self.newest_within((Bound::Unbounded, Bound::Unbounded), &dead);
        while let Some(Written { key, change, .. }) = newest.next()? {
            take(key, change);
        }
        Ok(())
    }

    /// Readies the table for [`TableWrites::newest_within`].
    ///
    /// # Errors
    /// That of a file that was being written.
    pub fn end_writing(&mut self) -> SqlResult<()> {
        self.files.extend(self.postings.end_spill()?.0);
        self.postings.sort();
        Ok(())
    }

    /// Keys that cut the writes into up to `parts` ranges of about the same size.
    pub fn cuts(&self, parts: usize) -> Vec<Slice> {
        let mut keys: Vec<&Slice> = self.files.iter().flat_map(|file| &file.cuts).collect();
        keys.sort_unstable();
        // Nothing lies in front of the first.
        let mut cuts: Vec<&Slice> = (1..parts)
            .filter_map(|part| keys.get(part * keys.len() / parts).copied())
            .filter(|key| Some(key) != keys.first())
            .collect();
        cuts.dedup();
        cuts.into_iter().cloned().collect()
    }

    /// The newest write of every key within bounds, in order.
    pub fn newest_within<'a>(&'a self, bounds: Bounds<'a>, dead: &'a DeadSteps) -> Newest<'a> {
        let newest = |(key, versions): (&'a Slice, &'a Versions)| {
            Ok(item_of(key.clone(), versions.newest.step, versions.newest.change.clone()))
        };
        let mut all: Vec<Source<'a>> = Vec::with_capacity(self.files.len() + 2);
        all.push(Box::new(self.entries.forward(bounds).map(newest)));
        all.push(self.postings.source(bounds));
        all.extend(sources(&self.files, bounds).into_iter().map(|source| source as Source<'a>));
        Newest::forward(all, u64::MAX, dead)
    }
}
