//! Errors in the text of a statement.

use std::fmt;

/// A statement that could not be parsed, with MySQL's code and words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParseError {
    /// MySQL's error number.
    pub code: u16,
    /// The SQLSTATE that belongs to `code`.
    pub sqlstate: &'static str,
    /// MySQL's message.
    pub message: String,
    /// Where in the text the offending token begins.
    pub offset: usize,
}

/// The longest piece of the statement that a message repeats, in characters.
const NEAR_CHARACTERS: usize = 80;

impl ParseError {
    /// 1064: the token at `offset` is not allowed there. Also for what proves to be a word of the grammar later on,
    /// such as the name of a type that does not exist.
    pub fn syntax(sql: &[u8], offset: usize) -> Self {
        let offset = offset.min(sql.len());
        let rest = &sql[offset..];
        // Four bytes are the longest character, so this much text holds all that is shown.
        let near = String::from_utf8_lossy(&rest[..rest.len().min(NEAR_CHARACTERS * 4)]);
        let near: String = near.chars().take(NEAR_CHARACTERS).collect();
        let line = 1 + memchr::memchr_iter(b'\n', &sql[..offset]).count();
        Self {
            code: 1064,
            sqlstate: "42000",
            message: format!(
                "You have an error in your SQL syntax; check the manual that corresponds to your MySQL server version \
                 for the right syntax to use near '{near}' at line {line}"
            ),
            offset,
        }
    }

    /// 1065: nothing but white space.
    pub(crate) fn empty() -> Self {
        Self::other(1065, "42000", "Query was empty", 0)
    }

    /// 1436: nested deeper than the parser follows.
    pub(crate) fn too_deep(offset: usize) -> Self {
        Self::other(1436, "HY000", "Thread stack overrun: the statement is nested too deeply", offset)
    }

    /// 3170: more memory than `parser_max_mem_size`.
    pub(crate) fn too_large(memory_max: u64, offset: usize) -> Self {
        let message = format!(
            "Memory capacity of {memory_max} bytes for 'parser_max_mem_size' exceeded. Parser bailed out for this query."
        );
        Self::other(3170, "HY000", message, offset)
    }

    /// Any other error that MySQL reports while parsing.
    pub(crate) fn other(code: u16, sqlstate: &'static str, message: impl Into<String>, offset: usize) -> Self {
        Self { code, sqlstate, message: message.into(), offset }
    }
}

impl fmt::Display for ParseError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for ParseError {}
