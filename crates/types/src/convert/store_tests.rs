//! Columns store MySQL's values and give its warnings and errors.

use super::*;
use crate::convert::context::Severity;
use crate::convert::text::to_text;
use crate::json::Document;
use crate::temporal::TimeZone;
use crate::{CollationId, Date, DateTime, Decimal, IntWidth, SqlMode, StringKind, TextSize, Time};
use proptest::prelude::*;
use std::sync::Arc;

/// What is stored, and the condition as "code strict message".
fn store_as(value: Value, source: &SqlType, target: &SqlType, mode: SqlMode, zone: &TimeZone) -> (String, String) {
    let context = ConversionContext {
        mode,
        time_zone: zone,
        current_date: Date::from_parts(2024, 5, 6).unwrap(),
        table: "",
        column: "c",
        row: 1,
    };
    let stored = store_value(value, source, target, &context);
    let condition = stored.condition.map_or(String::new(), |condition| match condition.severity {
        Severity::Note => format!("note {}", condition.warning.code),
        _ => format!("{}/{} {}", condition.error.code, condition.warning.code, condition.error.message),
    });
    (to_text(&stored.value, target), condition)
}

fn store(value: Value, target: &SqlType) -> (String, String) {
    store_as(value, &SqlType::varchar(100, CollationId::UTF8MB4_0900_AI_CI), target, SqlMode::DEFAULT, &TimeZone::utc())
}

#[track_caller]
fn check(target: &SqlType, cases: &[(Value, &str, &str)]) {
    for (value, text, condition) in cases {
        assert_eq!(store(value.clone(), target), (text.to_string(), condition.to_string()), "{value:?}");
    }
}

fn decimal(text: &str) -> Value {
    Value::Decimal(Decimal::parse(text).value)
}

#[test]
fn integers() {
    let tiny = |unsigned| SqlType::Int { width: IntWidth::Tiny, unsigned, zerofill: false, display_width: None };
    check(
        &tiny(false),
        &[
            (Value::Int(5), "5", ""),
            (Value::Int(128), "127", "1264/1264 Out of range value for column 'c' at row 1"),
            (Value::Double(2.5), "2", ""),
            (Value::Double(3.5), "4", ""),
            (decimal("2.5"), "3", ""),
            ("1.5".into(), "2", ""),
            ("1e2".into(), "100", ""),
            (" 7 ".into(), "7", ""),
            ("7x".into(), "7", "1265/1265 Data truncated for column 'c' at row 1"),
            ("x".into(), "0", "1366/1366 Incorrect integer value: 'x' for column 'c' at row 1"),
            ("".into(), "0", "1366/1366 Incorrect integer value: '' for column 'c' at row 1"),
            ("-999999999999999999999".into(), "-128", "1264/1264 Out of range value for column 'c' at row 1"),
            (Value::Double(f64::NEG_INFINITY), "-128", "1264/1264 Out of range value for column 'c' at row 1"),
            (Value::Json(Document::from_stored("7")), "7", ""),
            (
                Value::Json(Document::from_stored("[1]")),
                "0",
                "3156/3156 Invalid JSON value for CAST to INTEGER from column c at row 1",
            ),
        ],
    );
    check(&tiny(true), &[(Value::Int(-1), "0", "1264/1264 Out of range value for column 'c' at row 1")]);
    let date = Date::from_parts(2020, 1, 2).unwrap();
    check(&SqlType::BIGINT, &[(Value::Date(date), "20200102", ""), (Value::UInt(7), "7", "")]);
}

