//! Removes files of loads that were given up.
//!
//! The engine makes the files of a load one after the other and adds them to the table at the end. The files of a load that was given
//! up would stay until the next start. Files of running tasks look the same, so files are removed only while no other task makes any.

use crate::engine::{AbstractTree, Engine, Keyspace};
use std::ops::Range;

/// The engine's folder of files within that of a table.
const FILES_FOLDER: &str = "tables";

/// Files that abandoned loads may have left.
#[derive(Debug, Default)]
pub(crate) struct UnusedFiles {
    /// Loads that make files now.
    pub makers: usize,
    /// Numbers that files of such loads have, and maybe others.
    pub suspects: Vec<Range<u64>>,
}

impl UnusedFiles {
    /// Removes them, unless a task makes files now; then it has to be tried again.
    pub fn remove(&mut self, db: &Engine, keyspace: &Keyspace) {
        if self.suspects.is_empty() || self.makers > 0 {
            return;
        }
        let _no_flush = keyspace.tree.get_flush_lock();
        // A merge that begins from now on takes greater numbers.
        if db.is_merging() {
            return;
        }
        let used: rustc_hash::FxHashSet<u64> =
            keyspace.tree.current_version().iter_tables().map(|table| table.id()).collect();
        // What cannot be removed now is removed at the next start.
        if let Ok(files) = std::fs::read_dir(keyspace.path().join(FILES_FOLDER)) {
            for file in files.flatten() {
                let number = file.file_name().to_str().and_then(|name| name.parse::<u64>().ok());
                if let Some(number) = number
                    && self.suspects.iter().any(|range| range.contains(&number))
                    && !used.contains(&number)
                {
                    let _ = std::fs::remove_file(file.path());
                }
            }
        }
        self.suspects.clear();
    }
}
