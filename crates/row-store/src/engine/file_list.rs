//! The files of one keyspace at one time, for those who copy them.

use super::{AbstractTree, Keyspace, Result};
use lsm_tree::file::{CURRENT_VERSION_FILE, TABLES_FOLDER};
use std::any::Any;
use std::io::{self, ErrorKind};
use std::path::PathBuf;

/// How often a list is read that changes meanwhile, before that is an error.
const ATTEMPTS_MAX: usize = 1000;

/// The newest list of a keyspace's files. They stay as long as it is there.
pub(crate) struct FileList {
    number: u64,
    /// The file that has the list, and the one that names it, with their contents.
    pub lists: [(PathBuf, Vec<u8>); 2],
    /// The files of tables, each with the checksum of its content.
    pub tables: Vec<(PathBuf, u128)>,
    /// Its folder goes when nobody has it any more.
    _keyspace: Keyspace,
    /// The list itself, by which the engine knows that somebody uses the files. Its type has no name outside of the engine.
    _version: Box<dyn Any + Send + Sync>,
}

impl Keyspace {
    /// The newest list, as it is on the disk.
    ///
    /// # Errors
    /// The system's.
    pub fn file_list(&self) -> Result<FileList> {
        let folder = self.path();
        let name = folder.join(CURRENT_VERSION_FILE);
        for _ in 0..ATTEMPTS_MAX {
            // A list has its file and its name before readers have it, and the file goes when there is a newer one.
            let version = self.tree.current_version();
            let path = folder.join(format!("v{}", version.id()));
            let (list, newest) = match (std::fs::read(&path), std::fs::read(&name)) {
                (Err(error), _) if error.kind() == ErrorKind::NotFound => continue,
                (list, newest) => (list?, newest?),
            };
            if newest.first_chunk() != Some(&version.id().to_le_bytes()) {
                continue;
            }
            let tables = folder.join(TABLES_FOLDER);
            let file = |id: u64, checksum: u128| (tables.join(id.to_string()), checksum);
            let tables = version.iter_tables().map(|table| file(table.id(), table.checksum().into_u128())).collect();
            let (number, lists) = (version.id(), [(path, list), (name, newest)]);
            return Ok(FileList { number, lists, tables, _keyspace: self.clone(), _version: Box::new(version) });
        }
        Err(io::Error::other(format!("{}: the list of files changes all the time", folder.display())).into())
    }
}

impl FileList {
    /// Whether the keyspace has no newer one.
    pub fn is_newest(&self, keyspace: &Keyspace) -> bool {
        keyspace.tree.current_version().id() == self.number
    }
}