#[test]
fn decimals_and_doubles() {
    check(
        &SqlType::decimal(5, 2),
        &[
            ("1.234".into(), "1.23", "note 1265"),
            (decimal("1.20"), "1.20", ""),
            (Value::Double(1.236), "1.24", "note 1265"),
            ("x".into(), "0.00", "1366/1366 Incorrect decimal value: 'x' for column 'c' at row 1"),
            ("1x".into(), "1.00", "1265/1265 Data truncated for column 'c' at row 1"),
            ("-99999".into(), "-999.99", "1264/1264 Out of range value for column 'c' at row 1"),
            (Value::Double(1e300), "999.99", "1264/1264 Out of range value for column 'c' at row 1"),
        ],
    );
    check(
        &SqlType::DOUBLE,
        &[
            ("1.5".into(), "1.5", ""),
            ("1.5x".into(), "1.5", "1265/1265 Data truncated for column 'c' at row 1"),
            ("".into(), "0", "1265/1265 Data truncated for column 'c' at row 1"),
            ("1e999".into(), "1.7976931348623157e308", "1264/1264 Out of range value for column 'c' at row 1"),
            (decimal("0.1"), "0.1", ""),
        ],
    );
    let float = |digits| SqlType::Float { unsigned: true, zerofill: false, digits };
    check(
        &float(None),
        &[
            (Value::Double(1.0 / 3.0), "0.333333", ""),
            (Value::Double(1e39), "3.40282e38", "1264/1264 Out of range value for column 'c' at row 1"),
            (Value::Int(-1), "0", "1264/1264 Out of range value for column 'c' at row 1"),
        ],
    );
    check(
        &float(Some((5, 2))),
        &[
            (Value::Double(1.005), "1.00", ""),
            (Value::Double(99999.0), "999.99", "1264/1264 Out of range value for column 'c' at row 1"),
        ],
    );
}

#[test]
fn bits_and_years() {
    check(
        &SqlType::Bit { width: 8 },
        &[
            (Value::Int(0x41), "A", ""),
            ("A".into(), "A", ""),
            (Value::Int(256), "\u{FFFD}", "1406/1406 Data too long for column 'c' at row 1"),
        ],
    );
    check(
        &SqlType::Year,
        &[
            ("0".into(), "2000", ""),
            (Value::Int(0), "0000", ""),
            ("0000".into(), "0000", ""),
            ("69".into(), "2069", ""),
            (Value::Int(70), "1970", ""),
            (Value::Int(1900), "0000", "1264/1264 Out of range value for column 'c' at row 1"),
            ("1999x".into(), "1999", "1265/1265 Data truncated for column 'c' at row 1"),
            ("x".into(), "0000", "1366/1366 Incorrect integer value: 'x' for column 'c' at row 1"),
        ],
    );
}

#[test]
fn dates_and_times() {
    let moment = Date::from_parts(2020, 1, 2).unwrap().at_midnight();
    let later = DateTime::from_date_and_micros(moment.date(), 3_600_000_000).unwrap();
    check(
        &SqlType::Date,
        &[
            ("2020-1-2".into(), "2020-01-02", ""),
            ("2020-01-02 10:00:00".into(), "2020-01-02", "note 1265"),
            ("2020-02-30".into(), "0000-00-00", "1292/1264 Incorrect date value: '2020-02-30' for column 'c' at row 1"),
            ("abc".into(), "0000-00-00", "1292/1265 Incorrect date value: 'abc' for column 'c' at row 1"),
            (
                "2020-01-02x".into(),
                "2020-01-02",
                "1292/1265 Incorrect date value: '2020-01-02x' for column 'c' at row 1",
            ),
            ("0000-00-00".into(), "0000-00-00", "1292/1264 Incorrect date value: '0000-00-00' for column 'c' at row 1"),
            (Value::Int(20_200_102), "2020-01-02", ""),
            (Value::DateTime(later), "2020-01-02", "note 1265"),
            (Value::DateTime(moment), "2020-01-02", ""),
            (
                Value::Int(20_201_301),
                "0000-00-00",
                "1292/1264 Incorrect date value: '20201301' for column 'c' at row 1",
            ),
        ],
    );
    check(
        &SqlType::DateTime { fsp: 1 },
        &[
            ("2020-01-02 03:04:05.67".into(), "2020-01-02 03:04:05.7", ""),
            ("2020-12-31 23:59:59.99".into(), "2021-01-01 00:00:00.0", ""),
            (decimal("20200102030405.67"), "2020-01-02 03:04:05.7", ""),
            ("2020-01-02 03:04:05+01:00".into(), "2020-01-02 02:04:05.0", ""),
            (Value::Time(Time::from_micros(1_000_000).unwrap()), "2024-05-06 00:00:01.0", ""),
        ],
    );
    check(
        &SqlType::Time { fsp: 0 },
        &[
            ("10:11:12.5".into(), "10:11:13", ""),
            ("839:00:00".into(), "838:59:59", "1292/1264 Incorrect time value: '839:00:00' for column 'c' at row 1"),
            ("10:60:00".into(), "00:00:00", "1292/1264 Incorrect time value: '10:60:00' for column 'c' at row 1"),
            (Value::Int(-101_112), "-10:11:12", ""),
            (decimal("-0.6"), "-00:00:01", ""),
            (Value::DateTime(later), "01:00:00", "note 1265"),
        ],
    );
    let lenient =
        store_as("2020-02-30".into(), &SqlType::Null, &SqlType::Date, SqlMode::ALLOW_INVALID_DATES, &TimeZone::utc());
    assert_eq!(lenient, ("2020-02-30".to_string(), String::new()));
}

