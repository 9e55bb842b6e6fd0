//! Reads parts of a document in its stored form ([`super::document`]). In that form an object has each name once, with shorter names
//! before longer ones, and a blank follows each colon and comma.
//!
//! It skips other parts by searching only for quotes and brackets, many bytes at a time.

use super::ends::{end_of_string, end_of_value};
use super::lines::{Scalar, scalars_stored};
use super::mark::MARK;
use super::number::NumberText;
use super::parse::{JsonError, Marked, Parser};
use super::path::{ArrayIndex, JsonPath, PathLeg};
use super::print::write_string;
use super::{DEPTH_MAX, Json, Object, compare_names, quote};
use memchr::memmem;
use std::borrow::Cow;
use std::cell::Cell;
use std::cmp::Ordering;
use std::collections::HashSet;
use std::convert::Infallible;
use std::ops::Range;

/// The text of the value at a path of members; `None` if there is nothing.
pub fn at_members<'a, 'n>(document: &'a str, names: impl IntoIterator<Item = &'n str>) -> Option<&'a str> {
    let mut value = document;
    for name in names {
        value = member(value, name)?;
    }
    Some(&value[..end_of_value(value.as_bytes(), 0)])
}

/// The text of the value at a path, as [`JsonPath::find`] finds it in a tree; `None` if there is nothing, or the path may mean several values.
pub fn at_path<'a>(document: &'a str, path: &JsonPath) -> Option<&'a str> {
    let at = find(document, path.legs())?;
    document.get(at..end_of_value(document.as_bytes(), at))
}

/// Where the value at steps without wildcards begins.
pub(super) fn find(document: &str, legs: &[PathLeg]) -> Option<usize> {
    legs.iter().try_fold(0, |at, leg| step(document, at, leg))
}

/// Where the value one step further than the value at `at` begins.
fn step(document: &str, at: usize, leg: &PathLeg) -> Option<usize> {
    match leg {
        PathLeg::Member(name) => match member_place(document, at, name)? {
            MemberPlace::Found { value, .. } => Some(value),
            MemberPlace::Missing { .. } => None,
        },
        PathLeg::Cell(index) if is_array(document, at) => Some(nth_element(document, at, *index)?.at),
        // What is no array is taken for an array of itself.
        PathLeg::Cell(index) if index.resolve(1) == Some(0) => Some(at),
        _ => None,
    }
}

/// Whether an array begins at a place.
pub(super) fn is_array(document: &str, at: usize) -> bool {
    document.as_bytes().get(at) == Some(&b'[')
}

/// Where an element of an array is.
pub(super) struct ElementPlace {
    /// Where it begins.
    pub at: usize,
    /// Where the element before it ends.
    pub before: Option<usize>,
}

/// An element of the array that begins at `array`.
pub(super) fn nth_element(document: &str, array: usize, index: ArrayIndex) -> Option<ElementPlace> {
    let text = document.get(array..)?;
    let at = match index {
        ArrayIndex::First(at) => at,
        ArrayIndex::Last(_) => index.resolve(element_ranges(text).count())?,
    };
    let mut ranges = element_ranges(text);
    let before = if at == 0 { None } else { Some(array + ranges.nth(at - 1)?.end) };
    Some(ElementPlace { at: array + ranges.next()?.start, before })
}

/// Calls `found` with the text of each value at a path, each once, in the order of the document.
///
/// # Errors
/// What `found` fails with, at once.
pub fn for_each_at<'a, E>(
    document: &'a str,
    path: &JsonPath,
    found: &mut dyn FnMut(&'a str) -> Result<(), E>,
) -> Result<(), E> {
    let value = document.get(..end_of_value(document.as_bytes(), 0)).unwrap_or_default();
    if !path.has_ellipsis() {
        return each_step(value, path.legs(), DEPTH_MAX, found);
    }
    // An ellipsis may lead to a value in several ways, so that all values are known before the next step.
    let mut values = vec![value];
    for leg in path.legs() {
        let mut next = Vec::with_capacity(values.len());
        for value in values {
            if *leg == PathLeg::Ellipsis {
                push_everything(value, DEPTH_MAX, &mut next);
            } else {
                let push: Result<(), Infallible> = each_step(value, std::slice::from_ref(leg), 1, &mut |value| {
                    next.push(value);
                    Ok(())
                });
                let Ok(()) = push;
            }
        }
        let mut seen = HashSet::with_capacity(next.len());
        next.retain(|value| seen.insert(value.as_ptr()));
        values = next;
    }
    values.into_iter().try_for_each(found)
}

