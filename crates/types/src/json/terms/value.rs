//! Reads values from terms, so that documents need not be read.

use super::search::MemberPath;
use super::{
    BOOLEAN, CONTAINER, FLOATING, HASHED_WAY_END, IN_ARRAY, NAME_END, NULL, NUMBER, OFTEN, OTHERWISE, STRING,
    TermRange, WAY_END, WORD, is_own_fold, name_prefix, number_of_bytes, push_value, values,
};
use crate::Json;
use crate::json::number::NumberForm;
use crate::json::stored::at_members;
use crate::json::walk::Event;
use crate::json::{JsonError, quote};
use std::fmt;

/// Which values of documents are asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Wanted {
    /// The scalars of every member of this name, wherever it is, and of the arrays that it has.
    Name(String),
    /// Whatever is at this place, which is within no array.
    Path(MemberPath),
}

impl fmt::Display for Wanted {
    /// As JSON paths are written: `$**."a"`, `$."a"."b"`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Wanted::Name(name) => write!(f, "$**.{}", quote(name)),
            Wanted::Path(path) => {
                f.write_str("$")?;
                path.names().iter().try_for_each(|name| write!(f, ".{}", quote(name)))
            }
        }
    }
}

/// The value of a term.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Found {
    /// Nothing about values that are asked for.
    Nothing,
    /// A number, and whether it is written with a point or an exponent.
    Number {
        /// The number.
        value: f64,
        /// With a point or an exponent.
        floating: bool,
        /// How often it occurs.
        times: u8,
        /// Whether [`push_number`] writes it as the document does.
        as_printed: bool,
    },
    /// `null`.
    Null {
        /// How often it occurs.
        times: u8,
    },
    /// `true` or `false`.
    Bool {
        /// Which of them.
        truth: bool,
        /// How often it occurs.
        times: u8,
    },
    /// That the document has to be asked, by [`TermReader::look`].
    Look,
}

/// Reads the terms of one name.
#[derive(Clone, Debug)]
pub struct TermReader {
    wanted: Wanted,
    /// The beginning of terms.
    name: Vec<u8>,
    /// For a path the way that terms have to have; for a name what ways end in.
    way: Vec<u8>,
}

impl TermReader {
    /// A reader; `None` for the document itself, which is no member.
    pub fn new(wanted: Wanted) -> Option<TermReader> {
        let (name, way) = match &wanted {
            Wanted::Name(name) => {
                let own = if is_own_fold(name) { "" } else { name };
                (name_prefix(name), [own.as_bytes(), &[WAY_END]].concat())
            }
            Wanted::Path(path) => {
                let mut way = Vec::new();
                path.push_way(&mut way);
                (name_prefix(path.names().last()?), way)
            }
        };
        Some(TermReader { wanted, name, way })
    }

    /// What is asked for.
    pub fn wanted(&self) -> &Wanted {
        &self.wanted
    }

    /// The terms to read: those of scalars, and for a path also those of containers.
    pub fn range(&self) -> TermRange {
        let end = if matches!(self.wanted, Wanted::Name(_)) { CONTAINER } else { WORD };
        TermRange { low: self.name.clone(), high: Some([&self.name[..], &[end]].concat()), single: false }
    }

    /// The number that a term of [`TermReader::range`] has, if it is one.
    pub fn number(&self, term: &[u8]) -> Option<f64> {
        match term.get(self.name.len()..)?.split_first()? {
            (&NUMBER, rest) => Some(number_of_bytes(*rest.first_chunk()?)),
            _ => None,
        }
    }

    /// The first term of a number.
    pub fn from_number(&self, number: f64) -> Vec<u8> {
        [&self.name[..], &[NUMBER], &super::number_bytes(number)].concat()
    }

    /// What a term of [`TermReader::range`] says.
    pub fn read(&self, term: &[u8]) -> Found {
        let Some((mark, term)) = term.split_last() else { return Found::Nothing };
        let Some((kind, rest)) = term.get(self.name.len()..).and_then(<[u8]>::split_first) else {
            return Found::Nothing;
        };
        let by_path = matches!(self.wanted, Wanted::Path(_));
        let value_bytes = match *kind {
            NULL => 0,
            BOOLEAN => 1,
            NUMBER => 8,
            // What the array at the path is, its own term says.
            STRING | CONTAINER if by_path => {
                return if mark & IN_ARRAY == 0 && rest.ends_with(&self.way) { Found::Look } else { Found::Nothing };
            }
            STRING => return if self.may_end(rest) { Found::Look } else { Found::Nothing },
            _ => return Found::Nothing,
        };
        let Some((value, way)) = rest.split_at_checked(value_bytes) else { return Found::Nothing };
        if by_path && (mark & IN_ARRAY != 0 || way != self.way) || !by_path && !self.is_way_of_name(way) {
            return Found::Nothing;
        }
        let times = mark & OFTEN;
        if times == OFTEN || way.last() == Some(&HASHED_WAY_END) {
            return Found::Look;
        }
        match (*kind, value) {
            (NUMBER, value) => match value.first_chunk() {
                Some(bytes) => {
                    let (floating, as_printed) = (mark & FLOATING != 0, times != OTHERWISE);
                    Found::Number { value: number_of_bytes(*bytes), floating, times: times.max(1), as_printed }
                }
                None => Found::Nothing,
            },
            (BOOLEAN, [truth]) => Found::Bool { truth: *truth != 0, times },
            _ => Found::Null { times },
        }
    }

