//! Finds the ends of values in stored documents, without reading what is in them.

use super::mark::{MARK, MARK_BYTES};
use memchr::{memchr2, memchr3};

/// The place behind a value.
pub(super) fn end_of_value(bytes: &[u8], at: usize) -> usize {
    match bytes.get(at) {
        Some(b'"') => end_of_string(bytes, at),
        Some(&MARK) => end_of_value(bytes, at + MARK_BYTES),
        Some(b'{') => end_of_container(bytes, at, b'{', b'}'),
        Some(b'[') => end_of_container(bytes, at, b'[', b']'),
        _ => {
            let rest = bytes.get(at..).unwrap_or_default();
            let end = rest.iter().position(|byte| matches!(byte, b',' | b']' | b'}' | b' '));
            end.map_or(bytes.len(), |end| at + end)
        }
    }
}

/// The place behind a string that begins at `at`.
pub(super) fn end_of_string(bytes: &[u8], at: usize) -> usize {
    let mut at = at + 1;
    while let Some(found) = bytes.get(at..).and_then(|rest| memchr2(b'"', b'\\', rest)) {
        if bytes[at + found] == b'"' {
            return at + found + 1;
        }
        at += found + 2;
    }
    bytes.len()
}

/// The place behind an array or object that begins at `at`: brackets of the other kind come in pairs within.
fn end_of_container(bytes: &[u8], at: usize, open: u8, close: u8) -> usize {
    let (mut at, mut depth) = (at, 0usize);
    while let Some(found) = bytes.get(at..).and_then(|rest| memchr3(b'"', open, close, rest)) {
        at += found;
        match bytes[at] {
            b'"' => {
                at = end_of_string(bytes, at);
                continue;
            }
            byte if byte == open => depth += 1,
            _ => depth = depth.saturating_sub(1),
        }
        at += 1;
        if depth == 0 {
            return at;
        }
    }
    bytes.len()
}
