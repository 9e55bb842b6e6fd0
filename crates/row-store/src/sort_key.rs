//! Collation sort keys as key payloads.

use squall_types::CollationId;

/// Appends the sort key of a text, through `push`, which gives it an end.
pub(crate) fn append(collation: CollationId, text: &str, out: &mut Vec<u8>, push: fn(&[u8], &mut Vec<u8>)) {
    match collation {
        CollationId::UTF8MB4_BIN | CollationId::BINARY => push(text.as_bytes(), out),
        _ => push(text.to_lowercase().as_bytes(), out),
    }
}
