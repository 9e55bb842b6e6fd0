//! Walks a document's text without building a tree, for queries that need few values of many documents.

use super::mark::MARK;
use super::number::{NumberText, number_of};
use super::parse::{JsonError, Marked, Parser};
use super::typed::TypedText;
use super::{DEPTH_MAX, Json};
use std::borrow::Cow;

/// The next part of a document. Members come as they are written, also those of one name.
#[derive(Clone, Debug, PartialEq)]
pub enum Event<'a> {
    /// `{`.
    BeginObject,
    /// `}`.
    EndObject,
    /// `[`.
    BeginArray,
    /// `]`.
    EndArray,
    /// A member's name; its value follows.
    Name(Cow<'a, str>),
    /// `null`.
    Null,
    /// `true`, `false`.
    Bool(bool),
    /// A number.
    Number(NumberText<'a>),
    /// A string.
    String(Cow<'a, str>),
    /// A value that is a string with a mark; in stored documents only.
    Typed(TypedText<'a>),
}

/// Calls `visit` with everything in a document, in order. A document that turns out to be none ends in an error after
/// the events up to there.
pub fn walk<'a>(text: &'a str, visit: impl FnMut(Event<'a>)) -> Result<(), JsonError> {
    walk_on(Parser::new(text), visit)
}

/// The same of a document in its stored form.
pub fn walk_stored<'a>(stored: &'a str, visit: impl FnMut(Event<'a>)) -> Result<(), JsonError> {
    walk_on(Parser::of_stored(stored), visit)
}

fn walk_on<'a>(mut parser: Parser<'a>, mut visit: impl FnMut(Event<'a>)) -> Result<(), JsonError> {
    parser.skip_spaces();
    if parser.peek().is_none() {
        return Err(parser.error("The document is empty."));
    }
    let mut open: Vec<Container> = Vec::new();
    'values: loop {
        match parser.peek() {
            Some(b'{' | b'[') => {
                if open.len() == DEPTH_MAX {
                    return Err(JsonError::TooDeep);
                }
                if parser.take(b'{') {
                    visit(Event::BeginObject);
                    open.push(Container::Object);
                    parser.skip_spaces();
                    if parser.peek() != Some(b'}') {
                        name(&mut parser, &mut visit)?;
                        continue 'values;
                    }
                } else {
                    parser.take(b'[');
                    visit(Event::BeginArray);
                    open.push(Container::Array);
                    parser.skip_spaces();
                    if parser.peek() != Some(b']') {
                        continue 'values;
                    }
                }
            }
            Some(b'"') => visit(Event::String(parser.string()?)),
            Some(b'-' | b'0'..=b'9') => visit(number(&mut parser)?),
            Some(MARK) if parser.is_stored() => visit(match parser.marked()? {
                Marked::Decimal(number) => Event::Number(number),
                Marked::Text(text) => Event::Typed(text),
            }),
            _ => visit(match parser.word()? {
                Json::Bool(truth) => Event::Bool(truth),
                _ => Event::Null,
            }),
        }
        // What follows a value: the ends of containers, or the next value of the innermost.
        loop {
            parser.skip_spaces();
            match open.last() {
                None => {
                    return match parser.peek() {
                        None => Ok(()),
                        Some(_) => Err(parser.error("The document root must not be followed by other values.")),
                    };
                }
                Some(Container::Object) if parser.take(b'}') => {
                    visit(Event::EndObject);
                    open.pop();
                }
                Some(Container::Array) if parser.take(b']') => {
                    visit(Event::EndArray);
                    open.pop();
                }
                Some(Container::Object) => {
                    if !parser.take(b',') {
                        return Err(parser.error("Missing a comma or '}' after an object member."));
                    }
                    parser.skip_spaces();
                    name(&mut parser, &mut visit)?;
                    continue 'values;
                }
                Some(Container::Array) => {
                    if !parser.take(b',') {
                        return Err(parser.error("Missing a comma or ']' after an array element."));
                    }
                    parser.skip_spaces();
                    continue 'values;
                }
            }
        }
    }
}

fn number<'a>(parser: &mut Parser<'a>) -> Result<Event<'a>, JsonError> {
    let at = parser.error("Number too big to be stored in double.");
    let (text, whole) = parser.number_text()?;
    // Short numbers without an exponent always fit.
    let plain = text.len() < 300 && !text.contains(['e', 'E']);
    if !plain && number_of(text, whole).is_none() {
        return Err(at);
    }
    Ok(Event::Number(NumberText::unmarked(text, whole)))
}

enum Container {
    Object,
    Array,
}

fn name<'a>(parser: &mut Parser<'a>, visit: &mut impl FnMut(Event<'a>)) -> Result<(), JsonError> {
    if parser.peek() != Some(b'"') {
        return Err(parser.error("Missing a name for object member."));
    }
    visit(Event::Name(parser.string()?));
    parser.skip_spaces();
    if !parser.take(b':') {
        return Err(parser.error("Missing a colon after a name of object member."));
    }
    parser.skip_spaces();
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// A container that is not yet ended: itself, the name whose value is next, its members.
    type Open = (Json, Option<String>, Vec<(String, Json)>);

    /// The document that events tell of.
    fn rebuilt(text: &str) -> Result<Json, JsonError> {
        let mut stack: Vec<Open> = Vec::new();
        let mut root = Json::Null;
        walk(text, |event| {
            let value = match event {
                Event::BeginObject => return stack.push((Json::Object(Default::default()), None, Vec::new())),
                Event::BeginArray => return stack.push((Json::Array(Vec::new()), None, Vec::new())),
                Event::Name(name) => return stack.last_mut().unwrap().1 = Some(name.into_owned()),
                Event::EndObject | Event::EndArray => match stack.pop().unwrap() {
                    (Json::Object(_), _, members) => Json::Object(members.into_iter().collect()),
                    (array, ..) => array,
                },
                Event::Null => Json::Null,
                Event::Bool(truth) => Json::Bool(truth),
                Event::Number(number) => number.value(),
                Event::String(text) => Json::String(text.into_owned()),
                Event::Typed(text) => text.value(),
            };
            match stack.last_mut() {
                Some((Json::Array(elements), ..)) => elements.push(value),
                Some((_, name, members)) => members.push((name.take().unwrap(), value)),
                None => root = value,
            }
        })?;
        Ok(root)
    }

    #[test]
    fn the_walk_sees_what_parsing_does() {
        for text in [
            r#" {"a": [1, {"b": []}, "x\n", null], "c": {}, "a": true} "#,
            "[]",
            "-1.5e3",
            "[1,]",
            "{\"a\":1",
            "1e999",
            "\"\\ud800\"",
            "1 2",
            "",
        ] {
            assert_eq!(rebuilt(text), Json::parse(text), "{text}");
        }
        let nested = |levels: usize| "[".repeat(levels) + &"]".repeat(levels);
        assert!(rebuilt(&nested(100)).is_ok());
        assert_eq!(rebuilt(&nested(101)), Err(JsonError::TooDeep));
    }

    proptest! {
        #[test]
        fn any_text_is_walked_as_it_is_parsed(json in "[\\[\\]{}\",:0-9.eE\\\\u tnrf-]{0,30}") {
            prop_assert_eq!(rebuilt(&json), Json::parse(&json));
        }
    }
}
