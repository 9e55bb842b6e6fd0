//! Types and values pass through Arrow fields and arrays unchanged.

use super::*;
use arrow_buffer::i256;
use squall_types::json::Document;
use squall_types::{Date, DateTime, Decimal, GeometryKind, GeometryType, IntWidth, StringKind, TextSize, Time, Value};

fn every_type() -> Vec<SqlType> {
    let mut types = vec![
        SqlType::Null,
        SqlType::BOOL,
        SqlType::Year,
        SqlType::Date,
        SqlType::Json,
        SqlType::vector(3),
        SqlType::geometry(GeometryKind::GeometryCollection),
        SqlType::of_geometry(GeometryType { kind: GeometryKind::Point, srid: Some(0) }),
        SqlType::Bit { width: 64 },
        SqlType::Time { fsp: 3 },
        SqlType::DateTime { fsp: 6 },
        SqlType::Timestamp { fsp: 0 },
        SqlType::decimal(10, 2),
        SqlType::Decimal { precision: 65, scale: 30, unsigned: true, zerofill: true },
        SqlType::Float { unsigned: false, zerofill: false, digits: Some((7, 4)) },
        SqlType::Double { unsigned: true, zerofill: false, digits: None },
        SqlType::Enum {
            members: vec!["a:b".to_string(), String::new(), "日本".to_string()].into(),
            collation: CollationId(255),
        },
        SqlType::Set { members: vec!["1:1".to_string()].into(), collation: CollationId(45) },
        SqlType::Set { members: Vec::new().into(), collation: CollationId(45) },
    ];
    for width in [IntWidth::Tiny, IntWidth::Small, IntWidth::Medium, IntWidth::Int, IntWidth::Big] {
        types.push(SqlType::Int { width, unsigned: true, zerofill: true, display_width: Some(9) });
        types.push(SqlType::Int { width, unsigned: false, zerofill: false, display_width: None });
    }
    for kind in [
        StringKind::Char,
        StringKind::Varchar,
        StringKind::Text(TextSize::Tiny),
        StringKind::Text(TextSize::Normal),
        StringKind::Text(TextSize::Medium),
        StringKind::Text(TextSize::Long),
    ] {
        types.push(SqlType::String { kind, length: 12, collation: CollationId::BINARY });
        types.push(SqlType::String { kind, length: u32::MAX, collation: CollationId::UTF8MB4_0900_AI_CI });
    }
    types
}

#[test]
fn types_survive_field_metadata() {
    for sql_type in every_type() {
        assert_eq!(decode_type(&encode_type(&sql_type)), Some(sql_type.clone()));
        let expr_type = ExprType { sql_type, nullable: true, coercibility: Coercibility::Literal };
        let field = field_for("x", &expr_type);
        assert_eq!(expr_type_of(&field), expr_type);
    }
}

#[test]
fn broken_type_texts_are_refused() {
    for text in ["", "int", "int:9:s:", "int:4:q:", "enum:255:5:abc", "enum:255:2:日", "varchar:x:1", "nonsense:1"] {
        assert_eq!(decode_type(text), None, "{text}");
    }
}

#[test]
fn values_survive_arrays() {
    let decimal = Decimal::new(i256::from_i128(-12345), 2);
    let date = Date::from_parts(2024, 0, 31).unwrap();
    let datetime = DateTime::from_parts(date, 23, 59, 59, 999_999).unwrap();
    let cases = [
        (SqlType::BIGINT, Value::Int(i64::MIN)),
        (SqlType::BIGINT_UNSIGNED, Value::UInt(u64::MAX)),
        (SqlType::Year, Value::UInt(2024)),
        (SqlType::DOUBLE, Value::Double(-1.5)),
        (SqlType::decimal(10, 2), Value::Decimal(decimal)),
        (SqlType::decimal(60, 2), Value::Decimal(decimal)),
        (SqlType::Date, Value::Date(date)),
        (SqlType::Date, Value::Date(Date::ZERO)),
        (SqlType::DateTime { fsp: 6 }, Value::DateTime(datetime)),
        (SqlType::Timestamp { fsp: 6 }, Value::DateTime(datetime)),
        (SqlType::Time { fsp: 6 }, Value::Time(Time::from_micros(-Time::MAX_MICROS).unwrap())),
        (SqlType::varchar(10, CollationId::UTF8MB4_BIN), Value::from("é")),
        (SqlType::varchar(10, CollationId::BINARY), Value::Bytes(vec![0, 255])),
        (SqlType::Json, Value::Json(Document::from_stored("{}"))),
    ];
    for (sql_type, value) in cases {
        let mut builder = ValueArrayBuilder::new(&sql_type, 2);
        builder.append(&value).unwrap();
        builder.append_null();
        let array = builder.finish();
        assert_eq!(array.data_type(), &arrow_type(&sql_type));
        assert_eq!(value_at(&array, 0, &sql_type).unwrap(), value);
        assert_eq!(value_at(&array, 1, &sql_type).unwrap(), Value::Null);
        let scalar = value_to_scalar(&value, &sql_type).unwrap();
        assert_eq!(scalar_to_value(&scalar, &sql_type).unwrap(), value);
    }
}

#[test]
fn a_date_is_the_datetime_of_its_midnight() {
    let date = Date::from_parts(2024, 2, 29).unwrap();
    let midnight = DateTime::from_parts(date, 0, 0, 0, 0).unwrap();
    assert_eq!(
        value_to_scalar(&Value::Date(date), &SqlType::Date).unwrap(),
        value_to_scalar(&Value::DateTime(midnight), &SqlType::DateTime { fsp: 0 }).unwrap()
    );
}

#[test]
fn a_value_of_the_wrong_type_is_an_error_not_a_panic() {
    let mut builder = ValueArrayBuilder::new(&SqlType::BIGINT, 1);
    assert!(builder.append(&Value::from("x")).is_err());
    assert!(builder.append(&Value::UInt(u64::MAX)).is_err());
    assert!(builder.append(&Value::UInt(1)).is_ok());
}

#[test]
fn arrays_of_texts_take_what_the_texts_take() {
    let mut builder = ValueArrayBuilder::new(&SqlType::longtext(CollationId(255)), 0);
    for _ in 0..20 {
        (0..100).for_each(|_| builder.append_str(&"x".repeat(20)).unwrap());
        let bytes = builder.finish().get_array_memory_size();
        assert!(bytes < 40_000, "{bytes} bytes for 100 texts of 20");
    }
}