#[test]
fn timestamps_are_stored_in_utc() {
    let zone = TimeZone::parse("Europe/Berlin").unwrap();
    let store =
        |text: &str| store_as(text.into(), &SqlType::Null, &SqlType::Timestamp { fsp: 0 }, SqlMode::default(), &zone);
    assert_eq!(store("2020-07-01 12:00:00"), ("2020-07-01 10:00:00".to_string(), String::new()));
    assert_eq!(store("0000-00-00").0, "0000-00-00 00:00:00");
    let gap = store("2020-03-29 02:30:00");
    assert_eq!(gap.0, "2020-03-29 01:00:00");
    assert!(gap.1.starts_with("1292/1299"), "{}", gap.1);
    assert!(store("2038-01-19 04:14:08").1.starts_with("1292/1264"));
    assert_eq!(store("2038-01-19 04:14:07").1, "");
    assert!(store("1970-01-01 01:00:00").1.starts_with("1292/1264"));
}

fn string(kind: StringKind, length: u32, collation: &str) -> SqlType {
    SqlType::String { kind, length, collation: CollationId::from_name(collation).unwrap() }
}

#[test]
fn strings() {
    let too_long = "1406/1265 Data too long for column 'c' at row 1";
    check(
        &string(StringKind::Varchar, 3, "utf8mb4_0900_ai_ci"),
        &[
            ("äöü".into(), "äöü", ""),
            ("äöüx".into(), "äöü", too_long),
            ("abc  ".into(), "abc", "note 1265"),
            ("ab ".into(), "ab ", ""),
            (Value::Int(1234), "123", too_long),
            (Value::Bytes("é".into()), "é", ""),
            (
                Value::Bytes(vec![b'a', 0xFF, b'b']),
                "a",
                "1366/1366 Incorrect string value: '\\xFFb' for column 'c' at row 1",
            ),
        ],
    );
    check(&string(StringKind::Char, 3, "utf8mb4_bin"), &[("ab   ".into(), "ab", ""), ("abcd".into(), "abc", too_long)]);
    check(
        &string(StringKind::Varchar, 9, "latin1_swedish_ci"),
        &[("日x".into(), "?x", "1366/1366 Incorrect string value: '\\xE6\\x97\\xA5x' for column 'c' at row 1")],
    );
    check(&string(StringKind::Char, 3, "binary"), &[("ab".into(), "ab\0", ""), ("abcd".into(), "abc", too_long)]);
    check(
        &SqlType::String { kind: StringKind::Text(TextSize::Tiny), length: 5, collation: CollationId::UTF8MB4_BIN },
        &[("éé".into(), "éé", ""), ("ééé".into(), "éé", too_long)],
    );
}

#[test]
fn enums_sets_and_json() {
    let members: Arc<[String]> = vec!["a".to_string(), "B".to_string(), "1".to_string()].into();
    let collation = CollationId::UTF8MB4_0900_AI_CI;
    let cut = "1265/1265 Data truncated for column 'c' at row 1";
    check(
        &SqlType::Enum { members: members.clone(), collation },
        &[
            ("A ".into(), "a", ""),
            ("1".into(), "1", ""),
            ("2".into(), "B", ""),
            (Value::Int(2), "B", ""),
            ("x".into(), "", cut),
            (Value::Int(4), "", cut),
            ("".into(), "", cut),
        ],
    );
    check(
        &SqlType::Set { members, collation },
        &[
            ("b,a".into(), "a,B", ""),
            ("".into(), "", ""),
            ("a,x".into(), "a", cut),
            (Value::Int(6), "B,1", ""),
            (Value::Int(9), "a", cut),
            ("7".into(), "a,B,1", ""),
        ],
    );
    check(
        &SqlType::Json,
        &[
            ("{\"b\":1,\"a\":[]}".into(), "{\"a\": [], \"b\": 1}", ""),
            (Value::Int(5), "5", ""),
            (
                "{".into(),
                "",
                "3140/3140 Invalid JSON text: \"Missing a name for object member.\" at position 1 in value for column 'c'.",
            ),
        ],
    );
}

