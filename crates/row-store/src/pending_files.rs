//! Files of a large transaction. A batch of the log makes them part of their tables.
//!
//! A large transaction is not copied into the log. The changes of each table are written to files in a separate folder. When a batch of
//! the log names the files, they belong to the tables. If the server stops before it has registered them, it does so when it reads the
//! log again. Files that no batch names are removed (`docs/decisions/0042-toolkit.md`).

use crate::engine::{self, AbstractTree, Engine, Keyspace, SeqNo};
use crate::table_files::{MadeFile, add_files, path_in};
use lsm_tree::Checksum;
use lsm_tree::file::TABLES_FOLDER;
use squall_types::durable_files::{create_folder, sync_folder};
use std::fs::File;
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

/// The folder, within the engine's: files are linked from there into those of keyspaces.
const FOLDER: &str = "pending";

/// Bytes that are read and written at a time where a file has to be copied.
const COPIED_BYTES: usize = 1 << 20;

/// A file as the log names it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct FileRecord {
    /// The engine's number of it within the keyspace.
    pub id: u64,
    pub checksum: u128,
}

/// Files of one keyspace, complete and durable; removed when dropped, unless the log names them and the keyspace does not have them yet.
pub(crate) struct PendingFiles {
    keyspace: Keyspace,
    files: Vec<FileRecord>,
    is_needed: bool,
}

/// The folder of an engine.
pub(crate) fn folder_of(db: &Engine) -> PathBuf {
    db.path().join(FOLDER)
}

/// The folder of an engine, made if it is not there.
pub(crate) fn make_folder(db: &Engine) -> io::Result<PathBuf> {
    let folder = folder_of(db);
    create_folder(&folder)?;
    Ok(folder)
}

/// The path of a keyspace's file in the folder.
pub(crate) fn path_of(folder: &Path, keyspace: u64, id: u64) -> PathBuf {
    folder.join(format!("{keyspace}-{id}"))
}

/// Removes a keyspace's file from the folder, if it is there.
pub(crate) fn remove(folder: &Path, keyspace: u64, id: u64) {
    // What cannot be removed now is removed at the next start.
    let _ = std::fs::remove_file(path_of(folder, keyspace, id));
}

impl PendingFiles {
    /// Takes files that lie in the folder under [their names](path_of).
    pub fn new(keyspace: &Keyspace, made: Vec<MadeFile>) -> PendingFiles {
        let record = |file: MadeFile| FileRecord { id: file.id, checksum: file.checksum.into_u128() };
        PendingFiles { keyspace: keyspace.clone(), files: made.into_iter().map(record).collect(), is_needed: false }
    }

    pub fn keyspace(&self) -> &Keyspace {
        &self.keyspace
    }

    pub fn files(&self) -> &[FileRecord] {
        &self.files
    }

    /// Says whether the log names them.
    pub fn set_needed(&mut self, is_needed: bool) {
        self.is_needed = is_needed;
    }

    /// Makes them the keyspace's at a sequence number, durably. See [`add_files`].
    pub fn adopt(&mut self, db: &Engine, sequence: SeqNo) -> engine::Result<()> {
        adopt(db, &self.keyspace, &self.files, sequence)?;
        self.is_needed = false;
        Ok(())
    }
}

impl Drop for PendingFiles {
    fn drop(&mut self) {
        if self.is_needed {
            return;
        }
        let folder = self.keyspace.engine_path().join(FOLDER);
        for file in &self.files {
            remove(&folder, self.keyspace.id(), file.id);
        }
    }
}

/// Makes files a keyspace's, as [`PendingFiles::adopt`] does; they stay in the folder.
///
/// # Errors
/// The system's: that a file is not there, too.
pub(crate) fn adopt(db: &Engine, keyspace: &Keyspace, files: &[FileRecord], sequence: SeqNo) -> engine::Result<()> {
    let put = || {
        let folder = folder_of(db);
        for file in files {
            let path = path_of(&folder, keyspace.id(), file.id);
            give_name(&path, &path_in(keyspace, file.id))
                .map_err(|error| io::Error::new(error.kind(), format!("{}: {error}", path.display())))?;
        }
        Ok(sync_folder(&keyspace.path().join(TABLES_FOLDER))?)
    };
    let named = files.iter().map(|file| (file.id, Checksum::from_raw(file.checksum)));
    add_files(db, keyspace, named, Some(sequence), put)
}

/// Gives a file another name. Where the file system has no links the other one is a copy.
fn give_name(path: &Path, other: &Path) -> io::Result<()> {
    match std::fs::hard_link(path, other) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            let (mut from, mut to) = (File::open(path)?, File::create(other)?);
            let mut block = vec![0; COPIED_BYTES];
            loop {
                match from.read(&mut block)? {
                    0 => return to.sync_all(),
                    read => to.write_all(&block[..read])?,
                }
            }
        }
        linked => linked,
    }
}

/// Sees to it that no new file of these keyspaces gets the number of one that is pending.
pub(crate) fn skip_numbers(db: &Engine, keyspaces: &[Keyspace]) -> io::Result<()> {
    for (number, id) in numbers(&folder_of(db))? {
        let keyspace = keyspaces.iter().find(|keyspace| keyspace.id() == number);
        while let Some(keyspace) = keyspace.filter(|keyspace| keyspace.tree.next_table_id() <= id) {
            keyspace.tree.get_next_table_id();
        }
    }
    Ok(())
}

/// Removes what is left: the log that may have named it has been replayed.
pub(crate) fn clear(db: &Engine) -> io::Result<()> {
    match std::fs::remove_dir_all(folder_of(db)) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

/// Keyspace and number of each file in the folder.
fn numbers(folder: &Path) -> io::Result<Vec<(u64, u64)>> {
    let entries = match std::fs::read_dir(folder) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        entries => entries?,
    };
    let mut numbers = Vec::new();
    for entry in entries {
        let name = entry?.file_name();
        let parts = name.to_str().and_then(|name| name.split_once('-'));
        numbers.extend(parts.and_then(|(keyspace, id)| Some((keyspace.parse().ok()?, id.parse().ok()?))));
    }
    Ok(numbers)
}
