//! Reads a segment. It checks each checksum before it decodes a byte.

use super::directory::{ColumnEntry, Directory, IndexBlock};
use super::parquet_form::from_parquet;
use super::{Block, DIRECTORY_KEY, FORMAT, ROW_GROUP_ROWS, SegmentIdentity};
use crate::coded::{CodedColumn, Dictionary};
use crate::domain::ColumnType;
use crate::error::{Error, Result};
use crate::index::{BitmapIndex, ElementIndex};
use crate::zone_map::ZoneMap;
use arrow::array::{Array, ArrayRef};
use bytes::{Buf, Bytes};
use parquet::arrow::ProjectionMask;
use parquet::arrow::arrow_reader::{ArrowReaderMetadata, ArrowReaderOptions, ParquetRecordBatchReaderBuilder};
use parquet::errors::ParquetError;
use parquet::file::metadata::{ParquetMetaData, ParquetMetaDataReader};
use parquet::file::reader::{ChunkReader, Length};
use squall_accounting::file_use::{COLUMN_SEGMENT, MeteredFile};
use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use xxhash_rust::xxh3::xxh3_64;

static NEXT_SERIAL: AtomicU64 = AtomicU64::new(0);

/// Length of the metadata, u32, and the magic number.
const FOOTER_TAIL_BYTES: u64 = 8;
const MAGIC: [u8; 4] = *b"PAR1";

/// An open segment. Zone maps are in memory; everything else is read when asked for, and checked each time.
#[derive(Debug)]
pub struct Segment {
    serial: u64,
    path: PathBuf,
    file: MeteredFile,
    identity: SegmentIdentity,
    metadata: ArrowReaderMetadata,
    directory: Directory,
}

impl Segment {
    /// Opens the segment that an entry names.
    ///
    /// # Errors
    /// [`Error::Corrupt`] if the file is not the one that was written, as far as length, footer and directory tell.
    pub fn open(path: &Path, identity: SegmentIdentity) -> Result<Segment> {
        let corrupt = |block: &str, problem: String| Error::corrupt(path, None, block, problem);
        let file = File::open(path).map_err(|error| Error::io(path, error))?;
        let file = MeteredFile::new(file, COLUMN_SEGMENT, path);
        let file_bytes = file.file().metadata().map_err(|error| Error::io(path, error))?.len();
        if file_bytes != identity.file_bytes || file_bytes < FOOTER_TAIL_BYTES {
            let problem = format!("has {file_bytes} bytes, not the {} that were written", identity.file_bytes);
            return Err(corrupt("file", problem));
        }
        let mut magic = [0; MAGIC.len()];
        file.read_exact_at(&mut magic, 0).map_err(|error| Error::io(path, error))?;
        if magic != MAGIC {
            return Err(corrupt("header", "has no magic number".to_string()));
        }
        let metadata = read_footer(path, &file, identity)?;
        let block = directory_block(&metadata).map_err(|problem| corrupt("footer", problem))?;
        let bytes = read_block(path, &file, file_bytes, None, "directory", block)?;
        let directory = Directory::decode(&bytes).map_err(|problem| corrupt("directory", problem))?;
        let parquet_columns = metadata.file_metadata().schema_descr().num_columns();
        if directory.rows != identity.rows
            || directory.columns.len() != parquet_columns
            || metadata.num_row_groups() != directory.row_groups()
        {
            return Err(corrupt("directory", "is of other rows or columns than the footer or the entry".to_string()));
        }
        let options = ArrowReaderOptions::new().with_skip_arrow_metadata(true);
        let metadata = ArrowReaderMetadata::try_new(Arc::new(metadata), options)
            .map_err(|error| corrupt("footer", error.to_string()))?;
        let serial = NEXT_SERIAL.fetch_add(1, Ordering::Relaxed);
        Ok(Segment { serial, path: path.to_path_buf(), file, identity, metadata, directory })
    }

    /// A number that no other segment opened by this process has.
    pub fn serial(&self) -> u64 {
        self.serial
    }

    /// The file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The file itself, for those who copy it.
    pub fn file(&self) -> &File {
        self.file.file()
    }

    /// What its entry says.
    pub fn identity(&self) -> SegmentIdentity {
        self.identity
    }

    /// What the file holds.
    pub fn directory(&self) -> &Directory {
        &self.directory
    }

    /// Rows, deleted ones included.
    pub fn rows(&self) -> usize {
        self.directory.rows as usize
    }

    /// Number of columns.
    pub fn column_count(&self) -> usize {
        self.directory.columns.len()
    }

    /// The ordinal of the column that the table calls by an id; `None` if the segment is older than the column.
    pub fn column_ordinal(&self, id: u32) -> Option<usize> {
        self.directory.columns.iter().position(|column| column.id == id)
    }

    /// A column's name when the segment was written.
    ///
    /// # Panics
    /// As all that follow, if there is no column of that ordinal.
    pub fn column_name(&self, ordinal: usize) -> &str {
        &self.directory.columns[ordinal].name
    }

