//! The files of the log.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// What the files' names end with.
const EXTENSION: &str = "redo";

/// Bytes written at a time where zeros are.
const ZEROS_BYTES: usize = 1 << 20;

/// A file of the log. If there was time, all of it is written before the first record comes, with zeros or with what it had
/// in an earlier life: then a sync is of data alone, and the file system has nothing of its own to write for it.
#[derive(Debug)]
pub(super) struct Segment {
    pub number: u64,
    pub file: Arc<File>,
    /// Bytes that it has room for.
    pub bytes: u64,
}

impl Segment {
    /// Makes a file of zeros, all of it written.
    pub fn create(folder: &Path, number: u64, bytes: u64) -> io::Result<Segment> {
        Segment::make(folder, number, bytes, fill)
    }

    /// Makes a file that has its room on the disk and nothing written, for who cannot wait.
    pub fn create_now(folder: &Path, number: u64, bytes: u64) -> io::Result<Segment> {
        Segment::make(folder, number, bytes, reserve)
    }

    fn make(folder: &Path, number: u64, bytes: u64, prepare: fn(&File, u64) -> io::Result<()>) -> io::Result<Segment> {
        let path = path_of(folder, number);
        let file = OpenOptions::new().write(true).create(true).truncate(true).open(&path)?;
        let made = prepare(&file, bytes).and_then(|()| file.sync_all()).and_then(|()| sync_folder(folder));
        if let Err(error) = made {
            // A part of a file that nobody has written a record to.
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
        let file = OpenOptions::new().write(true).open(&path)?;
        let bytes = file.metadata()?.len();
        Ok(Segment { number, file: Arc::new(file), bytes })
    }

    /// Makes it one without records.
    pub fn clear(&self) -> io::Result<()> {
        self.file.write_all_at(&[0; super::record::HEADER_BYTES], 0)?;
        self.file.sync_data()
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

/// Makes the names in a folder durable.
pub(super) fn sync_folder(folder: &Path) -> io::Result<()> {
    File::open(folder)?.sync_all()
}
