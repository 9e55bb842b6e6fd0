//! `LIKE` patterns, and searches in texts by a collation.

use super::CollationId;
use super::ascii_search::AsciiSearch;
use super::definition::Collation;
use super::equality::CharacterEquality;

/// A part of a pattern.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Part {
    /// This character.
    Literal(char),
    /// `_`.
    One,
    /// `%`.
    Any,
}

/// A `LIKE` pattern, read once.
#[derive(Clone, Debug)]
pub struct LikePattern {
    collation: &'static Collation,
    parts: Vec<Part>,
    shape: Shape,
    /// What stands between two `%`, in turn, as it is searched for in ASCII texts.
    searches: Vec<Option<AsciiSearch>>,
}

/// Patterns that need no matching character by character when characters are equal only to themselves.
#[derive(Clone, Debug)]
enum Shape {
    /// No wildcard.
    Whole(String),
    /// `abc%`.
    Prefix(String),
    /// `%abc`.
    Suffix(String),
    /// `%abc%`.
    Inside(String),
    /// Anything else.
    Mixed,
}

impl LikePattern {
    /// Reads a pattern; `escape` makes the character after it a literal one (`None` when there is no escape character).
    pub fn new(collation: CollationId, pattern: &str, escape: Option<char>) -> LikePattern {
        let mut parts = Vec::with_capacity(pattern.len());
        let mut characters = pattern.chars();
        while let Some(character) = characters.next() {
            parts.push(if Some(character) == escape {
                // An escape character at the end stands for itself.
                Part::Literal(characters.next().unwrap_or(character))
            } else if character == '%' {
                if parts.last() == Some(&Part::Any) {
                    continue;
                }
                Part::Any
            } else if character == '_' {
                Part::One
            } else {
                Part::Literal(character)
            });
        }
        let (shape, collation) = (Shape::of(&parts), collation.info());
        let between = parts.split(|part| *part == Part::Any).skip(1);
        let mut searches: Vec<_> = between.map(|parts| ascii_search(parts, collation)).collect();
        // What is behind the last has its place.
        searches.pop();
        LikePattern { collation, parts, shape, searches }
    }

    /// Whether the text matches.
    pub fn matches(&self, text: &str) -> bool {
        self.matches_unless(text, &never).unwrap_or(false)
    }

    /// The same; `None` if it was stopped: of long texts and patterns `stopped` is asked now and then.
    pub fn matches_unless(&self, text: &str, stopped: &dyn Fn() -> bool) -> Option<bool> {
        let equality = CharacterEquality::of(self.collation);
        if let CharacterEquality::Same = equality {
            match &self.shape {
                Shape::Whole(literal) => return Some(text == literal),
                Shape::Prefix(literal) => return Some(text.starts_with(literal.as_str())),
                Shape::Suffix(literal) => return Some(text.ends_with(literal.as_str())),
                Shape::Inside(literal) => {
                    return Some(memchr::memmem::find(text.as_bytes(), literal.as_bytes()).is_some());
                }
                Shape::Mixed => {}
            }
        }
        let searches = if text.is_ascii() { self.searches.as_slice() } else { &[] };
        matches_parts(text, &self.parts, searches, &equality, &mut Steps::new(stopped))
    }

    /// Whether a byte string matches; literals of the pattern are its UTF-8 bytes and `_` is one byte.
    pub fn matches_bytes(pattern: &[u8], escape: Option<u8>, text: &[u8]) -> bool {
        Self::matches_bytes_unless(pattern, escape, text, &never).unwrap_or(false)
    }

    /// The same; `None` if it was stopped.
    pub fn matches_bytes_unless(
        pattern: &[u8],
        escape: Option<u8>,
        text: &[u8],
        stopped: &dyn Fn() -> bool,
    ) -> Option<bool> {
        matches_byte_pattern(text, pattern, escape, &mut Steps::new(stopped))
    }

    /// The literal characters before the first wildcard.
    pub fn literal_prefix(&self) -> String {
        self.parts.iter().map_while(|part| if let Part::Literal(c) = part { Some(*c) } else { None }).collect()
    }

    /// Whether the pattern has no wildcard.
    pub fn is_literal(&self) -> bool {
        matches!(self.shape, Shape::Whole(_))
    }

