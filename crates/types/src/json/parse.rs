//! Parses JSON text.

use super::mark::{MARK, MARK_BYTES, TypeMark};
use super::number::{NumberForm, NumberText, number_of};
use super::typed::TypedText;
use super::{DEPTH_MAX, Json, Object};
use crate::{ErrorCode, SqlError};
use std::borrow::Cow;

/// Why text is no JSON document.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum JsonError {
    /// Not well formed: what is wrong, as MySQL words it, and the byte offset.
    Syntax {
        /// What is wrong.
        message: &'static str,
        /// Where, in bytes from the start.
        position: usize,
    },
    /// Over [`DEPTH_MAX`] levels.
    TooDeep,
}

impl JsonError {
    /// As the error of a value for a column (3140, or 3157).
    pub fn for_column(self, column: &str) -> SqlError {
        match self {
            JsonError::Syntax { message, position } => {
                SqlError::new(ErrorCode::InvalidJsonText, &[&message, &position, &column])
            }
            JsonError::TooDeep => SqlError::new(ErrorCode::JsonDocumentTooDeep, &[]),
        }
    }

    /// As the error of a function's argument, counted from 1 (3141, or 3157).
    pub fn for_argument(self, argument: usize, function: &str) -> SqlError {
        match self {
            JsonError::Syntax { message, position } => {
                SqlError::new(ErrorCode::InvalidJsonTextInParam, &[&argument, &function, &message, &position])
            }
            JsonError::TooDeep => SqlError::new(ErrorCode::JsonDocumentTooDeep, &[]),
        }
    }
}

impl Json {
    /// Reads a document.
    pub fn parse(text: &str) -> Result<Json, JsonError> {
        Json::read(Parser::new(text))
    }

    /// Reads a document in its stored form.
    pub fn parse_stored(stored: &str) -> Result<Json, JsonError> {
        Json::read(Parser::of_stored(stored))
    }

    fn read(mut parser: Parser<'_>) -> Result<Json, JsonError> {
        parser.skip_spaces();
        if parser.peek().is_none() {
            return Err(parser.error("The document is empty."));
        }
        let value = parser.value(0)?;
        parser.skip_spaces();
        match parser.peek() {
            None => Ok(value),
            Some(_) => Err(parser.error("The document root must not be followed by other values.")),
        }
    }
}

/// A value with a mark.
pub(super) enum Marked<'a> {
    Decimal(NumberText<'a>),
    Text(TypedText<'a>),
}

/// Reads text from one place on.
pub(super) struct Parser<'a> {
    text: &'a str,
    bytes: &'a [u8],
    at: usize,
    /// Whether types may be marked.
    stored: bool,
}

