//! The cache of compiled scripts.

use crate::engine::Bytecode;
use parking_lot::Mutex;
use rustc_hash::FxHashMap;
use sha2::{Digest, Sha256};

/// Parts that are locked by themselves.
const SHARDS: usize = 16;
/// Bytes of all scripts of a shard. Scripts of more than a quarter of it are not kept.
const SHARD_BYTES: usize = 4 << 20;

/// The hash of a script's source.
type Key = [u8; 32];

/// Scripts by their sources.
#[derive(Debug, Default)]
pub(crate) struct Scripts {
    shards: [Mutex<Shard>; SHARDS],
}

#[derive(Debug, Default)]
struct Shard {
    scripts: FxHashMap<Key, (Bytecode, u64)>,
    bytes: usize,
    /// Counts uses.
    clock: u64,
}

/// The key of a source.
pub(crate) fn key_of(source: &str) -> Key {
    Sha256::digest(source.as_bytes()).into()
}

impl Scripts {
    fn shard(&self, key: &Key) -> &Mutex<Shard> {
        &self.shards[usize::from(key[0]) % SHARDS]
    }

    /// The script of a source, if it is here.
    pub fn get(&self, key: &Key) -> Option<Bytecode> {
        let mut shard = self.shard(key).lock();
        shard.clock += 1;
        let now = shard.clock;
        let (script, used) = shard.scripts.get_mut(key)?;
        *used = now;
        Some(script.clone())
    }

    /// Keeps a script, with at most about `most` others. The least recently used scripts are removed first.
    pub fn put(&self, key: Key, script: &Bytecode, most: usize) {
        let most = most.div_ceil(SHARDS);
        if most == 0 || script.size() > SHARD_BYTES / 4 {
            return;
        }
        let mut shard = self.shard(&key).lock();
        shard.clock += 1;
        let now = shard.clock;
        shard.bytes += script.size();
        if let Some((old, _)) = shard.scripts.insert(key, (script.clone(), now)) {
            shard.bytes -= old.size();
        }
        if shard.scripts.len() > most || shard.bytes > SHARD_BYTES {
            shard.make_room(most);
        }
    }
}

impl Shard {
    /// Removes the least recently used scripts: an eighth more than necessary, so that this is rare.
    fn make_room(&mut self, most: usize) {
        let mut uses: Vec<(u64, Key)> = self.scripts.iter().map(|(key, (_, used))| (*used, *key)).collect();
        uses.sort_unstable();
        let (most, bytes) = (most - most / 8, SHARD_BYTES - SHARD_BYTES / 8);
        for (_, key) in uses {
            if self.scripts.len() <= most && self.bytes <= bytes {
                return;
            }
            if let Some((script, _)) = self.scripts.remove(&key) {
                self.bytes -= script.size();
            }
        }
    }
}
