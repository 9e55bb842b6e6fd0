//! Finds the searched words in a row's texts.

use super::Parser;
use super::clause::{Clause, What, is_filed, prefix_range, token};
use rustc_hash::FxHashSet;
use squall_types::collation::{AsciiSearch, sort_key};
use squall_types::json::JsonError;
use squall_types::json::lines::{Scalar, scalars};
use squall_types::json::terms::{TermRange, fold};
use squall_types::{CollationId, ngrams, words};
use std::borrow::Cow;
use std::collections::{HashMap, HashSet};

/// What is to be counted in a row's texts.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Wanted {
    /// The place of each word or line among the counts.
    tokens: HashMap<Vec<u8>, usize>,
    /// What words or lines begin with, each once, and the terms or lines that do; `None` if there are none.
    prefixes: Vec<(String, Option<TermRange>)>,
    /// Whether the order of words matters.
    is_ordered: bool,
    /// Length and first letter of the words, if all of them are ASCII: a run of ASCII letters can only be one that has them in common.
    /// (No collation takes two of different length, or of other letters, for the same.)
    shapes: Option<FxHashSet<(usize, u8)>>,
    /// The search for each word in ASCII texts, if there are few and nothing else is wanted; their places among the counts are theirs.
    searches: Option<Vec<AsciiSearch>>,
}

/// A text is looked through once for each of this many words, and of more once for all of its own.
const SEARCHES_MAX: usize = 4;

impl Wanted {
    pub fn of(clauses: &[Clause], parser: Parser) -> Wanted {
        let mut wanted = Wanted { shapes: Some(FxHashSet::default()), ..Wanted::default() };
        wanted.add(clauses, parser);
        if let Parser::Words(collation) = parser {
            wanted.searches = wanted.word_searches(clauses, collation);
        }
        wanted
    }

    /// The searches for the words, in the order of their places among the counts.
    fn word_searches(&self, clauses: &[Clause], collation: CollationId) -> Option<Vec<AsciiSearch>> {
        let mut searches: Vec<Option<AsciiSearch>> = vec![None; self.tokens.len()];
        for clause in clauses {
            let What::Word(word) = &clause.what else { return None };
            let place = *self.tokens.get(&token(word, Parser::Words(collation)))?;
            searches[place] = Some(AsciiSearch::of(word, collation)?);
        }
        searches.into_iter().collect::<Option<Vec<_>>>().filter(|searches| searches.len() <= SEARCHES_MAX)
    }

    fn add(&mut self, clauses: &[Clause], parser: Parser) {
        for clause in clauses {
            match &clause.what {
                What::Word(word) => self.add_token(word, parser),
                What::Prefix(start) if self.prefix(start).is_some() => {}
                What::Prefix(start) => {
                    let range = match parser {
                        Parser::Words(collation) | Parser::Ngrams(collation) => prefix_range(start, collation),
                        Parser::Json => Some(TermRange::prefix(token(start, parser), false)),
                    };
                    self.prefixes.push((start.clone(), range));
                }
                What::Phrase(phrase) | What::Near(phrase, _) => {
                    self.is_ordered = true;
                    // Its words are counted for the relevance.
                    phrase.iter().filter(|word| is_filed(word, parser)).for_each(|word| self.add_token(word, parser));
                }
                What::Group(inner) => self.add(inner, parser),
            }
        }
    }

    fn add_token(&mut self, word: &str, parser: Parser) {
        let next = self.tokens.len();
        self.tokens.entry(token(word, parser)).or_insert(next);
        match (shape(word), &mut self.shapes) {
            (Some(shape), Some(shapes)) => _ = shapes.insert(shape),
            _ => self.shapes = None,
        }
    }

    /// The place of a prefix among the counts.
    fn prefix(&self, start: &str) -> Option<usize> {
        self.prefixes.iter().position(|(other, _)| other == start)
    }

    /// Whether a run may be one of the words.
    fn may_be(&self, run: &str) -> bool {
        match (&self.shapes, shape(run)) {
            (Some(shapes), Some(shape)) => shapes.contains(&shape),
            _ => true,
        }
    }
}

/// The length and the first letter of ASCII letters.
fn shape(word: &str) -> Option<(usize, u8)> {
    let first = word.bytes().next().filter(|_| word.is_ascii())?;
    Some((word.len(), first.to_ascii_lowercase()))
}

/// The searched words that a row's texts have.
pub(super) struct Tokens<'s> {
    parser: Parser,
    wanted: &'s Wanted,
    /// How often each word or line that is wanted stands there.
    counts: Vec<u64>,
    /// Of each prefix: the first of its words or lines in their order, and how often it stands there.
    prefixed: Vec<Option<(Vec<u8>, u64)>>,
    /// Where order matters: the words in theirs; of documents, the lines.
    ordered: Vec<Vec<u8>>,
}

