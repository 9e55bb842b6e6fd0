//! The relevance of a row for a search: InnoDB's ranking.
//!
//! Each found word adds `TF · IDF²`: its count in the row, and the logarithm of the number of all rows divided by the number of rows
//! with the word. The operators of boolean searches add or take 1. The weight of a line of a document depends on the row alone: `1 +
//! ln(TF)`.

use super::Parser;
use super::clause::{Clause, Operator, What, is_filed, prefix_range, token, word_range};
use super::search::Search;
use super::tokens::Tokens;
use squall_statement_context::{FulltextKey, FulltextReader};
use squall_types::{SqlError, SqlResult};
use std::borrow::Cow;
use std::collections::HashMap;

/// The logarithm's argument for a word that all rows have, which would weigh nothing.
const EVERY_ROW: f64 = 1.0001;

/// What words weigh in a table.
#[derive(Debug, Default)]
pub struct Weights {
    /// The IDF of each word that is searched for, in the order in which they are added up. A word and a prefix of the same letters are one.
    words: Vec<f64>,
    ordinals: HashMap<Vec<u8>, usize>,
}

impl Weights {
    /// Those of a search, by what its index holds.
    pub fn count(search: &Search, key: &FulltextKey, reader: &dyn FulltextReader) -> SqlResult<Weights> {
        let mut weights = Weights::default();
        let (Parser::Words(collation) | Parser::Ngrams(collation)) = search.parser else { return Ok(weights) };
        let rows = reader.row_count(key)?;
        let mut counts: Vec<u64> = Vec::new();
        let mut add = |word: &str, is_prefix: bool| {
            let next = counts.len();
            let ordinal = *weights.ordinals.entry(token(word, search.parser)).or_insert(next);
            if ordinal == next {
                counts.push(0);
            }
            let range = if is_prefix { prefix_range(word, collation) } else { Some(word_range(word, collation)) };
            // Each time that a word is searched for its rows are counted again, as InnoDB does.
            let found = range.map_or(Ok(0), |range| reader.entry_count(key, &range))?;
            counts[ordinal] = counts[ordinal].saturating_add(found);
            Ok::<(), SqlError>(())
        };
        each_word(&search.clauses, search.parser, &mut add)?;
        weights.words = counts.into_iter().map(|count| idf(rows, count)).collect();
        Ok(weights)
    }

    fn ordinal(&self, word: &str, parser: Parser) -> Option<usize> {
        self.ordinals.get(&token(word, parser)).copied()
    }
}

/// The IDF of a word that has this many entries.
fn idf(rows: u64, count: u64) -> f64 {
    match count {
        0 => 0.0,
        count if count == rows => EVERY_ROW.log10(),
        count => (rows.max(1) as f64 / count as f64).log10(),
    }
}

/// Visits the words of a search that an index has entries for, and whether each is a prefix: those of required clauses after the others.
fn each_word(clauses: &[Clause], parser: Parser, visit: &mut dyn FnMut(&str, bool) -> SqlResult<()>) -> SqlResult<()> {
    let in_order = clauses.iter().filter(|clause| clause.operator != Operator::Required);
    let required = clauses.iter().filter(|clause| clause.operator == Operator::Required);
    for clause in in_order.chain(required).filter(|clause| clause.operator != Operator::Excluded) {
        match &clause.what {
            What::Word(word) => visit(word, false)?,
            What::Prefix(start) => visit(start, true)?,
            What::Phrase(words) | What::Near(words, _) => {
                words.iter().filter(|word| is_filed(word, parser)).try_for_each(|word| visit(word, false))?;
            }
            What::Group(inner) => each_word(inner, parser, visit)?,
        }
    }
    Ok(())
}

/// A row as far as clauses have found it.
#[derive(Clone, Debug, Default)]
struct Found {
    /// What operators have added.
    rank: f32,
    /// How often each word stands there that was found, by ordinals; of documents, the clauses' relevance.
    words: Vec<(usize, f64)>,
}