/// Calls `found` with what is at steps without an ellipsis, which go down this many levels at most.
fn each_step<'a, E>(
    mut value: &'a str,
    mut legs: &[PathLeg],
    levels: usize,
    found: &mut dyn FnMut(&'a str) -> Result<(), E>,
) -> Result<(), E> {
    while let Some((leg, rest)) = legs.split_first() {
        let mut each = |value| if levels == 0 { Ok(()) } else { each_step(value, rest, levels - 1, found) };
        let is_array = value.starts_with('[');
        match leg {
            PathLeg::AnyMember => return members(value).try_for_each(|member| each(member.value)),
            PathLeg::AnyCell => return elements(value).try_for_each(each),
            PathLeg::Range(from, to) => {
                let length = if is_array { elements(value).count() } else { 1 };
                let (from, to) = (from.resolve(length).unwrap_or(0), to.resolve(length));
                match to {
                    Some(to) if is_array => {
                        return elements(value).take(to.saturating_add(1)).skip(from).try_for_each(each);
                    }
                    // What is no array is taken for an array of itself.
                    Some(_) if from == 0 => {}
                    _ => return Ok(()),
                }
            }
            PathLeg::Member(_) | PathLeg::Cell(_) => {
                let Some(at) = step(value, 0, leg) else { return Ok(()) };
                value = value.get(at..end_of_value(value.as_bytes(), at)).unwrap_or_default();
            }
            PathLeg::Ellipsis => return Ok(()),
        }
        legs = rest;
    }
    found(value)
}

/// A value and all in it, this many levels at most.
fn push_everything<'a>(value: &'a str, levels: usize, out: &mut Vec<&'a str>) {
    out.push(value);
    if levels > 0 {
        elements(value).for_each(|element| push_everything(element, levels - 1, out));
        members(value).for_each(|member| push_everything(member.value, levels - 1, out));
    }
}

/// The part of a stored document that must become a tree to read a path: only the value itself, if the path means one value. `None`
/// if there is nothing.
pub fn part_at<'a>(document: &'a str, path: &JsonPath) -> Option<&'a str> {
    if path.has_wildcard() { Some(document) } else { at_path(document, path) }
}

/// The elements of the array that a text begins with.
pub(super) fn elements(array: &str) -> impl Iterator<Item = &str> {
    element_ranges(array).filter_map(|range| array.get(range))
}

fn element_ranges(array: &str) -> impl Iterator<Item = Range<usize>> {
    let bytes = array.as_bytes();
    let mut next = bytes.starts_with(b"[").then(|| blanks(bytes, 1));
    std::iter::from_fn(move || {
        let start = next.take().filter(|at| !matches!(bytes.get(*at), None | Some(b']')))?;
        let end = end_of_value(bytes, start);
        next = after(bytes, end, b',');
        Some(start..end)
    })
}

/// A member of an object.
pub(super) struct Member<'a> {
    /// Its name.
    pub name: Cow<'a, str>,
    /// Its value.
    pub value: &'a str,
    /// Name and value, as they are written.
    pub text: &'a str,
}

/// The members of the object that a text begins with, in the order of their names.
pub(super) fn members(object: &str) -> impl Iterator<Item = Member<'_>> {
    let bytes = object.as_bytes();
    let mut next = bytes.starts_with(b"{").then(|| blanks(bytes, 1));
    std::iter::from_fn(move || {
        let at = next.take().filter(|at| bytes.get(*at) == Some(&b'"'))?;
        let start = after(bytes, end_of_string(bytes, at), b':')?;
        let end = end_of_value(bytes, start);
        next = after(bytes, end, b',');
        let name = Parser::new(object.get(at..)?).string().ok()?;
        Some(Member { name, value: object.get(start..end)?, text: object.get(at..end)? })
    })
}

