//! Fields of the lines that LOAD DATA takes by default.

use squall_types::json::typed::opaque_of_text;

/// What LOAD DATA makes of a field, as far as the way it is written depends on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum FieldKind {
    /// Text of whatever a column has.
    #[default]
    Text,
    /// A byte string; NDJSON has it in base64.
    Bytes,
    /// JSON: NDJSON has a document as it is, so that a string of it is a document that is a string.
    Json,
    /// A BIT column: LOAD DATA takes its bytes, files have its number.
    Bits,
}

/// Appends a field as LOAD DATA takes it by default; `None` is NULL.
pub fn push_field(field: Option<&[u8]>, out: &mut Vec<u8>) {
    let Some(field) = field else { return out.extend_from_slice(b"\\N") };
    let mut rest = field;
    while let Some(at) = rest.iter().position(|byte| matches!(byte, b'\\' | b'\t' | b'\n' | 0)) {
        out.extend_from_slice(&rest[..at]);
        out.extend_from_slice(match rest[at] {
            b'\\' => b"\\\\",
            b'\t' => b"\\t",
            b'\n' => b"\\n",
            _ => b"\\0",
        });
        rest = &rest[at + 1..];
    }
    out.extend_from_slice(rest);
}

/// Appends the bytes of a BIT column's number.
pub(crate) fn push_bits(number: u64, out: &mut Vec<u8>) {
    let bytes = number.to_be_bytes();
    let zeros = bytes.iter().take_while(|byte| **byte == 0).count().min(7);
    push_field(Some(&bytes[zeros..]), out);
}

/// Appends a field that a file has as text. What is no number is left to LOAD DATA to complain about.
pub(crate) fn push_text_field(field: Option<&[u8]>, kind: FieldKind, out: &mut Vec<u8>) {
    if kind == FieldKind::Bits
        && let Some(number) = field.and_then(|field| std::str::from_utf8(field).ok()).and_then(|text| text.parse().ok())
    {
        return push_bits(number, out);
    }
    push_field(field, out);
}

/// Appends a string of a JSON file.
pub(crate) fn push_json_string(text: &str, kind: FieldKind, out: &mut Vec<u8>) {
    match kind {
        FieldKind::Json => push_field(Some(serde_json::Value::from(text).to_string().as_bytes()), out),
        FieldKind::Bytes => match opaque_of_text(text) {
            Some((_, bytes)) => push_field(Some(&bytes), out),
            None => push_field(Some(text.as_bytes()), out),
        },
        _ => push_text_field(Some(text.as_bytes()), kind, out),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields() {
        let mut out = Vec::new();
        push_field(Some(b"a\tb\\\n\0c"), &mut out);
        assert_eq!(out, b"a\\tb\\\\\\n\\0c");
        for (text, kind, expected) in [
            ("base64:type15:AP8=", FieldKind::Bytes, &b"\\0\xff"[..]),
            ("base64:type15:AP8=", FieldKind::Text, b"base64:type15:AP8="),
            ("base64:type15:?", FieldKind::Bytes, b"base64:type15:?"),
            ("a \"b\"", FieldKind::Json, b"\"a \\\\\"b\\\\\"\""),
            ("258", FieldKind::Bits, b"\x01\x02"),
            ("0", FieldKind::Bits, b"\\0"),
            ("five", FieldKind::Bits, b"five"),
        ] {
            out.clear();
            push_json_string(text, kind, &mut out);
            assert_eq!(out, expected, "{text} {kind:?}");
        }
    }
}