    /// Whether a way that ends here may be one of the name.
    fn may_end(&self, rest: &[u8]) -> bool {
        rest.ends_with(&self.way) || rest.last() == Some(&HASHED_WAY_END)
    }

    fn is_way_of_name(&self, way: &[u8]) -> bool {
        match way.last() {
            Some(&HASHED_WAY_END) => true,
            Some(&WAY_END) => {
                let own = way.iter().rposition(|byte| *byte == NAME_END).map_or(0, |end| end + 1);
                way[own..] == self.way
            }
            _ => false,
        }
    }

    /// Calls `found` with each value of a stored document that is asked for and that the term stands for, as it is stored.
    pub fn look(&self, document: &str, term: &[u8], mut found: impl FnMut(&str)) -> Result<(), JsonError> {
        let Some((_, term)) = term.split_last() else { return Ok(()) };
        match &self.wanted {
            Wanted::Path(path) => {
                let Some(text) = at_members(document, path.names().iter().map(String::as_str)) else { return Ok(()) };
                let mut is_it = None;
                values(text, |_, event| {
                    is_it.get_or_insert_with(|| self.is_term_of(term, event, |own| own.extend_from_slice(&self.way)));
                })?;
                if is_it == Some(true) {
                    found(text);
                }
                Ok(())
            }
            Wanted::Name(name) => values(document, |place, event| {
                let is_scalar = !matches!(event, Event::BeginArray | Event::BeginObject);
                if place.name == Some(name) && is_scalar && self.is_term_of(term, event, |own| place.push_way(own)) {
                    match event {
                        Event::Number(number) if number.form == NumberForm::Decimal => {
                            found(&number.value().to_stored())
                        }
                        Event::Number(number) => found(number.text),
                        Event::String(text) => found(&quote(text)),
                        Event::Typed(typed) => found(&typed.value().to_stored()),
                        Event::Bool(true) => found("true"),
                        Event::Bool(false) => found("false"),
                        _ => found("null"),
                    }
                }
            }),
        }
    }

    fn is_term_of(&self, term: &[u8], event: &Event<'_>, push_way: impl Fn(&mut Vec<u8>)) -> bool {
        let mut own = self.name.clone();
        push_value(event, &mut own);
        push_way(&mut own);
        own == term
    }
}

/// Appends a number as a document has it that [`Found::Number`] tells of.
pub fn push_number(value: f64, floating: bool, out: &mut String) {
    // Whole numbers in terms are exact.
    let number = if floating { Json::Double(value) } else { Json::Int(value as i64) };
    number.write_scalar(out);
}

#[cfg(test)]
mod tests {
    use super::super::{collect, collect_stored};
    use super::*;
    use crate::json::lines::Scalar;
    use crate::json::printed;
    use crate::json::stored::scalars_of;
    use crate::term_list::TermList;
    use crate::{Decimal, Time};
    use proptest::prelude::*;

    /// Documents of few names and values, so that they come again.
    fn document() -> impl Strategy<Value = Json> {
        let scalar = prop_oneof![
            Just(Json::Null),
            any::<bool>().prop_map(Json::Bool),
            (-3..3i64).prop_map(Json::Int),
            (-3..3i64).prop_map(|number| Json::Double(number as f64 / 2.0)),
            Just(Json::Double(-0.0)),
            any::<i64>().prop_map(Json::Int),
            any::<u64>().prop_map(Json::UInt),
            "[aA ]{0,3}".prop_map(Json::String),
            Just(Json::String("x".repeat(300))),
            (-300..300i64).prop_map(|digits| Json::Decimal(Box::new(Decimal::from_i128(digits.into(), 2)))),
            (0..3i64).prop_filter_map("a time", Time::from_micros).prop_map(Json::Time),
        ];
        scalar.prop_recursive(4, 60, 6, |inner| {
            let long = Just("l".repeat(90));
            let name = prop_oneof![Just("a".to_string()), Just("A".to_string()), "[aAé \x00]{0,2}", long];
            prop_oneof![
                proptest::collection::vec(inner.clone(), 0..6).prop_map(Json::Array),
                proptest::collection::vec((name, inner), 0..6).prop_map(|all| Json::Object(all.into_iter().collect())),
            ]
        })
    }

