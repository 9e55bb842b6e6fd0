//! Rows of a Parquet file, as lines that LOAD DATA takes.

use super::input::Input;
use super::reason;
use super::value::ColumnForm;
use crate::field::FieldKind;
use arrow::record_batch::RecordBatch;
use parquet::arrow::ProjectionMask;
use parquet::arrow::arrow_reader::{ArrowReaderOptions, ParquetRecordBatchReader, ParquetRecordBatchReaderBuilder};
use parquet::basic::LogicalType;
use std::fs::File;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// Rows that are decoded at a time: few, since each may be long.
const BATCH_ROWS: usize = 512;

/// A Parquet file whose rows are read one after the other.
///
/// Errors are said as text, since the caller knows the file's name.
pub struct ParquetRows {
    state: State,
    /// The columns' names, those of nested columns among them.
    names: Vec<String>,
    /// All rows of the file.
    rows_total: u64,
    /// The columns that are read, in the order that they are wanted in.
    columns: Vec<ColumnForm>,
    batch: Option<RecordBatch>,
    next_in_batch: usize,
    rows: u64,
}

impl std::fmt::Debug for ParquetRows {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ParquetRows").field("names", &self.names).field("rows", &self.rows).finish_non_exhaustive()
    }
}

/// Why there is no next row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RowsError {
    /// The row has a value that LOAD DATA has no text for; those behind it can be read.
    Row(String),
    /// The file is damaged or cannot be read.
    File(String),
}

enum State {
    Opened(Box<ParquetRecordBatchReaderBuilder<Input>>),
    Reading(Box<ParquetRecordBatchReader>),
    Failed,
}

impl ParquetRows {
    /// Reads what the end of the file says of it.
    pub fn open(file: File) -> Result<ParquetRows, String> {
        guarded(|| {
            // Types are Parquet's, not those that some program had in memory when it wrote the file.
            let options = ArrowReaderOptions::new().with_skip_arrow_metadata(true);
            let input = Input::new(file).map_err(reason)?;
            let builder = ParquetRecordBatchReaderBuilder::try_new_with_options(input, options).map_err(reason)?;
            let names = builder.schema().fields().iter().map(|field| field.name().clone()).collect();
            let rows_total = u64::try_from(builder.metadata().file_metadata().num_rows()).unwrap_or(0);
            let state = State::Opened(Box::new(builder));
            Ok(ParquetRows { state, names, rows_total, columns: vec![], batch: None, next_in_batch: 0, rows: 0 })
        })
    }

    /// The names of the file's columns.
    pub fn names(&self) -> &[String] {
        &self.names
    }

    /// How many rows the file says that it has.
    pub fn rows_total(&self) -> u64 {
        self.rows_total
    }

    /// Begins to read these columns, in this order; the same one may come more than once.
    ///
    /// # Errors
    /// There is none of that name or more than one, or it has lists, structures or another type that no column of a table
    /// takes.
    pub fn select(&mut self, columns: &[(String, FieldKind)]) -> Result<(), String> {
        let State::Opened(builder) = std::mem::replace(&mut self.state, State::Failed) else {
            return Err("its columns were chosen before".to_owned());
        };
        let mut ordinals = Vec::with_capacity(columns.len());
        for (name, _) in columns {
            ordinals.push(self.ordinal(name)?);
        }
        let mut read: Vec<usize> = ordinals.clone();
        read.sort_unstable();
        read.dedup();
        for (ordinal, (_, kind)) in ordinals.iter().zip(columns) {
            let field = builder.schema().field(*ordinal);
            let root = &builder.parquet_schema().root_schema().get_fields()[*ordinal];
            let is_uuid = root.get_basic_info().logical_type_ref() == Some(&LogicalType::Uuid);
            let at = read.partition_point(|known| known < ordinal);
            self.columns.push(ColumnForm::new(at, field, *kind, is_uuid)?);
        }
        let mask = ProjectionMask::roots(builder.parquet_schema(), read);
        let reader = guarded(|| builder.with_batch_size(BATCH_ROWS).with_projection(mask).build().map_err(reason))?;
        self.state = State::Reading(Box::new(reader));
        Ok(())
    }

    fn ordinal(&self, name: &str) -> Result<usize, String> {
        if let Some(exact) = self.names.iter().position(|known| known == name) {
            return Ok(exact);
        }
        let mut alike = (0..self.names.len()).filter(|at| self.names[*at].eq_ignore_ascii_case(name));
        match (alike.next(), alike.next()) {
            (Some(ordinal), None) => Ok(ordinal),
            (Some(_), Some(_)) => Err(format!("it has more than one column '{name}'")),
            (None, _) => Err(format!("it has no column '{name}'")),
        }
    }

    /// Rows read so far.
    pub fn rows(&self) -> u64 {
        self.rows
    }

    /// Appends the next row as a line for LOAD DATA; `false` behind the last. Of a row that fails nothing is appended.
    pub fn next(&mut self, out: &mut Vec<u8>) -> Result<bool, RowsError> {
        if self.batch.as_ref().is_none_or(|batch| self.next_in_batch >= batch.num_rows()) {
            let State::Reading(reader) = &mut self.state else {
                return Err(RowsError::File("nothing more of it can be read".to_owned()));
            };
            let batch = guarded(|| reader.next().transpose().map_err(reason));
            match batch {
                Ok(Some(batch)) => self.batch = Some(batch),
                Ok(None) => return Ok(false),
                Err(error) => {
                    self.state = State::Failed;
                    return Err(RowsError::File(format!("behind row {}: {error}", self.rows)));
                }
            }
            self.next_in_batch = 0;
            return self.next(out);
        }
        let Some(batch) = &self.batch else { return Ok(false) };
        let start = out.len();
        let row = self.next_in_batch;
        self.next_in_batch += 1;
        self.rows += 1;
        for (at, column) in self.columns.iter().enumerate() {
            if at > 0 {
                out.push(b'\t');
            }
            if let Err(reason) = column.push(batch, row, out) {
                out.truncate(start);
                return Err(RowsError::Row(reason));
            }
        }
        out.push(b'\n');
        Ok(true)
    }
}

/// The library's decoders take files for well-formed here and there; what they panic at is a damaged file.
fn guarded<T>(work: impl FnOnce() -> Result<T, String>) -> Result<T, String> {
    catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|_| Err("it is damaged".to_owned()))
}
