//! RAPID_FLATTEN_JSON and RAPID_EXTRACT_ALL.

use super::{DATABASE, document_argument, malformed, text};
use squall_functions::library::support::{Args, Binding, Def};
use squall_registry::{Coercibility, ExprType};
use squall_types::convert::write_double;
use squall_types::json::walk::{Event, NumberText, walk};
use squall_types::json::{Json, JsonError};
use squall_types::{CollationId, SqlResult, SqlType, Value};
use std::borrow::Cow;

/// The family.
pub const FUNCTIONS: &[Def] = &[
    Def::new("RAPID_FLATTEN_JSON", (1, 1), long_text, flatten).in_database(DATABASE),
    Def::new("RAPID_EXTRACT_ALL", (2, 2), long_text, extract).also(&["JSON_EXTRACT_ALL"]).in_database(DATABASE),
];

/// LONGTEXT of utf8mb4, whatever the document is.
fn long_text(_: &Binding<'_>) -> SqlResult<ExprType> {
    Ok(ExprType {
        sql_type: SqlType::longtext(CollationId::UTF8MB4_0900_AI_CI),
        nullable: true,
        coercibility: Coercibility::Literal,
    })
}

/// A scalar as lines show it.
pub(super) enum Scalar<'a> {
    Null,
    Bool(bool),
    Number(NumberText<'a>),
    String(Cow<'a, str>),
}

impl Scalar<'_> {
    /// Its text; a string's may be of several lines.
    pub(super) fn text(&self) -> Cow<'_, str> {
        match self {
            Scalar::Null => Cow::Borrowed("NULL"),
            Scalar::Bool(true) => Cow::Borrowed("true"),
            Scalar::Bool(false) => Cow::Borrowed("false"),
            Scalar::Number(number) if number.whole => Cow::Borrowed(number.text),
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
pub(super) fn scalars<'a>(document: &'a str, mut found: impl FnMut(Option<&str>, Scalar<'a>)) -> Result<(), JsonError> {
    let mut names: Vec<Cow<'a, str>> = Vec::new();
    walk(document, |event| {
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
            Event::String(text) => Scalar::String(text),
        };
        found(names.last().map(|name| &**name), scalar);
    })
}

/// Appends text as a part of one line.
fn push_in_line(text: &str, out: &mut String) {
    if text.contains(['\n', '\r']) {
        out.extend(text.chars().map(|character| if matches!(character, '\n' | '\r') { ' ' } else { character }));
    } else {
        out.push_str(text);
    }
}

fn push_line(name: &str, value: &str, out: &mut String) {
    push_in_line(name, out);
    out.push('=');
    push_in_line(value, out);
    out.push('\n');
}

fn flatten(args: &Args<'_>) -> SqlResult<Value> {
    let Some(document) = document_argument(args) else { return Ok(Value::Null) };
    let mut lines = String::with_capacity(document.len());
    let walked = scalars(&document, |name, scalar| {
        let name = name.unwrap_or_default();
        push_line(name, &scalar.text(), &mut lines);
        if let Scalar::String(value) = &scalar
            && value.contains(char::is_whitespace)
        {
            value.split_whitespace().for_each(|token| push_line(name, token, &mut lines));
        }
    });
    match walked {
        Ok(()) => text(args, lines),
        Err(error) => {
            malformed(error, "rapid_flatten_json", args.context);
            Ok(Value::Null)
        }
    }
}

fn extract(args: &Args<'_>) -> SqlResult<Value> {
    let Some(document) = document_argument(args) else { return Ok(Value::Null) };
    let key = args.text(1);
    let mut lines = String::new();
    let walked = scalars(&document, |name, scalar| {
        if name == Some(&*key) {
            push_in_line(&scalar.text(), &mut lines);
            lines.push('\n');
        }
    });
    match walked {
        Ok(()) => text(args, lines),
        Err(error) => {
            malformed(error, "rapid_extract_all", args.context);
            Ok(Value::Null)
        }
    }
}