    fn text_of(scalar: &Scalar<'_>) -> String {
        match scalar {
            Scalar::Null => "null".to_string(),
            Scalar::Bool(truth) => truth.to_string(),
            Scalar::Number(number) => number.text.to_string(),
            Scalar::String(text) => quote(text),
        }
    }

    /// The values that the terms of a document tell of, in the order of their texts.
    fn told(document: &str, wanted: Wanted) -> Vec<String> {
        let mut terms = TermList::default();
        collect_stored(document, &mut terms).unwrap();
        let reader = TermReader::new(wanted).unwrap();
        let range = reader.range();
        let mut texts = Vec::new();
        for term in terms.iter().filter(|term| *term >= &range.low[..] && Some(*term) < range.high.as_deref()) {
            let mut push = |text: &str, times: u8| texts.extend((0..times).map(|_| text.to_string()));
            match reader.read(term) {
                Found::Nothing => {}
                Found::Number { as_printed: false, .. } => {
                    reader.look(document, term, |text| texts.push(text.to_string())).unwrap();
                }
                Found::Number { value, floating, times, .. } => {
                    let mut text = String::new();
                    push_number(value, floating, &mut text);
                    push(&text, times);
                }
                Found::Null { times } => push("null", times),
                Found::Bool { truth, times } => push(if truth { "true" } else { "false" }, times),
                Found::Look => reader.look(document, term, |text| texts.push(text.to_string())).unwrap(),
            }
        }
        texts.sort();
        texts
    }

    proptest! {
        #[test]
        fn terms_tell_what_documents_say(json in document()) {
            let text = json.to_stored();
            for name in ["a", "A", "", " ", "é", "\0", &"l".repeat(90)] {
                let mut expected = Vec::new();
                scalars_of(&text, name, |scalar| expected.push(text_of(&scalar))).unwrap();
                expected.sort();
                let mut told: Vec<String> =
                    told(&text, Wanted::Name(name.to_string())).iter().map(|text| printed(text).into_owned()).collect();
                told.sort();
                prop_assert_eq!(told, expected, "{:?} in {}", name, &text);
            }
            let long = "l".repeat(90);
            for names in [&["a"][..], &["A"], &[""], &["a", "a"], &["a", "A"], &[&long, &long], &[&long, &long, "a"]] {
                let path = MemberPath::new(names.iter().map(ToString::to_string).collect());
                let expected: Vec<String> = at_members(&text, names.iter().copied()).map(str::to_string).into_iter().collect();
                prop_assert_eq!(told(&text, Wanted::Path(path)), expected, "{:?} in {}", names, &text);
            }
        }
    }

    #[test]
    fn values_are_counted_and_the_rest_is_looked_up() {
        let found = |document: &str, name: &str| {
            let mut terms = TermList::default();
            collect(document, &mut terms).unwrap();
            let reader = TermReader::new(Wanted::Name(name.to_string())).unwrap();
            let of_name = terms.iter().filter(|term| term.starts_with(&reader.name));
            of_name.map(|term| reader.read(term)).collect::<Vec<_>>()
        };
        let number = |value, floating, times, as_printed| Found::Number { value, floating, times, as_printed };
        assert_eq!(found(r#"{"a": [5, 5, 5]}"#, "a"), [Found::Nothing, number(5.0, false, 3, true)]);
        assert_eq!(found(r#"{"a": [5, 5.0]}"#, "a"), [Found::Nothing, Found::Look]);
        assert_eq!(found(r#"{"a": 9007199254740993}"#, "a"), [Found::Look]);
        for (text, value, as_printed) in [
            ("2.5", 2.5, true),
            ("2.50", 2.5, false),
            ("2.0", 2.0, true),
            ("-0.0", 0.0, false),
            ("-0.25", -0.25, true),
            ("0.30000000000000004", 0.1 + 0.2, true),
            ("0.0000001", 1e-7, true),
            ("1e-7", 1e-7, false),
        ] {
            assert_eq!(found(&format!("{{\"a\": {text}}}"), "a"), [number(value, true, 1, as_printed)], "{text}");
        }
        assert_eq!(found(r#"{"a": [2.50, 2.50]}"#, "a"), [Found::Nothing, Found::Look]);
        assert_eq!(found(r#"{"a": "x"}"#, "a"), [Found::Look]);
        let many = format!("{{\"a\": [{}]}}", ["1"; 70].join(", "));
        assert_eq!(found(&many, "a"), [Found::Nothing, Found::Look]);
    }
}
