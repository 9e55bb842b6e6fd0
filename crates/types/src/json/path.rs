//! JSON paths: `$.a.b[0]`, `[last]`, `[1 to last-1]`, `[*]`, `.*`, `**`, `."a name"`.

use super::{Json, print};
use crate::{ErrorCode, SqlError};
use std::collections::HashSet;
use std::fmt;

/// A place in an array.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ArrayIndex {
    /// Counted from the start.
    First(usize),
    /// `last-n`.
    Last(usize),
}

impl ArrayIndex {
    /// The offset in an array of `length`; `None` before its start. It may lie past its end.
    pub(super) fn resolve(self, length: usize) -> Option<usize> {
        match self {
            ArrayIndex::First(index) => Some(index),
            ArrayIndex::Last(back) => length.checked_sub(1)?.checked_sub(back),
        }
    }
}

/// Steps that a path may have: many more than a document has levels, and not so many that they take much memory.
const LEGS_MAX: usize = 1 << 18;

/// A step of a path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PathLeg {
    /// `.name`.
    Member(String),
    /// `.*`.
    AnyMember,
    /// `[3]`, `[last]`.
    Cell(ArrayIndex),
    /// `[1 to last]`.
    Range(ArrayIndex, ArrayIndex),
    /// `[*]`.
    AnyCell,
    /// `**`: the value and everything in it.
    Ellipsis,
}

/// A path, read once.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct JsonPath {
    legs: Vec<PathLeg>,
}

/// Text that is no path; the position is MySQL's: how many bytes were read when it was known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PathError {
    /// About where.
    pub position: usize,
}

impl From<PathError> for SqlError {
    fn from(error: PathError) -> Self {
        SqlError::new(ErrorCode::InvalidJsonPath, &[&error.position])
    }
}

impl JsonPath {
    /// Reads a path.
    pub fn parse(text: &str) -> Result<JsonPath, PathError> {
        let mut parser = PathParser { text, rest: text };
        parser.skip_spaces();
        parser.expect('$')?;
        let mut legs = Vec::new();
        loop {
            parser.skip_spaces();
            if parser.rest.is_empty() {
                break;
            }
            if legs.len() == LEGS_MAX {
                return Err(parser.error());
            }
            legs.push(parser.leg()?);
        }
        // Something must follow an ellipsis.
        if legs.last() == Some(&PathLeg::Ellipsis) {
            return Err(parser.error());
        }
        Ok(JsonPath { legs })
    }

    /// The steps.
    pub fn legs(&self) -> &[PathLeg] {
        &self.legs
    }

    /// Whether the path is `$`.
    pub fn is_root(&self) -> bool {
        self.legs.is_empty()
    }

    /// Whether the path may mean several values.
    pub fn has_wildcard(&self) -> bool {
        self.legs.iter().any(|leg| !matches!(leg, PathLeg::Member(_) | PathLeg::Cell(_)))
    }

    /// The value at a path without wildcards, or the first of several.
    pub fn find<'a>(&self, json: &'a Json) -> Option<&'a Json> {
        if self.has_wildcard() {
            return self.find_all(json).into_iter().next();
        }
        self.legs.iter().try_fold(json, |json, leg| step(json, leg))
    }

    /// Every value at the path, each once, in the order of the document.
    pub fn find_all<'a>(&self, json: &'a Json) -> Vec<&'a Json> {
        let mut found = vec![json];
        for leg in &self.legs {
            let mut next = Vec::with_capacity(found.len());
            for json in found {
                push_steps(json, leg, &mut next);
            }
            if *leg == PathLeg::Ellipsis {
                let mut seen: HashSet<*const Json> = HashSet::with_capacity(next.len());
                next.retain(|json| seen.insert(std::ptr::from_ref(*json)));
            }
            found = next;
        }
        let mut seen: HashSet<*const Json> = HashSet::new();
        if self.legs.contains(&PathLeg::Ellipsis) {
            found.retain(|json| seen.insert(std::ptr::from_ref(*json)));
        }
        found
    }

    /// Adds a step.
    pub(super) fn push(&mut self, leg: PathLeg) {
        self.legs.push(leg);
    }

    /// Takes the last step away.
    pub(super) fn pop(&mut self) {
        self.legs.pop();
    }

    /// The names on the way, if it goes through members alone.
    pub fn member_names(&self) -> Option<Vec<&str>> {
        let names = self.legs.iter().map(|leg| match leg {
            PathLeg::Member(name) => Some(name.as_str()),
            _ => None,
        });
        names.collect()
    }

    /// Whether the path has an ellipsis, so that it may lead to a value in several ways.
    pub fn has_ellipsis(&self) -> bool {
        self.legs.contains(&PathLeg::Ellipsis)
    }

    /// Whether the last step is to an element of an array.
    pub fn ends_with_cell(&self) -> bool {
        matches!(self.legs.last(), Some(PathLeg::Cell(_)))
    }
}

