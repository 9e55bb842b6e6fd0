//! One line of JSON for each row of the first result set: an object of its columns.

use super::values::{members, push_json_value};
use super::{Cell, Form};
use crate::problem::Problem;
use squall_session::api::ColumnMeta;
use squall_types::{SqlResult, SqlType};
use std::time::Duration;

/// Writes lines.
#[derive(Debug, Default)]
pub struct NdjsonForm {
    exact: bool,
    columns: Vec<(Vec<u8>, SqlType)>,
    column: usize,
    is_full: bool,
    /// Whether the last line is whole.
    is_in_row: bool,
}

impl NdjsonForm {
    /// With `exact` numbers are never strings.
    pub fn new(exact: bool) -> NdjsonForm {
        NdjsonForm { exact, ..NdjsonForm::default() }
    }
}

impl Form for NdjsonForm {
    const MEDIA_TYPE: &'static str = "application/x-ndjson";

    fn begin_set(&mut self, columns: &[ColumnMeta], _out: &mut Vec<u8>) -> SqlResult<()> {
        self.columns = members(columns);
        Ok(())
    }

    fn begin_row(&mut self, _out: &mut Vec<u8>) {
        (self.column, self.is_in_row) = (0, true);
    }

    fn cell(&mut self, cell: Cell<'_>, out: &mut Vec<u8>) -> SqlResult<()> {
        if let Some((name, sql_type)) = self.columns.get(self.column) {
            out.extend_from_slice(name);
            push_json_value(cell, sql_type, self.exact, out);
        }
        self.column += 1;
        Ok(())
    }

    fn end_row(&mut self, out: &mut Vec<u8>) -> SqlResult<()> {
        self.is_in_row = false;
        out.extend_from_slice(b"}\n");
        Ok(())
    }

    fn end_set(&mut self, _truncated: bool, _out: &mut Vec<u8>) -> SqlResult<()> {
        self.is_full = true;
        Ok(())
    }

    fn end(&mut self, problem: Option<&Problem>, _elapsed: Duration, out: &mut Vec<u8>) -> bool {
        let Some(problem) = problem else { return true };
        if self.is_in_row {
            return false;
        }
        out.extend_from_slice(b"{\"error\":");
        problem.push_json(out);
        out.extend_from_slice(b"}\n");
        true
    }

    fn is_full(&self) -> bool {
        self.is_full
    }
}
