//! LOAD XML: converts elements to LOAD DATA's default format, and then loads them like other files.
//!
//! A row is an element with a given name. Its fields are attributes, elements with text, and `<field name="…">` elements, in the row or
//! around it. An empty text is no field, as in MySQL: the column is NULL.

use squall_file_formats::push_field;
use squall_parser::ast::{FileFormat, LoadData};
use squall_types::collation::Charset;
use squall_types::{ErrorCode, SqlError, SqlResult};

/// The element that is a row without ROWS IDENTIFIED BY.
const ROW: &str = "<row>";
/// The name of the element `<field name="…">`.
const FIELD: &[u8] = b"field";
/// Elements inside of elements.
const DEPTH_MAX: usize = 1000;
/// Bytes of what has to be there at once: a mark, or the fields around a row and in it.
const BYTES_MAX: usize = 256 << 20;

/// Makes rows of elements, of pieces of text as they come.
pub(super) struct XmlRows {
    row: Vec<u8>,
    columns: Vec<Vec<u8>>,
    /// Text that is not read yet: the beginning of a mark.
    rest: Vec<u8>,
    open: Vec<Element>,
    /// Fields that are in force, the innermost last, and their bytes.
    fields: Vec<(Vec<u8>, Vec<u8>)>,
    fields_bytes: usize,
    /// Text of the innermost element since its last mark.
    text: Vec<u8>,
}

struct Element {
    name: Vec<u8>,
    /// Fields that are in force around it.
    fields_before: usize,
    has_elements: bool,
}

/// 1235 for what a LOAD XML statement may have and is not there.
pub(super) fn check(statement: &LoadData, charset: Charset) -> SqlResult<()> {
    if statement.format != FileFormat::default() || statement.null_text.is_some() || statement.trailing_nullcols {
        return Err(SqlError::unsupported("FIELDS and LINES in LOAD XML"));
    }
    let is_read = matches!(charset, Charset::Utf8mb4 | Charset::Utf8mb3)
        || charset.bytes_per_character_max() == 1 && charset.is_ascii_compatible();
    if is_read { Ok(()) } else { Err(SqlError::unsupported("LOAD XML in this CHARACTER SET")) }
}

impl XmlRows {
    /// Rows of a statement with these columns.
    pub fn new(statement: &LoadData, columns: Vec<String>) -> XmlRows {
        let row = statement.rows_identified_by.as_deref().unwrap_or(ROW);
        XmlRows {
            row: row.trim_start_matches('<').trim_end_matches('>').as_bytes().to_vec(),
            columns: columns.into_iter().map(String::into_bytes).collect(),
            rest: Vec::new(),
            open: Vec::new(),
            fields: Vec::new(),
            fields_bytes: 0,
            text: Vec::new(),
        }
    }

    /// Takes a piece of text, and gives the rows that end in it.
    pub fn rows_of(&mut self, piece: &[u8]) -> SqlResult<Vec<u8>> {
        let mut text = std::mem::take(&mut self.rest);
        text.extend_from_slice(piece);
        let mut rows = Vec::with_capacity(piece.len());
        let mut at = 0;
        while let Some(length) = memchr::memchr(b'<', &text[at..]) {
            self.add_text(&text[at..at + length])?;
            at += length;
            let Some(end) = mark_end(&text[at..]) else { break };
            self.mark(&text[at..at + end], &mut rows)?;
            at += end;
        }
        if text.get(at) != Some(&b'<') {
            self.add_text(&text[at..])?;
            at = text.len();
        }
        self.rest = text.split_off(at);
        if self.rest.len() > BYTES_MAX {
            return Err(too_much("a mark does not end"));
        }
        Ok(rows)
    }

    fn add_text(&mut self, text: &[u8]) -> SqlResult<()> {
        // Between rows nothing is gathered.
        if self.open.last().is_some_and(|element| !element.has_elements) {
            self.text.extend_from_slice(text);
            if self.text.len() + self.fields_bytes > BYTES_MAX {
                return Err(too_much("a row is too long"));
            }
        }
        Ok(())
    }