impl<'a> Parser<'a> {
    pub(super) fn new(text: &'a str) -> Parser<'a> {
        Parser { text, bytes: text.as_bytes(), at: 0, stored: false }
    }

    /// Of a document in its stored form, or a part of one.
    pub(super) fn of_stored(stored: &'a str) -> Parser<'a> {
        Parser { stored: true, ..Parser::new(stored) }
    }

    pub(super) fn is_stored(&self) -> bool {
        self.stored
    }

    pub(super) fn error(&self, message: &'static str) -> JsonError {
        JsonError::Syntax { message, position: self.at }
    }

    pub(super) fn peek(&self) -> Option<u8> {
        self.bytes.get(self.at).copied()
    }

    pub(super) fn take(&mut self, expected: u8) -> bool {
        let found = self.peek() == Some(expected);
        self.at += usize::from(found);
        found
    }

    pub(super) fn skip_spaces(&mut self) {
        while matches!(self.peek(), Some(b' ' | b'\t' | b'\n' | b'\r')) {
            self.at += 1;
        }
    }

    fn value(&mut self, depth: usize) -> Result<Json, JsonError> {
        match self.peek() {
            Some(b'{') => self.object(depth + 1),
            Some(b'[') => self.array(depth + 1),
            Some(b'"') => Ok(Json::String(self.string()?.into_owned())),
            Some(b'-' | b'0'..=b'9') => self.number(),
            Some(MARK) if self.stored => match self.marked()? {
                Marked::Decimal(number) => Ok(number.value()),
                Marked::Text(text) => Ok(text.value()),
            },
            _ => self.word(),
        }
    }

    fn object(&mut self, depth: usize) -> Result<Json, JsonError> {
        if depth > DEPTH_MAX {
            return Err(JsonError::TooDeep);
        }
        self.at += 1;
        self.skip_spaces();
        let mut members = Vec::new();
        if self.take(b'}') {
            return Ok(Json::Object(Object::default()));
        }
        loop {
            if self.peek() != Some(b'"') {
                return Err(self.error("Missing a name for object member."));
            }
            let name = self.string()?.into_owned();
            self.skip_spaces();
            if !self.take(b':') {
                return Err(self.error("Missing a colon after a name of object member."));
            }
            self.skip_spaces();
            members.push((name, self.value(depth)?));
            self.skip_spaces();
            if self.take(b',') {
                self.skip_spaces();
            } else if self.take(b'}') {
                return Ok(Json::Object(Object::from_members(members)));
            } else {
                return Err(self.error("Missing a comma or '}' after an object member."));
            }
        }
    }

    fn array(&mut self, depth: usize) -> Result<Json, JsonError> {
        if depth > DEPTH_MAX {
            return Err(JsonError::TooDeep);
        }
        self.at += 1;
        self.skip_spaces();
        let mut elements = Vec::new();
        if self.take(b']') {
            return Ok(Json::Array(elements));
        }
        loop {
            elements.push(self.value(depth)?);
            self.skip_spaces();
            if self.take(b',') {
                self.skip_spaces();
            } else if self.take(b']') {
                return Ok(Json::Array(elements));
            } else {
                return Err(self.error("Missing a comma or ']' after an array element."));
            }
        }
    }

    /// A string, from its opening quotation mark on.
    pub(super) fn string(&mut self) -> Result<Cow<'a, str>, JsonError> {
        self.at += 1;
        let mut out = String::new();
        loop {
            let start = self.at;
            while let Some(byte) = self.peek()
                && byte >= 0x20
                && !matches!(byte, b'"' | b'\\')
            {
                self.at += 1;
            }
            // The run ends at ASCII bytes, so it is cut between characters.
            let run = self.text.get(start..self.at).unwrap_or_default();
            if out.is_empty() && self.peek() == Some(b'"') {
                self.at += 1;
                return Ok(Cow::Borrowed(run));
            }
            out.push_str(run);
            match self.peek() {
                None => return Err(self.error("Missing a closing quotation mark in string.")),
                Some(b'"') => {
                    self.at += 1;
                    return Ok(Cow::Owned(out));
                }
                Some(b'\\') => out.push(self.escape()?),
                Some(_) => return Err(self.error("Invalid encoding in string.")),
            }
        }
    }

    fn escape(&mut self) -> Result<char, JsonError> {
        let start = self.at;
        self.at += 1;
        let character = match self.peek() {
            Some(quoted @ (b'"' | b'\\' | b'/')) => char::from(quoted),
            Some(b'b') => '\u{8}',
            Some(b'f') => '\u{c}',
            Some(b'n') => '\n',
            Some(b'r') => '\r',
            Some(b't') => '\t',
            Some(b'u') => {
                self.at += 1;
                return self.unicode_escape(start);
            }
            _ => {
                self.at = start;
                return Err(self.error("Invalid escape character in string."));
            }
        };
        self.at += 1;
        Ok(character)
    }

    fn unicode_escape(&mut self, start: usize) -> Result<char, JsonError> {
        let first = self.four_digits(start)?;
        if !(0xD800..0xE000).contains(&first) {
            return char::from_u32(first).ok_or(self.error("Invalid encoding in string."));
        }
        let invalid = JsonError::Syntax { message: "The surrogate pair in string is invalid.", position: start };
        if first >= 0xDC00 || !self.take(b'\\') || !self.take(b'u') {
            return Err(invalid);
        }
        match self.four_digits(start)? {
            second @ 0xDC00..0xE000 => {
                char::from_u32(0x1_0000 + ((first - 0xD800) << 10) + (second - 0xDC00)).ok_or(invalid)
            }
            _ => Err(invalid),
        }
    }

    fn four_digits(&mut self, start: usize) -> Result<u32, JsonError> {
        let digits = self.bytes.get(self.at..self.at + 4).filter(|digits| digits.iter().all(u8::is_ascii_hexdigit));
        let value = digits
            .and_then(|digits| std::str::from_utf8(digits).ok())
            .and_then(|digits| u32::from_str_radix(digits, 16).ok());
        self.at += 4;
        value.ok_or(JsonError::Syntax { message: "Incorrect hex digit after \\u escape in string.", position: start })
    }

    fn number(&mut self) -> Result<Json, JsonError> {
        let start = self.at;
        let (text, whole) = self.number_text()?;
        number_of(text, whole)
            .ok_or(JsonError::Syntax { message: "Number too big to be stored in double.", position: start })
    }

    /// A value with its mark, of a stored document.
    pub(super) fn marked(&mut self) -> Result<Marked<'a>, JsonError> {
        let letter = self.bytes.get(self.at + 1).copied().unwrap_or_default();
        let mark = TypeMark::from_letter(letter).ok_or(self.error("Invalid value."))?;
        self.at += MARK_BYTES;
        match (mark, self.peek()) {
            (TypeMark::Decimal, _) => {
                let (text, _) = self.number_text()?;
                Ok(Marked::Decimal(NumberText { text, form: NumberForm::Decimal }))
            }
            (mark, Some(b'"')) => Ok(Marked::Text(TypedText { mark, text: self.string()? })),
            _ => Err(self.error("Invalid value.")),
        }
    }

