//! Properties of a document that its text tells without a tree, and the size of that tree.

use super::walk::{Event, walk, walk_stored};
use super::{Json, JsonError};

/// Shorter texts make trees that are not charged.
const SMALL_BYTES: usize = 16 << 10;

/// Bytes that a tree of a document takes at most, about, by the document's text; 0 for a small one.
///
/// Elements are in vectors, which have grown by doubling; members have a name besides.
pub fn tree_bytes(text: &str) -> usize {
    if text.len() < SMALL_BYTES {
        return 0;
    }
    let (mut nodes, mut names) = (0, 0);
    for byte in text.bytes() {
        nodes += usize::from(matches!(byte, b',' | b'[' | b'{'));
        names += usize::from(byte == b':');
    }
    text.len() + 2 * nodes * size_of::<Json>() + 2 * names * size_of::<String>()
}

/// How many elements or members a document has, and how deep it is, of an array or a scalar.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Outline {
    /// As [`Json::length`]; of an object members of one name count each.
    pub length: usize,
    /// As [`Json::depth`].
    pub depth: usize,
}

impl Outline {
    /// Of a document's text.
    ///
    /// # Errors
    /// If it is none, or too deep.
    pub fn of(text: &str) -> Result<Outline, JsonError> {
        let mut counts = Counts::default();
        walk(text, |event| counts.add(&event))?;
        Ok(counts.outline())
    }

    /// Of a document in its stored form, whose members have a name each.
    ///
    /// # Errors
    /// As [`Outline::of`].
    pub fn of_stored(stored: &str) -> Result<Outline, JsonError> {
        let mut counts = Counts::default();
        walk_stored(stored, |event| counts.add(&event))?;
        Ok(counts.outline())
    }
}

#[derive(Default)]
struct Counts {
    open: usize,
    deepest: usize,
    /// Values in the outermost container.
    inside: usize,
    is_container: bool,
}

impl Counts {
    fn add(&mut self, event: &Event<'_>) {
        match event {
            Event::Name(_) => return,
            Event::EndArray | Event::EndObject => {
                self.open -= 1;
                return;
            }
            _ => {}
        }
        self.inside += usize::from(self.open == 1);
        self.deepest = self.deepest.max(self.open + 1);
        if matches!(event, Event::BeginArray | Event::BeginObject) {
            self.is_container |= self.open == 0;
            self.open += 1;
        }
    }

    fn outline(&self) -> Outline {
        Outline { length: if self.is_container { self.inside } else { 1 }, depth: self.deepest }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn outlines_are_what_trees_say() {
        for text in [
            "1",
            "\"a\"",
            "null",
            "[]",
            "{}",
            "[1]",
            "[1,[2,[]],{\"a\":[3]}]",
            "{\"a\":{\"b\":1},\"c\":2}",
            " [ 1 , 2 ] ",
        ] {
            let tree = Json::parse(text).expect(text);
            let outline = Outline { length: tree.length(), depth: tree.depth() };
            assert_eq!(Outline::of(text), Ok(outline), "{text}");
            assert_eq!(Outline::of_stored(&tree.to_stored()), Ok(outline), "{text}");
        }
        for text in ["", "[1", "[1] 2", "{\"a\"}", "tru", &"[".repeat(101)] {
            assert_eq!(Outline::of(text).err(), Json::parse(text).err(), "{text}");
        }
    }

    #[test]
    fn trees_are_not_larger_than_is_said() {
        fn heap(json: &Json) -> usize {
            match json {
                Json::String(text) => text.capacity(),
                Json::Array(elements) => {
                    elements.capacity() * size_of::<Json>() + elements.iter().map(heap).sum::<usize>()
                }
                Json::Object(object) => {
                    object.iter().map(|(name, value)| name.len() + size_of::<(String, Json)>() + heap(value)).sum()
                }
                _ => 0,
            }
        }
        let lists = [
            format!("[{}1]", "1,".repeat(40_000)),
            format!("[{}1]", "[],".repeat(40_000)),
            format!("[{}1]", "\"abc\",".repeat(20_000)),
            format!("[{}1]", "{\"a\":1},".repeat(20_000)),
        ];
        for list in lists {
            let size = heap(&Json::parse(&list).expect("a document"));
            assert!(size <= tree_bytes(&list), "{size} of {}: {}", tree_bytes(&list), &list[..20]);
        }
        assert_eq!(tree_bytes("[1]"), 0);
    }
}
