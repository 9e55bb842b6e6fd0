//! `LIKE` patterns and searching in text by a collation.

use super::icu::UnicodeCollator;
use super::registry::Rule;
use super::{Collation, CollationId};

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
        let shape = Shape::of(&parts);
        LikePattern { collation: collation.info(), parts, shape }
    }

    /// Whether the text matches.
    pub fn matches(&self, text: &str) -> bool {
        let equality = CharacterEquality::of(self.collation);
        if let CharacterEquality::Same = equality {
            match &self.shape {
                Shape::Whole(literal) => return text == literal,
                Shape::Prefix(literal) => return text.starts_with(literal.as_str()),
                Shape::Suffix(literal) => return text.ends_with(literal.as_str()),
                Shape::Inside(literal) => {
                    return memchr::memmem::find(text.as_bytes(), literal.as_bytes()).is_some();
                }
                Shape::Mixed => {}
            }
        }
        matches_parts(text, &self.parts, |text, literal| equality.holds(text, literal))
    }

    /// Whether a byte string matches; literals of the pattern are its UTF-8 bytes and `_` is one byte.
    pub fn matches_bytes(pattern: &[u8], escape: Option<u8>, text: &[u8]) -> bool {
        matches_byte_pattern(text, pattern, escape)
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

/// Byte offset of the first place at or after `from` where `needle` stands in `text` (`LOCATE`, `INSTR`).
pub fn find(collation: CollationId, text: &str, needle: &str, from: usize) -> Option<usize> {
    let rest = text.get(from..)?;
    let equality = CharacterEquality::of(collation.info());
    if let CharacterEquality::Same = equality {
        return memchr::memmem::find(rest.as_bytes(), needle.as_bytes()).map(|at| from + at);
    }
    let starts = rest.char_indices().map(|(at, _)| at).chain(std::iter::once(rest.len()));
    for at in starts {
        let mut here = rest[at..].chars();
        if needle.chars().all(|wanted| here.next().is_some_and(|found| equality.holds(found, wanted))) {
            return Some(from + at);
        }
    }
    None
}

/// When two characters are equal.
#[derive(Clone, Copy)]
enum CharacterEquality {
    /// Only to themselves.
    Same,
    /// When their weights are.
    Weights(&'static Collation),
    /// By the Unicode algorithm.
    Unicode(&'static UnicodeCollator),
}

impl CharacterEquality {
    fn of(collation: &'static Collation) -> CharacterEquality {
        match (&collation.rule, collation.unicode_collator()) {
            (Rule::Binary, _) => CharacterEquality::Same,
            (_, Some(collator)) => CharacterEquality::Unicode(collator),
            _ => CharacterEquality::Weights(collation),
        }
    }

    fn holds(self, left: char, right: char) -> bool {
        if left == right {
            return true;
        }
        match self {
            CharacterEquality::Same => false,
            CharacterEquality::Weights(collation) => collation.weights_of(left) == collation.weights_of(right),
            CharacterEquality::Unicode(collator) => {
                if left.is_ascii()
                    && right.is_ascii()
                    && let Some(weight) = collator.ascii_weight(left as u8)
                {
                    return Some(weight) == collator.ascii_weight(right as u8);
                }
                let (mut left_bytes, mut right_bytes) = ([0; 4], [0; 4]);
                let order = collator.compare(left.encode_utf8(&mut left_bytes), right.encode_utf8(&mut right_bytes));
                order.is_eq()
            }
        }
    }
}

/// Matching that goes back only to the last `%`: time is at most the product of the lengths, space none.
fn matches_parts(text: &str, parts: &[Part], equal: impl Fn(char, char) -> bool) -> bool {
    let mut rest = text.chars();
    let mut at = 0;
    // Where to go on when a literal fails: the part after the last `%` and the text it was last tried at.
    let mut retry: Option<(usize, std::str::Chars<'_>)> = None;
    loop {
        let here = rest.clone();
        let matched = match parts.get(at) {
            Some(Part::Any) => {
                at += 1;
                if at == parts.len() {
                    return true;
                }
                retry = Some((at, here));
                continue;
            }
            Some(Part::One) => rest.next().is_some(),
            Some(Part::Literal(literal)) => rest.next().is_some_and(|character| equal(character, *literal)),
            None if rest.as_str().is_empty() => return true,
            None => false,
        };
        if matched {
            at += 1;
            continue;
        }
        match &mut retry {
            Some((part, from)) => {
                if from.next().is_none() {
                    return false;
                }
                at = *part;
                rest = from.clone();
            }
            None => return false,
        }
    }
}

fn matches_byte_pattern(text: &[u8], pattern: &[u8], escape: Option<u8>) -> bool {
    let (mut at, mut in_text) = (0, 0);
    let mut retry: Option<(usize, usize)> = None;
    loop {
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
            None if in_text == text.len() => return true,
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
            _ => return false,
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

    proptest! {
        #[test]
        fn shapes_match_as_parts_do(text in "[abé]{0,6}", pattern in "[abé%_]{0,6}") {
            let read = LikePattern::new(CollationId::UTF8MB4_BIN, &pattern, Some('\\'));
            let slow = matches_parts(&text, &read.parts, |left, right| left == right);
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
