//! Compares values of any two types.

use super::number::{value_to_decimal, value_to_f64};
use crate::json::Json;
use crate::temporal::parse::{datetime_from_number, parse_datetime, parse_time, time_from_number};
use crate::temporal::{DateRules, DateTime};
use crate::{CollationId, Time, Value, collation};
use std::cmp::Ordering;

/// Compares two values as MySQL's operators do; `None` if one of them is NULL.
///
/// Numbers compare exactly; text with text by the collation, bytes as bytes; dates with text or numbers as dates where
/// those can be read as such; JSON as JSON; everything else as DOUBLE.
pub fn compare_values(left: &Value, right: &Value, collation: CollationId) -> Option<Ordering> {
    use Value::*;
    Some(match (left, right) {
        (Null, _) | (_, Null) => return None,
        (Int(left), Int(right)) => left.cmp(right),
        (UInt(left), UInt(right)) => left.cmp(right),
        (Int(left), UInt(right)) => i128::from(*left).cmp(&i128::from(*right)),
        (UInt(left), Int(right)) => i128::from(*left).cmp(&i128::from(*right)),
        (Double(left), Double(right)) => compare_doubles(*left, *right),
        (Decimal(_), Decimal(_) | Int(_) | UInt(_)) | (Int(_) | UInt(_), Decimal(_)) => {
            value_to_decimal(left).cmp(&value_to_decimal(right))
        }
        (String(left), String(right)) => collation::compare(collation, left, right),
        (Bytes(left), Bytes(right)) => left.cmp(right),
        (Bytes(left), String(right)) => left.as_slice().cmp(right.as_bytes()),
        (String(left), Bytes(right)) => left.as_bytes().cmp(right.as_slice()),
        (Date(left), Date(right)) => left.cmp(right),
        (Time(left), Time(right)) => left.cmp(right),
        (Json(_), _) | (_, Json(_)) => compare_as_json(left, right),
        (Date(_) | DateTime(_), Date(_) | DateTime(_) | String(_) | Bytes(_) | Int(_) | UInt(_))
        | (String(_) | Bytes(_) | Int(_) | UInt(_), Date(_) | DateTime(_)) => {
            match (as_datetime(left), as_datetime(right)) {
                (Some(left), Some(right)) => left.cmp(&right),
                _ => compare_as_doubles(left, right)?,
            }
        }
        (Time(_), String(_) | Bytes(_) | Int(_) | UInt(_)) | (String(_) | Bytes(_) | Int(_) | UInt(_), Time(_)) => {
            match (as_time(left), as_time(right)) {
                (Some(left), Some(right)) => left.cmp(&right),
                _ => compare_as_doubles(left, right)?,
            }
        }
        _ => compare_as_doubles(left, right)?,
    })
}

/// NaN, which no stored value is, comes first.
fn compare_doubles(left: f64, right: f64) -> Ordering {
    left.partial_cmp(&right).unwrap_or_else(|| right.is_nan().cmp(&left.is_nan()))
}

fn compare_as_doubles(left: &Value, right: &Value) -> Option<Ordering> {
    Some(compare_doubles(value_to_f64(left)?.0, value_to_f64(right)?.0))
}

fn compare_as_json(left: &Value, right: &Value) -> Ordering {
    Json::from_value(left).compare(&Json::from_value(right))
}

fn as_datetime(value: &Value) -> Option<DateTime> {
    match value {
        Value::Date(date) => Some(date.at_midnight()),
        Value::DateTime(moment) => Some(*moment),
        Value::String(text) => parse_datetime(text, DateRules::LENIENT).ok().map(|parsed| parsed.value),
        Value::Bytes(bytes) => {
            parse_datetime(&String::from_utf8_lossy(bytes), DateRules::LENIENT).ok().map(|parsed| parsed.value)
        }
        Value::Int(number) => datetime_from_number(*number, DateRules::LENIENT).ok().map(|parsed| parsed.value),
        Value::UInt(number) => as_datetime(&Value::Int(i64::try_from(*number).ok()?)),
        _ => None,
    }
}

fn as_time(value: &Value) -> Option<Time> {
    match value {
        Value::Time(time) => Some(*time),
        Value::String(text) => parse_time(text).ok().map(|parsed| parsed.value),
        Value::Bytes(bytes) => parse_time(&String::from_utf8_lossy(bytes)).ok().map(|parsed| parsed.value),
        Value::Int(number) => time_from_number(*number).ok().map(|parsed| parsed.value),
        Value::UInt(number) => as_time(&Value::Int(i64::try_from(*number).ok()?)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json::Document;
    use crate::{Date, Decimal};

    #[test]
    fn mixed_types() {
        let date = Value::Date(Date::from_parts(2020, 1, 2).unwrap());
        let decimal = |text| Value::Decimal(Decimal::parse(text).value);
        for (left, right, expected) in [
            (Value::Int(-1), Value::UInt(u64::MAX), Some(Ordering::Less)),
            (Value::Int(2), decimal("2.0"), Some(Ordering::Equal)),
            (decimal("0.1"), Value::Double(0.1), Some(Ordering::Equal)),
            (Value::from("10"), Value::Int(9), Some(Ordering::Greater)),
            (Value::from("abc"), Value::Int(0), Some(Ordering::Equal)),
            (Value::from("a"), Value::from("B"), Some(Ordering::Less)),
            (date.clone(), Value::from("2020-1-2"), Some(Ordering::Equal)),
            (date.clone(), Value::Int(20_200_103), Some(Ordering::Less)),
            (Value::from("2020-01-02 00:00:01"), date, Some(Ordering::Greater)),
            (Value::Time(Time::MAX), Value::from("100:00:00"), Some(Ordering::Greater)),
            (Value::Null, Value::Int(1), None),
            (Value::Json(Document::from_stored("2")), Value::Int(10), Some(Ordering::Less)),
            (Value::Bytes(vec![255]), Value::from("a"), Some(Ordering::Greater)),
        ] {
            assert_eq!(compare_values(&left, &right, CollationId::UTF8MB4_0900_AI_CI), expected, "{left:?} {right:?}");
        }
    }
}
