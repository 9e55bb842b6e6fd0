//! The shared plan cache of all sessions: syntax trees of statements, plans of point lookups and of small queries, and the result
//! columns for PREPARE.
//!
//! It is the second level after the cache of each session ([`crate::plans::session_cache`]). A session searches it only if it has no
//! valid route for a statement itself. So a statement with a route writes nothing here. A session checks its own privileges before it
//! uses an entry.
//!
//! A text means the same in two sessions if their [`BindSettings`] are equal. Reading order: `entry`,
//! [`SharedPlanCache`].

mod entry;
mod met;

pub(crate) use entry::{CacheEntry, Described, PlanUse, SharedRows, Totals};
use squall_system_tables::PlanCacheSize;

use crate::plans::cached_query::CachedQuery;
use crate::plans::slot::SchemaVersions;
use met::MetStatements;
use parking_lot::Mutex;
use rustc_hash::FxHashMap;
use squall_statement_context::BindSettings;
use std::collections::VecDeque;
use std::collections::hash_map::RandomState;
use std::hash::{BuildHasher, Hash, Hasher};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Locks that the statements are divided between.
const SHARDS: usize = 16;
const HASH_BITS: u32 = 64;
/// Longest text that is kept, bytes.
pub(crate) const TEXT_BYTES_MAX: usize = 64 << 10;

/// By what a statement is kept, beside its settings.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PlanKey<'a> {
    /// The text: normalized, of a PREPARE, or as it was sent.
    pub text: &'a [u8],
    /// Of a plan with parameters the constants that are a part of it, and the kinds of the others
    /// ([`ParameterUse::constants`](crate::plans::parameter_use::ParameterUse::constants)). Nothing where the text says all.
    pub constants: &'a [u8],
}

impl<'a, T: AsRef<[u8]> + ?Sized> From<&'a T> for PlanKey<'a> {
    /// What the text alone says.
    fn from(text: &'a T) -> Self {
        PlanKey { text: text.as_ref(), constants: &[] }
    }
}

/// Statements by text and settings, for all sessions.
#[derive(Debug)]
pub(crate) struct SharedPlanCache {
    hasher: RandomState,
    shards: [Mutex<Shard>; SHARDS],
    met: MetStatements,
    /// Most bytes, by estimate; 0 keeps nothing.
    bytes_max: AtomicU64,
    evictions: AtomicU64,
}

#[derive(Debug, Default)]
struct Shard {
    entries: FxHashMap<u64, Arc<CacheEntry>>,
    /// Hashes in the order in which they are checked when space is needed.
    order: VecDeque<u64>,
    bytes: u64,
}

impl SharedPlanCache {
    /// An empty cache of at most this many bytes.
    pub fn new(bytes_max: u64) -> Self {
        SharedPlanCache {
            hasher: RandomState::new(),
            shards: Default::default(),
            met: MetStatements::new(),
            bytes_max: AtomicU64::new(bytes_max),
            evictions: AtomicU64::new(0),
        }
    }

    /// Sets the most bytes; what is too much goes.
    pub fn resize(&self, bytes_max: u64) {
        self.bytes_max.store(bytes_max, Ordering::Relaxed);
        for shard in &self.shards {
            self.make_room(&mut shard.lock());
        }
    }

    fn hash(&self, key: PlanKey<'_>, settings: &BindSettings) -> u64 {
        let mut hasher = self.hasher.build_hasher();
        hasher.write(key.text);
        hasher.write(key.constants);
        settings.database.hash(&mut hasher);
        settings.sql_mode.hash(&mut hasher);
        hasher.finish()
    }

    fn shard(&self, hash: u64) -> &Mutex<Shard> {
        &self.shards[(hash >> 32) as usize % SHARDS]
    }

