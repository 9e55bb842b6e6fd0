//! Keys have the order of their values.

use super::*;
use crate::json::Document;
use crate::{IntWidth, StringKind};
use proptest::prelude::*;
use std::cmp::Ordering;
use std::sync::Arc;

fn key(part: &KeyPart, value: &Value) -> Vec<u8> {
    let mut key = Vec::new();
    part.encode(value, &mut key).unwrap();
    key
}

fn string_type(collation: CollationId) -> SqlType {
    SqlType::varchar(100, collation)
}

/// Checks that keys order as the values do, ascending and descending, and decode where they can.
fn check(sql_type: &SqlType, left: Value, right: Value, expected: Ordering) -> Result<(), TestCaseError> {
    for nullable in [false, true] {
        for descending in [false, true] {
            let part = KeyPart { sql_type: sql_type.clone(), prefix_length: None, descending, nullable };
            let order = key(&part, &left).cmp(&key(&part, &right));
            let expected = if descending { expected.reverse() } else { expected };
            prop_assert_eq!(order, expected, "{:?} {:?} {:?}", &part, &left, &right);
            for value in [&left, &right] {
                let mut bytes = key(&part, value);
                bytes.push(7);
                let mut rest = bytes.as_slice();
                let decoded = part.decode(&mut rest).unwrap();
                prop_assert_eq!(rest, &[7u8][..]);
                if part.is_reversible() {
                    prop_assert_eq!(decoded.as_ref(), Some(value));
                } else {
                    prop_assert!(decoded.is_none());
                }
            }
        }
    }
    Ok(())
}

fn int_type(width: IntWidth, unsigned: bool) -> SqlType {
    SqlType::Int { width, unsigned, zerofill: false, display_width: None }
}

#[test]
fn nulls_come_first_and_last() {
    let mut part = KeyPart::ascending(SqlType::INT, true);
    assert!(key(&part, &Value::Null) < key(&part, &Value::Int(i64::from(i32::MIN))));
    part.descending = true;
    assert!(key(&part, &Value::Null) > key(&part, &Value::Int(i64::from(i32::MIN))));
    assert_eq!(part.decode(&mut key(&part, &Value::Null).as_slice()), Ok(Some(Value::Null)));
    part.nullable = false;
    assert!(part.encode(&Value::Null, &mut Vec::new()).is_err());
}

#[test]
fn prefixes_count_characters() {
    let mut part = KeyPart::ascending(string_type(CollationId::UTF8MB4_0900_AI_CI), false);
    part.prefix_length = Some(2);
    assert_eq!(key(&part, &"éÀx".into()), key(&part, &"eay".into()));
    assert_ne!(key(&part, &"éx".into()), key(&part, &"éy".into()));
    let mut part = KeyPart::ascending(string_type(CollationId::BINARY), false);
    part.prefix_length = Some(2);
    assert_eq!(key(&part, &Value::Bytes(vec![0, 1, 2])), key(&part, &Value::Bytes(vec![0, 1, 3])));
}

#[test]
fn misfits_are_errors() {
    let mut out = Vec::new();
    for (sql_type, value) in [
        (int_type(IntWidth::Tiny, false), Value::Int(128)),
        (int_type(IntWidth::Tiny, true), Value::Int(-1)),
        (SqlType::INT, Value::from("1")),
        (SqlType::Json, Value::Json(Document::from_stored("1"))),
        (SqlType::decimal(3, 1), Value::Decimal(Decimal::parse("1.25").value)),
        (SqlType::Year, Value::UInt(3000)),
    ] {
        assert!(KeyPart::ascending(sql_type, false).encode(&value, &mut out).is_err());
    }
}

#[test]
fn keys_are_short() {
    let bytes = |sql_type: SqlType, value: Value| key(&KeyPart::ascending(sql_type, false), &value).len();
    assert_eq!(bytes(SqlType::INT, Value::Int(5)), 4);
    assert_eq!(bytes(SqlType::decimal(10, 2), Value::Decimal(Decimal::from(5i64))), 5);
    assert_eq!(bytes(SqlType::decimal(65, 30), Value::Decimal(Decimal::from(5i64))), 28);
    assert_eq!(bytes(SqlType::Date, Value::Date(Date::ZERO)), 3);
    assert_eq!(bytes(string_type(CollationId::UTF8MB4_0900_AI_CI), "abcdefgh".into()), 9);
    let char_type = SqlType::String { kind: StringKind::Char, length: 8, collation: CollationId::UTF8MB4_BIN };
    assert_eq!(bytes(char_type, "abcdefgh".into()), 10);
}

#[test]
fn year_enum_set_bit() {
    let members: Arc<[String]> = vec!["b".to_string(), "a".to_string()].into();
    let collation = CollationId::UTF8MB4_0900_AI_CI;
    for (sql_type, low, high) in [
        (SqlType::Year, 0, 1901),
        (SqlType::Year, 1901, 2155),
        (SqlType::Enum { members: members.clone(), collation }, 1, 2),
        (SqlType::Set { members, collation }, 1, 3),
        (SqlType::Bit { width: 9 }, 1, 511),
    ] {
        check(&sql_type, Value::UInt(low), Value::UInt(high), Ordering::Less).unwrap();
    }
}