/// Each member of an object with the value of that name in another object: both are gone through once, in the order of their names.
pub(super) fn matched_members<'a>(
    object: &'a str,
    other: &'a str,
) -> impl Iterator<Item = (Member<'a>, Option<&'a str>)> {
    let mut others = members(other).peekable();
    members(object).map(move |member| {
        while others.next_if(|other| compare_names(&other.name, &member.name).is_lt()).is_some() {}
        let same = others.next_if(|other| other.name == member.name);
        (member, same.map(|other| other.value))
    })
}

/// How many arrays and objects are inside of each other at most.
pub fn nesting(document: &str) -> usize {
    let bytes = document.as_bytes();
    let (mut at, mut open, mut most) = (0, 0usize, 0);
    while let Some(byte) = bytes.get(at) {
        at = if *byte == b'"' { end_of_string(bytes, at) } else { at + 1 };
        match byte {
            b'[' | b'{' => open += 1,
            b']' | b'}' => open = open.saturating_sub(1),
            _ => {}
        }
        most = most.max(open);
    }
    most
}

/// The value of a stored document, of which an array or object is empty: its kind.
pub fn root(document: &str) -> Result<Json, JsonError> {
    match document.as_bytes() {
        [b'[', .., b']'] => Ok(Json::Array(Vec::new())),
        [b'{', .., b'}'] => Ok(Json::Object(Object::default())),
        _ => Json::parse_stored(document),
    }
}

/// How many elements or members a document has; a scalar has one.
pub fn length(document: &str) -> usize {
    match document.as_bytes().first() {
        Some(b'[') => element_ranges(document).count(),
        Some(b'{') => members(document).count(),
        _ => 1,
    }
}

/// `JSON_KEYS()`: an array of the names of an object; `None` for anything else.
pub fn keys(document: &str) -> Option<String> {
    if !document.starts_with('{') {
        return None;
    }
    let mut keys = String::from("[");
    for member in members(document) {
        if keys.len() > 1 {
            keys.push_str(", ");
        }
        write_string(&member.name, &mut keys);
    }
    keys.push(']');
    Some(keys)
}

/// What stands at the value of a member of an object, to the end of the text.
fn member<'a>(object: &'a str, name: &str) -> Option<&'a str> {
    match member_place(object, 0, name)? {
        MemberPlace::Found { value, .. } => object.get(value..),
        MemberPlace::Missing { .. } => None,
    }
}

/// Where a member is in an object, or would be.
pub(super) enum MemberPlace {
    /// It is there.
    Found {
        /// Where it begins.
        member: usize,
        /// Where its value begins.
        value: usize,
        /// Where the value of the member before it ends.
        before: Option<usize>,
    },
    /// It is not.
    Missing {
        /// Where it would be.
        at: usize,
        /// What is there.
        neighbour: Neighbour,
    },
}

/// What stands where a member is not.
pub(super) enum Neighbour {
    /// Nothing: the object is empty.
    None,
    /// The member that would follow it.
    Next,
    /// The end of the value of the last member.
    Previous,
}

/// The place of a member of the object that begins at `object`; `None` if none begins there.
pub(super) fn member_place(document: &str, object: usize, name: &str) -> Option<MemberPlace> {
    let bytes = document.as_bytes();
    if bytes.get(object) != Some(&b'{') {
        return None;
    }
    let (mut at, mut before) = (object + 1, None);
    while bytes.get(at) == Some(&b'"') {
        let end = end_of_string(bytes, at);
        let written = document.get(at + 1..end.checked_sub(1)?)?;
        let order = if written.contains('\\') {
            compare_names(&Parser::new(&document[at..]).string().ok()?, name)
        } else {
            compare_names(written, name)
        };
        let value = after(bytes, end, b':')?;
        match order {
            Ordering::Equal => return Some(MemberPlace::Found { member: at, value, before }),
            // Members are in the order of their names.
            Ordering::Greater => return Some(MemberPlace::Missing { at, neighbour: Neighbour::Next }),
            Ordering::Less => {}
        }
        let value_end = end_of_value(bytes, value);
        let Some(next) = after(bytes, value_end, b',') else {
            return Some(MemberPlace::Missing { at: value_end, neighbour: Neighbour::Previous });
        };
        (at, before) = (next, Some(value_end));
    }
    Some(MemberPlace::Missing { at, neighbour: Neighbour::None })
}

