//! Checks the redo log of a store that is not open, and can set a new end.

use crate::directory_lock::DirectoryLock;
use crate::error::io_error;
use crate::redo::{self, LogContents};
use crate::store::RowStore;
use crate::store::recovery::LOG_FOLDER;
use squall_types::{SqlError, SqlResult};
use std::path::Path;

impl RowStore {
    /// Reads the log of the store in a directory, and reports its content and its errors. Nothing is changed.
    ///
    /// # Errors
    /// If a process has the store open, or a file cannot be read.
    pub fn check_log(directory: &Path) -> SqlResult<LogContents> {
        let _lock = DirectoryLock::take(directory)?;
        read(directory)
    }

    /// Has the log end before a fragment: that and all behind it is never read, and gone for good when the store has been opened. What
    /// tables' files have of it already stays, so a commit may be there in part.
    ///
    /// # Errors
    /// Those of [`RowStore::check_log`], and 1105 if the log cannot be read as far as that.
    pub fn end_log(directory: &Path, fragment: u64) -> SqlResult<LogContents> {
        let _lock = DirectoryLock::take(directory)?;
        let contents = read(directory)?;
        if !(contents.begin.fragment..=contents.end.fragment).contains(&fragment) {
            return Err(SqlError::internal(format_args!(
                "the redo log can be read from fragment {} to {}; it cannot end at {fragment}",
                contents.begin.fragment, contents.end.fragment
            )));
        }
        redo::end_at(&directory.join(LOG_FOLDER), fragment).map_err(|error| io_error(&error))?;
        read(directory)
    }
}

fn read(directory: &Path) -> SqlResult<LogContents> {
    let folder = directory.join(LOG_FOLDER);
    // A directory without a log has none to check.
    if !folder.try_exists().map_err(|error| io_error(&error))? {
        return Ok(LogContents::default());
    }
    redo::read_log(&folder, &mut |_, _| {}).map_err(|error| io_error(&error))
}