    /// The text of a number, and whether it is a whole one.
    pub(super) fn number_text(&mut self) -> Result<(&'a str, bool), JsonError> {
        let start = self.at;
        self.take(b'-');
        match self.peek() {
            Some(b'0') => self.at += 1,
            Some(b'1'..=b'9') => self.skip_digits(),
            _ => return Err(self.error("Invalid value.")),
        }
        let mut whole = true;
        if self.take(b'.') {
            whole = false;
            if !self.peek().is_some_and(|byte| byte.is_ascii_digit()) {
                return Err(self.error("Miss fraction part in number."));
            }
            self.skip_digits();
        }
        if matches!(self.peek(), Some(b'e' | b'E')) {
            whole = false;
            self.at += 1;
            if matches!(self.peek(), Some(b'+' | b'-')) {
                self.at += 1;
            }
            if !self.peek().is_some_and(|byte| byte.is_ascii_digit()) {
                return Err(self.error("Miss exponent in number."));
            }
            self.skip_digits();
        }
        Ok((self.text.get(start..self.at).unwrap_or_default(), whole))
    }

    /// Passes `null`, `true` or `false`.
    pub(super) fn word(&mut self) -> Result<Json, JsonError> {
        let (word, value) = match self.peek() {
            Some(b'n') => ("null", Json::Null),
            Some(b't') => ("true", Json::Bool(true)),
            Some(b'f') => ("false", Json::Bool(false)),
            _ => return Err(self.error("Invalid value.")),
        };
        // Like MySQL, an error is where the word goes wrong.
        if word.bytes().all(|letter| self.take(letter)) { Ok(value) } else { Err(self.error("Invalid value.")) }
    }

    fn skip_digits(&mut self) {
        while self.peek().is_some_and(|byte| byte.is_ascii_digit()) {
            self.at += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::normalize;
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn documents_are_normalised() {
        for (text, expected) in [
            (r#" { "bb":1 ,"a" : [ 1,2.50, 1e2 ,"x\/y\u0041"] ,"a":true} "#, r#"{"a": true, "bb": 1}"#),
            ("[1,2.50,1e2,1E400e]", ""),
            ("[1.0, 2.5, 1e2, 1e20, -0, -0.0, 0.1]", "[1.0, 2.5, 100.0, 1e20, 0, -0.0, 0.1]"),
            ("18446744073709551615", "18446744073709551615"),
            ("18446744073709551616", "1.8446744073709552e19"),
            (r#""\ud83d\ude00\b""#, "\"😀\\b\""),
            ("{}", "{}"),
            ("[ ]", "[]"),
            (r#"{"b":1,"a":2,"aa":3,"":4}"#, r#"{"": 4, "a": 2, "b": 1, "aa": 3}"#),
        ] {
            match normalize(text) {
                Ok(normal) => assert_eq!(normal, expected),
                Err(_) => assert_eq!(expected, "", "{text}"),
            }
        }
    }

    #[test]
    fn errors_have_words_and_places() {
        for (text, message, position) in [
            ("", "The document is empty.", 0),
            ("abc", "Invalid value.", 0),
            ("[1,]", "Invalid value.", 3),
            ("[1 2]", "Missing a comma or ']' after an array element.", 3),
            ("{a:1}", "Missing a name for object member.", 1),
            (r#"{"a" 1}"#, "Missing a colon after a name of object member.", 5),
            (r#"{"a":1"#, "Missing a comma or '}' after an object member.", 6),
            ("1 2", "The document root must not be followed by other values.", 2),
            ("\"abc", "Missing a closing quotation mark in string.", 4),
            (r#""\x""#, "Invalid escape character in string.", 1),
            (r#""\u12"#, "Incorrect hex digit after \\u escape in string.", 1),
            (r#""\ud800""#, "The surrogate pair in string is invalid.", 1),
            ("1e999", "Number too big to be stored in double.", 0),
            ("1.", "Miss fraction part in number.", 2),
        ] {
            assert_eq!(Json::parse(text), Err(JsonError::Syntax { message, position }), "{text}");
        }
        let nested = |levels: usize| "[".repeat(levels) + &"]".repeat(levels);
        assert!(Json::parse(&nested(100)).is_ok());
        assert_eq!(Json::parse(&nested(101)), Err(JsonError::TooDeep));
        assert_eq!(Json::parse(&"[".repeat(1_000_000)), Err(JsonError::TooDeep));
    }

    proptest! {
        #[test]
        fn no_text_panics(text in "\\PC{0,20}", json in "[\\[\\]{}\",:0-9.eE\\\\u tnrf-]{0,30}") {
            let _ = Json::parse(&text);
            if let Ok(parsed) = Json::parse(&json) {
                let normal = parsed.to_text();
                prop_assert_eq!(normalize(&normal).unwrap(), normal);
            }
        }
    }
}
