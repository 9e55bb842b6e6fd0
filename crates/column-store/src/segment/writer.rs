//! Writes a segment: Parquet row groups, then our blocks, then the footer, then a sync.

use super::directory::{ColumnEntry, Directory, IndexBlock};
use super::parquet_form::{Form, parquet_type, to_parquet};
use super::{
    Block, ColumnSpec, DIRECTORY_KEY, FORMAT, RAW_COLUMNS_KEY, ROW_GROUP_ROWS, SEGMENT_ROWS_MAX, SegmentIdentity,
};
use crate::coded::{CodedColumn, CodedValues};
use crate::domain::ColumnType;
use crate::error::{Error, Result};
use crate::index::{ElementIndex, IndexChoice, build_index};
use crate::parallel::map_in_parallel;
use crate::zone_map::ZoneMap;
use arrow::array::ArrayRef;
use arrow::datatypes::{Field, Schema};
use parquet::arrow::ArrowWriter;
use parquet::arrow::arrow_writer::{ArrowWriterOptions, compute_leaves};
use parquet::basic::{Compression as ParquetCompression, Encoding, ZstdLevel};
use parquet::file::metadata::KeyValue;
use parquet::file::properties::{EnabledStatistics, WriterProperties};
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::types::ColumnPath;
use squall_accounting::file_use::{COLUMN_SEGMENT, MeteredFile};
use squall_types::durable_files::sync_name;
use std::collections::HashSet;
use std::ffi::OsStr;
use std::fs::File;
use std::io::Write;
use std::path::Path;
use std::sync::Arc;
use xxhash_rust::xxh3::xxh3_64;

/// How pages are compressed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Compression {
    /// Zstandard, level 3: the smaller files.
    #[default]
    Zstd,
    /// LZ4: faster to write and read.
    Lz4,
    /// Not at all.
    None,
}

/// A Parquet dictionary of a row group's chunk may be as large; every column that we code by dictionary then has one.
const DICTIONARY_PAGE_BYTES_MAX: usize = 8 << 20;

/// Asked before each write whether the disk has space for this many bytes.
type Room<'a> = &'a (dyn Fn(u64) -> std::io::Result<()> + Sync);

/// Writes one segment.
pub struct SegmentWriter<'a> {
    path: &'a Path,
    columns: &'a [ColumnSpec],
    compression: Compression,
    threads: usize,
    room: Room<'a>,
}

/// A file that grows while the disk has space.
struct GrowingFile<'f> {
    file: &'f MeteredFile,
    room: Room<'f>,
}

impl Write for GrowingFile<'_> {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        (self.room)(bytes.len() as u64)?;
        self.file.meter().write(bytes.len(), || self.file.file().write(bytes))
    }

    fn flush(&mut self) -> std::io::Result<()> {
        self.file.file().flush()
    }
}

/// What happens to a column beside its Parquet chunks.
struct Prepared {
    form: Form,
    encoding: Option<Encoding>,
    zones: ZoneMap,
    dictionary: Option<Vec<u8>>,
    index: Option<PreparedIndex>,
}

/// The block of an index.
enum PreparedIndex {
    Bitmaps(Vec<u8>),
    Elements(ElementIndex),
}

