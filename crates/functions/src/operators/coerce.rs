//! Takes a value as another kind of value, as MySQL does with arguments of functions and operators. A value that does not fit gives a
//! warning (an error in a strict write) and becomes the nearest value.

use crate::wrong_value::report;
use squall_statement_context::StatementContext;
use squall_types::convert::number::round_f64;
use squall_types::convert::{self, parse_f64, parse_integer};
use squall_types::json::Document;
use squall_types::temporal::DateRules;
use squall_types::temporal::parse::{datetime_from_number, parse_datetime, parse_time, time_from_number};
use squall_types::{Charset, Date, DateTime, Decimal, ErrorCode, SqlError, SqlResult, SqlType, Time, Value};
use std::borrow::Cow;

fn truncated(kind: &str, text: &str, context: &StatementContext) -> SqlResult<()> {
    report(SqlError::new(ErrorCode::TruncatedWrongValue, &[&kind, &text]), context)
}

/// The text of a string value; byte strings that are not UTF-8 have their bad bytes replaced.
fn text_of(value: &Value) -> Option<Cow<'_, str>> {
    match value {
        Value::String(text) => Some(Cow::Borrowed(text)),
        Value::Json(document) => Some(document.text()),
        Value::Bytes(bytes) => Some(String::from_utf8_lossy(bytes)),
        _ => None,
    }
}

/// As a double; `None` is NULL.
pub fn to_double(value: &Value, _ty: &SqlType, context: &StatementContext) -> SqlResult<Option<f64>> {
    Ok(Some(match value {
        Value::Null => return Ok(None),
        Value::Int(value) => *value as f64,
        Value::UInt(value) => *value as f64,
        Value::Double(value) => *value,
        Value::Decimal(value) => value.to_f64(),
        Value::Date(value) => value.to_number() as f64,
        Value::DateTime(value) => value.to_number() as f64 + f64::from(value.microsecond()) / 1e6,
        Value::Time(value) => {
            let fraction = f64::from(value.microsecond()) / 1e6;
            let number = value.to_number() as f64;
            if value.is_negative() { number - fraction } else { number + fraction }
        }
        Value::Json(document) => {
            return to_double(&number_of_document(document, "DOUBLE", context)?, &SqlType::Null, context);
        }
        Value::String(_) | Value::Bytes(_) => {
            let text = text_of(value).unwrap_or_default();
            let parsed = parse_f64(&text);
            if parsed.no_number || parsed.truncated || parsed.overflow {
                truncated("DOUBLE", &text, context)?;
            }
            parsed.value + 0.0
        }
    }))
}

/// A document as a number; if it is not a number, 0 with a warning that calls it `kind`.
fn number_of_document(document: &Document, kind: &str, context: &StatementContext) -> SqlResult<Value> {
    match document.to_json().ok().and_then(|json| json.to_number_value()) {
        Some(value) => Ok(value),
        None => {
            truncated(kind, &document.text(), context)?;
            Ok(Value::Int(0))
        }
    }
}

/// As an integer of either sign, fractions rounded; `None` is NULL.
pub fn to_integer(value: &Value, ty: &SqlType, context: &StatementContext) -> SqlResult<Option<i128>> {
    Ok(Some(match value {
        Value::Null => return Ok(None),
        Value::Int(value) => i128::from(*value),
        Value::UInt(value) => i128::from(*value),
        Value::Double(number) => rounded(*number),
        Value::Decimal(value) => value.to_i128().unwrap_or(if value.is_negative() { i128::MIN } else { i128::MAX }),
        Value::Date(value) => i128::from(value.to_number()),
        Value::DateTime(_) | Value::Time(_) => match to_decimal(value, ty, context)? {
            Some(number) => number.to_i128().unwrap_or(0),
            None => return Ok(None),
        },
        Value::Json(document) => return to_integer(&number_of_document(document, "INTEGER", context)?, ty, context),
        Value::String(_) | Value::Bytes(_) => {
            let text = text_of(value).unwrap_or_default();
            let parsed = parse_integer(&text);
            if parsed.no_number || parsed.truncated || parsed.overflow {
                truncated("INTEGER", &text, context)?;
            }
            parsed.value
        }
    }))
}

/// Half to even; at most the limits.
fn rounded(number: f64) -> i128 {
    round_f64(number).unwrap_or(if number < 0.0 { i128::MIN } else { i128::MAX })
}

