//! Segment rows: rows outside the store, in a level below it.
//!
//! A column table keeps most of its rows in its own files. All code above uses them as rows: it finds them by key, scans them in key
//! order, locks, changes and deletes them.
//!
//! - An entry of the store hides the segment row with its key. A DELETE leaves a [marker](DELETED) instead of nothing.
//! - The *manifest* lists the segments. Its entries are in the table's keyspace too: it changes in a commit, and a reader at a sequence
//!   number reads the manifest of that number. The [`SegmentSource`] defines the meaning of an entry.
//! - A [`Sealing`] seals rows: its caller reads the store's rows in one snapshot, makes new entries of the manifest, and commits. Rows
//!   that have not changed meanwhile leave the store in the same step. Readers see no change.

use super::Table;
use super::row::ValueRef;
use crate::engine::{AbstractTree, Keyspace, SeqNo, Slice};
use crate::error::engine_error;
use crate::index_key::{Direction, KeyRange};
use crate::table_part::TablePart;
use lsm_tree::Guard as _;
use parking_lot::{Mutex, RwLock, RwLockReadGuard, RwLockWriteGuard};
use rustc_hash::FxHashSet;
use squall_types::{SqlResult, Value};
use std::any::Any;
use std::collections::VecDeque;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Stands in the store for a row that is deleted, and hides the one in a segment. No row begins with this format.
pub(crate) const DELETED: [u8; 1] = [0];

/// Lists that are kept for readers of earlier snapshots; those of still earlier ones read theirs again.
const MANIFESTS_KEPT: usize = 4;

/// An entry of a table's manifest.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ManifestEntry {
    /// Its name.
    pub name: Vec<u8>,
    /// Its contents.
    pub content: Vec<u8>,
}

/// A level of one table: what the table's manifest stands for. A [`TableEngine`](crate::TableEngine) opens it.
pub trait SegmentSource: Send + Sync {
    /// The rows that the entries of a manifest, in the order of their names, stand for.
    fn open(&self, manifest: Vec<ManifestEntry>) -> SqlResult<Arc<dyn SegmentSnapshot>>;

    /// Itself by its own type, for code that knows the source.
    fn into_any(self: Arc<Self>) -> Arc<dyn Any + Send + Sync>;

    /// Begins to make segment rows of rows that a load has. They are the table's when the entries that stand for them are
    /// in its manifest.
    fn writer(self: Arc<Self>, table: &Arc<Table>) -> Box<dyn SegmentRowWriter>;

    /// Begins to take rows of a load that have not been rows of the store; `None` if the source makes segment rows of those alone.
    /// Several threads do so, each with its own.
    fn block(&self, table: &Arc<Table>) -> Option<Box<dyn SegmentBlock>>;

    /// Takes note of changes that have just been committed to the store's rows. Called by the commit thread, so it must
    /// be quick.
    fn note_changes(&self, rows: u64);

    /// The table has got indexes by a definition that its segment rows were made without.
    fn indexes_added(&self) {}

    /// The table, or its generation, is gone, and no reader has it any more.
    fn discard(&self);
}

/// Segment rows that a transaction has made and not committed. Dropped, they are removed.
pub trait UncommittedRows: Send + Sync {
    /// The entries that stand for them are in the manifest, or will be when the log is read again.
    fn keep(self: Box<Self>);
}

/// Storage keys of rows, in order.
#[derive(Default)]
pub struct BlockKeys {
    bytes: Vec<u8>,
    /// Where each ends in `bytes`.
    ends: Vec<usize>,
}

impl BlockKeys {
    /// Bytes of the keys.
    pub(crate) fn bytes(&self) -> usize {
        self.bytes.len()
    }

    /// Adds one.
    pub(crate) fn push(&mut self, key: &[u8]) {
        self.bytes.extend_from_slice(key);
        self.ends.push(self.bytes.len());
    }

    /// The keys.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &[u8]> + DoubleEndedIterator {
        self.ends.iter().enumerate().map(|(at, end)| {
            let start = at.checked_sub(1).map_or(0, |before| self.ends[before]);
            &self.bytes[start..*end]
        })
    }
}

