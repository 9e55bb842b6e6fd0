//! Writes rows into a Parquet file.

use super::reason;
use crate::exchange::{converted, exchange_type};
use arrow::array::{Array, ArrayRef};
use arrow::datatypes::{Field, Schema, SchemaRef};
use arrow::record_batch::RecordBatch;
use parquet::arrow::ArrowSchemaConverter;
use parquet::arrow::arrow_writer::{ArrowWriter, ArrowWriterOptions};
use parquet::basic::{Compression, LogicalType, Repetition, Type as PhysicalType, ZstdLevel};
use parquet::errors::ParquetError;
use parquet::file::properties::WriterProperties;
use parquet::schema::types::{SchemaDescriptor, Type, TypePtr};
use squall_functions::arrow_map::value_at;
use squall_types::convert::to_text;
use squall_types::temporal::TimeZone;
use squall_types::{ErrorCode, SqlError, SqlResult, SqlType, Value};
use std::io::Write;
use std::sync::Arc;

/// Rows of a row group, at most.
const ROW_GROUP_ROWS: usize = 1 << 17;
/// What a row group may take in memory before it is written.
const ROW_GROUP_BYTES_MAX: usize = 64 << 20;

/// A value that Parquet has no form for.
#[derive(Debug)]
pub struct Unfit<'a> {
    /// The column's name.
    pub column: &'a str,
    /// The value as text.
    pub value: String,
    /// Its type as MySQL names it in errors.
    pub type_name: &'static str,
    /// Row, from 1.
    pub row: u64,
}

impl Unfit<'_> {
    /// As an error (1292).
    pub fn error(&self) -> SqlError {
        let Unfit { column, value, type_name, row } = self;
        SqlError::with_message(
            ErrorCode::TruncatedWrongValue,
            format!("Parquet has no {type_name} '{value}' of column '{column}' at row {row}; CAST it to CHAR"),
        )
    }
}

/// Why a file was not written.
#[derive(Debug)]
pub enum WriteError {
    /// The file cannot be written to.
    Io(std::io::Error),
    /// The rows cannot be written.
    Sql(SqlError),
}

impl From<SqlError> for WriteError {
    fn from(error: SqlError) -> Self {
        WriteError::Sql(error)
    }
}

impl From<ParquetError> for WriteError {
    fn from(error: ParquetError) -> Self {
        match error {
            ParquetError::External(error) => match error.downcast::<std::io::Error>() {
                Ok(error) => WriteError::Io(*error),
                Err(error) => WriteError::Sql(SqlError::internal(error)),
            },
            error => WriteError::Sql(SqlError::internal(reason(error))),
        }
    }
}

/// Writes batches of rows, compressed with zstd.
pub struct ParquetWriter<W: Write + Send> {
    writer: ArrowWriter<W>,
    schema: SchemaRef,
    columns: Vec<(String, SqlType)>,
    zone: TimeZone,
    rows: u64,
    row_group_bytes_max: usize,
}

impl<W: Write + Send> std::fmt::Debug for ParquetWriter<W> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ParquetWriter")
            .field("columns", &self.columns)
            .field("rows", &self.rows)
            .finish_non_exhaustive()
    }
}

impl<W: Write + Send> ParquetWriter<W> {
    /// A file with these columns. TIMESTAMPs come in the time of `zone`.
    ///
    /// # Errors
    /// 1060 if two columns have the same name; the file's beginning cannot be written.
    pub fn new(out: W, columns: Vec<(String, SqlType)>, zone: TimeZone) -> Result<ParquetWriter<W>, WriteError> {
        for (at, (name, _)) in columns.iter().enumerate() {
            if columns[..at].iter().any(|(known, _)| known.eq_ignore_ascii_case(name)) {
                return Err(SqlError::new(ErrorCode::DuplicateFieldName, &[name]).into());
            }
        }
        let field = |(name, sql_type): &(String, SqlType)| Field::new(name, exchange_type(sql_type), true);
        let schema = Arc::new(Schema::new(columns.iter().map(field).collect::<Vec<_>>()));
        let properties = WriterProperties::builder()
            .set_created_by(concat!("squall ", env!("CARGO_PKG_VERSION")).to_owned())
            .set_compression(Compression::ZSTD(ZstdLevel::default()))
            .set_max_row_group_row_count(Some(ROW_GROUP_ROWS))
            .build();
        let options = ArrowWriterOptions::new()
            .with_properties(properties)
            .with_skip_arrow_metadata(true)
            .with_parquet_schema(parquet_schema(&schema, &columns)?);
        let writer = ArrowWriter::try_new_with_options(out, schema.clone(), options)?;
        Ok(ParquetWriter { writer, schema, columns, zone, rows: 0, row_group_bytes_max: ROW_GROUP_BYTES_MAX })
    }

