//! Key caches with names, as `SET GLOBAL hot.key_buffer_size = 1048576` makes them. No storage engine uses one: their variables are only
//! kept, as those of the default cache are.

use parking_lot::Mutex;
use std::collections::BTreeMap;

/// The cache that every server has. Its variables are those without a name in front.
pub const DEFAULT_CACHE: &str = "default";

/// How many there may be.
const COUNT_MAX: usize = 1024;

/// The variables of a key cache, with the values in a new one.
const VARIABLES: [(&str, u64); 6] = [
    ("key_buffer_size", 0),
    ("key_cache_block_size", 1024),
    ("key_cache_age_threshold", 300),
    ("key_cache_division_limit", 100),
    // MariaDB's.
    ("key_cache_file_hash_size", 512),
    ("key_cache_segments", 0),
];

/// The caches beside the default one, by their names in lower case.
#[derive(Debug, Default)]
pub struct KeyCaches(Mutex<BTreeMap<String, [u64; VARIABLES.len()]>>);

/// Whether a variable, in any case, is one of a key cache.
pub fn is_of_key_cache(variable: &str) -> bool {
    place_of(variable).is_some()
}

fn place_of(variable: &str) -> Option<usize> {
    VARIABLES.iter().position(|(name, _)| name.eq_ignore_ascii_case(variable))
}

impl KeyCaches {
    /// Whether there is a cache of that name to put indexes into: one with a buffer.
    pub fn has(&self, cache: &str) -> bool {
        cache.eq_ignore_ascii_case(DEFAULT_CACHE) || self.value(cache, VARIABLES[0].0) > 0
    }

    /// The value of a cache's variable, in bytes or parts; 0 in a cache that is not there.
    pub fn value(&self, cache: &str, variable: &str) -> u64 {
        let caches = self.0.lock();
        let values = caches.get(&cache.to_ascii_lowercase());
        values.zip(place_of(variable)).map_or(0, |(values, place)| values[place])
    }

    /// Sets a cache's variable, and makes the cache if it is not there. Tells whether it could: there may be 1024 caches.
    pub fn set(&self, cache: &str, variable: &str, value: u64) -> bool {
        let (mut caches, name) = (self.0.lock(), cache.to_ascii_lowercase());
        let Some(place) = place_of(variable) else { return false };
        if caches.len() >= COUNT_MAX && !caches.contains_key(&name) {
            return false;
        }
        caches.entry(name).or_insert_with(|| VARIABLES.map(|(_, value)| value))[place] = value;
        true
    }
}
