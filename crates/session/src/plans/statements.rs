//! The statements of a text, one after the other.

use crate::plans::long_statement::{ParsedStatement, Text};
use squall_types::{ErrorCode, SqlError};

/// A text whose statements are read. Each is read when those before have run, as they change how it is read.
pub(crate) struct Statements<'r, 't> {
    text: &'r Text<'t>,
    /// Where the next one begins; `None` at the end of the text.
    next: Option<usize>,
}

/// A statement of a text.
#[derive(Debug)]
pub(crate) struct TextStatement<'t> {
    pub parsed: ParsedStatement,
    /// Its own text.
    pub text: &'t [u8],
    /// The text from its beginning to the end of the whole.
    rest: &'t [u8],
}

/// Why a statement of a text cannot be read.
#[derive(Debug)]
pub(crate) enum Unread {
    /// It is no statement (1064), or too long or deep for one.
    Unparsed(SqlError),
    /// What it takes to read it is not there.
    Failed(SqlError),
}

impl<'r, 't> Statements<'r, 't> {
    /// The statements of a text.
    pub fn of(text: &'r Text<'t>) -> Self {
        Statements { text, next: Some(0) }
    }

    /// The whole text.
    pub fn whole(&self) -> &'r Text<'t> {
        self.text
    }

    /// Where the next statement begins; `None` at the end of the text.
    pub fn next_start(&self) -> Option<usize> {
        self.next
    }

    /// The text of the statements that were not read.
    pub fn rest(&self) -> &'t [u8] {
        self.next.and_then(|start| self.text.bytes().get(start..)).unwrap_or_default()
    }

    /// Leaves out the spaces before the next statement.
    pub fn skip_spaces(&mut self) {
        let spaces = self.rest().iter().take_while(|byte| byte.is_ascii_whitespace()).count();
        self.next = self.next.map(|start| start + spaces);
    }

    /// The next statement, which was parsed, is read.
    pub fn advance(&mut self, parsed: ParsedStatement) -> TextStatement<'t> {
        let rest = self.rest();
        self.next = self.next.zip(parsed.rest).map(|(start, next)| start + next);
        TextStatement { text: rest.get(..parsed.end).unwrap_or(rest), rest, parsed }
    }
}

impl TextStatement<'_> {
    /// Whether no other one follows.
    pub fn is_last(&self) -> bool {
        self.parsed.rest.is_none()
    }

    /// 1064 at the statement after this one, where a text may have only one.
    pub fn unexpected_next(&self) -> SqlError {
        let next = self.parsed.rest.unwrap_or(self.rest.len());
        let spaces = self.rest.get(next..).unwrap_or_default();
        let spaces = spaces.iter().take_while(|byte| byte.is_ascii_whitespace()).count();
        syntax_error_near(self.rest, next + spaces)
    }
}

impl Unread {
    /// The error.
    pub fn error(&self) -> &SqlError {
        match self {
            Unread::Unparsed(error) | Unread::Failed(error) => error,
        }
    }
}

impl From<Unread> for SqlError {
    fn from(unread: Unread) -> SqlError {
        match unread {
            Unread::Unparsed(error) | Unread::Failed(error) => error,
        }
    }
}

/// 1064 at a place of a text.
pub(crate) fn syntax_error_near(text: &[u8], at: usize) -> SqlError {
    let rest = String::from_utf8_lossy(text.get(at..).unwrap_or_default());
    let near: String = rest.chars().take(80).collect();
    let line = 1 + text[..at.min(text.len())].iter().filter(|byte| **byte == b'\n').count();
    SqlError::new(ErrorCode::Parse, &[&near, &line])
}
