//! Copies bytes of files, and says what they were.

use crate::Watch;
use crate::error::{Error, Result};
use std::fs::File;
use std::io::{ErrorKind, Read, Write};
use std::path::Path;
use xxhash_rust::xxh3::Xxh3Default;

/// Bytes that are read and written at a time.
const PIECE_BYTES: usize = 1 << 20;
/// Bytes that are written before they are made durable, so that the end does not wait for all of them, nor others for that.
const SYNCED_BYTES: u64 = 8 << 20;

/// Copies so many bytes; their hash. A file that is written is made durable.
///
/// # Errors
/// [`Error::Damaged`] if the source is shorter.
pub(crate) fn copy(
    (source, from): (&mut dyn Read, &Path),
    mut target: Option<(&mut File, &Path)>,
    bytes: u64,
    watch: &dyn Watch,
) -> Result<u128> {
    let mut hasher = Xxh3Default::new();
    let mut piece = vec![0; PIECE_BYTES.min(bytes as usize)];
    let (mut left, mut unsynced) = (bytes, 0);
    while left > 0 {
        if !watch.goes_on() {
            return Err(Error::Interrupted);
        }
        let wanted = piece.len().min(usize::try_from(left).unwrap_or(usize::MAX));
        let read = match source.read(&mut piece[..wanted]) {
            // A signal, not KILL.
            Err(error) if error.kind() == ErrorKind::Interrupted => continue,
            read => read.map_err(Error::io(from))?,
        };
        if read == 0 {
            return Err(Error::Damaged(from.to_path_buf(), "the file is shorter than it was"));
        }
        hasher.update(&piece[..read]);
        if let Some((file, path)) = &mut target {
            file.write_all(&piece[..read]).map_err(Error::io(path))?;
            unsynced += read as u64;
            if unsynced >= SYNCED_BYTES {
                file.sync_data().map_err(Error::io(path))?;
                unsynced = 0;
            }
        }
        left -= read as u64;
        watch.add(read as u64);
    }
    Ok(hasher.digest128())
}

/// Has the system forget what it has in memory of a file that was written for later: others need the memory.
pub(crate) fn forget(file: &File) {
    // Without it there is only less room for others.
    let _ = rustix::fs::fadvise(file, 0, None, rustix::fs::Advice::DontNeed);
}
