//! The parts of a search, and their words as indexes and rows have them.

use super::Parser;
use squall_types::json::terms::{TermRange, fold};
use squall_types::{CollationId, ngrams, words};

/// A part of a search.
#[derive(Clone, Debug, PartialEq)]
pub struct Clause {
    /// What stands before it.
    pub operator: Operator,
    /// What is searched for.
    pub what: What,
}

/// The effect of a clause on the rows that it finds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operator {
    /// It adds them.
    Optional,
    /// `>`: it adds them and makes them more relevant.
    Raised,
    /// `<`: it adds them and makes them less relevant.
    Lowered,
    /// `~`: the rows of earlier clauses become less relevant.
    Negated,
    /// `+`: no others match.
    Required,
    /// `-`: they do not match.
    Excluded,
}

/// What is searched for.
#[derive(Clone, Debug, PartialEq)]
pub enum What {
    /// A word or a line.
    Word(String),
    /// Words that begin like this.
    Prefix(String),
    /// Words one behind the other, or one line.
    Phrase(Vec<String>),
    /// Words in any order, all within this many words.
    Near(Vec<String>, usize),
    /// A search in parentheses.
    Group(Vec<Clause>),
}

impl Operator {
    /// Whether rows match by such a clause alone.
    pub(super) fn adds(self) -> bool {
        matches!(self, Operator::Optional | Operator::Raised | Operator::Lowered)
    }
}

/// A single word or line.
pub(super) fn word(word: &str) -> What {
    What::Word(word.to_string())
}

/// The words between quotes. Words that no index has count for positions, but do not make a phrase: a single word that is left is
/// searched alone, and without words nothing is found.
pub(super) fn phrase(quoted: &str, collation: CollationId, within: Option<usize>) -> Option<What> {
    let runs: Vec<&str> = words::runs(quoted, collation).collect();
    let filed: Vec<&str> = runs.iter().copied().filter(|run| words::is_word(run)).collect();
    let owned = |words: &[&str]| words.iter().map(ToString::to_string).collect();
    match (filed.as_slice(), within) {
        ([], _) => None,
        ([only], _) => Some(word(only)),
        (_, None) => Some(What::Phrase(owned(&runs))),
        (_, Some(within)) => Some(What::Near(owned(&filed), within)),
    }
}

/// A word or phrase as its pieces, one behind the other. `None` if no row is filed under any of them.
pub(super) fn pieces_of(text: &str) -> Option<What> {
    let pieces: Vec<String> = ngrams::pieces(text).map(ToString::to_string).collect();
    pieces.iter().any(|piece| ngrams::is_filed(piece)).then_some(What::Phrase(pieces))
}

/// Whether an index has entries for a word.
pub(super) fn is_filed(word: &str, parser: Parser) -> bool {
    match parser {
        Parser::Words(_) => words::is_word(word),
        Parser::Ngrams(_) => ngrams::is_filed(word),
        Parser::Json => true,
    }
}

/// The terms of words that begin like this.
pub(super) fn prefix_range(start: &str, collation: CollationId) -> Option<TermRange> {
    let (low, high) = words::prefix_terms(start, collation)?;
    Some(TermRange { low, high, single: false })
}

/// The term of a word.
pub(super) fn word_range(word: &str, collation: CollationId) -> TermRange {
    TermRange::prefix(words::term(word, collation), true)
}

/// A word or line as tokens are compared.
pub(super) fn token(word: &str, parser: Parser) -> Vec<u8> {
    match parser {
        Parser::Words(collation) | Parser::Ngrams(collation) => words::key(word, collation),
        Parser::Json => fold(word).into_owned().into_bytes(),
    }
}
