//! Changes a document in its stored form. It copies the text around a change, and reads only the names and brackets on the path to it.

use super::ends::end_of_value;
use super::quote;
use super::stored::{MemberPlace, Neighbour, find, is_array, member_place, nth_element};
use super::{JsonPath, path::ArrayIndex, path::PathLeg};
use std::ops::Range;

/// Which of `JSON_SET`, `JSON_INSERT` and `JSON_REPLACE`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EditMode {
    /// Replaces existing values and adds missing ones.
    Set,
    /// Only add.
    Insert,
    /// Only replace.
    Replace,
}

/// The document with the value at a path without wildcards set to `value`, a stored form; `None` if that changes nothing.
pub fn set(document: &str, path: &JsonPath, value: &str, mode: EditMode) -> Option<String> {
    if let Some(at) = find(document, path.legs()) {
        return if mode == EditMode::Insert { None } else { spliced(document, value_at(document, at), &[value]) };
    }
    if mode == EditMode::Replace {
        return None;
    }
    let (last, before) = path.legs().split_last()?;
    let parent = find(document, before)?;
    match last {
        PathLeg::Member(name) => {
            let MemberPlace::Missing { at, neighbour } = member_place(document, parent, name)? else { return None };
            let (name, place) = (quote(name), at..at);
            match neighbour {
                Neighbour::Next => spliced(document, place, &[&name, ": ", value, SEPARATOR]),
                Neighbour::Previous => spliced(document, place, &[SEPARATOR, &name, ": ", value]),
                Neighbour::None => spliced(document, place, &[&name, ": ", value]),
            }
        }
        PathLeg::Cell(ArrayIndex::First(_)) => appended(document, parent, value),
        // A place before the start is the start.
        PathLeg::Cell(ArrayIndex::Last(_)) if is_array(document, parent) => prepended(document, parent, value),
        PathLeg::Cell(ArrayIndex::Last(_)) => {
            let own = value_at(document, parent);
            spliced(document, own.clone(), &["[", value, SEPARATOR, document.get(own)?, "]"])
        }
        _ => None,
    }
}

/// The document without the value at a path without wildcards; `None` if there is none, and for the root, which cannot be removed.
pub fn remove(document: &str, path: &JsonPath) -> Option<String> {
    let (last, before) = path.legs().split_last()?;
    let parent = find(document, before)?;
    let (start, value, before) = match last {
        PathLeg::Member(name) => match member_place(document, parent, name)? {
            MemberPlace::Found { member, value, before } => (member, value, before),
            MemberPlace::Missing { .. } => return None,
        },
        PathLeg::Cell(index) if is_array(document, parent) => {
            let element = nth_element(document, parent, *index)?;
            (element.at, element.at, element.before)
        }
        _ => return None,
    };
    let end = end_of_value(document.as_bytes(), value);
    let range = match before {
        // A separator goes with it.
        Some(before) => before..end,
        None if document.get(end..)?.starts_with(SEPARATOR) => start..end + SEPARATOR.len(),
        None => start..end,
    };
    spliced(document, range, &[])
}

/// `JSON_ARRAY_APPEND()`: the document with `value` behind the elements of the array at a path; anything else there becomes an array first.
/// `None` if there is nothing at the path.
pub fn array_append(document: &str, path: &JsonPath, value: &str) -> Option<String> {
    appended(document, find(document, path.legs())?, value)
}

/// `JSON_ARRAY_INSERT()`: the document with `value` before the cell that the path ends with, or behind the last one; `None` if there is no
/// array, and for a path that [ends otherwise](JsonPath::ends_with_cell).
pub fn array_insert(document: &str, path: &JsonPath, value: &str) -> Option<String> {
    let (PathLeg::Cell(index), before) = path.legs().split_last()? else { return None };
    let array = find(document, before)?;
    if !is_array(document, array) {
        return None;
    }
    match (nth_element(document, array, *index), index) {
        (Some(element), _) => spliced(document, element.at..element.at, &[value, SEPARATOR]),
        (None, ArrayIndex::First(_)) => appended(document, array, value),
        (None, ArrayIndex::Last(_)) => prepended(document, array, value),
    }
}