impl<'s> Tokens<'s> {
    pub fn of(parser: Parser, wanted: &'s Wanted, texts: &[Cow<'_, str>]) -> Result<Tokens<'s>, JsonError> {
        let (counts, prefixed) = (vec![0; wanted.tokens.len()], vec![None; wanted.prefixes.len()]);
        let mut tokens = Tokens { parser, wanted, counts, prefixed, ordered: Vec::new() };
        match parser {
            Parser::Words(collation) => texts.iter().for_each(|text| match &wanted.searches {
                Some(searches) if text.is_ascii() => tokens.count_found(text, searches, collation),
                _ => tokens.count_words(words::runs(text, collation), words::is_word, collation),
            }),
            Parser::Ngrams(collation) => texts.iter().for_each(|text| {
                tokens.count_words(ngrams::pieces(text), ngrams::is_filed, collation);
            }),
            Parser::Json => texts.iter().try_for_each(|text| tokens.count_lines(text))?,
        }
        Ok(tokens)
    }

    /// Counts the words of an ASCII text that are searched for, without a look at the others.
    fn count_found(&mut self, text: &str, searches: &[AsciiSearch], collation: CollationId) {
        let mut key = Vec::new();
        for (place, search) in searches.iter().enumerate() {
            for run in words::runs_found(text, search, collation).filter(|run| words::is_word(run)) {
                key.clear();
                sort_key(collation, run, &mut key);
                self.counts[place] += u64::from(self.wanted.tokens.get(&key) == Some(&place));
            }
        }
    }

    fn count_words<'t>(
        &mut self,
        words: impl Iterator<Item = &'t str>,
        counts: impl Fn(&str) -> bool,
        collation: CollationId,
    ) {
        let is_each_looked_at = self.wanted.is_ordered || !self.wanted.prefixes.is_empty();
        let mut key = Vec::new();
        for run in words {
            if !is_each_looked_at && !self.wanted.may_be(run) {
                continue;
            }
            key.clear();
            sort_key(collation, run, &mut key);
            // What an index has no entry for is not found without one either.
            if counts(run) {
                if let Some(at) = self.wanted.tokens.get(&key) {
                    self.counts[*at] += 1;
                }
                if !self.wanted.prefixes.is_empty() {
                    self.count_prefixes(&words::escaped_key(&key));
                }
            }
            if self.wanted.is_ordered {
                self.ordered.push(key.clone());
            }
        }
        if self.wanted.is_ordered {
            // A phrase does not go on in the next column.
            self.ordered.push(Vec::new());
        }
    }

    /// Counts a term, or a line, with the prefixes that it has.
    fn count_prefixes(&mut self, term: &[u8]) {
        for (found, (_, range)) in self.prefixed.iter_mut().zip(&self.wanted.prefixes) {
            if !range.as_ref().is_some_and(|range| range.contains(term)) {
                continue;
            }
            match found {
                Some((first, count)) if first.as_slice() == term => *count += 1,
                Some((first, _)) if first.as_slice() < term => {}
                found => *found = Some((term.to_vec(), 1)),
            }
        }
    }

    fn count_lines(&mut self, document: &str) -> Result<(), JsonError> {
        lines(document, |line| {
            let line = fold(&line);
            if let Some(at) = self.wanted.tokens.get(line.as_bytes()) {
                self.counts[*at] += 1;
            }
            self.count_prefixes(line.as_bytes());
            if self.wanted.is_ordered {
                self.ordered.push(line.into_owned().into_bytes());
            }
        })
    }

    /// How often a word stands there.
    pub fn word_count(&self, word: &[u8]) -> u64 {
        self.wanted.tokens.get(word).map_or(0, |at| self.counts[*at])
    }

    /// How often the first of the words stands there that begin like this.
    pub fn prefix_count(&self, start: &str) -> u64 {
        let found = self.wanted.prefix(start).and_then(|at| self.prefixed[at].as_ref());
        found.map_or(0, |(_, count)| *count)
    }

    /// Whether the row has the words of a clause that is not a group.
    pub fn has(&self, what: &What) -> bool {
        match what {
            What::Word(word) => self.word_count(&token(word, self.parser)) > 0,
            What::Prefix(start) => self.prefix_count(start) > 0,
            What::Phrase(words) => {
                let words: Vec<Vec<u8>> = words.iter().map(|word| token(word, self.parser)).collect();
                !words.is_empty() && self.ordered.windows(words.len()).any(|window| *window == words)
            }
            What::Near(words, within) => self.are_near(words, *within),
            What::Group(_) => false,
        }
    }

    /// Whether all of these words stand within this many, in any order.
    fn are_near(&self, words: &[String], within: usize) -> bool {
        let wanted: HashSet<Vec<u8>> = words.iter().map(|word| token(word, self.parser)).collect();
        let row: Vec<&Vec<u8>> = self.ordered.iter().filter(|word| !word.is_empty()).collect();
        // The window from `start` on; how often it has each of the words.
        let mut inside: HashMap<&Vec<u8>, usize> = HashMap::new();
        let mut start = 0;
        for (at, word) in row.iter().enumerate() {
            if wanted.contains(*word) {
                *inside.entry(word).or_insert(0) += 1;
            }
            while at - start >= within {
                if let Some(count) = inside.get_mut(row[start]) {
                    *count -= 1;
                    if *count == 0 {
                        inside.remove(row[start]);
                    }
                }
                start += 1;
                if start > at {
                    break;
                }
            }
            if inside.len() == wanted.len() {
                return true;
            }
        }
        false
    }
}

/// The lines `name=value` of a document, as `RAPID_FLATTEN_JSON` has them.
fn lines(document: &str, mut found: impl FnMut(String)) -> Result<(), JsonError> {
    scalars(document, |name, scalar| {
        let (name, value) = (name.unwrap_or_default(), scalar.text());
        if matches!(scalar, Scalar::String(_)) && value.contains(char::is_whitespace) {
            value.split_whitespace().for_each(|word| found(format!("{name}={word}")));
        }
        found(format!("{name}={value}"));
    })
}
