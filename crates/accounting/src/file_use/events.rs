//! The use of files by thread: sums, and the last events.
//!
//! A thread has its own sums and its own ring of events, under a lock that only readers share with it. When the thread ends, its sums
//! are added to those of ended threads. Work for a meter counts in [`work_meter`](crate::work_meter), not here.

use super::{FileTimes, IoTotals};
use crate::work_meter;
use std::collections::VecDeque;
use std::path::Path;
use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Instant;

/// How many are kept of a thread.
const LAST_MAX: usize = 100;

/// An operation on a file.
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
    /// The use of the file.
    pub event: &'static str,
    /// The file.
    pub path: Arc<Path>,
    /// The operation.
    pub operation: FileOperation,
    /// With how many bytes.
    pub bytes: u64,
    /// When it began.
    pub started: Instant,
    /// How long it took.
    pub nanos: u64,
    /// The purpose for which it was kept, in the words of [`keep_events`].
    pub kept: u8,
}

/// The operations of a thread for itself, not for a session.
#[derive(Clone, Debug)]
pub struct ThreadFileTimes {
    /// The operating system's number of the thread; 0 where it does not tell.
    pub thread: u64,
    /// Sums by what the files are used for.
    pub times: Vec<(&'static str, IoTotals)>,
}

/// The last operations of a thread, the oldest first.
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
    times: FileTimes,
}

impl Drop for ThreadRing {
    fn drop(&mut self) {
        GONE.merge(&self.times);
    }
}

/// Which readers want to know, in bits whose meaning is the reader's; 0 if none does.
static KEPT: AtomicU8 = AtomicU8::new(u8::MAX);
/// The operations of ended threads.
static GONE: FileTimes = FileTimes::new();
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
        let ring =
            Arc::new(ThreadRing { thread: own_number().unwrap_or(0), ring: Mutex::default(), times: FileTimes::new() });
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
    let is_of_meter = work_meter::count_file_use(event, bytes, nanos);
    if kept == 0 && is_of_meter {
        return;
    }
    // A thread that is about to end has none any more.
    let _ = OWN.try_with(|own| {
        if !is_of_meter {
            own.times.add(event, bytes, nanos);
        }
        if kept == 0 {
            return;
        }
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

/// The operations of each thread for itself.
pub fn thread_times() -> Vec<ThreadFileTimes> {
    let of = |ring: &Arc<ThreadRing>| ThreadFileTimes { thread: ring.thread, times: ring.times.list() };
    rings().iter().map(of).filter(|thread| !thread.times.is_empty()).collect()
}

/// The operations of all threads for themselves, ended ones included.
pub fn background_times() -> Vec<(&'static str, IoTotals)> {
    let sum = FileTimes::new();
    // A thread that ends meanwhile is still one of these, and not one of those yet.
    let rings = rings();
    rings.iter().for_each(|ring| sum.merge(&ring.times));
    sum.merge(&GONE);
    sum.list()
}

/// Forgets the sums of threads.
pub fn clear_thread_times() {
    rings().iter().for_each(|ring| ring.times.clear());
    GONE.clear();
}

/// The last operations of all threads.
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
