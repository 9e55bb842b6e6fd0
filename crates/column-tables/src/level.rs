//! The sealed level of one table: which segments there are at a moment, and their rows by key.

use crate::entry::{SegmentEntry, entry_number};
use crate::rows::SegmentRows;
use crate::sql_error;
use parking_lot::Mutex;
use roaring::RoaringBitmap;
use rustc_hash::FxHashMap;
use squall_column_store::{ColumnCache, Segment};
use squall_row_store::{Direction, KeyRange, ListEntry, SealedRows, SealedScan, SealedSource, Table};
use squall_types::{SqlError, SqlResult};
use std::any::Any;
use std::collections::VecDeque;
use std::ops::{Bound, Range};
use std::path::PathBuf;
use std::sync::{Arc, Weak};

/// Rows that a scan reads at a time: first, and later on.
const FIRST_READ: u32 = 16;
const READ: u32 = 1024;

/// What a column table has beside its row store's part. One for all sessions.
pub struct ColumnTable {
    pub(crate) name: String,
    pub(crate) folder: PathBuf,
    pub(crate) cache: Arc<ColumnCache>,
    /// Segments that are open, by number.
    open: Mutex<FxHashMap<u64, Weak<Segment>>>,
}

/// The segments of a table at a moment.
pub struct SegmentList {
    segments: Vec<Arc<ListedSegment>>,
    cache: Arc<ColumnCache>,
}

/// A segment with what is said of it in a list.
pub struct ListedSegment {
    pub(crate) number: u64,
    pub(crate) segment: Arc<Segment>,
    pub(crate) entry: SegmentEntry,
}

impl ColumnTable {
    /// A table, named for messages, whose segments lie in a folder of its own, which is made if it is not there.
    pub fn new(name: &str, folder: PathBuf, cache: Arc<ColumnCache>) -> SqlResult<ColumnTable> {
        let failed = |error| SqlError::internal(format_args!("{}: {error}", folder.display()));
        std::fs::create_dir_all(&folder).map_err(failed)?;
        Ok(ColumnTable { name: name.into(), folder, cache, open: Mutex::default() })
    }

    pub(crate) fn path(&self, number: u64) -> PathBuf {
        self.folder.join(format!("{number}.parquet"))
    }

    /// The segments that a list's entries stand for.
    pub(crate) fn segments(&self, list: Vec<ListEntry>) -> SqlResult<SegmentList> {
        let segments = list.into_iter().map(|entry| {
            let damaged = || SqlError::internal(format_args!("table {} has a damaged list of segments", self.name));
            let number = entry_number(&entry.name).ok_or_else(damaged)?;
            let entry = SegmentEntry::decode(&entry.content).ok_or_else(damaged)?;
            Ok(Arc::new(ListedSegment { number, segment: self.open_segment(number, &entry)?, entry }))
        });
        Ok(SegmentList { segments: segments.collect::<SqlResult<_>>()?, cache: self.cache.clone() })
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

impl SealedSource for ColumnTable {
    fn open(&self, list: Vec<ListEntry>) -> SqlResult<Arc<dyn SealedRows>> {
        Ok(Arc::new(self.segments(list)?))
    }
}

impl SegmentList {
    /// The segments, oldest first.
    pub fn segments(&self) -> &[Arc<ListedSegment>] {
        &self.segments
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

impl ListedSegment {
    /// The segment.
    pub fn segment(&self) -> &Arc<Segment> {
        &self.segment
    }

    /// Positions of rows that are deleted, or that a later segment has in another version.
    pub fn deleted(&self) -> &RoaringBitmap {
        &self.entry.deleted
    }

    /// Rows that are not deleted.
    pub fn live_rows(&self) -> u64 {
        u64::from(self.entry.identity.rows) - self.entry.deleted.len()
    }

    /// Bytes of the file.
    pub fn file_bytes(&self) -> u64 {
        self.entry.identity.file_bytes
    }
}

impl SealedRows for SegmentList {
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

    fn scan(&self, table: &Arc<Table>, range: &KeyRange, direction: Direction) -> SqlResult<Box<dyn SealedScan>> {
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

impl SealedScan for Scan {
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
