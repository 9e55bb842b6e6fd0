//! A document's text in MySQL's normal form, from any text of it, without building the document: what is stored may be long.

use super::walk::{Event, walk};
use super::{JsonError, compare_names, print};
use std::borrow::Cow;

/// A container that is not yet ended.
struct Open<'a> {
    /// Where it begins in the text that is made.
    start: usize,
    /// Its members, in the order in which they came.
    members: Vec<Member<'a>>,
    /// Whether they are in the order that they are to be in, each once.
    in_order: bool,
    /// Values so far.
    count: usize,
}

struct Member<'a> {
    name: Cow<'a, str>,
    /// Where it begins, and where it ends, in the text that is made.
    start: usize,
    end: usize,
}

/// Text of any document in MySQL's normal form: members by the length of their names and then by bytes, of equal names the
/// last, one blank behind commas and colons.
pub fn normalize(text: &str) -> Result<String, JsonError> {
    let mut out = String::with_capacity(text.len() + text.len() / 8);
    let mut open: Vec<Open<'_>> = Vec::new();
    walk(text, |event| {
        match event {
            Event::Name(name) => {
                let Some(object) = open.last_mut() else { return };
                if object.count > 0 {
                    out.push_str(", ");
                }
                object.count += 1;
                let start = out.len();
                print::write_string(&name, &mut out);
                out.push_str(": ");
                object.in_order &= object.members.last().is_none_or(|last| compare_names(&last.name, &name).is_lt());
                object.members.push(Member { name, start, end: start });
                return;
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
                if let Some(array) = open.last_mut().filter(|open| open.members.is_empty()) {
                    if array.count > 0 {
                        out.push_str(", ");
                    }
                    array.count += 1;
                }
                match value {
                    Event::BeginObject | Event::BeginArray => {
                        let start = out.len();
                        out.push(if value == Event::BeginObject { '{' } else { '[' });
                        open.push(Open { start, members: Vec::new(), in_order: true, count: 0 });
                        return;
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
        // A value has ended, and with it maybe a member.
        if let Some(member) = open.last_mut().and_then(|open| open.members.last_mut()) {
            member.end = out.len();
        }
    })?;
    Ok(out)
}

/// Puts an object's members in order, of equal names the last.
fn reorder(mut object: Open<'_>, out: &mut String) {
    let from = object.start + 1;
    let body = out.split_off(from);
    object.members.sort_by(|left, right| compare_names(&left.name, &right.name));
    let mut members = object.members.iter().peekable();
    let mut first = true;
    while let Some(member) = members.next() {
        if members.peek().is_some_and(|next| next.name == member.name) {
            continue;
        }
        if !std::mem::take(&mut first) {
            out.push_str(", ");
        }
        out.push_str(body.get(member.start - from..member.end - from).unwrap_or_default());
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
