//! Rows as CSV and as lines of JSON.

use squall_functions::operators::coerce::to_text;
use squall_types::json::Json;
use squall_types::{SqlType, Value};
use std::io::{self, Write};

/// Rows behind a line of the columns' names, as RFC 4180 has it with `\n`: a field with a quote, a comma or a line's end
/// in it is enclosed in quotes, and so is an empty text; NULL is an empty field.
pub fn write_csv(out: &mut impl Write, names: &[String], rows: &[Vec<Value>], types: &[SqlType]) -> io::Result<()> {
    for (at, name) in names.iter().enumerate() {
        write_separator(out, at)?;
        write_csv_field(out, name.as_bytes())?;
    }
    out.write_all(b"\n")?;
    for row in rows {
        for (at, (value, sql_type)) in row.iter().zip(types).enumerate() {
            write_separator(out, at)?;
            match value {
                Value::Null => {}
                Value::Bytes(bytes) => write_csv_field(out, bytes)?,
                value => write_csv_field(out, to_text(value, sql_type).unwrap_or_default().as_bytes())?,
            }
        }
        out.write_all(b"\n")?;
    }
    Ok(())
}

fn write_separator(out: &mut impl Write, at: usize) -> io::Result<()> {
    if at > 0 { out.write_all(b",") } else { Ok(()) }
}

fn write_csv_field(out: &mut impl Write, field: &[u8]) -> io::Result<()> {
    if !field.is_empty() && !field.iter().any(|byte| matches!(byte, b'"' | b',' | b'\n' | b'\r')) {
        return out.write_all(field);
    }
    out.write_all(b"\"")?;
    for part in field.split_inclusive(|byte| *byte == b'"') {
        out.write_all(part)?;
        if part.ends_with(b"\"") {
            out.write_all(b"\"")?;
        }
    }
    out.write_all(b"\"")
}

/// A JSON object in each line, with the columns' names; binary strings as JSON functions have them.
pub fn write_ndjson(out: &mut impl Write, names: &[String], rows: &[Vec<Value>], types: &[SqlType]) -> io::Result<()> {
    let text = |text: String| Json::from_value(&Value::String(text)).to_text();
    let names: Vec<String> = names.iter().map(|name| text(name.clone())).collect();
    for row in rows {
        let mut before = '{';
        for ((name, value), sql_type) in names.iter().zip(row).zip(types) {
            // What has a text of its own in SQL has the same here.
            let as_text = sql_type.is_temporal() || matches!(sql_type, SqlType::Enum { .. } | SqlType::Set { .. });
            let json = match to_text(value, sql_type) {
                Some(shown) if as_text && !value.is_null() => text(shown.into_owned()),
                _ => Json::from_value(value).to_text(),
            };
            write!(out, "{before}{name}:{json}")?;
            before = ',';
        }
        out.write_all(b"}\n")?;
    }
    Ok(())
}
