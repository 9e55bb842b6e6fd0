//! Casts give MySQL's values and warnings.

use super::*;
use crate::temporal::TimeZone;
use crate::{Date, SqlMode, Time};

fn cast(value: Value, target: CastTarget) -> String {
    let context = ConversionContext {
        mode: SqlMode::DEFAULT,
        time_zone: &TimeZone::utc(),
        current_date: Date::from_parts(2024, 5, 6).unwrap(),
        table: "",
        column: "cast",
        row: 1,
    };
    match cast_value(value, &SqlType::Null, &target, &context) {
        Err(error) => format!("error {}: {}", error.code, error.message),
        Ok(casted) => {
            let text = match &casted.value {
                Value::Null => "NULL".to_string(),
                value => to_text(value, &target.result_type()),
            };
            match casted.warning {
                Some(warning) => format!("{text} [{} {}]", warning.error.code, warning.error.message),
                None => text,
            }
        }
    }
}

fn decimal(text: &str) -> Value {
    Value::Decimal(Decimal::parse(text).value)
}

#[test]
fn integers() {
    for (value, unsigned, expected) in [
        ("12abc".into(), false, "12 [1292 Truncated incorrect INTEGER value: '12abc']"),
        ("1.9".into(), false, "1 [1292 Truncated incorrect INTEGER value: '1.9']"),
        ("".into(), false, "0 [1292 Truncated incorrect INTEGER value: '']"),
        (" -5 ".into(), false, "-5"),
        (decimal("2.5"), false, "3"),
        (Value::Double(2.5), false, "2"),
        (Value::Int(-1), true, "18446744073709551615"),
        (Value::UInt(u64::MAX), false, "-1"),
        (decimal("-1.5"), true, "0 [1292 Truncated incorrect DECIMAL value: '-1.5']"),
        (
            decimal("1e30"),
            false,
            "9223372036854775807 [1292 Truncated incorrect DECIMAL value: '1000000000000000000000000000000']",
        ),
        (Value::Json(Document::from_stored("\"7\"")), false, "7"),
        (Value::Time(Time::from_micros(3_600_000_000).unwrap()), false, "10000"),
    ] {
        let target = if unsigned { CastTarget::Unsigned } else { CastTarget::Signed };
        assert_eq!(cast(value, target), expected);
    }
}

#[test]
fn strings_and_bytes() {
    let char = |length| CastTarget::Char { length, collation: CollationId::UTF8MB4_0900_AI_CI };
    assert_eq!(cast("abcdef".into(), char(Some(3))), "abc [1292 Truncated incorrect CHAR(3) value: 'abcdef']");
    assert_eq!(cast(Value::Double(0.1), char(None)), "0.1");
    assert_eq!(cast("ab".into(), CastTarget::Binary { length: Some(3) }), "ab\0");
    assert_eq!(
        cast("ab".into(), CastTarget::Binary { length: Some(1) }),
        "a [1292 Truncated incorrect BINARY(1) value: 'ab']"
    );
}

#[test]
fn temporals() {
    assert_eq!(cast("2020-1-2 3:4:5.678".into(), CastTarget::Date), "2020-01-02");
    assert_eq!(cast("2020-1-2 3:4:5.678".into(), CastTarget::DateTime { fsp: 1 }), "2020-01-02 03:04:05.7");
    assert_eq!(cast("abc".into(), CastTarget::Date), "NULL [1292 Incorrect datetime value: 'abc']");
    assert_eq!(cast("2020-02-30".into(), CastTarget::Date), "NULL [1292 Incorrect datetime value: '2020-02-30']");
    assert_eq!(cast("2020-00-01".into(), CastTarget::Date), "NULL [1292 Incorrect datetime value: '2020-00-01']");
    assert_eq!(
        cast("2020-01-01x".into(), CastTarget::Date),
        "2020-01-01 [1292 Truncated incorrect date value: '2020-01-01x']"
    );
    assert_eq!(cast(Value::Int(20_200_102), CastTarget::DateTime { fsp: 0 }), "2020-01-02 00:00:00");
    assert_eq!(cast("10:11".into(), CastTarget::Time { fsp: 0 }), "10:11:00");
    assert_eq!(cast("abc".into(), CastTarget::Time { fsp: 0 }), "NULL [1292 Truncated incorrect time value: 'abc']");
    assert_eq!(
        cast("900:00:00".into(), CastTarget::Time { fsp: 0 }),
        "838:59:59 [1292 Truncated incorrect time value: '900:00:00']"
    );
    assert_eq!(cast("70".into(), CastTarget::Year), "1970");
    assert_eq!(cast(Value::Int(1900), CastTarget::Year), "NULL [1292 Truncated incorrect YEAR value: '1900']");
}

#[test]
fn numbers_and_json() {
    let target = CastTarget::Decimal { precision: 5, scale: 2 };
    assert_eq!(cast("1.235x".into(), target.clone()), "1.24 [1292 Truncated incorrect DECIMAL value: '1.235x']");
    assert_eq!(cast(Value::Int(99_999), target), "999.99 [1264 Out of range value for column 'cast' at row 1]");
    assert_eq!(cast("1.5e3x".into(), CastTarget::Double), "1500 [1292 Truncated incorrect DOUBLE value: '1.5e3x']");
    assert_eq!(cast(Value::Double(1.0 / 3.0), CastTarget::Float), "0.333333");
    assert_eq!(cast("[1,2]".into(), CastTarget::Json), "[1, 2]");
    assert_eq!(cast(Value::Int(1), CastTarget::Json), "1");
    assert!(
        cast("[".into(), CastTarget::Json)
            .starts_with("error 3141: Invalid JSON text in argument 1 to function cast_as_json")
    );
}
