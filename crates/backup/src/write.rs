//! Writes a backup.

use crate::Watch;
use crate::copy::{copy, forget};
use crate::error::{Error, Result};
use crate::list::{BackupHeader, BackupList, ListedFile, Place};
use crate::read::Backup;
use crate::repository::{CONTENTS_FILE, LIST_FILE, Repository, UNFINISHED};
use rustc_hash::{FxHashMap, FxHashSet};
use squall_types::durable_files::{Readers, create_own_folder, sync_folder};
use std::fs::{File, OpenOptions};
use std::io::{self, Read, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use xxhash_rust::xxh3::xxh3_128;

/// The name of a shared file that is being written, within the folder of its backup.
const COPIED_FILE: &str = "copied";

/// A file of a server, to be written to a backup.
#[derive(Clone, Debug)]
pub struct Source {
    /// Where it is.
    pub path: PathBuf,
    /// Its path within the data directory.
    pub name: String,
    /// Its length.
    pub bytes: u64,
}

/// A backup that was written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Summary {
    /// Its name.
    pub name: String,
    /// Files that it has.
    pub files: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Files that were copied for it; it shares the others with an earlier one.
    pub copied_files: u64,
    /// Their bytes.
    pub copied_bytes: u64,
    /// Files whose content does not have the checksum that the server keeps of them.
    pub suspects: Vec<PathBuf>,
}

/// Writes one backup. Dropped before [`BackupWriter::finish`], it leaves nothing behind but shared files, which the next one or
/// [`Repository::keep`] removes.
#[derive(Debug)]
pub struct BackupWriter<'r> {
    repository: &'r Repository,
    name: String,
    /// Its folder until it is finished.
    folder: PathBuf,
    contents: File,
    contents_bytes: u64,
    files: Vec<ListedFile>,
    /// What the newest backup of the same server has: hashes by path, length and identity.
    known: FxHashMap<(String, u64, u128), u128>,
    /// Folders with new names.
    changed: FxHashSet<PathBuf>,
    copied: (u64, u64),
    suspects: Vec<PathBuf>,
    is_finished: bool,
}

impl Repository {
    /// Begins a backup of a server. Its name begins with `time`, which sorts behind that of earlier ones.
    ///
    /// # Errors
    /// The system's.
    pub fn begin(&self, time: &str, server: &str) -> Result<BackupWriter<'_>> {
        for left in self.unfinished()? {
            std::fs::remove_dir_all(&left).map_err(Error::io(&left))?;
        }
        let name = self.free_name(time);
        let folder = self.folder_of(&format!("{name}{UNFINISHED}"));
        create_own_folder(&folder).map_err(Error::io(&folder))?;
        let contents = folder.join(CONTENTS_FILE);
        let contents = new_file(&contents).map_err(Error::io(&contents))?;
        Ok(BackupWriter {
            repository: self,
            name,
            folder,
            contents,
            contents_bytes: 0,
            files: Vec::new(),
            known: self.known_files(server)?,
            changed: FxHashSet::default(),
            copied: (0, 0),
            suspects: Vec::new(),
            is_finished: false,
        })
    }

    fn free_name(&self, time: &str) -> String {
        let mut name = time.to_owned();
        let mut number = 1;
        while self.folder_of(&name).exists() {
            number += 1;
            name = format!("{time}-{number:03}");
        }
        name
    }

    /// The shared files of the newest backup, if it is of the same server. A list that cannot be read is no reason not to make a backup.
    fn known_files(&self, server: &str) -> Result<FxHashMap<(String, u64, u128), u128>> {
        let Some(newest) = self.names()?.pop() else { return Ok(FxHashMap::default()) };
        let list = match Backup::read_list(self, &newest) {
            Ok(list) if list.header.server == server => list,
            _ => return Ok(FxHashMap::default()),
        };
        let shared = list.files.into_iter().filter_map(|file| match file.place {
            Place::Shared(identity) => Some(((file.path, file.bytes, identity), file.hash)),
            Place::Own(_) => None,
        });
        Ok(shared.collect())
    }
}