/// Rows of a load, in the form of the level.
pub trait SegmentBlock: Send {
    /// Adds a row: values of all columns in the order of the definition, of the columns' types and as they are stored.
    fn push(&mut self, values: &[ValueRef<'_>]) -> SqlResult<()>;

    /// About what they take in memory.
    fn bytes(&self) -> usize;

    /// The rows' values, for rows that have to be sorted after all.
    fn into_rows(self: Box<Self>) -> SqlResult<Vec<Vec<Value>>>;

    /// Itself as what it is, for the writer of the same source.
    fn into_any(self: Box<Self>) -> Box<dyn Any + Send>;
}

/// Makes segment rows. Dropped before [`SegmentRowWriter::keep`], it leaves nothing behind.
pub trait SegmentRowWriter {
    /// Takes a row. Its key must follow the keys of all earlier rows, or of those since the last durable part.
    fn push(&mut self, row: crate::Row) -> SqlResult<()>;

    /// Takes rows of a block, whose keys come likewise.
    fn push_block(&mut self, block: Box<dyn SegmentBlock>, keys: &BlockKeys) -> SqlResult<()>;

    /// Makes the rows so far durable, and gives their entries of the manifest.
    fn finish(&mut self) -> SqlResult<Vec<ManifestEntry>>;

    /// Removes rows from the last durable part, by their storage keys. Gives their numbers in the order of input. Later entries
    /// stand for the others.
    fn leave_out(&mut self, keys: &[Vec<u8>]) -> SqlResult<Vec<u64>>;

    /// The entries are in the manifest.
    fn keep(self: Box<Self>);
}

/// The segment rows of one manifest.
pub trait SegmentSnapshot: Send + Sync {
    /// The row at a storage key, as [`Table::encode_row`] makes it.
    fn get(&self, table: &Table, key: &[u8]) -> SqlResult<Option<Vec<u8>>>;

    /// Itself as `Any`, for code that knows the source.
    fn into_any(self: Arc<Self>) -> Arc<dyn Any + Send + Sync>;

    /// The last storage key.
    fn last_key(&self, table: &Table) -> SqlResult<Option<Vec<u8>>>;

    /// The files that have the rows. Each is open, and never changes.
    fn files(&self) -> Vec<LevelFile>;

    /// The rows of a range of storage keys, which is not empty.
    fn scan(&self, table: &Arc<Table>, range: &KeyRange, direction: Direction) -> SqlResult<Box<dyn SegmentScan>>;
}

/// A file of a level.
#[derive(Clone)]
pub struct LevelFile {
    /// Where it was made. It may have no name any more.
    pub path: PathBuf,
    /// Its length.
    pub bytes: u64,
    /// Tells it, together with its path and its length, from all other files that the server has made.
    pub checksum: u64,
    /// Reads its content.
    pub content: Arc<dyn ReadAt>,
}

/// A file that is open.
pub trait ReadAt: Send + Sync {
    /// Reads from a position on; how many bytes.
    ///
    /// # Errors
    /// The system's.
    fn read_at(&self, bytes: &mut [u8], position: u64) -> std::io::Result<usize>;
}

/// A scan of segment rows.
pub trait SegmentScan: Send {
    /// The next storage key and row.
    fn next(&mut self) -> SqlResult<Option<(Vec<u8>, Vec<u8>)>>;
}

/// The Segment level of one table.
pub(crate) struct SegmentLevel {
    pub part: TablePart,
    source: Arc<dyn SegmentSource>,
    manifests: RwLock<Manifests>,
    /// Keys of rows that commits have changed since a [`Sealing`] began; `None` while there is none. Changes under the
    /// lock of the commit log.
    changed: Mutex<Option<FxHashSet<Slice>>>,
    /// Held while rows go from the store to the manifest, which readers of the newest rows do not see as one step.
    moving: RwLock<()>,
    /// The first sequence number whose readers find no delta rows in the store, if nothing has been written to it since; the greatest
    /// number if none is known.
    empty_since: AtomicU64,
}

/// The newest manifests, oldest first.
#[derive(Default)]
struct Manifests {
    known: VecDeque<Manifest>,
    /// The first sequence number that has the newest manifest.
    newest_since: SeqNo,
}

/// The manifest of the sequence numbers from one to before another.
struct Manifest {
    since: SeqNo,
    /// `None` for the newest.
    until: Option<SeqNo>,
    rows: Arc<dyn SegmentSnapshot>,
}

impl SegmentLevel {
    pub fn new(part: TablePart, source: Arc<dyn SegmentSource>) -> SegmentLevel {
        SegmentLevel {
            part,
            source,
            manifests: RwLock::default(),
            changed: Mutex::new(None),
            moving: RwLock::default(),
            empty_since: AtomicU64::new(SeqNo::MAX),
        }
    }

    /// The store has no delta rows as of a sequence number.
    pub fn note_empty(&self, since: SeqNo) {
        self.empty_since.store(since, Ordering::Release);
    }

    /// Whether readers of a sequence number find no delta rows in the store. A scan of the range would tell too, but passes all that
    /// sealing has removed as long as the buffer has it.
    pub fn is_store_empty(&self, keyspace: &Keyspace, seqno: SeqNo) -> bool {
        let since = self.empty_since.load(Ordering::Acquire);
        since <= seqno && keyspace.is_unchanged_since(since)
    }

    /// The source that knows the meaning of the manifest's entries.
    pub fn source(&self) -> &Arc<dyn SegmentSource> {
        &self.source
    }

    /// Keeps rows where they are. A reader at no sequence number but what is newest, first in the store and then here, has to
    /// hold this meanwhile, and nothing that waits for a commit.
    pub fn hold_still(&self) -> RwLockReadGuard<'_, ()> {
        self.moving.read()
    }

    /// To be held while rows go from the store to the manifest.
    pub fn move_rows(&self) -> RwLockWriteGuard<'_, ()> {
        self.moving.write()
    }

