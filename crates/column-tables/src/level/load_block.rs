//! Turns rows of a load into columns, on the threads that read the text.

use crate::decode::ColumnDecoder;
use arrow::array::ArrayRef;
use squall_functions::arrow_map::value_at;
use squall_row_store::{SegmentBlock, Table, ValueRef};
use squall_types::{SqlResult, SqlType, Value};
use std::any::Any;
use std::sync::Arc;

/// Rows of a table, by column.
pub(crate) struct ColumnBlock {
    table: Arc<Table>,
    columns: Vec<BlockColumn>,
    rows: usize,
    bytes: usize,
}

/// Values of all columns, and rows, that a block has room for from the beginning.
const VALUES_ROOM: usize = 1 << 17;
const ROWS_ROOM: usize = 1 << 12;

struct BlockColumn {
    decoder: ColumnDecoder,
    /// FLOAT, whose values are those of 32 bits.
    is_float: bool,
}

impl ColumnBlock {
    /// No rows.
    pub fn new(table: Arc<Table>) -> ColumnBlock {
        let room = (VALUES_ROOM / table.def().columns.len().max(1)).min(ROWS_ROOM);
        let column = |sql_type: &SqlType| BlockColumn {
            decoder: ColumnDecoder::stored(sql_type, room),
            is_float: matches!(sql_type, SqlType::Float { .. }),
        };
        let columns = table.def().columns.iter().map(|def| column(&def.sql_type)).collect();
        ColumnBlock { table, columns, rows: 0, bytes: 0 }
    }

    /// The columns, in the order of the definition; the block is empty then.
    pub fn finish(&mut self) -> Vec<ArrayRef> {
        (self.rows, self.bytes) = (0, 0);
        self.columns.iter_mut().map(|column| column.decoder.finish()).collect()
    }
}

impl SegmentBlock for ColumnBlock {
    fn push(&mut self, values: &[ValueRef<'_>]) -> SqlResult<()> {
        for (column, value) in self.columns.iter_mut().zip(values) {
            self.bytes += match value {
                ValueRef::String(text) | ValueRef::Json(text) => size_of::<u128>() + text.len(),
                ValueRef::Bytes(bytes) => size_of::<u128>() + bytes.len(),
                _ => size_of::<u64>(),
            };
            column.decoder.append(match *value {
                ValueRef::Double(number) if column.is_float => ValueRef::Float(number as f32),
                value => value,
            })?;
        }
        self.rows += 1;
        Ok(())
    }

    fn bytes(&self) -> usize {
        self.bytes
    }

    fn into_rows(mut self: Box<Self>) -> SqlResult<Vec<Vec<Value>>> {
        let rows = self.rows;
        let arrays = self.finish();
        let columns = &self.table.def().columns;
        let row = |at| {
            let values = arrays.iter().zip(columns).map(|(array, column)| value_at(array, at, &column.sql_type));
            values.collect::<SqlResult<Vec<Value>>>()
        };
        (0..rows).map(row).collect()
    }

    fn into_any(self: Box<Self>) -> Box<dyn Any + Send> {
        self
    }
}
