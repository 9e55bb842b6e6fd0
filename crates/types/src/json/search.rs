//! Questions about documents in their stored form: containment, overlap, paths of a string.

use super::compare::compare_stored;
use super::path::{ArrayIndex, PathLeg};
use super::stored::{elements, for_each_at, matched_members, members, root};
use super::{DEPTH_MAX, Json, JsonPath};
use crate::collation::LikePattern;

/// `JSON_CONTAINS()`: whether `candidate` is in `target`.
pub fn contains(target: &str, candidate: &str) -> bool {
    contains_at(target, candidate, 2 * DEPTH_MAX)
}

/// Going down this many levels of both together, which only damaged documents have more of.
fn contains_at(target: &str, candidate: &str, levels: usize) -> bool {
    if levels == 0 {
        return false;
    }
    let levels = levels - 1;
    match (target.as_bytes().first(), candidate.as_bytes().first()) {
        (Some(b'['), Some(b'[')) => {
            let mut candidates = elements(candidate);
            if elements(candidate).nth(SEARCHED_MIN).is_none() {
                return candidates.all(|candidate| element_contains(target, candidate, levels));
            }
            let (containers, scalars): (Vec<&str>, Vec<&str>) = elements(target).partition(|json| is_container(json));
            let scalars = sorted(scalars);
            candidates.all(|candidate| {
                (!is_container(candidate) && has(&scalars, candidate))
                    || containers.iter().any(|element| contains_at(element, candidate, levels))
            })
        }
        (Some(b'['), _) => element_contains(target, candidate, levels),
        (Some(b'{'), Some(b'{')) => matched_members(candidate, target)
            .all(|(candidate, value)| value.is_some_and(|value| contains_at(value, candidate.value, levels))),
        _ => equal(target, candidate),
    }
}

fn element_contains(array: &str, candidate: &str, levels: usize) -> bool {
    elements(array).any(|element| contains_at(element, candidate, levels))
}

fn is_container(stored: &str) -> bool {
    stored.starts_with(['[', '{'])
}

/// `JSON_OVERLAPS()`: whether two documents share an element, a member, or are equal.
pub fn overlaps(left: &str, right: &str) -> bool {
    // What is looked up is sorted or searched in: the shorter one.
    let (left, right) = if left.len() < right.len() { (right, left) } else { (left, right) };
    match (left.as_bytes().first(), right.as_bytes().first()) {
        (Some(b'{'), Some(b'{')) => {
            matched_members(right, left).any(|(other, value)| value.is_some_and(|value| equal(value, other.value)))
        }
        (Some(b'['), Some(b'[')) => {
            let right = sorted(elements(right).collect());
            elements(left).any(|value| has(&right, value))
        }
        (Some(b'['), _) => has_element(left, right),
        (_, Some(b'[')) => has_element(right, left),
        _ => equal(left, right),
    }
}

/// `MEMBER OF()`: whether a value is an element of an array, or equal to what is none.
pub fn is_member(value: &str, array: &str) -> bool {
    if array.starts_with('[') { has_element(array, value) } else { equal(array, value) }
}

fn has_element(array: &str, value: &str) -> bool {
    elements(array).any(|element| equal(element, value))
}

/// Candidates that are worth sorting what they are searched in.
const SEARCHED_MIN: usize = 8;

fn sorted(mut values: Vec<&str>) -> Vec<&str> {
    values.sort_by(|left, right| compare_stored(left, right));
    values
}

fn has(sorted: &[&str], value: &str) -> bool {
    sorted.binary_search_by(|other| compare_stored(other, value)).is_ok()
}

/// Strings have one text, as `true` and `null` have; numbers may have several.
fn equal(left: &str, right: &str) -> bool {
    left == right || (!has_one_text(left) && !has_one_text(right) && compare_stored(left, right).is_eq())
}

fn has_one_text(stored: &str) -> bool {
    stored.starts_with(['"', 't', 'f', 'n'])
}

