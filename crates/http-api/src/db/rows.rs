//! Rows on their way out: as JSON objects, with tags of what they hold.

use super::path::encoded_list;
use super::resource::Resource;
use crate::forms::Cell;
use crate::forms::values::{push_base64, push_json_value, push_text, without_zerofill};
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use sha2::{Digest as _, Sha256};
use squall_file_formats::text::push_json_string;
use squall_types::{SqlType, Value};

/// Bytes of a tag's digest.
const TAG_BYTES: usize = 16;

/// A row as it is stored.
#[derive(Debug)]
pub(super) struct StoredRow {
    /// A JSON object.
    pub json: Vec<u8>,
    /// The entity tag, with its quotes: a digest of the values that the account may read.
    pub tag: String,
}

impl StoredRow {
    /// Of the values of these columns.
    pub fn new(resource: &Resource, columns: &[usize], values: &[Value], exact: bool) -> StoredRow {
        let (mut json, mut digest, mut text) = (b"{".to_vec(), Sha256::new(), Vec::new());
        for (at, value) in columns.iter().zip(values) {
            let column = &resource.columns()[*at];
            if json.len() > 1 {
                json.push(b',');
            }
            push_json_string(&column.name, &mut json);
            json.push(b':');
            let cell = cell_of(value);
            push_json_value(cell, &column.sql_type, exact, &mut json);
            text.clear();
            let bytes: &[u8] = match cell {
                Cell::Bytes(bytes) => bytes,
                // A FLOAT is printed with fewer digits than it has.
                Cell::Double(value) => {
                    text.extend_from_slice(&value.to_bits().to_le_bytes());
                    &text
                }
                cell => {
                    push_text(cell, &column.sql_type, &mut text);
                    &text
                }
            };
            // No two rows have the same bytes here: each value says whether it is NULL, and how long it is.
            digest.update([u8::from(matches!(value, Value::Null))]);
            digest.update((bytes.len() as u64).to_le_bytes());
            digest.update(bytes);
        }
        json.push(b'}');
        let tag = URL_SAFE_NO_PAD.encode(&digest.finalize()[..TAG_BYTES]);
        StoredRow { json, tag: format!("\"{tag}\"") }
    }
}

/// A value as forms take it.
pub(super) fn cell_of(value: &Value) -> Cell<'_> {
    match value {
        Value::Null => Cell::Null,
        Value::Int(value) => Cell::Int(*value),
        Value::UInt(value) => Cell::UInt(*value),
        Value::Double(value) => Cell::Double(*value),
        Value::Decimal(value) => Cell::Decimal(*value),
        Value::String(text) => Cell::Bytes(text.as_bytes()),
        Value::Bytes(bytes) => Cell::Bytes(bytes),
        Value::Date(value) => Cell::Date(*value),
        Value::DateTime(value) => Cell::DateTime(*value),
        Value::Time(value) => Cell::Time(*value),
        Value::Json(document) => Cell::Bytes(document.stored().as_bytes()),
    }
}

/// A value of a key as it is written in a path.
pub(super) fn key_text(cell: Cell<'_>, sql_type: &SqlType) -> String {
    let mut out = Vec::new();
    match cell {
        Cell::Bytes(bytes) if sql_type.is_binary_string() => {
            push_base64(bytes, &mut out);
            // Without its quotes.
            out.retain(|byte| *byte != b'"');
        }
        // With zeros before it a number of a path would be none.
        cell => push_text(cell, &without_zerofill(sql_type), &mut out),
    }
    String::from_utf8_lossy(&out).into_owned()
}

/// The type by which a value of a request is written: a value that is not of its column's type yet is a text or a number.
pub(super) fn as_text(sql_type: &SqlType, value: &Value) -> SqlType {
    match value {
        Value::Decimal(_) | Value::Double(_) => SqlType::DOUBLE,
        _ => sql_type.clone(),
    }
}

/// A value of a key as it is stored: a number that a request has for a text would be compared as a number, and found in other rows.
pub(super) fn stored_key(sql_type: &SqlType, value: &Value) -> Value {
    match (sql_type, value) {
        (SqlType::Enum { members, .. }, value) => enum_member(members, value).unwrap_or_else(|| value.clone()),
        (SqlType::String { .. }, Value::Int(_) | Value::UInt(_) | Value::Decimal(_) | Value::Double(_)) => {
            Value::String(key_text(cell_of(value), &as_text(sql_type, value)))
        }
        _ => value.clone(),
    }
}

/// The member of an ENUM that a number means; a text means one only if it is no member itself.
fn enum_member(members: &[String], value: &Value) -> Option<Value> {
    let ordinal = match value {
        Value::Int(ordinal) => usize::try_from(*ordinal).ok()?,
        Value::UInt(ordinal) => usize::try_from(*ordinal).ok()?,
        Value::String(text) if !members.iter().any(|member| member.eq_ignore_ascii_case(text)) => text.parse().ok()?,
        _ => return None,
    };
    members.get(ordinal.checked_sub(1)?).map(|member| Value::String(member.clone()))
}

/// The path of the row with a key.
pub(super) fn path_of(resource: &Resource, key: &[Value]) -> String {
    let texts: Vec<String> = resource
        .key()
        .iter()
        .zip(key)
        .map(|(at, value)| key_text(cell_of(value), &resource.columns()[*at].sql_type))
        .collect();
    format!("{}/{}", resource.name.path(), encoded_list(texts.iter().map(String::as_str)))
}