    /// A range of sort keys (from, inclusive; to, exclusive, if there is an end) outside which no text matches.
    /// `None` if the pattern or the collation gives none.
    pub fn key_range(&self) -> Option<(Vec<u8>, Option<Vec<u8>>)> {
        let prefix = self.literal_prefix();
        let mut from = Vec::new();
        if !self.collation.key_of_beginning(&prefix, &mut from) || from.is_empty() {
            return None;
        }
        let mut to = from.clone();
        while to.last() == Some(&0xFF) {
            to.pop();
        }
        match to.last_mut() {
            Some(last) => *last += 1,
            None => return Some((from, None)),
        }
        Some((from, Some(to)))
    }
}

impl Shape {
    fn of(parts: &[Part]) -> Shape {
        let literal = |parts: &[Part]| -> Option<String> {
            parts.iter().map(|part| if let Part::Literal(c) = part { Some(*c) } else { None }).collect()
        };
        match parts {
            [Part::Any, middle @ .., Part::Any] => literal(middle).map_or(Shape::Mixed, Shape::Inside),
            [Part::Any, end @ ..] => literal(end).map_or(Shape::Mixed, Shape::Suffix),
            [start @ .., Part::Any] => literal(start).map_or(Shape::Mixed, Shape::Prefix),
            all => literal(all).map_or(Shape::Mixed, Shape::Whole),
        }
    }
}

/// Whether `text` matches `pattern` by the collation.
pub fn like_match(collation: CollationId, text: &str, pattern: &str, escape: Option<char>) -> bool {
    LikePattern::new(collation, pattern, escape).matches(text)
}

/// Byte offset of the first occurrence of `needle` in `text` at or after `from` (`LOCATE`, `INSTR`).
pub fn find(collation: CollationId, text: &str, needle: &str, from: usize) -> Option<usize> {
    find_unless(collation, text, needle, from, &never).flatten()
}

/// The same; `None` if it was stopped: in long texts `stopped` is asked now and then. The time is that of reading both.
pub fn find_unless(
    collation: CollationId,
    text: &str,
    needle: &str,
    from: usize,
    stopped: &dyn Fn() -> bool,
) -> Option<Option<usize>> {
    let Some(rest) = text.get(from..) else { return Some(None) };
    let equality = CharacterEquality::of(collation.info());
    if let CharacterEquality::Same = equality {
        return Some(memchr::memmem::find(rest.as_bytes(), needle.as_bytes()).map(|at| from + at));
    }
    let needle: Vec<Part> = needle.chars().map(Part::Literal).collect();
    if rest.is_ascii()
        && let Some(search) = ascii_search(&needle, collation.info())
    {
        let mut steps = Steps::new(stopped);
        let found = search.find_while(rest.as_bytes(), 0, &mut || steps.take())?;
        return Some(found.map(|start| from + start));
    }
    let found = find_parts(rest, &needle, &equality, &mut Steps::new(stopped))?;
    Some(found.map(|(start, _)| from + start))
}

fn never() -> bool {
    false
}

/// Steps between two questions whether to go on.
const STEPS_UNASKED: u32 = 1 << 16;

/// Counts the steps of a search.
struct Steps<'a> {
    left: u32,
    stopped: &'a dyn Fn() -> bool,
}

impl<'a> Steps<'a> {
    fn new(stopped: &'a dyn Fn() -> bool) -> Self {
        Self { left: STEPS_UNASKED, stopped }
    }

    /// Takes one; `None` if there is to be no other.
    fn take(&mut self) -> Option<()> {
        self.left -= 1;
        if self.left == 0 {
            self.left = STEPS_UNASKED;
            return (!(self.stopped)()).then_some(());
        }
        Some(())
    }
}

impl Part {
    fn matches(self, character: char, equality: &CharacterEquality) -> bool {
        match self {
            Part::Literal(literal) => equality.holds(character, literal),
            Part::One => true,
            Part::Any => false,
        }
    }
}

/// How many parts in a row are looked for at every place of a text. Of more it is first found out where they may begin again.
const PARTS_FEW: usize = 32;

