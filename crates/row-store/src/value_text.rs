//! Values as MySQL prints them in "Duplicate entry '…'".

use squall_types::convert::text::to_text;
use squall_types::{KeyPart, Value};
use std::fmt::Write;

/// Longest part of an entry shown, in characters.
const SHOWN_MAX: usize = 64;

/// Appends a value of a key part.
pub(crate) fn push(value: &Value, part: &KeyPart, out: &mut String) {
    match value {
        Value::Null => out.push_str("NULL"),
        Value::Bytes(bytes) if part.sql_type.digit_bytes().is_none() => {
            for byte in bytes.iter().take(SHOWN_MAX) {
                if byte.is_ascii_graphic() || *byte == b' ' {
                    out.push(char::from(*byte));
                } else {
                    // Writing to a String cannot fail.
                    let _ = write!(out, "\\x{byte:02X}");
                }
            }
        }
        value => out.extend(to_text(value, &part.sql_type).chars().take(SHOWN_MAX)),
    }
}
