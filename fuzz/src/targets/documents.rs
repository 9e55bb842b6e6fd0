//! Any text as a JSON document, a path and a stored document: a parsed text prints as a text that parses to the same value.

use crate::input::Input;
use squall_types::json::path::JsonPath;
use squall_types::json::{self, DEPTH_MAX, EditMode, Json, Outline, edit, lines, stored};

pub fn run(input: &[u8]) {
    let mut input = Input::new(input);
    let path = String::from_utf8_lossy(input.bytes());
    let text = String::from_utf8_lossy(input.rest());
    let path = JsonPath::parse(&path).ok();
    // What lies in a table may have been damaged.
    if let Some(path) = &path {
        let _ = stored::part_at(&text, path).map(Json::parse_stored);
        let _ = values_at(&text, path);
        let _ = edit::set(&text, path, "1", EditMode::Set);
        let _ = edit::remove(&text, path);
        let _ = edit::array_append(&text, path, "1");
        let _ = edit::array_insert(&text, path, "1");
    }
    json::contains(&text, &text);
    json::overlaps(&text, &text[..text.floor_char_boundary(text.len() / 2)]);
    json::compare_stored(&text, "[[[[1]]]]");
    json::merge_preserve(&text, &text);
    json::merge_patch(&text, &text);
    json::sort_key(&text, &mut Vec::new());
    let _ = json::storage_size(&text);
    let _ = Json::parse_stored(&text);
    let _ = lines::scalars_stored(&text, |_, _| {});
    let (json, outline) = (Json::parse(&text), Outline::of(&text));
    assert_eq!(json.as_ref().err(), outline.as_ref().err(), "{text}");
    let (Ok(json), Ok(outline)) = (json, outline) else { return };
    assert!(json.nesting() <= DEPTH_MAX);
    let printed = json.to_text();
    assert_eq!(Json::parse(&printed).as_ref(), Ok(&json), "{printed}");
    let pretty = squall_types::json::pretty(&json.to_text());
    assert_eq!(Json::parse(&pretty).as_ref(), Ok(&json), "{pretty}");
    let kept = json.to_stored();
    assert_eq!(Json::parse_stored(&kept).as_ref(), Ok(&json), "{kept}");
    // Members of one name are one in what is stored.
    assert!(outline.length >= json.length() && outline.depth >= json.depth());
    assert_eq!(Outline::of_stored(&kept), Ok(Outline { length: json.length(), depth: json.depth() }), "{kept}");
    if let Some(path) = &path {
        let expected: Vec<String> = path.find_all(&json).into_iter().map(Json::to_stored).collect();
        assert_eq!(values_at(&kept, path), expected, "{path} in {kept}");
        if !path.has_wildcard() {
            assert_eq!(stored::part_at(&kept, path), expected.first().map(String::as_str), "{kept}");
        }
    }
}

fn values_at<'a>(stored: &'a str, path: &JsonPath) -> Vec<&'a str> {
    let mut found = Vec::new();
    let walked: Result<(), ()> = stored::for_each_at(stored, path, &mut |value| {
        found.push(value);
        Ok(())
    });
    assert!(walked.is_ok());
    found
}
