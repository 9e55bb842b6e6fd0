//! The terms of a document in a JSON index. There is a term for each scalar, with the name of its innermost member and its value; for
//! each member that is an array or an object; and for each word of a string with several words.
//!
//! ```text
//! term   name, folded | 00 01 | kind | value | way | mark, 1 byte
//! kind 1  null, kind 2 boolean (1 byte), kind 3 number (8 bytes, in order), kind 4 string (folded | 00 01),
//! kind 5  array or object, kind 6 word of a string (folded | 00 01)
//! way     the names of the members around the value's own one, outermost first, an FF after each |
//!         its own name, unless that is equal to the folded name | FE
//!         a long way: its hash, 8 bytes | FD; of a value outside all members: FC; of a word: empty
//! mark    bit 7: in an array; bit 6: number with a point or an exponent, or a DECIMAL; other bits: number of occurrences, OTHERWISE, or OFTEN
//! ```
//!
//! Arrays do not count as steps of a way. *Folded* means lower case. A byte 00 inside is written as 00 FF. A long name or string is
//! cut, and ends in a hash of the whole. Without its mark, no term is the beginning of another, and a document has each term once: its
//! occurrences have one mark. The mark OFTEN means that a reader must look into the document. It is used for many occurrences, for
//! equal numbers that are written differently, and for numbers that the eight bytes cannot hold exactly.
//!
//! Reading order: this file (the terms of a document), [`search`] (the terms for a condition), [`value`] (the value in a term).

pub mod search;
pub mod value;

use super::number::{NumberForm, NumberText};
use super::typed::TypedText;
use super::walk::{Event, walk, walk_stored};
use super::{Json, JsonError};
use crate::term_list::TermList;
use std::borrow::Cow;

/// Bytes of a name or a string that a term keeps; the rest is in its hash.
const TEXT_BYTES_MAX: usize = 240;

/// Bytes of a way that a term keeps; longer ones are hashes.
const WAY_BYTES_MAX: usize = 160;

// None of these is a byte of a text in UTF-8.
const NAME_END: u8 = 0xFF;
const WAY_END: u8 = 0xFE;
const HASHED_WAY_END: u8 = 0xFD;
const NO_MEMBER: u8 = 0xFC;

/// In an array, at any level.
const IN_ARRAY: u8 = 0x80;
/// A number with a point or an exponent.
const FLOATING: u8 = 0x40;
/// Occurrences that a mark can tell of are less; this many, or a value that its term does not tell exactly.
const OFTEN: u8 = 0x3F;
/// In place of one occurrence: the number is exact, and written in another way than numbers are printed.
const OTHERWISE: u8 = 0;

/// Whole numbers of at most this size are exactly the floating point number that is in their term.
const EXACT_MAX: u64 = 1 << 53;

/// Digits of a DECIMAL that the nearest double tells.
const EXACT_DIGITS_MAX: u8 = 15;

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
    /// Whether a term is in it.
    pub fn contains(&self, term: &[u8]) -> bool {
        *self.low <= *term && self.high.as_ref().is_none_or(|high| *term < **high)
    }

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

/// Whether a name is what [`push_text`] makes of it.
fn is_own_fold(name: &str) -> bool {
    let plain = name.bytes().all(|byte| byte.is_ascii() && !byte.is_ascii_uppercase() && byte != 0);
    plain && name.len() <= TEXT_BYTES_MAX && !name.ends_with(' ')
}

/// Appends a way: `around` are the names of the members around, each with its end, `name` is the value's own.
fn push_way(around: &[u8], name: &str, out: &mut Vec<u8>) {
    let own = if is_own_fold(name) { "" } else { name };
    if around.len() + own.len() <= WAY_BYTES_MAX {
        out.extend_from_slice(around);
        out.extend_from_slice(own.as_bytes());
        return out.push(WAY_END);
    }
    let hash = hash(hash(HASH_START, around), name.as_bytes());
    // No byte of it is an end.
    out.extend_from_slice(&hash.to_be_bytes().map(|byte| byte & 0x7F));
    out.push(HASHED_WAY_END);
}

/// The mark of a term that comes again.
fn mark_again(kept: u8, other: u8) -> u8 {
    let flags = kept & !OFTEN;
    let (times, further) = (kept & OFTEN, other & OFTEN);
    if flags != other & !OFTEN || times == OTHERWISE || further == OTHERWISE {
        return flags | OFTEN;
    }
    flags | (times + further).min(OFTEN)
}

/// The mark of a number, apart from where it is.
fn number_mark(text: NumberText<'_>, value: &Json) -> u8 {
    match value {
        Json::Int(number) if number.unsigned_abs() <= EXACT_MAX && text.text != "-0" => 1,
        Json::UInt(number) if *number <= EXACT_MAX => 1,
        Json::Double(_) if text.form == NumberForm::Floating => {
            FLOATING | if is_as_printed(text.text, value) { 1 } else { OTHERWISE }
        }
        // This many digits come back from a double. Its text has the mark of a DECIMAL, which numbers are not printed with.
        Json::Decimal(number) if number.precision() <= EXACT_DIGITS_MAX => FLOATING | OTHERWISE,
        // A longer DECIMAL, or a whole number beyond 64 bits, which is a floating point number, too.
        _ => OFTEN,
    }
}