/// The search for parts without `%` in ASCII texts, if there is one.
fn ascii_search(parts: &[Part], collation: &'static Collation) -> Option<AsciiSearch> {
    let character = |part: &Part| if let Part::Literal(literal) = part { Some(*literal) } else { None };
    // Of more it has to be known where they may begin again.
    (parts.len() <= PARTS_FEW).then(|| AsciiSearch::of_parts(parts.iter().map(character), collation)).flatten()
}

/// Matching goes from one `%` to the next. The part between two is taken at its first match; the parts before the first and after
/// the last have fixed positions. `searches` are those for what stands between, if the text is ASCII.
fn matches_parts(
    text: &str,
    parts: &[Part],
    searches: &[Option<AsciiSearch>],
    equality: &CharacterEquality,
    steps: &mut Steps<'_>,
) -> Option<bool> {
    let mut between = parts.split(|part| *part == Part::Any);
    let first = between.next().unwrap_or_default();
    let Some(mut rest) = after_parts(text, first, equality, steps)? else { return Some(false) };
    let Some(last) = between.next_back() else { return Some(rest.is_empty()) };
    for (at, parts) in between.enumerate() {
        let end = match searches.get(at) {
            Some(Some(search)) => {
                let start = search.find_while(rest.as_bytes(), 0, &mut || steps.take())?;
                start.map(|start| start + search.length())
            }
            _ => find_parts(rest, parts, equality, steps)?.map(|(_, end)| end),
        };
        let Some(end) = end else { return Some(false) };
        rest = &rest[end..];
    }
    let Some(count) = last.len().checked_sub(1) else { return Some(true) };
    let Some((start, _)) = rest.char_indices().rev().nth(count) else { return Some(false) };
    Some(after_parts(&rest[start..], last, equality, steps)?.is_some())
}

/// What stands behind parts that a text begins with.
fn after_parts<'t>(
    text: &'t str,
    parts: &[Part],
    equality: &CharacterEquality,
    steps: &mut Steps<'_>,
) -> Option<Option<&'t str>> {
    let mut characters = text.chars();
    for part in parts {
        steps.take()?;
        if !characters.next().is_some_and(|character| part.matches(character, equality)) {
            return Some(None);
        }
    }
    Some(Some(characters.as_str()))
}

/// Where parts without `%` stand first in a text: from and to which byte.
fn find_parts(
    text: &str,
    parts: &[Part],
    equality: &CharacterEquality,
    steps: &mut Steps<'_>,
) -> Option<Option<(usize, usize)>> {
    if parts.len() > PARTS_FEW && !parts.contains(&Part::One) {
        return find_many(text, parts, equality, steps);
    }
    let Some((first, others)) = parts.split_first() else { return Some(Some((0, 0))) };
    for (start, character) in text.char_indices() {
        steps.take()?;
        if first.matches(character, equality)
            && let Some(behind) = after_parts(&text[start + character.len_utf8()..], others, equality, steps)?
        {
            return Some(Some((start, text.len() - behind.len())));
        }
    }
    Some(None)
}

/// The same of many literals, in the time of reading both (Knuth, Morris, Pratt 1977): which characters are equal is an equivalence.
fn find_many(
    text: &str,
    parts: &[Part],
    equality: &CharacterEquality,
    steps: &mut Steps<'_>,
) -> Option<Option<(usize, usize)>> {
    let same = |left: Part, right: Part| match (left, right) {
        (Part::Literal(left), right) => right.matches(left, equality),
        _ => false,
    };
    // For each part, how many of the first ones the parts up to it end with.
    let mut borders: Vec<u32> = Vec::with_capacity(parts.len());
    borders.push(0);
    let mut length = 0;
    for part in &parts[1..] {
        steps.take()?;
        while length > 0 && !same(*part, parts[length]) {
            length = borders[length - 1] as usize;
        }
        length += usize::from(same(*part, parts[length]));
        borders.push(length as u32);
    }
    let mut length = 0;
    for (at, character) in text.char_indices() {
        steps.take()?;
        while length > 0 && !parts[length].matches(character, equality) {
            length = borders[length - 1] as usize;
        }
        length += usize::from(parts[length].matches(character, equality));
        if length == parts.len() {
            let end = at + character.len_utf8();
            let start = text[..end].char_indices().rev().nth(length - 1).map_or(0, |(start, _)| start);
            return Some(Some((start, end)));
        }
    }
    Some(None)
}

