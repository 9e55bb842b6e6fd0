//! MATCH … AGAINST: what is searched for, and how well a row answers.
//!
//! The rows that an index finds are looked at here too, so the index may give too many. Relevance is the sum, over the
//! words found, of one and the logarithm of how often each stands there; boolean searches weigh words by their operators.

use parking_lot::Mutex;
use squall_registry::{ScalarKernel, StatementContext};
use squall_types::collation::sort_key;
use squall_types::json::JsonError;
use squall_types::json::lines::{Scalar, scalars};
use squall_types::json::terms::search::{exact_line_terms, line_prefix_terms, line_terms};
use squall_types::json::terms::{TermRange, fold};
use squall_types::{CollationId, SqlResult, Value, ngrams, words};
use std::borrow::Cow;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

/// Groups inside of groups of a boolean search; more are taken for one.
const DEPTH_MAX: usize = 16;

/// How texts are taken apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Parser {
    /// Into words of a collation.
    Words(CollationId),
    /// Into pieces of the words of a collation.
    Ngrams(CollationId),
    /// Into the lines that a document flattens to.
    Json,
}

/// A part of a search.
#[derive(Clone, Debug, PartialEq)]
pub struct Clause {
    /// `+`, `-`, or neither.
    pub need: Need,
    /// What it adds to the relevance, times.
    pub weight: f64,
    /// What is searched for.
    pub what: What,
}

/// Whether a clause has to be met.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Need {
    /// It adds to the relevance.
    Optional,
    /// Without it a row does not match.
    Required,
    /// With it a row does not match.
    Excluded,
}

/// What is searched for. Words are in the form that they are compared in.
#[derive(Clone, Debug, PartialEq)]
pub enum What {
    /// A word or a line.
    Word(String),
    /// Words that begin like this.
    Prefix(String),
    /// Words one behind the other, or one line.
    Phrase(Vec<String>),
    /// A search in parentheses.
    Group(Vec<Clause>),
}

/// A search, taken apart.
#[derive(Clone, Debug, PartialEq)]
pub struct Search {
    /// How texts are taken apart.
    pub parser: Parser,
    /// Its parts.
    pub clauses: Vec<Clause>,
    wanted: Wanted,
}

/// What is to be counted in a row's texts.
#[derive(Clone, Debug, Default, PartialEq)]
struct Wanted {
    /// The place of each word or line among the counts.
    tokens: HashMap<Vec<u8>, usize>,
    /// What words or lines begin with, each once, and the terms or lines that do; `None` if there are none.
    prefixes: Vec<(String, Option<TermRange>)>,
    /// Whether the order of words matters.
    has_phrases: bool,
    /// Length and first letter of the words, if all of them are ASCII: a run of ASCII letters can only be one that has them in common.
    /// (No collation takes two of different length, or of other letters, for the same.)
    shapes: Option<HashSet<(usize, u8)>>,
}

impl Wanted {
    fn of(clauses: &[Clause], parser: Parser) -> Wanted {
        let mut wanted = Wanted { shapes: Some(HashSet::new()), ..Wanted::default() };
        wanted.add(clauses, parser);
        wanted
    }

    fn add(&mut self, clauses: &[Clause], parser: Parser) {
        for clause in clauses {
            match &clause.what {
                What::Word(word) => {
                    let next = self.tokens.len();
                    self.tokens.entry(token(word, parser)).or_insert(next);
                    match (shape(word), &mut self.shapes) {
                        (Some(shape), Some(shapes)) => _ = shapes.insert(shape),
                        _ => self.shapes = None,
                    }
                }
                What::Prefix(start) if self.prefix(start).is_some() => {}
                What::Prefix(start) => {
                    let range = match parser {
                        Parser::Words(collation) | Parser::Ngrams(collation) => prefix_range(start, collation),
                        Parser::Json => Some(TermRange::prefix(token(start, parser), false)),
                    };
                    self.prefixes.push((start.clone(), range));
                }
                What::Phrase(_) => self.has_phrases = true,
                What::Group(inner) => self.add(inner, parser),
            }
        }
    }

    /// The place of a prefix among the counts.
    fn prefix(&self, start: &str) -> Option<usize> {
        self.prefixes.iter().position(|(other, _)| other == start)
    }

