//! The row cache: rows that were read by key a short while ago.
//!
//! A hit takes no lock and writes nothing that another core reads, not even a reference count: it copies the row from a circular log.
//! The structure is the lossy hash index over circular logs of MICA (H. Lim et al., "MICA: A Holistic Approach to Fast In-Memory
//! Key-Value Storage", NSDI 2014). A reader checks after the copy whether the log has overwritten the row meanwhile ([`shard`]). Only a
//! reader that has missed writes. It does so under its shard's lock, and gives up at once if another thread has the lock.
//!
//! The cache has the newest committed version of a row. A commit removes the rows that it changes ([`RowCache::forget`]) after it is
//! applied and before it is visible. A reader of an earlier snapshot takes a version only if it is old enough. The stamp of the commit
//! rejects a reader that would add an older version.

mod shard;
#[cfg(test)]
mod tests;

use crate::engine::Slice;
use arc_swap::ArcSwap;
use crossbeam_utils::CachePadded;
use shard::Shard;
use squall_accounting::threads::thread_number;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use xxhash_rust::xxh3::xxh3_64_with_seed;

/// Parts with a log and a lock each.
const SHARDS: usize = 16;
/// Places for counts; threads beyond share them.
const COUNTERS: usize = 64;

/// A row's place: the data of its table, by a number that is never given again, and its storage key.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Place<'a> {
    pub data: u64,
    pub key: &'a [u8],
    hash: u64,
}

impl<'a> Place<'a> {
    pub fn new(data: u64, key: &'a [u8]) -> Place<'a> {
        Place { data, key, hash: xxh3_64_with_seed(key, data) }
    }
}

/// A row that a reader has read, and at which sequence number.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Version<'a> {
    pub row: &'a [u8],
    /// The engine's number of the version: sequence numbers after it see it.
    pub written: u64,
    /// A sequence number that it was the newest visible version at.
    pub read: u64,
}

/// How the cache has done, and its size.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RowCacheStatus {
    /// Rows that were found.
    pub hits: u64,
    /// Rows that were looked for in vain.
    pub misses: u64,
    /// Bytes of memory taken.
    pub bytes: u64,
}

#[derive(Default)]
struct Counts {
    hits: AtomicU64,
    misses: AtomicU64,
}

/// The cache.
pub(crate) struct RowCache {
    shards: ArcSwap<Shards>,
    counts: Box<[CachePadded<Counts>]>,
}

impl RowCache {
    /// An empty cache that may grow to this many bytes; with 0 it stays empty.
    pub fn new(bytes_max: u64) -> RowCache {
        RowCache {
            shards: ArcSwap::from_pointee(Shards::new(bytes_max, 0)),
            counts: (0..COUNTERS).map(|_| CachePadded::default()).collect(),
        }
    }

    /// Gives the cache another size; it is empty then. `now` is the present sequence number, as a row that is on its way into it
    /// must not be older.
    pub fn resize(&self, bytes_max: u64, now: u64) {
        if self.shards.load().bytes_max != bytes_max {
            self.shards.store(Arc::new(Shards::new(bytes_max, now)));
        }
    }

    /// A row as a reader of a snapshot sees it, if it is here.
    pub fn get(&self, place: &Place<'_>, seqno: u64) -> Option<Slice> {
        let shards = self.shards.load();
        let shard = shards.of(place);
        if shard.is_off() {
            return None;
        }
        let row = shard.get(place, seqno);
        let counts = &self.counts[thread_number() % COUNTERS];
        count(if row.is_some() { &counts.hits } else { &counts.misses });
        row
    }

    /// Keeps what a reader has read, unless it is out of date by now or another thread writes the shard.
    pub fn insert(&self, place: &Place<'_>, version: Version<'_>) {
        self.shards.load().of(place).insert(place, version);
    }

    /// Removes a row that a commit has changed: readers at `seqno` and later have to see the change. To be called before
    /// there are any.
    pub fn forget(&self, place: &Place<'_>, seqno: u64) {
        self.shards.load().of(place).forget(place, seqno);
    }

    /// How it has done.
    pub fn status(&self) -> RowCacheStatus {
        let mut status = RowCacheStatus::default();
        for counts in &self.counts {
            status.hits += counts.hits.load(Ordering::Relaxed);
            status.misses += counts.misses.load(Ordering::Relaxed);
        }
        status.bytes = self.shards.load().shards.iter().map(|shard| shard.bytes()).sum();
        status
    }
}

struct Shards {
    bytes_max: u64,
    shards: [CachePadded<Shard>; SHARDS],
}

impl Shards {
    fn new(bytes_max: u64, now: u64) -> Shards {
        let shards = std::array::from_fn(|_| CachePadded::new(Shard::new(bytes_max / SHARDS as u64, now)));
        Shards { bytes_max, shards }
    }

    fn of(&self, place: &Place<'_>) -> &Shard {
        &self.shards[place.hash as usize % SHARDS]
    }
}

/// Counts without an atomic addition: the place is this thread's own, unless there are more threads than places, when a
/// count may be lost.
fn count(counter: &AtomicU64) {
    counter.store(counter.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
}
