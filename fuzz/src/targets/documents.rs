//! Any text as a JSON document, as a path and as what is stored: what is read prints as text that is read as the same.

use crate::input::Input;
use squall_types::json::path::{JsonPath, extract};
use squall_types::json::{DEPTH_MAX, Json, Outline, lines, stored};

pub fn run(input: &[u8]) {
    let mut input = Input::new(input);
    let path = String::from_utf8_lossy(input.bytes());
    let text = String::from_utf8_lossy(input.rest());
    let path = JsonPath::parse(&path).ok();
    // What lies in a table may have been damaged.
    if let Some(path) = &path {
        let _ = stored::part_at(&text, path).map(Json::parse_stored);
    }
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
        let found = extract(&json, std::slice::from_ref(path));
        if !path.has_wildcard() {
            assert_eq!(path.find(&json).cloned(), found);
            let part = stored::part_at(&kept, path).map(|part| Json::parse_stored(part).expect("a document"));
            assert_eq!(part, found, "{kept}");
        }
    }
}
