//! What a JSON index files a document under: a term for each scalar, with the name of its innermost member and its value,
//! one for each member that is a container, and one for each word of a string of several.
//!
//! ```text
//! term   name, folded | 00 01 | kind | value | hash of the path, 8 bytes (not of words)
//! kind 1  null, kind 2 boolean (1 byte), kind 3 number (8 bytes, in order), kind 4 string (folded | 00 01),
//! kind 5  array or object, kind 6 word of a string (folded | 00 01)
//! ```
//!
//! A path is the names of the members on the way; arrays do not count. Folded is without case. The byte 00 within is
//! 00 FF. Long names and strings are cut and end in a hash of the whole. No term is the beginning of another.

use super::walk::{Event, walk};
use super::{Json, JsonError};
use crate::term_list::TermList;
use std::borrow::Cow;

/// Bytes of a name or a string that a term keeps; the rest is in its hash.
const TEXT_BYTES_MAX: usize = 240;

const NULL: u8 = 1;
const BOOLEAN: u8 = 2;
const NUMBER: u8 = 3;
const STRING: u8 = 4;
const CONTAINER: u8 = 5;
const WORD: u8 = 6;

/// A range of terms: from the first on and before the second, or to the end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TermRange {
    /// First term.
    pub low: Vec<u8>,
    /// First term after the range.
    pub high: Option<Vec<u8>>,
    /// Whether a document has at most one term in it.
    pub single: bool,
}

impl TermRange {
    /// All terms that begin with a prefix.
    pub fn prefix(prefix: Vec<u8>, single: bool) -> TermRange {
        let mut high = prefix.clone();
        // No prefix is all FF: each begins with a folded name and its end.
        while let Some(last) = high.pop() {
            if last < u8::MAX {
                high.push(last + 1);
                return TermRange { low: prefix, high: Some(high), single };
            }
        }
        TermRange { low: prefix, high: None, single }
    }
}

/// Text without case, as terms hold it.
pub fn fold(text: &str) -> Cow<'_, str> {
    if text.bytes().all(|byte| byte.is_ascii() && !byte.is_ascii_uppercase()) {
        Cow::Borrowed(text)
    } else {
        Cow::Owned(text.to_lowercase())
    }
}

/// The same everywhere and for ever: FNV-1a.
fn hash(start: u64, bytes: &[u8]) -> u64 {
    bytes.iter().fold(start, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3))
}

const HASH_START: u64 = 0xcbf2_9ce4_8422_2325;

/// The hash of a path, from that of the path around it.
fn path_hash(outer: u64, name: &str) -> u64 {
    hash(hash(outer, name.as_bytes()), &[0xFF])
}

fn push_text(text: &str, out: &mut Vec<u8>) {
    // Comparisons of texts may not see blanks at the end.
    let text = text.trim_end_matches(' ');
    if text.len() <= TEXT_BYTES_MAX && text.is_ascii() && !text.as_bytes().contains(&0) {
        let start = out.len();
        out.extend_from_slice(text.as_bytes());
        out[start..].make_ascii_lowercase();
        return out.extend_from_slice(&[0, 1]);
    }
    let folded = fold(text);
    let mut kept = folded.len().min(TEXT_BYTES_MAX);
    while !folded.is_char_boundary(kept) {
        kept -= 1;
    }
    for byte in folded.as_bytes().iter().take(kept) {
        out.push(*byte);
        if *byte == 0 {
            out.push(0xFF);
        }
    }
    if kept < folded.len() {
        // Letters of a hash are no text that ends here.
        out.push(0xFF);
        out.extend_from_slice(&hash(HASH_START, folded.as_bytes()).to_be_bytes().map(|byte| byte | 1));
    }
    out.extend_from_slice(&[0, 1]);
}

