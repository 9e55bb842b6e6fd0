//! Stores values into DATE, TIME, DATETIME and TIMESTAMP columns.

use super::context::{ConversionContext, Severity, Stored};
use super::number::value_to_decimal;
use super::text::to_text;
use crate::json::Json;
use crate::temporal::calendar::UNIX_EPOCH_DAY;
use crate::temporal::parse::{
    ParseProblem, Parsed, datetime_from_number, parse_datetime, parse_time, time_from_number,
};
use crate::temporal::{DateRules, MICROS_PER_DAY};
use crate::temporal::{MICROS_PER_SECOND, TimeZone};
use crate::{Date, DateTime, Decimal, ErrorCode, SqlError, SqlType, Time, Value};
use std::borrow::Cow;

/// A condition that in strict mode is "Incorrect date value …" and otherwise tells how the value was changed.
fn incorrect(
    stored: Value,
    kind: &str,
    original: &Value,
    warning: ErrorCode,
    context: &ConversionContext<'_>,
) -> Stored {
    let error = context.incorrect_value(kind, &to_text(original, &SqlType::Null));
    Stored::with(stored, Severity::Strict, error, context.error(warning))
}

/// The code of the warning for a problem outside strict mode.
fn warning_of(problem: ParseProblem) -> ErrorCode {
    match problem {
        ParseProblem::Malformed => ErrorCode::DataTruncated,
        ParseProblem::OutOfRange | ParseProblem::ZeroDate => ErrorCode::DataOutOfRange,
    }
}

/// The text that is read as a date or time, if the value is one to read.
pub(super) fn text_of(value: &Value) -> Option<Cow<'_, str>> {
    match value {
        Value::String(text) => Some(Cow::Borrowed(text)),
        Value::Bytes(bytes) => Some(String::from_utf8_lossy(bytes)),
        Value::Json(document) => Some(document.text()),
        _ => None,
    }
}

/// Whole part, microseconds and the nanoseconds behind them of a number's fraction.
fn split_number(value: &Value) -> Option<(i64, i64, u16)> {
    if let Value::Int(number) = value {
        return Some((*number, 0, 0));
    }
    let number: Decimal = value_to_decimal(value)?;
    let scaled = number.truncate(9)?.to_i128_at(9)?;
    let whole = i64::try_from(scaled / 1_000_000_000).ok()?;
    let nanos = (scaled % 1_000_000_000).unsigned_abs();
    Some((whole, (nanos / 1000) as i64, (nanos % 1000) as u16))
}

/// What a date or time is made of: the date, time or text that a document is, the text of an ENUM or SET, any other value as it
/// is.
pub fn temporal_source<'a>(value: &'a Value, sql_type: &SqlType) -> Cow<'a, Value> {
    if let (Value::UInt(_), SqlType::Enum { .. } | SqlType::Set { .. }) = (value, sql_type) {
        return Cow::Owned(Value::String(to_text(value, sql_type)));
    }
    without_document(value)
}

fn without_document(value: &Value) -> Cow<'_, Value> {
    let Value::Json(document) = value else { return Cow::Borrowed(value) };
    let scalar = document.to_json().ok().and_then(|json| match json {
        Json::String(text) => Some(Value::String(text)),
        json => json.to_temporal_value(),
    });
    scalar.map_or(Cow::Borrowed(value), Cow::Owned)
}

/// Any value as a datetime in the session's time zone, before rounding.
pub(super) fn read_datetime(
    value: &Value,
    rules: DateRules,
    time_zone: &TimeZone,
    current_date: Date,
) -> Result<Parsed<DateTime>, ParseProblem> {
    let plain = |value: DateTime, has_other_part: bool| Parsed {
        value,
        nanos: 0,
        truncated: false,
        clamped: false,
        has_other_part,
        offset_seconds: None,
    };
    match &*without_document(value) {
        Value::Date(date) => rules.check(*date).map(|()| plain(date.at_midnight(), false)),
        Value::DateTime(moment) => rules.check(moment.date()).map(|()| plain(*moment, true)),
        Value::Time(time) => {
            time.on_date(current_date).map(|moment| plain(moment, true)).ok_or(ParseProblem::OutOfRange)
        }
        other => match text_of(other) {
            Some(text) => {
                let parsed = parse_datetime(&text, rules)?;
                match parsed.offset_seconds {
                    None => Ok(parsed),
                    // With a displacement it is that moment, wherever the session is.
                    Some(offset) => {
                        let utc = parsed.value.to_micros()
                            - UNIX_EPOCH_DAY * MICROS_PER_DAY
                            - i64::from(offset) * MICROS_PER_SECOND;
                        let value = time_zone.from_unix_micros(utc).ok_or(ParseProblem::OutOfRange)?;
                        Ok(Parsed { value, ..parsed })
                    }
                }
            }
            None => {
                let (whole, micros, nanos) = split_number(other).ok_or(ParseProblem::OutOfRange)?;
                let parsed = datetime_from_number(whole, rules)?;
                let value = if parsed.has_other_part {
                    DateTime::from_date_and_micros(parsed.value.date(), parsed.value.micros_of_day() + micros)
                        .ok_or(ParseProblem::OutOfRange)?
                } else {
                    parsed.value
                };
                Ok(Parsed { value, nanos, ..parsed })
            }
        },
    }
}