impl Found {
    /// Takes in the words that another clause has found.
    fn merge(&mut self, other: Found) {
        for (word, value) in other.words {
            if !self.words.iter().any(|(known, _)| *known == word) {
                self.words.push((word, value));
            }
        }
    }

    fn adjust(&mut self, by: f32) {
        self.rank = (self.rank + by).clamp(-1.0, 1.0);
    }
}

impl Search {
    /// The relevance of a row with these texts; `None` if it does not match.
    pub fn relevance(&self, texts: &[Cow<'_, str>], weights: &Weights) -> Option<f64> {
        let tokens = Tokens::of(self.parser, &self.wanted, texts).ok()?;
        let mut ranking = Ranking { parser: self.parser, tokens: &tokens, weights, lines: 0 };
        let Found { rank, mut words } = ranking.list(&self.clauses)?;
        words.sort_by_key(|(word, _)| *word);
        let mut sum = rank;
        for (word, count) in words {
            let weight = match weights.words.get(word) {
                Some(idf) => count * idf * idf,
                None => count,
            };
            // InnoDB adds up numbers of 32 bits.
            sum += weight as f32;
        }
        Some(f64::from(sum))
    }
}

struct Ranking<'a> {
    parser: Parser,
    tokens: &'a Tokens<'a>,
    weights: &'a Weights,
    /// Lines of documents that were met: each has a number of its own.
    lines: usize,
}

impl Ranking<'_> {
    /// Evaluates some clauses on the row, in InnoDB's order: first the clauses that add rows, then the required ones.
    fn list(&mut self, clauses: &[Clause]) -> Option<Found> {
        let mut row: Option<Found> = None;
        for clause in clauses {
            let by = match clause.operator {
                Operator::Optional => 0.0,
                Operator::Raised => 1.0,
                Operator::Lowered | Operator::Negated => -1.0,
                Operator::Required | Operator::Excluded => continue,
            };
            let Some(found) = self.one(&clause.what) else { continue };
            match &mut row {
                Some(row) => row.merge(found),
                None if clause.operator == Operator::Negated => continue,
                None => row = Some(found),
            }
            if let Some(row) = row.as_mut().filter(|_| by != 0.0) {
                row.adjust(by);
            }
        }
        for clause in clauses.iter().filter(|clause| clause.operator == Operator::Required) {
            let found = self.one(&clause.what)?;
            match &mut row {
                Some(row) => {
                    row.rank += found.rank;
                    row.merge(found);
                }
                None => row = Some(found),
            }
        }
        let excluded = |clause: &Clause| clause.operator == Operator::Excluded;
        for clause in clauses.iter().filter(|clause| excluded(clause)) {
            if self.one(&clause.what).is_some() {
                return None;
            }
        }
        row
    }

    fn one(&mut self, what: &What) -> Option<Found> {
        let tokens = self.tokens;
        let words = match what {
            What::Group(clauses) => return self.list(clauses),
            What::Word(word) => vec![(word, tokens.word_count(&token(word, self.parser)))],
            What::Prefix(start) => vec![(start, tokens.prefix_count(start))],
            What::Phrase(words) | What::Near(words, _) => {
                if !tokens.has(what) {
                    return None;
                }
                let filed = words.iter().filter(|word| is_filed(word, self.parser));
                filed.map(|word| (word, tokens.word_count(&token(word, self.parser)))).collect()
            }
        };
        let mut found = Found::default();
        for (word, count) in words.into_iter().filter(|(_, count)| *count > 0) {
            let entry = match self.parser {
                Parser::Json => {
                    self.lines += 1;
                    (self.lines, 1.0 + (count as f64).ln())
                }
                _ => (self.weights.ordinal(word, self.parser)?, count as f64),
            };
            found.merge(Found { rank: 0.0, words: vec![entry] });
        }
        (!found.words.is_empty()).then_some(found)
    }
}
