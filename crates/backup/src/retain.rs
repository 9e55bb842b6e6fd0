//! Removes old backups, and files that no backup has any more.

use crate::error::{Error, Result};
use crate::list::Place;
use crate::read::Backup;
use crate::repository::{Repository, UNFINISHED};
use rustc_hash::FxHashSet;
use squall_types::durable_files::sync_folder;
use std::path::PathBuf;

/// What was removed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Removed {
    /// The names of backups.
    pub backups: Vec<String>,
    /// Shared files that no other backup has.
    pub files: u64,
    /// Their bytes.
    pub bytes: u64,
}

impl Repository {
    /// Keeps the newest backups, so many of them, and removes the others with all files that only they had.
    ///
    /// # Errors
    /// [`Error::Damaged`] if the list of a backup that is kept cannot be read, since its files are not known then: nothing is removed.
    /// And the system's.
    pub fn keep(&self, count: usize) -> Result<Removed> {
        let names = self.names()?;
        let (old, kept) = names.split_at(names.len().saturating_sub(count));
        let mut used = FxHashSet::default();
        for name in kept {
            let files = Backup::read_list(self, name)?.files.into_iter();
            used.extend(
                files.filter(|file| matches!(file.place, Place::Shared(_))).map(|file| (file.hash, file.bytes)),
            );
        }
        let used: FxHashSet<PathBuf> = used.into_iter().map(|(hash, bytes)| self.shared_path(hash, bytes)).collect();
        for name in old {
            // From here on it is none, however much of it a power cut leaves.
            let folder = self.folder_of(&format!("{name}{UNFINISHED}"));
            std::fs::rename(self.folder_of(name), &folder).map_err(Error::io(&folder))?;
        }
        let backups = self.backups();
        sync_folder(&backups).map_err(Error::io(&backups))?;
        for folder in self.unfinished()? {
            std::fs::remove_dir_all(&folder).map_err(Error::io(&folder))?;
        }
        let (files, bytes) = self.remove_unused(&used)?;
        Ok(Removed { backups: old.to_vec(), files, bytes })
    }

    /// Removes shared files that are not in use; how many, and their bytes.
    fn remove_unused(&self, used: &FxHashSet<PathBuf>) -> Result<(u64, u64)> {
        let (mut files, mut bytes) = (0, 0);
        let all = self.files();
        for folder in std::fs::read_dir(&all).map_err(Error::io(&all))? {
            let folder = folder.map_err(Error::io(&all))?.path();
            for entry in std::fs::read_dir(&folder).map_err(Error::io(&folder))? {
                let entry = entry.map_err(Error::io(&folder))?;
                let path = entry.path();
                if used.contains(&path) {
                    continue;
                }
                bytes += entry.metadata().map_err(Error::io(&path))?.len();
                std::fs::remove_file(&path).map_err(Error::io(&path))?;
                files += 1;
            }
        }
        Ok((files, bytes))
    }
}
