//! The level of segments of one table: its segments at a sequence number, and their rows by key.

pub(crate) mod load;
mod load_block;
pub(crate) mod uncommitted;

use crate::due_tables::{DueTables, SEAL_FROM, SEAL_IDLE_FROM};
use crate::entry::{SegmentEntry, entry_name, entry_number, is_complete_name};
use crate::listed_segment::ListedSegment;
use crate::rows::SegmentRows;
use crate::sql_error;
use arrow::array::ArrayRef;
use load::SegmentLoad;
use load_block::ColumnBlock;
use parking_lot::Mutex;
use roaring::RoaringBitmap;
use rustc_hash::FxHashMap;
use squall_catalog::{TableCompression, TableDef, TableId};
use squall_column_store::segment::Compression;
use squall_column_store::{ColumnCache, ColumnSpec, Segment, SegmentWriter};
use squall_row_store::{
    Direction, DiskRoom, KeyRange, LevelFile, LevelStore, ManifestEntry, ReadView, SegmentBlock, SegmentRowWriter,
    SegmentScan, SegmentSnapshot, SegmentSource, Table, TablePart,
};
use squall_types::{SqlError, SqlResult};
use std::any::Any;
use std::collections::VecDeque;
use std::ops::{Bound, Range};
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

/// How segments are compressed of tables whose definition does not say.
pub(crate) const COMPRESSION: TableCompression = TableCompression::Zstd;

/// Rows that a scan reads at a time: first, and later on.
const FIRST_READ: u32 = 16;
const READ: u32 = 1024;

/// The level of a column table, or of one of its partitions, below its row store's part. One for all sessions.
pub struct ColumnTable {
    /// The id of the table or of the partition.
    pub(crate) storage: TableId,
    /// What of the table it has.
    pub(crate) part: TablePart,
    pub(crate) name: String,
    pub(crate) folder: PathBuf,
    /// How new segments are compressed.
    compression: Compression,
    pub(crate) cache: Arc<ColumnCache>,
    /// The next segment's number.
    next_number: AtomicU64,
    /// Segments that are open, by number.
    open: Mutex<FxHashMap<u64, Weak<Segment>>>,
    /// Segments that no manifest has any more, open for readers of sequence numbers before the one beside each.
    replaced: Mutex<Vec<(u64, Arc<Segment>)>>,
    /// Changes since the last sealing that took all rows began.
    delta: AtomicU64,
    /// What it was when the background looked at the table.
    delta_seen: AtomicU64,
    due: Arc<DueTables>,
    pub(crate) room: DiskRoom,
    /// Held by the task that seals and merges.
    pub(crate) turn: Mutex<()>,
    status: Mutex<TableStatus>,
}

/// The background work on a table since the start.
#[derive(Clone, Debug, Default)]
pub struct TableStatus {
    /// Segments made of delta rows.
    pub seals: u64,
    /// Segments that were merged into others.
    pub merges: u64,
    /// Delta rows that are in segments now.
    pub rows_sealed: u64,
    /// The work that is under way, or the last that has done something: when it began, and how long it took if it has ended.
    pub work: Option<(Instant, Option<Duration>)>,
    /// The current work.
    pub state: TableState,
    /// Why the last attempt failed, if it did.
    pub last_error: Option<String>,
}

/// The work on a table.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TableState {
    /// Nothing.
    #[default]
    Idle,
    /// Delta rows become a segment.
    Sealing,
    /// Segments become one.
    Merging,
}

impl TableState {
    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            TableState::Idle => "IDLE",
            TableState::Sealing => "SEALING",
            TableState::Merging => "MERGING",
        }
    }
}

/// The segments of a table at a sequence number.
pub struct SegmentManifest {
    segments: Vec<Arc<ListedSegment>>,
    cache: Arc<ColumnCache>,
    /// Of a copy: whether all rows have been copied once.
    pub(crate) is_complete: bool,
}

fn segment_manifest(rows: Arc<dyn SegmentSnapshot>) -> SqlResult<Arc<SegmentManifest>> {
    rows.into_any().downcast().map_err(|_| SqlError::internal("Segment rows of another kind"))
}

