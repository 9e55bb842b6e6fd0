//! The first result set as a Parquet file.

use super::row_batch::RowBatch;
use super::{Cell, Form};
use squall_file_formats::{ParquetWriter, WriteError};
use squall_session::api::ColumnMeta;
use squall_types::temporal::TimeZone;
use squall_types::{SqlError, SqlResult};

/// What a row group may take in memory: a request has less of it than a statement that writes a file of its own.
const ROW_GROUP_BYTES_MAX: usize = 8 << 20;

/// Writes row groups, each as soon as it is full.
#[derive(Default)]
pub struct ParquetForm {
    writer: Option<ParquetWriter<Vec<u8>>>,
    batch: RowBatch,
    is_full: bool,
}

impl ParquetForm {
    /// Adds the rows that wait to the row group.
    fn write_batch(&mut self, out: &mut Vec<u8>) -> SqlResult<()> {
        let Some(writer) = &mut self.writer else { return Ok(()) };
        if let Some(columns) = self.batch.take() {
            writer.write(&columns, &mut |unfit| Err(unfit.error())).map_err(failed)?;
        }
        out.append(writer.out_mut());
        Ok(())
    }
}

/// Writing to memory cannot fail, so it is about the rows.
fn failed(error: WriteError) -> SqlError {
    match error {
        WriteError::Sql(error) => error,
        WriteError::Io(error) => SqlError::internal(error),
    }
}

impl Form for ParquetForm {
    const MEDIA_TYPE: &'static str = "application/vnd.apache.parquet";

    fn begin_set(&mut self, columns: &[ColumnMeta], _out: &mut Vec<u8>) -> SqlResult<()> {
        self.batch = RowBatch::new(columns);
        let columns = self.batch.columns().iter().map(|column| (column.name.to_string(), column.sql_type.clone()));
        // Times are in the session's time zone already.
        let writer = ParquetWriter::new(Vec::new(), columns.collect(), TimeZone::utc()).map_err(failed)?;
        self.writer = Some(writer.with_row_group_bytes(ROW_GROUP_BYTES_MAX));
        Ok(())
    }

    fn begin_row(&mut self, _out: &mut Vec<u8>) {
        self.batch.begin_row();
    }

    fn cell(&mut self, cell: Cell<'_>, _out: &mut Vec<u8>) -> SqlResult<()> {
        self.batch.cell(cell)
    }

    fn end_row(&mut self, out: &mut Vec<u8>) -> SqlResult<()> {
        match self.batch.end_row() {
            true => self.write_batch(out),
            false => Ok(()),
        }
    }

    fn end_set(&mut self, _truncated: bool, out: &mut Vec<u8>) -> SqlResult<()> {
        self.write_batch(out)?;
        self.is_full = true;
        if let Some(writer) = self.writer.take() {
            out.append(&mut writer.finish().map_err(failed)?);
        }
        Ok(())
    }

    fn is_full(&self) -> bool {
        self.is_full
    }
}
