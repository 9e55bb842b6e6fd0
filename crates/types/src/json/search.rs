//! Questions about documents: containment, overlap, where a string stands.

use super::path::{ArrayIndex, PathLeg};
use super::{Json, JsonPath};
use crate::collation::LikePattern;
use std::collections::HashSet;

/// `JSON_CONTAINS()`: whether `candidate` is in `target`.
pub fn contains(target: &Json, candidate: &Json) -> bool {
    match (target, candidate) {
        (Json::Array(elements), Json::Array(candidates)) if candidates.len() > SEARCHED_MIN => {
            let (scalars, containers): (Vec<&Json>, Vec<&Json>) = elements.iter().partition(|json| json.is_scalar());
            let scalars = sorted(scalars);
            candidates.iter().all(|candidate| {
                (candidate.is_scalar() && has(&scalars, candidate))
                    || containers.iter().any(|element| contains(element, candidate))
            })
        }
        (Json::Array(elements), Json::Array(candidates)) => {
            candidates.iter().all(|candidate| elements.iter().any(|element| contains(element, candidate)))
        }
        (Json::Array(elements), candidate) => elements.iter().any(|element| contains(element, candidate)),
        (Json::Object(object), Json::Object(candidates)) => {
            candidates.iter().all(|(name, candidate)| object.get(name).is_some_and(|value| contains(value, candidate)))
        }
        (target, candidate) => equal(target, candidate),
    }
}

/// `JSON_OVERLAPS()`: whether two documents share an element, a member, or are equal.
pub fn overlaps(left: &Json, right: &Json) -> bool {
    match (left, right) {
        (Json::Object(left), Json::Object(right)) => {
            left.iter().any(|(name, value)| right.get(name).is_some_and(|other| equal(value, other)))
        }
        (Json::Array(left), Json::Array(right)) => {
            let right = sorted(right.iter().collect());
            left.iter().any(|value| has(&right, value))
        }
        (Json::Array(elements), other) | (other, Json::Array(elements)) => {
            elements.iter().any(|element| equal(element, other))
        }
        (left, right) => equal(left, right),
    }
}

/// Candidates that are worth sorting what they are searched in.
const SEARCHED_MIN: usize = 8;

fn sorted(mut values: Vec<&Json>) -> Vec<&Json> {
    values.sort_by(|left, right| left.compare(right));
    values
}

fn has(sorted: &[&Json], value: &Json) -> bool {
    sorted.binary_search_by(|other| other.compare(value)).is_ok()
}

fn equal(left: &Json, right: &Json) -> bool {
    left.compare(right).is_eq()
}

/// `JSON_SEARCH()`: paths of the strings at or under `start` that match; only the first with `only_one`.
pub fn search(json: &Json, pattern: &LikePattern, start: &JsonPath, only_one: bool) -> Vec<JsonPath> {
    let mut found = Vec::new();
    let mut places = Places::default();
    places.collect(json, &JsonPath::default(), start.legs());
    let mut seen = HashSet::new();
    for (place, value) in places.found {
        search_in(value, &place, pattern, only_one, &mut seen, &mut found);
        if only_one && !found.is_empty() {
            break;
        }
    }
    found
}

/// The places that steps, also with wildcards, lead to, each with its own path.
#[derive(Default)]
struct Places<'a> {
    found: Vec<(JsonPath, &'a Json)>,
    /// Values that have been looked at with so many steps to go: several ellipses lead to one in many ways.
    seen: HashSet<(*const Json, usize)>,
}

impl<'a> Places<'a> {
    fn collect(&mut self, json: &'a Json, here: &JsonPath, legs: &[PathLeg]) {
        if !self.seen.insert((std::ptr::from_ref(json), legs.len())) {
            return;
        }
        let Some((leg, rest)) = legs.split_first() else {
            self.found.push((here.clone(), json));
            return;
        };
        if *leg == PathLeg::Ellipsis {
            self.collect(json, here, rest);
            for_children(json, here, |child, path| self.collect(child, &path, legs));
            return;
        }
        let length = json.length();
        let autowrapped = !matches!(json, Json::Array(_));
        match leg {
            PathLeg::Cell(index) if autowrapped && index.resolve(1) == Some(0) => self.collect(json, here, rest),
            PathLeg::Range(from, _) if autowrapped && from.resolve(1) == Some(0) => self.collect(json, here, rest),
            _ => for_children(json, here, |child, path| {
                let taken = match (leg, path.legs().last()) {
                    (PathLeg::AnyMember, Some(PathLeg::Member(_))) | (PathLeg::AnyCell, Some(PathLeg::Cell(_))) => true,
                    (PathLeg::Member(name), Some(PathLeg::Member(own))) => name == own,
                    (PathLeg::Cell(index), Some(PathLeg::Cell(ArrayIndex::First(at)))) => {
                        index.resolve(length) == Some(*at)
                    }
                    (PathLeg::Range(from, to), Some(PathLeg::Cell(ArrayIndex::First(at)))) => {
                        from.resolve(length).unwrap_or(0) <= *at && to.resolve(length).is_some_and(|to| *at <= to)
                    }
                    _ => false,
                };
                if taken {
                    self.collect(child, &path, rest);
                }
            }),
        }
    }
}

fn for_children<'a>(json: &'a Json, here: &JsonPath, mut visit: impl FnMut(&'a Json, JsonPath)) {
    match json {
        Json::Array(elements) => {
            for (at, element) in elements.iter().enumerate() {
                visit(element, here.extended(PathLeg::Cell(ArrayIndex::First(at))));
            }
        }
        Json::Object(object) => {
            for (name, value) in object.iter() {
                visit(value, here.extended(PathLeg::Member(name.to_string())));
            }
        }
        _ => {}
    }
}

fn search_in(
    json: &Json,
    here: &JsonPath,
    pattern: &LikePattern,
    only_one: bool,
    seen: &mut HashSet<*const Json>,
    found: &mut Vec<JsonPath>,
) {
    if (only_one && !found.is_empty()) || !seen.insert(std::ptr::from_ref(json)) {
        return;
    }
    match json {
        Json::String(text) if pattern.matches(text) => found.push(here.clone()),
        _ => for_children(json, here, |child, path| search_in(child, &path, pattern, only_one, seen, found)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::CollationId;

    fn json(text: &str) -> Json {
        Json::parse(text).unwrap()
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
            assert_eq!(contains(&json(target), &json(candidate)), expected, "{target} {candidate}");
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
            assert_eq!(overlaps(&json(left), &json(right)), expected, "{left} {right}");
        }
    }

    #[test]
    fn searching() {
        let document = json(r#"["abc", [{"k": "10"}, "def"], {"x y": "abc"}, {"y": "bcd"}]"#);
        let found = |pattern: &str, start: &str, one: bool| -> Vec<String> {
            let pattern = LikePattern::new(CollationId::UTF8MB4_BIN, pattern, Some('\\'));
            let paths = search(&document, &pattern, &JsonPath::parse(start).unwrap(), one);
            paths.iter().map(ToString::to_string).collect()
        };
        assert_eq!(found("abc", "$", true), ["$[0]"]);
        assert_eq!(found("abc", "$", false), ["$[0]", "$[2].\"x y\""]);
        assert_eq!(found("10", "$**.k", false), ["$[1][0].k"]);
        assert_eq!(found("%b%", "$[3]", false), ["$[3].y"]);
        assert_eq!(found("%b%", "$[*].y", false), ["$[3].y"]);
        assert!(found("ABC", "$", false).is_empty());
    }
}