/// The place behind a separator and blanks.
fn after(bytes: &[u8], at: usize, separator: u8) -> Option<usize> {
    let at = blanks(bytes, at);
    (bytes.get(at) == Some(&separator)).then(|| blanks(bytes, at + 1))
}

fn blanks(bytes: &[u8], mut at: usize) -> usize {
    while matches!(bytes.get(at), Some(b' ' | b'\t' | b'\n' | b'\r')) {
        at += 1;
    }
    at
}

/// Calls `found` with every scalar whose innermost member has this name, in order, as [`super::lines::scalars`] would.
///
/// The name with its quotes and colon stands nowhere else: inside of strings quotes are escaped.
pub fn scalars_of<'a>(document: &'a str, name: &str, mut found: impl FnMut(Scalar<'a>)) -> Result<(), JsonError> {
    if !document.starts_with(['{', '[']) {
        return Ok(());
    }
    // A caller that asks about one name asks many documents. `found` may ask about another one meanwhile.
    let finder = LAST_NAME.take().filter(|last| last.name == name).unwrap_or_else(|| NameFinder::new(name));
    let result = scalars_found(document, &finder, &mut found);
    LAST_NAME.set(Some(finder));
    result
}

thread_local! {
    static LAST_NAME: Cell<Option<NameFinder>> = const { Cell::new(None) };
}

/// Finds a name as it is in a stored document.
struct NameFinder {
    name: String,
    written: memmem::Finder<'static>,
}

impl NameFinder {
    fn new(name: &str) -> NameFinder {
        let written = format!("{}: ", quote(name));
        NameFinder { name: name.to_string(), written: memmem::Finder::new(&written).into_owned() }
    }
}

fn scalars_found<'a>(
    document: &'a str,
    NameFinder { name, written }: &NameFinder,
    found: &mut impl FnMut(Scalar<'a>),
) -> Result<(), JsonError> {
    let bytes = document.as_bytes();
    let mut at = 0;
    while let Some(next) = bytes.get(at..).and_then(|rest| written.find(rest)) {
        let name_at = at + next;
        at = name_at + written.needle().len();
        if name_at > 0 && bytes[name_at - 1] == b'\\' {
            continue;
        }
        match bytes.get(at) {
            Some(b'{') => {}
            Some(b'[') => {
                let end = end_of_value(bytes, at);
                scalars_stored(&document[at..end], |own, scalar| {
                    // What is in the array itself has the name that the array has.
                    if own.is_none_or(|own| own == name) {
                        found(scalar);
                    }
                })?;
                at = end;
            }
            _ => {
                let end = end_of_value(bytes, at);
                found(scalar(&document[at..end])?);
                at = end;
            }
        }
    }
    Ok(())
}