impl ColumnTable {
    /// A table whose segments lie in a folder of its own, which is made if it is not there; `last_number` is the greatest
    /// in its manifest.
    pub(crate) fn new(
        def: &TableDef,
        (storage, part): (TableId, TablePart),
        folder: PathBuf,
        last_number: u64,
        cache: Arc<ColumnCache>,
        due: Arc<DueTables>,
        room: DiskRoom,
    ) -> SqlResult<ColumnTable> {
        let failed = |error| SqlError::internal(format_args!("{}: {error}", folder.display()));
        squall_types::durable_files::create_own_folder(&folder).map_err(failed)?;
        Ok(ColumnTable {
            storage,
            part,
            name: def.name.clone(),
            folder,
            // What a row table says is about its rows.
            compression: match def.compression(COMPRESSION) {
                _ if part != TablePart::Rows => Compression::Zstd,
                Some(TableCompression::Zstd) => Compression::Zstd,
                Some(TableCompression::Lz4) => Compression::Lz4,
                None => Compression::None,
            },
            cache,
            next_number: AtomicU64::new(last_number + 1),
            open: Mutex::default(),
            replaced: Mutex::default(),
            delta: AtomicU64::new(0),
            delta_seen: AtomicU64::new(0),
            due,
            room,
            turn: Mutex::default(),
            status: Mutex::default(),
        })
    }

    /// What the background has done to the table since the start.
    pub fn status(&self) -> TableStatus {
        self.status.lock().clone()
    }

    pub(crate) fn change_status(&self, change: impl FnOnce(&mut TableStatus)) {
        change(&mut self.status.lock());
    }

    /// The column table that is below a table of the row store; `None` if that is a row table.
    pub fn of(table: &Table) -> Option<Arc<ColumnTable>> {
        table.segment_source()?.clone().into_any().downcast().ok()
    }

    /// The copy of columns of a table that has one.
    pub fn of_copy(table: &Table) -> Option<Arc<ColumnTable>> {
        table.copy_source()?.into_any().downcast().ok()
    }

    /// That of a part of a table.
    pub(crate) fn of_part(table: &Table, part: TablePart) -> Option<Arc<ColumnTable>> {
        match part {
            TablePart::Rows => ColumnTable::of(table),
            TablePart::Copy(_) => ColumnTable::of_copy(table),
        }
    }

    /// Whether it is a copy of a row table's columns.
    pub fn is_copy(&self) -> bool {
        self.part != TablePart::Rows
    }

    /// About how many rows have been changed since they were sealed.
    pub fn delta_changes(&self) -> u64 {
        self.delta.load(Ordering::Relaxed)
    }

    /// Has the background look whether there is something to seal or merge.
    pub(crate) fn wake(&self) {
        self.due.add(self.storage);
    }

    /// The segments that a reader sees of a table without partitions, or of a partition, without unsealed deletes.
    pub fn manifest_at(view: &ReadView, table: &Arc<Table>) -> SqlResult<Option<Arc<SegmentManifest>>> {
        let Some(rows) = view.segment_rows(table)? else { return Ok(None) };
        segment_manifest(rows).map(Some)
    }

    /// What a reader sees of a copy's segments; `None` if there is no copy, or it is still being made.
    pub fn manifest_of_copy(view: &ReadView, table: &Table) -> SqlResult<Option<Arc<SegmentManifest>>> {
        let Some(rows) = view.copied_rows(table)? else { return Ok(None) };
        Ok(Some(segment_manifest(rows)?).filter(|manifest| manifest.is_complete))
    }

    /// What a reader sees of the segments of a part.
    pub(crate) fn manifest_of_part(
        view: &ReadView,
        table: &Arc<Table>,
        part: TablePart,
    ) -> SqlResult<Option<Arc<SegmentManifest>>> {
        match part {
            TablePart::Rows => ColumnTable::manifest_at(view, table),
            TablePart::Copy(_) => ColumnTable::manifest_of_copy(view, table),
        }
    }

    /// Whether nothing has been changed since the last time that this was asked.
    pub(crate) fn is_unchanged_since_last_look(&self) -> bool {
        let delta = self.delta_changes();
        self.delta_seen.swap(delta, Ordering::Relaxed) == delta
    }

    /// This many changes are sealed now.
    pub(crate) fn segment_changes(&self, changes: u64) {
        self.delta.fetch_sub(changes, Ordering::Relaxed);
    }

    /// Keeps segments, whose files are gone, for readers of sequence numbers before one.
    pub(crate) fn replaced(&self, seqno: u64, segments: impl Iterator<Item = Arc<Segment>>) {
        self.replaced.lock().extend(segments.map(|segment| (seqno, segment)));
    }

    /// Drops the segments that no reader can ask for any more.
    pub(crate) fn forget_replaced(&self, store: &dyn LevelStore) {
        self.replaced.lock().retain(|(seqno, segment)| {
            let past = store.is_past(*seqno);
            if past {
                self.cache.forget(segment);
            }
            !past
        });
    }

    /// A number that no segment has had.
    fn new_number(&self) -> u64 {
        self.next_number.fetch_add(1, Ordering::Relaxed)
    }

    /// Writes and syncs a segment of `columns`, whose first and last row have these keys, and gives its entry: it is not
    /// read before that is in the table's manifest.
    pub(crate) fn write_segment(
        &self,
        columns: &[ColumnSpec],
        arrays: &[ArrayRef],
        ends: (Vec<u8>, Vec<u8>),
        threads: usize,
    ) -> SqlResult<ManifestEntry> {
        let parts: Vec<&[ArrayRef]> = arrays.iter().map(std::slice::from_ref).collect();
        self.write_segment_of_parts(columns, &parts, ends, threads)
    }

