//! A file that many threads append to.

pub(crate) mod buffer;

use crate::file::buffer::{Buffers, Part};
use arc_swap::{ArcSwap, ArcSwapOption};
use parking_lot::Mutex;
use rustix::fs::OFlags;
use squall_accounting::file_use::{FileMeter, STATEMENT_LOG};
use std::fs::{File, OpenOptions};
use std::io::{ErrorKind, Write as _};
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// How often the writers look after their file, microseconds.
const LOOK_MICROS: i64 = 1_000_000;
/// How long a writer may be in the middle of a `write` to a file that has been replaced before it is not waited for any more.
const LAST_WRITE_TIME_MAX: Duration = Duration::from_secs(1);

/// When a file is rotated.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Rotation {
    /// From this many bytes on; 0 is never.
    pub bytes: u64,
    /// From this age on; 0 is never.
    pub seconds: u64,
}

/// A log's file. Entries are appended whole and never wait for each other.
#[derive(Debug)]
pub struct LogFile {
    /// `None` while nothing can be opened, or nothing is to be.
    open: ArcSwapOption<Open>,
    target: ArcSwap<Target>,
    /// Every entry is on the disk before its statement goes on.
    sync: AtomicBool,
    /// Entries wait in `buffers` for [`LogFile::drain`].
    buffered: AtomicBool,
    buffers: Buffers,
    /// A part of an entry was written, so that the next one has to begin a line.
    torn: AtomicBool,
    /// When the file has to be checked next, microseconds since 1970.
    next_look: AtomicI64,
    /// Entries that were not written, of all logs.
    lost: Arc<AtomicU64>,
    /// Held while a file is opened.
    change: Mutex<()>,
}

#[derive(Debug)]
struct Open {
    file: File,
    meter: FileMeter,
    since: Instant,
}

#[derive(Clone, Debug, Default)]
struct Target {
    /// `None`: the log is off.
    path: Option<PathBuf>,
    /// The lines at the beginning of a file, written each time it is opened.
    header: Vec<u8>,
    rotation: Rotation,
}

impl LogFile {
    /// A file that is closed. What cannot be written is counted in `lost`.
    pub fn new(lost: Arc<AtomicU64>) -> LogFile {
        LogFile {
            open: ArcSwapOption::empty(),
            target: ArcSwap::default(),
            sync: AtomicBool::new(false),
            buffered: AtomicBool::new(false),
            buffers: Buffers::new(),
            torn: AtomicBool::new(false),
            next_look: AtomicI64::new(0),
            lost,
            change: Mutex::new(()),
        }
    }

    /// Opens a file to append to, readable by its owner only if it is made. Never waits for a reader of a pipe.
    pub fn open_to_append(path: &Path) -> std::io::Result<File> {
        OpenOptions::new()
            .append(true)
            .create(true)
            .mode(0o600)
            .custom_flags((OFlags::NONBLOCK | OFlags::NOCTTY).bits() as i32)
            .open(path)
    }

    /// Sets path, header, rotation and syncing; `None` closes the file. A file that is open under that path stays open.
    ///
    /// # Errors
    /// When the file cannot be opened. The path holds all the same, and is tried again once a second by the writers.
    pub fn set(&self, path: Option<&Path>, header: &[u8], rotation: Rotation, sync: bool) -> std::io::Result<()> {
        let _changing = self.change.lock();
        let before = self.target.load_full();
        let target = Target { path: path.map(Path::to_path_buf), header: header.to_vec(), rotation };
        self.sync.store(sync, Ordering::Relaxed);
        let same = before.path == target.path && before.header == target.header && self.open.load().is_some();
        self.target.store(Arc::new(target));
        match path {
            Some(_) if same => Ok(()),
            Some(_) => self.open_anew(),
            None => {
                self.replace(None);
                Ok(())
            }
        }
    }

    /// Opens the file again by its name: after it was renamed, what is written from now on is in a new one. When this
    /// returns, no thread writes to the old one any more.
    ///
    /// # Errors
    /// When the file cannot be opened. The log goes on in the one that was open.
    pub fn reopen(&self) -> std::io::Result<()> {
        let _changing = self.change.lock();
        if self.target.load().path.is_none() {
            return Ok(());
        }
        self.open_anew()
    }

    /// Appends an entry, which has to end its last line. `false`: it was not written, or not as a whole, and counted as
    /// lost.
    pub fn append(&self, entry: &[u8], now_micros: i64) -> bool {
        if now_micros >= self.next_look.load(Ordering::Relaxed) {
            self.look(now_micros);
        }
        if self.buffered.load(Ordering::Relaxed) {
            self.buffers.push(entry, |part| self.write_part(part));
            return true;
        }
        let open = self.open.load();
        let written = open.as_deref().is_some_and(|open| self.write(open, entry));
        if !written {
            self.lost.fetch_add(1, Ordering::Relaxed);
        }
        written
    }

