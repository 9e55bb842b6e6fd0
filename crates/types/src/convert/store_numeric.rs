//! Stores values into integer, DECIMAL, FLOAT, DOUBLE, BIT and YEAR columns.

use super::context::{ConversionContext, Stored};
use super::number::{parse_f64, parse_integer_rounded, round_f64, temporal_to_decimal};
use crate::{Decimal, ErrorCode, IntWidth, SqlError, Value};
use std::borrow::Cow;

/// A value seen as a number to store.
enum Numeric<'a> {
    Integer(i128),
    Decimal(Decimal),
    Double(f64),
    Text(Cow<'a, str>),
    /// A JSON value that is no scalar.
    NoScalar,
}

fn numeric(value: &Value) -> Numeric<'_> {
    match value {
        Value::Null => Numeric::Integer(0),
        Value::Int(number) => Numeric::Integer(i128::from(*number)),
        Value::UInt(number) => Numeric::Integer(i128::from(*number)),
        Value::Double(number) => Numeric::Double(*number),
        Value::Decimal(number) => Numeric::Decimal(*number),
        Value::String(text) => Numeric::Text(Cow::Borrowed(text)),
        Value::Bytes(bytes) => Numeric::Text(String::from_utf8_lossy(bytes)),
        Value::Date(_) | Value::DateTime(_) | Value::Time(_) => {
            temporal_to_decimal(value).map_or(Numeric::NoScalar, Numeric::Decimal)
        }
        Value::Json(document) => match document.to_json().ok().and_then(|json| json.to_number_value()) {
            Some(Value::String(text)) => Numeric::Text(Cow::Owned(text)),
            Some(Value::Int(number)) => Numeric::Integer(i128::from(number)),
            Some(Value::UInt(number)) => Numeric::Integer(i128::from(number)),
            Some(Value::Double(number)) => Numeric::Double(number),
            Some(Value::Decimal(number)) => Numeric::Decimal(number),
            _ => Numeric::NoScalar,
        },
    }
}

fn out_of_range(value: Value, context: &ConversionContext<'_>) -> Stored {
    Stored::strict(value, context.error(ErrorCode::DataOutOfRange))
}

pub(super) fn truncated(value: Value, context: &ConversionContext<'_>) -> Stored {
    Stored::strict(value, context.error(ErrorCode::DataTruncated))
}

/// A JSON array, object or null for a column of a number (3156).
fn no_scalar(value: Value, kind: &str, context: &ConversionContext<'_>) -> Stored {
    let error = SqlError::new(ErrorCode::InvalidJsonValueForCast, &[&kind, &context.column, &context.row]);
    Stored::strict(value, error)
}

/// Smallest and largest value of an integer type.
pub(super) fn integer_range(width: IntWidth, unsigned: bool) -> (i128, i128) {
    let bits = width.bits();
    if unsigned { (0, (1i128 << bits) - 1) } else { (-(1i128 << (bits - 1)), (1i128 << (bits - 1)) - 1) }
}

/// Rounds a number to an integer; out of 128 bits it becomes a very large one of its sign.
fn rounded(number: Option<i128>, negative: bool) -> i128 {
    number.unwrap_or(if negative { i128::MIN } else { i128::MAX })
}

pub(super) fn store_integer(value: Value, width: IntWidth, unsigned: bool, context: &ConversionContext<'_>) -> Stored {
    // Values that are what the column holds are most of all.
    match (&value, unsigned, width) {
        (Value::Int(_), false, IntWidth::Big) | (Value::UInt(_), true, IntWidth::Big) => return Stored::plain(value),
        _ => {}
    }
    let (low, high) = integer_range(width, unsigned);
    let made = |number: i128| if unsigned { Value::UInt(number as u64) } else { Value::Int(number as i64) };
    let number = match numeric(&value) {
        Numeric::Integer(number) => number,
        Numeric::Decimal(number) => rounded(number.to_i128(), number.is_negative()),
        Numeric::Double(number) => rounded(round_f64(number), number < 0.0),
        Numeric::Text(text) => {
            let parsed = parse_integer_rounded(&text);
            if parsed.no_number {
                return Stored::strict(made(0), context.incorrect_for_field("integer", &text));
            }
            if parsed.overflow || !(low..=high).contains(&parsed.value) {
                return out_of_range(made(parsed.value.clamp(low, high)), context);
            }
            if parsed.truncated {
                return truncated(made(parsed.value), context);
            }
            parsed.value
        }
        Numeric::NoScalar => return no_scalar(made(0), "INTEGER", context),
    };
    if (low..=high).contains(&number) {
        Stored::plain(made(number))
    } else {
        out_of_range(made(number.clamp(low, high)), context)
    }
}

