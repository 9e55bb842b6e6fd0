//! One segment of a manifest.

use crate::address::RowAddress;
use crate::entry::SegmentEntry;
use roaring::RoaringBitmap;
use squall_catalog::TableId;
use squall_column_store::Segment;
use squall_row_store::ReadAt;
use std::os::unix::fs::FileExt as _;
use std::sync::Arc;

/// A segment with what is said of it in a manifest.
#[derive(Debug)]
pub struct ListedSegment {
    /// The table or partition that has it.
    pub(crate) storage: TableId,
    pub(crate) number: u64,
    pub(crate) segment: Arc<Segment>,
    pub(crate) entry: SegmentEntry,
}

impl ReadAt for ListedSegment {
    fn read_at(&self, bytes: &mut [u8], position: u64) -> std::io::Result<usize> {
        self.segment.file().read_at(bytes, position)
    }
}

impl ListedSegment {
    /// The address of the row at a position.
    pub fn address(&self, position: u32) -> RowAddress {
        RowAddress { storage: self.storage, segment: self.number, position }
    }

    /// Its number, which is its file's name.
    pub fn number(&self) -> u64 {
        self.number
    }

    /// The segment.
    pub fn segment(&self) -> &Arc<Segment> {
        &self.segment
    }

    /// Positions of rows that are deleted, or that a later segment has in another version.
    pub fn deleted(&self) -> &RoaringBitmap {
        &self.entry.deleted
    }

    /// Rows that are not deleted.
    pub fn live_rows(&self) -> u64 {
        u64::from(self.entry.identity.rows) - self.entry.deleted.len()
    }

    /// Bytes of the file.
    pub fn file_bytes(&self) -> u64 {
        self.entry.identity.file_bytes
    }
}
