//! `CAST(value AS type)` and `CONVERT(value, type)`.

use super::context::ConversionContext;
use super::number::{parse_f64, parse_integer, round_f64, temporal_to_decimal};
use super::store_hex::cast_digits;
use super::store_temporal::{read_datetime, read_time, temporal_source};
use super::text::{spelled_out, to_text, write_text};
use crate::json::{Document, Json};
use crate::{Charset, CollationId, Decimal, ErrorCode, Level, SqlError, SqlResult, SqlType, Value, Warning};

/// The target of a cast.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CastTarget {
    /// SIGNED.
    Signed,
    /// UNSIGNED.
    Unsigned,
    /// CHAR(n) of a collation.
    Char {
        /// n.
        length: Option<u32>,
        /// The collation of the result.
        collation: CollationId,
    },
    /// BINARY(n).
    Binary {
        /// n.
        length: Option<u32>,
    },
    /// DATE.
    Date,
    /// TIME(fsp).
    Time {
        /// Fractional digits.
        fsp: u8,
    },
    /// DATETIME(fsp).
    DateTime {
        /// Fractional digits.
        fsp: u8,
    },
    /// DECIMAL(precision, scale).
    Decimal {
        /// Digits in all.
        precision: u8,
        /// Digits after the point.
        scale: u8,
    },
    /// FLOAT.
    Float,
    /// DOUBLE, REAL.
    Double,
    /// YEAR.
    Year,
    /// JSON.
    Json,
    /// HEX(digits).
    Hex {
        /// Digits.
        digits: u16,
    },
    /// UUID.
    Uuid,
}

impl CastTarget {
    /// The type of the result.
    pub fn result_type(&self) -> SqlType {
        match self {
            CastTarget::Signed => SqlType::BIGINT,
            CastTarget::Unsigned => SqlType::BIGINT_UNSIGNED,
            CastTarget::Char { length, collation } => match length {
                Some(length) => SqlType::varchar(*length, *collation),
                None => SqlType::longtext(*collation),
            },
            CastTarget::Binary { length: Some(length) } => SqlType::varchar(*length, CollationId::BINARY),
            CastTarget::Binary { length: None } => SqlType::longtext(CollationId::BINARY),
            CastTarget::Date => SqlType::Date,
            CastTarget::Time { fsp } => SqlType::Time { fsp: *fsp },
            CastTarget::DateTime { fsp } => SqlType::DateTime { fsp: *fsp },
            CastTarget::Decimal { precision, scale } => SqlType::decimal(*precision, *scale),
            CastTarget::Float => SqlType::Float { unsigned: false, zerofill: false, digits: None },
            CastTarget::Double => SqlType::DOUBLE,
            CastTarget::Year => SqlType::Year,
            CastTarget::Json => SqlType::Json,
            CastTarget::Hex { digits } => SqlType::Hex { digits: *digits },
            CastTarget::Uuid => SqlType::Uuid,
        }
    }
}

/// The result of a cast.
#[derive(Clone, Debug, PartialEq)]
pub struct Casted {
    /// The value; NULL for dates and times that could not be read.
    pub value: Value,
    /// The warning.
    pub warning: Option<Warning>,
}

impl Casted {
    fn plain(value: Value) -> Casted {
        Casted { value, warning: None }
    }

    fn warned(value: Value, error: SqlError) -> Casted {
        Casted { value, warning: Some(Warning { level: Level::Warning, error }) }
    }
}

/// "Truncated incorrect INTEGER value: 'x'" (1292).
fn truncated(kind: &dyn std::fmt::Display, value: &dyn std::fmt::Display) -> SqlError {
    SqlError::new(ErrorCode::TruncatedWrongValue, &[kind, value])
}