/// A number's bytes, in the order of numbers.
fn number_bytes(number: f64) -> [u8; 8] {
    // Both zeros are one number.
    let number = if number == 0.0 { 0.0 } else { number };
    let bits = number.to_bits();
    let ordered = if bits >> 63 == 1 { !bits } else { bits | 1 << 63 };
    ordered.to_be_bytes()
}

fn number_of(number: &Json) -> Option<f64> {
    Some(match number {
        Json::Int(number) => *number as f64,
        Json::UInt(number) => *number as f64,
        Json::Double(number) => *number,
        Json::Decimal(number) => number.to_f64(),
        _ => return None,
    })
}

fn name_prefix(name: &str) -> Vec<u8> {
    let mut term = Vec::with_capacity(32);
    push_text(name, &mut term);
    term
}

/// What the terms of a document are made of on the way through it.
struct Collector<'a, 't> {
    terms: &'t mut TermList,
    open: Vec<OpenObject<'a>>,
    /// The name of a value, as terms begin.
    prefix: Vec<u8>,
}

struct OpenObject<'a> {
    /// The hash of the path around it.
    outer: u64,
    /// The name whose value is next, and the hash of its path.
    name: Cow<'a, str>,
    path: u64,
}

impl<'a> Collector<'a, '_> {
    fn take(&mut self, event: Event<'a>) {
        match event {
            Event::EndArray => return,
            Event::EndObject => {
                self.open.pop();
                return;
            }
            Event::Name(name) => {
                if let Some(open) = self.open.last_mut() {
                    open.path = path_hash(open.outer, &name);
                    open.name = name;
                }
                return;
            }
            _ => {}
        }
        let (name, path) = self.open.last().map_or(("", HASH_START), |open| (&*open.name, open.path));
        let Collector { terms, prefix, .. } = self;
        prefix.clear();
        push_text(name, prefix);
        let mut push = |kind: u8, write: &dyn Fn(&mut Vec<u8>)| {
            terms.push_with(|term| {
                term.extend_from_slice(prefix);
                term.push(kind);
                write(term);
                if kind != WORD {
                    term.extend_from_slice(&path.to_be_bytes());
                }
            });
        };
        match event {
            Event::BeginObject | Event::BeginArray => {
                if !self.open.is_empty() {
                    push(CONTAINER, &|_| {});
                }
                if event == Event::BeginObject {
                    self.open.push(OpenObject { outer: path, name: Cow::Borrowed(""), path });
                }
            }
            Event::Bool(truth) => push(BOOLEAN, &|term| term.push(u8::from(truth))),
            Event::Number(number) => {
                let bytes = number_bytes(number_of(&number.value()).unwrap_or(0.0));
                push(NUMBER, &|term| term.extend_from_slice(&bytes));
            }
            Event::String(text) => {
                if text.contains(char::is_whitespace) {
                    for word in text.split_whitespace() {
                        push(WORD, &|term| push_text(word, term));
                    }
                }
                push(STRING, &|term| push_text(&text, term));
            }
            _ => push(NULL, &|_| {}),
        }
    }
}

