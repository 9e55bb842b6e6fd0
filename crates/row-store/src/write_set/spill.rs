//! Spilled writes: sorted files in the temporary folder, removed with their transaction.
//!
//! They have the form of the engine's files, with a write's step as its sequence number. So keys and ranges at a step are found as in
//! the engine: by filters and indexes of blocks.

use super::{Change, Written};
use crate::engine::{AbstractTree, Error, Keyspace, SeqNo, Slice};
use crate::error::engine_error;
use crate::gate::WriteGate;
use lsm_tree::config::BloomConstructionPolicy;
use lsm_tree::merge::Merger;
use lsm_tree::table::Writer;
use lsm_tree::table::filter::standard_bloom::Builder;
use lsm_tree::{BoxedIterator, Cache, InternalValue, Table, ValueType};
use squall_types::{SqlError, SqlResult};
use std::ops::Bound;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

/// Bits of a filter for each key.
const FILTER_BITS: f32 = 10.0;
/// Records from one key that a commit may cut at to the next.
const CUT_RECORDS: usize = 4096;
/// Memory for blocks of all files.
const CACHE_BYTES: u64 = 16 << 20;
/// The level that files are written for; it says nothing here.
const LEVEL: u8 = 0;

/// Where writes of transactions go, and from when on.
pub(crate) struct SpillPlace {
    folder: PathBuf,
    gate: Arc<WriteGate>,
    /// Memory that writes of one transaction take before they leave it, bytes.
    bytes_max: AtomicUsize,
    /// Blocks that are read again. What a commit reads once is not to take the place of what others read often.
    cache: Arc<Cache>,
}

impl SpillPlace {
    pub fn new(folder: PathBuf, gate: Arc<WriteGate>, bytes_max: usize) -> SpillPlace {
        let cache = Arc::new(Cache::with_capacity_bytes(CACHE_BYTES));
        SpillPlace { folder, gate, bytes_max: bytes_max.into(), cache }
    }

    /// # Errors
    /// 1021 if the disk has no space for this many bytes.
    pub fn check_room(&self, bytes: usize) -> SqlResult<()> {
        self.gate.check_temporary(bytes)
    }

    pub fn set_bytes_max(&self, bytes: usize) {
        self.bytes_max.store(bytes, Ordering::Relaxed);
    }

    pub fn bytes_max(&self) -> usize {
        self.bytes_max.load(Ordering::Relaxed)
    }
}

/// Steps that have been rolled back after some of their writes had left memory; steps are never given again.
#[derive(Debug, Default)]
pub(crate) struct DeadSteps(Vec<(u64, u64)>);

impl DeadSteps {
    /// Adds steps, the last of which is behind all those before.
    pub fn add(&mut self, mut first: u64, last: u64) {
        while let Some((known, _)) = self.0.pop_if(|(_, known)| *known >= first) {
            first = first.min(known);
        }
        self.0.push((first, last));
    }

    /// The first of the dead steps that a step is one of.
    fn first_with(&self, step: u64) -> Option<u64> {
        let at = self.0.partition_point(|(_, last)| *last < step);
        self.0.get(at).map(|(first, _)| *first).filter(|first| *first <= step)
    }
}

/// A sorted file of one table's writes; removed when dropped.
pub(super) struct SpillFile {
    table: Table,
    path: PathBuf,
    pub bytes: u64,
    /// Keys that are about as far apart.
    pub cuts: Vec<Slice>,
}

impl Drop for SpillFile {
    fn drop(&mut self) {
        // What cannot be removed now is removed with the whole folder at the next start.
        let _ = std::fs::remove_file(&self.path);
    }
}

/// A write as files have it.
pub(super) fn item_of(key: Slice, step: u64, change: Change) -> InternalValue {
    match change {
        Some(value) => InternalValue::from_components(key, value, step, ValueType::Value),
        None => InternalValue::from_components(key, Slice::empty(), step, ValueType::Tombstone),
    }
}

impl From<InternalValue> for Written {
    fn from(item: InternalValue) -> Written {
        let change = (item.key.value_type == ValueType::Value).then_some(item.value);
        Written { key: item.key.user_key, step: item.key.seqno, change }
    }
}

