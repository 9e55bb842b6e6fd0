//! Values of SQL types that JSON text does not have: DECIMAL, dates, times and bytes. They print as a number or a string. A stored
//! document has a [mark](super::mark) before them.

use super::mark::{MARK, MARK_BYTES, TypeMark};
use super::{Json, print};
use crate::temporal::DateRules;
use crate::temporal::parse::{parse_date, parse_datetime, parse_time};
use crate::temporal::round::Fraction;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use memchr::memchr;
use std::borrow::Cow;

/// The protocol's numbers of types whose values are bytes.
pub(crate) const VARBINARY: u8 = 15;
pub(crate) const BIT: u8 = 16;
pub(crate) const TINY_BLOB: u8 = 249;
pub(crate) const MEDIUM_BLOB: u8 = 250;
pub(crate) const LONG_BLOB: u8 = 251;
pub(crate) const BLOB: u8 = 252;
const VAR_STRING: u8 = 253;
const STRING: u8 = 254;

/// A value that is stored as a string with a mark.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TypedText<'a> {
    /// What it is; not a DECIMAL.
    pub mark: TypeMark,
    /// Its characters.
    pub text: Cow<'a, str>,
}

impl TypedText<'_> {
    /// The value; a string where the text is of none.
    pub fn value(&self) -> Json {
        let rules = DateRules {
            no_zero_date: false,
            no_zero_in_date: false,
            allow_invalid: true,
            fraction: Fraction::Truncate,
        };
        let value = match self.mark {
            TypeMark::Date => parse_date(&self.text, rules).ok().map(|parsed| Json::Date(parsed.value)),
            TypeMark::Time => parse_time(&self.text).ok().map(|parsed| Json::Time(parsed.value)),
            TypeMark::DateTime => parse_datetime(&self.text, rules).ok().map(|parsed| Json::DateTime(parsed.value)),
            TypeMark::Bytes => opaque_of_text(&self.text).map(|(type_number, bytes)| Json::Opaque(type_number, bytes)),
            TypeMark::Decimal => None,
        };
        value.unwrap_or_else(|| Json::String(self.text.to_string()))
    }

    /// Appends the mark and the string, as stored documents have them.
    pub fn write_stored(&self, out: &mut String) {
        self.mark.write(out);
        print::write_string(&self.text, out);
    }
}

/// `JSON_TYPE()` of bytes.
pub(super) fn bytes_type_name(type_number: u8) -> &'static str {
    match type_number {
        VARBINARY | TINY_BLOB | MEDIUM_BLOB | LONG_BLOB | BLOB | VAR_STRING | STRING => "BLOB",
        BIT => "BIT",
        _ => "OPAQUE",
    }
}

/// The protocol's number of the type, and the bytes, of `base64:type15:…`, which is how MySQL prints bytes in documents.
pub fn opaque_of_text(text: &str) -> Option<(u8, Vec<u8>)> {
    let (number, encoded) = text.strip_prefix("base64:type")?.split_once(':')?;
    Some((number.parse().ok()?, STANDARD.decode(encoded).ok()?))
}

/// Whether a stored document differs from its text.
pub fn has_marks(stored: &str) -> bool {
    memchr(MARK, stored.as_bytes()).is_some()
}

/// A document's text from its stored form, which differs from it in marks only.
pub fn printed(stored: &str) -> Cow<'_, str> {
    let mut rest = stored;
    let mut out = String::new();
    while let Some(at) = memchr(MARK, rest.as_bytes()) {
        out.push_str(rest.get(..at).unwrap_or_default());
        rest = rest.get(at + MARK_BYTES..).unwrap_or_default();
    }
    if out.is_empty() && rest.len() == stored.len() {
        return Cow::Borrowed(stored);
    }
    out.push_str(rest);
    Cow::Owned(out)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Date, DateTime, Decimal, Time};
    use proptest::prelude::*;

    fn typed() -> impl Strategy<Value = Json> {
        let date = || (0..10_000u16, 0..13u8, 0..32u8).prop_filter_map("a date", |(y, m, d)| Date::from_parts(y, m, d));
        prop_oneof![
            (any::<i64>(), 0..19u8)
                .prop_map(|(digits, scale)| Json::Decimal(Box::new(Decimal::from_i128(digits.into(), scale)))),
            date().prop_map(Json::Date),
            (date(), 0..86_400_000_000i64)
                .prop_filter_map("a moment", |(date, micros)| DateTime::from_date_and_micros(date, micros))
                .prop_map(Json::DateTime),
            (-3_020_399_000_000..=3_020_399_000_000i64)
                .prop_filter_map("a time", Time::from_micros)
                .prop_map(Json::Time),
            (any::<u8>(), proptest::collection::vec(any::<u8>(), 0..9))
                .prop_map(|(type_number, bytes)| Json::Opaque(type_number, bytes)),
        ]
    }

    proptest! {
        #[test]
        fn values_come_back_as_they_were(value in typed(), name in "[a\u{1}\"]{0,3}") {
            let json = Json::Object([(name, Json::Array(vec![value, Json::Null]))].into_iter().collect());
            let stored = json.to_stored();
            prop_assert_eq!(&Json::parse_stored(&stored), &Ok(json.clone()));
            prop_assert_eq!(&*printed(&stored), &json.to_text());
            // A reader of its text sees numbers and strings.
            prop_assert!(Json::parse(&json.to_text()).is_ok());
            // Marks are no part of the language.
            prop_assert!(Json::parse(&stored).is_err());
        }

        #[test]
        fn no_stored_text_is_too_odd(text in "[\u{1}NDTMB\"0-9:.\\[\\] -]{0,20}") {
            let _ = Json::parse_stored(&text);
            printed(&text);
        }
    }
}
