//! Folders of the earlier engine (fjall 3), which kept a list of its keyspaces in one of them.
//!
//! Each definition rewrote that list and removed nothing, so it may be large. It is read once. Then records of the store name the
//! keyspaces, and the folder of the list is removed as any folder that no record names.

use super::{AbstractTree, EarlierList, Error, Result, SeqNo};
use lsm_tree::{Config, Guard as _};
use std::fs::File;
use std::io::{ErrorKind, Read};
use std::path::Path;

/// The beginning of its mark: a name and a version.
const MARK: &[u8] = b"FJL\x03";
/// Its log and its lock.
const LOG_FILE: &str = "0.jnl";
const LOCK_FILE: &str = "lock";
/// The folder of the list.
const LIST_FOLDER: &str = "keyspaces/0";
/// Keys of names: this byte and the folder's number, big-endian.
const NAME: u8 = b'n';

/// Names of keyspaces, and their folders.
///
/// # Errors
/// [`Error::Form`] of a folder of yet another form, or with changes that are in that engine's log alone.
pub(super) fn read_manifest(path: &Path, mark: &[u8]) -> Result<EarlierList> {
    if !mark.starts_with(MARK) {
        return Err(Error::Form("the folder of rows has a form that this server does not know"));
    }
    if has_log(path)? {
        return Err(Error::Form(
            "the folder of rows has a log that an earlier server has to read: start and stop that first",
        ));
    }
    let tree = Config::new(path.join(LIST_FOLDER), Default::default(), Default::default()).open()?;
    let mut list = EarlierList::default();
    for entry in tree.prefix([NAME], SeqNo::MAX, None) {
        let (key, name) = entry.into_inner()?;
        let folder = key.get(1..).and_then(|folder| folder.try_into().ok()).map(u64::from_be_bytes);
        let (Some(folder), Ok(name)) = (folder, std::str::from_utf8(&name)) else {
            return Err(Error::Form("the list of keyspaces is malformed"));
        };
        list.insert(name.to_string(), folder);
    }
    Ok(list)
}

/// Whether there is anything in the log. It is made of zeros, and no record begins with one.
fn has_log(path: &Path) -> Result<bool> {
    let mut first = [0];
    match File::open(path.join(LOG_FILE)) {
        Ok(mut file) => Ok(file.read(&mut first)? > 0 && first != [0]),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(false),
        Err(error) => Err(error.into()),
    }
}

/// Removes its files that are in no folder of a keyspace.
pub(super) fn remove_own_files(path: &Path) -> Result<()> {
    for file in [LOG_FILE, LOCK_FILE] {
        match std::fs::remove_file(path.join(file)) {
            Err(error) if error.kind() != ErrorKind::NotFound => return Err(error.into()),
            _ => {}
        }
    }
    Ok(())
}