impl<'a> SegmentWriter<'a> {
    /// A segment with these columns at a path where no file is.
    pub fn new(path: &'a Path, columns: &'a [ColumnSpec], compression: Compression) -> SegmentWriter<'a> {
        SegmentWriter { path, columns, compression, threads: 1, room: &|_| Ok(()) }
    }

    /// Codes and compresses columns on up to as many threads, the caller's among them.
    pub fn with_threads(self, threads: usize) -> SegmentWriter<'a> {
        SegmentWriter { threads, ..self }
    }

    /// Asks before each write of so many bytes whether the disk has space for them; an error is that of the write.
    pub fn with_room(self, room: &'a (dyn Fn(u64) -> std::io::Result<()> + Sync)) -> SegmentWriter<'a> {
        SegmentWriter { room, ..self }
    }

    /// Writes the segment and syncs it and its folder. The arrays are the columns' values in execution's form, in the order
    /// that rows keep: by primary key if the table has one.
    ///
    /// # Errors
    /// [`Error::Invalid`] if arrays and columns do not fit together or a limit is exceeded, [`Error::Io`] if the file cannot
    /// be written. No file is left then.
    pub fn write(&self, arrays: &[ArrayRef]) -> Result<SegmentIdentity> {
        let columns: Vec<&[ArrayRef]> = arrays.iter().map(std::slice::from_ref).collect();
        self.write_parts(&columns)
    }

    /// As [`SegmentWriter::write`], of columns whose values come in several arrays, one after the other.
    ///
    /// # Errors
    /// The same.
    pub fn write_parts(&self, arrays: &[&[ArrayRef]]) -> Result<SegmentIdentity> {
        let rows_of = |parts: &[ArrayRef]| parts.iter().map(|part| part.len()).sum();
        let rows = arrays.first().map_or(0, |parts| rows_of(parts));
        if arrays.len() != self.columns.len() || rows == 0 || arrays.iter().any(|parts| rows_of(parts) != rows) {
            return Err(Error::invalid("a segment needs values for all columns, as many of each"));
        }
        if rows > SEGMENT_ROWS_MAX {
            return Err(Error::invalid(format!("a segment has {SEGMENT_ROWS_MAX} rows at most, not {rows}")));
        }
        let file = File::options().read(true).write(true).create_new(true).open(self.path);
        let file = file.map_err(|error| Error::io(self.path, error))?;
        let file = MeteredFile::new(file, COLUMN_SEGMENT, self.path);
        let written = self.write_file(&file, arrays, rows);
        if written.is_err() {
            // What is left of a failed attempt has no entry anywhere, so the next start would remove it, too.
            std::fs::remove_file(self.path).map_err(|error| Error::io(self.path, error))?;
        }
        written
    }

    fn write_file(&self, file: &MeteredFile, arrays: &[&[ArrayRef]], rows: usize) -> Result<SegmentIdentity> {
        let prepared = map_in_parallel(self.threads, arrays.to_vec(), |ordinal, parts| {
            Prepared::new(&self.columns[ordinal], parts)
        });
        let prepared = prepared.into_iter().collect::<Result<Vec<Prepared>>>()?;
        let mut writer = self.write_row_groups(file, arrays, rows, &prepared)?;
        writer.flush().map_err(|error| Error::io(self.path, error))?;
        let mut blocks = BlockWriter { path: self.path, writer: &mut writer };
        let mut directory = Directory { rows: rows as u32, columns: Vec::with_capacity(self.columns.len()) };
        for (ordinal, (column, prepared)) in self.columns.iter().zip(prepared).enumerate() {
            directory.columns.push(ColumnEntry {
                id: column.id,
                name: column.name.clone(),
                column_type: column.column_type,
                form: prepared.form,
                chunks: blocks.chunks(file, ordinal)?,
                dictionary: prepared.dictionary.map(|bytes| blocks.write(&bytes)).transpose()?,
                index: match prepared.index {
                    None => None,
                    Some(PreparedIndex::Bitmaps(bytes)) => Some(IndexBlock::Bitmaps(blocks.write(&bytes)?)),
                    Some(PreparedIndex::Elements(index)) => Some(IndexBlock::Elements(blocks.write(index.encode())?)),
                },
                zones: prepared.zones,
            });
        }
        let block = blocks.write(&directory.encode())?;
        let place = format!("{FORMAT} {} {} {:016x}", block.offset, block.bytes, block.checksum);
        writer.append_key_value_metadata(KeyValue::new(DIRECTORY_KEY.to_string(), place));
        self.finish(writer, file, rows as u32)
    }

    /// Ends the file and has it and its name on the disk.
    fn finish(
        &self,
        writer: SerializedFileWriter<GrowingFile<'_>>,
        file: &MeteredFile,
        rows: u32,
    ) -> Result<SegmentIdentity> {
        let io_error = |error| Error::io(self.path, error);
        let footer_start = writer.bytes_written() as u64;
        writer.close().map_err(|error| self.parquet_error(error))?;
        file.meter().other(|| file.file().sync_all()).map_err(io_error)?;
        sync_name(self.path).map_err(io_error)?;
        let file_bytes = file.file().metadata().map_err(io_error)?.len();
        let mut footer = vec![0; (file_bytes - footer_start) as usize];
        file.read_exact_at(&mut footer, footer_start).map_err(io_error)?;
        Ok(SegmentIdentity { file_bytes, footer_checksum: xxh3_64(&footer), rows })
    }

    fn write_row_groups<'f>(
        &'f self,
        file: &'f MeteredFile,
        arrays: &[&[ArrayRef]],
        rows: usize,
        prepared: &[Prepared],
    ) -> Result<SerializedFileWriter<GrowingFile<'f>>> {
        let parquet_error = |error| self.parquet_error(error);
        let field = |(column, prepared): (&ColumnSpec, &Prepared)| {
            Field::new(&column.name, parquet_type(column.column_type, prepared.form), true)
        };
        let schema = Arc::new(Schema::new(self.columns.iter().zip(prepared).map(field).collect::<Vec<_>>()));
        let options =
            ArrowWriterOptions::new().with_properties(self.properties(prepared)).with_skip_arrow_metadata(true);
        let writer = ArrowWriter::try_new_with_options(GrowingFile { file, room: self.room }, schema.clone(), options)
            .map_err(parquet_error)?;
        let (mut writer, row_groups) = writer.into_serialized_writer().map_err(parquet_error)?;
        for (number, start) in (0..rows).step_by(ROW_GROUP_ROWS).enumerate() {
            let length = ROW_GROUP_ROWS.min(rows - start);
            let columns = row_groups.create_column_writers(number).map_err(parquet_error)?;
            let chunks = map_in_parallel(self.threads, columns, |ordinal, mut column| {
                let spec = &self.columns[ordinal];
                for array in slices(arrays[ordinal], start, length) {
                    let array = to_parquet(spec.column_type, prepared[ordinal].form, &array)
                        .map_err(|error| Error::invalid(format!("column {}: {error}", spec.name)))?;
                    for leaf in compute_leaves(schema.field(ordinal), &array).map_err(parquet_error)? {
                        column.write(&leaf).map_err(parquet_error)?;
                    }
                }
                column.close().map_err(parquet_error)
            });
            let mut row_group = writer.next_row_group().map_err(parquet_error)?;
            for chunk in chunks {
                chunk?.append_to_row_group(&mut row_group).map_err(parquet_error)?;
            }
            row_group.close().map_err(parquet_error)?;
        }
        Ok(writer)
    }

    fn properties(&self, prepared: &[Prepared]) -> WriterProperties {
        let compression = match self.compression {
            Compression::Zstd => ParquetCompression::ZSTD(ZstdLevel::default()),
            Compression::Lz4 => ParquetCompression::LZ4_RAW,
            Compression::None => ParquetCompression::UNCOMPRESSED,
        };
        let columns = || self.columns.iter().zip(prepared);
        let raw: Vec<&str> = columns()
            .filter(|(column, prepared)| prepared.form == Form::Raw && column.column_type != ColumnType::Float)
            .map(|(column, _)| &*column.name)
            .collect();
        let raw = (!raw.is_empty()).then(|| vec![KeyValue::new(RAW_COLUMNS_KEY.to_string(), raw.join(","))]);
        let mut properties = WriterProperties::builder()
            .set_created_by(concat!("squall ", env!("CARGO_PKG_VERSION")).to_string())
            .set_compression(compression)
            .set_max_row_group_row_count(Some(ROW_GROUP_ROWS))
            .set_dictionary_page_size_limit(DICTIONARY_PAGE_BYTES_MAX)
            .set_statistics_enabled(EnabledStatistics::Chunk)
            .set_offset_index_disabled(true)
            .set_key_value_metadata(raw);
        for (column, prepared) in columns() {
            if let Some(encoding) = prepared.encoding {
                let path = ColumnPath::from(column.name.clone());
                properties = properties.set_column_dictionary_enabled(path.clone(), false);
                properties = properties.set_column_encoding(path, encoding);
            }
        }
        properties.build()
    }

    fn parquet_error(&self, error: parquet::errors::ParquetError) -> Error {
        match error {
            parquet::errors::ParquetError::External(error) => match error.downcast::<std::io::Error>() {
                Ok(error) => Error::io(self.path, *error),
                Err(error) => Error::invalid(error.to_string()),
            },
            error => Error::invalid(error.to_string()),
        }
    }
}

