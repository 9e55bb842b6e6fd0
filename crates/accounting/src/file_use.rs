//! The use of files: counts, bytes and times of reads and writes.
//!
//! The use of a file has a name as in MySQL (`wait/io/file/…`). Each file of the process has counters, which all threads share: threads
//! that use one file many thousands of times a second wait for the system, not for these counters. [`events`] has the sums by thread
//! and by session, and the last events of a thread.

mod events;

pub use events::{
    FileEvent, FileOperation, ThreadFileEvents, ThreadFileTimes, background_times, clear_events, clear_thread_times,
    events, keep_events, thread_times,
};

pub use crate::file_times::{FileTimes, IoTotals};

use events::note;
use std::collections::BTreeMap;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

/// The redo log.
pub const REDO_LOG: &str = "wait/io/file/innodb/innodb_log_file";
/// Segments of column tables.
pub const COLUMN_SEGMENT: &str = "wait/io/file/squall/column_segment";
/// Histories of performance_schema.
pub const HISTORY_SLICE: &str = "wait/io/file/squall/history_slice";
/// The general, slow, query and audit log.
pub const STATEMENT_LOG: &str = "wait/io/file/sql/query_log";

/// All names.
pub const EVENTS: &[&str] = &[REDO_LOG, STATEMENT_LOG, COLUMN_SEGMENT, HISTORY_SLICE];

/// Files that are not open any more whose sums are kept by themselves.
const CLOSED_MAX: usize = 4096;

/// The counts of a file, or of all files of a kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FileTotals {
    /// Reads.
    pub read: IoTotals,
    /// Writes.
    pub written: IoTotals,
    /// Syncs and whatever else.
    pub other: IoTotals,
    /// Those of the writes that were durable when they returned.
    pub durable_writes: u64,
}

impl FileTotals {
    /// Adds others.
    pub fn merge(&mut self, other: &FileTotals) {
        self.read.merge(&other.read);
        self.written.merge(&other.written);
        self.other.merge(&other.other);
        self.durable_writes += other.durable_writes;
    }

    /// Syncs, and writes that are one as well.
    pub fn syncs(&self) -> u64 {
        self.other.count + self.durable_writes
    }

    /// Everything together.
    pub fn all(&self) -> IoTotals {
        let mut sum = self.read;
        sum.merge(&self.written);
        sum.merge(&self.other);
        sum
    }
}

/// Counters that several threads may add to.
#[derive(Debug, Default)]
struct IoCounter {
    count: AtomicU64,
    bytes: AtomicU64,
    sum_nanos: AtomicU64,
    min_nanos: AtomicU64,
    max_nanos: AtomicU64,
}

impl IoCounter {
    /// The work's result, and how long it took.
    fn measure<T>(&self, bytes: usize, work: impl FnOnce() -> T) -> (T, Instant, u64) {
        let started = Instant::now();
        let result = work();
        let nanos = u64::try_from(started.elapsed().as_nanos()).unwrap_or(u64::MAX - 1);
        if self.count.fetch_add(1, Ordering::Relaxed) == 0 {
            self.min_nanos.store(nanos, Ordering::Relaxed);
        } else {
            self.min_nanos.fetch_min(nanos, Ordering::Relaxed);
        }
        self.bytes.fetch_add(bytes as u64, Ordering::Relaxed);
        self.sum_nanos.fetch_add(nanos, Ordering::Relaxed);
        self.max_nanos.fetch_max(nanos, Ordering::Relaxed);
        (result, started, nanos)
    }

    fn totals(&self) -> IoTotals {
        let load = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        IoTotals {
            count: load(&self.count),
            bytes: load(&self.bytes),
            sum_nanos: load(&self.sum_nanos),
            min_nanos: load(&self.min_nanos),
            max_nanos: load(&self.max_nanos),
        }
    }

    fn clear(&self) {
        for counter in [&self.count, &self.bytes, &self.sum_nanos, &self.min_nanos, &self.max_nanos] {
            counter.store(0, Ordering::Relaxed);
        }
    }
}

#[derive(Debug)]
struct Counters {
    event: &'static str,
    path: Arc<Path>,
    read: IoCounter,
    written: IoCounter,
    other: IoCounter,
    durable_writes: AtomicU64,
    /// How often it is open.
    open: AtomicU64,
}