    /// A column's stored type.
    pub fn column_type(&self, ordinal: usize) -> ColumnType {
        self.directory.columns[ordinal].column_type
    }

    /// A column's zone map.
    pub fn zone_map(&self, ordinal: usize) -> &ZoneMap {
        &self.directory.columns[ordinal].zones
    }

    /// Bytes of a column in the file: its data, and its dictionary and index.
    pub fn column_bytes(&self, ordinal: usize) -> (u64, u64) {
        let column = &self.directory.columns[ordinal];
        let of = |blocks: &[Block]| blocks.iter().map(|block| block.bytes).sum::<u64>();
        let index = column.index.map_or(0, |index| index.block().bytes);
        (of(&column.chunks), of(column.dictionary.as_slice()) + index)
    }

    /// Whether a column has an index, of either kind.
    pub fn has_index(&self, ordinal: usize) -> bool {
        self.directory.columns[ordinal].index.is_some()
    }

    /// Reads a column's dictionary; `None` if it has none.
    ///
    /// # Errors
    /// [`Error::Corrupt`] if the block is not what was written.
    pub fn dictionary(&self, ordinal: usize) -> Result<Option<Arc<Dictionary>>> {
        let column = &self.directory.columns[ordinal];
        let Some(block) = column.dictionary else { return Ok(None) };
        let bytes = self.block(column, "dictionary", block)?;
        Dictionary::decode(&bytes)
            .map(|dictionary| Some(Arc::new(dictionary)))
            .map_err(|problem| self.corrupt(column, "dictionary", problem))
    }

    /// Reads a column's bitmap index; `None` if it has none.
    ///
    /// # Errors
    /// [`Error::Corrupt`] if the block is not what was written.
    pub fn index(&self, ordinal: usize) -> Result<Option<BitmapIndex>> {
        let column = &self.directory.columns[ordinal];
        let Some(IndexBlock::Bitmaps(block)) = column.index else { return Ok(None) };
        let dictionary = self.dictionary(ordinal)?;
        let bytes = self.block(column, "bitmap index", block)?;
        BitmapIndex::decode(&bytes, column.column_type.domain(), dictionary.as_ref(), self.directory.rows)
            .map(Some)
            .map_err(|problem| self.corrupt(column, "bitmap index", problem))
    }

    /// Reads a column's index of elements; `None` if it has none.
    ///
    /// # Errors
    /// [`Error::Corrupt`] if the block is not what was written.
    pub fn elements(&self, ordinal: usize) -> Result<Option<ElementIndex>> {
        let column = &self.directory.columns[ordinal];
        let Some(IndexBlock::Elements(block)) = column.index else { return Ok(None) };
        let bytes = self.block(column, "index of elements", block)?;
        ElementIndex::decode(&bytes, self.directory.rows)
            .map(Some)
            .map_err(|problem| self.corrupt(column, "index of elements", problem))
    }

    /// Reads a column as codes.
    ///
    /// # Errors
    /// [`Error::Corrupt`] if a chunk is not what was written.
    pub fn column(&self, ordinal: usize) -> Result<CodedColumn> {
        let parts = self.arrays(ordinal)?;
        let column = &self.directory.columns[ordinal];
        CodedColumn::from_arrays(column.column_type, &parts)
    }

    /// Reads a column in execution's form, one array per row group.
    ///
    /// # Errors
    /// [`Error::Corrupt`] if a chunk is not what was written.
    pub fn arrays(&self, ordinal: usize) -> Result<Vec<ArrayRef>> {
        (0..self.directory.row_groups()).map(|group| self.chunk(ordinal, group)).collect()
    }

    /// Reads everything and compares all checksums, as CHECK TABLE does.
    ///
    /// # Errors
    /// [`Error::Corrupt`] for the first block that is not what was written.
    pub fn check(&self) -> Result<()> {
        for ordinal in 0..self.column_count() {
            self.index(ordinal)?;
            self.elements(ordinal)?;
            self.dictionary(ordinal)?;
            self.column(ordinal)?;
        }
        Ok(())
    }

    fn chunk(&self, ordinal: usize, group: usize) -> Result<ArrayRef> {
        let column = &self.directory.columns[ordinal];
        let name = format!("row group {group}");
        let block = column.chunks[group];
        let chunk = VerifiedChunk {
            file_bytes: self.identity.file_bytes,
            offset: block.offset,
            bytes: self.block(column, &name, block)?,
        };
        let corrupt = |problem: String| self.corrupt(column, &name, problem);
        let mask = ProjectionMask::leaves(self.metadata.parquet_schema(), [ordinal]);
        let mut batches = ParquetRecordBatchReaderBuilder::new_with_metadata(chunk, self.metadata.clone())
            .with_projection(mask)
            .with_row_groups(vec![group])
            .with_batch_size(ROW_GROUP_ROWS)
            .build()
            .map_err(|error| corrupt(error.to_string()))?;
        let rows = ROW_GROUP_ROWS.min(self.rows() - group * ROW_GROUP_ROWS);
        let batch = batches.next().ok_or_else(|| corrupt("has no rows".to_string()))?;
        let batch = batch.map_err(|error| corrupt(error.to_string()))?;
        let array = from_parquet(column.column_type, column.form, batch.column(0));
        let array = array.map_err(|error| corrupt(error.to_string()))?;
        if array.len() == rows { Ok(array) } else { Err(corrupt(format!("has {} rows, not {rows}", array.len()))) }
    }