/// Casts a value of the type `source`. Only JSON that cannot be read is an error; everything else is at most a warning.
pub fn cast_value(
    value: Value,
    source: &SqlType,
    target: &CastTarget,
    context: &ConversionContext<'_>,
) -> SqlResult<Casted> {
    if value.is_null() {
        return Ok(Casted::plain(value));
    }
    let value = match target {
        CastTarget::Binary { .. } | CastTarget::Hex { .. } | CastTarget::Uuid => value,
        CastTarget::Date | CastTarget::Time { .. } | CastTarget::DateTime { .. } => {
            temporal_source(&value, source).into_owned()
        }
        _ => spelled_out(value, source),
    };
    Ok(match target {
        CastTarget::Signed => cast_integer(value, source, false, context),
        CastTarget::Unsigned => cast_integer(value, source, true, context),
        CastTarget::Char { length, collation } => cast_char(value, source, *length, collation.charset()),
        CastTarget::Binary { length } => cast_binary(value, source, *length),
        CastTarget::Date => cast_datetime(value, context, |moment| Some(Value::Date(moment.value.date()))),
        CastTarget::DateTime { fsp } => {
            let fraction = context.date_rules().fraction;
            cast_datetime(value, context, |moment| {
                moment.value.with_fsp(moment.nanos, *fsp, fraction).map(Value::DateTime)
            })
        }
        CastTarget::Time { fsp } => cast_time(value, *fsp, context),
        CastTarget::Decimal { precision, scale } => cast_decimal(value, source, *precision, *scale, context),
        CastTarget::Float => cast_double(value, source, true, context),
        CastTarget::Double => cast_double(value, source, false, context),
        CastTarget::Year => cast_year(value, source, context),
        CastTarget::Json => return cast_json(value, source),
        CastTarget::Hex { .. } | CastTarget::Uuid => match cast_digits(&value, source, &target.result_type()) {
            Ok(value) => Casted::plain(value),
            Err(error) => Casted::warned(Value::Null, error),
        },
    })
}

/// A JSON scalar as what a number is made of, everything else as it is. `Err` for JSON that is no number (3156).
fn without_json(value: Value, kind: &str, context: &ConversionContext<'_>) -> Result<Value, SqlError> {
    let Value::Json(document) = &value else { return Ok(value) };
    let scalar = document.to_json().ok().and_then(|json| json.to_number_value());
    scalar.ok_or_else(|| SqlError::new(ErrorCode::InvalidJsonValueForCast, &[&kind, &context.column, &context.row]))
}

fn cast_integer(value: Value, source: &SqlType, unsigned: bool, context: &ConversionContext<'_>) -> Casted {
    // Both kinds have 64 bits; what is too large for one is shown as the other has it.
    let made = |bits: i64| if unsigned { Value::UInt(bits as u64) } else { Value::Int(bits) };
    let value = match without_json(value, "INTEGER", context) {
        Ok(value) => value,
        Err(error) => return Casted::warned(made(0), error),
    };
    match &value {
        Value::Int(number) => Casted::plain(made(*number)),
        Value::UInt(number) => Casted::plain(made(*number as i64)),
        Value::Double(number) => {
            let number = round_f64(*number).unwrap_or(if *number < 0.0 { i128::MIN } else { i128::MAX });
            clamp_integer(number, unsigned, "DOUBLE", &to_text(&value, source))
        }
        Value::Decimal(number) => {
            let text = number.to_string();
            let whole = number.to_i128().unwrap_or(if number.is_negative() { i128::MIN } else { i128::MAX });
            // A negative decimal is below UNSIGNED's range, unlike a negative integer.
            if unsigned && whole < 0 {
                return Casted::warned(made(0), truncated(&"DECIMAL", &text));
            }
            clamp_integer(whole, unsigned, "DECIMAL", &text)
        }
        Value::Date(_) | Value::DateTime(_) | Value::Time(_) => {
            let number = temporal_to_decimal(&value).map_or(0, |number| number.to_i64().0);
            Casted::plain(made(number))
        }
        other => {
            let text = to_text(other, source);
            let parsed = parse_integer(&text);
            let bits = i64::try_from(parsed.value).or_else(|_| u64::try_from(parsed.value).map(|n| n as i64));
            let bits = made(bits.unwrap_or(0));
            let beyond = parsed.value > i128::from(i64::MAX) && !unsigned;
            if parsed.truncated || parsed.no_number || parsed.overflow {
                Casted::warned(bits, truncated(&"INTEGER", &text))
            } else if beyond {
                let words = "Cast to signed converted positive out-of-range integer to its negative complement";
                Casted::warned(bits, SqlError::with_message(ErrorCode::UnknownError, words))
            } else if unsigned && parsed.value < 0 {
                let words = "Cast to unsigned converted negative integer to its positive complement";
                Casted::warned(bits, SqlError::with_message(ErrorCode::UnknownError, words))
            } else {
                Casted::plain(bits)
            }
        }
    }
}

fn clamp_integer(number: i128, unsigned: bool, kind: &str, text: &str) -> Casted {
    let high = if unsigned { i128::from(u64::MAX) } else { i128::from(i64::MAX) };
    let clamped = number.clamp(i128::from(i64::MIN), high);
    let made = if unsigned { Value::UInt(clamped as u64) } else { Value::Int(clamped as i64) };
    if clamped == number { Casted::plain(made) } else { Casted::warned(made, truncated(&kind, &text)) }
}

