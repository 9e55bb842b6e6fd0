//! Records of CSV, TSV and NDJSON files, as lines that LOAD DATA takes.

use crate::field::{FieldKind, push_json_string, push_text_field};
use crate::format::FileFormat;
use serde_json::{Map, Value as Json};
use std::io::{self, BufRead, Read as _};

/// The longest record that is read: one without an end would fill the memory.
const RECORD_BYTES_MAX: usize = 1 << 30;

/// One record of a text file.
#[derive(Debug, Default)]
pub struct Record {
    /// The line it begins in, from 1.
    pub line: u64,
    /// Its text as it lies in the file, without the line's end.
    pub text: Vec<u8>,
}

/// Reads records one after the other.
pub struct Records {
    input: Box<dyn BufRead + Send>,
    format: FileFormat,
    delimiter: u8,
    next_line: u64,
    /// The types of the columns; columns without a type are texts.
    kinds: Vec<FieldKind>,
    /// Which fields of a CSV record are taken, in this order; `None` is all.
    fields: Option<Vec<usize>>,
    /// Whether objects may have members that belong to no column.
    other_members: bool,
    /// Whether empty lines of CSV are records.
    empty_lines: bool,
}

impl std::fmt::Debug for Records {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Records")
            .field("format", &self.format)
            .field("next_line", &self.next_line)
            .finish_non_exhaustive()
    }
}

impl Records {
    /// Records of a text of that format; `delimiter` is what separates fields of CSV and TSV.
    pub fn new(input: Box<dyn BufRead + Send>, format: FileFormat, delimiter: u8) -> Records {
        let (kinds, fields, other_members, empty_lines) = (Vec::new(), None, false, false);
        Records { input, format, delimiter, next_line: 1, kinds, fields, other_members, empty_lines }
    }

    /// Says what the columns make of the fields that are taken.
    pub fn with_kinds(self, kinds: Vec<FieldKind>) -> Records {
        Records { kinds, ..self }
    }

    /// Takes these fields of CSV records only.
    pub fn with_fields(self, fields: Vec<usize>) -> Records {
        Records { fields: Some(fields), ..self }
    }

    /// Lets objects have members that belong to no column.
    pub fn with_other_members(self) -> Records {
        Records { other_members: true, ..self }
    }

    /// Says how many fields a record has: a CSV file of one field has an empty line for NULL.
    pub fn with_field_count(self, count: usize) -> Records {
        Records { empty_lines: count == 1 && self.format == FileFormat::Csv, ..self }
    }

    fn kind(&self, at: usize) -> FieldKind {
        self.kinds.get(at).copied().unwrap_or_default()
    }

    /// Reads the next record; `false` at the end. Empty lines are no records, unless they are all that NULL leaves of one.
    pub fn next(&mut self, record: &mut Record) -> io::Result<bool> {
        loop {
            record.text.clear();
            record.line = self.next_line;
            let mut inside_quotes = false;
            loop {
                let before = record.text.len();
                let left = (RECORD_BYTES_MAX - before) as u64;
                if (&mut self.input).take(left).read_until(b'\n', &mut record.text)? == 0 {
                    break;
                }
                self.next_line += 1;
                if record.text.len() >= RECORD_BYTES_MAX {
                    return Err(io::Error::other(format!("the record in line {} is too long", record.line)));
                }
                let line = &record.text[before..];
                let goes_on = match self.format {
                    // A line's end inside of quotes is part of the record.
                    FileFormat::Csv => {
                        inside_quotes ^= memchr::memchr_iter(b'"', line).count() % 2 == 1;
                        inside_quotes
                    }
                    FileFormat::Tsv => ends_escaped(line),
                    FileFormat::Ndjson | FileFormat::Parquet => false,
                };
                if !goes_on {
                    break;
                }
            }
            if record.text.is_empty() {
                return Ok(false);
            }
            if record.text.ends_with(b"\n") {
                record.text.pop();
                if record.text.ends_with(b"\r") {
                    record.text.pop();
                }
            }
            if !record.text.is_empty() || self.empty_lines {
                return Ok(true);
            }
        }
    }

    /// The fields of a record as they are, for a line of names.
    pub fn names(&self, record: &Record) -> Result<Vec<String>, String> {
        let mut names = Vec::new();
        let mut add =
            |field: Option<&[u8]>| names.push(String::from_utf8_lossy(field.unwrap_or_default()).trim().to_owned());
        match self.format {
            FileFormat::Csv => csv_fields(&record.text, self.delimiter, b"\\N", &mut add)?,
            _ => record.text.split(|byte| *byte == self.delimiter).for_each(|field| add(Some(field))),
        }
        // What some programs put before the first character.
        if let Some(first) = names.first_mut() {
            *first = first.trim_start_matches('\u{FEFF}').to_owned();
        }
        Ok(names)
    }