/// Whether a number with a point or an exponent is written as numbers are printed. One that was a DECIMAL may have zeros
/// at its end.
fn is_as_printed(text: &str, value: &Json) -> bool {
    if text.ends_with('0') && !text.ends_with(".0") {
        return false;
    }
    // Of fifteen digits each comes back.
    let is_plain = match text.as_bytes() {
        [b'1'..=b'9', ..] | [b'0', b'.', b'1'..=b'9', ..] => text.len() <= 16 && !text.contains(['e', 'E']),
        _ => false,
    };
    is_plain || {
        let mut printed = String::with_capacity(24);
        value.write_scalar(&mut printed);
        // Terms have one zero.
        printed == text && number_of(value) != Some(0.0)
    }
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

/// The number of [`number_bytes`].
fn number_of_bytes(bytes: [u8; 8]) -> f64 {
    let ordered = u64::from_be_bytes(bytes);
    f64::from_bits(if ordered >> 63 == 1 { ordered & !(1 << 63) } else { !ordered })
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

/// A value on the way through a document.
struct Place<'p> {
    /// The name of the innermost member that it is in, directly or by way of arrays.
    name: Option<&'p str>,
    /// The names of the members around that one, each with its end.
    around: &'p [u8],
    in_array: bool,
}

impl Place<'_> {
    fn push_way(&self, term: &mut Vec<u8>) {
        match self.name {
            Some(name) => push_way(self.around, name, term),
            None => term.push(NO_MEMBER),
        }
    }
}

struct OpenObject<'a> {
    /// The name whose value is next.
    name: Cow<'a, str>,
    /// Bytes of the names around it that are of the object around this one.
    outer: usize,
}

/// Calls `visit` with every value of a stored document: scalars and the beginnings of containers, in order.
fn values<'a>(stored: &'a str, visit: impl FnMut(&Place<'_>, &Event<'a>)) -> Result<(), JsonError> {
    walk_stored(stored, visitor(visit))
}

fn visitor<'a>(mut visit: impl FnMut(&Place<'_>, &Event<'a>)) -> impl FnMut(Event<'a>) {
    let (mut open, mut around, mut arrays) = (Vec::<OpenObject<'a>>::new(), Vec::new(), 0usize);
    move |event| {
        match event {
            Event::EndArray => return arrays = arrays.saturating_sub(1),
            Event::EndObject => return around.truncate(open.pop().map_or(0, |object| object.outer)),
            Event::Name(name) => {
                if let Some(object) = open.last_mut() {
                    object.name = name;
                }
                return;
            }
            _ => {}
        }
        let name = open.last().map(|object| &*object.name);
        visit(&Place { name, around: &around, in_array: arrays > 0 }, &event);
        match event {
            Event::BeginArray => arrays += 1,
            Event::BeginObject => {
                let outer = around.len();
                if let Some(object) = open.last() {
                    around.extend_from_slice(object.name.as_bytes());
                    around.push(NAME_END);
                }
                open.push(OpenObject { name: Cow::Borrowed(""), outer });
            }
            _ => {}
        }
    }
}

/// Appends the kind of a value and the value; tells its mark apart from the place.
fn push_value(event: &Event<'_>, term: &mut Vec<u8>) -> u8 {
    match event {
        Event::Bool(truth) => term.extend_from_slice(&[BOOLEAN, u8::from(*truth)]),
        Event::Number(number) => {
            let value = number.value();
            term.push(NUMBER);
            term.extend_from_slice(&number_bytes(number_of(&value).unwrap_or(0.0)));
            return number_mark(*number, &value);
        }
        Event::String(text) | Event::Typed(TypedText { text, .. }) => {
            term.push(STRING);
            push_text(text, term);
        }
        Event::Null => term.push(NULL),
        _ => term.push(CONTAINER),
    }
    1
}

/// Adds the terms of a document; none if its text turns out to be none.
pub fn collect(text: &str, terms: &mut TermList) -> Result<(), JsonError> {
    let before = terms.len();
    walk(text, collector(terms)).inspect_err(|_| terms.truncate(before))
}

/// The same of a stored document.
pub fn collect_stored(stored: &str, terms: &mut TermList) -> Result<(), JsonError> {
    let before = terms.len();
    walk_stored(stored, collector(terms)).inspect_err(|_| terms.truncate(before))
}

fn collector<'a>(terms: &mut TermList) -> impl FnMut(Event<'a>) + use<'a, '_> {
    // The name, as terms begin, and the value.
    let (mut name, mut value) = (Vec::with_capacity(32), Vec::with_capacity(32));
    visitor(move |place, event| {
        if place.name.is_none() && matches!(event, Event::BeginArray | Event::BeginObject) {
            return;
        }
        name.clear();
        push_text(place.name.unwrap_or_default(), &mut name);
        value.clear();
        let mark = push_value(event, &mut value) | if place.in_array { IN_ARRAY } else { 0 };
        if let Event::String(text) | Event::Typed(TypedText { text, .. }) = event
            && text.contains(char::is_whitespace)
        {
            for word in text.split_whitespace() {
                terms.push_marked(1, mark_again, |term| {
                    term.extend_from_slice(&name);
                    term.push(WORD);
                    push_text(word, term);
                });
            }
        }
        terms.push_marked(mark, mark_again, |term| {
            term.extend_from_slice(&name);
            term.extend_from_slice(&value);
            place.push_way(term);
        });
    })
}

#[cfg(test)]
mod tests {
    use super::search::{MemberPath, line_terms};
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