fn cast_char(value: Value, source: &SqlType, length: Option<u32>, charset: Charset) -> Casted {
    // Bytes are those of the character set, where they are any of it.
    let decoded = match &value {
        Value::Bytes(bytes) if source.is_binary_string() => Some(charset.decode_padded(bytes)),
        _ => None,
    };
    let text = match decoded.filter(|decoded| decoded.invalid_at.is_none()) {
        Some(decoded) => decoded.text.into_owned(),
        None => to_text(&value, source),
    };
    // Characters that the set does not have are lost.
    let text = match charset.has_all(&text) {
        true => text,
        false => text.chars().map(|character| if charset.has(character) { character } else { '?' }).collect(),
    };
    let cut = length.and_then(|length| text.char_indices().nth(length as usize));
    match (cut, length) {
        (Some((at, _)), Some(length)) => {
            let kind = format!("CHAR({length})");
            Casted::warned(Value::String(text[..at].to_string()), truncated(&kind, &text))
        }
        _ => Casted::plain(Value::String(text)),
    }
}

fn cast_binary(value: Value, source: &SqlType, length: Option<u32>) -> Casted {
    let mut bytes = match value {
        Value::Bytes(bytes) => bytes,
        Value::String(text) => {
            let charset = source.collation().map_or(Charset::Utf8mb4, CollationId::charset);
            let mut bytes = Vec::with_capacity(text.len());
            charset.encode(&text, &mut bytes);
            bytes
        }
        other => {
            let mut bytes = Vec::new();
            write_text(&other, source, &mut bytes);
            bytes
        }
    };
    let Some(length) = length else { return Casted::plain(Value::Bytes(bytes)) };
    if bytes.len() > length as usize {
        let shown = String::from_utf8_lossy(&bytes).into_owned();
        bytes.truncate(length as usize);
        return Casted::warned(Value::Bytes(bytes), truncated(&format_args!("BINARY({length})"), &shown));
    }
    bytes.resize(length as usize, 0);
    Casted::plain(Value::Bytes(bytes))
}

fn cast_datetime(
    value: Value,
    context: &ConversionContext<'_>,
    finish: impl Fn(&crate::temporal::Parsed<crate::DateTime>) -> Option<Value>,
) -> Casted {
    let text = || to_text(&value, &SqlType::Null);
    let parsed = read_datetime(&value, context.date_rules(), context.time_zone, context.current_date);
    let incorrect = || SqlError::new(ErrorCode::IncorrectWrongValue, &[&"datetime", &text()]);
    match parsed {
        Err(_) => Casted::warned(Value::Null, incorrect()),
        Ok(parsed) => match finish(&parsed) {
            None => Casted::warned(Value::Null, incorrect()),
            Some(made) if parsed.truncated => {
                let kind = if parsed.has_other_part { "datetime" } else { "date" };
                Casted::warned(made, truncated(&kind, &text()))
            }
            Some(made) => Casted::plain(made),
        },
    }
}

fn cast_time(value: Value, fsp: u8, context: &ConversionContext<'_>) -> Casted {
    let warning = || truncated(&"time", &to_text(&value, &SqlType::Null));
    match read_time(&value) {
        Err(_) => Casted::warned(Value::Null, warning()),
        Ok(parsed) => {
            let made = Value::Time(parsed.value.with_fsp(parsed.nanos, fsp, context.date_rules().fraction));
            if parsed.truncated || parsed.clamped { Casted::warned(made, warning()) } else { Casted::plain(made) }
        }
    }
}

