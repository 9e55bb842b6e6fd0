//! Writes values as CSV and NDJSON.

use squall_functions::operators::coerce::to_text;
use squall_types::json::Json;
use squall_types::{SqlType, Value};
use std::io::Write as _;

/// What a value is in JSON.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum JsonForm {
    /// A number: the text as it is, without the zeros of ZEROFILL.
    Number,
    /// JSON as it is.
    Json,
    /// A string.
    String,
    /// A string in base64, as MySQL has byte strings in JSON.
    Bytes,
}

impl JsonForm {
    /// The form of a type's values.
    pub fn of(sql_type: &SqlType) -> JsonForm {
        match sql_type {
            SqlType::Json => JsonForm::Json,
            _ if sql_type.is_numeric() => JsonForm::Number,
            _ if sql_type.is_binary_string() => JsonForm::Bytes,
            _ => JsonForm::String,
        }
    }
}

/// Appends a text as a JSON string.
pub fn push_json_string(text: &str, out: &mut Vec<u8>) {
    out.push(b'"');
    let bytes = text.as_bytes();
    let mut written = 0;
    for (at, byte) in bytes.iter().enumerate() {
        let escape: &[u8] = match byte {
            b'"' => b"\\\"",
            b'\\' => b"\\\\",
            b'\n' => b"\\n",
            b'\r' => b"\\r",
            b'\t' => b"\\t",
            8 => b"\\b",
            12 => b"\\f",
            0..32 => {
                out.extend_from_slice(&bytes[written..at]);
                // Two hexadecimal digits are enough below 32. Writing to memory cannot fail.
                let _ = write!(out, "\\u00{byte:02x}");
                written = at + 1;
                continue;
            }
            _ => continue,
        };
        out.extend_from_slice(&bytes[written..at]);
        out.extend_from_slice(escape);
        written = at + 1;
    }
    out.extend_from_slice(&bytes[written..]);
    out.push(b'"');
}

/// Appends a value that is not NULL, given by its text or its bytes.
pub fn push_json(value: &[u8], form: JsonForm, out: &mut Vec<u8>) {
    match form {
        JsonForm::Json => out.extend_from_slice(value),
        JsonForm::Number => {
            let zeros = value.iter().take_while(|byte| **byte == b'0').count();
            let kept = if value.get(zeros).is_some_and(u8::is_ascii_digit) { zeros } else { zeros.saturating_sub(1) };
            out.extend_from_slice(&value[kept..]);
        }
        JsonForm::String => push_json_string(&String::from_utf8_lossy(value), out),
        JsonForm::Bytes => {
            out.extend_from_slice(Json::from_value(&Value::Bytes(value.to_vec())).to_text().as_bytes());
        }
    }
}

/// Appends a CSV field (RFC 4180): one with a quote, a comma or a line's end in it is enclosed in quotes, and so is an empty
/// text; NULL is an empty field.
pub fn push_csv(value: Option<&[u8]>, out: &mut Vec<u8>) {
    let Some(value) = value else { return };
    if !value.is_empty() && !value.iter().any(|byte| matches!(byte, b'"' | b',' | b'\n' | b'\r')) {
        return out.extend_from_slice(value);
    }
    out.push(b'"');
    for part in value.split_inclusive(|byte| *byte == b'"') {
        out.extend_from_slice(part);
        if part.ends_with(b"\"") {
            out.push(b'"');
        }
    }
    out.push(b'"');
}

/// Makes lines of rows.
#[derive(Debug)]
pub struct LineWriter {
    types: Vec<SqlType>,
    /// The columns' names as JSON strings; `None` for CSV.
    members: Option<Vec<Vec<u8>>>,
}

impl LineWriter {
    /// Lines of CSV.
    pub fn csv(types: Vec<SqlType>) -> LineWriter {
        LineWriter { types, members: None }
    }

    /// Lines of JSON.
    pub fn ndjson(names: &[String], types: Vec<SqlType>) -> LineWriter {
        let member = |name: &String| {
            let mut text = Vec::new();
            push_json_string(name, &mut text);
            text
        };
        LineWriter { types, members: Some(names.iter().map(member).collect()) }
    }

    /// Appends CSV's line of names.
    pub fn header(names: &[String], out: &mut Vec<u8>) {
        for (at, name) in names.iter().enumerate() {
            if at > 0 {
                out.push(b',');
            }
            push_csv(Some(name.as_bytes()), out);
        }
        out.push(b'\n');
    }

    /// Appends a row.
    pub fn row(&self, row: &[Value], out: &mut Vec<u8>) {
        for (at, (value, sql_type)) in row.iter().zip(&self.types).enumerate() {
            match &self.members {
                None if at > 0 => out.push(b','),
                None => {}
                Some(members) => {
                    out.push(if at == 0 { b'{' } else { b',' });
                    out.extend_from_slice(&members[at]);
                    out.push(b':');
                }
            }
            let text = match (value, sql_type) {
                (Value::Null, _) => None,
                // Files have the number of a BIT column, not its bytes.
                (Value::UInt(bits), SqlType::Bit { .. }) => Some(bits.to_string().into_bytes()),
                (Value::Bytes(bytes), _) => Some(bytes.clone()),
                _ => to_text(value, sql_type).map(|text| text.into_owned().into_bytes()),
            };
            match (&self.members, text) {
                (None, text) => push_csv(text.as_deref(), out),
                (Some(_), None) => out.extend_from_slice(b"null"),
                (Some(_), Some(text)) => push_json(&text, JsonForm::of(sql_type), out),
            }
        }
        out.extend_from_slice(if self.members.is_some() { b"}\n" } else { b"\n" });
    }
}