impl Counters {
    fn totals(&self) -> FileTotals {
        FileTotals {
            read: self.read.totals(),
            written: self.written.totals(),
            other: self.other.totals(),
            durable_writes: self.durable_writes.load(Ordering::Relaxed),
        }
    }
}

/// All files that are or were open, and the sums of removed files.
#[derive(Default)]
struct Files {
    by_path: BTreeMap<PathBuf, Arc<Counters>>,
    gone: BTreeMap<&'static str, FileTotals>,
}

impl Files {
    fn forget(&mut self, counters: &Counters) {
        self.gone.entry(counters.event).or_default().merge(&counters.totals());
    }

    /// Forgets files that are closed and not there any more.
    fn prune(&mut self) {
        let gone: Vec<PathBuf> = self
            .by_path
            .iter()
            .filter(|(path, counters)| counters.open.load(Ordering::Relaxed) == 0 && !path.exists())
            .map(|(path, _)| path.clone())
            .collect();
        for path in gone {
            if let Some(counters) = self.by_path.remove(&path) {
                self.forget(&counters);
            }
        }
    }
}

static FILES: Mutex<Files> = Mutex::new(Files { by_path: BTreeMap::new(), gone: BTreeMap::new() });

fn files() -> MutexGuard<'static, Files> {
    FILES.lock().unwrap_or_else(PoisonError::into_inner)
}

/// One file's sums.
#[derive(Clone, Debug)]
pub struct FileSums {
    /// Where it is.
    pub path: PathBuf,
    /// Its use.
    pub event: &'static str,
    /// How often it is open.
    pub open: u64,
    /// Its counts.
    pub totals: FileTotals,
}

/// All files in a directory that are there, in the order of their paths.
pub fn of_files(directory: &Path) -> Vec<FileSums> {
    let mut files = files();
    files.prune();
    let inside = files.by_path.iter().filter(|(path, _)| path.starts_with(directory));
    let sums = inside.map(|(path, counters)| FileSums {
        path: path.clone(),
        event: counters.event,
        open: counters.open.load(Ordering::Relaxed),
        totals: counters.totals(),
    });
    sums.collect()
}

/// Sums by the use of files, including removed files.
pub fn by_event() -> BTreeMap<&'static str, FileTotals> {
    let files = files();
    let mut sums = files.gone.clone();
    for counters in files.by_path.values() {
        sums.entry(counters.event).or_default().merge(&counters.totals());
    }
    sums
}

/// Forgets what was done with files.
pub fn clear() {
    let mut files = files();
    files.gone.clear();
    for counters in files.by_path.values() {
        [&counters.read, &counters.written, &counters.other].into_iter().for_each(IoCounter::clear);
        counters.durable_writes.store(0, Ordering::Relaxed);
    }
}

/// Counts what is done with a file for as long as it is open.
#[derive(Debug)]
pub struct FileMeter(Arc<Counters>);

impl FileMeter {
    /// Of a file that has been opened.
    pub fn new(event: &'static str, path: &Path) -> FileMeter {
        let path = std::path::absolute(path).unwrap_or_else(|_| path.to_path_buf());
        let shared_path = Arc::from(&*path);
        let mut files = files();
        let known = files.by_path.entry(path).or_insert_with(|| {
            Arc::new(Counters {
                event,
                path: shared_path,
                read: IoCounter::default(),
                written: IoCounter::default(),
                other: IoCounter::default(),
                durable_writes: AtomicU64::new(0),
                open: AtomicU64::new(0),
            })
        });
        known.open.fetch_add(1, Ordering::Relaxed);
        let meter = FileMeter(known.clone());
        if files.by_path.len() > CLOSED_MAX {
            files.prune();
        }
        meter
    }

    /// Reads this many bytes.
    pub fn read<T>(&self, bytes: usize, work: impl FnOnce() -> T) -> T {
        self.measure(FileOperation::Read, bytes, work)
    }

    /// Writes this many bytes.
    pub fn write<T>(&self, bytes: usize, work: impl FnOnce() -> T) -> T {
        self.measure(FileOperation::Write, bytes, work)
    }