/// Any value as a time, before rounding.
pub(super) fn read_time(value: &Value) -> Result<Parsed<Time>, ParseProblem> {
    let value = &*without_document(value);
    let plain = |value: Time, has_other_part: bool| Parsed {
        value,
        nanos: 0,
        truncated: false,
        clamped: false,
        has_other_part,
        offset_seconds: None,
    };
    match value {
        Value::Time(time) => Ok(plain(*time, false)),
        Value::Date(_) => Ok(plain(Time::default(), true)),
        Value::DateTime(moment) => Ok(plain(moment.time(), true)),
        other => match text_of(other) {
            Some(text) => parse_time(&text),
            None => {
                let (whole, micros, nanos) = split_number(other).ok_or(ParseProblem::OutOfRange)?;
                let parsed = time_from_number(whole)?;
                let negative = value_to_decimal(other).is_some_and(Decimal::is_negative);
                let micros = if negative { -micros } else { micros };
                let value = if parsed.clamped {
                    parsed.value
                } else {
                    Time::from_micros_clamped(parsed.value.to_micros() + micros)
                };
                Ok(Parsed { value, nanos, ..parsed })
            }
        },
    }
}

pub(super) fn store_date(value: Value, context: &ConversionContext<'_>) -> Stored {
    let rules = context.date_rules();
    if let Value::Date(date) = value
        && rules.check(date).is_ok()
    {
        return Stored::plain(value);
    }
    match read_datetime(&value, rules, context.time_zone, context.current_date) {
        Err(problem) => incorrect(Value::Date(Date::ZERO), "date", &value, warning_of(problem), context),
        Ok(parsed) => {
            let date = Value::Date(parsed.value.date());
            if parsed.truncated {
                incorrect(date, "date", &value, ErrorCode::DataTruncated, context)
            } else if parsed.value.micros_of_day() != 0 {
                Stored::note(date, context.error(ErrorCode::DataTruncated))
            } else {
                Stored::plain(date)
            }
        }
    }
}

/// The datetime to store and whether text was left over, or what is stored instead.
fn datetime_for(value: &Value, fsp: u8, context: &ConversionContext<'_>) -> Result<(DateTime, bool), Box<Stored>> {
    let rules = context.date_rules();
    let zero = Value::DateTime(DateTime::ZERO);
    match read_datetime(value, rules, context.time_zone, context.current_date) {
        Err(problem) => Err(Box::new(incorrect(zero, "datetime", value, warning_of(problem), context))),
        Ok(parsed) => match parsed.value.with_fsp(parsed.nanos, fsp, rules.fraction) {
            Some(moment) => Ok((moment, parsed.truncated)),
            None => Err(Box::new(incorrect(zero, "datetime", value, ErrorCode::DataOutOfRange, context))),
        },
    }
}

pub(super) fn store_datetime(value: Value, fsp: u8, context: &ConversionContext<'_>) -> Stored {
    match datetime_for(&value, fsp, context) {
        Err(stored) => *stored,
        Ok((moment, true)) => incorrect(Value::DateTime(moment), "datetime", &value, ErrorCode::DataTruncated, context),
        Ok((moment, false)) => Stored::plain(Value::DateTime(moment)),
    }
}

pub(super) fn store_timestamp(value: Value, fsp: u8, context: &ConversionContext<'_>) -> Stored {
    let (local, truncated) = match datetime_for(&value, fsp, context) {
        Err(stored) => return *stored,
        Ok(read) => read,
    };
    let zero = Value::DateTime(DateTime::ZERO);
    if local.is_zero() {
        return Stored::plain(zero);
    }
    let out_of_range = |value: &Value| incorrect(zero.clone(), "datetime", value, ErrorCode::DataOutOfRange, context);
    if !local.date().exists() {
        return out_of_range(&value);
    }
    let moment = context.time_zone.to_unix_micros(local);
    let seconds = moment.unix_micros.div_euclid(MICROS_PER_SECOND);
    // Second zero would be taken for the zero date.
    if !(1..=TimeZone::TIMESTAMP_MAX_SECONDS).contains(&seconds) {
        return out_of_range(&value);
    }
    let Some(utc) = DateTime::from_micros(moment.unix_micros + UNIX_EPOCH_DAY * MICROS_PER_DAY) else {
        return out_of_range(&value);
    };
    let stored = Value::DateTime(utc);
    if moment.in_gap {
        let error = context.incorrect_value("datetime", &to_text(&value, &SqlType::Null));
        let warning = SqlError::new(ErrorCode::WarnInvalidTimestamp, &[&context.column, &context.row]);
        return Stored::with(stored, Severity::Strict, error, warning);
    }
    if truncated {
        return incorrect(stored, "datetime", &value, ErrorCode::DataTruncated, context);
    }
    Stored::plain(stored)
}

pub(super) fn store_time(value: Value, fsp: u8, context: &ConversionContext<'_>) -> Stored {
    match read_time(&value) {
        Err(problem) => incorrect(Value::Time(Time::default()), "time", &value, warning_of(problem), context),
        Ok(parsed) => {
            let time = Value::Time(parsed.value.with_fsp(parsed.nanos, fsp, context.date_rules().fraction));
            if parsed.clamped {
                incorrect(time, "time", &value, ErrorCode::DataOutOfRange, context)
            } else if parsed.truncated {
                incorrect(time, "time", &value, ErrorCode::DataTruncated, context)
            } else if parsed.has_other_part {
                Stored::note(time, context.error(ErrorCode::DataTruncated))
            } else {
                Stored::plain(time)
            }
        }
    }
}
