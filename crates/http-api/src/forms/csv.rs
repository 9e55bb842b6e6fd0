//! CSV (RFC 4180) of the first result set, with a line of names; NULL is an empty field, an empty text a quoted one, bytes are in base64.

use super::values::{is_binary, push_text};
use super::{Cell, Form};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use squall_file_formats::text::{LineWriter, push_csv};
use squall_session::api::ColumnMeta;
use squall_types::{SqlResult, SqlType};

/// Writes lines.
#[derive(Debug, Default)]
pub struct CsvForm {
    types: Vec<SqlType>,
    column: usize,
    field: Vec<u8>,
    is_full: bool,
}

impl Form for CsvForm {
    const MEDIA_TYPE: &'static str = "text/csv; charset=utf-8; header=present";

    fn begin_set(&mut self, columns: &[ColumnMeta], out: &mut Vec<u8>) -> SqlResult<()> {
        let names: Vec<String> = columns.iter().map(|column| column.name.to_string()).collect();
        LineWriter::header(&names, out);
        self.types = columns.iter().map(|column| column.sql_type.clone()).collect();
        Ok(())
    }

    fn begin_row(&mut self, _out: &mut Vec<u8>) {
        self.column = 0;
    }

    fn cell(&mut self, cell: Cell<'_>, out: &mut Vec<u8>) -> SqlResult<()> {
        if self.column > 0 {
            out.push(b',');
        }
        let sql_type = self.types.get(self.column).unwrap_or(&SqlType::Null);
        self.column += 1;
        match cell {
            Cell::Null => {}
            Cell::Bytes(bytes) if is_binary(sql_type) => push_csv(Some(STANDARD.encode(bytes).as_bytes()), out),
            Cell::Bytes(bytes) => push_csv(Some(bytes), out),
            _ => {
                self.field.clear();
                push_text(cell, sql_type, &mut self.field);
                push_csv(Some(&self.field), out);
            }
        }
        Ok(())
    }

    fn end_row(&mut self, out: &mut Vec<u8>) -> SqlResult<()> {
        out.push(b'\n');
        Ok(())
    }

    fn end_set(&mut self, _truncated: bool, _out: &mut Vec<u8>) -> SqlResult<()> {
        self.is_full = true;
        Ok(())
    }

    fn is_full(&self) -> bool {
        self.is_full
    }
}
