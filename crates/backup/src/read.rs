//! Reads backups: what they have, whether it is as it was written, and back to a data directory.

use crate::Watch;
use crate::copy::copy;
use crate::error::{Error, Result};
use crate::list::{BackupList, ListedFile, Place};
use crate::repository::{CONTENTS_FILE, LIST_FILE, Repository};
use rustc_hash::FxHashSet;
use squall_types::durable_files::{Readers, create_own_folder, sync_folder, sync_name};
use std::fs::{File, OpenOptions};
use std::io::{self, ErrorKind, Seek as _, SeekFrom};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;

/// The folder within a data directory that files are restored to, until all of them are there.
const RESTORING_FOLDER: &str = "restoring";

/// A backup that is there.
#[derive(Debug)]
pub struct Backup<'r> {
    repository: &'r Repository,
    /// Its name.
    pub name: String,
    /// What it has.
    pub list: BackupList,
}

/// A file of a backup that is not as it was written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Damage {
    /// Its path within the data directory.
    pub file: String,
    /// What is wrong, and where.
    pub what: String,
}

impl Repository {
    /// A backup, or the newest.
    ///
    /// # Errors
    /// [`Error::Missing`], [`Error::Damaged`] of its list, and the system's.
    pub fn backup(&self, name: Option<&str>) -> Result<Backup<'_>> {
        let names = self.names()?;
        let missing = || Error::Missing(self.root().to_path_buf(), name.map(str::to_owned));
        let found = match name {
            Some(name) => names.iter().find(|known| *known == name),
            None => names.last(),
        };
        let name = found.ok_or_else(missing)?.clone();
        let list = Backup::read_list(self, &name)?;
        Ok(Backup { repository: self, name, list })
    }
}

impl Backup<'_> {
    pub(crate) fn read_list(repository: &Repository, name: &str) -> Result<BackupList> {
        let path = repository.folder_of(name).join(LIST_FILE);
        BackupList::decode(&std::fs::read(&path).map_err(Error::io(&path))?, &path)
    }

    /// Reads all files, and tells which are not as they were written.
    ///
    /// # Errors
    /// [`Error::Interrupted`].
    pub fn damages(&self, watch: &dyn Watch) -> Result<Vec<Damage>> {
        let mut damages = Vec::new();
        for file in &self.list.files {
            match self.copy_out(file, None, watch) {
                Ok(()) => {}
                Err(Error::Interrupted) => return Err(Error::Interrupted),
                Err(error) => damages.push(Damage { file: file.path.clone(), what: error.to_string() }),
            }
        }
        Ok(damages)
    }

    /// Makes a data directory of the backup. Until that is complete [it says so](is_being_restored).
    ///
    /// # Errors
    /// [`Error::NotEmpty`], [`Error::Damaged`] of a file of the backup, [`Error::Interrupted`], and the system's. Nothing is there then,
    /// but for what could not be moved at the end, which no server starts on.
    pub fn restore(&self, directory: &Path, watch: &dyn Watch) -> Result<()> {
        let is_new = check_free(directory)?;
        let unfinished = directory.join(RESTORING_FOLDER);
        remove(&unfinished)?;
        let restored = self.restore_to(&unfinished, watch);
        if restored.is_err() {
            // The error is what the caller has to know.
            let _ = std::fs::remove_dir_all(if is_new { directory } else { &unfinished });
        }
        restored?;
        move_all(&unfinished, directory).map_err(Error::io(directory))
    }

    fn restore_to(&self, directory: &Path, watch: &dyn Watch) -> Result<()> {
        for folder in directory.parent().into_iter().chain([directory]) {
            create_own_folder(folder).map_err(Error::io(folder))?;
        }
        let mut folders = FxHashSet::default();
        for file in &self.list.files {
            let path = directory.join(&file.path);
            let folder = path.parent().unwrap_or(directory);
            if !folders.contains(folder) {
                // The files in them may be readable for all, and so may the directory be, if it was there before.
                let above: Vec<&Path> = folder.ancestors().take_while(|above| above.starts_with(directory)).collect();
                for folder in above.iter().rev() {
                    create_own_folder(folder).map_err(Error::io(folder))?;
                }
                folders.extend(above.into_iter().map(Path::to_path_buf));
            }
            let mut options = OpenOptions::new();
            options.write(true).create_new(true);
            if file.readers == Readers::Owner {
                options.mode(0o600);
            }
            let mut target = options.open(&path).map_err(Error::io(&path))?;
            self.copy_out(file, Some((&mut target, &path)), watch)?;
            target.sync_all().map_err(Error::io(&path))?;
        }
        folders.iter().try_for_each(|folder| sync_folder(folder).map_err(Error::io(folder)))
    }

    /// Copies a file out of the backup, and compares what it reads with what was written.
    fn copy_out(&self, file: &ListedFile, target: Option<(&mut File, &Path)>, watch: &dyn Watch) -> Result<()> {
        let (path, from) = match file.place {
            Place::Shared(_) => (self.repository.shared_path(file.hash, file.bytes), 0),
            Place::Own(at) => (self.repository.folder_of(&self.name).join(CONTENTS_FILE), at),
        };
        let mut source = File::open(&path).map_err(Error::io(&path))?;
        source.seek(SeekFrom::Start(from)).map_err(Error::io(&path))?;
        let hash = copy((&mut source, &path), target, file.bytes, watch)?;
        match hash == file.hash {
            true => Ok(()),
            false => Err(Error::Damaged(path, "the content is not as it was written")),
        }
    }
}

/// Whether a data directory is one that a restore has not finished.
pub fn is_being_restored(directory: &Path) -> bool {
    directory.join(RESTORING_FOLDER).exists()
}

/// Checks that a directory is not there, or empty; whether it is not there. What an unfinished restore has left counts as nothing, unless
/// it had begun to move files.
fn check_free(directory: &Path) -> Result<bool> {
    let entries = match std::fs::read_dir(directory) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(true),
        entries => entries.map_err(Error::io(directory))?,
    };
    for entry in entries {
        if entry.map_err(Error::io(directory))?.file_name() != RESTORING_FOLDER {
            return Err(Error::NotEmpty(directory.to_path_buf()));
        }
    }
    Ok(false)
}

/// Moves what is in a folder to the folder above, and removes it.
fn move_all(from: &Path, to: &Path) -> io::Result<()> {
    for entry in std::fs::read_dir(from)? {
        let entry = entry?;
        std::fs::rename(entry.path(), to.join(entry.file_name()))?;
    }
    sync_folder(to)?;
    std::fs::remove_dir(from)?;
    sync_folder(to)?;
    sync_name(to)
}

fn remove(folder: &Path) -> Result<()> {
    match std::fs::remove_dir_all(folder) {
        Err(error) if error.kind() != ErrorKind::NotFound => Err(Error::Io(folder.to_path_buf(), error)),
        _ => Ok(()),
    }
}
