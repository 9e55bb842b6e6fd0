//! Splits texts into words for FULLTEXT keys.
//!
//! A word is a run of letters, digits and underscores, of three to eighty-four characters, that is not in a short
//! list of stop words. In the collations for `key=value` lines an equals sign is a letter.

use crate::CollationId;
use crate::collation::{AsciiSearch, sort_key};
use crate::term_list::TermList;

/// Shortest word, in characters: `innodb_ft_min_token_size`.
pub const LENGTH_MIN: usize = 3;
/// Longest word: `innodb_ft_max_token_size`.
pub const LENGTH_MAX: usize = 84;

/// Words that are left out: those of `INFORMATION_SCHEMA.INNODB_FT_DEFAULT_STOPWORD`.
pub const STOP_WORDS: [&str; 36] = [
    "a", "about", "an", "are", "as", "at", "be", "by", "com", "de", "en", "for", "from", "how", "i", "in", "is", "it",
    "la", "of", "on", "or", "that", "the", "this", "to", "was", "what", "when", "where", "who", "will", "with", "und",
    "the", "www",
];

impl CollationId {
    /// Whether `key=value` is one word in texts of this collation.
    pub fn joins_pairs(self) -> bool {
        matches!(self, CollationId::FT_KVPAIR_CI | CollationId::UTF8MB4_FT_KVPAIR_CI)
    }
}

/// Whether a character is a part of words.
pub fn is_word_character(character: char, collation: CollationId) -> bool {
    character.is_alphanumeric() || character == '_' || (character == '=' && collation.joins_pairs())
}

/// Tells what bytes are letters of words.
fn ascii_letters(collation: CollationId) -> impl Fn(&u8) -> bool {
    let joins_pairs = collation.joins_pairs();
    move |byte| byte.is_ascii_alphanumeric() || *byte == b'_' || (*byte == b'=' && joins_pairs)
}

/// The runs of letters in an ASCII text that are what is searched for.
pub fn runs_found<'t>(text: &'t str, search: &AsciiSearch, collation: CollationId) -> impl Iterator<Item = &'t str> {
    let (bytes, is_letter) = (text.as_bytes(), ascii_letters(collation));
    let mut from = 0;
    std::iter::from_fn(move || {
        loop {
            let start = search.find(bytes, from)?;
            let end = start + search.length();
            from = start + 1;
            let before = start.checked_sub(1).map(|at| &bytes[at]);
            if !before.is_some_and(&is_letter) && !bytes.get(end).is_some_and(&is_letter) {
                from = end;
                return Some(&text[start..end]);
            }
        }
    })
}

/// The runs of letters in a text, too short and too frequent ones included.
pub fn runs(text: &str, collation: CollationId) -> impl Iterator<Item = &str> {
    // Most texts are ASCII, whose letters are told by a byte.
    let (is_ascii, is_letter) = (text.is_ascii(), ascii_letters(collation));
    let mut rest = text;
    std::iter::from_fn(move || {
        if is_ascii {
            let bytes = rest.as_bytes();
            let begin = bytes.iter().position(&is_letter)?;
            let length = bytes[begin..].iter().position(|byte| !is_letter(byte)).unwrap_or(bytes.len() - begin);
            let run = &rest[begin..begin + length];
            rest = &rest[begin + length..];
            return Some(run);
        }
        let is_letter = |character| is_word_character(character, collation);
        let run = &rest[rest.find(is_letter)?..];
        let end = run.find(|character| !is_letter(character)).unwrap_or(run.len());
        rest = &run[end..];
        Some(&run[..end])
    })
}

/// Whether a run counts.
pub fn is_word(run: &str) -> bool {
    let length = run.chars().count();
    (LENGTH_MIN..=LENGTH_MAX).contains(&length) && !STOP_WORDS.iter().any(|word| run.eq_ignore_ascii_case(word))
}

