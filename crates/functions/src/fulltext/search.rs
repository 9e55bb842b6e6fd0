//! A parsed search.

use super::Parser;
use super::boolean;
use super::clause::{Clause, Operator, What, is_filed, phrase, prefix_range, word, word_range};
use super::tokens::{Tokens, Wanted};
use squall_types::json::terms::TermRange;
use squall_types::json::terms::search::{exact_line_terms, line_prefix_terms, line_terms};
use squall_types::{CollationId, SqlResult, ngrams, words};
use std::borrow::Cow;

/// A search, taken apart.
#[derive(Clone, Debug, PartialEq)]
pub struct Search {
    /// How texts are taken apart.
    pub parser: Parser,
    /// Its parts.
    pub clauses: Vec<Clause>,
    pub(super) wanted: Wanted,
}

impl Search {
    /// Takes the text of a search in natural language apart.
    pub fn natural(parser: Parser, text: &str) -> Search {
        let mut clauses = Vec::new();
        match parser {
            Parser::Words(collation) => {
                let mut rest = text;
                while let Some((before, quoted, behind)) = split_quoted(rest) {
                    clauses.extend(filed_words(before, collation));
                    clauses.extend(phrase(quoted, collation, None));
                    rest = behind;
                }
                clauses.extend(filed_words(rest, collation));
            }
            Parser::Ngrams(_) => {
                clauses.extend(ngrams::pieces(text).filter(|piece| ngrams::is_filed(piece)).map(word));
            }
            Parser::Json => clauses.extend(text.split_whitespace().map(word)),
        }
        Search::of(parser, clauses.into_iter().map(|what| Clause { operator: Operator::Optional, what }).collect())
    }

    /// Takes the text of a search in boolean mode apart.
    ///
    /// # Errors
    /// 1064 where it breaks InnoDB's grammar, 209 if groups are too deep within groups.
    pub fn boolean(parser: Parser, text: &str) -> SqlResult<Search> {
        let clauses = match parser {
            Parser::Json => boolean::lines(text),
            Parser::Words(_) | Parser::Ngrams(_) => boolean::words(text, parser)?,
        };
        Ok(Search::of(parser, clauses))
    }

    /// A search for any of these words.
    pub fn any_of(parser: Parser, words: impl Iterator<Item = String>) -> Search {
        let clauses = words.map(|word| Clause { operator: Operator::Optional, what: What::Word(word) });
        Search::of(parser, clauses.collect())
    }

    fn of(parser: Parser, clauses: Vec<Clause>) -> Search {
        Search { parser, wanted: Wanted::of(&clauses, parser), clauses }
    }

    /// Whether a row with these texts matches. Text that is no document does not.
    pub fn is_met(&self, texts: &[Cow<'_, str>]) -> bool {
        Tokens::of(self.parser, &self.wanted, texts).is_ok_and(|tokens| are_met(&self.clauses, &tokens))
    }

    /// The terms of the words or lines that are searched for, if any of them is enough and there is nothing else: rows match that have
    /// one of these terms, and no others. An index tells that without the rows.
    pub fn any_word(&self) -> Option<Vec<TermRange>> {
        let is_one = self.clauses.len() == 1;
        let mut terms = Vec::with_capacity(self.clauses.len());
        for clause in &self.clauses {
            match (&clause.what, clause.operator, self.parser) {
                (_, Operator::Excluded | Operator::Negated, _) => return None,
                (_, Operator::Required, _) if !is_one => return None,
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
        let required: Vec<&Clause> = clauses.iter().filter(|clause| clause.operator == Operator::Required).collect();
        if !required.is_empty() {
            // What an index cannot tell is left to the look at the row.
            let every: Vec<_> =
                required.iter().filter_map(|clause| self.terms_of_one(&clause.what)).flatten().collect();
            return (!every.is_empty()).then_some(every);
        }
        let mut any = Vec::new();
        for clause in clauses.iter().filter(|clause| clause.operator.adds()) {
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
            (What::Phrase(lines) | What::Near(lines, _), Parser::Json) => {
                lines.iter().map(|line| line_terms(line)).collect()
            }
            (What::Word(word), Parser::Words(collation) | Parser::Ngrams(collation)) => {
                vec![vec![word_range(word, collation)]]
            }
            (What::Prefix(start), Parser::Words(collation) | Parser::Ngrams(collation)) => {
                vec![vec![prefix_range(start, collation)?]]
            }
            (What::Phrase(phrase) | What::Near(phrase, _), Parser::Words(collation) | Parser::Ngrams(collation)) => {
                every_word(phrase, self.parser, collation)?
            }
        })
    }
}

/// Whether a row with these tokens matches.
fn are_met(clauses: &[Clause], tokens: &Tokens<'_>) -> bool {
    let mut matches = false;
    let mut has_required = false;
    for clause in clauses {
        match clause.operator {
            Operator::Negated => {}
            Operator::Required if !is_met(&clause.what, tokens) => return false,
            Operator::Required => has_required = true,
            Operator::Excluded if is_met(&clause.what, tokens) => return false,
            Operator::Excluded => {}
            Operator::Optional | Operator::Raised | Operator::Lowered => {
                matches = matches || is_met(&clause.what, tokens);
            }
        }
    }
    matches || has_required
}

fn is_met(what: &What, tokens: &Tokens<'_>) -> bool {
    match what {
        What::Group(clauses) => are_met(clauses, tokens),
        other => tokens.has(other),
    }
}

/// What stands before two quotes, between and behind them.
fn split_quoted(text: &str) -> Option<(&str, &str, &str)> {
    let (before, rest) = text.split_once('"')?;
    let (quoted, behind) = rest.split_once('"')?;
    Some((before, quoted, behind))
}

fn filed_words(text: &str, collation: CollationId) -> impl Iterator<Item = What> {
    words::runs(text, collation).filter(|run| words::is_word(run)).map(word)
}

/// The term of each word of a phrase that counts; `None` if there is none.
fn every_word(phrase: &[String], parser: Parser, collation: CollationId) -> Option<Vec<Vec<TermRange>>> {
    let counted = phrase.iter().filter(|word| is_filed(word, parser));
    let every: Vec<_> = counted.map(|word| vec![word_range(word, collation)]).collect();
    (!every.is_empty()).then_some(every)
}