    fn mark(&mut self, mark: &[u8], rows: &mut Vec<u8>) -> SqlResult<()> {
        if let Some(inner) = mark.strip_prefix(b"<![CDATA[") {
            // What stands for characters elsewhere stands for itself.
            let mut escaped = Vec::with_capacity(inner.len());
            for byte in &inner[..inner.len() - 3] {
                match byte {
                    b'&' => escaped.extend_from_slice(b"&amp;"),
                    byte => escaped.push(*byte),
                }
            }
            return self.add_text(&escaped);
        }
        if mark.starts_with(b"<!") || mark.starts_with(b"<?") {
            return Ok(());
        }
        let inner = &mark[1..mark.len() - 1];
        if let Some(name) = inner.strip_prefix(b"/") {
            return self.leave(name.trim_ascii(), rows);
        }
        let is_empty = inner.ends_with(b"/");
        let inner = if is_empty { &inner[..inner.len() - 1] } else { inner };
        let name_end = inner.iter().position(u8::is_ascii_whitespace).unwrap_or(inner.len());
        let (name, attributes) = inner.split_at(name_end);
        if self.open.len() == DEPTH_MAX {
            return Err(too_much("elements are too deep within each other"));
        }
        if let Some(outer) = self.open.last_mut() {
            outer.has_elements = true;
        }
        self.text.clear();
        let fields_before = self.fields.len();
        self.open.push(Element { name: name.to_vec(), fields_before, has_elements: false });
        self.attributes(attributes)?;
        if is_empty && let Some(element) = self.open.pop() {
            self.end(&element, rows);
        }
        Ok(())
    }

    fn attributes(&mut self, mut rest: &[u8]) -> SqlResult<()> {
        loop {
            rest = rest.trim_ascii_start();
            let Some(equals) = memchr::memchr(b'=', rest) else { return Ok(()) };
            let name = rest[..equals].trim_ascii();
            rest = rest[equals + 1..].trim_ascii_start();
            let Some(quote @ (b'"' | b'\'')) = rest.first() else { return Ok(()) };
            let Some(length) = memchr::memchr(*quote, &rest[1..]) else { return Ok(()) };
            self.add_field(name.to_vec(), decoded(&rest[1..=length]))?;
            rest = &rest[length + 2..];
        }
    }

    fn add_field(&mut self, name: Vec<u8>, value: Vec<u8>) -> SqlResult<()> {
        if value.is_empty() {
            return Ok(());
        }
        self.fields_bytes += name.len() + value.len();
        if self.fields_bytes > BYTES_MAX {
            return Err(too_much("a row is too long"));
        }
        self.fields.push((name, value));
        Ok(())
    }

    /// The mark of an element's end. One that fits no open element ends nothing.
    fn leave(&mut self, name: &[u8], rows: &mut Vec<u8>) -> SqlResult<()> {
        if self.open.last().is_none_or(|element| element.name != name) {
            return Ok(());
        }
        let Some(element) = self.open.pop() else { return Ok(()) };
        let value = (!element.has_elements).then(|| decoded(&self.text));
        let own = &self.fields[element.fields_before..];
        let named =
            own.iter().find(|(field, _)| element.name == FIELD && field == b"name").map(|(_, name)| name.clone());
        let is_row = self.end(&element, rows);
        match value {
            Some(value) if !is_row => self.add_field(named.unwrap_or(element.name), value),
            _ => Ok(()),
        }
    }

    /// Ends an element and the elements in it; fields in a row belong to the row. Tells whether it was a row.
    fn end(&mut self, element: &Element, rows: &mut Vec<u8>) -> bool {
        let is_row = element.name == self.row;
        if is_row {
            for (at, column) in self.columns.iter().enumerate() {
                if at > 0 {
                    rows.push(b'\t');
                }
                let field = self.fields.iter().rev().find(|(name, _)| name == column);
                push_field(field.map(|(_, value)| value.as_slice()), rows);
            }
            rows.push(b'\n');
        }
        self.text.clear();
        let is_in_row = || self.open.iter().any(|open| open.name == self.row);
        if !is_row && element.name != FIELD && is_in_row() {
            return false;
        }
        let gone = self.fields.drain(element.fields_before..);
        self.fields_bytes -= gone.map(|(name, value)| name.len() + value.len()).sum::<usize>();
        is_row
    }
}

