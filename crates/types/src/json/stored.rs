//! Reading a little of a document in its stored form ([`super::document`]), which is known to be a document, with each name of an object once, shorter names before longer ones, and a blank behind colons and commas.
//!
//! What is not asked for is passed over by looking for quotes and brackets alone, many bytes at a time.

use super::lines::{Scalar, scalars_stored};
use super::parse::{Marked, Parser};
use super::path::{ArrayIndex, PathLeg};
use super::typed::{MARK, MARK_BYTES};
use super::walk::NumberText;
use super::{Json, JsonError, JsonPath, compare_names, quote, search};
use memchr::{memchr2, memchr3, memmem};
use std::cell::Cell;
use std::cmp::Ordering;

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
    let value = path.legs().iter().try_fold(document, step)?;
    Some(&value[..end_of_value(value.as_bytes(), 0)])
}

/// What stands one step further than what a text begins with, to the end of the text.
fn step<'a>(value: &'a str, leg: &PathLeg) -> Option<&'a str> {
    match leg {
        PathLeg::Member(name) => member(value, name),
        PathLeg::Cell(index) if value.starts_with('[') => element(value, *index),
        // What is no array is taken for an array of itself.
        PathLeg::Cell(index) if index.resolve(1) == Some(0) => Some(value),
        _ => None,
    }
}

/// Whether [`for_each_at`] knows all steps of a path: members, and one or all elements.
pub fn is_walked(path: &JsonPath) -> bool {
    path.legs().iter().all(|leg| matches!(leg, PathLeg::Member(_) | PathLeg::Cell(_) | PathLeg::AnyCell))
}

/// Calls `found` with the text of each value at a path that [is walked](is_walked), as [`JsonPath::find_all`] finds them in a tree.
///
/// # Errors
/// What `found` fails with, at once.
pub fn for_each_at<'a, E>(
    document: &'a str,
    path: &JsonPath,
    found: &mut dyn FnMut(&'a str) -> Result<(), E>,
) -> Result<(), E> {
    each_step(document, path.legs(), found)
}

fn each_step<'a, E>(
    value: &'a str,
    legs: &[PathLeg],
    found: &mut dyn FnMut(&'a str) -> Result<(), E>,
) -> Result<(), E> {
    match legs.split_first() {
        None => found(&value[..end_of_value(value.as_bytes(), 0)]),
        Some((PathLeg::AnyCell, rest)) if value.starts_with('[') => {
            elements(value).try_for_each(|start| each_step(&value[start..], rest, found))
        }
        Some((leg, rest)) => step(value, leg).map_or(Ok(()), |value| each_step(value, rest, found)),
    }
}

/// The part of a stored document of which a tree tells what is at a path: what is there itself, if the path means one value. `None` if
/// there is nothing.
pub fn part_at<'a>(document: &'a str, path: &JsonPath) -> Option<&'a str> {
    if path.has_wildcard() { Some(document) } else { at_path(document, path) }
}

/// Where the elements of the array begin that a text begins with.
fn elements(array: &str) -> impl Iterator<Item = usize> {
    let bytes = array.as_bytes();
    let first = Some(blanks(bytes, 1)).filter(|first| !matches!(bytes.get(*first), None | Some(b']')));
    std::iter::successors(first, |at| after(bytes, end_of_value(bytes, *at), b','))
}

/// What stands at an element of the array that a text begins with, to the end of the text.
fn element(array: &str, index: ArrayIndex) -> Option<&str> {
    let at = match index {
        ArrayIndex::First(index) => index,
        ArrayIndex::Last(_) => index.resolve(elements(array).count())?,
    };
    elements(array).nth(at).and_then(|start| array.get(start..))
}

/// Values of a candidate up to which it is looked for in the text; many are found faster in a tree, whose names and scalars can be searched.
const CANDIDATE_VALUES_MAX: usize = 16;

/// `JSON_CONTAINS()`: whether `candidate` is in a document, as [`super::search::contains`] says of trees; `None` where that is faster in a
/// tree.
pub fn contains(document: &str, candidate: &Json) -> Result<Option<bool>, JsonError> {
    if values_of(candidate) > CANDIDATE_VALUES_MAX {
        return Ok(None);
    }
    value_contains(document, candidate).map(Some)
}

/// How many values a document has, up to about the most that matter.
fn values_of(document: &Json) -> usize {
    let all = |counts: &mut dyn Iterator<Item = usize>| {
        let mut sum = 1;
        for count in counts {
            sum += count;
            if sum > CANDIDATE_VALUES_MAX {
                break;
            }
        }
        sum
    };
    match document {
        Json::Array(elements) => all(&mut elements.iter().map(values_of)),
        Json::Object(object) => all(&mut object.iter().map(|(_, value)| values_of(value))),
        _ => 1,
    }
}