    /// Appends the record as a line for LOAD DATA; `null` is the field that means NULL, and `columns` are the columns of an
    /// object's members.
    pub fn encode(&self, record: &Record, null: &[u8], columns: &[String], out: &mut Vec<u8>) -> Result<(), String> {
        let start = out.len();
        let encoded = match self.format {
            FileFormat::Csv => match &self.fields {
                Some(fields) => self.chosen_fields(record, null, fields, out),
                None => {
                    let mut at = 0;
                    csv_fields(&record.text, self.delimiter, null, &mut |field| {
                        if at > 0 {
                            out.push(b'\t');
                        }
                        push_text_field(field, self.kind(at), out);
                        at += 1;
                    })
                }
            },
            FileFormat::Tsv if self.delimiter == b'\t' => {
                out.extend_from_slice(&record.text);
                Ok(())
            }
            FileFormat::Tsv => {
                out.extend(record.text.iter().map(|byte| if *byte == self.delimiter { b'\t' } else { *byte }));
                Ok(())
            }
            FileFormat::Ndjson => self.push_object(&record.text, columns, out),
            FileFormat::Parquet => Err("Parquet has no lines".to_owned()),
        };
        if encoded.is_err() {
            out.truncate(start);
        } else {
            out.push(b'\n');
        }
        encoded
    }

    fn chosen_fields(&self, record: &Record, null: &[u8], fields: &[usize], out: &mut Vec<u8>) -> Result<(), String> {
        let mut all: Vec<Option<Vec<u8>>> = Vec::new();
        csv_fields(&record.text, self.delimiter, null, &mut |field| all.push(field.map(<[u8]>::to_vec)))?;
        for (at, field) in fields.iter().enumerate() {
            let field = all.get(*field).ok_or_else(|| format!("the record has only {} fields", all.len()))?;
            if at > 0 {
                out.push(b'\t');
            }
            push_text_field(field.as_deref(), self.kind(at), out);
        }
        Ok(())
    }

    fn push_object(&self, text: &[u8], columns: &[String], out: &mut Vec<u8>) -> Result<(), String> {
        let object = object_of(text)?;
        let known = |name: &String| columns.iter().any(|column| column.eq_ignore_ascii_case(name));
        if !self.other_members
            && let Some(name) = object.keys().find(|name| !known(name))
        {
            return Err(format!("there is no column '{name}'"));
        }
        for (at, column) in columns.iter().enumerate() {
            if at > 0 {
                out.push(b'\t');
            }
            let member = object.get(column).or_else(|| {
                object.iter().find(|(name, _)| name.eq_ignore_ascii_case(column)).map(|(_, member)| member)
            });
            let kind = self.kind(at);
            match member {
                None | Some(Json::Null) => push_text_field(None, kind, out),
                Some(Json::Bool(value)) => push_text_field(Some(if *value { b"1" } else { b"0" }), kind, out),
                Some(Json::String(text)) => push_json_string(text, kind, out),
                Some(member) => push_text_field(Some(member.to_string().as_bytes()), kind, out),
            }
        }
        Ok(())
    }
}

/// Whether a line's end is escaped: an odd number of backslashes comes before.
fn ends_escaped(line: &[u8]) -> bool {
    let Some(text) = line.strip_suffix(b"\n") else { return false };
    text.iter().rev().take_while(|byte| **byte == b'\\').count() % 2 == 1
}

/// The fields of a CSV record; `None` is NULL, which is never quoted.
fn csv_fields(text: &[u8], delimiter: u8, null: &[u8], take: &mut dyn FnMut(Option<&[u8]>)) -> Result<(), String> {
    let mut rest = text;
    let mut unquoted = Vec::new();
    loop {
        if let Some(quoted) = rest.strip_prefix(b"\"") {
            unquoted.clear();
            let mut at = 0;
            loop {
                let Some(next) = memchr::memchr(b'"', &quoted[at..]) else {
                    return Err("a quote is not closed".to_owned());
                };
                unquoted.extend_from_slice(&quoted[at..at + next]);
                at += next + 1;
                if quoted.get(at) != Some(&b'"') {
                    break;
                }
                unquoted.push(b'"');
                at += 1;
            }
            take(Some(&unquoted));
            match quoted.get(at) {
                None => return Ok(()),
                Some(byte) if *byte == delimiter => rest = &quoted[at + 1..],
                Some(_) => return Err("there is text behind a closing quote".to_owned()),
            }
        } else {
            let end = memchr::memchr(delimiter, rest).unwrap_or(rest.len());
            let field = &rest[..end];
            take((field != null).then_some(field));
            if end == rest.len() {
                return Ok(());
            }
            rest = &rest[end + 1..];
        }
    }
}