    fn block(&self, column: &ColumnEntry, name: &str, block: Block) -> Result<Bytes> {
        read_block(&self.path, &self.file, self.identity.file_bytes, Some(&column.name), name, block)
    }

    fn corrupt(&self, column: &ColumnEntry, block: &str, problem: String) -> Error {
        Error::corrupt(&self.path, Some(&column.name), block, problem)
    }
}

/// Reads a block and compares its checksum.
fn read_block(
    path: &Path,
    file: &MeteredFile,
    file_bytes: u64,
    column: Option<&str>,
    name: &str,
    block: Block,
) -> Result<Bytes> {
    let inside = block.offset.checked_add(block.bytes).is_some_and(|end| end <= file_bytes);
    if !inside {
        return Err(Error::corrupt(path, column, name, "lies outside the file"));
    }
    let mut bytes = vec![0; block.bytes as usize];
    file.read_exact_at(&mut bytes, block.offset).map_err(|error| Error::io(path, error))?;
    if xxh3_64(&bytes) == block.checksum {
        Ok(Bytes::from(bytes))
    } else {
        Err(Error::corrupt(path, column, name, "checksum mismatch"))
    }
}

fn read_footer(path: &Path, file: &MeteredFile, identity: SegmentIdentity) -> Result<ParquetMetaData> {
    let corrupt = |problem: &str| Error::corrupt(path, None, "footer", problem);
    let file_bytes = identity.file_bytes;
    let tail_start = file_bytes - FOOTER_TAIL_BYTES;
    let mut tail = [0; FOOTER_TAIL_BYTES as usize];
    file.read_exact_at(&mut tail, tail_start).map_err(|error| Error::io(path, error))?;
    let [a, b, c, d, ..] = tail;
    let metadata_bytes = u64::from(u32::from_le_bytes([a, b, c, d]));
    let offset = tail_start.checked_sub(metadata_bytes).ok_or_else(|| corrupt("does not fit the file"))?;
    let block = Block { offset, bytes: metadata_bytes + FOOTER_TAIL_BYTES, checksum: identity.footer_checksum };
    let footer = read_block(path, file, file_bytes, None, "footer", block)?;
    if !footer.ends_with(&MAGIC) {
        return Err(corrupt("has no magic number"));
    }
    ParquetMetaDataReader::decode_metadata(&footer[..metadata_bytes as usize])
        .map_err(|error| corrupt(&error.to_string()))
}

fn directory_block(metadata: &ParquetMetaData) -> std::result::Result<Block, String> {
    let entries = metadata.file_metadata().key_value_metadata();
    let entry = entries.and_then(|entries| entries.iter().find(|entry| entry.key == DIRECTORY_KEY));
    let place = entry.and_then(|entry| entry.value.as_deref()).ok_or("names no directory")?;
    let mut words = place.split(' ');
    let mut word = || words.next().unwrap_or_default();
    if word().parse() != Ok(FORMAT) {
        return Err(format!("is of another format than {FORMAT}: {place}"));
    }
    let unreadable = |_| format!("has an unreadable place of the directory: {place}");
    let (offset, bytes) = (word().parse().map_err(unreadable)?, word().parse().map_err(unreadable)?);
    Ok(Block { offset, bytes, checksum: u64::from_str_radix(word(), 16).map_err(unreadable)? })
}

/// A column chunk that was read and checked, at its position in the file. The Parquet reader sees nothing else.
struct VerifiedChunk {
    file_bytes: u64,
    offset: u64,
    bytes: Bytes,
}

impl VerifiedChunk {
    fn rest_from(&self, start: u64) -> std::result::Result<Bytes, ParquetError> {
        let outside = || ParquetError::General("the footer names bytes outside of the column's chunk".to_string());
        let start = start.checked_sub(self.offset).and_then(|start| usize::try_from(start).ok()).ok_or_else(outside)?;
        if start <= self.bytes.len() { Ok(self.bytes.slice(start..)) } else { Err(outside()) }
    }
}

impl Length for VerifiedChunk {
    fn len(&self) -> u64 {
        self.file_bytes
    }
}

impl ChunkReader for VerifiedChunk {
    type T = bytes::buf::Reader<Bytes>;

    fn get_read(&self, start: u64) -> std::result::Result<Self::T, ParquetError> {
        Ok(self.rest_from(start)?.reader())
    }

    fn get_bytes(&self, start: u64, length: usize) -> std::result::Result<Bytes, ParquetError> {
        let rest = self.rest_from(start)?;
        if length > rest.len() {
            return Err(ParquetError::EOF("the footer names bytes past the end of the column's chunk".to_string()));
        }
        Ok(rest.slice(..length))
    }
}
