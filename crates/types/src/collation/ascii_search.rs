//! Searches ASCII texts by collations that compare one character at a time. Most texts are ASCII, and the processor's wide instructions
//! find a rare character of any case.

use super::CollationId;
use super::definition::{AsciiClasses, Collation};
use super::equality::CharacterEquality;

/// What is searched for: ASCII characters and places of any character.
#[derive(Clone, Debug, PartialEq)]
pub struct AsciiSearch {
    /// The class of each character; `None` is any.
    parts: Vec<Option<u8>>,
    classes: &'static AsciiClasses,
    /// The place of the character that is looked for first, and what it may be.
    anchor: usize,
    anchor_bytes: Vec<u8>,
}

/// Characters from the most frequent to the rarest, roughly; others are rarer still.
const FREQUENT: &[u8] = b" etaoinsrhldcu_\"=:,./-0123456789mfpgwybvkxjqz";

/// Bytes that are looked for at once.
const ANCHOR_BYTES_MAX: usize = 3;

impl AsciiSearch {
    /// The search for a word or another text; `None` if it or the collation is none for this.
    pub fn of(text: &str, collation: CollationId) -> Option<AsciiSearch> {
        AsciiSearch::of_parts(text.chars().map(Some), collation.info())
    }

    /// The same of characters, where `None` is any.
    pub(super) fn of_parts(
        parts: impl Iterator<Item = Option<char>>,
        collation: &'static Collation,
    ) -> Option<AsciiSearch> {
        let classes = collation.ascii_classes()?;
        let class_of = |character: char| classes.get(character as usize).copied();
        let parts: Vec<Option<u8>> = parts
            .map(|part| part.map_or(Some(None), |character| class_of(character).map(Some)))
            .collect::<Option<_>>()?;
        let bytes_of =
            |class: u8| -> Vec<u8> { (0..128u8).filter(|byte| classes[usize::from(*byte)] == class).collect() };
        let rarity = |byte: &u8| {
            FREQUENT.iter().position(|frequent| frequent.eq_ignore_ascii_case(byte)).unwrap_or(FREQUENT.len())
        };
        let anchors = parts.iter().enumerate().filter_map(|(at, part)| Some((at, bytes_of((*part)?))));
        let (anchor, anchor_bytes) = anchors
            .filter(|(_, bytes)| bytes.len() <= ANCHOR_BYTES_MAX)
            .max_by_key(|(_, bytes)| bytes.iter().map(rarity).min())?;
        Some(AsciiSearch { parts, classes, anchor, anchor_bytes })
    }

    /// How many characters are searched for.
    pub fn length(&self) -> usize {
        self.parts.len()
    }

    /// The first place at or after `from` of an ASCII text.
    pub fn find(&self, text: &[u8], from: usize) -> Option<usize> {
        self.find_while(text, from, &mut || Some(())).flatten()
    }

    /// The same; `None` if it was stopped: `goes_on` is asked at each place where the search looks twice.
    pub(super) fn find_while(
        &self,
        text: &[u8],
        from: usize,
        goes_on: &mut dyn FnMut() -> Option<()>,
    ) -> Option<Option<usize>> {
        // Where the character that is looked for first stands at the earliest and at the latest.
        let Some(end) = text.len().checked_sub(self.parts.len() - 1 - self.anchor) else { return Some(None) };
        let mut at = from + self.anchor;
        while let Some(found) = text.get(at..end).and_then(|rest| self.find_anchor(rest)) {
            goes_on()?;
            let start = at + found - self.anchor;
            if self.stands_at(&text[start..]) {
                return Some(Some(start));
            }
            at += found + 1;
        }
        Some(None)
    }

    fn find_anchor(&self, text: &[u8]) -> Option<usize> {
        match *self.anchor_bytes {
            [one] => memchr::memchr(one, text),
            [one, two] => memchr::memchr2(one, two, text),
            [one, two, three] => memchr::memchr3(one, two, three, text),
            _ => None,
        }
    }

    fn stands_at(&self, text: &[u8]) -> bool {
        let is_part = |(part, byte): (&Option<u8>, &u8)| {
            part.is_none_or(|class| self.classes.get(usize::from(*byte)).is_some_and(|of_byte| *of_byte == class))
        };
        text.len() >= self.parts.len() && self.parts.iter().zip(text).all(is_part)
    }
}

impl Collation {
    /// Which ASCII characters are equal, if that is all there is to say of ASCII texts.
    pub(super) fn ascii_classes(&'static self) -> Option<&'static AsciiClasses> {
        self.ascii_classes
            .get_or_init(|| {
                let equality = CharacterEquality::of(self);
                equality.is_of_ascii_alone().then(|| {
                    std::array::from_fn(|at| {
                        let byte = at as u8;
                        let same = |other: &u8| equality.holds(char::from(*other), char::from(byte));
                        (0..byte).find(same).unwrap_or(byte)
                    })
                })
            })
            .as_ref()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_in_any_case_where_the_collation_does() {
        let search = |name: &str, text: &str| AsciiSearch::of(text, CollationId::from_name(name).unwrap()).unwrap();
        let text = b"first_name=Ada\nlast_name=TURING\nlast_name=turing";
        for name in ["utf8mb4_0900_ai_ci", "utf8mb4_general_ci", "latin1_swedish_ci", "ft_kvpair_ci", "gbk_chinese_ci"]
        {
            let search = search(name, "last_name=Turing");
            assert_eq!(search.find(text, 0), Some(15), "{name}");
            assert_eq!(search.find(text, 16), Some(32), "{name}");
            assert_eq!(search.find(text, 33), None, "{name}");
            assert_eq!(search.find(b"short", 0), None, "{name}");
            assert_eq!(search.find(text, 1000), None, "{name}");
        }
        assert_eq!(search("utf8mb4_bin", "turing").find(text, 0), Some(42));
        // In Turkish i and I are two letters, which only its own comparison knows.
        assert_eq!(AsciiSearch::of("i", CollationId::from_name("utf8mb4_tr_0900_ai_ci").unwrap()), None);
        assert_eq!(AsciiSearch::of("ä", CollationId::UTF8MB4_0900_AI_CI), None);
        assert_eq!(AsciiSearch::of("", CollationId::UTF8MB4_0900_AI_CI), None);
    }
}
