//! The gate for changes: they go on while there is space for them and no write has failed.
//!
//! The engine stops at its first failed write, so a full disk must be noticed before a write fails. So a part of the free space is
//! reserved for the engine's next writes: buffers that become files, and the largest possible merge of files. See
//! `docs/decisions/0004-full-disk.md`.

use crate::engine::Error;
use crate::error::{engine_error, io_error_text};
use squall_types::{ErrorCode, SqlError, SqlResult};
use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

/// The number of "No space left on device", which MySQL prints beside the text.
const NO_SPACE: i32 = 28;

/// A change is written to the log and once more to a table's file.
const TIMES_WRITTEN: i64 = 2;

/// Space beyond the engine's for changes that free space: deletes, and small records.
const ROOM_FOR_REMOVAL: i64 = 8 << 20;

/// The free space beyond the engine's known needs, in bytes.
const MARGIN: i64 = 4 << 20;

/// The least space for a definition: a DROP writes a few hundred bytes before it frees files.
const DEFINITION_BYTES: i64 = 1 << 20;

/// Whether changes may go on.
pub(crate) struct WriteGate {
    directory: PathBuf,
    /// The same, open: to look does not walk its path then. `None` where it cannot be opened.
    opened: Option<File>,
    /// Free bytes of the file system, as of the last look.
    free: AtomicI64,
    /// Bytes that the engine may still need for buffers that become files.
    buffers: AtomicU64,
    /// Bytes that its largest merge of files may need.
    merge: AtomicU64,
    /// Why the engine has stopped writing.
    stopped: OnceLock<String>,
}

impl WriteGate {
    pub fn new(directory: &Path) -> WriteGate {
        let gate = WriteGate {
            directory: directory.to_path_buf(),
            opened: File::open(directory).ok(),
            free: AtomicI64::new(0),
            buffers: AtomicU64::new(0),
            merge: AtomicU64::new(0),
            stopped: OnceLock::new(),
        };
        gate.look();
        gate
    }

    /// Sets the space that the engine still needs: bytes of buffers that become files, and of the largest merge of files.
    pub fn reserve(&self, buffers: u64, merge: u64) {
        self.buffers.store(buffers, Ordering::Relaxed);
        self.merge.store(merge, Ordering::Relaxed);
    }

    /// Looks how much is free now.
    pub fn look(&self) {
        let status = self.opened.as_ref().map(rustix::fs::fstatvfs);
        let free = match status {
            Some(Ok(status)) => i64::try_from(status.f_bavail.saturating_mul(status.f_frsize)).unwrap_or(i64::MAX),
            // A file system that does not tell: the engine finds out.
            Some(Err(_)) | None => i64::MAX,
        };
        self.free.store(free, Ordering::Relaxed);
    }

    /// Takes account of what has been written since the last look.
    pub fn count(&self, bytes: u64) {
        let bytes = i64::try_from(bytes).unwrap_or(i64::MAX).saturating_mul(TIMES_WRITTEN);
        self.free.fetch_sub(bytes.min(1 << 50), Ordering::Relaxed);
    }

    fn has_room(&self, bytes: usize, beyond: i64) -> bool {
        let bytes = i64::try_from(bytes).unwrap_or(i64::MAX).saturating_mul(TIMES_WRITTEN);
        let buffers = i64::try_from(self.buffers.load(Ordering::Relaxed)).unwrap_or(i64::MAX);
        let wanted = bytes.saturating_add(buffers).saturating_add(beyond);
        if self.free.load(Ordering::Relaxed) >= wanted {
            return true;
        }
        self.look();
        self.free.load(Ordering::Relaxed) >= wanted
    }

    /// Bounded, so that sums with it do not overflow.
    fn room_for_merge(&self) -> i64 {
        i64::try_from(self.merge.load(Ordering::Relaxed)).unwrap_or(i64::MAX).min(1 << 60)
    }

    /// Why the engine has stopped writing, if it has.
    pub fn failure(&self) -> Option<&str> {
        self.stopped.get().map(String::as_str)
    }

    /// Whether the engine has stopped writing.
    pub fn is_stopped(&self) -> bool {
        self.stopped.get().is_some()
    }

    fn check_stopped(&self) -> SqlResult<()> {
        match self.failure() {
            None => Ok(()),
            Some(reason) => Err(read_only(reason)),
        }
    }

    /// Whether a table may take `bytes` more, counting all that a transaction has not committed yet: error 1114, as for
    /// a tablespace that cannot grow.
    pub fn check_addition(&self, bytes: usize, table: &str) -> SqlResult<()> {
        self.check_stopped()?;
        if self.has_room(bytes, self.room_for_merge() + MARGIN + ROOM_FOR_REMOVAL) {
            return Ok(());
        }
        Err(SqlError::new(ErrorCode::RecordFileFull, &[&table]))
    }

    /// Whether a transaction may be committed. Statements have been checked before, but several transactions may have
    /// counted on the same space. A small one, such as a DELETE that frees space, may use that of a merge: while a
    /// merge is going on its space is in use and kept back all the same, and on a full disk nothing could be deleted.
    pub fn check_commit(&self, bytes: usize) -> SqlResult<()> {
        self.check_stopped()?;
        let merge = if bytes as u64 <= ROOM_FOR_REMOVAL as u64 { 0 } else { self.room_for_merge() };
        if self.has_room(bytes, merge + MARGIN) {
            return Ok(());
        }
        let reason = format!("{NO_SPACE} - 'No space left on device'");
        Err(SqlError::new(ErrorCode::ErrorDuringCommit, &[&reason]))
    }

