//! `log_write_mode = buffered`: entries that wait in memory, and the thread that writes many of them at once.

use crate::file::LogFile;
use crossbeam_utils::CachePadded;
use parking_lot::Mutex;
use squall_accounting::threads::thread_number;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

/// How long an entry waits at most, if its buffer does not fill up before.
const WAIT_MAX: Duration = Duration::from_millis(20);
/// Bytes from which a buffer is written by the session that fills it.
const PART_BYTES_MAX: usize = 256 << 10;

/// Whole entries, one after the other.
#[derive(Debug, Default)]
pub(crate) struct Part {
    pub bytes: Vec<u8>,
    pub entries: u64,
}

/// Entries of a log that wait: a buffer for each core, so that sessions of different cores do not meet.
#[derive(Debug)]
pub(crate) struct Buffers(Box<[CachePadded<Mutex<Part>>]>);

impl Buffers {
    pub fn new() -> Buffers {
        let parts = std::thread::available_parallelism().map_or(1, usize::from);
        Buffers((0..parts).map(|_| CachePadded::default()).collect())
    }

    /// Adds an entry; `write` gets the buffer if it is full.
    pub fn push(&self, entry: &[u8], write: impl FnOnce(&Part)) {
        let mut part = self.0[thread_number() % self.0.len()].lock();
        part.bytes.extend_from_slice(entry);
        part.entries += 1;
        if part.bytes.len() >= PART_BYTES_MAX {
            empty(&mut part, write);
        }
    }

    /// Gives every buffer that is not empty to `write`.
    pub fn drain(&self, write: impl Fn(&Part)) {
        for part in &self.0 {
            let mut part = part.lock();
            if part.entries > 0 {
                empty(&mut part, &write);
            }
        }
    }
}

fn empty(part: &mut Part, write: impl FnOnce(&Part)) {
    write(part);
    part.entries = 0;
    part.bytes.clear();
    part.bytes.shrink_to(2 * PART_BYTES_MAX);
}

/// A thread that writes what waits; when dropped, all of it is written.
#[derive(Debug)]
pub(crate) struct Drainer {
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Drainer {
    pub fn start(files: Vec<Arc<LogFile>>) -> std::io::Result<Drainer> {
        let stop = Arc::new(AtomicBool::new(false));
        let stopped = stop.clone();
        let run = move || {
            loop {
                std::thread::park_timeout(WAIT_MAX);
                let last = stopped.load(Ordering::Acquire);
                files.iter().for_each(|file| file.drain());
                if last {
                    return;
                }
            }
        };
        let thread = std::thread::Builder::new().name("log-writer".to_string()).spawn(run)?;
        Ok(Drainer { stop, thread: Some(thread) })
    }
}

impl Drop for Drainer {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Release);
        if let Some(thread) = self.thread.take() {
            thread.thread().unpark();
            // It ends by itself; that it panicked would have been said.
            let _ = thread.join();
        }
    }
}