    /// Counts a term, or a line, with the prefixes that it has.
    fn count_prefixes(&self, term: &[u8], counts: &mut [u64]) {
        for (count, (_, range)) in counts.iter_mut().zip(&self.prefixes) {
            *count += u64::from(range.as_ref().is_some_and(|range| range.contains(term)));
        }
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

impl Search {
    /// Takes the text behind AGAINST apart.
    pub fn new(parser: Parser, boolean: bool, text: &str) -> Search {
        let clauses = if boolean {
            BooleanReader { rest: text, parser }.clauses(0)
        } else {
            let words = match parser {
                Parser::Words(collation) => words::runs(text, collation).filter(|run| words::is_word(run)).collect(),
                Parser::Ngrams(_) => ngrams::pieces(text).filter(|piece| ngrams::is_filed(piece)).collect(),
                Parser::Json => text.split_whitespace().collect::<Vec<_>>(),
            };
            words.into_iter().map(|word| clause(Need::Optional, What::Word(word.to_string()))).collect()
        };
        Search { parser, wanted: Wanted::of(&clauses, parser), clauses }
    }

    /// The relevance of a row with these texts; 0 is no match. Text that is no document matches nothing.
    fn relevance(&self, texts: &[Cow<'_, str>]) -> f64 {
        match Tokens::of(self.parser, &self.wanted, texts) {
            Ok(tokens) => matched(&self.clauses, &tokens).unwrap_or(0.0).max(0.0),
            Err(_) => 0.0,
        }
    }
}

fn clause(need: Need, what: What) -> Clause {
    Clause { need, weight: 1.0, what }
}

/// The relevance by some clauses; `None` if they are not met.
fn matched(clauses: &[Clause], tokens: &Tokens<'_>) -> Option<f64> {
    let mut relevance = 0.0;
    let (mut required, mut any) = (false, false);
    for clause in clauses {
        let found = tokens.find(&clause.what);
        match (clause.need, found) {
            (Need::Excluded, Some(_)) | (Need::Required, None) => return None,
            (Need::Excluded, None) => {}
            (Need::Required, Some(score)) => {
                required = true;
                relevance += score * clause.weight;
            }
            (Need::Optional, Some(score)) => {
                any = true;
                relevance += score * clause.weight;
            }
            (Need::Optional, None) => {}
        }
    }
    // A word that makes rows less relevant does not make them match less.
    (required || any).then(|| relevance.max(f64::MIN_POSITIVE))
}

/// What a row's texts have of what is searched for.
struct Tokens<'s> {
    parser: Parser,
    wanted: &'s Wanted,
    /// How often each word or line that is wanted stands there.
    counts: Vec<u64>,
    /// How many words or lines begin with each of the prefixes.
    prefix_counts: Vec<u64>,
    /// Where order matters: the words in theirs; of documents, the lines.
    ordered: Vec<Vec<u8>>,
}

impl<'s> Tokens<'s> {
    fn of(parser: Parser, wanted: &'s Wanted, texts: &[Cow<'_, str>]) -> Result<Tokens<'s>, JsonError> {
        let (counts, prefix_counts) = (vec![0; wanted.tokens.len()], vec![0; wanted.prefixes.len()]);
        let mut tokens = Tokens { parser, wanted, counts, prefix_counts, ordered: Vec::new() };
        match parser {
            Parser::Words(collation) => texts.iter().for_each(|text| {
                tokens.count_words(words::runs(text, collation), words::is_word, collation);
            }),
            Parser::Ngrams(collation) => texts.iter().for_each(|text| {
                tokens.count_words(ngrams::pieces(text), ngrams::is_filed, collation);
            }),
            Parser::Json => texts.iter().try_for_each(|text| tokens.count_lines(text))?,
        }
        Ok(tokens)
    }

