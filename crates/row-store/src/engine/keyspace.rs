//! One keyspace: a tree, and the operations on it.

use super::{AbstractTree, Result, SeqNo, Shared, Slice, Snapshot};
use lsm_tree::compaction::Factory;
use lsm_tree::config::{
    BlockSizePolicy, BloomConstructionPolicy, CompressionPolicy, FilterPolicy, FilterPolicyEntry, RestartIntervalPolicy,
};
use lsm_tree::{AnyTree, CompressionType, Config, Guard as _, IterGuardImpl};
use std::ops::RangeBounds;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// The kind of values, and how files are made of them. It may change each time that a keyspace is opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// The store's own records.
    Records,
    /// Rows as they are.
    Plain,
    /// Rows whose files are compressed.
    Compressed,
    /// Rows that are packed one by one, in files that are compressed.
    Packed,
}

/// Blocks of packed rows. These are half as long, so a block has as many as others have.
const PACKED_BLOCK_BYTES: u32 = 8 << 10;
const BLOCK_BYTES: u32 = 4 << 10;

/// The settings of a kind. Files that small buffers become are short-lived and not compressed.
pub(super) fn with_settings(config: Config, kind: Kind, filters: Option<Arc<dyn Factory>>) -> Config {
    let compression = match kind {
        Kind::Records => CompressionPolicy::new([CompressionType::None, CompressionType::None, CompressionType::Lz4]),
        Kind::Plain => CompressionPolicy::all(CompressionType::None),
        Kind::Compressed | Kind::Packed => CompressionPolicy::new([CompressionType::None, CompressionType::Lz4]),
    };
    let block_bytes = if kind == Kind::Packed { PACKED_BLOCK_BYTES } else { BLOCK_BYTES };
    config
        .data_block_compression_policy(compression)
        .data_block_size_policy(BlockSizePolicy::all(block_bytes))
        .data_block_restart_interval_policy(RestartIntervalPolicy::new([10, 16]))
        .filter_policy(FilterPolicy::new([
            FilterPolicyEntry::Bloom(BloomConstructionPolicy::FalsePositiveRate(0.0001)),
            FilterPolicyEntry::Bloom(BloomConstructionPolicy::BitsPerKey(10.0)),
        ]))
        .with_compaction_filter_factory(filters)
}

/// Where a keyspace is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Place {
    /// The number that is its folder's name. A folder in which no file was ever made is used again.
    pub folder: u64,
    /// Its number in the log. Never used again while a log has it.
    pub number: u64,
}

/// A tree and its name. Cheap to clone.
#[derive(Clone)]
pub(crate) struct Keyspace(pub(super) Arc<KeyspaceInner>);

pub(crate) struct KeyspaceInner {
    place: Place,
    name: Box<str>,
    pub tree: AnyTree,
    /// The number of the first file that was made since it was opened, if it had none then.
    first_file: Option<u64>,
    is_dropped: AtomicBool,
    shared: Arc<Shared>,
}

impl std::ops::Deref for Keyspace {
    type Target = KeyspaceInner;

    fn deref(&self) -> &KeyspaceInner {
        &self.0
    }
}

impl PartialEq for Keyspace {
    fn eq(&self, other: &Keyspace) -> bool {
        self.place == other.place
    }
}

impl Keyspace {
    pub(super) fn new(place: Place, name: &str, tree: AnyTree, shared: Arc<Shared>) -> Keyspace {
        let first_file = (tree.table_count() == 0).then(|| tree.next_table_id());
        let is_dropped = AtomicBool::new(false);
        Keyspace(Arc::new(KeyspaceInner { place, name: name.into(), tree, first_file, is_dropped, shared }))
    }

    /// Its number in the log.
    pub fn id(&self) -> u64 {
        self.place.number
    }

    pub fn place(&self) -> Place {
        self.place
    }

    pub fn name(&self) -> &str {
        &self.name
    }

    /// Its folder.
    pub fn path(&self) -> &Path {
        &self.tree.tree_config().path
    }

    /// The folder of its engine.
    pub fn engine_path(&self) -> &Path {
        self.shared.folders.engine_path()
    }

    pub fn is_dropped(&self) -> bool {
        self.is_dropped.load(Ordering::Acquire)
    }

    pub(super) fn set_dropped(&self) {
        self.is_dropped.store(true, Ordering::Release);
    }

    /// Bytes of its files.
    pub fn disk_space(&self) -> u64 {
        self.tree.disk_space()
    }

    /// Buffers that are on their way to files.
    pub fn sealed_memtable_count(&self) -> usize {
        self.tree.sealed_memtable_count()
    }

    /// How many entries there are, about.
    pub fn approximate_len(&self) -> usize {
        self.tree.approximate_len()
    }

    /// Whether nothing has been written since a snapshot of a sequence number was taken: whatever a later snapshot shows, that one
    /// shows too.
    pub fn is_unchanged_since(&self, seqno: SeqNo) -> bool {
        self.tree.get_highest_seqno().is_none_or(|highest| highest < seqno)
    }