/// The values from `start` on, `length` of them.
fn slices(parts: &[ArrayRef], start: usize, length: usize) -> Vec<ArrayRef> {
    let (mut skipped, mut left) = (start, length);
    let mut slices = Vec::new();
    for part in parts {
        let from = skipped.min(part.len());
        let taken = left.min(part.len() - from);
        if taken > 0 {
            slices.push(part.slice(from, taken));
        }
        (skipped, left) = (skipped - from, left - taken);
    }
    slices
}

impl Prepared {
    fn new(column: &ColumnSpec, parts: &[ArrayRef]) -> Result<Prepared> {
        let coded = CodedColumn::from_arrays(column.column_type, parts)?;
        let dictionary = match coded.values() {
            CodedValues::Dictionary { dictionary, .. } => Some(dictionary.encode()),
            _ => None,
        };
        Ok(Prepared {
            form: Form::choose(column.column_type, parts),
            encoding: plain_encoding(&coded),
            zones: ZoneMap::build(&coded),
            dictionary,
            index: match &column.index {
                IndexChoice::Elements(of) => Some(PreparedIndex::Elements(ElementIndex::build(&coded, of))),
                choice => build_index(&coded, choice).map(|index| PreparedIndex::Bitmaps(index.encode())),
            },
        })
    }
}