    fn count_words<'t>(
        &mut self,
        words: impl Iterator<Item = &'t str>,
        counts: impl Fn(&str) -> bool,
        collation: CollationId,
    ) {
        let is_each_looked_at = self.wanted.has_phrases || !self.wanted.prefixes.is_empty();
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
                    self.wanted.count_prefixes(&words::escaped_key(&key), &mut self.prefix_counts);
                }
            }
            if self.wanted.has_phrases {
                self.ordered.push(key.clone());
            }
        }
        if self.wanted.has_phrases {
            // A phrase does not go on in the next column.
            self.ordered.push(Vec::new());
        }
    }

    fn count_lines(&mut self, document: &str) -> Result<(), JsonError> {
        lines(document, |line| {
            let line = fold(&line);
            if let Some(at) = self.wanted.tokens.get(line.as_bytes()) {
                self.counts[*at] += 1;
            }
            self.wanted.count_prefixes(line.as_bytes(), &mut self.prefix_counts);
            if self.wanted.has_phrases {
                self.ordered.push(line.into_owned().into_bytes());
            }
        })
    }

    fn find(&self, what: &What) -> Option<f64> {
        let score = |count: u64| (count > 0).then(|| 1.0 + (count as f64).ln());
        match what {
            What::Word(word) => score(self.counts[*self.wanted.tokens.get(&token(word, self.parser))?]),
            What::Prefix(start) => score(self.prefix_counts[self.wanted.prefix(start)?]),
            What::Phrase(words) => {
                let words: Vec<Vec<u8>> = words.iter().map(|word| token(word, self.parser)).collect();
                if words.is_empty() {
                    return None;
                }
                score(self.ordered.windows(words.len()).filter(|window| *window == words).count() as u64)
            }
            What::Group(clauses) => matched(clauses, self),
        }
    }
}

fn token(word: &str, parser: Parser) -> Vec<u8> {
    match parser {
        Parser::Words(collation) | Parser::Ngrams(collation) => words::key(word, collation),
        Parser::Json => fold(word).into_owned().into_bytes(),
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

/// Reads a boolean search.
struct BooleanReader<'a> {
    rest: &'a str,
    parser: Parser,
}

impl BooleanReader<'_> {
    fn take(&mut self, character: char) -> bool {
        match self.rest.strip_prefix(character) {
            Some(rest) => {
                self.rest = rest;
                true
            }
            None => false,
        }
    }

    fn clauses(&mut self, depth: usize) -> Vec<Clause> {
        let mut clauses = Vec::new();
        loop {
            let mut need = Need::Optional;
            let mut weight = 1.0;
            while let Some(character) = self.rest.chars().next() {
                match character {
                    '+' => need = Need::Required,
                    '-' => need = Need::Excluded,
                    '>' => weight *= 1.5,
                    '<' => weight /= 1.5,
                    '~' => weight = -weight,
                    ')' => {
                        self.rest = &self.rest[1..];
                        if depth > 0 {
                            return clauses;
                        }
                    }
                    _ if character.is_whitespace() => need = Need::Optional,
                    '@' | '*' => {}
                    _ => break,
                }
                if character != ')' {
                    self.rest = &self.rest[character.len_utf8()..];
                }
            }
            if self.rest.is_empty() {
                return clauses;
            }
            if self.take('(') {
                let inner = if depth < DEPTH_MAX { self.clauses(depth + 1) } else { Vec::new() };
                clauses.push(Clause { need, weight, what: What::Group(inner) });
                continue;
            }
            if self.take('"') {
                let end = self.rest.find('"').unwrap_or(self.rest.len());
                let (phrase, rest) = self.rest.split_at(end);
                self.rest = rest.strip_prefix('"').unwrap_or(rest);
                let words = match self.parser {
                    Parser::Json => vec![phrase.to_string()],
                    Parser::Words(collation) => words::runs(phrase, collation).map(ToString::to_string).collect(),
                    Parser::Ngrams(_) => {
                        clauses.extend(pieces_of(phrase).map(|what| Clause { need, weight, what }));
                        continue;
                    }
                };
                clauses.push(Clause { need, weight, what: What::Phrase(words) });
                continue;
            }
            self.word(need, weight, &mut clauses);
        }
    }

    /// A word up to a blank or an operator that ends one.
    fn word(&mut self, need: Need, weight: f64, clauses: &mut Vec<Clause>) {
        let ends = |character: char| match self.parser {
            Parser::Json => character.is_whitespace() || matches!(character, '(' | ')' | '"' | '*'),
            Parser::Words(collation) => !words::is_word_character(character, collation),
            Parser::Ngrams(_) => !ngrams::is_letter(character),
        };
        let end = self.rest.find(ends).unwrap_or(self.rest.len());
        let (word, rest) = self.rest.split_at(end);
        self.rest = rest;
        if word.is_empty() {
            // A character that is part of no word.
            let skipped = self.rest.chars().next().map_or(0, char::len_utf8);
            self.rest = &self.rest[skipped..];
            return;
        }
        let is_prefix = self.take('*');
        if matches!(self.parser, Parser::Ngrams(_)) && !(is_prefix && word.chars().count() < ngrams::SIZE) {
            // What stands behind a piece is not looked at.
            clauses.extend(pieces_of(word).map(|what| Clause { need, weight, what }));
        } else if is_prefix {
            clauses.push(Clause { need, weight, what: What::Prefix(word.to_string()) });
        } else if self.parser == Parser::Json || words::is_word(word) {
            clauses.push(Clause { need, weight, what: What::Word(word.to_string()) });
        }
    }
}

