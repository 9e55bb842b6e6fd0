//! The text of rows in files: FIELDS and LINES.

use squall_functions::operators::coerce::to_text;
use squall_parser::ast::FileFormat;
use squall_types::collation::Charset;
use squall_types::{SqlType, Value};

/// FIELDS and LINES with their defaults in place.
#[derive(Clone, Debug)]
pub(crate) struct Format {
    pub fields_terminated: Vec<u8>,
    pub enclosed: Option<u8>,
    pub optionally_enclosed: bool,
    pub escaped: Option<u8>,
    pub lines_starting: Vec<u8>,
    pub lines_terminated: Vec<u8>,
    /// The text of a field that is NULL; LOAD DATA only.
    pub null_text: Option<Vec<u8>>,
    /// The least number of fields of a line; missing fields are NULL; LOAD DATA only.
    pub fields_min: usize,
}

impl Format {
    pub fn new(format: &FileFormat) -> Format {
        let bytes = |text: &Option<squall_parser::ast::SqlString>, default: &[u8]| {
            text.as_ref().map_or_else(|| default.to_vec(), |text| text.as_bytes().to_vec())
        };
        Format {
            fields_terminated: bytes(&format.fields_terminated, b"\t"),
            enclosed: format.fields_enclosed.as_ref().and_then(|text| text.as_bytes().first().copied()),
            optionally_enclosed: format.fields_optionally_enclosed,
            escaped: bytes(&format.fields_escaped, b"\\").first().copied(),
            lines_starting: bytes(&format.lines_starting, b""),
            lines_terminated: bytes(&format.lines_terminated, b"\n"),
            null_text: None,
            fields_min: 0,
        }
    }

    /// Appends a row.
    pub(super) fn write_row(&self, out: &mut Vec<u8>, row: &[Value], types: &[SqlType], charset: Option<Charset>) {
        out.extend_from_slice(&self.lines_starting);
        for (at, (value, sql_type)) in row.iter().zip(types).enumerate() {
            if at > 0 {
                out.extend_from_slice(&self.fields_terminated);
            }
            self.write_value(out, value, sql_type, charset);
        }
        out.extend_from_slice(&self.lines_terminated);
    }

    fn write_value(&self, out: &mut Vec<u8>, value: &Value, sql_type: &SqlType, charset: Option<Charset>) {
        if value.is_null() {
            return match self.escaped {
                Some(escape) => out.extend_from_slice(&[escape, b'N']),
                None => out.extend_from_slice(b"NULL"),
            };
        }
        let is_text = matches!(value, Value::String(_) | Value::Bytes(_) | Value::Json(_))
            || matches!(sql_type, SqlType::Enum { .. } | SqlType::Set { .. })
            || sql_type.is_temporal();
        let enclosed = self.enclosed.filter(|_| !self.optionally_enclosed || is_text);
        if let Some(quote) = enclosed {
            out.push(quote);
        }
        let bytes = match (value, charset) {
            (Value::Bytes(bytes), _) if sql_type.digit_bytes().is_none() => bytes.clone(),
            (_, None) => to_text(value, sql_type).unwrap_or_default().into_owned().into_bytes(),
            (_, Some(charset)) => {
                let mut encoded = Vec::new();
                charset.encode(&to_text(value, sql_type).unwrap_or_default(), &mut encoded);
                encoded
            }
        };
        for byte in bytes {
            if self.needs_escape(byte, enclosed) {
                let escape = self.escaped.unwrap_or(b'\\');
                let written = if byte == 0 { b'0' } else { byte };
                out.extend_from_slice(&[escape, written]);
            } else {
                out.push(byte);
            }
        }
        if let Some(quote) = enclosed {
            out.push(quote);
        }
    }

    fn needs_escape(&self, byte: u8, enclosed: Option<u8>) -> bool {
        let Some(escape) = self.escaped else { return false };
        byte == 0
            || byte == escape
            || match enclosed {
                Some(quote) => byte == quote,
                None => self.fields_terminated.first() == Some(&byte) || self.lines_terminated.first() == Some(&byte),
            }
    }
}
