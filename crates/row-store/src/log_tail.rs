//! The engine's log before the engine opens it, and after it has closed it: a torn end is cut off, a log whose sync has
//! failed is written anew, and one whose contents are all in files is emptied.
//!
//! After a power cut, what was written behind the last sync may be there in part: the engine copes with a log that just
//! ends, and gives up on one with a damaged batch. Nothing behind the first damaged batch can have been acknowledged as
//! durable unless the disk lost synced data, so the log ends there, as it does for other databases.
//!
//! ```text
//! batch: 01 items u32 sequence u64 | item* | 03 checksum u64 magic         (little-endian)
//! item:  02 type u8 compression u8 keyspace u64 key-length u16 value-length u32 stored-length u32 key value
//!        04 keyspace u64
//! ```

use crate::error::io_error;
use squall_types::SqlResult;
use std::fs::{File, OpenOptions};
use std::io::{BufReader, ErrorKind, Read};
use std::path::{Path, PathBuf};
use xxhash_rust::xxh3::Xxh3;

const START: u8 = 1;
const ITEM: u8 = 2;
const END: u8 = 3;
const CLEAR: u8 = 4;
const MAGIC: &[u8; 4] = b"FJL\x03";

/// Cuts the newest log file in the engine's folder after its last whole batch, if it does not end there.
pub(crate) fn cut_torn_end(folder: &Path) -> SqlResult<()> {
    let cut = || -> std::io::Result<()> {
        let Some(path) = newest_log(folder)? else { return Ok(()) };
        let file = File::open(&path)?;
        let len = file.metadata()?.len();
        let mut scanner = Scanner { file: BufReader::with_capacity(1 << 20, file), at: 0, len, buffer: Vec::new() };
        let mut valid = 0;
        while scanner.batch()? {
            valid = scanner.at;
        }
        if valid < len {
            let file = OpenOptions::new().write(true).open(&path)?;
            file.set_len(valid)?;
            file.sync_all()?;
        }
        Ok(())
    };
    cut().map_err(|error| io_error(&error))
}

/// Empties the newest log file. The caller has made sure that files have everything that is in it, and that nothing is
/// written to it any more.
pub(crate) fn empty_log(folder: &Path) -> SqlResult<()> {
    let empty = || -> std::io::Result<()> {
        let Some(path) = newest_log(folder)? else { return Ok(()) };
        let file = OpenOptions::new().write(true).open(path)?;
        file.set_len(0)?;
        file.sync_all()
    };
    empty().map_err(|error| io_error(&error))
}

/// Writes the newest log file anew, as a copy that takes its place.
///
/// After a failed sync the system's memory may hold, as if it were on the disk, what is not: another sync would do nothing.
/// A new file has to be written.
pub(crate) fn write_anew(folder: &Path) -> SqlResult<()> {
    let write = || -> std::io::Result<()> {
        let Some(path) = newest_log(folder)? else { return Ok(()) };
        // Not a name that the engine takes for a log.
        let copy = path.with_extension("copy");
        std::fs::copy(&path, &copy)?;
        File::open(&copy)?.sync_all()?;
        std::fs::rename(&copy, &path)?;
        File::open(folder)?.sync_all()
    };
    write().map_err(|error| io_error(&error))
}

fn newest_log(folder: &Path) -> std::io::Result<Option<PathBuf>> {
    let mut newest: Option<(u64, PathBuf)> = None;
    for entry in std::fs::read_dir(folder)? {
        let path = entry?.path();
        let number = path
            .file_name()
            .and_then(|name| name.to_str()?.strip_suffix(".jnl")?.parse().ok())
            .filter(|number| newest.as_ref().is_none_or(|(newest, _)| newest < number));
        if let Some(number) = number {
            newest = Some((number, path));
        }
    }
    Ok(newest.map(|(_, path)| path))
}

struct Scanner {
    file: BufReader<File>,
    at: u64,
    len: u64,
    buffer: Vec<u8>,
}

impl Scanner {
    /// Reads `len` bytes behind those in the buffer; `false` if the file ends before.
    fn read(&mut self, len: usize) -> std::io::Result<bool> {
        if len as u64 > self.len - self.at {
            return Ok(false);
        }
        let filled = self.buffer.len();
        self.buffer.resize(filled + len, 0);
        match self.file.read_exact(&mut self.buffer[filled..]) {
            Ok(()) => {
                self.at += len as u64;
                Ok(true)
            }
            Err(error) if error.kind() == ErrorKind::UnexpectedEof => Ok(false),
            Err(error) => Err(error),
        }
    }

    fn number<const N: usize>(&self, at: usize) -> u64 {
        let mut bytes = [0; 8];
        bytes[..N].copy_from_slice(&self.buffer[at..at + N]);
        u64::from_le_bytes(bytes)
    }

    /// Reads a batch; `false` if there is no whole and undamaged one.
    fn batch(&mut self) -> std::io::Result<bool> {
        self.buffer.clear();
        if !self.read(13)? || self.buffer[0] != START {
            return Ok(false);
        }
        let items = self.number::<4>(1);
        let mut sum = Xxh3::new();
        for _ in 0..items {
            self.buffer.clear();
            if !self.read(1)? {
                return Ok(false);
            }
            let whole = match self.buffer[0] {
                ITEM => {
                    if !self.read(20)? {
                        return Ok(false);
                    }
                    let (key, stored) = (self.number::<2>(11), self.number::<4>(17));
                    self.read(key as usize + stored as usize)?
                }
                CLEAR => self.read(8)?,
                _ => false,
            };
            if !whole {
                return Ok(false);
            }
            sum.update(&self.buffer);
        }
        self.buffer.clear();
        Ok(self.read(9 + MAGIC.len())?
            && self.buffer[0] == END
            && self.number::<8>(1) == sum.digest()
            && self.buffer[9..] == MAGIC[..])
    }
}
