//! The JSON form of `/1.0/sql`: all results with their columns, rows and warnings.

use super::values::{is_binary, push_json_value};
use super::{Cell, Form};
use crate::answer::JSON;
use crate::problem::Problem;
use squall_file_formats::text::push_json_string;
use squall_session::api::{ColumnMeta, OkInfo};
use squall_session::type_text;
use squall_types::{IntWidth, Level, SqlResult, SqlType, Warning};
use std::borrow::Cow;
use std::io::Write as _;
use std::time::Duration;

/// Writes one document with all results.
#[derive(Debug)]
pub struct JsonForm {
    exact: bool,
    types: Vec<SqlType>,
    column: usize,
    rows: u64,
    /// Results that were begun.
    results: usize,
    /// The last of them is still open: its conditions may follow.
    is_open: bool,
    has_conditions: bool,
    /// Its rows may still come.
    is_in_rows: bool,
    /// Members behind the results, each with a comma before it.
    also: Vec<u8>,
}

impl JsonForm {
    /// With `exact` numbers are never strings.
    pub fn new(exact: bool) -> JsonForm {
        let (types, column, rows, results) = (Vec::new(), 0, 0, 0);
        let (is_open, has_conditions, is_in_rows, also) = (false, false, false, Vec::new());
        JsonForm { exact, types, column, rows, results, is_open, has_conditions, is_in_rows, also }
    }

    /// Adds a member behind the results: its name and its JSON.
    pub fn add(&mut self, name: &str, json: &[u8]) {
        self.also.push(b',');
        push_json_string(name, &mut self.also);
        self.also.push(b':');
        self.also.extend_from_slice(json);
    }

    fn begin_result(&mut self, out: &mut Vec<u8>) {
        self.close_result(out);
        out.extend_from_slice(if self.results == 0 { b"{\"results\":[{\"columns\":[" } else { b",{\"columns\":[" });
        self.results += 1;
        (self.is_open, self.has_conditions, self.rows) = (true, false, 0);
    }

    fn close_result(&mut self, out: &mut Vec<u8>) {
        if std::mem::take(&mut self.is_open) {
            out.extend_from_slice(if self.has_conditions { b"}" } else { b",\"warnings\":[]}" });
        }
    }
}

impl Form for JsonForm {
    const MEDIA_TYPE: &'static str = JSON;
    const IS_OF_SETS: bool = false;

    fn begin_set(&mut self, columns: &[ColumnMeta], out: &mut Vec<u8>) -> SqlResult<()> {
        self.begin_result(out);
        push_columns(columns, out);
        out.extend_from_slice(b"],\"rows\":[");
        self.types = columns.iter().map(|column| column.sql_type.clone()).collect();
        self.is_in_rows = true;
        Ok(())
    }

    fn begin_row(&mut self, out: &mut Vec<u8>) {
        out.extend_from_slice(if self.rows == 0 { b"[" } else { b",[" });
        self.column = 0;
    }

    fn cell(&mut self, cell: Cell<'_>, out: &mut Vec<u8>) -> SqlResult<()> {
        if self.column > 0 {
            out.push(b',');
        }
        let sql_type = self.types.get(self.column).unwrap_or(&SqlType::Null);
        push_json_value(cell, sql_type, self.exact, out);
        self.column += 1;
        Ok(())
    }

    fn end_row(&mut self, out: &mut Vec<u8>) -> SqlResult<()> {
        self.rows += 1;
        out.push(b']');
        Ok(())
    }

    fn end_set(&mut self, truncated: bool, out: &mut Vec<u8>) -> SqlResult<()> {
        self.is_in_rows = false;
        // Writing to memory cannot fail.
        let _ = write!(out, "],\"affected_rows\":0,\"insert_id\":0,\"truncated\":{truncated}");
        Ok(())
    }

    fn ok(&mut self, ok: &OkInfo, out: &mut Vec<u8>) {
        self.begin_result(out);
        let (affected, id) = (ok.affected_rows, ok.last_insert_id);
        let _ = write!(out, "],\"rows\":[],\"affected_rows\":{affected},\"insert_id\":");
        push_json_value(Cell::UInt(id), &SqlType::BIGINT_UNSIGNED, self.exact, out);
        out.extend_from_slice(b",\"truncated\":false");
        if !ok.info.is_empty() {
            out.extend_from_slice(b",\"info\":");
            push_json_string(&ok.info, out);
        }
    }

    fn conditions(&mut self, conditions: &[Warning], out: &mut Vec<u8>) {
        out.extend_from_slice(b",\"warnings\":[");
        push_conditions(conditions, out);
        out.push(b']');
        self.has_conditions = true;
    }

    fn end(&mut self, problem: Option<&Problem>, elapsed: Duration, out: &mut Vec<u8>) -> bool {
        if let Some(problem) = problem {
            // A problem may come in the middle of a result, even of its rows; what was begun is ended.
            if std::mem::take(&mut self.is_in_rows) {
                out.extend_from_slice(b"],\"affected_rows\":0,\"insert_id\":0,\"truncated\":true");
            }
            self.close_result(out);
            out.extend_from_slice(b"],\"error\":");
            problem.push_json(out);
        } else {
            self.close_result(out);
            out.extend_from_slice(if self.results == 0 { b"{\"results\":[]" } else { b"]" });
        }
        out.extend_from_slice(&self.also);
        let _ = write!(out, ",\"elapsed_ms\":{:.3}}}", elapsed.as_secs_f64() * 1000.0);
        true
    }
}

/// An integer's width says how literals were written; it is a part of the type where it means something to clients.
fn without_width(sql_type: &SqlType) -> Cow<'_, SqlType> {
    match sql_type {
        SqlType::Int { width, unsigned, zerofill: false, display_width: Some(digits) }
            if *digits != 1 || *width != IntWidth::Tiny =>
        {
            let (width, unsigned) = (*width, *unsigned);
            Cow::Owned(SqlType::Int { width, unsigned, zerofill: false, display_width: None })
        }
        other => Cow::Borrowed(other),
    }
}

fn push_columns(columns: &[ColumnMeta], out: &mut Vec<u8>) {
    for (at, column) in columns.iter().enumerate() {
        out.extend_from_slice(if at == 0 { b"{\"name\":" } else { b",{\"name\":" });
        push_json_string(&column.name, out);
        let sql_type = type_text(&without_width(&column.sql_type));
        let name = match is_binary(&column.sql_type) {
            true => "binary",
            false => sql_type.split([' ', '(']).next().unwrap_or_default(),
        };
        let _ = write!(out, ",\"type\":\"{name}\",\"sql_type\":");
        push_json_string(&sql_type, out);
        let _ = write!(out, ",\"nullable\":{}}}", !column.flags.not_null);
    }
}

fn push_conditions(conditions: &[Warning], out: &mut Vec<u8>) {
    for (at, condition) in conditions.iter().enumerate() {
        let level = match condition.level {
            Level::Note => "Note",
            Level::Warning => "Warning",
            Level::Error => "Error",
        };
        let comma = if at == 0 { "" } else { "," };
        let _ = write!(out, "{comma}{{\"level\":\"{level}\",\"code\":{},\"message\":", condition.error.code);
        push_json_string(&condition.error.message, out);
        out.push(b'}');
    }
}