fn matches_byte_pattern(text: &[u8], pattern: &[u8], escape: Option<u8>, steps: &mut Steps<'_>) -> Option<bool> {
    let (mut at, mut in_text) = (0, 0);
    let mut retry: Option<(usize, usize)> = None;
    loop {
        steps.take()?;
        let matched = match pattern.get(at) {
            Some(&byte) if Some(byte) != escape && byte == b'%' => {
                at += 1;
                retry = Some((at, in_text));
                continue;
            }
            Some(&byte) => {
                let escaped = Some(byte) == escape && at + 1 < pattern.len();
                let literal = if escaped { pattern[at + 1] } else { byte };
                let one = !escaped && Some(byte) != escape && byte == b'_';
                let matched = text.get(in_text).is_some_and(|found| one || *found == literal);
                if matched {
                    at += if escaped { 2 } else { 1 };
                }
                matched
            }
            None if in_text == text.len() => return Some(true),
            None => false,
        };
        if matched {
            in_text += 1;
            continue;
        }
        match &mut retry {
            Some((part, from)) if *from < text.len() => {
                *from += 1;
                (at, in_text) = (*part, *from);
            }
            _ => return Some(false),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn id(name: &str) -> CollationId {
        CollationId::from_name(name).unwrap()
    }

    #[test]
    fn agrees_with_mysql() {
        let ci = CollationId::UTF8MB4_0900_AI_CI;
        for (text, pattern, expected) in [
            ("David!", "David_", true),
            ("David!", "%D%v%", true),
            ("David_", "David\\_", true),
            ("David!", "David\\_", false),
            ("abc", "ABC", true),
            ("äbc", "ABC", true),
            ("abc ", "abc", false),
            ("", "%", true),
            ("", "_", false),
            ("aaab", "%aab", true),
            ("mississippi", "m%iss%pi", true),
            ("mississippi", "m%iss%pz", false),
            ("50%", "50\\%", true),
            ("a\\", "a\\", true),
            ("日本語", "日_語", true),
        ] {
            assert_eq!(like_match(ci, text, pattern, Some('\\')), expected, "{text} {pattern}");
        }
        assert!(!like_match(CollationId::UTF8MB4_BIN, "abc", "ABC", Some('\\')));
        assert!(like_match(CollationId::UTF8MB4_BIN, "xabcx", "%abc%", Some('\\')));
        assert!(like_match(id("latin1_swedish_ci"), "É", "e", Some('\\')));
        assert!(like_match(ci, "a|%", "a||%", Some('|')));
        assert!(like_match(ci, "a\\b", "a\\b", None));
        assert!(LikePattern::matches_bytes(b"a\xFF%_", Some(b'\\'), b"a\xFFbcd"));
        assert!(!LikePattern::matches_bytes(b"A%", Some(b'\\'), b"abc"));
    }

    #[test]
    fn finding() {
        let ci = CollationId::UTF8MB4_0900_AI_CI;
        assert_eq!(find(ci, "foobarbar", "BAR", 0), Some(3));
        assert_eq!(find(ci, "foobarbar", "BAR", 4), Some(6));
        assert_eq!(find(CollationId::UTF8MB4_BIN, "foobar", "BAR", 0), None);
        assert_eq!(find(ci, "éa", "A", 0), Some(2));
        assert_eq!(find(ci, "abc", "", 3), Some(3));
        assert_eq!(find(ci, "abc", "", 4), None);
        assert_eq!(find(ci, "é", "e", 1), None);
    }

    /// Whether a text matches a LIKE pattern, by its definition.
    fn matches_slowly(text: &[char], parts: &[Part]) -> bool {
        match parts.split_first() {
            None => text.is_empty(),
            Some((Part::Any, rest)) => (0..=text.len()).any(|at| matches_slowly(&text[at..], rest)),
            Some((part, rest)) => text.split_first().is_some_and(|(first, behind)| {
                part.matches(*first, &CharacterEquality::Same) && matches_slowly(behind, rest)
            }),
        }
    }

    #[test]
    fn long_searches_are_short_and_can_be_stopped() {
        let ci = CollationId::UTF8MB4_0900_AI_CI;
        let (text, needle) = ("a".repeat(3_000_000), "A".repeat(1_000_000) + "b");
        assert_eq!(find(ci, &text, &needle, 0), None);
        assert_eq!(find(ci, &(text.clone() + "B"), &needle, 0), Some(2_000_000));
        assert!(!LikePattern::new(ci, &format!("%{needle}%x"), Some('\\')).matches(&text));
        assert!(LikePattern::new(ci, &format!("%{needle}%x"), Some('\\')).matches(&(text.clone() + "bxx")));
        assert_eq!(find_unless(ci, &text, &needle, 0, &|| true), None);
        let wild = format!("%{}_b%", "a".repeat(500_000));
        assert_eq!(LikePattern::new(ci, &wild, Some('\\')).matches_unless(&text, &|| true), None);
        assert_eq!(LikePattern::matches_bytes_unless(wild.as_bytes(), None, text.as_bytes(), &|| true), None);
    }

    proptest! {
        #[test]
        fn many_parts_are_found_where_few_are(text in "[abA]{0,40}", needle in "[abA]{1,6}") {
            let parts: Vec<Part> = needle.chars().map(Part::Literal).collect();
            for name in ["utf8mb4_0900_ai_ci", "utf8mb4_bin", "latin1_swedish_ci"] {
                let equality = CharacterEquality::of(id(name).info());
                let few = find_parts(&text, &parts, &equality, &mut Steps::new(&never));
                let many = find_many(&text, &parts, &equality, &mut Steps::new(&never));
                prop_assert_eq!(few, many, "{} in {} by {}", needle, text, name);
            }
        }

        #[test]
        fn searches_match_as_parts_do(text in "[abAB _]{0,12}", pattern in "%?[abAB _%]{0,6}%?", needle in "[abAB ]{0,3}") {
            for name in ["utf8mb4_0900_ai_ci", "utf8mb4_general_ci", "latin1_swedish_ci", "latin1_bin", "utf8mb4_0900_as_cs"] {
                let (pattern, equality) = (LikePattern::new(id(name), &pattern, Some('\\')), CharacterEquality::of(id(name).info()));
                let by_parts = matches_parts(&text, &pattern.parts, &[], &equality, &mut Steps::new(&never));
                prop_assert_eq!(Some(pattern.matches(&text)), by_parts, "{:?} by {}", pattern, name);
                let parts: Vec<Part> = needle.chars().map(Part::Literal).collect();
                let found = find_parts(&text, &parts, &equality, &mut Steps::new(&never)).unwrap();
                prop_assert_eq!(find(id(name), &text, &needle, 0), found.map(|(start, _)| start), "{} by {}", needle, name);
            }
        }

        #[test]
        fn shapes_match_as_parts_do(text in "[abé]{0,6}", pattern in "[abé%_]{0,6}") {
            let read = LikePattern::new(CollationId::UTF8MB4_BIN, &pattern, Some('\\'));
            let slow = matches_slowly(&text.chars().collect::<Vec<_>>(), &read.parts);
            let by_parts = matches_parts(&text, &read.parts, &[], &CharacterEquality::Same, &mut Steps::new(&never));
            prop_assert_eq!(by_parts, Some(slow));
            prop_assert_eq!(read.matches(&text), slow);
            let ascii = |text: &str| text.replace('é', "c");
            let bytes = LikePattern::matches_bytes(ascii(&pattern).as_bytes(), Some(b'\\'), ascii(&text).as_bytes());
            prop_assert_eq!(bytes, slow);
        }

        #[test]
        fn matches_lie_in_the_key_range(text in "[abAB é]{0,6}", pattern in "[abAB é%_]{0,6}") {
            for name in ["utf8mb4_0900_ai_ci", "utf8mb4_bin", "utf8mb4_general_ci", "utf8mb4_0900_bin"] {
                let pattern = LikePattern::new(id(name), &pattern, Some('\\'));
                if let Some((from, to)) = pattern.key_range().filter(|_| pattern.matches(&text)) {
                    let mut key = Vec::new();
                    crate::collation::sort_key(id(name), &text, &mut key);
                    prop_assert!(key >= from && to.is_none_or(|to| key < to), "{}", name);
                }
            }
        }
    }
}
