//! The first result set as a stream of Arrow record batches (IPC).

use super::row_batch::RowBatch;
use super::{Cell, Form};
use arrow::array::{Array as _, RecordBatch};
use arrow::datatypes::{Field, Schema, SchemaRef};
use arrow_ipc::writer::StreamWriter;
use squall_file_formats::exchange::{exchange_array, exchange_type};
use squall_session::api::ColumnMeta;
use squall_types::{ErrorCode, SqlError, SqlResult, SqlType};
use std::sync::Arc;

/// Writes batches.
#[derive(Default)]
pub struct ArrowForm {
    schema: Option<SchemaRef>,
    writer: Option<StreamWriter<Vec<u8>>>,
    batch: RowBatch,
    is_full: bool,
}

impl ArrowForm {
    /// The rows that wait, as a batch.
    fn write_batch(&mut self, out: &mut Vec<u8>) -> SqlResult<()> {
        let (Some(writer), Some(schema)) = (&mut self.writer, &self.schema) else { return Ok(()) };
        if let Some(waiting) = self.batch.take() {
            let mut arrays = Vec::with_capacity(waiting.len());
            for ((array, column), field) in waiting.iter().zip(self.batch.columns()).zip(schema.fields()) {
                let sent = exchange_array(array, &column.sql_type, field.data_type())?;
                if sent.null_count() > array.logical_null_count() {
                    let text = format!(
                        "Arrow has no value for one of the dates or times of column '{}'; CAST it to CHAR",
                        column.name
                    );
                    return Err(SqlError::with_message(ErrorCode::TruncatedWrongValue, text));
                }
                arrays.push(sent);
            }
            let batch = RecordBatch::try_new(schema.clone(), arrays).map_err(SqlError::internal)?;
            writer.write(&batch).map_err(SqlError::internal)?;
        }
        out.append(writer.get_mut());
        Ok(())
    }
}

impl Form for ArrowForm {
    const MEDIA_TYPE: &'static str = "application/vnd.apache.arrow.stream";

    fn begin_set(&mut self, columns: &[ColumnMeta], out: &mut Vec<u8>) -> SqlResult<()> {
        self.batch = RowBatch::new(columns);
        let fields = self.batch.columns().iter().map(|column| {
            let may_be_null = column.sql_type == SqlType::Null || !column.is_not_null;
            Field::new(&*column.name, exchange_type(&column.sql_type), may_be_null)
        });
        let schema = Arc::new(Schema::new(fields.collect::<Vec<_>>()));
        self.writer = Some(StreamWriter::try_new(Vec::new(), &schema).map_err(SqlError::internal)?);
        self.schema = Some(schema);
        self.write_batch(out)
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
        if let Some(writer) = &mut self.writer {
            writer.finish().map_err(SqlError::internal)?;
            out.append(writer.get_mut());
        }
        self.writer = None;
        self.is_full = true;
        Ok(())
    }

    fn is_full(&self) -> bool {
        self.is_full
    }
}
