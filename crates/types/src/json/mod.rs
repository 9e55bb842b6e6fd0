//! MySQL's JSON: a document tree with MySQL's order, text form and paths.
//!
//! Reading order: [`parse`], [`print`](mod@print), [`mod@normalize`] (from text to text), [`mark`], [`typed`] (dates and other SQL types),
//! [`document`] (documents in values), [`path`], [`compare`](mod@compare), [`mod@sort_key`] (bytes in that order), [`edit`] (set,
//! remove, append), [`mod@merge`], [`search`] (contains, overlaps, search), [`storage`] (MySQL's sizes), [`stored`] (parts of a stored
//! document), [`walk`] (without building a tree), [`outline`] (length, depth and size), [`lines`] (scalars with their names), [`terms`]
//! (entries of an index).

pub mod compare;
pub mod document;
pub mod edit;
#[cfg(test)]
mod edit_model;
mod ends;
pub mod lines;
pub mod mark;
pub mod merge;
pub mod normalize;
pub mod number;
pub mod outline;
pub mod parse;
pub mod path;
pub mod print;
pub mod search;
pub mod sort_key;
pub mod storage;
pub mod stored;
pub mod terms;
pub mod typed;
pub mod walk;

pub use compare::compare_stored;
pub use document::Document;
pub use edit::EditMode;
pub use merge::{merge_patch, merge_preserve};
pub use normalize::normalize;
pub use outline::{Outline, tree_bytes};
pub use parse::JsonError;
pub use path::{JsonPath, PathError};
pub use print::pretty;
pub use search::{contains, is_member, overlaps};
pub use sort_key::sort_key;
pub use storage::storage_size;
pub use typed::printed;

use crate::{Date, DateTime, Decimal, Time};
use std::borrow::Cow;
use std::cmp::Ordering;
use typed::bytes_type_name;
pub(crate) use typed::{BIT, BLOB, LONG_BLOB, MEDIUM_BLOB, TINY_BLOB, VARBINARY};

/// Levels that a document may have.
pub const DEPTH_MAX: usize = 100;

/// A JSON value.
#[derive(Clone, Debug, PartialEq)]
pub enum Json {
    /// `null`.
    Null,
    /// `true`, `false`.
    Bool(bool),
    /// An integer.
    Int(i64),
    /// An integer over `i64::MAX`.
    UInt(u64),
    /// Any other number.
    Double(f64),
    /// A DECIMAL that came from SQL.
    Decimal(Box<Decimal>),
    /// A string.
    String(String),
    /// A DATE that came from SQL.
    Date(Date),
    /// A TIME that came from SQL.
    Time(Time),
    /// A DATETIME or TIMESTAMP that came from SQL.
    DateTime(DateTime),
    /// Bytes that came from SQL, and the protocol's number of their type.
    Opaque(u8, Vec<u8>),
    /// An array.
    Array(Vec<Json>),
    /// An object.
    Object(Object),
}

/// The members of an object: ordered by the length of their names and then by bytes, each name once.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct Object {
    members: Vec<(String, Json)>,
}

/// The order of names in an object.
fn compare_names(left: &str, right: &str) -> Ordering {
    left.len().cmp(&right.len()).then_with(|| left.cmp(right))
}

impl Object {
    /// The members in order.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &Json)> {
        self.members.iter().map(|(name, value)| (name.as_str(), value))
    }

    /// How many members.
    pub fn len(&self) -> usize {
        self.members.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.members.is_empty()
    }

    fn position(&self, name: &str) -> Result<usize, usize> {
        self.members.binary_search_by(|(known, _)| compare_names(known, name))
    }

    /// The value of a name.
    pub fn get(&self, name: &str) -> Option<&Json> {
        self.position(name).ok().map(|at| &self.members[at].1)
    }

    /// From members in any order; of a name that occurs more than once the last value stays.
    pub fn from_members(mut members: Vec<(String, Json)>) -> Object {
        // The sort is stable: of equal names the last one written is the last one here.
        members.sort_by(|(left, _), (right, _)| compare_names(left, right));
        let mut unique: Vec<(String, Json)> = Vec::with_capacity(members.len());
        for member in members {
            match unique.last_mut() {
                Some(last) if last.0 == member.0 => *last = member,
                _ => unique.push(member),
            }
        }
        Object { members: unique }
    }
}

