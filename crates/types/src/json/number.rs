//! Numbers as documents have them.

use super::Json;
use crate::Decimal;

/// A number as it is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NumberText<'a> {
    /// Its text.
    pub text: &'a str,
    /// What kind of number it is.
    pub form: NumberForm,
}

/// Kinds of numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NumberForm {
    /// With neither point nor exponent.
    Whole,
    /// With a point or an exponent.
    Floating,
    /// A DECIMAL, by its mark.
    Decimal,
}

impl<'a> NumberText<'a> {
    /// A number without a mark.
    pub(super) fn unmarked(text: &'a str, whole: bool) -> NumberText<'a> {
        NumberText { text, form: if whole { NumberForm::Whole } else { NumberForm::Floating } }
    }

    /// The number.
    pub fn value(&self) -> Json {
        match self.form {
            NumberForm::Decimal => Json::Decimal(Box::new(Decimal::parse(self.text).value)),
            form => number_of(self.text, form == NumberForm::Whole).unwrap_or(Json::Null),
        }
    }
}

/// A number from its text; `None` beyond DOUBLE.
pub(super) fn number_of(text: &str, whole: bool) -> Option<Json> {
    if whole {
        if let Ok(number) = text.parse() {
            return Some(Json::Int(number));
        }
        if let Ok(number) = text.parse() {
            return Some(Json::UInt(number));
        }
    }
    text.parse::<f64>().ok().filter(|number| number.is_finite()).map(Json::Double)
}
