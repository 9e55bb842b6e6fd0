//! Changes of documents as trees: tests compare [`super::edit`] and [`super::merge`] with them.

use super::path::{ArrayIndex, PathLeg};
use super::{EditMode, Json, JsonPath, Object};

impl Object {
    /// The value of a name, to change it.
    fn get_mut(&mut self, name: &str) -> Option<&mut Json> {
        self.position(name).ok().map(|at| &mut self.members[at].1)
    }

    /// Sets the value of a name.
    fn insert(&mut self, name: String, value: Json) {
        match self.position(&name) {
            Ok(at) => self.members[at].1 = value,
            Err(at) => self.members.insert(at, (name, value)),
        }
    }

    /// Removes a name.
    fn remove(&mut self, name: &str) -> Option<Json> {
        self.position(name).ok().map(|at| self.members.remove(at).1)
    }

    fn into_members(self) -> impl Iterator<Item = (String, Json)> {
        self.members.into_iter()
    }
}

/// Sets the value at a path without wildcards; a path that leads nowhere changes nothing.
pub fn set(json: &mut Json, path: &JsonPath, value: Json, mode: EditMode) {
    if let Some(place) = find_mut(json, path.legs()) {
        if mode != EditMode::Insert {
            *place = value;
        }
        return;
    }
    let (Some((last, before)), true) = (path.legs().split_last(), mode != EditMode::Replace) else { return };
    let Some(parent) = find_mut(json, before) else { return };
    match (last, parent) {
        (PathLeg::Member(name), Json::Object(object)) => object.insert(name.clone(), value),
        (PathLeg::Cell(index), Json::Array(elements)) => match index {
            ArrayIndex::First(_) => elements.push(value),
            // A place before the start is the start.
            ArrayIndex::Last(_) => elements.insert(0, value),
        },
        (PathLeg::Cell(index), scalar) => {
            let own = std::mem::replace(scalar, Json::Null);
            *scalar = Json::Array(match index {
                ArrayIndex::First(_) => vec![own, value],
                ArrayIndex::Last(_) => vec![value, own],
            });
        }
        _ => {}
    }
}

/// Removes the value at a path without wildcards; tells whether there was one. The root cannot be removed.
pub fn remove(json: &mut Json, path: &JsonPath) -> bool {
    let Some((last, before)) = path.legs().split_last() else { return false };
    match (last, find_mut(json, before)) {
        (PathLeg::Member(name), Some(Json::Object(object))) => object.remove(name).is_some(),
        (PathLeg::Cell(index), Some(Json::Array(elements))) => match index.resolve(elements.len()) {
            Some(at) if at < elements.len() => {
                elements.remove(at);
                true
            }
            _ => false,
        },
        _ => false,
    }
}

/// `JSON_ARRAY_APPEND()`: appends to the array at a path; anything else there becomes an array first.
pub fn array_append(json: &mut Json, path: &JsonPath, value: Json) {
    match find_mut(json, path.legs()) {
        Some(Json::Array(elements)) => elements.push(value),
        Some(other) => {
            let own = std::mem::replace(other, Json::Null);
            *other = Json::Array(vec![own, value]);
        }
        None => {}
    }
}

/// `JSON_ARRAY_INSERT()`: inserts before the cell that the path ends with. `false` if it does not end with a cell.
pub fn array_insert(json: &mut Json, path: &JsonPath, value: Json) -> bool {
    let Some((PathLeg::Cell(index), before)) = path.legs().split_last() else { return false };
    if let Some(Json::Array(elements)) = find_mut(json, before) {
        let at = index.resolve(elements.len()).unwrap_or(0).min(elements.len());
        elements.insert(at, value);
    }
    true
}

/// The value at steps without wildcards.
fn find_mut<'a>(json: &'a mut Json, legs: &[PathLeg]) -> Option<&'a mut Json> {
    let mut place = json;
    for leg in legs {
        place = match (leg, place) {
            (PathLeg::Member(name), Json::Object(object)) => object.get_mut(name)?,
            (PathLeg::Cell(index), Json::Array(elements)) => {
                let at = index.resolve(elements.len())?;
                elements.get_mut(at)?
            }
            (PathLeg::Cell(index), other) if !matches!(other, Json::Array(_)) && index.resolve(1) == Some(0) => other,
            _ => return None,
        };
    }
    Some(place)
}

