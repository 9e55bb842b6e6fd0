//! Lines and fields of a file, as FIELDS and LINES describe them.

use crate::query::Format;

/// A field: `None` is NULL.
pub type Field<'r> = Option<&'r [u8]>;

/// Rows with their fields, one after the other in one text.
#[derive(Debug, Default)]
pub struct Rows {
    text: Vec<u8>,
    fields: Vec<Place>,
    /// Where each row ends among the fields.
    ends: Vec<usize>,
}

impl Rows {
    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// None again.
    pub fn clear(&mut self) {
        self.text.clear();
        self.fields.clear();
        self.ends.clear();
    }

    /// The rows.
    pub fn iter(&self) -> impl Iterator<Item = Row<'_>> {
        let mut first = 0;
        self.ends.iter().map(move |end| {
            let start = first;
            first = *end;
            Row { rows: self, first: start, end: *end }
        })
    }
}

/// Where a field is in the text.
#[derive(Clone, Copy, Debug)]
struct Place {
    start: usize,
    end: usize,
    is_null: bool,
    /// Nothing stands there, not even quotes.
    is_blank: bool,
}

/// One row.
#[derive(Clone, Copy, Debug)]
pub struct Row<'r> {
    rows: &'r Rows,
    first: usize,
    end: usize,
}

impl<'r> Row<'r> {
    /// How many fields there are where this many are wanted. What ends the last of these may stand at the end of the line too: behind it
    /// begins no other one.
    pub fn count_for(&self, wanted: usize) -> usize {
        let fields = &self.rows.fields[self.first..self.end];
        let ends_in_terminator = fields.len() == wanted + 1 && wanted > 0 && fields[wanted].is_blank;
        if ends_in_terminator { wanted } else { fields.len() }
    }

    /// The fields.
    pub fn fields(self) -> impl Iterator<Item = Field<'r>> {
        let text = &self.rows.text;
        let fields = self.rows.fields[self.first..self.end].iter();
        fields.map(move |field| (!field.is_null).then_some(&text[field.start..field.end]))
    }
}

/// Cuts text into rows as it comes.
#[derive(Debug)]
pub struct LineReader {
    format: Format,
    buffer: Vec<u8>,
    position: usize,
    lines_to_skip: u64,
    /// No more text follows.
    ended: bool,
    /// Bytes that may mean something in a field that is not enclosed.
    special: [bool; 256],
    /// The ends of fields and rows, if they are single bytes and rows begin with their first field.
    plain_ends: Option<(u8, u8)>,
}

