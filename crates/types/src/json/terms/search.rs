//! Finds the terms of documents that satisfy a condition.

use super::{
    BOOLEAN, CONTAINER, NAME_END, NO_MEMBER, NULL, NUMBER, STRING, TEXT_BYTES_MAX, TermRange, WORD, fold, name_prefix,
    number_bytes, number_of, push_text, push_way,
};
use crate::Json;

/// The members on the way to a place, by their names. Steps into arrays do not count.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MemberPath {
    names: Vec<String>,
}

impl MemberPath {
    /// Of names.
    pub fn new(names: Vec<String>) -> MemberPath {
        MemberPath { names }
    }

    /// Whether it is that of the document itself.
    pub fn is_root(&self) -> bool {
        self.names.is_empty()
    }

    /// One member further.
    pub fn member(&self, name: &str) -> MemberPath {
        let mut names = self.names.clone();
        names.push(name.to_string());
        MemberPath { names }
    }

    /// The names, outermost first.
    pub fn names(&self) -> &[String] {
        &self.names
    }

    fn leaf(&self) -> &str {
        self.names.last().map_or("", String::as_str)
    }

    /// Appends the way to the place, as terms have it.
    pub(super) fn push_way(&self, term: &mut Vec<u8>) {
        let Some((own, outer)) = self.names.split_last() else { return term.push(NO_MEMBER) };
        let mut around = Vec::new();
        for name in outer {
            around.extend_from_slice(name.as_bytes());
            around.push(NAME_END);
        }
        push_way(&around, own, term);
    }

    /// Terms of documents that have this scalar here, maybe in an array; `None` for arrays and objects.
    pub fn equal(&self, scalar: &Json) -> Option<TermRange> {
        let mut term = name_prefix(self.leaf());
        match scalar {
            Json::Null => term.push(NULL),
            Json::Bool(truth) => term.extend_from_slice(&[BOOLEAN, u8::from(*truth)]),
            value => {
                if let Some(text) = value.characters() {
                    term.push(STRING);
                    push_text(&text, &mut term);
                } else {
                    term.push(NUMBER);
                    term.extend_from_slice(&number_bytes(number_of(value)?));
                }
            }
        }
        self.push_way(&mut term);
        Some(TermRange::prefix(term, true))
    }

    /// Terms of documents that have something here that is not less than a number: numbers, strings, containers, booleans.
    pub fn greater(&self, number: &Json) -> Option<Vec<TermRange>> {
        let of_kind = |kind: u8| {
            let mut term = name_prefix(self.leaf());
            term.push(kind);
            TermRange::prefix(term, false)
        };
        let numbers = self.numbers(Some(number), None)?;
        Some(vec![of_kind(BOOLEAN), numbers, of_kind(STRING), of_kind(CONTAINER)])
    }

    /// Terms of documents that have something here that is not greater than a number: numbers and `null`.
    pub fn less(&self, number: &Json) -> Option<Vec<TermRange>> {
        let mut null = name_prefix(self.leaf());
        null.push(NULL);
        Some(vec![TermRange::prefix(null, false), self.numbers(None, Some(number))?])
    }

    /// Terms of documents that have a number between these here, each of them included; `None` is no end.
    pub fn numbers(&self, low: Option<&Json>, high: Option<&Json>) -> Option<TermRange> {
        let mut kind = name_prefix(self.leaf());
        kind.push(NUMBER);
        let all = TermRange::prefix(kind.clone(), false);
        let with = |number: f64| [&kind[..], &number_bytes(number)].concat();
        let low = match low {
            Some(number) => with(number_of(number)?),
            None => all.low,
        };
        let high = match high {
            Some(number) => TermRange::prefix(with(number_of(number)?), false).high,
            None => all.high,
        };
        Some(TermRange { low, high, single: false })
    }

    /// Terms of documents that have anything here; `None` for the document itself.
    pub fn exists(&self) -> Option<TermRange> {
        self.names.last().map(|leaf| TermRange::prefix(name_prefix(leaf), false))
    }
}

/// Terms of documents with a line `name=value` among those of the document's scalars and words, whichever `=` of the line
/// it is that ends the name. Empty for a text without one: no line is so.
pub fn line_terms(line: &str) -> Vec<TermRange> {
    let mut ranges = Vec::new();
    for (at, _) in line.match_indices('=') {
        let (name, value) = (&line[..at], &line[at + 1..]);
        let mut push = |kind: u8, bytes: &[u8]| {
            let mut term = name_prefix(name);
            term.push(kind);
            term.extend_from_slice(bytes);
            ranges.push(TermRange::prefix(term, false));
        };
        let mut text = Vec::new();
        push_text(value, &mut text);
        push(STRING, &text);
        push(WORD, &text);
        match &*fold(value) {
            "null" => push(NULL, &[]),
            "true" => push(BOOLEAN, &[1]),
            "false" => push(BOOLEAN, &[0]),
            number => {
                if let Some(number) = number.parse::<f64>().ok().filter(|number| number.is_finite()) {
                    push(NUMBER, &number_bytes(number));
                }
            }
        }
    }
    ranges
}

/// The same where a document has one of the terms only if it has the line; `None` where it may have another one: a number that is
/// written in another way, or a long text with the same hash.
pub fn exact_line_terms(line: &str) -> Option<Vec<TermRange>> {
    let is_exact = |at: usize| {
        let (name, value) = (&line[..at], &line[at + 1..]);
        let is_number = value.parse::<f64>().is_ok_and(f64::is_finite);
        !value.trim_end_matches(' ').is_empty()
            && !is_number
            && fold(name).len() <= TEXT_BYTES_MAX
            && fold(value).len() <= TEXT_BYTES_MAX
    };
    line.match_indices('=').all(|(at, _)| is_exact(at)).then(|| line_terms(line))
}

/// Terms of documents with a line that begins like this; `None` where that says nothing of the name.
pub fn line_prefix_terms(start: &str) -> Option<Vec<TermRange>> {
    if !start.contains('=') {
        return None;
    }
    Some(start.match_indices('=').map(|(at, _)| TermRange::prefix(name_prefix(&start[..at]), false)).collect())
}
