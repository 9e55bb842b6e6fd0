//! The part of the log that belongs to a copy of the tables' files.
//!
//! A copy of all files as of one commit, and of the log up to that commit, is what a crash at that moment leaves: recovery makes the
//! same tables of it. While the log is copied its segments stay ([`RedoLog::hold`]).

use super::checkpoint::Checkpoint;
use super::{RedoLog, segment};
use std::path::PathBuf;
use std::sync::atomic::Ordering;

/// From where to where the log is needed.
pub(crate) struct LogExtent {
    /// The file of the checkpoint, and its content.
    pub checkpoint: (PathBuf, Vec<u8>),
    /// The files of the segments, each with the bytes that are needed of it from its beginning on.
    pub segments: Vec<(PathBuf, u64)>,
}

impl RedoLog {
    /// Keeps all segments until [`RedoLog::release`].
    pub fn hold(&self) {
        self.holds.fetch_add(1, Ordering::AcqRel);
    }

    /// Ends one [`RedoLog::hold`].
    pub fn release(&self) {
        self.holds.fetch_sub(1, Ordering::AcqRel);
    }

    pub(super) fn is_held(&self) -> bool {
        self.holds.load(Ordering::Acquire) > 0
    }

    /// All of the log up to now. The caller holds the lock under which batches are appended, has synced what was appended, and holds the
    /// segments.
    pub fn extent(&self) -> LogExtent {
        // The order of `begin_segment`: it adds a full segment while it holds the tail.
        let tail = self.tail.lock();
        let full = self.full.lock();
        let place = full.front().map_or_else(|| tail.begins(), |oldest| oldest.begins);
        let checkpoint = Checkpoint { place, is_begun: true, end: None, ..self.checkpoint };
        let mut segments: Vec<_> =
            full.iter().map(|full| (segment::path_of(&self.folder, full.number), full.bytes)).collect();
        segments.push((segment::path_of(&self.folder, tail.segment.number), tail.buffer_at));
        LogExtent { checkpoint: (Checkpoint::path(&self.folder), checkpoint.file_content().to_vec()), segments }
    }
}