    /// Whether entries wait in memory until a thread drains them, or are written at once.
    pub fn set_buffered(&self, buffered: bool) {
        self.buffered.store(buffered, Ordering::Relaxed);
    }

    /// Writes what waits in memory.
    pub fn drain(&self) {
        self.buffers.drain(|part| self.write_part(part));
    }

    /// A disk that fills up within these entries counts all of them as lost.
    fn write_part(&self, part: &Part) {
        let open = self.open.load();
        if !open.as_deref().is_some_and(|open| self.write(open, &part.bytes)) {
            self.lost.fetch_add(part.entries, Ordering::Relaxed);
        }
    }

    fn write(&self, open: &Open, entry: &[u8]) -> bool {
        let mut file = &open.file;
        let begins_line = self.torn.load(Ordering::Relaxed) && self.torn.swap(false, Ordering::Relaxed);
        let with_line_end;
        let bytes = if begins_line {
            with_line_end = [b"\n", entry].concat();
            &with_line_end
        } else {
            entry
        };
        loop {
            match open.meter.write(bytes.len(), || file.write(bytes)) {
                Ok(length) if length == bytes.len() => break,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                result => {
                    if begins_line || result.is_ok_and(|length| length > 0) {
                        self.torn.store(true, Ordering::Relaxed);
                    }
                    return false;
                }
            }
        }
        !self.sync.load(Ordering::Relaxed) || open.meter.other(|| file.sync_data()).is_ok()
    }

    /// Once a second, the first writer looks whether the file is still there and whether it is time for another.
    fn look(&self, now_micros: i64) {
        let due = self.next_look.load(Ordering::Relaxed);
        let next = now_micros.saturating_add(LOOK_MICROS);
        if now_micros < due || self.next_look.compare_exchange(due, next, Ordering::Relaxed, Ordering::Relaxed).is_err()
        {
            return;
        }
        // A thread that is exchanging the file now looks at it anyway.
        let Some(_changing) = self.change.try_lock() else { return };
        let target = self.target.load();
        let Some(path) = &target.path else { return };
        let Some(open) = self.open.load_full() else {
            // It stays closed until it can be opened; each entry meanwhile is counted.
            let _ = self.open_anew();
            return;
        };
        let Ok(facts) = open.file.metadata() else { return };
        if facts.nlink() == 0 {
            // What went into a file without a name is gone. How many entries that were is not known.
            self.lost.fetch_add(1, Ordering::Relaxed);
            drop(open);
            if self.open_anew().is_err() {
                self.replace(None);
            }
            return;
        }
        let Rotation { bytes, seconds } = target.rotation;
        let too_large = bytes > 0 && facts.len() >= bytes;
        let too_old = seconds > 0 && open.since.elapsed().as_secs() >= seconds;
        drop(open);
        if facts.is_file() && (too_large || too_old) && put_aside(path, now_micros).is_ok() {
            // If no new one can be opened, the log goes on in the renamed one.
            let _ = self.open_anew();
        }
    }

    /// The caller holds `change`.
    fn open_anew(&self) -> std::io::Result<()> {
        let target = self.target.load();
        let Some(path) = &target.path else { return Ok(()) };
        let mut file = LogFile::open_to_append(path)?;
        if !target.header.is_empty() {
            // A full disk loses the header as it loses entries.
            let _ = file.write(&target.header);
        }
        let meter = FileMeter::new(STATEMENT_LOG, path);
        self.replace(Some(Arc::new(Open { file, meter, since: Instant::now() })));
        Ok(())
    }

    fn replace(&self, open: Option<Arc<Open>>) {
        self.drain();
        self.torn.store(false, Ordering::Relaxed);
        let Some(old) = self.open.swap(open) else { return };
        let started = Instant::now();
        while Arc::strong_count(&old) > 1 && started.elapsed() < LAST_WRITE_TIME_MAX {
            std::thread::yield_now();
        }
    }
}

/// Gives a file a name with the time in it, one that is not taken.
fn put_aside(path: &Path, now_micros: i64) -> std::io::Result<()> {
    let moment = crate::timestamp::compact(now_micros);
    for number in 0..100 {
        let mut name = path.as_os_str().to_os_string();
        name.push(format!(".{moment}"));
        if number > 0 {
            name.push(format!("-{number}"));
        }
        if !Path::new(&name).try_exists()? {
            return std::fs::rename(path, name);
        }
    }
    Err(ErrorKind::AlreadyExists.into())
}