/// Adds the terms of a document; none if it turns out to be none.
pub fn collect(document: &str, terms: &mut TermList) -> Result<(), JsonError> {
    let before = terms.len();
    let mut collector = Collector { terms, open: Vec::new(), prefix: Vec::with_capacity(32) };
    let walked = walk(document, |event| collector.take(event));
    if walked.is_err() {
        terms.truncate(before);
    }
    walked
}

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

    fn leaf(&self) -> &str {
        self.names.last().map_or("", String::as_str)
    }

    fn hash(&self) -> u64 {
        self.names.iter().fold(HASH_START, |outer, name| path_hash(outer, name))
    }

    /// Terms of documents that have this scalar here, maybe in an array; `None` for arrays and objects.
    pub fn equal(&self, scalar: &Json) -> Option<TermRange> {
        let mut term = name_prefix(self.leaf());
        match scalar {
            Json::Null => term.push(NULL),
            Json::Bool(truth) => term.extend_from_slice(&[BOOLEAN, u8::from(*truth)]),
            Json::String(text) => {
                term.push(STRING);
                push_text(text, &mut term);
            }
            number => {
                term.push(NUMBER);
                term.extend_from_slice(&number_bytes(number_of(number)?));
            }
        }
        term.extend_from_slice(&self.hash().to_be_bytes());
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

/// Terms of documents with a line that begins like this; `None` where that says nothing of the name.
pub fn line_prefix_terms(start: &str) -> Option<Vec<TermRange>> {
    if !start.contains('=') {
        return None;
    }
    Some(start.match_indices('=').map(|(at, _)| TermRange::prefix(name_prefix(&start[..at]), false)).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn found(document: &str, range: &TermRange) -> bool {
        let mut terms = TermList::default();
        collect(document, &mut terms).unwrap();
        terms.iter().any(|term| term >= &range.low[..] && range.high.as_ref().is_none_or(|high| term < &high[..]))
    }

    fn path(names: &[&str]) -> MemberPath {
        MemberPath::new(names.iter().map(ToString::to_string).collect())
    }

    #[test]
    fn documents_are_found_by_path_and_value() {
        let document = r#"{"a": {"b": [1, {"c": "Xy z"}, [2.5, null]]}, "t": true, "e": {}}"#;
        let json = |text: &str| Json::parse(text).unwrap();
        for (names, value, expected) in [
            (&["a", "b"][..], "1", true),
            (&["a", "b"], "2.5", true),
            (&["a", "b"], "null", true),
            (&["a", "b"], "3", false),
            (&["b"], "1", false),
            (&["a", "b", "c"], "\"Xy z\"", true),
            (&["a", "b", "c"], "\"Xy\"", false),
            (&["t"], "true", true),
            (&["t"], "false", false),
        ] {
            let range = path(names).equal(&json(value)).unwrap();
            assert_eq!(found(document, &range), expected, "{names:?} {value}");
        }
        for (names, low, high, expected) in [
            (&["a", "b"][..], Some("2"), None, true),
            (&["a", "b"], Some("2"), Some("2.4"), false),
            (&["a", "b"], None, Some("-1"), false),
            (&["a", "b"], None, Some("1"), true),
        ] {
            let (low, high) = (low.map(json), high.map(json));
            let range = path(names).numbers(low.as_ref(), high.as_ref()).unwrap();
            assert_eq!(found(document, &range), expected, "{names:?} {low:?} {high:?}");
        }
        for (name, expected) in [("e", true), ("a", true), ("c", true), ("d", false)] {
            assert_eq!(found(document, &path(&[name]).exists().unwrap()), expected, "{name}");
        }
        let line = |line: &str| line_terms(line).iter().any(|range| found(document, range));
        assert!(line("C=xY Z") && line("c=z") && line("b=2.50") && line("b=NULL") && line("t=TRUE"));
        assert!(!line("c=y") && !line("z") && !line("b=true"));
    }

    proptest! {
        #[test]
        fn numbers_keep_their_order(left in any::<f64>(), right in any::<f64>()) {
            prop_assume!(left.is_finite() && right.is_finite());
            prop_assert_eq!(number_bytes(left).cmp(&number_bytes(right)), left.partial_cmp(&right).unwrap());
        }

        #[test]
        fn no_term_begins_another(names in proptest::collection::vec("[a-c\\x00\u{1}]{0,3}", 1..6), long in 0..300usize) {
            let members: Vec<String> = names
                .iter()
                .map(|name| format!("{}: {}", super::super::quote(name), super::super::quote(&(name.clone() + &"x".repeat(long)))))
                .collect();
            let mut terms = TermList::default();
            collect(&format!("{{{}}}", members.join(", ")), &mut terms).unwrap();
            let mut terms: Vec<&[u8]> = terms.iter().collect();
            terms.sort_unstable();
            for pair in terms.windows(2) {
                prop_assert!(!pair[1].starts_with(pair[0]));
            }
        }
    }
}
