//! The shapes of the answers.

use super::{Object, status};
use crate::answer::{Answer, JSON};
use crate::forms::values::push_text;
use crate::forms::{Cell, Form};
use crate::problem::Problem;
use hyper::StatusCode;
use serde::de::IgnoredAny;
use squall_file_formats::text::push_json_string;
use squall_session::api::ColumnMeta;
use squall_types::{ErrorCode, SqlError, SqlResult, SqlType};
use std::time::Duration;

/// The last result set of several statements, whose values all are texts. It is kept until the end, as none knows before which is the last.
#[derive(Debug)]
pub(super) struct LastSetForm {
    pub query: String,
    pub schema: String,
    pub has_legacy_status: bool,
    pub bytes_max: usize,
    rows: Vec<u8>,
    text: Vec<u8>,
    types: Vec<SqlType>,
    column: usize,
    has_set: bool,
}

impl LastSetForm {
    pub fn new(query: String, schema: String, has_legacy_status: bool, bytes_max: usize) -> LastSetForm {
        let (rows, text, types) = (Vec::new(), Vec::new(), Vec::new());
        LastSetForm { query, schema, has_legacy_status, bytes_max, rows, text, types, column: 0, has_set: false }
    }

    fn check_size(&self) -> SqlResult<()> {
        match self.rows.len() > self.bytes_max {
            true => Err(SqlError::new(ErrorCode::PacketTooLarge, &[])),
            false => Ok(()),
        }
    }
}

impl Form for LastSetForm {
    const MEDIA_TYPE: &'static str = JSON;
    const IS_OF_SETS: bool = false;

    fn begin_set(&mut self, columns: &[ColumnMeta], _out: &mut Vec<u8>) -> SqlResult<()> {
        self.rows.clear();
        self.has_set = true;
        self.types = columns.iter().map(|column| column.sql_type.clone()).collect();
        Ok(())
    }

    fn begin_row(&mut self, _out: &mut Vec<u8>) {
        self.column = 0;
        self.rows.extend_from_slice(if self.rows.is_empty() { b"[" } else { b",[" });
    }

    fn cell(&mut self, cell: Cell<'_>, _out: &mut Vec<u8>) -> SqlResult<()> {
        if self.column > 0 {
            self.rows.push(b',');
        }
        let sql_type = self.types.get(self.column).unwrap_or(&SqlType::Null);
        self.column += 1;
        if matches!(cell, Cell::Null) {
            self.rows.extend_from_slice(b"null");
            return Ok(());
        }
        self.text.clear();
        push_text(cell, sql_type, &mut self.text);
        push_json_string(&String::from_utf8_lossy(&self.text), &mut self.rows);
        self.check_size()
    }

    fn end_row(&mut self, _out: &mut Vec<u8>) -> SqlResult<()> {
        self.rows.push(b']');
        // Also rows of NULLs and rows without columns take room.
        self.check_size()
    }

    fn end_set(&mut self, _truncated: bool, _out: &mut Vec<u8>) -> SqlResult<()> {
        Ok(())
    }

    fn end(&mut self, _problem: Option<&Problem>, _elapsed: Duration, out: &mut Vec<u8>) -> bool {
        out.extend_from_slice(b"{\"query\":");
        push_json_string(&self.query, out);
        if self.has_set && !self.rows.is_empty() {
            out.extend_from_slice(b",\"result_set\":[");
            out.append(&mut self.rows);
            out.push(b']');
        }
        out.extend_from_slice(b",\"sqlstate\":\"00000\"}");
        true
    }

    fn refusal(&self, problem: &Problem) -> Answer {
        let (code, sqlstate) = problem.sql.unwrap_or((0, *b"HY000"));
        Object::new()
            .number("error_code", code)
            .text("error_message", &problem.detail)
            .text("query", &self.query)
            .text("schema", &self.schema)
            .text("sqlstate", &String::from_utf8_lossy(&sqlstate))
            .answer(status(problem.status, self.has_legacy_status))
    }
}

/// How an error of a statement about documents is told.
#[derive(Clone, Debug)]
pub(super) struct Failing {
    pub schema: String,
    pub table: String,
    /// The statement, for accounts that may see it.
    pub shown_sql: Option<String>,
    pub has_legacy_status: bool,
}