/// Whether one of the words that are left out is a part of a text, or all of it.
pub fn contains_stop_word(text: &str) -> bool {
    let text = text.as_bytes();
    let is_there = |word: &&str| text.windows(word.len()).any(|part| part.eq_ignore_ascii_case(word.as_bytes()));
    STOP_WORDS.iter().any(is_there)
}

/// What words that are the same in a collation have in common.
pub fn key(word: &str, collation: CollationId) -> Vec<u8> {
    let mut key = Vec::with_capacity(word.len() * 2);
    sort_key(collation, word, &mut key);
    key
}

/// A word's key as an index holds it: none is the beginning of another.
pub fn term(word: &str, collation: CollationId) -> Vec<u8> {
    escaped(&key(word, collation))
}

/// A word's key as terms begin with it.
pub fn escaped_key(key: &[u8]) -> Vec<u8> {
    let mut escaped = Vec::with_capacity(key.len());
    push_escaped(key, &mut escaped);
    escaped
}

fn escaped(key: &[u8]) -> Vec<u8> {
    let mut term = Vec::with_capacity(key.len() + 2);
    push_escaped(key, &mut term);
    term.extend_from_slice(&[0, 1]);
    term
}

fn push_escaped(key: &[u8], out: &mut Vec<u8>) {
    for byte in key {
        out.push(*byte);
        if *byte == 0 {
            out.push(0xFF);
        }
    }
}

/// The terms of words that begin like this: first, and first behind.
pub fn prefix_terms(start: &str, collation: CollationId) -> Option<(Vec<u8>, Option<Vec<u8>>)> {
    let pattern = format!("{}%", start.replace('\\', "\\\\").replace('_', "\\_").replace('%', "\\%"));
    let (from, to) = crate::collation::LikePattern::new(collation, &pattern, Some('\\')).key_range()?;
    let bound = |key: &[u8]| {
        let mut term = Vec::with_capacity(key.len());
        push_escaped(key, &mut term);
        term
    };
    Some((bound(&from), to.as_deref().map(bound)))
}

/// Adds the terms of a text.
pub fn collect(text: &str, collation: CollationId, terms: &mut TermList) {
    let mut own = Vec::new();
    for word in runs(text, collation).filter(|run| is_word(run)) {
        own.clear();
        sort_key(collation, word, &mut own);
        push_term(&own, terms);
    }
}

/// Adds the term of a word with this [key](key()).
pub fn push_term(key: &[u8], terms: &mut TermList) {
    terms.push_with(|term| {
        push_escaped(key, term);
        term.extend_from_slice(&[0, 1]);
    });
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn runs_are_what_is_between_other_characters(text in "[ a-z=_.0-9é日\n]{0,40}|[ -~]{0,40}") {
            for collation in [CollationId::UTF8MB4_0900_AI_CI, CollationId::UTF8MB4_FT_KVPAIR_CI] {
                let expected: Vec<&str> =
                    text.split(|character| !is_word_character(character, collation)).filter(|run| !run.is_empty()).collect();
                prop_assert_eq!(runs(&text, collation).collect::<Vec<_>>(), expected);
            }
        }
    }

    #[test]
    fn words_are_found_in_texts() {
        let plain = CollationId::UTF8MB4_0900_AI_CI;
        let words = |text, collation| -> Vec<&str> { runs(text, collation).filter(|run| is_word(run)).collect() };
        assert_eq!(
            words("The MySQL's data_base of 42 to 4242, é-mails", plain),
            ["MySQL", "data_base", "4242", "mails"]
        );
        assert_eq!(words("last_name=Vembu a=b", CollationId::FT_KVPAIR_CI), ["last_name=Vembu", "a=b"]);
        assert_eq!(words("last_name=Vembu", plain), ["last_name", "Vembu"]);
        assert_eq!(term("CAFÉ", plain), term("cafe", plain));
        assert!(!plain.joins_pairs());
        let (low, high) = prefix_terms("data", plain).unwrap();
        let term = term("Databases", plain);
        assert!(low <= term && high.is_none_or(|high| term < high));
    }
}
