//! Spans, identifiers, qualified names and strings.

use bytes::Bytes;
use std::borrow::Cow;
use std::fmt;
use std::hash::{Hash, Hasher};

/// A half-open range of byte offsets into the text given to the parser.
///
/// All spans are equal to each other, because a position does not change the meaning.
#[derive(Clone, Copy, Default)]
pub struct Span {
    pub start: u32,
    pub end: u32,
}

impl Span {
    pub const fn new(start: u32, end: u32) -> Self {
        Self { start, end }
    }

    /// The part of `sql` that this span covers; empty when the span does not belong to `sql`.
    pub fn text<'a>(&self, sql: &'a str) -> &'a str {
        sql.get(self.start as usize..self.end as usize).unwrap_or("")
    }

    /// As [`Span::text`], for statements that are not UTF-8 throughout.
    pub fn bytes<'a>(&self, sql: &'a [u8]) -> &'a [u8] {
        sql.get(self.start as usize..self.end as usize).unwrap_or(b"")
    }

    /// The smallest span that covers both.
    pub fn to(self, other: Span) -> Span {
        Span::new(self.start.min(other.start), self.end.max(other.end))
    }
}

impl PartialEq for Span {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl Eq for Span {}

impl fmt::Debug for Span {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}..{}", self.start, self.end)
    }
}

/// An identifier without its quotes, in the case it was written.
#[derive(Clone, PartialEq, Eq)]
pub struct Ident {
    pub value: Box<str>,
    pub span: Span,
}

impl Ident {
    pub fn new(value: impl Into<Box<str>>) -> Self {
        Self { value: value.into(), span: Span::default() }
    }

    pub fn as_str(&self) -> &str {
        &self.value
    }

    /// Whether this is `other`, ASCII case aside.
    pub fn is(&self, other: &str) -> bool {
        self.value.eq_ignore_ascii_case(other)
    }
}

impl fmt::Debug for Ident {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}`", self.value)
    }
}

impl std::ops::Deref for Ident {
    type Target = str;

    fn deref(&self) -> &str {
        &self.value
    }
}

/// The name of a table, view, routine, trigger, event or sequence: `[schema.]name`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ObjectName {
    pub schema: Option<Ident>,
    pub name: Ident,
}

impl ObjectName {
    pub fn new(name: impl Into<Box<str>>) -> Self {
        Self { schema: None, name: Ident::new(name) }
    }
}

/// The name of a column: `[[schema.]table.]column`. Also a local variable in a stored program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ColumnName {
    pub schema: Option<Ident>,
    pub table: Option<Ident>,
    pub column: Ident,
}

impl ColumnName {
    pub fn new(column: impl Into<Box<str>>) -> Self {
        Self { schema: None, table: None, column: Ident::new(column) }
    }
}

/// The decoded value of a string literal. It is bytes because a literal may carry an introducer
/// (`_binary'…'`) and any bytes at all.
#[derive(Clone)]
pub struct SqlString(Storage);

#[derive(Clone)]
enum Storage {
    Owned(Box<[u8]>),
    /// A part of the statement's text: a box, since it is rare, and the others are many.
    Shared(Box<Bytes>),
}

impl SqlString {
    /// A string that is a part of a statement's text, which it keeps alive.
    pub(crate) fn shared(part: Bytes) -> Self {
        Self(Storage::Shared(Box::new(part)))
    }

    pub fn as_bytes(&self) -> &[u8] {
        match &self.0 {
            Storage::Owned(bytes) => bytes,
            Storage::Shared(bytes) => bytes,
        }
    }

    /// The string, if it is UTF-8.
    pub fn as_str(&self) -> Option<&str> {
        std::str::from_utf8(self.as_bytes()).ok()
    }

    /// The string with what is not UTF-8 replaced.
    pub fn to_str_lossy(&self) -> Cow<'_, str> {
        String::from_utf8_lossy(self.as_bytes())
    }
}

impl Default for SqlString {
    fn default() -> Self {
        Self::from(&[][..])
    }
}

impl PartialEq for SqlString {
    fn eq(&self, other: &Self) -> bool {
        self.as_bytes() == other.as_bytes()
    }
}

impl Eq for SqlString {}

impl Hash for SqlString {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.as_bytes().hash(state);
    }
}

impl From<&[u8]> for SqlString {
    fn from(bytes: &[u8]) -> Self {
        Self(Storage::Owned(bytes.into()))
    }
}

impl From<Vec<u8>> for SqlString {
    fn from(bytes: Vec<u8>) -> Self {
        Self(Storage::Owned(bytes.into()))
    }
}

impl From<&str> for SqlString {
    fn from(text: &str) -> Self {
        Self::from(text.as_bytes())
    }
}

impl fmt::Debug for SqlString {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.as_str() {
            Some(text) => write!(f, "{text:?}"),
            None => write!(f, "b\"{}\"", self.as_bytes().escape_ascii()),
        }
    }
}
