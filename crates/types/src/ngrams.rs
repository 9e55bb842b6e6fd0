//! N-grams: overlapping pieces of texts, for FULLTEXT keys WITH PARSER ngram. They serve languages without blanks between words.
//!
//! A piece is two neighbouring characters in a run of letters. ASCII characters that are not part of words end a run, as in MySQL;
//! other punctuation counts as a letter. A piece that contains a stop word is left out.

use crate::CollationId;
use crate::collation::sort_key;
use crate::term_list::TermList;
use crate::words;

/// Characters of a piece: `ngram_token_size`.
pub const SIZE: usize = 2;

/// The runs of a text.
fn runs(text: &str) -> impl Iterator<Item = &str> {
    text.split(|character| !is_letter(character)).filter(|run| !run.is_empty())
}

/// Whether a character is a part of runs.
pub fn is_letter(character: char) -> bool {
    !character.is_ascii() || character.is_ascii_alphanumeric() || character == '_'
}

/// All pieces of a text in their order.
pub fn pieces(text: &str) -> impl Iterator<Item = &str> {
    runs(text).flat_map(|run| {
        let starts = run.char_indices().map(|(at, _)| at);
        let ends = run.char_indices().map(|(at, character)| at + character.len_utf8()).skip(SIZE - 1);
        starts.zip(ends).map(move |(start, end)| &run[start..end])
    })
}

/// Whether a piece counts.
pub fn is_filed(piece: &str) -> bool {
    !words::contains_stop_word(piece)
}

/// Adds the terms of a text.
pub fn collect(text: &str, collation: CollationId, terms: &mut TermList) {
    let mut key = Vec::new();
    for piece in pieces(text).filter(|piece| is_filed(piece)) {
        key.clear();
        sort_key(collation, piece, &mut key);
        words::push_term(&key, terms);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_cut_into_pieces() {
        let all = |text| pieces(text).collect::<Vec<_>>();
        assert_eq!(all("数据库 x, ab1-c_d。é"), ["数据", "据库", "ab", "b1", "c_", "_d", "d。", "。é"]);
        assert_eq!(all(""), [""; 0]);
        assert!(is_filed("b1") && is_filed("数据"));
        assert!(!is_filed("ab") && !is_filed("TO") && !is_filed("xI"));
    }
}
