//! A directory of backups: its mark, its lock, its names.

use crate::error::{Error, Result};
use rustix::fs::FlockOperation;
use squall_types::durable_files::{Readers, create_own_folder, replace_file};
use std::fs::File;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

const MARK_FILE: &str = "squall-backups";
const MARK: &[u8] = b"squall backups 1\n";
const LOCK_FILE: &str = "lock";
const FILES_FOLDER: &str = "files";
const BACKUPS_FOLDER: &str = "backups";
/// The suffix of a backup's folder while it is written or removed.
pub(crate) const UNFINISHED: &str = ".unfinished";
/// Names within the folder of a backup.
pub(crate) const LIST_FILE: &str = "list";
pub(crate) const CONTENTS_FILE: &str = "contents";

/// A directory of backups, which is locked.
#[derive(Debug)]
pub struct Repository {
    root: PathBuf,
    _lock: File,
}

impl Repository {
    /// Opens a directory to write or remove backups, and makes it if it is not there.
    ///
    /// # Errors
    /// [`Error::NotBackups`] of a directory with other files, [`Error::Busy`] if another process uses it, and the system's.
    pub fn open_to_write(root: &Path) -> Result<Repository> {
        if !is_marked(root)? {
            if !is_empty(root)? {
                return Err(Error::NotBackups(root.to_path_buf()));
            }
            create_own_folder(root).map_err(Error::io(root))?;
            for folder in [FILES_FOLDER, BACKUPS_FOLDER] {
                let folder = root.join(folder);
                create_own_folder(&folder).map_err(Error::io(&folder))?;
            }
            let mark = root.join(MARK_FILE);
            replace_file(&mark, MARK, Readers::Default).map_err(Error::io(&mark))?;
        }
        Repository::lock(root, FlockOperation::NonBlockingLockExclusive)
    }

    /// Opens a directory to read backups.
    ///
    /// # Errors
    /// [`Error::Missing`] if there are none, otherwise as [`Repository::open_to_write`].
    pub fn open_to_read(root: &Path) -> Result<Repository> {
        if !is_marked(root)? {
            return Err(Error::Missing(root.to_path_buf(), None));
        }
        Repository::lock(root, FlockOperation::NonBlockingLockShared)
    }

    fn lock(root: &Path, operation: FlockOperation) -> Result<Repository> {
        let path = root.join(LOCK_FILE);
        let is_exclusive = operation == FlockOperation::NonBlockingLockExclusive;
        let file = match File::options().write(true).create(true).truncate(false).open(&path) {
            // Who may only read them cannot make the file.
            Err(error) if !is_exclusive && error.kind() != ErrorKind::NotFound => File::open(&path),
            opened => opened,
        };
        let file = file.map_err(Error::io(&path))?;
        match rustix::fs::flock(&file, operation) {
            Err(rustix::io::Errno::WOULDBLOCK) => Err(Error::Busy(root.to_path_buf())),
            Err(error) => Err(Error::Io(path, error.into())),
            Ok(()) => Ok(Repository { root: root.to_path_buf(), _lock: file }),
        }
    }

    /// The names of the backups, oldest first.
    ///
    /// # Errors
    /// The system's.
    pub fn names(&self) -> Result<Vec<String>> {
        let folder = self.backups();
        let mut names = Vec::new();
        for entry in std::fs::read_dir(&folder).map_err(Error::io(&folder))? {
            let name = entry.map_err(Error::io(&folder))?.file_name();
            names.extend(name.into_string().ok().filter(|name| !name.ends_with(UNFINISHED)));
        }
        // They begin with the time.
        names.sort_unstable();
        Ok(names)
    }

    /// The folders of backups that were not finished, or not removed to the end.
    pub(crate) fn unfinished(&self) -> Result<Vec<PathBuf>> {
        let folder = self.backups();
        let mut found = Vec::new();
        for entry in std::fs::read_dir(&folder).map_err(Error::io(&folder))? {
            let path = entry.map_err(Error::io(&folder))?.path();
            if path.to_str().is_some_and(|path| path.ends_with(UNFINISHED)) {
                found.push(path);
            }
        }
        Ok(found)
    }

    pub(crate) fn root(&self) -> &Path {
        &self.root
    }

    pub(crate) fn files(&self) -> PathBuf {
        self.root.join(FILES_FOLDER)
    }

    pub(crate) fn backups(&self) -> PathBuf {
        self.root.join(BACKUPS_FOLDER)
    }

    /// The folder of a backup.
    pub(crate) fn folder_of(&self, name: &str) -> PathBuf {
        self.backups().join(name)
    }

    /// Where a shared file is.
    pub(crate) fn shared_path(&self, hash: u128, bytes: u64) -> PathBuf {
        let hash = format!("{hash:032x}");
        self.files().join(&hash[..2]).join(format!("{hash}-{bytes}"))
    }
}

fn is_marked(root: &Path) -> Result<bool> {
    let path = root.join(MARK_FILE);
    match std::fs::read(&path) {
        Ok(mark) if mark == MARK => Ok(true),
        Ok(_) => Err(Error::Damaged(path, "a directory of backups of another version")),
        Err(error) if [ErrorKind::NotFound, ErrorKind::NotADirectory].contains(&error.kind()) => Ok(false),
        Err(error) => Err(Error::Io(path, error)),
    }
}

/// Whether a directory is empty, or not there. What making a directory of backups has left when it was stopped counts as nothing.
fn is_empty(root: &Path) -> Result<bool> {
    let entries = match std::fs::read_dir(root) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(true),
        entries => entries.map_err(Error::io(root))?,
    };
    let names: io::Result<Vec<_>> = entries.map(|entry| Ok(entry?.file_name())).collect();
    let made = [FILES_FOLDER, BACKUPS_FOLDER, "squall-backups.new"];
    Ok(names.map_err(Error::io(root))?.iter().all(|name| made.iter().any(|made| name == made)))
}