/// As a signed 64-bit integer, at most the limits; `None` is NULL.
pub fn to_i64(value: &Value, ty: &SqlType, context: &StatementContext) -> SqlResult<Option<i64>> {
    let number = to_integer(value, ty, context)?;
    Ok(number.map(|number| number.clamp(i128::from(i64::MIN), i128::from(i64::MAX)) as i64))
}

/// As a decimal; `None` is NULL.
pub fn to_decimal(value: &Value, _ty: &SqlType, context: &StatementContext) -> SqlResult<Option<Decimal>> {
    let with_micros = |whole: i64, micros: u32, negative: bool| {
        let micros = i128::from(micros);
        let whole = i128::from(whole) * 1_000_000;
        Decimal::from_i128(if negative { whole - micros } else { whole + micros }, 6)
    };
    Ok(Some(match value {
        Value::Null => return Ok(None),
        Value::Int(value) => Decimal::from_i128(i128::from(*value), 0),
        Value::UInt(value) => Decimal::from_i128(i128::from(*value), 0),
        Value::Double(number) => Decimal::from_f64(*number).unwrap_or_else(|| {
            let largest = Decimal::largest(Decimal::PRECISION_MAX, 0);
            if *number < 0.0 { largest.negate() } else { largest }
        }),
        Value::Decimal(value) => *value,
        Value::Date(value) => Decimal::from_i128(i128::from(value.to_number()), 0),
        Value::DateTime(value) => with_micros(value.to_number(), value.microsecond(), false),
        Value::Time(value) => with_micros(value.to_number(), value.microsecond(), value.is_negative()),
        Value::Json(document) => {
            return to_decimal(&number_of_document(document, "DECIMAL", context)?, &SqlType::Null, context);
        }
        Value::String(_) | Value::Bytes(_) => {
            let text = text_of(value).unwrap_or_default();
            let parsed = Decimal::parse(&text);
            if parsed.no_number || parsed.truncated || parsed.overflow {
                truncated("DECIMAL", &text, context)?;
            }
            parsed.value
        }
    }))
}

/// As characters; `None` is NULL. The type tells digits of fractions, zero fill and the members of ENUM and SET.
pub fn to_text<'a>(value: &'a Value, ty: &SqlType) -> Option<Cow<'a, str>> {
    Some(match value {
        Value::Null => return None,
        Value::String(text) => Cow::Borrowed(text),
        Value::Json(document) => document.text(),
        Value::Bytes(bytes) if ty.digit_bytes().is_none() => String::from_utf8_lossy(bytes),
        _ => Cow::Owned(convert::to_text(value, ty)),
    })
}

/// As bytes, those of its character set for a text; `None` is NULL.
pub fn to_bytes<'a>(value: &'a Value, ty: &SqlType) -> Option<Cow<'a, [u8]>> {
    match (value, ty) {
        (Value::Bytes(bytes), _) => Some(Cow::Borrowed(bytes)),
        (Value::String(text), SqlType::String { collation, .. }) => Some(match collation.charset() {
            Charset::Utf8mb4 | Charset::Utf8mb3 => Cow::Borrowed(text.as_bytes()),
            charset => {
                let mut bytes = Vec::with_capacity(text.len());
                charset.encode(text, &mut bytes);
                Cow::Owned(bytes)
            }
        }),
        (Value::UInt(_), SqlType::Bit { .. }) => {
            let mut bytes = Vec::new();
            convert::write_text(value, ty, &mut bytes);
            Some(Cow::Owned(bytes))
        }
        _ => to_text(value, ty).map(|text| match text {
            Cow::Borrowed(text) => Cow::Borrowed(text.as_bytes()),
            Cow::Owned(text) => Cow::Owned(text.into_bytes()),
        }),
    }
}

/// The rules for dates in function arguments: zero parts pass, days that do not exist only with the mode that allows
/// them.
pub fn argument_rules(context: &StatementContext) -> DateRules {
    DateRules { no_zero_date: false, no_zero_in_date: false, ..DateRules::from(context.settings.sql_mode) }
}

/// The current date and time in the session's time zone.
pub fn now(context: &StatementContext) -> DateTime {
    context.settings.time_zone.from_unix_micros(context.now_micros).unwrap_or_default()
}