    /// Writes so many bytes, which are durable when `work` returns.
    pub fn write_durably<T>(&self, bytes: usize, work: impl FnOnce() -> T) -> T {
        self.0.durable_writes.fetch_add(1, Ordering::Relaxed);
        self.write(bytes, work)
    }

    /// Does something else, such as a sync.
    pub fn other<T>(&self, work: impl FnOnce() -> T) -> T {
        self.measure(FileOperation::Sync, 0, work)
    }

    fn measure<T>(&self, operation: FileOperation, bytes: usize, work: impl FnOnce() -> T) -> T {
        let counters = &*self.0;
        let counter = match operation {
            FileOperation::Read => &counters.read,
            FileOperation::Write => &counters.written,
            FileOperation::Sync => &counters.other,
        };
        let (result, started, nanos) = counter.measure(bytes, work);
        note(counters.event, &counters.path, operation, bytes as u64, started, nanos);
        result
    }
}

impl Drop for FileMeter {
    fn drop(&mut self) {
        self.0.open.fetch_sub(1, Ordering::Relaxed);
    }
}

/// A file whose reads and writes are counted.
#[derive(Debug)]
pub struct MeteredFile {
    file: File,
    meter: FileMeter,
}

impl MeteredFile {
    /// A file that has been opened at a path.
    pub fn new(file: File, event: &'static str, path: &Path) -> MeteredFile {
        MeteredFile { file, meter: FileMeter::new(event, path) }
    }

    /// The file itself, for what is not counted.
    pub fn file(&self) -> &File {
        &self.file
    }

    /// Its counters.
    pub fn meter(&self) -> &FileMeter {
        &self.meter
    }

    /// As [`FileExt::read_exact_at`].
    ///
    /// # Errors
    /// The system's, or that there are not so many bytes.
    pub fn read_exact_at(&self, bytes: &mut [u8], offset: u64) -> io::Result<()> {
        self.meter.read(bytes.len(), || self.file.read_exact_at(bytes, offset))
    }

    /// As [`FileExt::write_all_at`].
    ///
    /// # Errors
    /// The system's.
    pub fn write_all_at(&self, bytes: &[u8], offset: u64) -> io::Result<()> {
        self.meter.write(bytes.len(), || self.file.write_all_at(bytes, offset))
    }

    /// As [`File::sync_data`].
    ///
    /// # Errors
    /// The system's.
    pub fn sync_data(&self) -> io::Result<()> {
        self.meter.other(|| self.file.sync_data())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_counted_until_they_are_gone() {
        const EVENT: &str = "wait/io/file/test/file";
        let folder = std::env::temp_dir().join(format!("squall-file-use-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let path = folder.join("a");
        let open = || File::options().read(true).write(true).create(true).truncate(false).open(&path).unwrap();
        let file = MeteredFile::new(open(), EVENT, &path);
        file.write_all_at(b"twelve bytes", 0).unwrap();
        let mut bytes = [0; 6];
        file.read_exact_at(&mut bytes, 0).unwrap();
        file.read_exact_at(&mut bytes, 7).unwrap_err();
        file.sync_data().unwrap();
        let found = of_files(&folder);
        let [sums] = &found[..] else { panic!("{found:?}") };
        assert_eq!((sums.event, sums.open, &*sums.path), (EVENT, 1, &*path));
        assert_eq!((sums.totals.written.bytes, sums.totals.read.count, sums.totals.other.count), (12, 2, 1));
        assert!(sums.totals.all().min_nanos <= sums.totals.all().max_nanos);
        let mut own = events().into_iter().flat_map(|thread| thread.events).filter(|event| *event.path == *path);
        let own: Vec<_> = own.by_ref().map(|event| (event.operation, event.bytes)).collect();
        let read = |bytes| (FileOperation::Read, bytes);
        assert_eq!(own, [(FileOperation::Write, 12), read(6), read(6), (FileOperation::Sync, 0)]);
        drop(file);
        assert_eq!(of_files(&folder)[0].open, 0);
        std::fs::remove_file(&path).unwrap();
        assert!(of_files(&folder).is_empty());
        assert_eq!(by_event()[EVENT].written.bytes, 12);
        std::fs::remove_dir(&folder).unwrap();
    }
}
