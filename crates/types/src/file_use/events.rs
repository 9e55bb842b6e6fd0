//! What each thread did with files last, one by one.
//!
//! A thread has a ring of its own, under a lock that nobody else takes but who reads; it goes with the thread.

use std::collections::VecDeque;
use std::path::Path;
use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Instant;

/// How many are kept of a thread.
const LAST_MAX: usize = 100;

/// What is done with a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileOperation {
    /// It is read.
    Read,
    /// It is written.
    Write,
    /// It is synced, or something else is done.
    Sync,
}

/// Something that was done with a file.
#[derive(Clone, Debug)]
pub struct FileEvent {
    /// Counts what the thread has done, from 1.
    pub number: u64,
    /// What the file is used for.
    pub event: &'static str,
    /// The file.
    pub path: Arc<Path>,
    /// What was done.
    pub operation: FileOperation,
    /// With how many bytes.
    pub bytes: u64,
    /// When it began.
    pub started: Instant,
    /// How long it took.
    pub nanos: u64,
    /// What it was kept for, in the words of [`keep_events`].
    pub kept: u8,
}

/// What a thread did last, the oldest first.
#[derive(Clone, Debug)]
pub struct ThreadFileEvents {
    /// The operating system's number of the thread; 0 where it does not tell.
    pub thread: u64,
    /// The last ones.
    pub events: Vec<FileEvent>,
}

#[derive(Default)]
struct Ring {
    count: u64,
    last: VecDeque<FileEvent>,
}

struct ThreadRing {
    thread: u64,
    ring: Mutex<Ring>,
}

/// Whoever wants to know, in bits whose meaning is the reader's; 0 if nobody does.
static KEPT: AtomicU8 = AtomicU8::new(u8::MAX);
static RINGS: Mutex<Vec<Weak<ThreadRing>>> = Mutex::new(Vec::new());

thread_local! {
    static OWN: Arc<ThreadRing> = ThreadRing::registered();
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The operating system's number of this thread, where it tells.
fn own_number() -> Option<u64> {
    std::fs::read_link("/proc/thread-self").ok()?.file_name()?.to_str()?.parse().ok()
}

impl ThreadRing {
    fn registered() -> Arc<ThreadRing> {
        let ring = Arc::new(ThreadRing { thread: own_number().unwrap_or(0), ring: Mutex::default() });
        let mut rings = lock(&RINGS);
        rings.retain(|other| other.strong_count() > 0);
        rings.push(Arc::downgrade(&ring));
        ring
    }
}

/// Keeps what is done with files from now on, with these bits; 0 keeps nothing more.
pub fn keep_events(bits: u8) {
    KEPT.store(bits, Ordering::Relaxed);
}

/// Something was done.
pub(super) fn note(
    event: &'static str,
    path: &Arc<Path>,
    operation: FileOperation,
    bytes: u64,
    started: Instant,
    nanos: u64,
) {
    let kept = KEPT.load(Ordering::Relaxed);
    if kept == 0 {
        return;
    }
    // A thread that is about to end has none any more.
    let _ = OWN.try_with(|own| {
        let mut ring = lock(&own.ring);
        ring.count += 1;
        let number = ring.count;
        if ring.last.len() >= LAST_MAX {
            ring.last.pop_front();
        }
        ring.last.push_back(FileEvent { number, event, path: path.clone(), operation, bytes, started, nanos, kept });
    });
}

fn rings() -> Vec<Arc<ThreadRing>> {
    lock(&RINGS).iter().filter_map(Weak::upgrade).collect()
}

/// What all threads did last.
pub fn events() -> Vec<ThreadFileEvents> {
    let of = |ring: &Arc<ThreadRing>| ThreadFileEvents {
        thread: ring.thread,
        events: lock(&ring.ring).last.iter().cloned().collect(),
    };
    rings().iter().map(of).filter(|thread| !thread.events.is_empty()).collect()
}

/// Forgets it.
pub fn clear_events() {
    rings().iter().for_each(|ring| lock(&ring.ring).last.clear());
}