#[test]
fn resolving_by_mode() {
    let context = ConversionContext {
        mode: SqlMode::DEFAULT,
        time_zone: &TimeZone::utc(),
        current_date: Date::ZERO,
        table: "",
        column: "c",
        row: 2,
    };
    let stored = store_value("x".into(), &SqlType::Null, &SqlType::INT, &context);
    let mut warnings = Vec::new();
    assert_eq!(stored.clone().resolve(true, &mut warnings).unwrap_err().code, 1366);
    assert_eq!(stored.resolve(false, &mut warnings), Ok(Value::Int(0)));
    assert_eq!(warnings[0].error.message, "Incorrect integer value: 'x' for column 'c' at row 2");
}

fn any_value() -> impl Strategy<Value = Value> {
    prop_oneof![
        any::<i64>().prop_map(Value::Int),
        any::<u64>().prop_map(Value::UInt),
        any::<f64>().prop_map(Value::Double),
        "[-0-9.e :]{0,30}".prop_map(Value::String),
        "\\PC{0,10}".prop_map(Value::String),
        "\\PC{0,10}".prop_map(|text| Value::Json(Document::from_stored(text))),
        proptest::collection::vec(any::<u8>(), 0..10).prop_map(Value::Bytes),
        any::<u32>().prop_map(|packed| Value::Date(Date::from_packed(packed & 0x7F_FFFF))),
        any::<i64>().prop_map(|packed| Value::DateTime(DateTime::from_packed(packed & 0xFFF_FFFF_FFFF_FFFF))),
        (-Time::MAX_MICROS..Time::MAX_MICROS).prop_map(|micros| Value::Time(Time::from_micros(micros).unwrap())),
        "-?[0-9]{1,40}(\\.[0-9]{1,30})?".prop_map(|text| Value::Decimal(Decimal::parse(&text).value)),
    ]
}

proptest! {
    #[test]
    fn nothing_panics_and_results_are_storable(value in any_value()) {
        let members: Arc<[String]> = vec!["a".to_string()].into();
        let collation = CollationId::UTF8MB4_0900_AI_CI;
        for target in [
            SqlType::INT,
            SqlType::BIGINT_UNSIGNED,
            SqlType::decimal(10, 3),
            SqlType::DOUBLE,
            SqlType::Float { unsigned: true, zerofill: false, digits: Some((6, 2)) },
            SqlType::Bit { width: 5 },
            SqlType::Year,
            SqlType::Date,
            SqlType::Time { fsp: 2 },
            SqlType::DateTime { fsp: 3 },
            SqlType::Timestamp { fsp: 6 },
            string(StringKind::Varchar, 4, "latin1_swedish_ci"),
            string(StringKind::Char, 4, "binary"),
            SqlType::Enum { members: members.clone(), collation },
            SqlType::Set { members, collation },
            SqlType::Json,
        ] {
            let zone = TimeZone::parse("America/New_York").unwrap();
            let context = ConversionContext {
                mode: SqlMode::default(), time_zone: &zone, current_date: Date::ZERO, table: "",
                column: "c", row: 1,
            };
            let stored = store_value(value.clone(), &SqlType::Null, &target, &context).value;
            if target != SqlType::Json {
                let part = crate::KeyPart::ascending(target.clone(), false);
                prop_assert!(part.encode(&stored, &mut Vec::new()).is_ok(), "{:?} {:?}", stored, target);
            }
        }
    }
}

#[test]
fn doubles_in_narrow_texts() {
    use crate::double_text::double_within;
    let cases = [
        (0.1225877, 9, Some("0.1225877")),
        (0.1225877, 7, Some("0.12259")),
        (0.00001225877, 10, Some("1.22588e-5")),
        (0.0001234567, 8, Some("1.235e-4")),
        (0.00001225877, 7, Some("1.23e-5")),
        (9.999999, 6, Some("10")),
        (-5000.0, 5, Some("-5000")),
        (-5000.0, 4, Some("-5e3")),
        (122_588.0, 5, Some("1.2e5")),
        (122_588.0, 2, None),
        (1.5, 3, Some("1.5")),
        (1e300, 5, Some("1e300")),
    ];
    for (number, width, text) in cases {
        assert_eq!(double_within(number, width).as_deref(), text, "{number} in {width}");
    }
}