fn scalar(text: &str) -> Result<Scalar<'_>, JsonError> {
    Ok(match text.as_bytes().first() {
        Some(b'"') => Scalar::String(Parser::new(text).string()?),
        Some(b't') => Scalar::Bool(true),
        Some(b'f') => Scalar::Bool(false),
        Some(b'n') => Scalar::Null,
        Some(&MARK) => match Parser::of_stored(text).marked()? {
            Marked::Decimal(number) => Scalar::Number(number),
            Marked::Text(typed) => Scalar::String(typed.text),
        },
        _ => Scalar::Number(NumberText::unmarked(text, !text.contains(['.', 'e', 'E']))),
    })
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::{Decimal, Time};
    use proptest::prelude::*;

    /// Documents with few different names, so that searches find some.
    pub fn document() -> impl Strategy<Value = Json> {
        let scalar = prop_oneof![
            Just(Json::Null),
            any::<bool>().prop_map(Json::Bool),
            any::<i64>().prop_map(Json::Int),
            (-1e9..1e9).prop_map(Json::Double),
            "[a\"\\\\:, {}\\[\\]é\n]{0,8}".prop_map(Json::String),
            (any::<i32>(), 0..4u8)
                .prop_map(|(digits, scale)| Json::Decimal(Box::new(Decimal::from_i128(digits.into(), scale)))),
            (0..1i64 << 40).prop_filter_map("a time", Time::from_micros).prop_map(Json::Time),
            proptest::collection::vec(any::<u8>(), 0..3).prop_map(|bytes| Json::Opaque(15, bytes)),
        ];
        scalar.prop_recursive(4, 40, 5, |inner| {
            let name = prop_oneof![Just("a".to_string()), Just("bc".to_string()), "[a\"\\\\: é]{0,3}"];
            prop_oneof![
                proptest::collection::vec(inner.clone(), 0..5).prop_map(Json::Array),
                proptest::collection::vec((name, inner), 0..5).prop_map(|all| Json::Object(all.into_iter().collect())),
            ]
        })
    }

    const PATHS: [&str; 22] = [
        "$",
        "$.a",
        "$[0]",
        "$[1].a",
        "$[last]",
        "$.a[last-1]",
        "$.bc[2][0]",
        "$[0][0]",
        "$[*]",
        "$.a[*]",
        "$[*].a",
        "$[*][*]",
        "$[*][last].a",
        "$.bc[*].a[0]",
        "$**.a",
        "$**[0]",
        "$.a**[last]",
        "$**.a**[*]",
        "$.*",
        "$[0 to 1]",
        "$[1 to last-1].*",
        "$.*[last-1 to last]",
    ];

    fn looked_up(json: &Json, names: &[&str]) -> Option<String> {
        let found = names.iter().try_fold(json, |json, name| match json {
            Json::Object(object) => object.get(name),
            _ => None,
        });
        found.map(Json::to_stored)
    }

    proptest! {
        #[test]
        fn members_are_found_as_in_the_tree(json in document()) {
            let text = json.to_stored();
            for names in [&["a"][..], &["bc"], &["a", "a"], &["bc", "a"], &["\""], &["a\\"], &[""]] {
                let found = at_members(&text, names.iter().copied()).map(str::to_string);
                prop_assert_eq!(found, looked_up(&json, names), "{:?} in {}", names, text);
            }
        }

        #[test]
        fn paths_are_walked_as_in_the_tree(json in document()) {
            let text = json.to_stored();
            for path in PATHS {
                let path = JsonPath::parse(path).unwrap();
                let expected: Vec<String> = path.find_all(&json).into_iter().map(Json::to_stored).collect();
                let mut found = Vec::new();
                let walked: Result<(), ()> = for_each_at(&text, &path, &mut |value| {
                    found.push(value.to_string());
                    Ok(())
                });
                prop_assert!(walked.is_ok());
                prop_assert_eq!(&found, &expected, "{:?} in {}", path, &text);
                if !path.has_wildcard() {
                    prop_assert_eq!(at_path(&text, &path), expected.first().map(String::as_str));
                }
            }
        }

        #[test]
        fn scalars_are_found_as_by_walking(json in document()) {
            let text = json.to_stored();
            for name in ["a", "bc", "\"", "a\\", ""] {
                let (mut expected, mut found) = (Vec::new(), Vec::new());
                scalars_stored(&text, |own, scalar| if own == Some(name) { expected.push(scalar) }).unwrap();
                scalars_of(&text, name, |scalar| found.push(scalar)).unwrap();
                prop_assert_eq!(found, expected, "{:?} in {}", name, &text);
            }
        }

        #[test]
        fn kinds_and_sizes_are_those_of_the_tree(json in document()) {
            let text = json.to_stored();
            prop_assert_eq!(nesting(&text), json.nesting());
            prop_assert_eq!(length(&text), json.length());
            prop_assert_eq!(root(&text).map(|root| root.type_name()), Ok(json.type_name()));
            let names = match &json {
                Json::Object(object) => Some(Json::Array(object.iter().map(|(name, _)| Json::String(name.to_string())).collect())),
                _ => None,
            };
            prop_assert_eq!(keys(&text), names.map(|names| names.to_stored()));
        }

        #[test]
        fn no_text_is_too_odd(text in "[\\[\\]{}\",:0-9.\\\\a -]{0,30}") {
            at_members(&text, ["a", "a"]);
            let _ = scalars_of(&text, "a", |_| {});
            for path in PATHS {
                let _: Result<(), ()> = for_each_at(&text, &JsonPath::parse(path).unwrap(), &mut |_| Ok(()));
            }
        }
    }
}
