//! A file that gets its name when it is complete. So readers never see a part of it, and a failed one leaves nothing.

use rustix::fs::{AtFlags, CWD, Mode, OFlags, RenameFlags, linkat, open, renameat_with};
use rustix::io::Errno;
use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::os::fd::AsRawFd;
use std::path::{Path, PathBuf};

/// The permissions of a file, before the process' umask.
const MODE: u32 = 0o666;

/// A file on its way.
#[derive(Debug)]
pub(super) struct NewFile {
    file: File,
    path: PathBuf,
    /// Its name for the time being, where the file system has no files without one.
    hidden: Option<PathBuf>,
    /// Whether it is on the disk before it has its name, and its name before the statement ends (`select_into_disk_sync`).
    is_synced: bool,
}

impl NewFile {
    /// A file that is going to have that name.
    ///
    /// # Errors
    /// `AlreadyExists` if there is one; the folder is not there or cannot be written to.
    pub(super) fn create(path: &Path) -> io::Result<NewFile> {
        if path.symlink_metadata().is_ok() {
            return Err(io::ErrorKind::AlreadyExists.into());
        }
        let folder = folder_of(path);
        match open(folder, OFlags::TMPFILE | OFlags::WRONLY | OFlags::CLOEXEC, Mode::from_raw_mode(MODE)) {
            Ok(file) => Ok(NewFile { file: file.into(), path: path.to_path_buf(), hidden: None, is_synced: false }),
            Err(Errno::OPNOTSUPP | Errno::ISDIR | Errno::INVAL) => NewFile::create_hidden(path),
            Err(error) => Err(error.into()),
        }
    }

    fn create_hidden(path: &Path) -> io::Result<NewFile> {
        let mut name = std::ffi::OsString::from(".");
        name.push(path.file_name().unwrap_or_default());
        name.push(".part");
        let hidden = path.with_file_name(name);
        let file = OpenOptions::new().write(true).create_new(true).open(&hidden)?;
        Ok(NewFile { file, path: path.to_path_buf(), hidden: Some(hidden), is_synced: false })
    }

    /// The same file, synced or not.
    pub(super) fn synced(mut self, is_synced: bool) -> NewFile {
        self.is_synced = is_synced;
        self
    }

    /// Gives the file its name.
    ///
    /// # Errors
    /// `AlreadyExists` if another file has got it meanwhile.
    pub(super) fn finish(mut self) -> io::Result<()> {
        if self.is_synced {
            self.file.sync_all()?;
        }
        match &self.hidden {
            None => {
                let source = format!("/proc/self/fd/{}", self.file.as_raw_fd());
                linkat(CWD, source, CWD, &self.path, AtFlags::SYMLINK_FOLLOW)?;
            }
            Some(hidden) => {
                renameat_with(CWD, hidden, CWD, &self.path, RenameFlags::NOREPLACE)?;
                self.hidden = None;
            }
        }
        if self.is_synced {
            File::open(folder_of(&self.path))?.sync_all()?;
        }
        Ok(())
    }
}

fn folder_of(path: &Path) -> &Path {
    path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

impl Write for NewFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.file.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

impl Drop for NewFile {
    fn drop(&mut self) {
        if let Some(hidden) = &self.hidden {
            // It may be gone already, and there is no caller to tell.
            let _ = std::fs::remove_file(hidden);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(folder: &Path) -> Vec<String> {
        let entries = std::fs::read_dir(folder).expect("a folder").map(|entry| entry.expect("an entry"));
        entries.map(|entry| entry.file_name().into_string().expect("text")).collect()
    }

    #[test]
    fn a_file_appears_when_it_is_complete() {
        let folder = tempfile::tempdir().expect("a folder");
        for create in [NewFile::create, NewFile::create_hidden] {
            let path = folder.path().join("x");
            let mut dropped = create(&path).expect("created");
            dropped.write_all(b"half").expect("written");
            assert!(!path.exists());
            drop(dropped);
            assert_eq!(names(folder.path()), Vec::<String>::new());
            let mut file = create(&path).expect("created").synced(true);
            file.write_all(b"whole").expect("written");
            file.finish().expect("finished");
            assert_eq!(std::fs::read(&path).expect("read"), b"whole");
            assert_eq!(names(folder.path()), ["x"]);
            std::fs::remove_file(&path).expect("removed");
            // Another program takes the name while the file is written.
            let late = create(&path).expect("created");
            std::fs::write(&path, "other").expect("written");
            assert_eq!(late.finish().map_err(|error| error.kind()), Err(io::ErrorKind::AlreadyExists));
            assert_eq!(std::fs::read(&path).expect("read"), b"other");
            assert_eq!(names(folder.path()), ["x"]);
            assert_eq!(
                NewFile::create(&path).map(drop).map_err(|error| error.kind()),
                Err(io::ErrorKind::AlreadyExists)
            );
            std::fs::remove_file(&path).expect("removed");
        }
        let missing = NewFile::create(&folder.path().join("no/x")).map(drop);
        assert_eq!(missing.map_err(|error| error.kind()), Err(io::ErrorKind::NotFound));
    }
}
