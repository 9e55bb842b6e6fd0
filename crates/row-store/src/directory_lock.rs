//! Locks a directory, so that only one process has it open.

use squall_types::durable_files::{create_folder, sync_all_in};
use squall_types::{ErrorCode, SqlError, SqlResult};
use std::fs::{File, OpenOptions, TryLockError};
use std::path::Path;
use std::time::{Duration, Instant};

/// The locked file.
const LOCK_FILE: &str = "lock";
/// How long a directory is waited for. A process that was killed has its files open until the system has taken its memory apart.
pub(crate) const WAIT_MAX: Duration = Duration::from_secs(2);
const WAIT_STEP: Duration = Duration::from_millis(5);

/// A file of a directory that is locked until this is dropped.
#[derive(Debug)]
pub struct DirectoryLock(File);

impl DirectoryLock {
    /// Locks a directory, which is made if it is not there; waits two seconds for a process that may be about to release it. What the
    /// last one has left in it is durable then.
    ///
    /// # Errors
    /// When another process keeps it, or the directory or the file cannot be made.
    pub fn take(directory: &Path) -> SqlResult<DirectoryLock> {
        let failed = |error: std::io::Error| {
            SqlError::internal(format_args!("cannot open data directory {}: {error}", directory.display()))
        };
        create_folder(directory).map_err(failed)?;
        let path = directory.join(LOCK_FILE);
        let was_used = path.try_exists().map_err(failed)?;
        let file = OpenOptions::new().create(true).truncate(false).write(true).open(path).map_err(failed)?;
        let deadline = Instant::now() + WAIT_MAX;
        while let Err(error) = file.try_lock() {
            match error {
                TryLockError::WouldBlock if Instant::now() < deadline => std::thread::sleep(WAIT_STEP),
                TryLockError::WouldBlock => {
                    let message = format!("data directory {} is in use by another process", directory.display());
                    return Err(SqlError::with_message(ErrorCode::UnknownError, message));
                }
                TryLockError::Error(error) => return Err(failed(error)),
            }
        }
        let lock = DirectoryLock(file);
        if was_used {
            sync_all_in(directory).map_err(failed)?;
        }
        Ok(lock)
    }
}

impl Drop for DirectoryLock {
    /// To close the file is not enough: a child that another thread is just starting has it open too, until it runs its program.
    fn drop(&mut self) {
        // What fails here ends when the file is closed everywhere.
        let _ = self.0.unlock();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_directory_that_is_being_let_go_of_is_waited_for() {
        let folder = tempfile::tempdir().expect("a folder");
        let held = DirectoryLock::take(folder.path()).expect("the lock");
        let (asks, asked) = std::sync::mpsc::channel();
        let path = folder.path().to_path_buf();
        let second = std::thread::spawn(move || {
            asks.send(()).expect("the other thread waits");
            DirectoryLock::take(&path)
        });
        asked.recv().expect("the second asks");
        drop(held);
        second.join().expect("no panic").expect("the lock");
    }

    #[test]
    fn a_file_that_is_still_open_elsewhere_locks_nothing() {
        let folder = tempfile::tempdir().expect("a folder");
        let held = DirectoryLock::take(folder.path()).expect("the lock");
        // As a child has it: another number of the same open file.
        let inherited = held.0.try_clone().expect("a descriptor");
        drop(held);
        let began = Instant::now();
        drop(DirectoryLock::take(folder.path()).expect("the lock"));
        assert!(began.elapsed() < WAIT_MAX);
        drop(inherited);
    }
}
