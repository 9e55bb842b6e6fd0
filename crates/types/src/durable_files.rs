//! Makes, renames and removes files so that their names survive a power cut.
//!
//! Syncing a file syncs only its content. Its name is in its folder, which must be synced too, and so must the folder of that folder.
//! Code that makes, renames or removes important files uses these functions.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

/// The suffix of a file that will replace another, until it is complete.
const NEW: &str = ".new";

/// Makes the names in a folder durable: what was made, renamed or removed in it.
///
/// # Errors
/// The system's.
pub fn sync_folder(folder: &Path) -> io::Result<()> {
    // The path of a file without a folder.
    let folder = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
    File::open(folder)?.sync_all()
}

/// Makes the name of a file or folder durable.
///
/// # Errors
/// The system's.
pub fn sync_name(path: &Path) -> io::Result<()> {
    match path.parent() {
        Some(folder) => sync_folder(folder),
        // The root has no name.
        None => Ok(()),
    }
}

/// Makes all files in a folder durable, also those of an earlier process: syncs the file systems of the folder and of its
/// subfolders.
///
/// A power cut could still remove files and names of a killed process. The next one finds them and acts upon them as if they were
/// there for good, so it sees to that first.
///
/// # Errors
/// The system's.
#[cfg(target_os = "linux")]
pub fn sync_all_in(folder: &Path) -> io::Result<()> {
    use std::os::unix::fs::MetadataExt as _;
    let mut synced = Vec::new();
    let mut sync = |path: &Path| -> io::Result<()> {
        let file_system = fs::metadata(path)?.dev();
        if !synced.contains(&file_system) {
            rustix::fs::syncfs(File::open(path)?)?;
            synced.push(file_system);
        }
        Ok(())
    };
    sync(folder)?;
    for entry in fs::read_dir(folder)? {
        // What a link leads to may be on another disk.
        let path = entry?.path();
        if path.is_dir() {
            sync(&path)?;
        }
    }
    Ok(())
}

/// As on Linux; where a file system cannot be synced as a whole, each file is.
///
/// # Errors
/// The system's.
#[cfg(not(target_os = "linux"))]
pub fn sync_all_in(folder: &Path) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            sync_all_in(&path)?;
        } else if path.is_file() {
            File::open(&path)?.sync_all()?;
        }
    }
    sync_folder(folder)
}

/// Makes a folder with those that it is to be in, as far as they are not there, durably. One that is there was made durable by
/// the process that made it.
///
/// # Errors
/// The system's.
pub fn create_folder(path: &Path) -> io::Result<()> {
    if path.as_os_str().is_empty() || path.is_dir() {
        return Ok(());
    }
    if let Some(folder) = path.parent() {
        create_folder(folder)?;
    }
    make(path, Readers::Default)
}

/// As [`create_folder`], but only the process's user may enter the folder if it is made here; the folders that it is in are made for all.
///
/// # Errors
/// The system's.
pub fn create_own_folder(path: &Path) -> io::Result<()> {
    if path.is_dir() {
        return Ok(());
    }
    if let Some(folder) = path.parent() {
        create_folder(folder)?;
    }
    make(path, Readers::Owner)
}

fn make(path: &Path, readers: Readers) -> io::Result<()> {
    let mut builder = fs::DirBuilder::new();
    #[cfg(unix)]
    if readers == Readers::Owner {
        use std::os::unix::fs::DirBuilderExt as _;
        builder.mode(0o700);
    }
    match builder.create(path) {
        // Another thread has made it, and may not have come to sync it.
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists && path.is_dir() => {}
        made => made?,
    }
    sync_name(path)
}

/// Which users may read a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Readers {
    /// Which accounts of the system may read what the process makes.
    Default,
    /// Its owner alone.
    Owner,
}

/// Puts a file in the place of another, if there is one, as a whole and durably: after a power cut there is the old one or the new
/// one. What an earlier attempt has left is written over.
///
/// # Errors
/// The system's. The old one is still there then.
pub fn replace_file(path: &Path, contents: &[u8], readers: Readers) -> io::Result<()> {
    write_new(path, contents, readers)?;
    name_new(path)
}

/// Writes a file that is to take the place of another, durably, and leaves it aside until it is [given its name](name_new).
///
/// # Errors
/// The system's.
pub fn write_new(path: &Path, contents: &[u8], readers: Readers) -> io::Result<()> {
    let mut options = OpenOptions::new();
    options.write(true).create(true).truncate(true);
    #[cfg(unix)]
    if readers == Readers::Owner {
        use std::os::unix::fs::OpenOptionsExt as _;
        options.mode(0o600);
    }
    let mut file = options.open(new_path(path))?;
    file.write_all(contents)?;
    file.sync_all()
}

/// Gives a file that was [written](write_new) its name, durably.
///
/// # Errors
/// The system's.
pub fn name_new(path: &Path) -> io::Result<()> {
    fs::rename(new_path(path), path)?;
    sync_name(path)
}

/// Where a file is that was [written](write_new) and has not got its name.
pub fn new_path(path: &Path) -> PathBuf {
    let mut new = path.as_os_str().to_os_string();
    new.push(NEW);
    new.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folders_and_files_are_there() {
        let root = tempfile::tempdir().expect("a folder");
        let folder = root.path().join("a/b/c");
        create_folder(&folder).expect("folders");
        create_folder(&folder).expect("those that are there");
        let path = folder.join("file.txt");
        replace_file(&path, b"one", Readers::Default).expect("a file");
        replace_file(&path, b"two", Readers::Owner).expect("another");
        assert_eq!(fs::read(&path).expect("the file"), b"two");
        assert_eq!(fs::read_dir(&folder).expect("the folder").count(), 1);
        assert!(create_folder(&path).is_err(), "a file is no folder");
        assert!(create_own_folder(&path).is_err(), "a file is no folder");
        let own = root.path().join("d/own");
        create_own_folder(&own).expect("a folder");
        create_own_folder(&own).expect("the same");
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt as _;
            assert_eq!(fs::metadata(&own).expect("the folder").permissions().mode() & 0o777, 0o700);
        }
        sync_folder(Path::new("")).expect("the folder that the process is in");
        sync_all_in(root.path()).expect("all of it");
        assert!(sync_all_in(&path).is_err(), "a file is no folder");
    }
}