    /// Keys that commits change are noted from now on; `false` if they are already. The caller holds the commit log.
    pub fn note_changes_from_now(&self) -> bool {
        let mut changed = self.changed.lock();
        let begins = changed.is_none();
        changed.get_or_insert_default();
        begins
    }

    /// Ends what [`SegmentLevel::note_changes_from_now`] began.
    pub fn note_changes_no_more(&self) {
        *self.changed.lock() = None;
    }

    /// Takes from the keys read by a sealing those that commits have changed since it began. The caller holds the commit
    /// log.
    pub fn retain_unchanged(&self, keys: &mut Vec<Slice>) {
        match &*self.changed.lock() {
            Some(changed) => keys.retain(|key| !changed.contains(key)),
            None => keys.clear(),
        }
    }

    /// The segment rows as of a sequence number, of which the caller keeps a snapshot.
    pub fn at(&self, keyspace: &Keyspace, seqno: SeqNo) -> SqlResult<Arc<dyn SegmentSnapshot>> {
        let newest_since = {
            let manifests = self.manifests.read();
            if let Some(manifest) = manifests
                .known
                .iter()
                .rev()
                .find(|manifest| manifest.since <= seqno && manifest.until.is_none_or(|until| seqno < until))
            {
                return Ok(manifest.rows.clone());
            }
            manifests.newest_since
        };
        let rows = self.source.open(read_manifest(self.part, keyspace, seqno)?)?;
        let mut manifests = self.manifests.write();
        // Unless it has changed meanwhile, the sequence number is an earlier one, or another reader was faster: one manifest alone is the
        // newest.
        let known = manifests.known.back().is_some_and(|last| last.until.is_none());
        if newest_since <= seqno && manifests.newest_since == newest_since && !known {
            manifests.known.push_back(Manifest { since: newest_since, until: None, rows: rows.clone() });
            if manifests.known.len() > MANIFESTS_KEPT {
                manifests.known.pop_front();
            }
        }
        Ok(rows)
    }

    /// Takes note of what a commit, applied and not yet seen, has changed; `seqno` is the first that has it.
    pub fn note_commit<'a>(&self, keys: impl Iterator<Item = &'a Slice>, seqno: SeqNo) {
        let mut changed = self.changed.lock();
        let mut manifest_changed = false;
        for key in keys {
            match self.part.is_manifest_key(key) {
                true => manifest_changed = true,
                false => changed.iter_mut().for_each(|changed| _ = changed.insert(key.clone())),
            }
        }
        if manifest_changed {
            self.manifest_changed(seqno);
        }
    }

    /// The manifest has changed; `seqno` is the first that has it as it is now.
    pub fn manifest_changed(&self, seqno: SeqNo) {
        let mut manifests = self.manifests.write();
        manifests.newest_since = seqno;
        if let Some(last) = manifests.known.back_mut() {
            last.until.get_or_insert(seqno);
        }
    }
}

