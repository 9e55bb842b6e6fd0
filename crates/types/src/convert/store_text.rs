//! Stores values into string, ENUM, SET and JSON columns.

use super::context::{ConversionContext, Severity, Stored};
use super::store_numeric::truncated;
use super::text::write_text;
use crate::double_text::double_within;
use crate::json::{Document, Json};
use crate::{Charset, CollationId, ErrorCode, SqlError, SqlType, StringKind, Value, collation};

/// The text of a value to store; bytes that are no text of the charset end it, which the offset tells.
fn text_of(value: Value, source: &SqlType, charset: Charset) -> (String, Option<Vec<u8>>) {
    let bytes = match value {
        Value::String(text) => return (text, None),
        Value::Json(document) => return (document.into_text(), None),
        Value::Bytes(bytes) => bytes,
        other => {
            let mut bytes = Vec::with_capacity(24);
            write_text(&other, source, &mut bytes);
            // Only BIT gives bytes that are no text.
            if !matches!(source, SqlType::Bit { .. }) {
                return match String::from_utf8(bytes) {
                    Ok(text) => (text, None),
                    Err(error) => (String::from_utf8_lossy(error.as_bytes()).into_owned(), None),
                };
            }
            bytes
        }
    };
    let decoded = charset.decode_padded(&bytes);
    match decoded.invalid_at {
        None => (decoded.text.into_owned(), None),
        Some(at) => (charset.decode_padded(&bytes[..at]).text.into_owned(), Some(bytes[at..].to_vec())),
    }
}

/// The first six bytes of what does not belong, as messages show them.
fn shown_bytes(bytes: &[u8]) -> String {
    let mut shown = String::new();
    for byte in bytes.iter().take(6) {
        if (0x20..0x7F).contains(byte) {
            shown.push(char::from(*byte));
        } else {
            shown.push_str(&format!("\\x{byte:02X}"));
        }
    }
    if bytes.len() > 6 {
        shown.push_str("...");
    }
    shown
}

/// The beginning of a text up to a number of characters, and the rest.
fn split_at_character(text: &str, characters: usize) -> (&str, &str) {
    if text.len() <= characters {
        return (text, "");
    }
    match text.char_indices().nth(characters) {
        Some((at, _)) => text.split_at(at),
        None => (text, ""),
    }
}

/// The longest beginning that takes at most this many bytes in the charset.
fn split_at_bytes(text: &str, bytes: usize, charset: Charset) -> (&str, &str) {
    let utf8 = matches!(charset, Charset::Utf8mb4 | Charset::Utf8mb3 | Charset::Binary);
    if utf8 {
        return text.split_at(text.floor_char_boundary(bytes));
    }
    if text.len().saturating_mul(4) <= bytes {
        return (text, "");
    }
    let mut encoded = Vec::with_capacity(8);
    let mut used = 0;
    for (at, character) in text.char_indices() {
        encoded.clear();
        charset.encode(character.encode_utf8(&mut [0; 4]), &mut encoded);
        used += encoded.len();
        if used > bytes {
            return text.split_at(at);
        }
    }
    (text, "")
}

/// "Data too long" (1406) in strict mode, otherwise a warning that the value was cut (1265).
fn too_long(value: Value, context: &ConversionContext<'_>) -> Stored {
    let (error, warning) = (context.error(ErrorCode::DataTooLong), context.error(ErrorCode::DataTruncated));
    Stored::with(value, Severity::Strict, error, warning)
}

pub(super) fn store_string(
    value: Value,
    source: &SqlType,
    kind: StringKind,
    length: u32,
    collation: CollationId,
    context: &ConversionContext<'_>,
) -> Stored {
    if collation == CollationId::BINARY {
        return store_bytes(value, source, kind, length, context);
    }
    let charset = if collation == CollationId::UTF8MB4_0900_AI_CI { Charset::Utf8mb4 } else { collation.charset() };
    if let (Value::Double(number), StringKind::Char | StringKind::Varchar) = (&value, kind)
        && matches!(source, SqlType::Double { digits: None, .. })
        && let Some(text) = double_within(*number, length as usize)
    {
        return Stored::plain(Value::String(text));
    }
    let (mut text, invalid) = text_of(value, source, charset);
    if let Some(invalid) = invalid {
        let error = context.incorrect_for_field("string", &shown_bytes(&invalid));
        text.truncate(split_string(&text, kind, length, charset).0.len());
        return Stored::strict(Value::String(text), error);
    }
    if !charset.has_all(&text) {
        let at = text.char_indices().find(|(_, character)| !charset.has(*character)).map_or(0, |(at, _)| at);
        let error = context.incorrect_for_field("string", &shown_bytes(&text.as_bytes()[at..]));
        let replaced: String = text.chars().map(|c| if charset.has(c) { c } else { '?' }).collect();
        let kept = split_string(&replaced, kind, length, charset).0.len();
        return Stored::strict(Value::String(replaced[..kept].to_string()), error);
    }
    let (kept, rest) = split_string(&text, kind, length, charset);
    let kept = kept.len();
    let only_spaces = rest.bytes().all(|byte| byte == b' ');
    let cut = !rest.is_empty();
    text.truncate(kept);
    if kind == StringKind::Char {
        // CHAR does not keep spaces at the end.
        text.truncate(text.trim_end_matches(' ').len());
    }
    let stored = Value::String(text);
    match (cut, only_spaces, kind) {
        (false, ..) | (true, true, StringKind::Char) => Stored::plain(stored),
        (true, true, _) => Stored::note(stored, context.error(ErrorCode::DataTruncated)),
        (true, false, _) => too_long(stored, context),
    }
}