    /// As [`ColumnTable::write_segment`], of columns whose values come in several arrays.
    pub(crate) fn write_segment_of_parts(
        &self,
        columns: &[ColumnSpec],
        parts: &[&[ArrayRef]],
        (first_key, last_key): (Vec<u8>, Vec<u8>),
        threads: usize,
    ) -> SqlResult<ManifestEntry> {
        let number = self.new_number();
        let path = self.path(number);
        let room = |bytes| self.room.take(bytes).map_err(std::io::Error::other);
        let writer = SegmentWriter::new(&path, columns, self.compression).with_threads(threads).with_room(&room);
        let identity = writer.write_parts(parts).map_err(|error| sql_error(&self.name, error))?;
        let entry = SegmentEntry { identity, first_key, last_key, deleted: RoaringBitmap::new() };
        Ok(ManifestEntry { name: entry_name(number), content: entry.encode() })
    }

    pub(crate) fn path(&self, number: u64) -> PathBuf {
        self.folder.join(format!("{number}.parquet"))
    }

    /// The segments that a manifest's entries stand for.
    pub(crate) fn segments(&self, manifest: Vec<ManifestEntry>) -> SqlResult<SegmentManifest> {
        let is_complete = manifest.iter().any(|entry| is_complete_name(&entry.name));
        let segments = manifest.into_iter().filter(|entry| !is_complete_name(&entry.name)).map(|entry| {
            let damaged = || SqlError::internal(format_args!("table {} has a damaged manifest of segments", self.name));
            let number = entry_number(&entry.name).ok_or_else(damaged)?;
            let entry = SegmentEntry::decode(&entry.content).ok_or_else(damaged)?;
            let segment = self.open_segment(number, &entry)?;
            Ok(Arc::new(ListedSegment { storage: self.storage, number, segment, entry }))
        });
        Ok(SegmentManifest { segments: segments.collect::<SqlResult<_>>()?, cache: self.cache.clone(), is_complete })
    }

    fn open_segment(&self, number: u64, entry: &SegmentEntry) -> SqlResult<Arc<Segment>> {
        let mut open = self.open.lock();
        if let Some(segment) = open.get(&number).and_then(Weak::upgrade) {
            return Ok(segment);
        }
        let segment =
            Segment::open(&self.path(number), entry.identity).map_err(|error| sql_error(&self.name, error))?;
        let segment = Arc::new(segment);
        open.retain(|_, segment| segment.strong_count() > 0);
        open.insert(number, Arc::downgrade(&segment));
        Ok(segment)
    }
}

impl SegmentSource for ColumnTable {
    fn open(&self, manifest: Vec<ManifestEntry>) -> SqlResult<Arc<dyn SegmentSnapshot>> {
        Ok(Arc::new(self.segments(manifest)?))
    }

    fn into_any(self: Arc<Self>) -> Arc<dyn Any + Send + Sync> {
        self
    }

    fn writer(self: Arc<Self>, table: &Arc<Table>) -> Box<dyn SegmentRowWriter> {
        Box::new(SegmentLoad::new(table.clone(), self))
    }

    fn block(&self, table: &Arc<Table>) -> Option<Box<dyn SegmentBlock>> {
        Some(Box::new(ColumnBlock::new(table.clone())))
    }

    fn note_changes(&self, rows: u64) {
        let before = self.delta.fetch_add(rows, Ordering::Relaxed);
        if before < SEAL_FROM && before + rows >= SEAL_FROM {
            self.due.add(self.storage);
        } else if before < SEAL_IDLE_FROM && before + rows >= SEAL_IDLE_FROM {
            self.due.add_later(self.storage);
        }
    }

    fn indexes_added(&self) {
        // Segments without an index that is asked for now are written again.
        self.wake();
    }

