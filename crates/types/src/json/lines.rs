//! Finds a document's scalars, each with the name of the innermost member that holds it. The lines `name=value` of a document are made
//! from them.

use super::number::{NumberForm, NumberText};
use super::parse::JsonError;
use super::typed::TypedText;
use super::walk::{Event, walk, walk_stored};
use crate::Json;
use crate::double_text::write_double;
use std::borrow::Cow;

/// A scalar as lines show it.
#[derive(Clone, Debug, PartialEq)]
pub enum Scalar<'a> {
    /// `null`.
    Null,
    /// `true`, `false`.
    Bool(bool),
    /// A number.
    Number(NumberText<'a>),
    /// A string, or what prints as one: dates, times and bytes.
    String(Cow<'a, str>),
}

impl Scalar<'_> {
    /// Its text; a string's may be of several lines.
    pub fn text(&self) -> Cow<'_, str> {
        match self {
            Scalar::Null => Cow::Borrowed("NULL"),
            Scalar::Bool(true) => Cow::Borrowed("true"),
            Scalar::Bool(false) => Cow::Borrowed("false"),
            Scalar::Number(number) if number.form != NumberForm::Floating => Cow::Borrowed(number.text),
            Scalar::Number(number) => match number.value() {
                Json::Double(value) => {
                    let mut digits = Vec::with_capacity(24);
                    write_double(value, &mut digits);
                    Cow::Owned(String::from_utf8_lossy(&digits).into_owned())
                }
                _ => Cow::Borrowed(number.text),
            },
            Scalar::String(text) => Cow::Borrowed(text),
        }
    }
}

/// Calls `found` with every scalar of a document and the name of the innermost member that holds it, which arrays do not
/// change; scalars outside of any object have none.
pub fn scalars<'a>(document: &'a str, found: impl FnMut(Option<&str>, Scalar<'a>)) -> Result<(), JsonError> {
    walk(document, visitor(found))
}

/// The same of a document in its stored form.
pub fn scalars_stored<'a>(stored: &'a str, found: impl FnMut(Option<&str>, Scalar<'a>)) -> Result<(), JsonError> {
    walk_stored(stored, visitor(found))
}

fn visitor<'a>(mut found: impl FnMut(Option<&str>, Scalar<'a>)) -> impl FnMut(Event<'a>) {
    let mut names: Vec<Cow<'a, str>> = Vec::new();
    move |event| {
        let scalar = match event {
            Event::BeginObject => return names.push(Cow::Borrowed("")),
            Event::EndObject => {
                names.pop();
                return;
            }
            Event::Name(name) => {
                if let Some(place) = names.last_mut() {
                    *place = name;
                }
                return;
            }
            Event::BeginArray | Event::EndArray => return,
            Event::Null => Scalar::Null,
            Event::Bool(truth) => Scalar::Bool(truth),
            Event::Number(number) => Scalar::Number(number),
            Event::String(text) | Event::Typed(TypedText { text, .. }) => Scalar::String(text),
        };
        found(names.last().map(|name| &**name), scalar);
    }
}
