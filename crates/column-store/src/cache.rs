//! Columns and indexes of segments in memory, within a bound.
//!
//! Replacement is CLOCK (Corbató, 1968): entries are in a ring, a use marks one, and the hand removes the mark, or an entry
//! without a mark. A use is one relaxed store, not a move in a list.

use crate::coded::{CodedColumn, Dictionary};
use crate::error::Result;
use crate::index::{BitmapIndex, ElementIndex};
use crate::predicate::ColumnSource;
use crate::segment::Segment;
use crate::zone_map::ZoneMap;
use parking_lot::Mutex;
use rustc_hash::FxHashMap;
use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// A cache of what segments' columns are when loaded. Shared by all threads.
#[derive(Debug)]
pub struct ColumnCache {
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    entries: FxHashMap<Key, Listed>,
    /// Keys of `entries`, each once; the hand stands at the front.
    ring: VecDeque<Key>,
    bytes: usize,
    bytes_max: usize,
    hits: u64,
    misses: u64,
    evictions: u64,
}

#[derive(Clone, Debug)]
struct Listed {
    entry: Arc<Entry>,
    /// What the value takes; 0 while it is loaded.
    bytes: usize,
}

/// Segment, column, and which of its things.
type Key = (u64, usize, Kind);

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Kind {
    Column,
    Index,
    Elements,
}

#[derive(Debug)]
struct Entry {
    used: AtomicBool,
    /// Held while the value is loaded, so that it is loaded once.
    loaded: Mutex<Option<Loaded>>,
}

#[derive(Clone, Debug)]
enum Loaded {
    Column(Arc<CodedColumn>),
    /// `None`: the column has no index.
    Index(Option<Arc<BitmapIndex>>),
    /// Likewise.
    Elements(Option<Arc<ElementIndex>>),
}

/// What the cache holds and has done.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct CacheStatus {
    /// Bytes of all entries.
    pub bytes: usize,
    /// The bound.
    pub bytes_max: usize,
    /// Columns and indexes.
    pub entries: usize,
    /// Look-ups that found their entry.
    pub hits: u64,
    /// Look-ups that had to load it.
    pub misses: u64,
    /// Entries that were removed to free memory.
    pub evictions: u64,
}

impl Loaded {
    fn memory_bytes(&self) -> usize {
        match self {
            Loaded::Column(column) => column.memory_bytes(),
            Loaded::Index(index) => index.as_ref().map_or(0, |index| index.memory_bytes()),
            Loaded::Elements(index) => index.as_ref().map_or(0, |index| index.memory_bytes()),
        }
    }
}

impl ColumnCache {
    /// A cache of at most `bytes_max` bytes, not counting what queries that run hold on to.
    pub fn new(bytes_max: usize) -> ColumnCache {
        ColumnCache { state: Mutex::new(State { bytes_max, ..State::default() }) }
    }

    /// Changes the bound, and takes entries out until the rest is within it.
    pub fn resize(&self, bytes_max: usize) {
        let mut state = self.state.lock();
        state.bytes_max = bytes_max;
        state.shrink();
    }

    /// Takes a segment out that is gone.
    pub fn forget(&self, segment: &Segment) {
        let mut state = self.state.lock();
        let keys: Vec<Key> = state.entries.keys().filter(|key| key.0 == segment.serial()).copied().collect();
        keys.iter().for_each(|key| state.remove(key));
        state.ring.retain(|key| key.0 != segment.serial());
    }

    /// What the cache holds and has done.
    pub fn status(&self) -> CacheStatus {
        let state = self.state.lock();
        CacheStatus {
            bytes: state.bytes,
            bytes_max: state.bytes_max,
            entries: state.entries.len(),
            hits: state.hits,
            misses: state.misses,
            evictions: state.evictions,
        }
    }

    /// A segment's column, loaded if it is not there. A column larger than the bound is returned and not kept.
    ///
    /// # Errors
    /// If the column cannot be read; the next call tries again.
    pub fn column(&self, segment: &Segment, ordinal: usize) -> Result<Arc<CodedColumn>> {
        let key = (segment.serial(), ordinal, Kind::Column);
        let load = || Ok(Loaded::Column(Arc::new(segment.column(ordinal)?)));
        match self.get(key, load)? {
            Loaded::Column(column) => Ok(column),
            Loaded::Index(_) | Loaded::Elements(_) => unreachable!("a key's kind is that of its value"),
        }
    }

    /// A segment's bitmap index, if the column has one.
    ///
    /// # Errors
    /// If the index cannot be read; the next call tries again.
    pub fn index(&self, segment: &Segment, ordinal: usize) -> Result<Option<Arc<BitmapIndex>>> {
        if !segment.has_index(ordinal) {
            return Ok(None);
        }
        let key = (segment.serial(), ordinal, Kind::Index);
        let load = || Ok(Loaded::Index(segment.index(ordinal)?.map(Arc::new)));
        match self.get(key, load)? {
            Loaded::Index(index) => Ok(index),
            Loaded::Column(_) | Loaded::Elements(_) => unreachable!("a key's kind is that of its value"),
        }
    }