/// A word or phrase as its pieces, one behind the other. `None` if no row is filed under any of them.
fn pieces_of(text: &str) -> Option<What> {
    let pieces: Vec<String> = ngrams::pieces(text).map(ToString::to_string).collect();
    pieces.iter().any(|piece| ngrams::is_filed(piece)).then_some(What::Phrase(pieces))
}

impl Search {
    /// The terms of the words or lines that are searched for, if any of them is enough and there is nothing else: rows match that have
    /// one of these terms, and no others. An index tells that without the rows.
    pub fn any_word(&self) -> Option<Vec<TermRange>> {
        let is_one = self.clauses.len() == 1;
        let mut terms = Vec::with_capacity(self.clauses.len());
        for clause in &self.clauses {
            match (&clause.what, clause.need, self.parser) {
                (_, Need::Excluded, _) => return None,
                (_, Need::Required, _) if !is_one => return None,
                (What::Word(word), _, Parser::Words(collation) | Parser::Ngrams(collation)) => {
                    terms.push(word_range(word, collation));
                }
                (What::Word(line), _, Parser::Json) => terms.extend(exact_line_terms(line)?),
                _ => return None,
            }
        }
        Some(terms)
    }

    /// The terms that lead to every row that the search matches: each such row has a term in one at least of the ranges
    /// of every element. `None` if an index is of no use.
    pub fn terms(&self) -> Option<Vec<Vec<TermRange>>> {
        self.terms_of(&self.clauses)
    }

    fn terms_of(&self, clauses: &[Clause]) -> Option<Vec<Vec<TermRange>>> {
        let required: Vec<&Clause> = clauses.iter().filter(|clause| clause.need == Need::Required).collect();
        if !required.is_empty() {
            // What an index cannot tell is left to the look at the row.
            let every: Vec<_> =
                required.iter().filter_map(|clause| self.terms_of_one(&clause.what)).flatten().collect();
            return (!every.is_empty()).then_some(every);
        }
        let mut any = Vec::new();
        for clause in clauses.iter().filter(|clause| clause.need == Need::Optional) {
            // Of what has to be there together, one thing is enough to find the rows.
            any.extend(self.terms_of_one(&clause.what)?.into_iter().next()?);
        }
        Some(vec![any])
    }

    fn terms_of_one(&self, what: &What) -> Option<Vec<Vec<TermRange>>> {
        Some(match (what, self.parser) {
            (What::Group(clauses), _) => self.terms_of(clauses)?,
            (What::Word(line), Parser::Json) => vec![line_terms(line)],
            (What::Prefix(start), Parser::Json) => vec![line_prefix_terms(start)?],
            (What::Phrase(lines), Parser::Json) => lines.iter().map(|line| line_terms(line)).collect(),
            (What::Word(word), Parser::Words(collation) | Parser::Ngrams(collation)) => {
                vec![vec![word_range(word, collation)]]
            }
            (What::Prefix(start), Parser::Words(collation) | Parser::Ngrams(collation)) => {
                vec![vec![prefix_range(start, collation)?]]
            }
            (What::Phrase(phrase), Parser::Words(collation)) => every_word(phrase, words::is_word, collation)?,
            (What::Phrase(pieces), Parser::Ngrams(collation)) => every_word(pieces, ngrams::is_filed, collation)?,
        })
    }
}

