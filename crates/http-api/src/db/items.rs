//! A page of rows as JSON, which is sent while it is read.

use super::page_query::{after, with_parameters};
use super::rows::key_text;
use crate::answer::JSON;
use crate::forms::values::{members, push_json_value};
use crate::forms::{Cell, Form};
use crate::problem::Problem;
use squall_file_formats::text::push_json_string;
use squall_session::api::ColumnMeta;
use squall_types::{SqlResult, SqlType};
use std::io::Write as _;
use std::time::Duration;

/// What a page says beside its rows.
#[derive(Debug)]
pub(super) struct PageFacts {
    /// The path of the table, and the query of the URL.
    pub path: String,
    pub query: String,
    pub limit: u64,
    pub offset: u64,
    /// How many rows the filter lets through, if that was asked for.
    pub total: Option<u64>,
    /// How many columns of the result a row shows; the others are there for the key.
    pub shown: usize,
    /// Ordinals in the result of the key's columns, if the next page begins behind the last row.
    pub key: Vec<usize>,
}

/// Writes a page.
#[derive(Debug)]
pub(super) struct ItemsForm {
    facts: PageFacts,
    exact: bool,
    /// Names as they are written, and types.
    columns: Vec<(Vec<u8>, SqlType)>,
    column: usize,
    rows: u64,
    has_more: bool,
    /// The key of the last row.
    key: Vec<String>,
    is_begun: bool,
}

impl ItemsForm {
    pub fn new(facts: PageFacts, exact: bool) -> ItemsForm {
        let key = vec![String::new(); facts.key.len()];
        let (columns, column, rows) = (Vec::new(), 0, 0);
        ItemsForm { facts, exact, columns, column, rows, has_more: false, key, is_begun: false }
    }

    fn push_links(&self, out: &mut Vec<u8>) {
        let PageFacts { path, query, limit, offset, .. } = &self.facts;
        let mut links = vec![("self", with_parameters(path, query, &[]))];
        if self.has_more {
            let changed = match self.facts.key.is_empty() {
                true => [("offset", Some((offset + limit).to_string())), ("after", None)],
                false => [("offset", None), ("after", Some(after(&self.key)))],
            };
            links.push(("next", with_parameters(path, query, &changed)));
        }
        links.push(("first", with_parameters(path, query, &[("offset", None), ("after", None)])));
        for (at, (rel, href)) in links.iter().enumerate() {
            let comma = if at == 0 { "" } else { "," };
            // Writing to memory cannot fail.
            let _ = write!(out, "{comma}{{\"rel\":\"{rel}\",\"href\":");
            push_json_string(href, out);
            out.push(b'}');
        }
    }
}

impl Form for ItemsForm {
    const MEDIA_TYPE: &'static str = JSON;

    fn begin_set(&mut self, columns: &[ColumnMeta], out: &mut Vec<u8>) -> SqlResult<()> {
        self.columns = members(columns);
        self.is_begun = true;
        out.extend_from_slice(b"{\"items\":[");
        Ok(())
    }

    fn begin_row(&mut self, out: &mut Vec<u8>) {
        if self.rows > 0 {
            out.push(b',');
        }
        self.column = 0;
    }

    fn cell(&mut self, cell: Cell<'_>, out: &mut Vec<u8>) -> SqlResult<()> {
        if let Some((name, sql_type)) = self.columns.get(self.column) {
            if self.column < self.facts.shown {
                out.extend_from_slice(name);
                push_json_value(cell, sql_type, self.exact, out);
            }
            for (part, at) in self.key.iter_mut().zip(&self.facts.key) {
                if *at == self.column {
                    *part = key_text(cell, sql_type);
                }
            }
        }
        self.column += 1;
        Ok(())
    }

    fn end_row(&mut self, out: &mut Vec<u8>) -> SqlResult<()> {
        self.rows += 1;
        out.push(b'}');
        Ok(())
    }

    fn end_set(&mut self, truncated: bool, out: &mut Vec<u8>) -> SqlResult<()> {
        self.has_more = truncated;
        self.is_begun = false;
        out.push(b']');
        Ok(())
    }

    fn end(&mut self, problem: Option<&Problem>, _elapsed: Duration, out: &mut Vec<u8>) -> bool {
        if let Some(problem) = problem {
            // A part of the rows was sent.
            out.extend_from_slice(if self.is_begun { b"],\"error\":" } else { b",\"error\":" });
            problem.push_json(out);
            out.push(b'}');
            return true;
        }
        let PageFacts { limit, offset, total, .. } = &self.facts;
        let (count, has_more) = (self.rows, self.has_more);
        // Writing to memory cannot fail.
        let _ = write!(out, ",\"limit\":{limit},\"offset\":{offset},\"hasMore\":{has_more},\"count\":{count}");
        if let Some(total) = total {
            let _ = write!(out, ",\"total\":{total}");
        }
        out.extend_from_slice(b",\"links\":[");
        self.push_links(out);
        out.extend_from_slice(b"]}");
        true
    }
}