    pub fn is_empty(&self) -> Result<bool> {
        Ok(self.tree.is_empty(SeqNo::MAX, None)?)
    }

    /// The newest value of a key.
    pub fn get(&self, key: impl AsRef<[u8]>) -> Result<Option<Slice>> {
        Ok(self.tree.get(key, SeqNo::MAX)?)
    }

    /// Whether a key is there now.
    pub fn contains_key(&self, key: impl AsRef<[u8]>) -> Result<bool> {
        Ok(self.tree.contains_key(key, SeqNo::MAX)?)
    }

    /// The newest entries in a range of keys.
    pub fn range<K: AsRef<[u8]>>(&self, range: impl RangeBounds<K>) -> Iter {
        let snapshot = self.shared.snapshots.open();
        Iter::new(self.tree.range(range, SeqNo::MAX, None), snapshot)
    }

    /// The newest entries whose keys begin so.
    pub fn prefix(&self, prefix: impl AsRef<[u8]>) -> Iter {
        let snapshot = self.shared.snapshots.open();
        Iter::new(self.tree.prefix(prefix, SeqNo::MAX, None), snapshot)
    }

    /// Lets the buffer become a file, if it has anything.
    pub fn rotate_memtable(&self) {
        if self.tree.rotate_memtable().is_some() {
            self.shared.queue.flush(self.clone());
        }
    }

    /// Has files merged if there is need.
    pub fn merge_files(&self) {
        for _ in 0..self.shared.merge_threads {
            self.shared.queue.merge(self.clone());
        }
    }

    /// Drops files that were replaced, as far as no snapshot needs them any more. Others wait.
    pub(super) fn drop_old_lists(&self) {
        let unneeded_before = self.shared.snapshots.unneeded_before();
        // An error is that of removing the file of an old list, which is then removed when the tree is opened.
        let _ = self.tree.get_version_history_lock().maintenance(self.path(), unneeded_before);
        if self.tree.version_free_list_len() > 0 {
            self.shared.with_old_lists.lock().push(Arc::downgrade(&self.0));
        }
    }
}

/// Reads of a keyspace as it was in the snapshot.
impl Snapshot {
    /// The value of a key.
    pub fn get(&self, keyspace: &Keyspace, key: impl AsRef<[u8]>) -> Result<Option<Slice>> {
        Ok(keyspace.tree.get(key, self.seqno())?)
    }

    /// Whether a key is there.
    pub fn contains_key(&self, keyspace: &Keyspace, key: impl AsRef<[u8]>) -> Result<bool> {
        Ok(keyspace.tree.contains_key(key, self.seqno())?)
    }

    /// Entries in a range of keys.
    pub fn range<K: AsRef<[u8]>>(&self, keyspace: &Keyspace, range: impl RangeBounds<K>) -> Iter {
        Iter::new(keyspace.tree.range(range, self.seqno(), None), self.clone())
    }

    /// Entries whose keys begin so.
    pub fn prefix(&self, keyspace: &Keyspace, prefix: impl AsRef<[u8]>) -> Iter {
        Iter::new(keyspace.tree.prefix(prefix, self.seqno(), None), self.clone())
    }
}

impl Drop for KeyspaceInner {
    fn drop(&mut self) {
        if !self.is_dropped.load(Ordering::Acquire) {
            return;
        }
        // Where a file was made a reader may still use it, and removes it at the end.
        let is_unused = self.first_file == Some(self.tree.next_table_id());
        if !(is_unused && self.shared.folders.give_back(self.place.folder)) {
            self.shared.queue.remove(self.shared.folders.path_of(self.place.folder));
        }
    }
}

type Entries = Box<dyn DoubleEndedIterator<Item = IterGuardImpl> + Send>;

/// Entries of a range, in the order of their keys, from both ends.
pub(crate) struct Iter {
    entries: Entries,
    /// The sequence number that they are read at.
    _snapshot: Snapshot,
}

impl Iter {
    pub(super) fn new(entries: Entries, snapshot: Snapshot) -> Iter {
        Iter { entries, _snapshot: snapshot }
    }
}

impl Iterator for Iter {
    type Item = Entry;

    fn next(&mut self) -> Option<Entry> {
        self.entries.next().map(Entry)
    }
}

impl DoubleEndedIterator for Iter {
    fn next_back(&mut self) -> Option<Entry> {
        self.entries.next_back().map(Entry)
    }
}

/// An entry, or the error of reading it.
pub(crate) struct Entry(IterGuardImpl);

impl Entry {
    pub fn key(self) -> Result<Slice> {
        Ok(self.0.key()?)
    }

    pub fn value(self) -> Result<Slice> {
        Ok(self.0.value()?)
    }

    /// Key and value.
    pub fn into_inner(self) -> Result<(Slice, Slice)> {
        Ok(self.0.into_inner()?)
    }
}