proptest! {
    #[test]
    fn integers(left: i64, right: i64, small_left in -128i64..128, small_right in -128i64..128) {
        check(&SqlType::BIGINT, Value::Int(left), Value::Int(right), left.cmp(&right))?;
        let (left, right) = (left as u64, right as u64);
        check(&SqlType::BIGINT_UNSIGNED, Value::UInt(left), Value::UInt(right), left.cmp(&right))?;
        for width in [IntWidth::Tiny, IntWidth::Small, IntWidth::Medium, IntWidth::Int] {
            let order = small_left.cmp(&small_right);
            check(&int_type(width, false), Value::Int(small_left), Value::Int(small_right), order)?;
        }
    }

    #[test]
    fn decimals(left in -99_999i128..99_999, right in -99_999i128..99_999, precision in 5u8..=65) {
        let scale = (precision - 5).min(30);
        let value = |n: i128| Decimal::from_i128(n, 0).rescale(scale).unwrap();
        let (left, right) = (value(left), value(right));
        let order = left.cmp(&right);
        check(&SqlType::decimal(precision, scale), Value::Decimal(left), Value::Decimal(right), order)?;
        let largest = Decimal::largest(precision, scale);
        check(&SqlType::decimal(precision, scale), Value::Decimal(largest.negate()), Value::Decimal(largest), Ordering::Less)?;
    }

    #[test]
    fn floats(left in -1e300f64..1e300, right in -1e300f64..1e300) {
        check(&SqlType::DOUBLE, Value::Double(left), Value::Double(right), left.total_cmp(&right))?;
        let (left, right) = (f64::from(left as f32), f64::from((right * 1e-280) as f32));
        let float = SqlType::Float { unsigned: false, zerofill: false, digits: None };
        check(&float, Value::Double(left), Value::Double(right), left.total_cmp(&right))?;
    }

    #[test]
    fn temporals(left in 0i64..3_652_424, right in 0i64..3_652_424, micros in -Time::MAX_MICROS..Time::MAX_MICROS) {
        let date = |day| Date::from_day_number(day).unwrap_or(Date::ZERO);
        let (left, right) = (date(left), date(right));
        check(&SqlType::Date, Value::Date(left), Value::Date(right), left.cmp(&right))?;
        let (left, right) = (left.at_midnight(), right.at_midnight());
        check(&SqlType::DateTime { fsp: 6 }, Value::DateTime(left), Value::DateTime(right), left.cmp(&right))?;
        let (left, right) = (Time::from_micros(micros).unwrap(), Time::from_micros(-micros / 3).unwrap());
        check(&SqlType::Time { fsp: 6 }, Value::Time(left), Value::Time(right), left.cmp(&right))?;
    }

    #[test]
    fn strings(left in "[a-cA \u{0}\u{1}\u{2}é]{0,5}", right in "[a-cA \u{0}\u{1}\u{2}é]{0,5}", more in any::<i64>()) {
        for name in ["utf8mb4_0900_ai_ci", "utf8mb4_0900_as_cs", "utf8mb4_bin", "utf8mb4_0900_bin", "latin1_swedish_ci"] {
            let collation = CollationId::from_name(name).unwrap();
            let order = collation::compare(collation, &left, &right);
            check(&string_type(collation), left.as_str().into(), right.as_str().into(), order)?;
            // A part that follows decides only between equal strings.
            let parts = [KeyPart::ascending(string_type(collation), true), KeyPart::ascending(SqlType::BIGINT, false)];
            let whole = |text: &str, number: i64| {
                let mut key = key(&parts[0], &text.into());
                parts[1].encode(&Value::Int(number), &mut key).unwrap();
                key
            };
            prop_assert_eq!(whole(&left, more).cmp(&whole(&right, 0)), order.then(more.cmp(&0)));
        }
        let (left, right) = (left.into_bytes(), right.into_bytes());
        let order = left.cmp(&right);
        check(&string_type(CollationId::BINARY), Value::Bytes(left), Value::Bytes(right), order)?;
    }

    #[test]
    fn no_bytes_panic(bytes in proptest::collection::vec(any::<u8>(), 0..40)) {
        for sql_type in [SqlType::INT, SqlType::decimal(65, 30), SqlType::DOUBLE, SqlType::Year, SqlType::Date,
            SqlType::Time { fsp: 0 }, SqlType::DateTime { fsp: 0 }, string_type(CollationId::UTF8MB4_0900_BIN), SqlType::Json] {
            for descending in [false, true] {
                let part = KeyPart { sql_type: sql_type.clone(), prefix_length: None, descending, nullable: true };
                let _ = part.decode(&mut bytes.as_slice());
            }
        }
    }
}
