//! Lines and fields of a file, as FIELDS and LINES describe them.

use crate::query::Format;
use std::collections::VecDeque;

/// A field: `None` is NULL.
pub type Field = Option<Vec<u8>>;

/// Cuts text into rows as it comes.
#[derive(Debug)]
pub struct LineReader {
    format: Format,
    buffer: Vec<u8>,
    position: usize,
    lines_to_skip: u64,
    rows: VecDeque<Vec<Field>>,
}

/// What parsing a row at the end of the text so far came to.
enum Cut {
    Row(Vec<Field>, usize),
    /// A line that is left out.
    Skipped(usize),
    Incomplete,
}

enum FieldEnd {
    Field,
    Line,
}

impl LineReader {
    /// A reader that leaves out the first lines.
    pub fn new(format: Format, lines_to_skip: u64) -> LineReader {
        LineReader { format, buffer: Vec::new(), position: 0, lines_to_skip, rows: VecDeque::new() }
    }

    /// Takes more text in; with `last` the rest is a row too.
    pub fn feed(&mut self, chunk: &[u8], last: bool) {
        self.buffer.drain(..self.position);
        self.position = 0;
        self.buffer.extend_from_slice(chunk);
        loop {
            if self.position >= self.buffer.len() {
                break;
            }
            if self.lines_to_skip > 0 {
                match self.line_end(self.position) {
                    Some(end) => self.position = end,
                    None if last => self.position = self.buffer.len(),
                    None => break,
                }
                self.lines_to_skip -= 1;
                continue;
            }
            match self.cut(last) {
                Cut::Row(row, end) => {
                    self.rows.push_back(row);
                    self.position = end;
                }
                Cut::Skipped(end) => self.position = end,
                Cut::Incomplete => break,
            }
        }
    }

    /// The next complete row.
    pub fn next_row(&mut self) -> Option<Vec<Field>> {
        self.rows.pop_front()
    }

    /// Behind the next line terminator.
    fn line_end(&self, from: usize) -> Option<usize> {
        let terminator = &self.format.lines_terminated;
        if terminator.is_empty() {
            return Some(self.buffer.len());
        }
        let rest = &self.buffer[from..];
        let at = rest.windows(terminator.len()).position(|window| window == terminator.as_slice())?;
        Some(from + at + terminator.len())
    }

    fn cut(&self, last: bool) -> Cut {
        let mut at = self.position;
        let starting = &self.format.lines_starting;
        if !starting.is_empty() {
            let end = match self.line_end(at) {
                Some(end) => end,
                None if last => self.buffer.len(),
                None => return Cut::Incomplete,
            };
            let line = &self.buffer[at..end];
            match line.windows(starting.len()).position(|window| window == starting.as_slice()) {
                Some(found) => at += found + starting.len(),
                None => return Cut::Skipped(end),
            }
        }
        let mut row = Vec::new();
        loop {
            let Some((field, end, kind)) = self.field(at, last) else { return Cut::Incomplete };
            row.push(field);
            match kind {
                FieldEnd::Field => at = end,
                FieldEnd::Line => return Cut::Row(row, end),
            }
        }
    }

    fn starts_with(&self, at: usize, text: &[u8]) -> bool {
        !text.is_empty() && self.buffer[at..].starts_with(text)
    }

    /// Whether a terminator may be cut off by the end of what has been read.
    fn may_be_cut(&self, at: usize, last: bool) -> bool {
        let longest = self.format.fields_terminated.len().max(self.format.lines_terminated.len());
        !last && self.buffer.len() - at < longest.max(2)
    }

    /// Where a terminator at this place ends, and of what.
    fn terminator(&self, at: usize) -> Option<(usize, FieldEnd)> {
        if self.starts_with(at, &self.format.fields_terminated) {
            return Some((at + self.format.fields_terminated.len(), FieldEnd::Field));
        }
        if self.starts_with(at, &self.format.lines_terminated) {
            return Some((at + self.format.lines_terminated.len(), FieldEnd::Line));
        }
        None
    }

