//! The server's pool of engines: realms, compiled scripts, limits and counts.

use crate::engine::{Bytecode, Failure, Output, Realm, Task};
use crate::limits::TotalMemory;
use crate::scripts::{Scripts, key_of};
use parking_lot::Mutex;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

/// Realms that wait for their next call, in each shard.
const IDLE_REALMS: usize = 4;
/// How long a call waits for memory that others have.
const MEMORY_WAIT: Duration = Duration::from_secs(5);
const MEMORY_POLL: Duration = Duration::from_millis(5);

/// Realms and counts of the threads that come here first. Shards lie apart, so that cores do not take lines of memory from each other.
#[derive(Debug, Default)]
#[repr(align(128))]
struct Shard {
    realms: Mutex<Vec<Realm>>,
    calls: AtomicU64,
    errors: AtomicU64,
    limits: AtomicU64,
    micros: AtomicU64,
    cache_hits: AtomicU64,
}

/// What has been counted since the server began.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Calls.
    pub calls: u64,
    /// Calls that ended with an exception.
    pub errors: u64,
    /// Calls that a limit, KILL or `max_execution_time` has ended.
    pub limits: u64,
    /// Time of all calls, microseconds.
    pub micros: u64,
    /// Scripts that were compiled already when they were called.
    pub cache_hits: u64,
}

/// Runs scripts.
#[derive(Debug)]
pub struct Engine {
    shards: Vec<Shard>,
    scripts: Scripts,
    total: Arc<TotalMemory>,
}

impl Default for Engine {
    fn default() -> Self {
        let cores = thread::available_parallelism().map_or(1, usize::from);
        Engine {
            shards: (0..cores).map(|_| Shard::default()).collect(),
            scripts: Scripts::default(),
            total: Arc::default(),
        }
    }
}

/// A script that a caller has called before.
#[derive(Debug, Default)]
pub struct LastScript(Option<(Box<str>, Bytecode)>);

impl Engine {
    /// The memory of all scripts.
    pub fn memory(&self) -> &TotalMemory {
        &self.total
    }

    /// What has been counted.
    pub fn counts(&self) -> Counts {
        let mut all = Counts::default();
        for shard in &self.shards {
            all.calls += shard.calls.load(Ordering::Relaxed);
            all.errors += shard.errors.load(Ordering::Relaxed);
            all.limits += shard.limits.load(Ordering::Relaxed);
            all.micros += shard.micros.load(Ordering::Relaxed);
            all.cache_hits += shard.cache_hits.load(Ordering::Relaxed);
        }
        all
    }

    /// Runs a script; also what it has said.
    ///
    /// # Errors
    /// When it gives no result.
    pub fn call(
        &self,
        source: &str,
        last: &mut LastScript,
        task: &Task<'_>,
        kept_scripts: usize,
    ) -> (Result<Output, Failure>, String) {
        let shard = &self.shards[shard_of_thread() % self.shards.len()];
        let begun = Instant::now();
        let mut log = String::new();
        let result = self.run(shard, source, last, task, kept_scripts, &mut log);
        shard.calls.fetch_add(1, Ordering::Relaxed);
        shard.micros.fetch_add(u64::try_from(begun.elapsed().as_micros()).unwrap_or(u64::MAX), Ordering::Relaxed);
        match &result {
            Ok(_) => {}
            Err(Failure::Exception { .. } | Failure::Server(_) | Failure::Statement(_)) => {
                shard.errors.fetch_add(1, Ordering::Relaxed);
            }
            Err(_) => {
                shard.limits.fetch_add(1, Ordering::Relaxed);
            }
        }
        (result, log)
    }

    /// Compiles a script, to see whether it is one.
    ///
    /// # Errors
    /// When it is none.
    pub fn check(&self, source: &str, task: &Task<'_>) -> Result<(), Failure> {
        let shard = &self.shards[shard_of_thread() % self.shards.len()];
        self.realm(shard, task)?.compile(source, task).map(|_| ())
    }

    fn run(
        &self,
        shard: &Shard,
        source: &str,
        last: &mut LastScript,
        task: &Task<'_>,
        kept_scripts: usize,
        log: &mut String,
    ) -> Result<Output, Failure> {
        let mut realm = self.realm(shard, task)?;
        let code = match &last.0 {
            Some((known, code)) if **known == *source => {
                shard.cache_hits.fetch_add(1, Ordering::Relaxed);
                Ok(code.clone())
            }
            _ => self.code(shard, source, &mut realm, task, kept_scripts).inspect(|code| {
                last.0 = Some((source.into(), code.clone()));
            }),
        };
        let result = code.and_then(|code| realm.call(&code, task));
        *log = realm.take_log();
        let mut idle = shard.realms.lock();
        if idle.len() < IDLE_REALMS {
            idle.push(realm);
        }
        result
    }

    fn code(
        &self,
        shard: &Shard,
        source: &str,
        realm: &mut Realm,
        task: &Task<'_>,
        kept_scripts: usize,
    ) -> Result<Bytecode, Failure> {
        let key = key_of(source);
        if let Some(code) = self.scripts.get(&key) {
            shard.cache_hits.fetch_add(1, Ordering::Relaxed);
            return Ok(code);
        }
        let code = realm.compile(source, task)?;
        self.scripts.put(key, &code, kept_scripts);
        Ok(code)
    }

    /// A realm for the task. Scripts that have begun have the memory first: the call waits a while for what others give back.
    fn realm(&self, shard: &Shard, task: &Task<'_>) -> Result<Realm, Failure> {
        let heap = task.limits.heap;
        let begun = Instant::now();
        loop {
            if !self.total.is_exhausted() {
                let idle = shard.realms.lock().pop();
                match idle.filter(|realm| realm.heap_max() >= heap) {
                    Some(realm) => return Ok(realm),
                    None => match Realm::new(heap, self.total.clone()) {
                        // With no memory taken, waiting would give none.
                        Err(Failure::Total) if self.total.used() > 0 => {}
                        made => return made,
                    },
                }
            }
            if self.drop_idle_realms() {
                continue;
            }
            if task.kill.is_stopped() {
                return Err(Failure::Killed);
            }
            if begun.elapsed() >= MEMORY_WAIT {
                return Err(Failure::Total);
            }
            thread::sleep(MEMORY_POLL);
        }
    }

    /// Gives back the memory of realms that wait for a call. Tells whether there were any.
    fn drop_idle_realms(&self) -> bool {
        let taken = |shard: &Shard| std::mem::take(&mut *shard.realms.lock());
        self.shards.iter().map(taken).filter(|idle| !idle.is_empty()).count() > 0
    }
}

/// Threads come to shards one after the other.
fn shard_of_thread() -> usize {
    static NEXT: AtomicUsize = AtomicUsize::new(0);
    thread_local!(static OWN: usize = NEXT.fetch_add(1, Ordering::Relaxed));
    OWN.with(|own| *own)
}
