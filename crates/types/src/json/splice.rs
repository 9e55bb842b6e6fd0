//! Changing a member of a document in its stored form: what is around it stays as it is, and nothing is read but names on the
//! way.

use super::stored::{MemberPlace, Neighbour, end_of_value, member_place};
use super::{EditMode, quote};
use std::ops::Range;

/// The document with the value at a path of members set, as [`Json::set`](super::Json::set) does; `None` if that changes
/// nothing.
pub fn set<'n>(
    document: &str,
    names: impl IntoIterator<Item = &'n str>,
    value: &str,
    mode: EditMode,
) -> Option<String> {
    let mut names = names.into_iter().peekable();
    if names.peek().is_none() {
        return (mode != EditMode::Insert).then(|| value.to_string());
    }
    let mut object = 0;
    while let Some(name) = names.next() {
        let is_last = names.peek().is_none();
        match member_place(document, object, name)? {
            MemberPlace::Found { value, .. } if !is_last => object = value,
            MemberPlace::Found { value: at, .. } if mode != EditMode::Insert => {
                return spliced(document, at..end_of_value(document.as_bytes(), at), &[value]);
            }
            MemberPlace::Missing { at, neighbour } if is_last && mode != EditMode::Replace => {
                let (name, place) = (quote(name), at..at);
                return match neighbour {
                    Neighbour::Next => spliced(document, place, &[&name, ": ", value, ", "]),
                    Neighbour::Previous => spliced(document, place, &[", ", &name, ": ", value]),
                    Neighbour::None => spliced(document, place, &[&name, ": ", value]),
                };
            }
            _ => return None,
        }
    }
    None
}

/// The document without the member at a path; `None` if there is none.
pub fn remove<'n>(document: &str, names: impl IntoIterator<Item = &'n str>) -> Option<String> {
    let mut names = names.into_iter().peekable();
    let mut object = 0;
    while let Some(name) = names.next() {
        let MemberPlace::Found { member, value, before } = member_place(document, object, name)? else { return None };
        if names.peek().is_some() {
            object = value;
            continue;
        }
        let end = end_of_value(document.as_bytes(), value);
        let range = match before {
            // A separator goes with it.
            Some(before) => before..end,
            None if document.get(end..)?.starts_with(SEPARATOR) => member..end + SEPARATOR.len(),
            None => member..end,
        };
        return spliced(document, range, &[]);
    }
    None
}

const SEPARATOR: &str = ", ";

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
    use super::super::{Json, JsonPath};
    use super::*;
    use proptest::prelude::*;

    const PATHS: [&[&str]; 8] = [&["a"], &["bc"], &["a", "a"], &["a", "bc"], &["\""], &["a\\"], &[""], &["zz", "a"]];

    fn path(names: &[&str]) -> JsonPath {
        let text: String = names.iter().map(|name| format!(".{}", quote(name))).collect();
        JsonPath::parse(&format!("${text}")).unwrap()
    }

    proptest! {
        #[test]
        fn documents_are_changed_as_trees_are(json in document(), value in document()) {
            let (stored, new) = (json.to_stored(), value.to_stored());
            for names in PATHS {
                let path = path(names);
                for mode in [EditMode::Set, EditMode::Insert, EditMode::Replace] {
                    let mut expected = json.clone();
                    expected.set(&path, value.clone(), mode);
                    let found = set(&stored, names.iter().copied(), &new, mode).unwrap_or_else(|| stored.clone());
                    prop_assert_eq!(found, expected.to_stored(), "{:?} {:?} in {}", mode, names, stored);
                }
                let mut expected = json.clone();
                expected.remove(&path);
                let found = remove(&stored, names.iter().copied()).unwrap_or_else(|| stored.clone());
                prop_assert_eq!(found, expected.to_stored(), "removed {:?} in {}", names, stored);
            }
        }

        #[test]
        fn no_text_is_too_odd(text in "[\\[\\]{}\",:0-9.\\\\a é\u{1}-]{0,30}") {
            set(&text, ["a", "a"], "1", EditMode::Set);
            remove(&text, ["a"]);
        }
    }

    #[test]
    fn the_document_itself() {
        assert_eq!(set("[1]", [], "2", EditMode::Set).as_deref(), Some("2"));
        assert_eq!(set("[1]", [], "2", EditMode::Insert), None);
        assert_eq!(Json::parse("{}").map(|json| json.to_stored()).as_deref(), Ok("{}"));
    }
}