/// With a value after the one at a place: at the end of its array, or of the new array that the value there becomes.
fn appended(document: &str, at: usize, value: &str) -> Option<String> {
    let own = value_at(document, at);
    if !is_array(document, at) {
        return spliced(document, own.clone(), &["[", document.get(own)?, SEPARATOR, value, "]"]);
    }
    let end = own.end.checked_sub(1)?;
    let separator = if end == at + 1 { "" } else { SEPARATOR };
    spliced(document, end..end, &[separator, value])
}

/// With a value before the elements of the array at a place.
fn prepended(document: &str, array: usize, value: &str) -> Option<String> {
    match nth_element(document, array, ArrayIndex::First(0)) {
        Some(first) => spliced(document, first.at..first.at, &[value, SEPARATOR]),
        None => appended(document, array, value),
    }
}

const SEPARATOR: &str = ", ";

fn value_at(document: &str, at: usize) -> Range<usize> {
    at..end_of_value(document.as_bytes(), at)
}

/// `None` for a range that cuts characters, which no document has.
fn spliced(document: &str, range: Range<usize>, parts: &[&str]) -> Option<String> {
    let (before, after) = (document.get(..range.start)?, document.get(range.end..)?);
    let added: usize = parts.iter().map(|part| part.len()).sum();
    let mut out = String::with_capacity(before.len() + added + after.len());
    out.push_str(before);
    parts.iter().for_each(|part| out.push_str(part));
    out.push_str(after);
    Some(out)
}

#[cfg(test)]
mod tests {
    use super::super::stored::tests::document;
    use super::super::{Json, edit_model as model};
    use super::*;
    use proptest::prelude::*;

    const PATHS: [&str; 20] = [
        "$",
        "$.a",
        "$.bc",
        "$.a.a",
        "$.a.bc",
        "$.\"\\\"\"",
        "$.\"a\\\\\"",
        "$.\"\"",
        "$.zz.a",
        "$[0]",
        "$[1]",
        "$[7]",
        "$[last]",
        "$[last-1]",
        "$[last-9]",
        "$.a[0]",
        "$.a[1].bc",
        "$[0][0]",
        "$.bc[last-7]",
        "$[2].a[last]",
    ];

    /// The stored form that a change of the tree gives; `None` if it is the same.
    fn changed(json: &Json, change: impl FnOnce(&mut Json)) -> Option<String> {
        let mut changed = json.clone();
        change(&mut changed);
        (changed != *json).then(|| changed.to_stored())
    }

    proptest! {
        #[test]
        fn documents_are_changed_as_trees_are(json in document(), value in document()) {
            let (stored, new) = (json.to_stored(), value.to_stored());
            for path in PATHS {
                let path = JsonPath::parse(path).unwrap();
                // What gives the same document again may be made or not.
                let same = |found: Option<String>| found.filter(|found| *found != stored);
                for mode in [EditMode::Set, EditMode::Insert, EditMode::Replace] {
                    let expected = changed(&json, |json| model::set(json, &path, value.clone(), mode));
                    prop_assert_eq!(same(set(&stored, &path, &new, mode)), expected, "{:?} {} in {}", mode, path, stored);
                }
                let expected = changed(&json, |json| { model::remove(json, &path); });
                prop_assert_eq!(same(remove(&stored, &path)), expected, "removed {} in {}", path, stored);
                let expected = changed(&json, |json| model::array_append(json, &path, value.clone()));
                prop_assert_eq!(same(array_append(&stored, &path, &new)), expected, "to {} in {}", path, stored);
                let expected = changed(&json, |json| { model::array_insert(json, &path, value.clone()); });
                prop_assert_eq!(same(array_insert(&stored, &path, &new)), expected, "at {} in {}", path, stored);
            }
        }

        #[test]
        fn no_text_is_too_odd(text in "[\\[\\]{}\",:0-9.\\\\a é\u{1}-]{0,30}") {
            for path in PATHS {
                let path = JsonPath::parse(path).unwrap();
                set(&text, &path, "1", EditMode::Set);
                remove(&text, &path);
                array_append(&text, &path, "1");
                array_insert(&text, &path, "1");
            }
        }
    }
}