impl Failing {
    pub fn answer(&self, problem: &Problem) -> Answer {
        let (code, sqlstate) = problem.sql.unwrap_or((0, *b"HY000"));
        let object = Object::new()
            .number("error_code", code)
            .text("error_message", &problem.detail)
            .text("error_type", "sql error");
        let object = match &self.shown_sql {
            Some(sql) => object.text("internal_sql_query", sql),
            None => object,
        };
        object
            .text("schema", &self.schema)
            .text("sqlstate", &String::from_utf8_lossy(&sqlstate))
            .text("table", &self.table)
            .answer(status(problem.status, self.has_legacy_status))
    }
}

/// Rows as documents: an object of their columns, whose texts are JSON.
#[derive(Debug)]
pub(super) struct DocumentsForm {
    failing: Failing,
    columns: Vec<(String, SqlType)>,
    column: usize,
    rows: u64,
    text: Vec<u8>,
    /// Column and text of what is no JSON.
    broken: Option<(String, String)>,
}

impl DocumentsForm {
    pub fn new(failing: Failing) -> DocumentsForm {
        DocumentsForm { failing, columns: Vec::new(), column: 0, rows: 0, text: Vec::new(), broken: None }
    }
}

impl Form for DocumentsForm {
    const MEDIA_TYPE: &'static str = JSON;
    const IS_OF_SETS: bool = false;

    fn begin_set(&mut self, columns: &[ColumnMeta], _out: &mut Vec<u8>) -> SqlResult<()> {
        self.columns = columns.iter().map(|column| (column.name.to_string(), column.sql_type.clone())).collect();
        Ok(())
    }

    fn begin_row(&mut self, out: &mut Vec<u8>) {
        out.extend_from_slice(if self.rows == 0 { b"{\"result_set\":[{" } else { b",{" });
        self.column = 0;
        self.rows += 1;
    }

    fn cell(&mut self, cell: Cell<'_>, out: &mut Vec<u8>) -> SqlResult<()> {
        let Some((name, sql_type)) = self.columns.get(self.column) else { return Ok(()) };
        if self.column > 0 {
            out.push(b',');
        }
        self.column += 1;
        push_json_string(name, out);
        out.push(b':');
        if matches!(cell, Cell::Null) {
            out.extend_from_slice(b"null");
            return Ok(());
        }
        self.text.clear();
        push_text(cell, sql_type, &mut self.text);
        if *sql_type != SqlType::Json && serde_json::from_slice::<IgnoredAny>(&self.text).is_err() {
            if name == "_id" {
                push_json_string(&String::from_utf8_lossy(&self.text), out);
                return Ok(());
            }
            self.broken = Some((name.clone(), String::from_utf8_lossy(&self.text).into_owned()));
            return Err(SqlError::new(ErrorCode::InvalidJsonText, &[&1, &"no JSON", &0, name]));
        }
        out.extend_from_slice(&self.text);
        Ok(())
    }

    fn end_row(&mut self, out: &mut Vec<u8>) -> SqlResult<()> {
        out.push(b'}');
        Ok(())
    }

    fn end_set(&mut self, _truncated: bool, _out: &mut Vec<u8>) -> SqlResult<()> {
        Ok(())
    }

    fn end(&mut self, problem: Option<&Problem>, _elapsed: Duration, out: &mut Vec<u8>) -> bool {
        let end = if self.rows == 0 { "{\"sqlstate\":\"00000\"}" } else { "],\"sqlstate\":\"00000\"}" };
        out.extend_from_slice(end.as_bytes());
        problem.is_none()
    }

    fn refusal(&self, problem: &Problem) -> Answer {
        let Some((column, text)) = &self.broken else { return self.failing.answer(problem) };
        Object::new()
            .text("error_type", "json parse error on row value")
            .text("error_message", "a value is no JSON")
            .text("internal_sql_col_name", column)
            .text("internal_sql_col_value", text)
            .answer(status(StatusCode::UNPROCESSABLE_ENTITY, self.failing.has_legacy_status))
    }
}