    /// A segment's index of elements, if the column has one.
    ///
    /// # Errors
    /// If the index cannot be read; the next call tries again.
    pub fn elements(&self, segment: &Segment, ordinal: usize) -> Result<Option<Arc<ElementIndex>>> {
        if !segment.has_index(ordinal) {
            return Ok(None);
        }
        let key = (segment.serial(), ordinal, Kind::Elements);
        let load = || Ok(Loaded::Elements(segment.elements(ordinal)?.map(Arc::new)));
        match self.get(key, load)? {
            Loaded::Elements(index) => Ok(index),
            Loaded::Column(_) | Loaded::Index(_) => unreachable!("a key's kind is that of its value"),
        }
    }

    /// A segment's dictionary: that of the column if it is here, else read from the file, where it is a block of its own.
    ///
    /// # Errors
    /// If it cannot be read.
    pub fn dictionary(&self, segment: &Segment, ordinal: usize) -> Result<Option<Arc<Dictionary>>> {
        let key = (segment.serial(), ordinal, Kind::Column);
        let known = self.state.lock().entries.get(&key).map(|listed| listed.entry.clone());
        match known.as_deref().map(|entry| entry.loaded.lock().clone()) {
            Some(Some(Loaded::Column(column))) => Ok(column.dictionary().cloned()),
            _ => segment.dictionary(ordinal),
        }
    }

    fn get(&self, key: Key, load: impl FnOnce() -> Result<Loaded>) -> Result<Loaded> {
        let entry = {
            let mut state = self.state.lock();
            let known = state.entries.get(&key).map(|listed| listed.entry.clone());
            let entry = known.unwrap_or_else(|| {
                let entry = Arc::new(Entry { used: AtomicBool::new(false), loaded: Mutex::new(None) });
                state.entries.insert(key, Listed { entry: entry.clone(), bytes: 0 });
                state.ring.push_back(key);
                entry
            });
            entry.used.store(true, Ordering::Relaxed);
            entry
        };
        let mut loaded = entry.loaded.lock();
        if let Some(value) = &*loaded {
            let value = value.clone();
            drop(loaded);
            self.state.lock().hits += 1;
            return Ok(value);
        }
        let value = load();
        let mut state = self.state.lock();
        state.misses += 1;
        // Another thread may have taken the entry out while it was loaded; then its bytes are not charged.
        let listed = state.entries.get_mut(&key).filter(|listed| Arc::ptr_eq(&listed.entry, &entry));
        match (&value, listed) {
            (Ok(value), Some(listed)) => {
                *loaded = Some(value.clone());
                listed.bytes = value.memory_bytes();
                state.bytes += value.memory_bytes();
                state.shrink();
            }
            (Err(_), Some(_)) => {
                state.remove(&key);
                state.ring.retain(|other| *other != key);
            }
            (_, None) => {}
        }
        value
    }
}

impl State {
    /// Moves the hand until the entries are within the bound.
    fn shrink(&mut self) {
        while self.bytes > self.bytes_max {
            let Some(key) = self.ring.pop_front() else { return };
            let Some(listed) = self.entries.get(&key) else { continue };
            if listed.entry.used.swap(false, Ordering::Relaxed) {
                self.ring.push_back(key);
            } else {
                self.evictions += 1;
                self.remove(&key);
            }
        }
    }

    /// Takes an entry out of the table, not out of the ring.
    fn remove(&mut self, key: &Key) {
        if let Some(listed) = self.entries.remove(key) {
            self.bytes -= listed.bytes;
        }
    }
}

/// A Segment, read through the cache.
#[derive(Clone, Copy, Debug)]
pub struct SegmentColumns<'a> {
    /// The segment.
    pub segment: &'a Segment,
    /// The cache.
    pub cache: &'a ColumnCache,
}

impl ColumnSource for SegmentColumns<'_> {
    fn rows(&self) -> usize {
        self.segment.rows()
    }

    fn column(&self, ordinal: usize) -> Result<Arc<CodedColumn>> {
        self.cache.column(self.segment, ordinal)
    }

    fn zone_map(&self, ordinal: usize) -> Option<&ZoneMap> {
        Some(self.segment.zone_map(ordinal))
    }

    fn index(&self, ordinal: usize) -> Result<Option<Arc<BitmapIndex>>> {
        self.cache.index(self.segment, ordinal)
    }

    fn elements(&self, ordinal: usize) -> Result<Option<Arc<ElementIndex>>> {
        self.cache.elements(self.segment, ordinal)
    }

    fn dictionary(&self, ordinal: usize) -> Result<Option<Arc<Dictionary>>> {
        self.cache.dictionary(self.segment, ordinal)
    }
}