    fn discard(&self) {
        for segment in self.open.lock().values().filter_map(Weak::upgrade) {
            self.cache.forget(&segment);
        }
        // What cannot be removed now is removed by the next start.
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

impl SegmentManifest {
    /// The segments, oldest first.
    pub fn segments(&self) -> &[Arc<ListedSegment>] {
        &self.segments
    }

    /// Bytes of the files: of columns with what belongs to files as a whole, and of indexes and dictionaries.
    pub fn bytes(&self) -> (u64, u64) {
        self.segments.iter().fold((0, 0), |(data, indexes), listed| {
            let of_columns = (0..listed.segment.column_count()).map(|ordinal| listed.segment.column_bytes(ordinal).1);
            let index: u64 = of_columns.sum();
            (data + listed.file_bytes().saturating_sub(index), indexes + index)
        })
    }

    /// The cache that segments are read through.
    pub fn cache(&self) -> &Arc<ColumnCache> {
        &self.cache
    }

    /// The segment and position of a key's row, which is not deleted. There is one at most.
    pub(crate) fn find(&self, table: &Table, key: &[u8]) -> SqlResult<Option<(&Arc<ListedSegment>, u32)>> {
        for segment in &self.segments {
            let rows = SegmentRows { table, segment, cache: &self.cache };
            if let Some(position) = rows.find(key)?.filter(|position| !segment.entry.deleted.contains(*position)) {
                return Ok(Some((segment, position)));
            }
        }
        Ok(None)
    }
}

impl SegmentSnapshot for SegmentManifest {
    fn get(&self, table: &Table, key: &[u8]) -> SqlResult<Option<Vec<u8>>> {
        let Some((segment, position)) = self.find(table, key)? else { return Ok(None) };
        let rows = SegmentRows { table, segment, cache: &self.cache };
        Ok(rows.read(&[position])?.pop().map(|(_, row)| row))
    }

    fn into_any(self: Arc<Self>) -> Arc<dyn Any + Send + Sync> {
        self
    }

    fn last_key(&self, _: &Table) -> SqlResult<Option<Vec<u8>>> {
        Ok(self.segments.iter().map(|segment| segment.entry.last_key.clone()).max())
    }

    fn files(&self) -> Vec<LevelFile> {
        let file = |segment: &Arc<ListedSegment>| LevelFile {
            path: segment.segment.path().to_path_buf(),
            bytes: segment.file_bytes(),
            checksum: segment.entry.identity.footer_checksum,
            content: segment.clone(),
        };
        self.segments.iter().map(file).collect()
    }

    fn scan(&self, table: &Arc<Table>, range: &KeyRange, direction: Direction) -> SqlResult<Box<dyn SegmentScan>> {
        let mut parts = Vec::new();
        for segment in &self.segments {
            let rows = SegmentRows { table, segment, cache: &self.cache };
            let start = match &range.start {
                Bound::Included(key) => rows.position_of(key, false)?,
                Bound::Excluded(key) => rows.position_of(key, true)?,
                Bound::Unbounded => 0,
            };
            let end = match &range.end {
                Bound::Included(key) => rows.position_of(key, true)?,
                Bound::Excluded(key) => rows.position_of(key, false)?,
                Bound::Unbounded => segment.segment.rows() as u32,
            };
            let part = Part { segment: segment.clone(), left: start..end, read: FIRST_READ, rows: VecDeque::new() };
            parts.push(part);
        }
        Ok(Box::new(Scan { table: table.clone(), cache: self.cache.clone(), direction, parts }))
    }
}

/// A scan of all segments. A key is live in one of them at most.
struct Scan {
    table: Arc<Table>,
    cache: Arc<ColumnCache>,
    direction: Direction,
    parts: Vec<Part>,
}

/// What is left of a segment.
struct Part {
    segment: Arc<ListedSegment>,
    left: Range<u32>,
    read: u32,
    rows: VecDeque<(Vec<u8>, Vec<u8>)>,
}

impl Part {
    /// Reads rows until there is one, or none is left.
    fn fill(&mut self, table: &Table, cache: &ColumnCache, direction: Direction) -> SqlResult<()> {
        while self.rows.is_empty() && !self.left.is_empty() {
            let count = self.read.min(self.left.len() as u32);
            let live = |position: &u32| !self.segment.entry.deleted.contains(*position);
            let mut positions: Vec<u32> = match direction {
                Direction::Forward => (self.left.start..self.left.start + count).filter(live).collect(),
                Direction::Backward => (self.left.end - count..self.left.end).filter(live).collect(),
            };
            match direction {
                Direction::Forward => self.left.start += count,
                Direction::Backward => {
                    self.left.end -= count;
                    positions.reverse();
                }
            }
            self.read = READ;
            self.rows = SegmentRows { table, segment: &self.segment, cache }.read(&positions)?.into();
        }
        Ok(())
    }
}

impl SegmentScan for Scan {
    fn next(&mut self) -> SqlResult<Option<(Vec<u8>, Vec<u8>)>> {
        for part in &mut self.parts {
            part.fill(&self.table, &self.cache, self.direction)?;
        }
        let heads = self.parts.iter_mut().filter(|part| !part.rows.is_empty());
        let next = match self.direction {
            Direction::Forward => heads.min_by(|a, b| a.rows[0].0.cmp(&b.rows[0].0)),
            Direction::Backward => heads.max_by(|a, b| a.rows[0].0.cmp(&b.rows[0].0)),
        };
        Ok(next.and_then(|part| part.rows.pop_front()))
    }
}