fn cast_decimal(value: Value, source: &SqlType, precision: u8, scale: u8, context: &ConversionContext<'_>) -> Casted {
    let value = match without_json(value, "DECIMAL", context) {
        Ok(value) => value,
        Err(error) => return Casted::warned(Value::Decimal(Decimal::from_i128(0, scale)), error),
    };
    let mut warning = None;
    let number = match &value {
        Value::Int(number) => Decimal::from(*number),
        Value::UInt(number) => Decimal::from(*number),
        Value::Decimal(number) => *number,
        Value::Double(number) => Decimal::from_f64(*number).unwrap_or_else(|| {
            let largest = Decimal::largest(Decimal::PRECISION_MAX, 0);
            if *number < 0.0 { largest.negate() } else { largest }
        }),
        Value::Date(_) | Value::DateTime(_) | Value::Time(_) => temporal_to_decimal(&value).unwrap_or(Decimal::ZERO),
        other => {
            let text = to_text(other, source);
            let parsed = Decimal::parse(&text);
            if parsed.truncated || parsed.no_number {
                warning = Some(truncated(&"DECIMAL", &text));
            }
            parsed.value
        }
    };
    let fitted = number.fit(precision, scale);
    if fitted.clamped {
        warning = Some(SqlError::new(ErrorCode::DataOutOfRange, &[&context.column, &context.row]));
    }
    let made = Value::Decimal(fitted.value);
    match warning {
        Some(error) => Casted::warned(made, error),
        None => Casted::plain(made),
    }
}

fn cast_double(value: Value, source: &SqlType, single: bool, context: &ConversionContext<'_>) -> Casted {
    let made = |number: f64| {
        let single_number = f64::from((number as f32).clamp(f32::MIN, f32::MAX));
        Value::Double(if single { single_number } else { number })
    };
    let value = match without_json(value, "DOUBLE", context) {
        Ok(value) => value,
        Err(error) => return Casted::warned(made(0.0), error),
    };
    match &value {
        Value::Int(number) => Casted::plain(made(*number as f64)),
        Value::UInt(number) => Casted::plain(made(*number as f64)),
        Value::Double(number) => Casted::plain(made(*number)),
        Value::Decimal(number) => Casted::plain(made(number.to_f64())),
        Value::Date(_) | Value::DateTime(_) | Value::Time(_) => {
            Casted::plain(made(temporal_to_decimal(&value).map_or(0.0, Decimal::to_f64)))
        }
        other => {
            let text = to_text(other, source);
            let parsed = parse_f64(&text);
            let made = made(parsed.value);
            if parsed.truncated || parsed.no_number || parsed.overflow {
                Casted::warned(made, truncated(&"DOUBLE", &text))
            } else {
                Casted::plain(made)
            }
        }
    }
}

fn cast_year(value: Value, source: &SqlType, context: &ConversionContext<'_>) -> Casted {
    let text = to_text(&value, source);
    let outside = || Casted::warned(Value::Null, truncated(&"YEAR", &text));
    let mut garbage = false;
    let number = match &value {
        Value::Date(date) => i128::from(date.year()),
        Value::DateTime(moment) => i128::from(moment.date().year()),
        Value::Time(_) => i128::from(context.current_date.year()),
        Value::String(_) | Value::Bytes(_) | Value::Json(_) => {
            let parsed = parse_integer(text.trim_matches('"'));
            garbage = parsed.truncated;
            if parsed.no_number {
                return Casted::warned(Value::UInt(0), truncated(&"YEAR", &text));
            }
            // '0' to '00' are 2000, '0000' is the year zero.
            if parsed.value == 0 && text.trim().len() < 4 { 2000 } else { parsed.value }
        }
        Value::Double(number) => round_f64(*number).unwrap_or(-1),
        Value::Decimal(number) => number.to_i128().unwrap_or(-1),
        Value::Int(number) => i128::from(*number),
        Value::UInt(number) => i128::from(*number),
        Value::Null => return Casted::plain(Value::Null),
    };
    let year = match number {
        0 => 0,
        1..70 => number + 2000,
        70..100 => number + 1900,
        1901..=2155 => number,
        _ => return outside(),
    };
    let made = Value::UInt(year as u64);
    if garbage { Casted::warned(made, truncated(&"YEAR", &text)) } else { Casted::plain(made) }
}

/// `CAST(text AS JSON)`.
///
/// # Errors
/// 3141 if it is no document.
pub fn json_of_text(text: &str) -> SqlResult<Value> {
    let document = Document::parse(text).map_err(|error| error.for_argument(1, "cast_as_json"))?;
    Ok(Value::Json(document))
}

fn cast_json(value: Value, source: &SqlType) -> SqlResult<Casted> {
    let json = match value {
        Value::Json(document) => return Ok(Casted::plain(Value::Json(document))),
        Value::String(text) => return Ok(Casted::plain(json_of_text(&text)?)),
        other if matches!(source, SqlType::Enum { .. } | SqlType::Set { .. }) => Json::String(to_text(&other, source)),
        other => Json::of(&other, source),
    };
    Ok(Casted::plain(json.to_value()))
}

#[cfg(test)]
#[path = "cast_tests.rs"]
mod tests;