/// The value one step further; a value that is no array is taken for an array of itself.
fn step<'a>(json: &'a Json, leg: &PathLeg) -> Option<&'a Json> {
    match (leg, json) {
        (PathLeg::Member(name), Json::Object(object)) => object.get(name),
        (PathLeg::Cell(index), Json::Array(elements)) => elements.get(index.resolve(elements.len())?),
        (PathLeg::Cell(index), other) => (index.resolve(1) == Some(0)).then_some(other),
        _ => None,
    }
}

fn push_steps<'a>(json: &'a Json, leg: &PathLeg, out: &mut Vec<&'a Json>) {
    match (leg, json) {
        (PathLeg::Member(_) | PathLeg::Cell(_), _) => out.extend(step(json, leg)),
        (PathLeg::AnyMember, Json::Object(object)) => out.extend(object.iter().map(|(_, value)| value)),
        (PathLeg::AnyCell, Json::Array(elements)) => out.extend(elements),
        (PathLeg::Range(from, to), Json::Array(elements)) => {
            let start = from.resolve(elements.len()).unwrap_or(0);
            if let Some(end) = to.resolve(elements.len()) {
                out.extend(elements.iter().take(end.saturating_add(1)).skip(start));
            }
        }
        (PathLeg::Range(from, to), other) if from.resolve(1).unwrap_or(0) == 0 && to.resolve(1).is_some() => {
            out.push(other);
        }
        (PathLeg::Ellipsis, _) => push_everything(json, out),
        _ => {}
    }
}

fn push_everything<'a>(json: &'a Json, out: &mut Vec<&'a Json>) {
    out.push(json);
    match json {
        Json::Array(elements) => elements.iter().for_each(|element| push_everything(element, out)),
        Json::Object(object) => object.iter().for_each(|(_, value)| push_everything(value, out)),
        _ => {}
    }
}

struct PathParser<'a> {
    text: &'a str,
    rest: &'a str,
}