/// The manifest of a sequence number as a transaction has changed it; `changes` are those of its writes, in order.
pub(crate) fn changed_manifest(
    keyspace: &Keyspace,
    seqno: SeqNo,
    changes: Vec<(Slice, Option<Slice>)>,
) -> SqlResult<Vec<ManifestEntry>> {
    let prefix = TablePart::Rows.manifest_key(&[]).len();
    let before = read_manifest(TablePart::Rows, keyspace, seqno)?.into_iter().map(|entry| (entry.name, entry.content));
    let mut manifest: std::collections::BTreeMap<Vec<u8>, Vec<u8>> = before.collect();
    for (key, content) in changes {
        let name = key[prefix..].to_vec();
        match content {
            Some(content) => manifest.insert(name, content.to_vec()),
            None => manifest.remove(&name),
        };
    }
    Ok(manifest.into_iter().map(|(name, content)| ManifestEntry { name, content }).collect())
}

/// The entries of a level's manifest at a sequence number.
pub(crate) fn read_manifest(part: TablePart, keyspace: &Keyspace, seqno: SeqNo) -> SqlResult<Vec<ManifestEntry>> {
    let prefix = part.manifest_key(&[]).len();
    let entries = keyspace.tree.range(part.manifest_range().to_slices(), seqno, None);
    entries
        .map(|entry| {
            let (key, value) = entry.into_inner().map_err(|error| engine_error(error.into()))?;
            Ok(ManifestEntry { name: key[prefix..].to_vec(), content: value.to_vec() })
        })
        .collect()
}

/// A scan of the store's entries and segment rows as one.
pub(crate) struct Merged<T> {
    entries: T,
    segments: Box<dyn SegmentScan>,
    direction: Direction,
    next_entry: Option<(Slice, Slice)>,
    next_in_segments: Option<(Vec<u8>, Vec<u8>)>,
}

impl<T> Merged<T> {
    pub fn new(entries: T, segments: Box<dyn SegmentScan>, direction: Direction) -> Merged<T> {
        Merged { entries, segments, direction, next_entry: None, next_in_segments: None }
    }

    /// The next row; `next` is how entries of the store are read.
    pub fn next(
        &mut self,
        mut next: impl FnMut(&mut T) -> SqlResult<Option<(Slice, Slice)>>,
    ) -> SqlResult<Option<(Slice, Slice)>> {
        loop {
            if self.next_entry.is_none() {
                self.next_entry = next(&mut self.entries)?;
            }
            if self.next_in_segments.is_none() {
                self.next_in_segments = self.segments.next()?;
            }
            let order = match (&self.next_entry, &self.next_in_segments) {
                (Some((entry, _)), Some((segment_key, _))) => (**entry).cmp(&segment_key[..]),
                (Some(_), None) => std::cmp::Ordering::Less,
                (None, Some(_)) => std::cmp::Ordering::Greater,
                (None, None) => return Ok(None),
            };
            let both = self.next_entry.is_some() && self.next_in_segments.is_some();
            let order = if both && self.direction == Direction::Backward { order.reverse() } else { order };
            if order.is_gt() {
                return Ok(self.next_in_segments.take().map(|(key, row)| (key.into(), row.into())));
            }
            if order.is_eq() {
                self.next_in_segments = None;
            }
            if let Some((key, value)) = self.next_entry.take()
                && *value != DELETED
            {
                return Ok(Some((key, value)));
            }
        }
    }
}

/// A row of the store's own, or a key with which it hides a segment row.
#[derive(Clone, Debug)]
pub struct DeltaRow {
    pub(crate) key: Slice,
    pub(crate) row: Option<Slice>,
    /// The row, if it has values out of it, which are read where it was read.
    pub(crate) with_large_values: Option<crate::Row>,
}

impl DeltaRow {
    /// The storage key.
    pub fn key(&self) -> &[u8] {
        &self.key
    }

    /// The row; `None` if the segment row with this key is deleted.
    pub fn row(&self, table: &Table) -> SqlResult<Option<crate::Row>> {
        if let Some(row) = &self.with_large_values {
            return Ok(Some(row.clone()));
        }
        self.row.clone().map(|row| crate::Row::check(table, self.key.clone(), row)).transpose()
    }
}
