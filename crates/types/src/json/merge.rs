//! Merges documents in their stored form. It takes the members of two objects in the order of their names, and copies members of one
//! side as text.

use super::print::write_string;
use super::stored::{Member, members};
use super::{DEPTH_MAX, compare_names};
use std::cmp::Ordering;

/// `JSON_MERGE_PRESERVE()` of two documents: arrays are joined, objects merged name by name, anything else becomes an array.
pub fn merge_preserve(left: &str, right: &str) -> String {
    let mut out = String::with_capacity(left.len() + right.len() + 4);
    preserve(left, right, DEPTH_MAX, &mut out);
    out
}

/// Down to this many levels, which only damaged documents have more of.
fn preserve(left: &str, right: &str, levels: usize, out: &mut String) {
    if left.starts_with('{') && right.starts_with('{') && levels > 0 {
        merge_members(left, right, out, &mut |own, new, out| match (own, new) {
            (Some(own), Some(new)) => with_name(&own, out, |out| preserve(own.value, new.value, levels - 1, out)),
            (Some(only), None) | (None, Some(only)) => out.push_str(only.text),
            (None, None) => {}
        });
        return;
    }
    let (left, right) = (elements(left), elements(right));
    out.push('[');
    out.push_str(left);
    if !left.is_empty() && !right.is_empty() {
        out.push_str(", ");
    }
    out.push_str(right);
    out.push(']');
}

/// The text between the brackets of an array; anything else as a whole.
fn elements(document: &str) -> &str {
    document.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')).unwrap_or(document)
}

/// `JSON_MERGE_PATCH()` of two documents, by RFC 7396.
pub fn merge_patch(target: &str, patch: &str) -> String {
    let mut out = String::with_capacity(target.len() + patch.len());
    patched(target, patch, DEPTH_MAX, &mut out);
    out
}

fn patched(target: &str, patch: &str, levels: usize, out: &mut String) {
    if !patch.starts_with('{') || levels == 0 {
        out.push_str(patch);
        return;
    }
    let target = if target.starts_with('{') { target } else { "{}" };
    merge_members(target, patch, out, &mut |own, new, out| match (own, new) {
        (_, Some(new)) if new.value == "null" => {}
        (own, Some(new)) => {
            with_name(&new, out, |out| {
                patched(own.as_ref().map_or("null", |own| own.value), new.value, levels - 1, out)
            });
        }
        (Some(own), None) => out.push_str(own.text),
        (None, None) => {}
    });
}

/// An object of names and values in their stored form; of a name that occurs more than once the last value stays.
pub fn object_of<N: AsRef<str>, V: AsRef<str>>(mut members: Vec<(N, V)>) -> String {
    // The sort is stable: of equal names the last one given is the last one here.
    members.sort_by(|(left, _), (right, _)| compare_names(left.as_ref(), right.as_ref()));
    let mut out = String::from("{");
    for (at, (name, value)) in members.iter().enumerate() {
        if members.get(at + 1).is_some_and(|(next, _)| next.as_ref() == name.as_ref()) {
            continue;
        }
        if out.len() > 1 {
            out.push_str(", ");
        }
        write_string(name.as_ref(), &mut out);
        out.push_str(": ");
        out.push_str(value.as_ref());
    }
    out.push('}');
    out
}

fn with_name(member: &Member<'_>, out: &mut String, value: impl FnOnce(&mut String)) {
    out.push_str(&member.text[..member.text.len() - member.value.len()]);
    value(out);
}

/// How to merge a member of the first object and one of the second, of which one may be missing.
type MergeMembers<'m> = dyn FnMut(Option<Member<'_>>, Option<Member<'_>>, &mut String) + 'm;

/// Calls `merge` for each name of two objects, with the members of that name. Its output becomes members of the new object.
fn merge_members(left: &str, right: &str, out: &mut String, merge: &mut MergeMembers<'_>) {
    let (mut left, mut right) = (members(left).peekable(), members(right).peekable());
    out.push('{');
    let body = out.len();
    loop {
        let order = match (left.peek(), right.peek()) {
            (Some(left), Some(right)) => compare_names(&left.name, &right.name),
            (Some(_), None) => Ordering::Less,
            (None, Some(_)) => Ordering::Greater,
            (None, None) => break,
        };
        let own = if order.is_le() { left.next() } else { None };
        let new = if order.is_ge() { right.next() } else { None };
        let separator = out.len();
        if separator > body {
            out.push_str(", ");
        }
        let start = out.len();
        merge(own, new, out);
        if out.len() == start {
            out.truncate(separator);
        }
    }
    out.push('}');
}

#[cfg(test)]
mod tests {
    use super::super::stored::tests::document;
    use super::super::{Json, edit_model as model};
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn documents_are_merged_as_trees_are(left in document(), right in document()) {
            let (own, new) = (left.to_stored(), right.to_stored());
            let expected = model::merge_preserve(left.clone(), right.clone()).to_stored();
            prop_assert_eq!(merge_preserve(&own, &new), expected, "{} and {}", own, new);
            let expected = model::merge_patch(left, right).to_stored();
            prop_assert_eq!(merge_patch(&own, &new), expected, "{} and {}", own, new);
        }

        #[test]
        fn no_text_is_too_odd(left in "[\\[\\]{}\",:0-9.\\\\a é\u{1}-]{0,30}", right in "[\\[\\]{}\",:0-9.\\\\a é\u{1}-]{0,30}") {
            merge_preserve(&left, &right);
            merge_patch(&left, &right);
        }
    }

    #[test]
    fn patches_of_the_rfc() {
        for (target, patch, expected) in [
            (r#"{"a": "b"}"#, r#"{"a": "c"}"#, r#"{"a": "c"}"#),
            (r#"{"a": "b"}"#, r#"{"b": "c"}"#, r#"{"a": "b", "b": "c"}"#),
            (r#"{"a": "b"}"#, r#"{"a": null}"#, "{}"),
            (r#"{"a": {"b": "c"}}"#, r#"{"a": {"b": "d", "c": null}}"#, r#"{"a": {"b": "d"}}"#),
            ("[1, 2]", r#"{"a": "b", "c": null}"#, r#"{"a": "b"}"#),
            ("{}", r#"{"a": {"bb": {"ccc": null}}}"#, r#"{"a": {"bb": {}}}"#),
        ] {
            assert_eq!(merge_patch(target, patch), expected, "{target} {patch}");
            let json = |text| Json::parse(text).expect("a document");
            assert_eq!(model::merge_patch(json(target), json(patch)), json(expected), "{target} {patch}");
        }
        // Its depth is bounded by the documents', so is the recursion.
        let deep = format!("{}1{}", "{\"a\": ".repeat(100), "}".repeat(100));
        assert_eq!(merge_preserve(&deep, &deep).len(), deep.len() + "[, 1]".len());
        assert_eq!(
            object_of(vec![("bb", "1"), ("a", "2"), ("bb", "3"), ("\"", "[]")]),
            r#"{"\"": [], "a": 2, "bb": 3}"#
        );
    }
}