/// Where a mark ends that a text begins with; `None` if it goes on.
fn mark_end(text: &[u8]) -> Option<usize> {
    let behind = |end: &[u8]| memchr::memmem::find(text, end).map(|at| at + end.len());
    if text.starts_with(b"<!--") {
        return behind(b"-->");
    }
    if text.starts_with(b"<![CDATA[") {
        return behind(b"]]>");
    }
    // The text may break off in what tells them apart.
    if b"<![CDATA[".starts_with(text) || b"<!--".starts_with(text) {
        return None;
    }
    let mut quote = None;
    let mut brackets = 0usize;
    for (at, byte) in text.iter().enumerate() {
        match (quote, byte) {
            (Some(open), byte) if byte == open => quote = None,
            (Some(_), _) => {}
            (None, b'"' | b'\'') => quote = Some(byte),
            (None, b'[') => brackets += 1,
            (None, b']') => brackets = brackets.saturating_sub(1),
            (None, b'>') if brackets == 0 => return Some(at + 1),
            _ => {}
        }
    }
    None
}

/// A value with the five names of characters that XML has in place of these.
fn decoded(text: &[u8]) -> Vec<u8> {
    const NAMES: [(&[u8], u8); 5] =
        [(b"&lt;", b'<'), (b"&gt;", b'>'), (b"&amp;", b'&'), (b"&quot;", b'"'), (b"&apos;", b'\'')];
    let mut value = Vec::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = memchr::memchr(b'&', rest) {
        value.extend_from_slice(&rest[..at]);
        let (length, byte) = NAMES
            .iter()
            .find(|(name, _)| rest[at..].starts_with(name))
            .map_or((1, b'&'), |(name, byte)| (name.len(), *byte));
        value.push(byte);
        rest = &rest[at + length..];
    }
    value.extend_from_slice(rest);
    value
}

fn too_much(what: &str) -> SqlError {
    SqlError::new(ErrorCode::WrongValue, &[&"XML", &what])
}

#[cfg(test)]
mod tests {
    use super::XmlRows;
    use squall_parser::ParseOptions;
    use squall_parser::ast::Statement;

    fn rows(text: &str, piece_length: usize) -> String {
        let parsed = squall_parser::parse("LOAD XML INFILE 'f' INTO TABLE t", &ParseOptions::default()).unwrap();
        let Statement::LoadData(load) = parsed.statement else { panic!("no LOAD XML") };
        let mut rows = XmlRows::new(&load, vec!["a".into(), "b".into()]);
        let pieces = text.as_bytes().chunks(piece_length).map(|piece| rows.rows_of(piece).unwrap());
        String::from_utf8(pieces.flatten().collect()).unwrap()
    }

    #[test]
    fn fields_of_all_forms_in_pieces_of_all_lengths() {
        let text = "<?xml version='1.0'?><!DOCTYPE x [<!ENTITY y 'z'>]><!-- <row a='0'/> --><x><row a='1' b='b1'/>\n\
            <row><a>2</a><b>b&lt;2&amp;gt; &unknown; '\"</b></row><row><field name='a'>3</field><field name=\"b\"/></row>\
            <y a='4'><row b='x > y'/><row><b><![CDATA[<&amp;>\t]]></b></row></y><row><b></b></row><row c='1'/>\
            <row><A>5</A><c a='6'><b>deep</b></c></row></x>";
        let expected =
            "1\tb1\n2\tb<2&gt; &unknown; '\"\n3\t\\N\n4\tx > y\n4\t<&amp;>\\t\n\\N\t\\N\n\\N\t\\N\n6\tdeep\n";
        for piece_length in 1..text.len() {
            assert_eq!(rows(text, piece_length), expected, "in pieces of {piece_length}");
        }
    }

    #[test]
    fn what_is_no_xml_gives_what_it_can() {
        assert_eq!(rows("<row a='1'", 4), "");
        assert_eq!(rows("</row><row a='1'></x></row>>><<row>", 4), "1\t\\N\n");
        assert_eq!(rows("<row a=1 b='2'/><row a/><row =''/>", 9), "\\N\t\\N\n\\N\t\\N\n\\N\t\\N\n");
    }
}