/// The encoding of a column whose values repeat too little for a Parquet dictionary; `None` if one pays.
fn plain_encoding(column: &CodedColumn) -> Option<Encoding> {
    match column.values() {
        CodedValues::Integers(integers) if column.rows() > ROW_GROUP_ROWS / 4 => {
            (integers.codes.bits() > 16).then_some(Encoding::DELTA_BINARY_PACKED)
        }
        CodedValues::Bytes(_) => Some(Encoding::PLAIN),
        _ => None,
    }
}

/// Writes blocks between the row groups and the footer.
struct BlockWriter<'a, 'f> {
    path: &'a Path,
    writer: &'a mut SerializedFileWriter<GrowingFile<'f>>,
}

impl BlockWriter<'_, '_> {
    fn write(&mut self, bytes: &[u8]) -> Result<Block> {
        let block =
            Block { offset: self.writer.bytes_written() as u64, bytes: bytes.len() as u64, checksum: xxh3_64(bytes) };
        self.writer.write_all(bytes).map_err(|error| Error::io(self.path, error))?;
        Ok(block)
    }

    /// The chunks of a column that were written, read back for their checksums.
    fn chunks(&self, file: &MeteredFile, ordinal: usize) -> Result<Vec<Block>> {
        let chunk = |group: &parquet::file::metadata::RowGroupMetaData| {
            let (offset, bytes) = group.column(ordinal).byte_range();
            let mut chunk = vec![0; bytes as usize];
            file.read_exact_at(&mut chunk, offset).map_err(|error| Error::io(self.path, error))?;
            Ok(Block { offset, bytes, checksum: xxh3_64(&chunk) })
        };
        self.writer.flushed_row_groups().iter().map(chunk).collect()
    }
}

/// Removes segment files that no entry names: remains of seals and merges that did not commit. To be called before anything is
/// written to the folder. Returns how many were removed.
///
/// # Errors
/// [`Error::Io`] if the folder cannot be read or a file not be removed.
pub fn remove_unlisted_segments(folder: &Path, listed: &HashSet<&OsStr>) -> Result<usize> {
    let io_error = |error| Error::io(folder, error);
    let mut removed = 0;
    for entry in std::fs::read_dir(folder).map_err(io_error)? {
        let entry = entry.map_err(io_error)?;
        let name = entry.file_name();
        let is_segment = Path::new(&name).extension().is_some_and(|extension| extension == "parquet");
        if is_segment && !listed.contains(&*name) {
            std::fs::remove_file(entry.path()).map_err(|error| Error::io(&entry.path(), error))?;
            removed += 1;
        }
    }
    Ok(removed)
}