/// The term of each word of a phrase that counts; `None` if there is none.
fn every_word(phrase: &[String], counts: fn(&str) -> bool, collation: CollationId) -> Option<Vec<Vec<TermRange>>> {
    let counted = phrase.iter().filter(|word| counts(word));
    let every: Vec<_> = counted.map(|word| vec![word_range(word, collation)]).collect();
    (!every.is_empty()).then_some(every)
}

/// The terms of words that begin like this.
fn prefix_range(start: &str, collation: CollationId) -> Option<TermRange> {
    let (low, high) = words::prefix_terms(start, collation)?;
    Some(TermRange { low, high, single: false })
}

fn word_range(word: &str, collation: CollationId) -> TermRange {
    TermRange::prefix(words::term(word, collation), true)
}

/// `MATCH (columns) AGAINST (text)`: the columns, then the text.
pub struct MatchKernel {
    /// How texts are taken apart.
    pub parser: Parser,
    /// IN BOOLEAN MODE.
    pub boolean: bool,
    /// The last search: it is the same for all rows.
    pub kept: Mutex<Option<(String, Arc<Search>)>>,
}

impl std::fmt::Debug for MatchKernel {
    /// Kernels are told apart by what they print.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "MatchKernel {{ parser: {:?}, boolean: {} }}", self.parser, self.boolean)
    }
}

impl ScalarKernel for MatchKernel {
    fn has_memory(&self) -> bool {
        true
    }

    fn eval(&self, arguments: &[Value], _: &StatementContext) -> SqlResult<Value> {
        let Some((Value::String(against), columns)) = arguments.split_last() else { return Ok(Value::Double(0.0)) };
        let search = {
            let mut kept = self.kept.lock();
            match &*kept {
                Some((text, search)) if text == against => Arc::clone(search),
                _ => {
                    let search = Arc::new(Search::new(self.parser, self.boolean, against));
                    *kept = Some((against.clone(), Arc::clone(&search)));
                    search
                }
            }
        };
        let texts: Vec<Cow<'_, str>> = columns
            .iter()
            .filter_map(|value| match value {
                Value::String(text) => Some(Cow::Borrowed(text.as_str())),
                Value::Json(document) => Some(document.text()),
                _ => None,
            })
            .collect();
        Ok(Value::Double(search.relevance(&texts)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn relevance(parser: Parser, boolean: bool, text: &str, against: &str) -> f64 {
        Search::new(parser, boolean, against).relevance(&[Cow::Borrowed(text)])
    }

    #[test]
    fn boolean_searches() {
        let parser = Parser::Words(CollationId::UTF8MB4_0900_AI_CI);
        let text = "The quick brown fox jumps over the lazy dog, quick as ever";
        for (against, expected) in [
            ("+quick +dog", true),
            ("+quick +cat", false),
            ("quick -dog", false),
            ("cat dog", true),
            ("-cat", false),
            ("\"brown fox\"", true),
            ("\"fox brown\"", false),
            ("jum*", true),
            ("+(cat dog) +fox", true),
            ("+(cat cow) +fox", false),
            ("QUICK", true),
            ("", false),
            ("((((", false),
            ("+", false),
            ("\"", false),
        ] {
            assert_eq!(relevance(parser, true, text, against) > 0.0, expected, "{against}");
        }
        assert!(relevance(parser, false, text, "quick") > relevance(parser, false, text, "lazy"));
        assert_eq!(relevance(parser, false, text, "the"), 0.0);
    }

    #[test]
    fn lines_of_documents() {
        let document =
            r#"{"first_name": "Ann", "last_name": "Vembu", "type": "Powdered Sugar", "ppu": 0.55, "id": [1, "2"]}"#;
        for (against, boolean, expected) in [
            ("last_name=vembu", false, true),
            ("first_name=Vembu", false, false),
            ("type=Sugar", false, true),
            ("type=Powdered Sugar", false, true),
            ("\"type=Powdered Sugar\"", true, true),
            ("\"type=Powdered\"", true, true),
            ("\"Powdered Sugar\"", true, false),
            ("ppu=0.55", false, true),
            ("ppu=0.5", false, false),
            ("+id=1 +id=2 -id=3", true, true),
            ("last_name=Ve*", true, true),
        ] {
            assert_eq!(relevance(Parser::Json, boolean, document, against) > 0.0, expected, "{against}");
        }
        assert_eq!(relevance(Parser::Json, false, "{\"a\"", "a=1"), 0.0);
    }
}
