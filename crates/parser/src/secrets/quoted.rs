//! The text that a literal stands for, and where each part of it was written.

use crate::ParseOptions;
use std::borrow::Cow;

/// The text of a literal.
pub(super) struct Quoted<'a> {
    /// What it says.
    pub bytes: Cow<'a, [u8]>,
    /// Where it begins in the literal.
    start: usize,
    /// The bytes that are written with two: where they are in the text, in order.
    escaped: Vec<u32>,
}

impl Quoted<'_> {
    /// The place in the literal of a byte of the text.
    pub fn place(&self, at: usize) -> usize {
        self.start + at + self.escaped.partition_point(|escaped| (*escaped as usize) < at)
    }
}

/// The text of a string literal; `None` for a literal that is written otherwise, as its bytes.
pub(super) fn decode<'a>(literal: &'a [u8], options: &ParseOptions) -> Option<Quoted<'a>> {
    if !matches!(literal.first()?, b'\'' | b'"' | b'n' | b'N') {
        return None;
    }
    let start = 1 + literal.iter().position(|byte| matches!(byte, b'\'' | b'"'))?;
    let quote = literal[start - 1];
    let inner = literal.get(start..literal.len().checked_sub(1)?)?;
    let is_special = |byte: u8| byte == quote || byte == b'\\' && !options.no_backslash_escapes;
    if !inner.iter().any(|byte| is_special(*byte)) {
        return Some(Quoted { bytes: Cow::Borrowed(inner), start, escaped: Vec::new() });
    }
    let (mut bytes, mut escaped) = (Vec::with_capacity(inner.len()), Vec::new());
    let mut at = 0;
    while let Some(&byte) = inner.get(at) {
        let second = if is_special(byte) { inner.get(at + 1) } else { None };
        if second.is_some() {
            escaped.push(u32::try_from(bytes.len()).ok()?);
        }
        bytes.push(match second {
            None => byte,
            Some(b'n') if byte != quote => b'\n',
            Some(b't') if byte != quote => b'\t',
            Some(b'r') if byte != quote => b'\r',
            Some(second) => *second,
        });
        at += 1 + usize::from(second.is_some());
    }
    Some(Quoted { bytes: Cow::Owned(bytes), start, escaped })
}
