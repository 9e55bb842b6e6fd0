//! Writing a segment: Parquet row groups, then our blocks, then the footer, then a sync.

use super::directory::{ColumnEntry, Directory};
use super::parquet_form::{Form, parquet_type, to_parquet};
use super::{
    Block, ColumnSpec, DIRECTORY_KEY, FORMAT, RAW_COLUMNS_KEY, ROW_GROUP_ROWS, SEGMENT_ROWS_MAX, SegmentIdentity,
};
use crate::bytes::Encoder;
use crate::coded::{CodedColumn, CodedValues};
use crate::domain::ColumnType;
use crate::error::{Error, Result};
use crate::index::{IndexChoice, build_index};
use crate::zone_map::ZoneMap;
use arrow::array::{ArrayRef, RecordBatch};
use arrow::datatypes::{Field, Schema};
use parquet::arrow::ArrowWriter;
use parquet::arrow::arrow_writer::ArrowWriterOptions;
use parquet::basic::{Compression as ParquetCompression, Encoding, ZstdLevel};
use parquet::file::metadata::KeyValue;
use parquet::file::properties::{EnabledStatistics, WriterProperties};
use parquet::schema::types::ColumnPath;
use std::collections::HashSet;
use std::ffi::OsStr;
use std::fs::File;
use std::os::unix::fs::FileExt;
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
}

/// A Parquet dictionary of a row group's chunk may be as large; every column that we code by dictionary then has one.
const DICTIONARY_PAGE_BYTES_MAX: usize = 8 << 20;

/// [`IndexChoice::Auto`] keeps an index of at most this part of the column's own bytes.
const AUTO_INDEX_SHARE: u64 = 16;

/// Writes one segment.
pub struct SegmentWriter<'a> {
    path: &'a Path,
    columns: &'a [ColumnSpec],
    compression: Compression,
}