    fn field(&self, start: usize, last: bool) -> Option<(Field, usize, FieldEnd)> {
        let format = &self.format;
        let quote = format.enclosed.filter(|quote| self.buffer.get(start) == Some(quote));
        let mut at = start + usize::from(quote.is_some());
        let mut value = Vec::new();
        let mut null_escape = false;
        let mut escaped_any = false;
        loop {
            let Some(&byte) = self.buffer.get(at) else {
                if !last {
                    return None;
                }
                return Some((self.finish(value, quote.is_some(), null_escape), at, FieldEnd::Line));
            };
            if format.escaped == Some(byte) && format.escaped != quote {
                let Some(&next) = self.buffer.get(at + 1) else {
                    if !last {
                        return None;
                    }
                    value.push(byte);
                    at += 1;
                    continue;
                };
                null_escape = next == b'N' && value.is_empty() && !escaped_any && quote.is_none();
                escaped_any = true;
                value.push(unescape(next));
                at += 2;
                continue;
            }
            if let Some(quote) = quote {
                if byte == quote {
                    if self.may_be_cut(at + 1, last) && at + 1 >= self.buffer.len() {
                        return None;
                    }
                    if self.buffer.get(at + 1) == Some(&quote) {
                        value.push(quote);
                        at += 2;
                        continue;
                    }
                    if at + 1 >= self.buffer.len() {
                        return Some((Some(value), at + 1, FieldEnd::Line));
                    }
                    if self.may_be_cut(at + 1, last) && self.terminator(at + 1).is_none() {
                        return None;
                    }
                    if let Some((end, kind)) = self.terminator(at + 1) {
                        return Some((Some(value), end, kind));
                    }
                }
                value.push(byte);
                at += 1;
                continue;
            }
            if let Some((end, kind)) = self.terminator(at) {
                return Some((self.finish(value, false, null_escape), end, kind));
            }
            if self.may_be_cut(at, last) && self.begins_terminator(byte) {
                return None;
            }
            null_escape = false;
            value.push(byte);
            at += 1;
        }
    }

    fn begins_terminator(&self, byte: u8) -> bool {
        self.format.fields_terminated.first() == Some(&byte) || self.format.lines_terminated.first() == Some(&byte)
    }

    /// `\N` is NULL; so is the bare word where fields are enclosed, or where nothing escapes.
    fn finish(&self, value: Vec<u8>, quoted: bool, null_escape: bool) -> Field {
        if null_escape && value == b"N" {
            return None;
        }
        let word_is_null = self.format.enclosed.is_some() || self.format.escaped.is_none();
        if word_is_null && !quoted && value == b"NULL" {
            return None;
        }
        Some(value)
    }
}

fn unescape(byte: u8) -> u8 {
    match byte {
        b'0' => 0,
        b'b' => 8,
        b'n' => b'\n',
        b'r' => b'\r',
        b't' => b'\t',
        b'Z' => 0x1a,
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use squall_parser::ast::{FileFormat, SqlString};

    /// Rows of a text, whole and cut at every place: all have to agree.
    fn rows(format: &FileFormat, skip: u64, text: &str) -> String {
        let read = |pieces: &[&[u8]]| {
            let mut reader = LineReader::new(Format::new(format), skip);
            for (at, piece) in pieces.iter().enumerate() {
                reader.feed(piece, at + 1 == pieces.len());
            }
            let mut out = Vec::new();
            while let Some(row) = reader.next_row() {
                let fields: Vec<String> = row
                    .into_iter()
                    .map(|field| field.map_or("NULL".into(), |field| format!("{:?}", String::from_utf8_lossy(&field))))
                    .collect();
                out.push(fields.join(","));
            }
            out.join(" | ")
        };
        let whole = read(&[text.as_bytes()]);
        for cut in 0..text.len() {
            let (left, right) = text.as_bytes().split_at(cut);
            assert_eq!(read(&[left, right]), whole, "cut at {cut}");
        }
        whole
    }

    fn csv() -> FileFormat {
        FileFormat {
            fields_terminated: Some(SqlString::from(",")),
            fields_enclosed: Some(SqlString::from("\"")),
            fields_optionally_enclosed: true,
            lines_terminated: Some(SqlString::from("\r\n")),
            ..Default::default()
        }
    }

    #[test]
    fn tabs_and_escapes() {
        let format = FileFormat::default();
        assert_eq!(rows(&format, 0, "1\ta\\tb\t\\N\n2\t\\\\\tN\n"), "\"1\",\"a\\tb\",NULL | \"2\",\"\\\\\",\"N\"");
        assert_eq!(rows(&format, 1, "head\n1\t2"), "\"1\",\"2\"");
        assert_eq!(rows(&format, 0, ""), "");
    }

    #[test]
    fn quotes_and_long_terminators() {
        assert_eq!(
            rows(&csv(), 0, "1,\"a,\"\"b\",NULL\r\n\"x\r\ny\",,\"NULL\"\r\n"),
            "\"1\",\"a,\\\"b\",NULL | \"x\\r\\ny\",\"\",\"NULL\""
        );
    }

    #[test]
    fn lines_starting_by() {
        let format = FileFormat { lines_starting: Some(SqlString::from("xxx")), ..Default::default() };
        assert_eq!(rows(&format, 0, "xxx1\nnothing\nabcxxx2\n"), "\"1\" | \"2\"");
    }
}
