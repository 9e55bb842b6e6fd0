//! Turns the text of a document into MySQL's normal form without building a tree, because stored documents may be long.

use super::ends::{end_of_string, end_of_value};
use super::parse::Parser;
use super::walk::{Event, walk};
use super::{JsonError, compare_names, print};
use std::borrow::Cow;

/// A container that is not yet ended.
struct Open<'a> {
    /// Where it begins in the text that is made.
    start: usize,
    /// Where its members begin, from there, in the order in which they came. A member takes nothing else: there may be millions.
    members: Vec<u32>,
    /// The name of the last one.
    last_name: Cow<'a, str>,
    /// Whether they are in the order that they are to be in, each once.
    in_order: bool,
    /// Whether it is an array that has an element.
    has_elements: bool,
}

/// The separator of elements and members.
const BETWEEN: &str = ", ";
/// The separator of a name and its value.
const COLON: &str = ": ";

/// Text of any document in MySQL's normal form: members by the length of their names and then by bytes, of equal names the
/// last, one blank behind commas and colons.
pub fn normalize(text: &str) -> Result<String, JsonError> {
    // A comma and a colon get one blank each. Growing step by step would take twice the text for a while.
    let blanks = text.bytes().filter(|byte| matches!(byte, b',' | b':')).count();
    let mut out = String::with_capacity(text.len() + blanks);
    let mut open: Vec<Open<'_>> = Vec::new();
    walk(text, |event| {
        match event {
            Event::Name(name) => {
                let Some(object) = open.last_mut() else { return };
                if !object.members.is_empty() {
                    out.push_str(BETWEEN);
                    object.in_order &= compare_names(&object.last_name, &name).is_lt();
                }
                // Of a text that is too long for that no place is asked for: it is an error.
                object.members.push(u32::try_from(out.len() - object.start).unwrap_or(u32::MAX));
                print::write_string(&name, &mut out);
                out.push_str(COLON);
                object.last_name = name;
            }
            Event::EndObject => {
                if let Some(object) = open.pop() {
                    if !object.in_order {
                        reorder(object, &mut out);
                    }
                    out.push('}');
                }
            }
            Event::EndArray => {
                open.pop();
                out.push(']');
            }
            value => {
                // An element; a member's value stands behind its name.
                if let Some(array) = open.last_mut().filter(|open| open.members.is_empty())
                    && std::mem::replace(&mut array.has_elements, true)
                {
                    out.push_str(BETWEEN);
                }
                match value {
                    Event::BeginObject | Event::BeginArray => {
                        let start = out.len();
                        out.push(if value == Event::BeginObject { '{' } else { '[' });
                        open.push(Open {
                            start,
                            members: Vec::new(),
                            last_name: Cow::Borrowed(""),
                            in_order: true,
                            has_elements: false,
                        });
                    }
                    Event::Null => out.push_str("null"),
                    Event::Bool(truth) => out.push_str(if truth { "true" } else { "false" }),
                    Event::Number(number) => number.value().write_scalar(&mut out),
                    Event::String(text) => print::write_string(&text, &mut out),
                    Event::Typed(text) => text.write_stored(&mut out),
                    Event::Name(_) | Event::EndObject | Event::EndArray => {}
                }
            }
        }
    })?;
    match u32::try_from(out.len()) {
        Ok(_) => Ok(out),
        Err(_) => Err(JsonError::Syntax { message: "The document is longer than 4 GiB.", position: 0 }),
    }
}

/// Puts an object's members in order, of equal names the last.
fn reorder(object: Open<'_>, out: &mut String) {
    let from = object.start + 1;
    let body = out.split_off(from);
    let text_at = |at: u32| body.get((at as usize).saturating_sub(1)..).unwrap_or_default();
    let name_at = |at: u32| Parser::new(text_at(at)).string().unwrap_or_default();
    let mut members = object.members;
    members.sort_unstable_by(|left, right| compare_names(&name_at(*left), &name_at(*right)).then(left.cmp(right)));
    let mut members = members.into_iter().peekable();
    let mut first = true;
    while let Some(member) = members.next() {
        if members.peek().is_some_and(|next| name_at(*next) == name_at(member)) {
            continue;
        }
        if !std::mem::take(&mut first) {
            out.push_str(BETWEEN);
        }
        let text = text_at(member);
        let value = end_of_string(text.as_bytes(), 0) + COLON.len();
        out.push_str(text.get(..end_of_value(text.as_bytes(), value)).unwrap_or_default());
    }
}

#[cfg(test)]
mod tests {
    use super::super::Json;
    use super::*;
    use proptest::prelude::*;

    fn document() -> impl Strategy<Value = String> {
        let leaf = prop_oneof![
            Just("null".to_string()),
            Just("true".to_string()),
            any::<i64>().prop_map(|number| number.to_string()),
            any::<u64>().prop_map(|number| number.to_string()),
            "-?[1-9][0-9]{0,25}(\\.[0-9]{1,5})?(e-?[0-9]{1,2})?",
            "[a-c\\\\]{0,3}".prop_map(|text| super::super::quote(&text)),
        ];
        leaf.prop_recursive(5, 40, 6, |inner| {
            prop_oneof![
                proptest::collection::vec(inner.clone(), 0..6).prop_map(|values| format!("[{}]", values.join(" ,"))),
                proptest::collection::vec(("[a-c]{0,2}", inner), 0..6).prop_map(|members| {
                    let members: Vec<String> =
                        members.iter().map(|(name, value)| format!("{} :{value}", super::super::quote(name))).collect();
                    format!("{{{}}}", members.join(","))
                }),
            ]
        })
    }

    proptest! {
        #[test]
        fn it_is_the_text_of_what_parsing_builds(document in document()) {
            prop_assert_eq!(normalize(&document), Json::parse(&document).map(|json| json.to_text()));
        }

        #[test]
        fn and_the_same_errors(text in "[\\[\\]{}\",:0-9.eE\\\\u tnrf-]{0,30}") {
            prop_assert_eq!(normalize(&text), Json::parse(&text).map(|json| json.to_text()));
        }
    }
}