impl<'a> SegmentWriter<'a> {
    /// A segment with these columns at a path where no file is.
    pub fn new(path: &'a Path, columns: &'a [ColumnSpec], compression: Compression) -> SegmentWriter<'a> {
        SegmentWriter { path, columns, compression }
    }

    /// Writes the segment and syncs it and its folder. The arrays are the columns' values in execution's form, in the order
    /// that rows keep: by primary key if the table has one.
    ///
    /// # Errors
    /// [`Error::Invalid`] if arrays and columns do not fit together or a limit is exceeded, [`Error::Io`] if the file cannot
    /// be written. No file is left then.
    pub fn write(&self, arrays: &[ArrayRef]) -> Result<SegmentIdentity> {
        let rows = arrays.first().map_or(0, |array| array.len());
        if arrays.len() != self.columns.len() || rows == 0 || arrays.iter().any(|array| array.len() != rows) {
            return Err(Error::invalid("a segment needs one array per column, all with as many rows"));
        }
        if rows > SEGMENT_ROWS_MAX {
            return Err(Error::invalid(format!("a segment has {SEGMENT_ROWS_MAX} rows at most, not {rows}")));
        }
        let file = File::options().read(true).write(true).create_new(true).open(self.path);
        let file = file.map_err(|error| Error::io(self.path, error))?;
        let written = self.write_file(&file, arrays, rows);
        if written.is_err() {
            // What is left of a failed attempt has no entry anywhere, so the next start would remove it, too.
            std::fs::remove_file(self.path).map_err(|error| Error::io(self.path, error))?;
        }
        written
    }

    fn write_file(&self, file: &File, arrays: &[ArrayRef], rows: usize) -> Result<SegmentIdentity> {
        let io_error = |error| Error::io(self.path, error);
        let coded = self.code(arrays)?;
        let forms: Vec<Form> =
            self.columns.iter().zip(arrays).map(|(column, array)| Form::choose(column.column_type, array)).collect();
        let mut writer = self.parquet_writer(file, &forms, &coded)?;
        self.write_row_groups(&mut writer, arrays, rows, &forms)?;
        writer.sync().map_err(io_error)?;
        let mut blocks = BlockWriter { path: self.path, writer: &mut writer };
        let mut directory = Directory { rows: rows as u32, columns: Vec::with_capacity(self.columns.len()) };
        for (ordinal, column) in self.columns.iter().enumerate() {
            let chunks = blocks.chunks(file, ordinal)?;
            let chunk_bytes: u64 = chunks.iter().map(|chunk| chunk.bytes).sum();
            let coded = &coded[ordinal];
            let dictionary = match coded.values() {
                CodedValues::Dictionary { dictionary, .. } => {
                    let mut out = Encoder::default();
                    dictionary.encode(&mut out);
                    Some(blocks.write(&out.bytes)?)
                }
                _ => None,
            };
            let index = match build_index(coded, column.index).map(|index| index.encode()) {
                Some(bytes)
                    if column.index != IndexChoice::Auto || bytes.len() as u64 * AUTO_INDEX_SHARE <= chunk_bytes =>
                {
                    Some(blocks.write(&bytes)?)
                }
                _ => None,
            };
            directory.columns.push(ColumnEntry {
                id: column.id,
                name: column.name.clone(),
                column_type: column.column_type,
                form: forms[ordinal],
                chunks,
                dictionary,
                index,
                zones: ZoneMap::build(coded),
            });
        }
        let block = blocks.write(&directory.encode())?;
        let place = format!("{FORMAT} {} {} {:016x}", block.offset, block.bytes, block.checksum);
        writer.append_key_value_metadata(KeyValue::new(DIRECTORY_KEY.to_string(), place));
        self.finish(writer, file, rows as u32)
    }

    /// Ends the file and has it and its name on the disk.
    fn finish(&self, writer: ArrowWriter<&File>, file: &File, rows: u32) -> Result<SegmentIdentity> {
        let io_error = |error| Error::io(self.path, error);
        let footer_start = writer.bytes_written() as u64;
        writer.close().map_err(|error| self.parquet_error(error))?;
        file.sync_all().map_err(io_error)?;
        let folder = self.path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
        File::open(folder).and_then(|folder| folder.sync_all()).map_err(io_error)?;
        let file_bytes = file.metadata().map_err(io_error)?.len();
        let mut footer = vec![0; (file_bytes - footer_start) as usize];
        file.read_exact_at(&mut footer, footer_start).map_err(io_error)?;
        Ok(SegmentIdentity { file_bytes, footer_checksum: xxh3_64(&footer), rows })
    }

    fn code(&self, arrays: &[ArrayRef]) -> Result<Vec<CodedColumn>> {
        let columns = self.columns.iter().zip(arrays);
        columns
            .map(|(column, array)| CodedColumn::from_arrays(column.column_type, std::slice::from_ref(array)))
            .collect()
    }

    fn write_row_groups(
        &self,
        writer: &mut ArrowWriter<&File>,
        arrays: &[ArrayRef],
        rows: usize,
        forms: &[Form],
    ) -> Result<()> {
        let schema = self.schema(forms);
        for start in (0..rows).step_by(ROW_GROUP_ROWS) {
            let length = ROW_GROUP_ROWS.min(rows - start);
            let columns = self.columns.iter().zip(forms).zip(arrays).map(|((column, form), array)| {
                to_parquet(column.column_type, *form, &array.slice(start, length))
                    .map_err(|error| Error::invalid(format!("column {}: {error}", column.name)))
            });
            let batch = RecordBatch::try_new(schema.clone(), columns.collect::<Result<Vec<_>>>()?)
                .map_err(|error| Error::invalid(error.to_string()))?;
            let written = writer.write(&batch).and_then(|()| writer.flush());
            written.map_err(|error| self.parquet_error(error))?;
        }
        Ok(())
    }

    fn schema(&self, forms: &[Form]) -> Arc<Schema> {
        let field = |(column, form): (&ColumnSpec, &Form)| {
            Field::new(&column.name, parquet_type(column.column_type, *form), true)
        };
        Arc::new(Schema::new(self.columns.iter().zip(forms).map(field).collect::<Vec<_>>()))
    }

    fn parquet_writer<'f>(
        &self,
        file: &'f File,
        forms: &[Form],
        coded: &[CodedColumn],
    ) -> Result<ArrowWriter<&'f File>> {
        let compression = match self.compression {
            Compression::Zstd => ParquetCompression::ZSTD(ZstdLevel::default()),
            Compression::Lz4 => ParquetCompression::LZ4_RAW,
        };
        let raw: Vec<&str> = self
            .columns
            .iter()
            .zip(forms)
            .filter(|(column, form)| **form == Form::Raw && column.column_type != ColumnType::Float)
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
        for (column, coded) in self.columns.iter().zip(coded) {
            if let Some(encoding) = plain_encoding(coded) {
                let path = ColumnPath::from(column.name.clone());
                properties = properties.set_column_dictionary_enabled(path.clone(), false);
                properties = properties.set_column_encoding(path, encoding);
            }
        }
        let options = ArrowWriterOptions::new().with_properties(properties.build()).with_skip_arrow_metadata(true);
        ArrowWriter::try_new_with_options(file, self.schema(forms), options).map_err(|error| self.parquet_error(error))
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
    writer: &'a mut ArrowWriter<&'f File>,
}

impl BlockWriter<'_, '_> {
    fn write(&mut self, bytes: &[u8]) -> Result<Block> {
        let block =
            Block { offset: self.writer.bytes_written() as u64, bytes: bytes.len() as u64, checksum: xxh3_64(bytes) };
        self.writer.write_all(bytes).map_err(|error| Error::io(self.path, error))?;
        Ok(block)
    }

    /// The chunks of a column that were written, read back for their checksums.
    fn chunks(&self, file: &File, ordinal: usize) -> Result<Vec<Block>> {
        let chunk = |group: &parquet::file::metadata::RowGroupMetaData| {
            let (offset, bytes) = group.column(ordinal).byte_range();
            let mut chunk = vec![0; bytes as usize];
            file.read_exact_at(&mut chunk, offset).map_err(|error| Error::io(self.path, error))?;
            Ok(Block { offset, bytes, checksum: xxh3_64(&chunk) })
        };
        self.writer.flushed_row_groups().iter().map(chunk).collect()
    }
}

/// Removes segment files that no entry names: what is left of seals and merges that were not committed. To be called before
/// anything is written to the folder. Returns how many were removed.
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