    /// Whether a definition may be changed; more is needed for a new table than for dropping one.
    pub fn check_definition(&self, makes_tables: bool) -> SqlResult<()> {
        self.check_stopped()?;
        if makes_tables {
            return self.check_temporary(0);
        }
        self.look();
        if self.free.load(Ordering::Relaxed) >= DEFINITION_BYTES {
            return Ok(());
        }
        Err(disk_full(&self.directory))
    }

    /// Whether `bytes` of files beside the tables may be written.
    pub fn check_temporary(&self, bytes: usize) -> SqlResult<()> {
        self.check_stopped()?;
        if self.has_room(bytes, self.room_for_merge() + MARGIN + ROOM_FOR_REMOVAL) {
            return Ok(());
        }
        Err(disk_full(&self.directory))
    }

    /// The error of a write that the engine could not do. It has stopped with that; later writes are told why.
    pub fn stop(&self, error: Error) -> SqlError {
        match &error {
            Error::Stopped => read_only(self.stop_because("a file could not be written in the background".into())),
            Error::Io(cause) => {
                let text = io_error_text(cause);
                self.stop_because(text.clone());
                SqlError::new(ErrorCode::ErrorDuringCommit, &[&text])
            }
            _ => engine_error(error),
        }
    }

    /// The error of making or removing a table's files. Without space for them only the statement fails: the engine does
    /// it as a whole or not at all. After any other error it is not known what the disk has.
    pub fn files_failed(&self, error: Error) -> SqlError {
        match &error {
            Error::Io(cause) if cause.kind() == std::io::ErrorKind::StorageFull => engine_error(error),
            _ => self.stop(error),
        }
    }

    /// Notes the first reason, in the server's log too, and returns it.
    fn stop_because(&self, reason: String) -> &str {
        self.stopped.get_or_init(|| {
            tracing::error!(
                "writing to the data directory has failed ({reason}): no changes are taken any more, reads go on; \
                 see that the disk is sound and has room, then restart the server"
            );
            reason
        })
    }
}

fn read_only(reason: &str) -> SqlError {
    SqlError::with_message(
        ErrorCode::CantExecuteInReadOnly,
        format!("Running in read-only mode: writing to the data directory has failed ({reason}); restart the server"),
    )
}

/// Disk space for files that others write beside the store's. What the engine may need is never given away, so that it does not
/// meet a full disk because of them.
#[derive(Clone)]
pub struct DiskRoom(pub(crate) Arc<WriteGate>);

impl DiskRoom {
    /// Space for `bytes` that are written once, or error 1021.
    pub fn take(&self, bytes: u64) -> SqlResult<()> {
        self.check(bytes)?;
        self.0.free.fetch_sub(i64::try_from(bytes).unwrap_or(i64::MAX).min(1 << 50), Ordering::Relaxed);
        Ok(())
    }

    /// Whether there would be space now; otherwise error 1021.
    pub fn check(&self, bytes: u64) -> SqlResult<()> {
        self.0.check_temporary(usize::try_from(bytes.div_ceil(TIMES_WRITTEN as u64)).unwrap_or(usize::MAX))
    }
}

fn disk_full(directory: &Path) -> SqlError {
    SqlError::new(ErrorCode::DiskFull, &[&directory.display(), &NO_SPACE, &"No space left on device"])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_engine_needs_is_never_given_away() {
        let directory = tempfile::tempdir().unwrap();
        let gate = WriteGate::new(directory.path());
        gate.check_addition(1000, "t").unwrap();
        gate.reserve(1 << 60, 0);
        assert!(gate.check_addition(0, "t").unwrap_err().is(ErrorCode::RecordFileFull));
        assert!(gate.check_commit(0).unwrap_err().is(ErrorCode::ErrorDuringCommit));
        assert!(gate.check_temporary(0).unwrap_err().is(ErrorCode::DiskFull));
        assert!(gate.check_definition(true).unwrap_err().is(ErrorCode::DiskFull));
        // Changes that free space are let through.
        gate.check_definition(false).unwrap();
        // The space of a merge is for small commits only.
        gate.reserve(0, 1 << 60);
        assert!(gate.check_addition(0, "t").unwrap_err().is(ErrorCode::RecordFileFull));
        assert!(gate.check_commit(1 << 30).unwrap_err().is(ErrorCode::ErrorDuringCommit));
        gate.check_commit(1000).unwrap();
        gate.reserve(0, 0);
        gate.check_addition(1000, "t").unwrap();
    }

    #[test]
    fn later_writes_are_told_why_the_engine_has_stopped() {
        let directory = tempfile::tempdir().unwrap();
        let gate = WriteGate::new(directory.path());
        let first = gate.stop(Error::Io(std::io::Error::from_raw_os_error(5)));
        assert!(first.is(ErrorCode::ErrorDuringCommit), "{first}");
        for later in [gate.check_commit(0).unwrap_err(), gate.stop(Error::Stopped)] {
            assert!(later.is(ErrorCode::CantExecuteInReadOnly), "{later}");
            assert!(later.to_string().contains("Input/output error"), "{later}");
        }
    }
}