pub(super) fn store_decimal(
    value: Value,
    precision: u8,
    scale: u8,
    unsigned: bool,
    context: &ConversionContext<'_>,
) -> Stored {
    let zero = || Value::Decimal(Decimal::from_i128(0, scale));
    let mut garbage = false;
    let number = match numeric(&value) {
        Numeric::Integer(number) => Decimal::from_i128(number, 0),
        Numeric::Decimal(number) => number,
        Numeric::Double(number) => match Decimal::from_f64(number) {
            Some(number) => number,
            None if number.is_nan() => return out_of_range(zero(), context),
            None if number < 0.0 => Decimal::largest(Decimal::PRECISION_MAX, 0).negate(),
            None => Decimal::largest(Decimal::PRECISION_MAX, 0),
        },
        Numeric::Text(text) => {
            let parsed = Decimal::parse(&text);
            if parsed.no_number {
                return Stored::strict(zero(), context.incorrect_for_field("decimal", &text));
            }
            garbage = parsed.truncated;
            // Digits that did not fit 65 do not fit the column either.
            if parsed.overflow { parsed.value.fit(Decimal::PRECISION_MAX, 0).value } else { parsed.value }
        }
        Numeric::NoScalar => return no_scalar(zero(), "DECIMAL", context),
    };
    if unsigned && number.is_negative() && !number.rescale(scale).is_some_and(Decimal::is_zero) {
        return out_of_range(zero(), context);
    }
    let fitted = number.fit(precision, scale);
    let made = Value::Decimal(fitted.value);
    if fitted.clamped {
        out_of_range(made, context)
    } else if garbage {
        truncated(made, context)
    } else if fitted.rounded {
        Stored::note(made, context.error(ErrorCode::DataTruncated))
    } else {
        Stored::plain(made)
    }
}

/// The double to store; `Err` has the value to store for text that is not a number, with its condition.
fn double_of(value: &Value, context: &ConversionContext<'_>) -> Result<(f64, bool), Box<Stored>> {
    Ok(match numeric(value) {
        Numeric::Integer(number) => (number as f64, false),
        Numeric::Decimal(number) => (number.to_f64(), false),
        Numeric::Double(number) => (number, false),
        Numeric::Text(text) => {
            let parsed = parse_f64(&text);
            if parsed.overflow {
                return Err(Box::new(out_of_range(Value::Double(parsed.value), context)));
            }
            (parsed.value, parsed.truncated || parsed.no_number)
        }
        Numeric::NoScalar => return Err(Box::new(no_scalar(Value::Double(0.0), "DOUBLE", context))),
    })
}

pub(super) fn store_double(
    value: Value,
    unsigned: bool,
    digits: Option<(u8, u8)>,
    context: &ConversionContext<'_>,
) -> Stored {
    match double_of(&value, context) {
        Ok((number, garbage)) => finish_double(number, garbage, f64::MAX, unsigned, digits, context),
        Err(stored) => *stored,
    }
}

pub(super) fn store_float(
    value: Value,
    unsigned: bool,
    digits: Option<(u8, u8)>,
    context: &ConversionContext<'_>,
) -> Stored {
    let narrow = |value: Value| match value {
        Value::Double(number) => Value::Double(f64::from((number as f32).clamp(f32::MIN, f32::MAX))),
        other => other,
    };
    let stored = match double_of(&value, context) {
        Ok((number, garbage)) => finish_double(number, garbage, f64::from(f32::MAX), unsigned, digits, context),
        Err(stored) => *stored,
    };
    Stored { value: narrow(stored.value), condition: stored.condition }
}