    /// With another bound of what a row group takes in memory before it is written.
    pub fn with_row_group_bytes(self, row_group_bytes_max: usize) -> Self {
        ParquetWriter { row_group_bytes_max, ..self }
    }

    /// What was written, for a writer in memory from which it is taken away meanwhile. Offsets in the file count on.
    pub fn out_mut(&mut self) -> &mut W {
        self.writer.inner_mut()
    }

    /// Appends rows whose columns are in execution's form. A value without a form in Parquet is passed to `unfit`; without an error
    /// from it, NULL is written.
    pub fn write(
        &mut self,
        columns: &[ArrayRef],
        unfit: &mut dyn FnMut(Unfit<'_>) -> SqlResult<()>,
    ) -> Result<(), WriteError> {
        let rows = columns.first().map_or(0, |array| array.len());
        let mut arrays = Vec::with_capacity(columns.len());
        for (at, (array, (name, sql_type))) in columns.iter().zip(&self.columns).enumerate() {
            let target = self.schema.field(at).data_type();
            let converted = converted(array, sql_type, target, &self.zone)?;
            if converted.null_count() > array.logical_null_count() {
                self.report(array, &converted, name, sql_type, unfit)?;
            }
            arrays.push(converted);
        }
        let batch = RecordBatch::try_new(self.schema.clone(), arrays).map_err(SqlError::internal)?;
        self.writer.write(&batch)?;
        if self.writer.memory_size() > self.row_group_bytes_max {
            self.writer.flush()?;
        }
        self.rows += rows as u64;
        Ok(())
    }

    fn report(
        &self,
        array: &ArrayRef,
        converted: &ArrayRef,
        column: &str,
        sql_type: &SqlType,
        unfit: &mut dyn FnMut(Unfit<'_>) -> SqlResult<()>,
    ) -> SqlResult<()> {
        for row in (0..array.len()).filter(|row| converted.is_null(*row)) {
            let value = value_at(array, row, sql_type)?;
            if value == Value::Null {
                continue;
            }
            let type_name = match sql_type {
                SqlType::Date => "DATE",
                SqlType::Time { .. } => "TIME",
                _ => "DATETIME",
            };
            let row = self.rows + row as u64 + 1;
            unfit(Unfit { column, value: to_text(&value, sql_type), type_name, row })?;
        }
        Ok(())
    }

    /// Ends the file and gives back where it was written.
    pub fn finish(self) -> Result<W, WriteError> {
        Ok(self.writer.into_inner()?)
    }
}

/// The file's schema: what Arrow's means, but JSON is JSON and a UUID a UUID.
fn parquet_schema(schema: &Schema, columns: &[(String, SqlType)]) -> Result<SchemaDescriptor, ParquetError> {
    let plain = ArrowSchemaConverter::new().schema_root("schema").convert(schema)?;
    let field = |(plain, (name, sql_type)): (&TypePtr, &(String, SqlType))| match sql_type {
        SqlType::Json => Type::primitive_type_builder(name, PhysicalType::BYTE_ARRAY)
            .with_logical_type(Some(LogicalType::Json))
            .with_repetition(Repetition::OPTIONAL)
            .build()
            .map(Arc::new),
        SqlType::Uuid => Type::primitive_type_builder(name, PhysicalType::FIXED_LEN_BYTE_ARRAY)
            .with_length(16)
            .with_logical_type(Some(LogicalType::Uuid))
            .with_repetition(Repetition::OPTIONAL)
            .build()
            .map(Arc::new),
        _ => Ok(plain.clone()),
    };
    let fields = plain.root_schema().get_fields().iter().zip(columns).map(field).collect::<Result<_, ParquetError>>();
    let root = Type::group_type_builder("schema").with_fields(fields?).build()?;
    Ok(SchemaDescriptor::new(Arc::new(root)))
}
