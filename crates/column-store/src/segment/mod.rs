//! Segments: immutable Parquet files with our indexes between the row groups and the footer.
//!
//! The layout is in `docs/formats/segment.md`. Reading order: `parquet_form`, `directory`, `writer`, `reader`.

mod directory;
mod parquet_form;
mod reader;
mod writer;

pub use directory::Directory;
pub use reader::Segment;
pub use writer::{Compression, SegmentWriter, remove_unlisted_segments};

use crate::domain::ColumnType;
use crate::index::IndexChoice;

/// Most rows of a segment.
pub const SEGMENT_ROWS_MAX: usize = 1 << 20;

/// Rows of a row group; the last one of a segment may have fewer.
pub const ROW_GROUP_ROWS: usize = 1 << 17;

/// A column of a segment that is to be written.
#[derive(Clone, Debug, PartialEq)]
pub struct ColumnSpec {
    /// The column's id in its table, which never changes.
    pub id: u32,
    /// Its name, for other readers of the file and for messages.
    pub name: String,
    /// Its stored type.
    pub column_type: ColumnType,
    /// Which index it gets.
    pub index: IndexChoice,
}

/// The description of a segment's file in its entry of the row store. It identifies every byte of the file, because the footer has
/// the checksum of the directory, and the directory has the checksums of all other parts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SegmentIdentity {
    /// Length of the file in bytes.
    pub file_bytes: u64,
    /// xxh3-64 of the Parquet footer: metadata, its length, and the magic number at the end.
    pub footer_checksum: u64,
    /// Rows.
    pub rows: u32,
}

/// Bytes of the file with their checksum.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Block {
    pub(crate) offset: u64,
    pub(crate) bytes: u64,
    pub(crate) checksum: u64,
}

/// Key of the file's key-value metadata that says where the directory is: `<format> <offset> <bytes> <checksum, hex>`.
const DIRECTORY_KEY: &str = "squall.directory";
/// Format 1 is the only one.
const FORMAT: u32 = 1;
/// Key of the columns that hold execution's own integers because Parquet has no such value: their names, comma-separated.
const RAW_COLUMNS_KEY: &str = "squall.raw_columns";
