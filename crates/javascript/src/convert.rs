//! Converts values between SQL and scripts.

use crate::engine::Input;
use squall_types::convert::to_text;
use squall_types::temporal::{DateTime, TimeZone};
use squall_types::{SqlType, Value};

/// Integers up to here are Numbers, beyond it BigInts: 2^53 - 1.
const SAFE_INTEGER_MAX: u64 = (1 << 53) - 1;
const MICROS_PER_MILLI: i64 = 1000;

/// A value as a script gets it. DECIMAL is a text where `decimal_as_text`, a Number otherwise.
pub fn input_of<'a>(value: &'a Value, sql_type: &SqlType, zone: &TimeZone, decimal_as_text: bool) -> Input<'a> {
    let spelled = || Input::OwnText(to_text(value, sql_type));
    match value {
        Value::Null => Input::Null,
        Value::Int(number) if number.unsigned_abs() <= SAFE_INTEGER_MAX => Input::Number(*number as f64),
        Value::Int(number) => Input::Signed(*number),
        Value::UInt(_) if matches!(sql_type, SqlType::Enum { .. } | SqlType::Set { .. }) => spelled(),
        Value::UInt(number) if *number <= SAFE_INTEGER_MAX => Input::Number(*number as f64),
        Value::UInt(number) => Input::Unsigned(*number),
        Value::Double(number) => Input::Number(*number),
        Value::Decimal(_) if decimal_as_text => spelled(),
        // A DECIMAL's text is a number, and what it is nearest to is the Number.
        Value::Decimal(_) => match to_text(value, sql_type).parse() {
            Ok(number) => Input::Number(number),
            Err(_) => spelled(),
        },
        Value::String(text) => Input::Text(text),
        Value::Bytes(bytes) => Input::Bytes(bytes),
        Value::Date(date) => moment(date.at_midnight(), zone).unwrap_or_else(spelled),
        Value::DateTime(at) => moment(*at, zone).unwrap_or_else(spelled),
        Value::Time(_) => spelled(),
        Value::Json(document) => Input::Json(document.text()),
    }
}

/// A local time's moment; `None` for a date that is none.
fn moment<'a>(at: DateTime, zone: &TimeZone) -> Option<Input<'a>> {
    at.unix_micros()?;
    Some(Input::Moment(zone.to_unix_micros(at).unix_micros.div_euclid(MICROS_PER_MILLI) as f64))
}
