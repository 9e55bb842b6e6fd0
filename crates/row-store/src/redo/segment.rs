//! The files of the log.

use squall_accounting::file_use::{FileMeter, REDO_LOG};
use squall_types::durable_files::sync_folder;
use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The suffix of the files' names.
const EXTENSION: &str = "redo";

/// Bytes written at a time where zeros are.
const ZEROS_BYTES: usize = 1 << 20;

/// Bytes that are written at a time past the system's memory. All disks' blocks divide it.
pub(super) const BLOCK_BYTES: usize = 4096;

/// A file of the log. If there was time, all of it is filled before the first record, with zeros or with old content. Then a sync
/// writes only data, and nothing of the file system.
#[derive(Debug)]
pub(super) struct Segment {
    pub number: u64,
    pub file: Arc<LogFile>,
    /// The bytes that it can hold.
    pub bytes: u64,
}

/// A segment's file, opened twice.
#[derive(Debug)]
pub(super) struct LogFile {
    buffered: File,
    direct: Option<File>,
    meter: FileMeter,
}

impl LogFile {
    fn open(path: &Path, options: &mut OpenOptions) -> io::Result<LogFile> {
        let buffered = options.open(path)?;
        Ok(LogFile { buffered, direct: open_direct(path), meter: FileMeter::new(REDO_LOG, path) })
    }

    /// Counts what is done with it.
    pub fn meter(&self) -> &FileMeter {
        &self.meter
    }

    /// For writes to the system's memory.
    pub fn buffered(&self) -> &File {
        &self.buffered
    }

    /// For writes of whole blocks that go past the system's memory and are durable when they return, if the file system
    /// has such.
    pub fn direct(&self) -> Option<&File> {
        self.direct.as_ref()
    }
}

#[cfg(target_os = "linux")]
fn open_direct(path: &Path) -> Option<File> {
    use std::os::unix::fs::OpenOptionsExt;
    let flags = rustix::fs::OFlags::DIRECT | rustix::fs::OFlags::DSYNC;
    OpenOptions::new().write(true).custom_flags(flags.bits().cast_signed()).open(path).ok()
}

#[cfg(not(target_os = "linux"))]
fn open_direct(_path: &Path) -> Option<File> {
    None
}

impl Segment {
    /// Makes a file of zeros, all of it written.
    pub fn create(folder: &Path, number: u64, bytes: u64) -> io::Result<Segment> {
        Segment::make(folder, number, bytes, fill)
    }

    /// Makes a file that has its space on the disk and nothing written, for callers that cannot wait.
    pub fn create_now(folder: &Path, number: u64, bytes: u64) -> io::Result<Segment> {
        Segment::make(folder, number, bytes, reserve)
    }

    fn make(folder: &Path, number: u64, bytes: u64, prepare: fn(&File, u64) -> io::Result<()>) -> io::Result<Segment> {
        let path = path_of(folder, number);
        let bytes = bytes.next_multiple_of(BLOCK_BYTES as u64);
        let file = LogFile::open(&path, OpenOptions::new().write(true).create(true).truncate(true))?;
        let made = file.meter.other(|| prepare(&file.buffered, bytes).and_then(|()| file.buffered.sync_all()));
        let made = made.and_then(|()| sync_folder(folder));
        if let Err(error) = made {
            // A part of a file that no record was written to.
            let _ = std::fs::remove_file(&path);
            return Err(error);
        }
        Ok(Segment { number, file: Arc::new(file), bytes })
    }

    /// Gives a file that is not needed any more a new number and a new life.
    pub fn reuse(folder: &Path, old: u64, number: u64) -> io::Result<Segment> {
        let path = path_of(folder, number);
        std::fs::rename(path_of(folder, old), &path)?;
        sync_folder(folder)?;
        let file = LogFile::open(&path, OpenOptions::new().write(true))?;
        let bytes = file.buffered.metadata()?.len();
        Ok(Segment { number, file: Arc::new(file), bytes })
    }
}

fn fill(file: &File, bytes: u64) -> io::Result<()> {
    let zeros = vec![0; ZEROS_BYTES];
    let mut at = 0;
    while at < bytes {
        let length = (bytes - at).min(ZEROS_BYTES as u64);
        file.write_all_at(&zeros[..length as usize], at)?;
        at += length;
        // Not all at once at the end: commits sync meanwhile, and would wait for all of it.
        file.sync_data()?;
    }
    Ok(())
}

fn reserve(file: &File, bytes: u64) -> io::Result<()> {
    match rustix::fs::fallocate(file, rustix::fs::FallocateFlags::empty(), 0, bytes) {
        // Not every file system can.
        Err(rustix::io::Errno::OPNOTSUPP) => file.set_len(bytes),
        done => done.map_err(io::Error::from),
    }
}

/// Where the file with a number is.
pub(super) fn path_of(folder: &Path, number: u64) -> PathBuf {
    folder.join(format!("{number}.{EXTENSION}"))
}

/// The numbers of the files that are there, in order.
pub(super) fn numbers(folder: &Path) -> io::Result<Vec<u64>> {
    let mut numbers = Vec::new();
    for entry in std::fs::read_dir(folder)? {
        let path = entry?.path();
        if path.extension().is_some_and(|extension| extension == EXTENSION) {
            numbers.extend(path.file_stem().and_then(|stem| stem.to_str()?.parse::<u64>().ok()));
        }
    }
    numbers.sort_unstable();
    Ok(numbers)
}