impl PathParser<'_> {
    /// An error where the parser stands: like MySQL, as many bytes as it has read.
    fn error(&self) -> PathError {
        PathError { position: self.text.len() - self.rest.len() }
    }

    fn skip_spaces(&mut self) {
        self.rest = self.rest.trim_start_matches(is_space);
    }

    fn take(&mut self, expected: &str) -> bool {
        match self.rest.strip_prefix(expected) {
            Some(rest) => {
                self.rest = rest;
                true
            }
            None => false,
        }
    }

    /// Reads a character that has to be this one; another one counts as read.
    fn expect(&mut self, expected: char) -> Result<(), PathError> {
        let mut characters = self.rest.chars();
        let found = characters.next();
        self.rest = characters.as_str();
        if found == Some(expected) { Ok(()) } else { Err(self.error()) }
    }

    fn leg(&mut self) -> Result<PathLeg, PathError> {
        if self.take("*") {
            self.expect('*')?;
            // `***` is refused, and so is `**` at the end.
            let refused = self.rest.is_empty() || self.rest.starts_with('*');
            return if refused { Err(self.error()) } else { Ok(PathLeg::Ellipsis) };
        }
        if self.take(".") {
            self.skip_spaces();
            if self.take("*") {
                return Ok(PathLeg::AnyMember);
            }
            return self.name().map(PathLeg::Member);
        }
        if self.take("[") {
            self.skip_spaces();
            let leg = if self.take("*") { PathLeg::AnyCell } else { self.cells()? };
            self.skip_spaces();
            self.expect(']')?;
            return Ok(leg);
        }
        Err(self.error())
    }

    /// A name, in quotation marks or not; either may have escapes.
    fn name(&mut self) -> Result<String, PathError> {
        let quoted = self.rest.starts_with('"');
        let length = if quoted {
            closing_quote(self.rest).unwrap_or(self.rest.len())
        } else {
            self.rest.find(|character| is_space(character) || ".[*".contains(character)).unwrap_or(self.rest.len())
        };
        let (name, rest) = self.rest.split_at(length);
        self.rest = rest;
        let parsed = if quoted { Json::parse(name) } else { Json::parse(&format!("\"{name}\"")) };
        match parsed {
            Ok(Json::String(name)) if quoted || is_plain_name(&name) => Ok(name),
            _ => Err(self.error()),
        }
    }

    fn cells(&mut self) -> Result<PathLeg, PathError> {
        let from = self.index()?;
        let before = self.rest;
        self.skip_spaces();
        let spaced = self.rest.len() < before.len();
        if !spaced || !self.rest.starts_with("to") || !self.rest[2..].starts_with(is_space) {
            return Ok(PathLeg::Cell(from));
        }
        self.rest = &self.rest[2..];
        self.skip_spaces();
        let to = self.index()?;
        let backwards = match (from, to) {
            (ArrayIndex::First(from), ArrayIndex::First(to)) => from > to,
            (ArrayIndex::Last(from), ArrayIndex::Last(to)) => from < to,
            _ => false,
        };
        if backwards { Err(self.error()) } else { Ok(PathLeg::Range(from, to)) }
    }

    fn index(&mut self) -> Result<ArrayIndex, PathError> {
        if !self.take("last") {
            return self.number().map(ArrayIndex::First);
        }
        let before = self.rest;
        self.skip_spaces();
        if self.take("-") {
            self.skip_spaces();
            return self.number().map(ArrayIndex::Last);
        }
        self.rest = before;
        Ok(ArrayIndex::Last(0))
    }

    fn number(&mut self) -> Result<usize, PathError> {
        let length = self.rest.bytes().take_while(u8::is_ascii_digit).count();
        let number: u32 = self.rest[..length].parse().map_err(|_| self.error())?;
        self.rest = &self.rest[length..];
        Ok(number as usize)
    }
}

fn is_space(character: char) -> bool {
    matches!(character, ' ' | '\t' | '\n' | '\r' | '\x0b' | '\x0c')
}

/// Bytes up to and with the closing quotation mark of a string at the start.
fn closing_quote(text: &str) -> Option<usize> {
    let mut escaped = false;
    for (at, byte) in text.bytes().enumerate().skip(1) {
        match byte {
            _ if escaped => escaped = false,
            b'\\' => escaped = true,
            b'"' => return Some(at + 1),
            _ => {}
        }
    }
    None
}

/// Whether a character may be in a name without quotation marks.
fn is_name_character(character: char, first: bool) -> bool {
    character == '_' || character == '$' || character.is_alphabetic() || (!first && character.is_alphanumeric())
}

/// Whether a name may stand without quotation marks.
fn is_plain_name(name: &str) -> bool {
    !name.is_empty() && name.char_indices().all(|(at, character)| is_name_character(character, at == 0))
}

impl fmt::Display for JsonPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("$")?;
        for leg in &self.legs {
            match leg {
                PathLeg::Member(name) => {
                    if is_plain_name(name) {
                        write!(f, ".{name}")?;
                    } else {
                        let mut quoted = String::new();
                        print::write_string(name, &mut quoted);
                        write!(f, ".{quoted}")?;
                    }
                }
                PathLeg::AnyMember => f.write_str(".*")?,
                PathLeg::Cell(index) => write!(f, "[{index}]")?,
                PathLeg::Range(from, to) => write!(f, "[{from} to {to}]")?,
                PathLeg::AnyCell => f.write_str("[*]")?,
                PathLeg::Ellipsis => f.write_str("**")?,
            }
        }
        Ok(())
    }
}

