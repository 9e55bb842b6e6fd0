//! Prints JSON values.

use super::Json;
use super::ends::end_of_string;
use crate::double_text::write_double;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use std::borrow::Cow;
use std::fmt::{self, Write};

impl Json {
    /// MySQL's normal form: `{"a": [1, 2]}`.
    pub fn to_text(&self) -> String {
        let mut out = String::new();
        self.write(false, &mut out);
        out
    }

    /// The same with marks before values of types that text has no words for: what is stored.
    pub fn to_stored(&self) -> String {
        let mut out = String::new();
        self.write(true, &mut out);
        out
    }

    fn write(&self, marks: bool, out: &mut String) {
        match self {
            Json::Array(elements) => {
                out.push('[');
                for (at, element) in elements.iter().enumerate() {
                    if at > 0 {
                        out.push_str(", ");
                    }
                    element.write(marks, out);
                }
                out.push(']');
            }
            Json::Object(object) => {
                out.push('{');
                for (at, (name, value)) in object.iter().enumerate() {
                    if at > 0 {
                        out.push_str(", ");
                    }
                    write_string(name, out);
                    out.push_str(": ");
                    value.write(marks, out);
                }
                out.push('}');
            }
            scalar => {
                if marks && let Some(mark) = scalar.type_mark() {
                    mark.write(out);
                }
                scalar.write_scalar(out);
            }
        }
    }

    /// The characters of a value that is a string as text.
    pub fn characters(&self) -> Option<Cow<'_, str>> {
        Some(match self {
            Json::String(text) => Cow::Borrowed(text),
            Json::Date(date) => Cow::Owned(date.to_text()),
            Json::Time(time) => Cow::Owned(time.to_text(6)),
            Json::DateTime(moment) => Cow::Owned(moment.to_text(6)),
            Json::Opaque(type_number, bytes) => {
                Cow::Owned(format!("base64:type{type_number}:{}", STANDARD.encode(bytes)))
            }
            _ => return None,
        })
    }

    /// Appends a scalar without its mark.
    pub(super) fn write_scalar(&self, out: &mut String) {
        // Writing to a String cannot fail.
        let _ = match self {
            Json::Null => out.write_str("null"),
            Json::Bool(truth) => write!(out, "{truth}"),
            Json::Int(number) => write!(out, "{number}"),
            Json::UInt(number) => write!(out, "{number}"),
            Json::Decimal(number) => write!(out, "{number}"),
            // As a number of SQL it has no sign.
            Json::Double(number) if *number == 0.0 && number.is_sign_negative() => out.write_str("-0.0"),
            Json::Double(number) => {
                let mut digits = Vec::with_capacity(24);
                write_double(*number, &mut digits);
                // A number that came as a floating point number stays recognisable as one.
                if !digits.iter().any(|byte| matches!(byte, b'.' | b'e')) {
                    digits.extend_from_slice(b".0");
                }
                out.write_str(&String::from_utf8_lossy(&digits))
            }
            Json::String(text) => {
                write_string(text, out);
                Ok(())
            }
            Json::Date(_) | Json::Time(_) | Json::DateTime(_) | Json::Opaque(..) => {
                write_string(&self.characters().unwrap_or_default(), out);
                Ok(())
            }
            Json::Array(_) | Json::Object(_) => Ok(()),
        };
    }
}

/// `JSON_PRETTY()` of a document's text in normal form: a line for each element and member.
pub fn pretty(text: &str) -> String {
    let bytes = text.as_bytes();
    let mut out = String::with_capacity(text.len());
    let (mut at, mut level) = (0, 0usize);
    let line = |level: usize, out: &mut String| {
        out.push('\n');
        out.extend(std::iter::repeat_n("  ", level));
    };
    while let Some(&byte) = bytes.get(at) {
        let end = match byte {
            b'"' => end_of_string(bytes, at),
            b'{' | b'[' | b'}' | b']' | b',' => at + 1,
            _ => {
                let part = |byte: &u8| matches!(byte, b'"' | b'{' | b'[' | b'}' | b']' | b',');
                bytes[at..].iter().position(part).map_or(bytes.len(), |length| at + length)
            }
        };
        let is_empty = matches!(bytes.get(end), Some(b'}' | b']'));
        if matches!(byte, b'}' | b']') && !matches!(bytes.get(at.wrapping_sub(1)), Some(b'{' | b'[')) {
            level = level.saturating_sub(1);
            line(level, &mut out);
        }
        out.push_str(&text[at..end]);
        at = end;
        match byte {
            b'{' | b'[' if !is_empty => {
                level += 1;
                line(level, &mut out);
            }
            b',' => {
                line(level, &mut out);
                at += usize::from(bytes.get(at) == Some(&b' '));
            }
            _ => {}
        }
    }
    out
}

impl fmt::Display for Json {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.to_text())
    }
}

/// Appends a string in quotation marks.
pub(super) fn write_string(text: &str, out: &mut String) {
    out.push('"');
    let mut rest = text;
    // All that is escaped is ASCII, so that what lies between is text.
    while let Some(at) = rest.bytes().position(|byte| byte < b' ' || byte == b'"' || byte == b'\\') {
        out.push_str(&rest[..at]);
        match rest.as_bytes()[at] {
            b'"' => out.push_str("\\\""),
            b'\\' => out.push_str("\\\\"),
            0x08 => out.push_str("\\b"),
            0x0c => out.push_str("\\f"),
            b'\n' => out.push_str("\\n"),
            b'\r' => out.push_str("\\r"),
            b'\t' => out.push_str("\\t"),
            control => {
                let _ = write!(out, "\\u{control:04x}");
            }
        }
        rest = &rest[at + 1..];
    }
    out.push_str(rest);
    out.push('"');
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pretty() {
        let json = Json::parse(r#"{"a": [1, {"b": []}], "c": {}}"#).unwrap();
        let expected = "{\n  \"a\": [\n    1,\n    {\n      \"b\": []\n    }\n  ],\n  \"c\": {}\n}";
        assert_eq!(super::pretty(&json.to_text()), expected);
        let strings = Json::parse(r#"["{\"[,", [], {}, -1.5e10, {"a,\\": null}]"#).unwrap();
        let expected = "[\n  \"{\\\"[,\",\n  [],\n  {},\n  -15000000000.0,\n  {\n    \"a,\\\\\": null\n  }\n]";
        assert_eq!(super::pretty(&strings.to_text()), expected);
        assert_eq!(super::pretty("7"), "7");
        assert_eq!(Json::String("\u{1}/".into()).to_text(), "\"\\u0001/\"");
    }
}