fn object_of(text: &[u8]) -> Result<Map<String, Json>, String> {
    // Numbers keep their text: a decimal has more digits than a double.
    match serde_json::from_slice(text) {
        Ok(Json::Object(object)) => Ok(object),
        Ok(_) => Err("the line is no JSON object".to_owned()),
        Err(error) => Err(format!("no JSON: {error}")),
    }
}

/// The members that the first records of a file have.
pub fn member_names(records: &mut Records, limit: usize) -> Result<Vec<String>, String> {
    let mut names: Vec<String> = Vec::new();
    let mut record = Record::default();
    for _ in 0..limit {
        if !records.next(&mut record).map_err(|error| error.to_string())? {
            break;
        }
        for name in object_of(&record.text).unwrap_or_default().keys() {
            if !names.iter().any(|known| known.eq_ignore_ascii_case(name)) {
                names.push(name.clone());
            }
        }
    }
    Ok(names)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn encoded(format: FileFormat, text: &str) -> String {
        let mut records = Records::new(
            Box::new(io::Cursor::new(text.as_bytes().to_vec())),
            format,
            if format == FileFormat::Csv { b',' } else { b'\t' },
        );
        let (mut record, mut out) = (Record::default(), Vec::new());
        let columns = ["a".to_owned(), "b".to_owned()];
        let mut shown = String::new();
        while records.next(&mut record).unwrap() {
            out.clear();
            match records.encode(&record, b"", &columns, &mut out) {
                Ok(()) => shown += &format!("{}: {}", record.line, String::from_utf8_lossy(&out)),
                Err(reason) => shown += &format!("{}! {reason}\n", record.line),
            }
        }
        shown
    }

    #[test]
    fn csv() {
        let text = "1,a b\r\n2,\"say \"\"no\"\", then\n\tgo\"\n\n3,\"\"\n,\\\n5,\"x\"y\n6,é";
        let expected = "1: 1\ta b\n2: 2\tsay \"no\", then\\n\\tgo\n5: 3\t\n6: \\N\t\\\\\n7! there is text behind a closing quote\n8: 6\té\n";
        assert_eq!(encoded(FileFormat::Csv, text), expected);
        assert_eq!(encoded(FileFormat::Csv, "1,\"open\n2,3\n"), "1! a quote is not closed\n");
    }

    #[test]
    fn an_empty_line_is_the_null_of_one_field() {
        let text = || Box::new(io::Cursor::new("1\n\n\"\"\n\r\n"));
        for (fields, expected) in [(1, 4), (2, 2)] {
            let mut records = Records::new(text(), FileFormat::Csv, b',').with_field_count(fields);
            let (mut record, mut out, mut count) = (Record::default(), Vec::new(), 0);
            while records.next(&mut record).expect("read") {
                records.encode(&record, b"", &[], &mut out).expect("fields");
                count += 1;
            }
            assert_eq!(count, expected);
            assert_eq!(String::from_utf8(out).expect("text"), if fields == 1 { "1\n\\N\n\n\\N\n" } else { "1\n\n" });
        }
    }

    #[test]
    fn tsv_goes_through_as_it_is() {
        assert_eq!(encoded(FileFormat::Tsv, "1\ta\\\nb\n2\t\\N\n"), "1: 1\ta\\\nb\n3: 2\t\\N\n");
    }

    #[test]
    fn objects() {
        let text = "{\"b\": \"x\\ty\", \"A\": 12345678901234567890.50}\n{\"a\": true, \"b\": {\"c\": [1]}}\n{\"a\": null}\n{\"c\": 1}\n[1]\n{";
        let found = encoded(FileFormat::Ndjson, text);
        let mut lines = found.lines();
        assert_eq!(lines.next(), Some("1: 12345678901234567890.50\tx\\ty"));
        assert_eq!(lines.next(), Some("2: 1\t{\"c\":[1]}"));
        assert_eq!(lines.next(), Some("3: \\N\t\\N"));
        assert_eq!(lines.next(), Some("4! there is no column 'c'"));
        assert_eq!(lines.next(), Some("5! the line is no JSON object"));
        assert!(lines.next().is_some_and(|line| line.starts_with("6! no JSON")), "{found}");
    }
}
