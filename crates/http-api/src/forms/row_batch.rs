//! Rows as columns of Arrow, for the forms that have them.

use super::Cell;
use super::values::push_text;
use arrow::array::ArrayRef;
use squall_functions::arrow_map::ValueArrayBuilder;
use squall_session::api::ColumnMeta;
use squall_types::{CollationId, SqlResult, SqlType, Value};
use std::sync::Arc;

/// Rows of a batch, at most.
const BATCH_ROWS: usize = 8192;
/// About how many bytes of texts a batch has, at most.
const BATCH_BYTES: usize = 1 << 20;

/// A column of a batch.
pub(super) struct Column {
    pub name: Arc<str>,
    /// The type that its values come in.
    pub sql_type: SqlType,
    pub is_not_null: bool,
    values: ValueArrayBuilder,
}

/// Rows that wait until there are enough of them.
#[derive(Default)]
pub(super) struct RowBatch {
    columns: Vec<Column>,
    column: usize,
    rows: usize,
    bytes: usize,
}

impl RowBatch {
    /// Without rows.
    pub fn new(columns: &[ColumnMeta]) -> RowBatch {
        let column = |column: &ColumnMeta| {
            let sql_type = received_type(&column.sql_type);
            let values = ValueArrayBuilder::new(&sql_type, 0);
            Column { name: column.name.clone(), sql_type, is_not_null: column.flags.not_null, values }
        };
        RowBatch { columns: columns.iter().map(column).collect(), ..RowBatch::default() }
    }

    pub fn columns(&self) -> &[Column] {
        &self.columns
    }

    pub fn begin_row(&mut self) {
        self.column = 0;
    }

    /// The next value of the row.
    ///
    /// # Errors
    /// When its column's type has no such value.
    pub fn cell(&mut self, cell: Cell<'_>) -> SqlResult<()> {
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

    /// The row ends. Whether there are enough of them.
    pub fn end_row(&mut self) -> bool {
        self.rows += 1;
        self.bytes += self.columns.len() * 8;
        self.rows >= BATCH_ROWS || self.bytes >= BATCH_BYTES
    }

    /// The rows that wait, in execution's form; none of them waits any more. `None` if there are none.
    pub fn take(&mut self) -> Option<Vec<ArrayRef>> {
        let rows = std::mem::take(&mut self.rows);
        self.bytes = 0;
        (rows > 0).then(|| self.columns.iter_mut().map(|column| column.values.finish()).collect())
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