impl FromIterator<(String, Json)> for Object {
    fn from_iter<I: IntoIterator<Item = (String, Json)>>(members: I) -> Self {
        Object::from_members(members.into_iter().collect())
    }
}

impl Json {
    /// `JSON_TYPE()`.
    pub fn type_name(&self) -> &'static str {
        match self {
            Json::Null => "NULL",
            Json::Bool(_) => "BOOLEAN",
            Json::Int(_) => "INTEGER",
            Json::UInt(_) => "UNSIGNED INTEGER",
            Json::Double(_) => "DOUBLE",
            Json::Decimal(_) => "DECIMAL",
            Json::String(_) => "STRING",
            Json::Date(_) => "DATE",
            Json::Time(_) => "TIME",
            Json::DateTime(_) => "DATETIME",
            Json::Opaque(type_number, _) => bytes_type_name(*type_number),
            Json::Array(_) => "ARRAY",
            Json::Object(_) => "OBJECT",
        }
    }

    /// `JSON_LENGTH()`: members, elements, or 1.
    pub fn length(&self) -> usize {
        match self {
            Json::Array(elements) => elements.len(),
            Json::Object(object) => object.len(),
            _ => 1,
        }
    }

    /// `JSON_DEPTH()`.
    pub fn depth(&self) -> usize {
        match self {
            Json::Array(elements) => 1 + elements.iter().map(Json::depth).max().unwrap_or(0),
            Json::Object(object) => 1 + object.iter().map(|(_, value)| value.depth()).max().unwrap_or(0),
            _ => 1,
        }
    }

    /// Containers inside of containers, which [`DEPTH_MAX`] is the limit of.
    pub fn nesting(&self) -> usize {
        match self {
            Json::Array(elements) => 1 + elements.iter().map(Json::nesting).max().unwrap_or(0),
            Json::Object(object) => 1 + object.iter().map(|(_, value)| value.nesting()).max().unwrap_or(0),
            _ => 0,
        }
    }

    /// Whether the value is neither array nor object.
    pub fn is_scalar(&self) -> bool {
        !matches!(self, Json::Array(_) | Json::Object(_))
    }

    /// `JSON_UNQUOTE()` of a value: a string's characters, anything else's text.
    pub fn unquoted(&self) -> String {
        self.characters().map_or_else(|| self.to_text(), Cow::into_owned)
    }
}

/// `JSON_UNQUOTE()` of text: without quotes it stays as it is.
pub fn unquote(text: &str) -> Result<String, JsonError> {
    if text.len() < 2 || !text.starts_with('"') || !text.ends_with('"') {
        return Ok(text.to_string());
    }
    match Json::parse(text)? {
        Json::String(text) => Ok(text),
        _ => Ok(text.to_string()),
    }
}

/// `JSON_QUOTE()`.
pub fn quote(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    print::write_string(text, &mut out);
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Value;

    #[test]
    fn facts_about_values() {
        let json = |text| Json::parse(text).unwrap();
        assert_eq!(json(r#"{"a": [1, [2]], "b": {}}"#).depth(), 4);
        assert_eq!(json("[]").depth(), 1);
        assert_eq!(json(r#"{"a": 1, "b": 2}"#).length(), 2);
        assert_eq!(json("18446744073709551615").type_name(), "UNSIGNED INTEGER");
        assert_eq!(json("1.0").type_name(), "DOUBLE");
        assert_eq!(Json::from_value(&Value::Bytes(b"abcd".to_vec())).unquoted(), "base64:type15:YWJjZA==");
    }

    #[test]
    fn quotes() {
        assert_eq!(quote("a\"b\n"), r#""a\"b\n""#);
        assert_eq!(unquote(r#""a\tb\u00e9""#).unwrap(), "a\tbé");
        assert_eq!(unquote("abc").unwrap(), "abc");
        assert_eq!(unquote("\"").unwrap(), "\"");
        assert!(unquote(r#""a\q""#).is_err());
    }
}
