//! Folders of keyspaces. Some are made ahead, and a folder without a table file is used again.
//!
//! A new tree takes seven syncs to make its files, which is most of the cost of a definition. Removing its folder waits for the file
//! system's journal too. But an empty tree is always the same two small files, and the tree never writes to them again: it replaces
//! them as a whole. So they are made once, and each folder has links to them. One commit of the journal makes many such folders
//! durable.

use super::Result;
use lsm_tree::Config;
use lsm_tree::file::TABLES_FOLDER;
use parking_lot::Mutex;
use rustc_hash::FxHashSet;
use squall_types::durable_files::sync_folder;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

/// Where the folders of keyspaces are, each named by its number.
const KEYSPACES_FOLDER: &str = "keyspaces";
/// An empty tree.
const EMPTY_FOLDER: &str = "empty";
/// The files of every tree's folder, and all of an empty one: the list of files, and the name of the newest list.
const EMPTY_LIST: &str = "v0";
const NEWEST_LIST: &str = "current";

/// Folders that are made at a time. The first one is made alone, then always twice as many.
const MADE_MAX: u64 = 16;
/// Folders that are kept to be used again.
const FREE_MAX: usize = 128;

pub(super) struct Folders {
    engine: PathBuf,
    keyspaces: PathBuf,
    state: Mutex<State>,
}

struct State {
    free: Vec<u64>,
    /// The number of the next one that is made.
    next: u64,
    made: u64,
}

impl Folders {
    pub fn open(engine: &Path) -> Result<Folders> {
        let keyspaces = engine.join(KEYSPACES_FOLDER);
        std::fs::create_dir_all(&keyspaces)?;
        let empty = engine.join(EMPTY_FOLDER);
        if !is_tree(&empty)? {
            remove_folder(&empty)?;
            make_tree(&empty)?;
            sync_folder(engine)?;
        }
        let next = numbers(&keyspaces)?.into_iter().max().unwrap_or(0).max(super::RECORDS.folder) + 1;
        let state = Mutex::new(State { free: Vec::new(), next, made: 0 });
        Ok(Folders { engine: engine.to_path_buf(), keyspaces, state })
    }

    pub fn engine_path(&self) -> &Path {
        &self.engine
    }

    pub fn path_of(&self, folder: u64) -> PathBuf {
        self.keyspaces.join(folder.to_string())
    }

    /// Makes what folders there are durable.
    pub fn sync(&self) -> io::Result<()> {
        sync_folder(&self.keyspaces)
    }

    /// An empty tree's folder, durable.
    pub fn take(&self) -> Result<u64> {
        let mut state = self.state.lock();
        if let Some(folder) = state.free.pop() {
            return Ok(folder);
        }
        let count = state.made.clamp(1, MADE_MAX);
        let first = state.next;
        state.next += count;
        for folder in first..first + count {
            let path = self.path_of(folder);
            if let Err(error) = self.link_tree(&path) {
                remove_folder(&path)?;
                if error.kind() == ErrorKind::StorageFull {
                    return Err(error.into());
                }
                // A file has as many links as it can have, or the file system has none.
                make_tree(&path)?;
            }
        }
        // The first of these has the journal written, for all.
        for folder in first..first + count {
            sync_folder(&self.path_of(folder).join(TABLES_FOLDER))?;
            sync_folder(&self.path_of(folder))?;
        }
        self.sync()?;
        state.made += count;
        state.free.extend((first + 1..first + count).rev());
        Ok(first)
    }

    /// Makes the folder of an empty tree, not durably.
    fn link_tree(&self, path: &Path) -> io::Result<()> {
        std::fs::create_dir(path)?;
        std::fs::create_dir(path.join(TABLES_FOLDER))?;
        let empty = self.engine.join(EMPTY_FOLDER);
        for file in [EMPTY_LIST, NEWEST_LIST] {
            std::fs::hard_link(empty.join(file), path.join(file))?;
        }
        Ok(())
    }

    /// Keeps a folder in which no file was made; `false` if there are enough of them.
    pub fn give_back(&self, folder: u64) -> bool {
        let mut state = self.state.lock();
        let has_room = state.free.len() < FREE_MAX;
        if has_room {
            state.free.push(folder);
        }
        has_room
    }

    /// Folders that are neither used nor made since the start: keeps those of empty trees and gives the others.
    pub fn reclaim(&self, used: &FxHashSet<u64>) -> Result<Vec<PathBuf>> {
        let mut state = self.state.lock();
        let mut others = Vec::new();
        for folder in numbers(&self.keyspaces)? {
            if used.contains(&folder) || state.free.contains(&folder) {
                continue;
            }
            let path = self.path_of(folder);
            if state.free.len() < FREE_MAX && self.is_empty_tree(&path)? {
                state.free.push(folder);
            } else {
                others.push(path);
            }
        }
        Ok(others)
    }