/// The same of the value that a text begins with.
fn value_contains(text: &str, candidate: &Json) -> Result<bool, JsonError> {
    match (text.as_bytes().first(), candidate) {
        (Some(b'['), Json::Array(candidates)) => {
            for candidate in candidates {
                if !element_contains(text, candidate)? {
                    return Ok(false);
                }
            }
            Ok(true)
        }
        (Some(b'['), candidate) => element_contains(text, candidate),
        (Some(b'{'), Json::Object(candidates)) => {
            for (name, candidate) in candidates.iter() {
                let Some(value) = member(text, name) else { return Ok(false) };
                if !value_contains(value, candidate)? {
                    return Ok(false);
                }
            }
            Ok(true)
        }
        (Some(b'{'), _) | (_, Json::Array(_) | Json::Object(_)) => Ok(false),
        (_, candidate) => {
            let own = Json::parse_stored(&text[..end_of_value(text.as_bytes(), 0)])?;
            Ok(search::contains(&own, candidate))
        }
    }
}

/// Whether an element of the array that a text begins with contains a candidate.
fn element_contains(array: &str, candidate: &Json) -> Result<bool, JsonError> {
    for start in elements(array) {
        if value_contains(&array[start..end_of_value(array.as_bytes(), start)], candidate)? {
            return Ok(true);
        }
    }
    Ok(false)
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

/// The place behind a value.
pub(super) fn end_of_value(bytes: &[u8], at: usize) -> usize {
    match bytes.get(at) {
        Some(b'"') => end_of_string(bytes, at),
        Some(&MARK) => end_of_value(bytes, at + MARK_BYTES),
        Some(b'{') => end_of_container(bytes, at, b'{', b'}'),
        Some(b'[') => end_of_container(bytes, at, b'[', b']'),
        _ => {
            let rest = bytes.get(at..).unwrap_or_default();
            let end = rest.iter().position(|byte| matches!(byte, b',' | b']' | b'}' | b' '));
            end.map_or(bytes.len(), |end| at + end)
        }
    }
}

/// The place behind a string that begins at `at`.
pub(super) fn end_of_string(bytes: &[u8], at: usize) -> usize {
    let mut at = at + 1;
    while let Some(found) = bytes.get(at..).and_then(|rest| memchr2(b'"', b'\\', rest)) {
        if bytes[at + found] == b'"' {
            return at + found + 1;
        }
        at += found + 2;
    }
    bytes.len()
}

/// The place behind an array or object that begins at `at`: brackets of the other kind come in pairs within.
fn end_of_container(bytes: &[u8], at: usize, open: u8, close: u8) -> usize {
    let (mut at, mut depth) = (at, 0usize);
    while let Some(found) = bytes.get(at..).and_then(|rest| memchr3(b'"', open, close, rest)) {
        at += found;
        match bytes[at] {
            b'"' => {
                at = end_of_string(bytes, at);
                continue;
            }
            byte if byte == open => depth += 1,
            _ => depth = depth.saturating_sub(1),
        }
        at += 1;
        if depth == 0 {
            return at;
        }
    }
    bytes.len()
}

/// Calls `found` with every scalar whose innermost member has this name, in order, as [`super::lines::scalars`] would.
///
/// The name with its quotes and colon stands nowhere else: inside of strings quotes are escaped.
pub fn scalars_of<'a>(document: &'a str, name: &str, mut found: impl FnMut(Scalar<'a>)) -> Result<(), JsonError> {
    if !document.starts_with(['{', '[']) {
        return Ok(());
    }
    // Whoever asks about one name asks many documents. `found` may ask about another one meanwhile.
    let finder = LAST_NAME.take().filter(|last| last.name == name).unwrap_or_else(|| NameFinder::new(name));
    let result = scalars_found(document, &finder, &mut found);
    LAST_NAME.set(Some(finder));
    result
}

thread_local! {
    static LAST_NAME: Cell<Option<NameFinder>> = const { Cell::new(None) };
}

/// Finds a name as it stands in a stored document.
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

    /// Documents of few names, so that those that are looked for are met.
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

    /// Some of what a document contains, more or less: each value within it by itself, and in the objects around it alone.
    fn parts(json: &Json) -> Vec<Json> {
        let mut all = vec![json.clone()];
        match json {
            Json::Array(elements) => {
                for part in elements.iter().flat_map(parts) {
                    all.push(Json::Array(vec![part.clone()]));
                    all.push(part);
                }
            }
            Json::Object(object) => {
                for (name, value) in object.iter() {
                    let part = |part: Json| Json::Object([(name.to_string(), part)].into_iter().collect());
                    all.extend(parts(value).into_iter().map(part));
                }
            }
            _ => {}
        }
        all.truncate(40);
        all
    }

    const PATHS: [&str; 14] = [
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
                prop_assert!(is_walked(&path) && walked.is_ok());
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
        fn contained_documents_are_found_as_in_the_tree(json in document(), other in document()) {
            let text = json.to_stored();
            for candidate in parts(&json).into_iter().chain([other]) {
                let expected = search::contains(&json, &candidate);
                let found = contains(&text, &candidate).map(|found| found.unwrap_or(expected));
                prop_assert_eq!(found, Ok(expected), "{} in {}", candidate.to_text(), &text);
            }
        }

        #[test]
        fn no_text_is_too_odd(text in "[\\[\\]{}\",:0-9.\\\\a -]{0,30}") {
            at_members(&text, ["a", "a"]);
            let _ = scalars_of(&text, "a", |_| {});
            let _ = contains(&text, &Json::Array(vec![Json::Int(1)]));
            for path in PATHS {
                let _: Result<(), ()> = for_each_at(&text, &JsonPath::parse(path).unwrap(), &mut |_| Ok(()));
            }
        }
    }
}