impl SpillFile {
    /// Writes a file: keys in order, the writes of each the newest first. `is_looked_up` if they are looked for by their keys.
    /// `None` if there are none.
    ///
    /// # Errors
    /// 1021 if the disk has no space for `bytes`, and errors of writing.
    pub fn write(
        place: &SpillPlace,
        keyspace: &Keyspace,
        items: impl Iterator<Item = InternalValue>,
        bytes: usize,
        is_looked_up: bool,
    ) -> SqlResult<Option<SpillFile>> {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        place.check_room(bytes)?;
        let name = format!("writes-{}-{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed));
        let path = place.folder.join(name);
        let write = || -> Result<Option<SpillFile>, Error> {
            std::fs::create_dir_all(&place.folder)?;
            let tree = &keyspace.tree;
            let filter = BloomConstructionPolicy::BitsPerKey(if is_looked_up { FILTER_BITS } else { 0.0 });
            let id = tree.get_next_table_id();
            let mut writer = Writer::new(path.clone(), id, LEVEL)?.use_bloom_policy(filter);
            let (mut cuts, mut records) = (Vec::new(), 0usize);
            for item in items {
                if records.is_multiple_of(CUT_RECORDS) {
                    cuts.push(item.key.user_key.clone());
                }
                records += 1;
                writer.write(item)?;
            }
            let Some((_, checksum)) = writer.finish()? else { return Ok(None) };
            let bytes = std::fs::metadata(&path)?.len();
            // Its blocks are told from those of others by the keyspace and the number.
            let (cache, metrics) = (place.cache.clone(), tree.metrics().clone());
            let table =
                Table::recover(path.clone(), checksum, 0, tree.id(), cache, None, is_looked_up, false, metrics)?;
            Ok(Some(SpillFile { table, path: path.clone(), bytes, cuts }))
        };
        write().map_err(|error| {
            let _ = std::fs::remove_file(&path);
            engine_error(error)
        })
    }

    /// The file's entry of a key as of a step.
    pub fn get(&self, key: &[u8], hash: u64, step: u64, dead: &DeadSteps) -> SqlResult<Option<Change>> {
        let mut below = step.saturating_add(1);
        loop {
            let item = self.table.get(key, below, hash).map_err(|error| engine_error(error.into()))?;
            match item.map(|item| (dead.first_with(item.key.seqno), item)) {
                None => return Ok(None),
                Some((None, item)) => return Ok(Some(Written::from(item).change)),
                Some((Some(first), _)) => below = first,
            }
        }
    }

    fn range(&self, bounds: (Bound<Slice>, Bound<Slice>)) -> BoxedIterator<'static> {
        Box::new(self.table.range(bounds))
    }
}

/// The hash of a key for [`SpillFile::get`].
pub(super) fn hash_of(key: &[u8]) -> u64 {
    Builder::get_hash(key)
}

/// Sources of writes, in the order of keys.
pub(super) type Source<'a> = Box<dyn Iterator<Item = lsm_tree::Result<InternalValue>> + Send + 'a>;

/// The entries of files within bounds.
pub(super) fn sources(files: &[SpillFile], bounds: (Bound<&[u8]>, Bound<&[u8]>)) -> Vec<BoxedIterator<'static>> {
    let bounds = (bounds.0.map(Slice::new), bounds.1.map(Slice::new));
    files.iter().map(|file| file.range(bounds.clone())).collect()
}

/// Of writes in the order of keys, or against it, the newest of each key as of a step.
pub(crate) struct Newest<'a> {
    items: Source<'a>,
    step: SeqNo,
    dead: &'a DeadSteps,
    next: Option<InternalValue>,
}

impl<'a> Newest<'a> {
    pub(super) fn forward(sources: Vec<Source<'a>>, step: SeqNo, dead: &'a DeadSteps) -> Self {
        Newest { items: Box::new(Merger::new(sources)), step, dead, next: None }
    }

    /// Forward or backward.
    pub(super) fn of_files(sources: Vec<BoxedIterator<'a>>, reverse: bool, step: SeqNo, dead: &'a DeadSteps) -> Self {
        let merger = Merger::new(sources);
        let items: Source<'a> = if reverse { Box::new(merger.rev()) } else { Box::new(merger) };
        Newest { items, step, dead, next: None }
    }

    /// The next key's write.
    pub fn next(&mut self) -> SqlResult<Option<Written>> {
        for item in self.items.by_ref() {
            let item = item.map_err(|error| engine_error(error.into()))?;
            if item.key.seqno > self.step || self.dead.first_with(item.key.seqno).is_some() {
                continue;
            }
            match &mut self.next {
                Some(next) if next.key.user_key == item.key.user_key => {
                    if next.key.seqno < item.key.seqno {
                        *next = item;
                    }
                }
                next => {
                    if let Some(written) = next.replace(item) {
                        return Ok(Some(written.into()));
                    }
                }
            }
        }
        Ok(self.next.take().map(Written::from))
    }
}

/// The error of a thread that writes a file and has panicked.
pub(super) fn panicked() -> SqlError {
    SqlError::internal("a thread that writes changes of a transaction to a file has panicked")
}