/// `JSON_MERGE_PRESERVE()` of two documents: arrays are joined, objects merged name by name, anything else becomes an
/// array.
pub fn merge_preserve(left: Json, right: Json) -> Json {
    match (left, right) {
        (Json::Object(left), Json::Object(right)) => {
            let mut merged = left;
            for (name, value) in right.into_members() {
                let value = match merged.remove(&name) {
                    Some(own) => merge_preserve(own, value),
                    None => value,
                };
                merged.insert(name, value);
            }
            Json::Object(merged)
        }
        (left, right) => {
            let mut elements = into_elements(left);
            elements.extend(into_elements(right));
            Json::Array(elements)
        }
    }
}

fn into_elements(json: Json) -> Vec<Json> {
    match json {
        Json::Array(elements) => elements,
        other => vec![other],
    }
}

/// `JSON_MERGE_PATCH()` of two documents, by RFC 7396.
pub fn merge_patch(target: Json, patch: Json) -> Json {
    let Json::Object(patch) = patch else { return patch };
    let mut merged = match target {
        Json::Object(object) => object,
        _ => Object::default(),
    };
    for (name, value) in patch.into_members() {
        if value == Json::Null {
            merged.remove(&name);
            continue;
        }
        let own = merged.remove(&name).unwrap_or(Json::Null);
        merged.insert(name, merge_patch(own, value));
    }
    Json::Object(merged)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn json(text: &str) -> Json {
        Json::parse(text).unwrap()
    }

    fn path(text: &str) -> JsonPath {
        JsonPath::parse(text).unwrap()
    }

    fn edited(document: &str, at: &str, value: &str, mode: EditMode) -> String {
        let mut document = json(document);
        set(&mut document, &path(at), json(value), mode);
        document.to_text()
    }

    #[test]
    fn setting_agrees_with_mysql() {
        let doc = r#"{"a": 1, "b": [2, 3]}"#;
        for (at, mode, expected) in [
            ("$.a", EditMode::Set, r#"{"a": 9, "b": [2, 3]}"#),
            ("$.c", EditMode::Set, r#"{"a": 1, "b": [2, 3], "c": 9}"#),
            ("$.a", EditMode::Insert, doc),
            ("$.c", EditMode::Replace, doc),
            ("$.b[1]", EditMode::Replace, r#"{"a": 1, "b": [2, 9]}"#),
            ("$.b[7]", EditMode::Set, r#"{"a": 1, "b": [2, 3, 9]}"#),
            ("$.b[last-7]", EditMode::Set, r#"{"a": 1, "b": [9, 2, 3]}"#),
            ("$.a[0]", EditMode::Set, r#"{"a": 9, "b": [2, 3]}"#),
            ("$.a[3]", EditMode::Set, r#"{"a": [1, 9], "b": [2, 3]}"#),
            ("$.x.y", EditMode::Set, doc),
            ("$", EditMode::Set, "9"),
        ] {
            assert_eq!(edited(doc, at, "9", mode), expected, "{at} {mode:?}");
        }
    }

    #[test]
    fn removing_and_appending() {
        let mut document = json(r#"["a", ["b", "c"], "d"]"#);
        assert!(
            remove(&mut document, &path("$[1]"))
                && !remove(&mut document, &path("$[7]"))
                && !remove(&mut document, &path("$"))
        );
        assert_eq!(document.to_text(), r#"["a", "d"]"#);
        array_append(&mut document, &path("$[0]"), json("1"));
        assert_eq!(document.to_text(), r#"[["a", 1], "d"]"#);
        assert!(
            array_insert(&mut document, &path("$[1]"), json("2"))
                && array_insert(&mut document, &path("$[100]"), json("3"))
        );
        assert_eq!(document.to_text(), r#"[["a", 1], 2, "d", 3]"#);
        assert!(!array_insert(&mut document, &path("$.a"), json("2")));
    }

    #[test]
    fn merging_agrees_with_mysql() {
        let preserve = |a, b| merge_preserve(json(a), json(b)).to_text();
        assert_eq!(preserve("[1, 2]", "true"), "[1, 2, true]");
        assert_eq!(preserve(r#"{"a": 1, "b": 2}"#, r#"{"a": 3, "c": 4}"#), r#"{"a": [1, 3], "b": 2, "c": 4}"#);
        assert_eq!(preserve("1", r#"{"a": 1}"#), r#"[1, {"a": 1}]"#);
        let patch = |a, b| merge_patch(json(a), json(b)).to_text();
        assert_eq!(
            patch(r#"{"a": {"x": 1}, "b": 2}"#, r#"{"a": {"y": 2, "x": null}, "b": null}"#),
            r#"{"a": {"y": 2}}"#
        );
        assert_eq!(patch("[1, 2]", "[3]"), "[3]");
        assert_eq!(patch("[1]", r#"{"a": {"b": null}}"#), r#"{"a": {}}"#);
    }
}