/// `JSON_SEARCH()`: calls `found` with the paths of the strings at or under `start` that match, in the order of the document.
///
/// # Errors
/// What `check` fails with, which is asked at every value, or `found`, at once.
pub fn search<E>(
    document: &str,
    pattern: &LikePattern,
    start: &JsonPath,
    check: &dyn Fn() -> Result<(), E>,
    found: &mut dyn FnMut(&JsonPath) -> Result<(), E>,
) -> Result<(), E> {
    let mut starts = Vec::new();
    for_each_at(document, start, &mut |value| {
        starts.push(value.as_ptr().addr());
        check()
    })?;
    starts.sort_unstable();
    Search { pattern, check, found, starts, here: JsonPath::default() }.value(document, false)
}

struct Search<'s, E> {
    pattern: &'s LikePattern,
    check: &'s dyn Fn() -> Result<(), E>,
    found: &'s mut dyn FnMut(&JsonPath) -> Result<(), E>,
    /// Where the values begin that are searched, in order.
    starts: Vec<usize>,
    /// Where the search is.
    here: JsonPath,
}

impl<E> Search<'_, E> {
    /// Searches a value; what is not inside of a start is only gone through where it has one.
    fn value(&mut self, stored: &str, inside: bool) -> Result<(), E> {
        let at = stored.as_ptr().addr();
        let next = self.starts.partition_point(|start| *start < at);
        let has_start = self.starts.get(next).is_some_and(|start| *start < at + stored.len());
        // Only a damaged document has this many levels.
        let is_too_deep = self.here.legs().len() > DEPTH_MAX;
        if is_too_deep || !(inside || has_start) {
            return Ok(());
        }
        (self.check)()?;
        let inside = inside || self.starts.get(next) == Some(&at);
        for (at, element) in elements(stored).enumerate() {
            self.here.push(PathLeg::Cell(ArrayIndex::First(at)));
            self.value(element, inside)?;
            self.here.pop();
        }
        for member in members(stored) {
            self.here.push(PathLeg::Member(member.name.into_owned()));
            self.value(member.value, inside)?;
            self.here.pop();
        }
        if inside
            && stored.starts_with('"')
            && let Ok(Json::String(text)) = root(stored)
            && self.pattern.matches(&text)
        {
            return (self.found)(&self.here);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::super::stored::tests::document;
    use super::*;
    use crate::CollationId;
    use proptest::prelude::*;

    fn stored(text: &str) -> String {
        super::super::normalize(text).unwrap()
    }

    /// Whether a tree contains another.
    fn contains_tree(target: &Json, candidate: &Json) -> bool {
        match (target, candidate) {
            (Json::Array(elements), Json::Array(candidates)) => {
                candidates.iter().all(|candidate| elements.iter().any(|element| contains_tree(element, candidate)))
            }
            (Json::Array(elements), candidate) => elements.iter().any(|element| contains_tree(element, candidate)),
            (Json::Object(object), Json::Object(candidates)) => candidates
                .iter()
                .all(|(name, candidate)| object.get(name).is_some_and(|value| contains_tree(value, candidate))),
            (target, candidate) => target.compare(candidate).is_eq(),
        }
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

    proptest! {
        #[test]
        fn contained_documents_are_found_as_in_the_tree(json in document(), other in document()) {
            let text = json.to_stored();
            for candidate in parts(&json).into_iter().chain([other]) {
                let expected = contains_tree(&json, &candidate);
                prop_assert_eq!(contains(&text, &candidate.to_stored()), expected, "{} in {}", candidate.to_text(), &text);
            }
        }

        #[test]
        fn documents_overlap_as_trees_do(left in document(), right in document()) {
            let equal = |left: &Json, right: &Json| left.compare(right).is_eq();
            let expected = match (&left, &right) {
                (Json::Object(left), Json::Object(right)) => {
                    left.iter().any(|(name, value)| right.get(name).is_some_and(|other| equal(value, other)))
                }
                (Json::Array(left), Json::Array(right)) => {
                    left.iter().any(|value| right.iter().any(|other| equal(value, other)))
                }
                (Json::Array(all), one) | (one, Json::Array(all)) => all.iter().any(|value| equal(value, one)),
                (left, right) => equal(left, right),
            };
            prop_assert_eq!(overlaps(&left.to_stored(), &right.to_stored()), expected, "{} {}", left, right);
        }

        #[test]
        fn many_candidates_are_found_as_few(target in prop::collection::vec(document(), 0..12), found in prop::collection::vec(document(), 9..12)) {
            let candidates: Vec<Json> = target.iter().filter(|json| json.is_scalar()).chain(&found).cloned().collect();
            for candidates in [candidates, [target.clone(), target.clone(), target.clone()].concat()] {
                let (target, candidate) = (Json::Array(target.clone()), Json::Array(candidates));
                let expected = contains_tree(&target, &candidate);
                prop_assert_eq!(contains(&target.to_stored(), &candidate.to_stored()), expected, "{} {}", target, candidate);
            }
        }

        #[test]
        fn no_text_is_too_odd(left in "[\\[\\]{}\",:0-9.\\\\a -]{0,30}", right in "[\\[\\]{}\",:0-9.\\\\a -]{0,30}") {
            contains(&left, &right);
            overlaps(&left, &right);
            is_member(&left, &right);
            let pattern = LikePattern::new(CollationId::UTF8MB4_BIN, "%", Some('\\'));
            let _ = search(&left, &pattern, &JsonPath::parse("$**[0]").unwrap(), &|| Ok::<(), ()>(()), &mut |_| Ok(()));
        }
    }

    /// Looking up each member from the start would take the product of their numbers.
    #[test]
    fn large_objects_are_gone_through_once() {
        let object = |value: usize| {
            let members: Vec<String> = (100_000..250_000).map(|name| format!("\"{name}\": {value}")).collect();
            format!("{{{}}}", members.join(", "))
        };
        assert!(contains(&object(1), &object(1)));
        assert!(!overlaps(&object(1), &object(2)));
    }

    #[test]
    fn containment_and_overlap_agree_with_mysql() {
        for (target, candidate, expected) in [
            (r#"{"a": 1, "b": 2}"#, r#"{"a": 1}"#, true),
            (r#"{"a": 1}"#, r#"{"a": 1, "b": 2}"#, false),
            ("[1, 2, [3, 4]]", "[1, 2]", true),
            ("[1, 2, [3, 4]]", "3", true),
            ("[1, 2, [3, 4]]", "[[3]]", true),
            ("[1, 2]", "[3]", false),
            ("1", "1.0", true),
            ("\"a\"", "\"A\"", false),
            ("[]", "[]", true),
            ("1", "[1]", false),
        ] {
            assert_eq!(contains(&stored(target), &stored(candidate)), expected, "{target} {candidate}");
        }
        for (left, right, expected) in [
            ("[1, 3]", "[2, 3]", true),
            ("[1]", "[2]", false),
            (r#"{"a": 1, "b": 2}"#, r#"{"b": 2, "c": 1}"#, true),
            (r#"{"a": 1}"#, r#"{"a": 2}"#, false),
            ("[4, 5, \"6\"]", "6", false),
            ("5", "[4, 5]", true),
            ("5", "5", true),
        ] {
            assert_eq!(overlaps(&stored(left), &stored(right)), expected, "{left} {right}");
        }
    }

    #[test]
    fn searching() {
        let document = stored(r#"["abc", [{"k": "10"}, "def"], {"x y": "abc"}, {"y": "bcd"}]"#);
        let found = |pattern: &str, start: &str, one: bool| -> Vec<String> {
            let pattern = LikePattern::new(CollationId::UTF8MB4_BIN, pattern, Some('\\'));
            let mut paths = Vec::new();
            let searched = search(&document, &pattern, &JsonPath::parse(start).unwrap(), &|| Ok(()), &mut |path| {
                paths.push(path.to_string());
                if one { Err(()) } else { Ok(()) }
            });
            assert_eq!(searched.is_err(), one);
            paths
        };
        assert_eq!(found("abc", "$", true), ["$[0]"]);
        assert_eq!(found("abc", "$", false), ["$[0]", "$[2].\"x y\""]);
        assert_eq!(found("10", "$**.k", false), ["$[1][0].k"]);
        assert_eq!(found("%b%", "$[3]", false), ["$[3].y"]);
        assert_eq!(found("%b%", "$[*].y", false), ["$[3].y"]);
        assert!(found("ABC", "$", false).is_empty());
    }
}