/// The result of parsing a row at the end of the text so far.
enum Cut {
    /// A row that has been appended: where its text ends.
    Row(usize),
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
        let mut special = [false; 256];
        let terminators = [format.fields_terminated.first(), format.lines_terminated.first()];
        for byte in terminators.into_iter().flatten().chain(&format.escaped) {
            special[usize::from(*byte)] = true;
        }
        let plain_ends = match (&format.fields_terminated[..], &format.lines_terminated[..]) {
            ([field], [row]) if field != row && format.lines_starting.is_empty() => Some((*field, *row)),
            _ => None,
        };
        LineReader { format, buffer: Vec::new(), position: 0, lines_to_skip, ended: false, special, plain_ends }
    }

    /// Takes more text in; after the `last` the rest is a row too.
    pub fn feed(&mut self, chunk: &[u8], last: bool) {
        self.buffer.drain(..self.position);
        self.position = 0;
        self.buffer.extend_from_slice(chunk);
        self.ended = last;
    }

    /// Takes the only text there is.
    pub fn replace(&mut self, text: Vec<u8>) {
        self.buffer = text;
        self.position = 0;
        self.ended = true;
    }

    /// Bytes of a row whose end has not come, when the rows before are cut.
    pub fn unfinished_bytes(&self) -> usize {
        self.buffer.len() - self.position
    }

    /// Appends the rows that are complete.
    pub fn cut_rows(&mut self, rows: &mut Rows) {
        self.cut_rows_up_to(rows, usize::MAX);
    }

    /// Appends rows that are complete until there are as many.
    pub fn cut_rows_up_to(&mut self, rows: &mut Rows, rows_max: usize) {
        let last = self.ended;
        while self.position < self.buffer.len() && rows.len() < rows_max {
            if self.lines_to_skip > 0 {
                match self.line_end(self.position) {
                    Some(end) => self.position = end,
                    None if last => self.position = self.buffer.len(),
                    None => break,
                }
                self.lines_to_skip -= 1;
                continue;
            }
            if let Some(end) = self.cut_plain(rows) {
                self.position = end;
                continue;
            }
            let (text, fields) = (rows.text.len(), rows.fields.len());
            match self.cut(last, rows) {
                Cut::Row(end) | Cut::Skipped(end) => self.position = end,
                Cut::Incomplete => {
                    rows.text.truncate(text);
                    rows.fields.truncate(fields);
                    break;
                }
            }
        }
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

    /// Appends a row in which nothing is enclosed or escaped, and tells where its text ends: it is copied as a whole. `None`, with
    /// nothing appended, if the next row is of another kind or its end is still to come.
    fn cut_plain(&self, rows: &mut Rows) -> Option<usize> {
        let (field_end, row_end) = self.plain_ends?;
        let line = &self.buffer[self.position..];
        let (first, base) = (rows.fields.len(), rows.text.len());
        let mut start = 0;
        loop {
            let rest = &line[start..];
            let end = rest.iter().position(|byte| self.special[usize::from(*byte)]).map(|length| start + length);
            let found = end.map(|end| (end, line[end]));
            let Some((end, byte)) = found.filter(|(_, byte)| {
                (*byte == field_end || *byte == row_end) && (rest.first() != self.format.enclosed.as_ref())
            }) else {
                rows.fields.truncate(first);
                return None;
            };
            let is_null = self.is_null(&line[start..end], false, false);
            rows.fields.push(Place { start: base + start, end: base + end, is_null, is_blank: start == end });
            start = end + 1;
            if byte == row_end {
                rows.text.extend_from_slice(&line[..end]);
                self.end_row(rows, first);
                return Some(self.position + start);
            }
        }
    }

    /// Ends the row whose fields begin at `first`.
    fn end_row(&self, rows: &mut Rows, first: usize) {
        let fields = (rows.fields.len() - first).max(self.format.fields_min);
        let missing = Place { start: rows.text.len(), end: rows.text.len(), is_null: true, is_blank: false };
        rows.fields.resize(first + fields, missing);
        rows.ends.push(rows.fields.len());
    }

    fn cut(&self, last: bool, rows: &mut Rows) -> Cut {
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
        let first = rows.fields.len();
        loop {
            let start = rows.text.len();
            let Some((is_null, end, kind)) = self.field(at, last, &mut rows.text) else { return Cut::Incomplete };
            let is_quoted = self.format.enclosed.is_some() && self.buffer.get(at) == self.format.enclosed.as_ref();
            let is_blank = rows.text.len() == start && !is_quoted;
            if is_null {
                rows.text.truncate(start);
            }
            rows.fields.push(Place { start, end: rows.text.len(), is_null, is_blank });
            match kind {
                FieldEnd::Field => at = end,
                FieldEnd::Line => {
                    self.end_row(rows, first);
                    return Cut::Row(end);
                }
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

    /// Appends a field's text and tells whether it is NULL and where it ends; `None` if its end is still to come.
    fn field(&self, start: usize, last: bool, value: &mut Vec<u8>) -> Option<(bool, usize, FieldEnd)> {
        let format = &self.format;
        let quote = format.enclosed.filter(|quote| self.buffer.get(start) == Some(quote));
        let mut at = start + usize::from(quote.is_some());
        let value_at = value.len();
        let mut null_escape = false;
        let mut escaped_any = false;
        loop {
            let rest = &self.buffer[at..];
            let plain = match quote {
                None => rest.iter().position(|byte| self.special[usize::from(*byte)]),
                Some(quote) => rest.iter().position(|byte| *byte == quote || Some(*byte) == format.escaped),
            };
            let plain = plain.unwrap_or(rest.len());
            if plain > 0 {
                null_escape = false;
                value.extend_from_slice(&rest[..plain]);
                at += plain;
            }
            let Some(&byte) = self.buffer.get(at) else {
                if !last {
                    return None;
                }
                let is_null = self.is_null(&value[value_at..], quote.is_some(), null_escape);
                return Some((is_null, at, FieldEnd::Line));
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
                null_escape = next == b'N' && value.len() == value_at && !escaped_any && quote.is_none();
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
                        return Some((false, at + 1, FieldEnd::Line));
                    }
                    if self.may_be_cut(at + 1, last) && self.terminator(at + 1).is_none() {
                        return None;
                    }
                    if let Some((end, kind)) = self.terminator(at + 1) {
                        return Some((false, end, kind));
                    }
                }
                value.push(byte);
                at += 1;
                continue;
            }
            if let Some((end, kind)) = self.terminator(at) {
                return Some((self.is_null(&value[value_at..], false, null_escape), end, kind));
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

    /// `\N` is NULL; so is the bare word if fields are enclosed or nothing escapes, and the text of DEFINED NULL BY.
    fn is_null(&self, value: &[u8], quoted: bool, null_escape: bool) -> bool {
        if null_escape && value == b"N" {
            return true;
        }
        let word_is_null = self.format.enclosed.is_some() || self.format.escaped.is_none();
        !quoted && (word_is_null && value == b"NULL" || self.format.null_text.as_deref() == Some(value))
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
            let mut rows = Rows::default();
            for (at, piece) in pieces.iter().enumerate() {
                reader.feed(piece, at + 1 == pieces.len());
                reader.cut_rows(&mut rows);
            }
            let mut out = Vec::new();
            for row in rows.iter() {
                let fields: Vec<String> = row
                    .fields()
                    .map(|field| field.map_or("NULL".into(), |field| format!("{:?}", String::from_utf8_lossy(field))))
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
    fn missing_fields_and_texts_that_are_null() {
        let read = |text: &[u8]| {
            let format = Format { null_text: Some(Vec::new()), fields_min: 3, ..Format::new(&csv()) };
            let mut reader = LineReader::new(format, 0);
            reader.replace(text.to_vec());
            let mut rows = Rows::default();
            reader.cut_rows(&mut rows);
            rows.iter()
                .map(|row| row.fields().map(|field| field.map(<[u8]>::to_vec)).collect())
                .collect::<Vec<Vec<_>>>()
        };
        let (one, empty) = (Some(b"1".to_vec()), Some(Vec::new()));
        let rows = read(b"1\r\n,\"\"\r\n1,1,1,1\r\n");
        assert_eq!(rows, [vec![one.clone(), None, None], vec![None, empty, None], vec![one; 4]]);
    }

    #[test]
    fn lines_starting_by() {
        let format = FileFormat { lines_starting: Some(SqlString::from("xxx")), ..Default::default() };
        assert_eq!(rows(&format, 0, "xxx1\nnothing\nabcxxx2\n"), "\"1\" | \"2\"");
    }
}