fn finish_double(
    number: f64,
    garbage: bool,
    largest: f64,
    unsigned: bool,
    digits: Option<(u8, u8)>,
    context: &ConversionContext<'_>,
) -> Stored {
    if number.is_nan() {
        return out_of_range(Value::Double(0.0), context);
    }
    if unsigned && number < 0.0 {
        return out_of_range(Value::Double(0.0), context);
    }
    let (number, largest) = match digits {
        None => (number, largest),
        Some((width, decimals)) => {
            let unit = 10f64.powi(i32::from(decimals));
            let limit = 10f64.powi(i32::from(width) - i32::from(decimals)) - 1.0 / unit;
            let scaled = number.fract() * unit;
            (number.trunc() + scaled.round_ties_even() / unit, limit.min(largest))
        }
    };
    if number.abs() > largest {
        out_of_range(Value::Double(largest.copysign(number)), context)
    } else if garbage {
        truncated(Value::Double(number), context)
    } else {
        Stored::plain(Value::Double(number))
    }
}

pub(super) fn store_bit(value: Value, width: u8, context: &ConversionContext<'_>) -> Stored {
    let mask = if width >= 64 { u64::MAX } else { (1 << width) - 1 };
    let bits = match &value {
        // Strings are bit patterns, not digits.
        Value::String(text) => bits_of(text.as_bytes()),
        Value::Bytes(bytes) => bits_of(bytes),
        other => match numeric(other) {
            Numeric::Integer(number) => u64::try_from(number).or_else(|_| i64::try_from(number).map(|n| n as u64)).ok(),
            Numeric::Decimal(number) => {
                let whole = rounded(number.to_i128(), number.is_negative());
                i64::try_from(whole).map(|n| n as u64).or_else(|_| u64::try_from(whole)).ok()
            }
            Numeric::Double(number) => {
                let whole = rounded(round_f64(number), number < 0.0);
                i64::try_from(whole).map(|n| n as u64).or_else(|_| u64::try_from(whole)).ok()
            }
            Numeric::Text(text) => bits_of(text.as_bytes()),
            Numeric::NoScalar => None,
        },
    };
    match bits {
        Some(bits) if bits & !mask == 0 => Stored::plain(Value::UInt(bits)),
        _ => Stored::strict(Value::UInt(mask), context.error(ErrorCode::DataTooLong)),
    }
}

/// The number that bytes make, the highest first; `None` over 64 bits.
fn bits_of(bytes: &[u8]) -> Option<u64> {
    let start = bytes.iter().position(|byte| *byte != 0).unwrap_or(bytes.len());
    let bytes = &bytes[start..];
    (bytes.len() <= 8).then(|| bytes.iter().fold(0, |bits, byte| bits << 8 | u64::from(*byte)))
}

pub(super) fn store_year(value: Value, context: &ConversionContext<'_>) -> Stored {
    let mut garbage = false;
    let number = match &value {
        Value::Date(date) => i128::from(date.year()),
        Value::DateTime(moment) => i128::from(moment.date().year()),
        Value::Time(_) => i128::from(context.current_date.year()),
        other => match numeric(other) {
            Numeric::Integer(number) => number,
            Numeric::Decimal(number) => rounded(number.to_i128(), number.is_negative()),
            Numeric::Double(number) => rounded(round_f64(number), number < 0.0),
            Numeric::Text(text) => {
                let parsed = parse_integer_rounded(&text);
                if parsed.no_number {
                    return Stored::strict(Value::UInt(0), context.incorrect_for_field("integer", &text));
                }
                garbage = parsed.truncated;
                // '0' and '00' are 2000, '0000' is the year zero.
                let four_digits = text.trim().len() >= 4;
                if parsed.value == 0 && !four_digits { 2000 } else { parsed.value }
            }
            Numeric::NoScalar => return no_scalar(Value::UInt(0), "INTEGER", context),
        },
    };
    let year = match number {
        0 => 0,
        1..70 => number + 2000,
        70..100 => number + 1900,
        1901..=2155 => number,
        _ => return out_of_range(Value::UInt(0), context),
    };
    let made = Value::UInt(year as u64);
    if garbage { truncated(made, context) } else { Stored::plain(made) }
}
