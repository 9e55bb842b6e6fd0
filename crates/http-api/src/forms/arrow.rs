//! The first result set as a stream of Arrow record batches (IPC).

use super::values::push_text;
use super::{Cell, Form};
use arrow::array::{Array as _, RecordBatch};
use arrow::datatypes::{Field, Schema, SchemaRef};
use arrow_ipc::writer::StreamWriter;
use squall_file_formats::exchange::{exchange_array, exchange_type};
use squall_functions::arrow_map::ValueArrayBuilder;
use squall_session::api::ColumnMeta;
use squall_types::{CollationId, ErrorCode, SqlError, SqlResult, SqlType, Value};
use std::sync::Arc;

/// Rows of a batch, at most.
const BATCH_ROWS: usize = 8192;
/// About how many bytes of texts a batch has, at most.
const BATCH_BYTES: usize = 1 << 20;

/// Writes batches.
#[derive(Default)]
pub struct ArrowForm {
    schema: Option<SchemaRef>,
    writer: Option<StreamWriter<Vec<u8>>>,
    columns: Vec<Column>,
    column: usize,
    rows: usize,
    bytes: usize,
    is_full: bool,
}

struct Column {
    name: Arc<str>,
    sql_type: SqlType,
    values: ValueArrayBuilder,
}

impl ArrowForm {
    /// The rows that wait, as a batch.
    fn write_batch(&mut self, out: &mut Vec<u8>) -> SqlResult<()> {
        let (Some(writer), Some(schema)) = (&mut self.writer, &self.schema) else { return Ok(()) };
        if self.rows > 0 {
            let mut arrays = Vec::with_capacity(self.columns.len());
            for (column, field) in self.columns.iter_mut().zip(schema.fields()) {
                let array = column.values.finish();
                let sent = exchange_array(&array, &column.sql_type, field.data_type())?;
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
        (self.rows, self.bytes) = (0, 0);
        out.append(writer.get_mut());
        Ok(())
    }
}

/// The type that a column's values come in: ENUM, SET and others come as their texts, TIMESTAMP in the session's time.
fn received_type(sql_type: &SqlType) -> SqlType {
    match sql_type {
        SqlType::Enum { .. } | SqlType::Set { .. } | SqlType::Hex { .. } | SqlType::Uuid => {
            SqlType::longtext(CollationId::UTF8MB4_BIN)
        }
        SqlType::Timestamp { fsp } => SqlType::DateTime { fsp: *fsp },
        other => other.clone(),
    }
}

impl Form for ArrowForm {
    const MEDIA_TYPE: &'static str = "application/vnd.apache.arrow.stream";

    fn begin_set(&mut self, columns: &[ColumnMeta], out: &mut Vec<u8>) -> SqlResult<()> {
        self.columns = columns
            .iter()
            .map(|column| {
                let sql_type = received_type(&column.sql_type);
                let values = ValueArrayBuilder::new(&sql_type, 0);
                Column { name: column.name.clone(), sql_type, values }
            })
            .collect();
        let field = |(column, meta): (&Column, &ColumnMeta)| {
            let is_null = column.sql_type == SqlType::Null;
            Field::new(&*column.name, exchange_type(&column.sql_type), is_null || !meta.flags.not_null)
        };
        let fields: Vec<Field> = self.columns.iter().zip(columns).map(field).collect();
        let schema = Arc::new(Schema::new(fields));
        self.writer = Some(StreamWriter::try_new(Vec::new(), &schema).map_err(SqlError::internal)?);
        self.schema = Some(schema);
        self.write_batch(out)
    }

    fn begin_row(&mut self, _out: &mut Vec<u8>) {
        self.column = 0;
    }

    fn cell(&mut self, cell: Cell<'_>, _out: &mut Vec<u8>) -> SqlResult<()> {
        let Some(column) = self.columns.get_mut(self.column) else { return Ok(()) };
        self.column += 1;
        let is_binary = column.sql_type.is_binary_string();
        match cell {
            Cell::Null => column.values.append(&Value::Null),
            Cell::Bytes(bytes) => {
                self.bytes += bytes.len();
                match is_binary {
                    true => column.values.append_bytes(bytes),
                    false => column.values.append_str(&String::from_utf8_lossy(bytes)),
                }
            }
            // Only the type of NULL has no other values.
            _ if column.sql_type == SqlType::Null => column.values.append(&Value::Null),
            Cell::Int(value) => column.values.append(&Value::Int(value)),
            Cell::UInt(value) => column.values.append(&Value::UInt(value)),
            Cell::Double(value) => column.values.append(&Value::Double(value)),
            Cell::Decimal(value) => column.values.append(&Value::Decimal(value)),
            Cell::Date(value) => column.values.append(&Value::Date(value)),
            Cell::DateTime(value) => column.values.append(&Value::DateTime(value)),
            Cell::Time(value) => column.values.append(&Value::Time(value)),
        }
        .or_else(|error| {
            // A value of another kind than its column's is sent as text, if the column has text.
            let mut text = Vec::new();
            push_text(cell, &column.sql_type, &mut text);
            column.values.append_str(&String::from_utf8_lossy(&text)).map_err(|_| error)
        })
    }

    fn end_row(&mut self, out: &mut Vec<u8>) -> SqlResult<()> {
        self.rows += 1;
        self.bytes += self.columns.len() * 8;
        match self.rows >= BATCH_ROWS || self.bytes >= BATCH_BYTES {
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