/// As a date and time; `None` is NULL, also for text that is none (with a warning).
pub fn to_datetime(value: &Value, ty: &SqlType, context: &StatementContext) -> SqlResult<Option<DateTime>> {
    let rules = argument_rules(context);
    Ok(match &*convert::temporal_source(value, ty) {
        Value::Null => None,
        Value::DateTime(value) => Some(*value),
        Value::Date(date) => Some(date.at_midnight()),
        Value::Time(time) => time.on_date(now(context).date()),
        Value::Int(_) | Value::UInt(_) | Value::Decimal(_) | Value::Double(_) => {
            let number = to_decimal(value, ty, context)?.unwrap_or(Decimal::ZERO);
            let whole = number.truncate(0).and_then(|whole| whole.unscaled().to_i128());
            let parsed = whole
                .and_then(|whole| i64::try_from(whole).ok())
                .and_then(|whole| datetime_from_number(whole, rules).ok());
            match parsed {
                Some(parsed) => {
                    let micros = number.to_i128_at(6).unwrap_or(0).rem_euclid(1_000_000);
                    let base = parsed.value;
                    DateTime::from_date_and_micros(base.date(), base.micros_of_day() + micros as i64)
                }
                None => {
                    let text = to_text(value, ty).unwrap_or_default();
                    incorrect("datetime", &text, context)?;
                    None
                }
            }
        }
        value @ (Value::String(_) | Value::Bytes(_) | Value::Json(_)) => {
            let text = text_of(value).unwrap_or_default();
            match parse_datetime(&text, rules) {
                Ok(parsed) => {
                    if parsed.truncated {
                        truncated("datetime", &text, context)?;
                    }
                    parsed.value.with_fsp(parsed.nanos, 6, rules.fraction)
                }
                Err(_) => {
                    incorrect("datetime", &text, context)?;
                    None
                }
            }
        }
    })
}

/// As a date; `None` is NULL.
pub fn to_date(value: &Value, ty: &SqlType, context: &StatementContext) -> SqlResult<Option<Date>> {
    match value {
        Value::Date(date) => Ok(Some(*date)),
        _ => Ok(to_datetime(value, ty, context)?.map(DateTime::date)),
    }
}

/// As a time; `None` is NULL.
pub fn to_time(value: &Value, ty: &SqlType, context: &StatementContext) -> SqlResult<Option<Time>> {
    Ok(match &*convert::temporal_source(value, ty) {
        Value::Null => None,
        Value::Time(time) => Some(*time),
        Value::DateTime(value) => Some(value.time()),
        Value::Date(_) => Some(Time::default()),
        Value::Int(_) | Value::UInt(_) | Value::Decimal(_) | Value::Double(_) => {
            let number = to_decimal(value, ty, context)?.unwrap_or(Decimal::ZERO);
            let whole = number.truncate(0).and_then(|whole| whole.unscaled().to_i128());
            let parsed =
                whole.and_then(|whole| i64::try_from(whole).ok()).and_then(|whole| time_from_number(whole).ok());
            match parsed {
                Some(parsed) => {
                    if parsed.clamped {
                        truncated("time", &to_text(value, ty).unwrap_or_default(), context)?;
                    }
                    let fraction = number.to_i128_at(6).unwrap_or(0) % 1_000_000;
                    Some(Time::from_micros_clamped(parsed.value.to_micros() + fraction as i64))
                }
                None => {
                    incorrect("time", &to_text(value, ty).unwrap_or_default(), context)?;
                    None
                }
            }
        }
        value @ (Value::String(_) | Value::Bytes(_) | Value::Json(_)) => {
            let text = text_of(value).unwrap_or_default();
            match parse_time(&text) {
                Ok(parsed) => {
                    if parsed.truncated || parsed.clamped {
                        truncated("time", &text, context)?;
                    }
                    let fraction = DateRules::from(context.settings.sql_mode).fraction;
                    Some(parsed.value.with_fsp(parsed.nanos, 6, fraction))
                }
                Err(_) => {
                    incorrect("time", &text, context)?;
                    None
                }
            }
        }
    })
}

/// Warning 1292 of a text that is no date.
pub fn incorrect(kind: &str, text: &str, context: &StatementContext) -> SqlResult<()> {
    report(SqlError::new(ErrorCode::IncorrectWrongValue, &[&kind, &text]), context)
}