impl BackupWriter<'_> {
    /// Writes a file that changes, or is small.
    ///
    /// # Errors
    /// The system's.
    pub fn write_bytes(&mut self, name: String, content: &[u8], readers: Readers) -> Result<()> {
        let path = self.folder.join(CONTENTS_FILE);
        self.contents.write_all(content).map_err(Error::io(&path))?;
        self.add_own(name, content.len() as u64, xxh3_128(content), readers);
        Ok(())
    }

    /// Writes the beginning of a file that changes behind it.
    ///
    /// # Errors
    /// [`Error::Interrupted`], and the system's.
    pub fn write_beginning(&mut self, source: Source, watch: &dyn Watch) -> Result<()> {
        let path = self.folder.join(CONTENTS_FILE);
        let mut file = File::open(&source.path).map_err(Error::io(&source.path))?;
        let target = Some((&mut self.contents, path.as_path()));
        let hash = copy((&mut file, &source.path), target, source.bytes, watch)?;
        self.add_own(source.name, source.bytes, hash, Readers::Default);
        Ok(())
    }

    fn add_own(&mut self, path: String, bytes: u64, hash: u128, readers: Readers) {
        self.files.push(ListedFile { path, bytes, hash, place: Place::Own(self.contents_bytes), readers });
        self.contents_bytes += bytes;
        self.copied.0 += 1;
        self.copied.1 += bytes;
    }

    /// Writes a file that never changes, unless the newest backup has it; only then it is opened. `identity` with path and length tells it
    /// from all others; `is_hash` says that it is the hash of the content.
    ///
    /// # Errors
    /// [`Error::Interrupted`], and the system's.
    pub fn write_shared(
        &mut self,
        source: Source,
        identity: u128,
        is_hash: bool,
        open: impl FnOnce() -> io::Result<Box<dyn Read>>,
        watch: &dyn Watch,
    ) -> Result<()> {
        let Source { path, name, bytes } = source;
        let key = (name, bytes, identity);
        let hash = match self.known.get(&key).copied().filter(|hash| self.has_shared(*hash, bytes)) {
            Some(hash) => {
                watch.add(bytes);
                hash
            }
            None => self.copy_shared((&path, open), bytes, watch)?,
        };
        if is_hash && hash != identity {
            self.suspects.push(path);
        }
        let place = Place::Shared(identity);
        self.files.push(ListedFile { path: key.0, bytes, hash, place, readers: Readers::Default });
        Ok(())
    }

    fn has_shared(&self, hash: u128, bytes: u64) -> bool {
        let file = std::fs::metadata(self.repository.shared_path(hash, bytes));
        file.is_ok_and(|file| file.is_file() && file.len() == bytes)
    }

    /// Copies a file to the shared ones. One of the same content that an unfinished backup has left may be half, and is replaced.
    fn copy_shared(
        &mut self,
        (path, open): (&Path, impl FnOnce() -> io::Result<Box<dyn Read>>),
        bytes: u64,
        watch: &dyn Watch,
    ) -> Result<u128> {
        let mut source = open().map_err(Error::io(path))?;
        let copied = self.folder.join(COPIED_FILE);
        let mut target = new_file(&copied).map_err(Error::io(&copied))?;
        let hash = copy((&mut *source, path), Some((&mut target, &copied)), bytes, watch)?;
        target.sync_all().map_err(Error::io(&copied))?;
        forget(&target);
        let shared = self.repository.shared_path(hash, bytes);
        let folder = shared.parent().unwrap_or(self.repository.root()).to_path_buf();
        if !self.changed.contains(&folder) {
            create_own_folder(&folder).map_err(Error::io(&folder))?;
        }
        std::fs::rename(&copied, &shared).map_err(Error::io(&shared))?;
        self.changed.insert(folder);
        self.copied.0 += 1;
        self.copied.1 += bytes;
        Ok(hash)
    }

    /// Makes the backup durable and gives it its name.
    ///
    /// # Errors
    /// The system's.
    pub fn finish(mut self, header: BackupHeader) -> Result<Summary> {
        for folder in &self.changed {
            sync_folder(folder).map_err(Error::io(folder))?;
        }
        self.contents.sync_all().map_err(Error::io(&self.folder))?;
        let list = BackupList { header, files: std::mem::take(&mut self.files) };
        let path = self.folder.join(LIST_FILE);
        let written =
            new_file(&path).and_then(|mut file| file.write_all(&list.encode()).and_then(|()| file.sync_all()));
        written.map_err(Error::io(&path))?;
        sync_folder(&self.folder).map_err(Error::io(&self.folder))?;
        let folder = self.repository.folder_of(&self.name);
        std::fs::rename(&self.folder, &folder).map_err(Error::io(&folder))?;
        let backups = self.repository.backups();
        sync_folder(&backups).map_err(Error::io(&backups))?;
        self.is_finished = true;
        let (copied_files, copied_bytes) = self.copied;
        Ok(Summary {
            name: std::mem::take(&mut self.name),
            files: list.files.len() as u64,
            bytes: list.bytes(),
            copied_files,
            copied_bytes,
            suspects: std::mem::take(&mut self.suspects),
        })
    }
}

impl Drop for BackupWriter<'_> {
    fn drop(&mut self) {
        if !self.is_finished {
            // What cannot be removed now is removed by the next one.
            let _ = std::fs::remove_dir_all(&self.folder);
        }
    }
}

/// Makes an empty file that its owner alone may read.
fn new_file(path: &Path) -> std::io::Result<File> {
    OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(path)
}
