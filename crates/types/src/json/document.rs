//! A document in the form of values.

use super::typed::printed;
use super::{Json, JsonError, normalize};
use std::borrow::Cow;

/// A document in its stored form: text as [`normalize()`] leaves it, with a mark before each value of a type that JSON text has no words
/// for ([`super::typed`]). Users are shown [`Document::text`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Document(String);

impl Document {
    /// A document from any text of it.
    pub fn parse(text: &str) -> Result<Document, JsonError> {
        normalize(text).map(Document)
    }

    /// A document that was stored. Text that is none is read as no document later.
    pub fn from_stored(stored: impl Into<String>) -> Document {
        Document(stored.into())
    }

    /// The stored form.
    pub fn stored(&self) -> &str {
        &self.0
    }

    /// The stored form.
    pub fn into_stored(self) -> String {
        self.0
    }

    /// The text, in MySQL's normal form.
    pub fn text(&self) -> Cow<'_, str> {
        printed(&self.0)
    }

    /// The text, in MySQL's normal form.
    pub fn into_text(self) -> String {
        match printed(&self.0) {
            Cow::Owned(text) => text,
            Cow::Borrowed(_) => self.0,
        }
    }

    /// Bytes that it has allocated.
    pub fn capacity(&self) -> usize {
        self.0.capacity()
    }

    /// The document as a tree.
    pub fn to_json(&self) -> Result<Json, JsonError> {
        Json::parse_stored(&self.0)
    }
}

impl From<&Json> for Document {
    fn from(json: &Json) -> Document {
        Document(json.to_stored())
    }
}