/// The part of a text that fits a column, and the rest.
fn split_string(text: &str, kind: StringKind, length: u32, charset: Charset) -> (&str, &str) {
    match kind {
        StringKind::Text(_) | StringKind::Geometry(_) | StringKind::Vector => {
            split_at_bytes(text, length as usize, charset)
        }
        StringKind::Char | StringKind::Varchar => split_at_character(text, length as usize),
    }
}

fn store_bytes(
    value: Value,
    source: &SqlType,
    kind: StringKind,
    length: u32,
    context: &ConversionContext<'_>,
) -> Stored {
    let mut bytes = match value {
        Value::Bytes(bytes) => bytes,
        Value::String(text) => match source.collation().map_or(Charset::Utf8mb4, CollationId::charset) {
            Charset::Utf8mb4 | Charset::Binary => text.into_bytes(),
            charset => {
                let mut bytes = Vec::with_capacity(text.len());
                charset.encode(&text, &mut bytes);
                bytes
            }
        },
        other => {
            let mut bytes = Vec::with_capacity(24);
            write_text(&other, source, &mut bytes);
            bytes
        }
    };
    let length = length as usize;
    if bytes.len() > length {
        bytes.truncate(length);
        return too_long(Value::Bytes(bytes), context);
    }
    if kind == StringKind::Char {
        bytes.resize(length, 0);
    }
    Stored::plain(Value::Bytes(bytes))
}

/// The text to look for among members, or the number of one.
fn member_text(value: Value, source: &SqlType, collation: CollationId) -> Result<String, u64> {
    match (&value, source) {
        (Value::Int(number), _) => Err(u64::try_from(*number).unwrap_or(u64::MAX)),
        // A number of another ENUM or SET stands for its text.
        (Value::UInt(_), SqlType::Enum { .. } | SqlType::Set { .. }) => Ok(text_of(value, source, Charset::Utf8mb4).0),
        (Value::UInt(number), _) => Err(*number),
        // What is behind the point is cut off, not rounded.
        (Value::Double(number), _) => Err(*number as i64 as u64),
        (Value::Decimal(number), _) => Err(number.to_f64() as i64 as u64),
        _ => Ok(text_of(value, source, collation.charset()).0),
    }
}

/// Digits that are a whole number.
fn whole_number(text: &str) -> Option<u64> {
    let text = text.trim();
    if text.is_empty() || !text.bytes().all(|byte| byte.is_ascii_digit()) { None } else { text.parse().ok() }
}

pub(super) fn store_enum(
    value: Value,
    source: &SqlType,
    target: &SqlType,
    members: &[String],
    collation: CollationId,
    context: &ConversionContext<'_>,
) -> Stored {
    if source == target && matches!(value, Value::UInt(_)) {
        return Stored::plain(value);
    }
    let count = members.len() as u64;
    let ordinal = match member_text(value, source, collation) {
        Err(number) => Some(number).filter(|number| (1..=count).contains(number)),
        Ok(text) => {
            let text = text.trim_end_matches(' ');
            let member = members.iter().position(|member| collation::eq(collation, member.trim_end_matches(' '), text));
            match member {
                Some(at) => Some(at as u64 + 1),
                None => whole_number(text).filter(|number| (1..=count).contains(number)),
            }
        }
    };
    match ordinal {
        Some(ordinal) => Stored::plain(Value::UInt(ordinal)),
        None => truncated(Value::UInt(0), context),
    }
}

pub(super) fn store_set(
    value: Value,
    source: &SqlType,
    target: &SqlType,
    members: &[String],
    collation: CollationId,
    context: &ConversionContext<'_>,
) -> Stored {
    if source == target && matches!(value, Value::UInt(_)) {
        return Stored::plain(value);
    }
    let all = if members.len() >= 64 { u64::MAX } else { (1 << members.len()) - 1 };
    match member_text(value, source, collation) {
        Err(mask) if mask & !all == 0 => Stored::plain(Value::UInt(mask)),
        Err(mask) => truncated(Value::UInt(mask & all), context),
        Ok(text) => {
            let (mut mask, mut unknown) = (0, false);
            let text = text.trim_end_matches(' ');
            for name in text.split(',').filter(|_| !text.is_empty()) {
                match members.iter().take(64).position(|member| collation::eq(collation, member, name)) {
                    Some(bit) => mask |= 1 << bit,
                    None => unknown = true,
                }
            }
            match whole_number(text) {
                Some(number) if unknown && number & !all == 0 => Stored::plain(Value::UInt(number)),
                _ if unknown => truncated(Value::UInt(mask), context),
                _ => Stored::plain(Value::UInt(mask)),
            }
        }
    }
}

pub(super) fn store_json(value: Value, source: &SqlType, context: &ConversionContext<'_>) -> Stored {
    let failed = |error: SqlError| Stored::with(Value::Null, Severity::Always, error.clone(), error);
    match value {
        Value::Json(document) => Stored::plain(Value::Json(document)),
        Value::String(text) => match Document::parse(&text) {
            Ok(document) => Stored::plain(Value::Json(document)),
            Err(error) => failed(error.for_column(&context.qualified_column())),
        },
        Value::Bytes(_) => failed(SqlError::new(ErrorCode::InvalidJsonCharset, &[&"binary"])),
        other if matches!(source, SqlType::Enum { .. } | SqlType::Set { .. }) => {
            Stored::plain(Json::String(text_of(other, source, Charset::Utf8mb4).0).to_value())
        }
        other => Stored::plain(Json::from_value(&other).to_value()),
    }
}