    /// Whether there is a tree as it was made. Of one that had files some may be gone, because a crash ended its removal.
    fn is_empty_tree(&self, path: &Path) -> io::Result<bool> {
        let empty = self.engine.join(EMPTY_FOLDER);
        for file in [EMPTY_LIST, NEWEST_LIST] {
            if !has_content(&path.join(file), &std::fs::read(empty.join(file))?)? {
                return Ok(false);
            }
        }
        match std::fs::read_dir(path.join(TABLES_FOLDER)) {
            Ok(mut files) => Ok(files.next().is_none()),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(false),
            Err(error) => Err(error),
        }
    }
}

/// Whether there is a tree. The name of the newest list is what makes a folder one.
pub(super) fn is_tree(path: &Path) -> io::Result<bool> {
    path.join(NEWEST_LIST).try_exists()
}

/// Whether a file is there and has this content.
fn has_content(file: &Path, content: &[u8]) -> io::Result<bool> {
    match std::fs::read(file) {
        Ok(found) => Ok(found == content),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(false),
        Err(error) => Err(error),
    }
}

/// Makes an empty tree, durably but for its name.
fn make_tree(path: &Path) -> Result<()> {
    Config::new(path, Default::default(), Default::default()).open()?;
    Ok(())
}

/// The numbers of folders of keyspaces.
fn numbers(keyspaces: &Path) -> io::Result<Vec<u64>> {
    let mut numbers = Vec::new();
    for entry in std::fs::read_dir(keyspaces)? {
        // What has another name is nothing of the engine's.
        numbers.extend(entry?.file_name().to_str().and_then(|name| name.parse::<u64>().ok()));
    }
    Ok(numbers)
}

fn remove_folder(path: &Path) -> io::Result<()> {
    match std::fs::remove_dir_all(path) {
        Err(error) if error.kind() != ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use lsm_tree::AbstractTree;

    #[test]
    fn linked_trees_are_trees_of_their_own() {
        let directory = tempfile::tempdir().unwrap();
        let folders = Folders::open(directory.path()).unwrap();
        let open =
            |folder| Config::new(folders.path_of(folder), Default::default(), Default::default()).open().unwrap();
        let taken: Vec<u64> = (0..4).map(|_| folders.take().unwrap()).collect();
        assert_eq!(taken, [2, 3, 4, 5]);
        for folder in &taken[..2] {
            let tree = open(*folder);
            tree.insert("k", folder.to_string(), 1);
            tree.flush_active_memtable(0).unwrap();
        }
        for folder in &taken[..2] {
            assert_eq!(open(*folder).get("k", 9).unwrap().as_deref(), Some(folder.to_string().as_bytes()));
        }
        assert!(open(taken[2]).is_empty(9, None).unwrap());
        assert!(folders.give_back(taken[2]));
        assert_eq!(folders.take().unwrap(), taken[2]);
    }

    #[test]
    fn folders_that_no_keyspace_has_are_reclaimed() {
        let directory = tempfile::tempdir().unwrap();
        let folders = Folders::open(directory.path()).unwrap();
        let taken: Vec<u64> = (0..3).map(|_| folders.take().unwrap()).collect();
        let tree = Config::new(folders.path_of(taken[0]), Default::default(), Default::default()).open().unwrap();
        tree.insert("k", "v", 1);
        tree.flush_active_memtable(0).unwrap();
        // What a crash leaves of making one.
        std::fs::create_dir(folders.path_of(100)).unwrap();
        let folders = Folders::open(directory.path()).unwrap();
        let mut others = folders.reclaim(&FxHashSet::from_iter([taken[1]])).unwrap();
        others.sort();
        assert_eq!(others, [folders.path_of(100), folders.path_of(taken[0])]);
        assert_ne!(folders.take().unwrap(), taken[1]);
    }

    /// A crash ends the removal of a folder anywhere: what is left of it is no empty tree.
    #[test]
    fn half_removed_folders_are_not_used_again() {
        let directory = tempfile::tempdir().unwrap();
        let folders = Folders::open(directory.path()).unwrap();
        let folder = folders.take().unwrap();
        let path = folders.path_of(folder);
        let open = || Config::new(&path, Default::default(), Default::default()).open();
        let tree = open().unwrap();
        tree.insert("k", "v", 1);
        tree.flush_active_memtable(0).unwrap();
        // The list of before the flush goes later, when no reader has it.
        assert!(path.join(EMPTY_LIST).exists());
        drop(tree);
        for file in std::fs::read_dir(path.join(TABLES_FOLDER)).unwrap() {
            std::fs::remove_file(file.unwrap().path()).unwrap();
        }
        assert!(open().is_err());
        let folders = Folders::open(directory.path()).unwrap();
        assert_eq!(folders.reclaim(&FxHashSet::default()).unwrap(), [path]);
    }
}