impl fmt::Display for ArrayIndex {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ArrayIndex::First(index) => write!(f, "{index}"),
            ArrayIndex::Last(0) => f.write_str("last"),
            ArrayIndex::Last(back) => write!(f, "last-{back}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn find(json: &str, path: &str) -> String {
        let path = JsonPath::parse(path).unwrap();
        let json = Json::parse(json).unwrap();
        match path.find_all(&json).as_slice() {
            [] => "NULL".to_string(),
            [one] if !path.has_wildcard() => one.to_text(),
            found => Json::Array(found.iter().map(|json| (*json).clone()).collect()).to_text(),
        }
    }

    #[test]
    fn extraction_agrees_with_mysql() {
        let doc = r#"{"a": {"b": [1, 2, 3, {"b": 4}]}, "c d": 5, "é": 6}"#;
        for (path, expected) in [
            ("$", r#"{"a": {"b": [1, 2, 3, {"b": 4}]}, "é": 6, "c d": 5}"#),
            ("$.a.b[0]", "1"),
            ("$ . a . b [ 1 ]", "2"),
            ("$.a.b[last]", r#"{"b": 4}"#),
            ("$.a.b[last-1]", "3"),
            ("$.a.b[1 to 2]", "[2, 3]"),
            ("$.a.b[1 to last]", r#"[2, 3, {"b": 4}]"#),
            ("$.a.b[*]", r#"[1, 2, 3, {"b": 4}]"#),
            ("$.a.b[9]", "NULL"),
            ("$.a.b[last-9]", "NULL"),
            ("$.\"c d\"", "5"),
            ("$.é", "6"),
            ("$.a.*", r#"[[1, 2, 3, {"b": 4}]]"#),
            ("$**.b", r#"[[1, 2, 3, {"b": 4}], 4]"#),
            ("$.x", "NULL"),
            ("$.\"c d\"[0]", "5"),
            ("$.\"c d\"[last]", "5"),
            ("$.\"c d\"[0 to 3]", "[5]"),
            ("$.\"c d\"[1]", "NULL"),
        ] {
            assert_eq!(find(doc, path), expected, "{path}");
        }
        assert_eq!(find("[[1, 2], [3]]", "$**[0]"), "[[1, 2], 1, 2, 3]");
    }

    #[test]
    fn wrong_paths_are_located() {
        for (path, position) in [
            ("", 0),
            ("a", 1),
            ("c$", 1),
            ("$a", 1),
            ("$.", 2),
            ("$.a.", 4),
            ("$[", 2),
            ("$[1", 3),
            ("$[a]", 2),
            ("$.foo[bar]", 6),
            ("$.b[ 1 ].", 9),
            ("$.a b", 4),
            ("$*", 2),
            ("$**", 3),
            ("$***.a", 3),
            ("$[1 to 0]", 8),
            ("$[1to 2]", 4),
            ("$[last-]", 7),
            ("$[4294967296]", 2),
            ("$.1", 3),
            ("$.a-b", 5),
            ("$.\"a", 4),
            ("$.\"\\u\"", 6),
        ] {
            assert_eq!(JsonPath::parse(path), Err(PathError { position }), "{path}");
        }
        for path in ["$.a[0].\"x y\"", "$**.a", "$[last-1 to last]", "$.*[*]"] {
            assert_eq!(JsonPath::parse(path).unwrap().to_string(), path);
        }
    }

    proptest::proptest! {
        #[test]
        fn no_path_panics(path in "\\$?[$.\\[\\]*a-c\" 0-9last to-]{0,15}") {
            if let Ok(path) = JsonPath::parse(&path) {
                proptest::prop_assert_eq!(JsonPath::parse(&path.to_string()), Ok(path.clone()));
                let _ = path.find_all(&Json::parse(r#"{"a": [1, {"b": [2]}], "c": 3}"#).unwrap());
            }
        }
    }
}