    /// The entry of a statement.
    pub fn find<'k>(&self, key: impl Into<PlanKey<'k>>, settings: &BindSettings) -> Option<Arc<CacheEntry>> {
        let key = key.into();
        let hash = self.hash(key, settings);
        let shard = self.shard(hash).lock();
        let entry = shard.entries.get(&hash).filter(|entry| entry.is_of(key, settings))?;
        entry.note_found();
        Some(entry.clone())
    }

    /// Whether a text was met before, as far as is remembered; it is from now on.
    pub fn met_before(&self, text: &[u8], settings: &BindSettings) -> bool {
        self.met.remember(self.hash(text.into(), settings))
    }

    /// Whether a query with constants was planned, or prepared, before, as far as is remembered; it is from now on.
    pub fn planned_before<'k>(&self, key: impl Into<PlanKey<'k>>, settings: &BindSettings) -> bool {
        // Not the hash of the same text as a statement that was met.
        self.met.remember(self.hash(key.into(), settings).rotate_left(HASH_BITS / 2))
    }

    /// The entry of a statement, made if there is none; `None` where there is no space for it.
    pub fn find_or_insert<'k>(
        &self,
        key: impl Into<PlanKey<'k>>,
        settings: &Arc<BindSettings>,
    ) -> Option<Arc<CacheEntry>> {
        let key = key.into();
        let hash = self.hash(key, settings);
        let mut shard = self.shard(hash).lock();
        if let Some(entry) = shard.entries.get(&hash)
            && entry.is_of(key, settings)
        {
            entry.note_found();
            return Some(entry.clone());
        }
        let entry = Arc::new(CacheEntry::new(key, settings.clone()));
        if key.text.len() + key.constants.len() > TEXT_BYTES_MAX || entry.bytes() > self.shard_bytes_max() {
            return None;
        }
        shard.bytes += entry.bytes();
        // Two texts of one hash replace each other.
        match shard.entries.insert(hash, entry.clone()) {
            Some(other) => shard.bytes -= other.bytes(),
            None => shard.order.push_back(hash),
        }
        self.make_room(&mut shard);
        Some(entry)
    }

    /// Keeps a plan of the full planner that was made at these versions, if there is space for it.
    pub fn keep_query(
        &self,
        key: PlanKey<'_>,
        settings: &Arc<BindSettings>,
        made: SchemaVersions,
        current: impl Fn() -> SchemaVersions,
        query: CachedQuery,
    ) {
        let size = query.plan.size_bytes();
        if size > self.shard_bytes_max() / 2 {
            return;
        }
        let Some(entry) = self.find_or_insert(key, settings) else { return };
        let hash = self.hash(key, settings);
        let mut shard = self.shard(hash).lock();
        // Another thread may have freed space meanwhile.
        if shard.entries.get(&hash).is_some_and(|kept| Arc::ptr_eq(kept, &entry)) {
            let before = entry.bytes();
            entry.put_query(made, current, query);
            shard.bytes += entry.bytes() - before;
            self.make_room(&mut shard);
        }
    }

    fn shard_bytes_max(&self) -> u64 {
        self.bytes_max.load(Ordering::Relaxed) / SHARDS as u64
    }

    /// Removes statements until the rest fits: first those that were not asked for since they were last looked at.
    fn make_room(&self, shard: &mut Shard) {
        let bytes_max = self.shard_bytes_max();
        let mut spared = 0;
        while shard.bytes > bytes_max
            && let Some(hash) = shard.order.pop_front()
        {
            let Some(entry) = shard.entries.get(&hash) else { continue };
            // Once around, then the next one.
            if spared < shard.entries.len() && entry.take_found() {
                spared += 1;
                shard.order.push_back(hash);
                continue;
            }
            shard.bytes -= entry.bytes();
            shard.entries.remove(&hash);
            self.evictions.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Forgets everything.
    pub fn clear(&self) {
        for shard in &self.shards {
            *shard.lock() = Shard::default();
        }
    }

    /// Drops plans of older catalogs, which may hold tables that are gone.
    pub fn catalog_changed(&self, version: u64) {
        for shard in &self.shards {
            let mut shard = shard.lock();
            shard.entries.values().for_each(|entry| entry.forget_older(version));
            shard.bytes = shard.entries.values().map(|entry| entry.bytes()).sum();
        }
    }

    /// All statements.
    pub fn all(&self) -> Vec<Arc<CacheEntry>> {
        self.shards.iter().flat_map(|shard| shard.lock().entries.values().cloned().collect::<Vec<_>>()).collect()
    }

    /// How much is kept.
    pub fn size(&self) -> PlanCacheSize {
        let mut size = PlanCacheSize { evictions: self.evictions.load(Ordering::Relaxed), ..PlanCacheSize::default() };
        for shard in &self.shards {
            let shard = shard.lock();
            size.entries += shard.entries.len() as u64;
            size.bytes += shard.bytes;
        }
        size
    }
}

#[cfg(test)]
mod tests;
