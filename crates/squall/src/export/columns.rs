//! Types of columns, from a server's metadata.

use clap::builder::{PossibleValuesParser, TypedValueParser};
use squall_client::{Column, OwnedValue};
use squall_file_formats::text::JsonForm;
use squall_file_formats::{FieldKind, FileFormat};
use squall_types::json::Document;
use squall_types::{CollationId, Date, DateTime, Decimal, IntWidth, SqlType, Time, Value};
use squall_wire::constants::{ColumnFlags, ColumnType};

/// The formats on a command line.
pub(crate) fn format_parser() -> impl TypedValueParser<Value = FileFormat> {
    PossibleValuesParser::new(FileFormat::NAMES.map(|(name, _)| name))
        .try_map(|name| FileFormat::from_name(&name).ok_or("no such format"))
}

fn is_binary(column: &Column) -> bool {
    column.collation == CollationId::BINARY.0
        && matches!(
            column.column_type,
            ColumnType::VarChar
                | ColumnType::TinyBlob
                | ColumnType::MediumBlob
                | ColumnType::LongBlob
                | ColumnType::Blob
                | ColumnType::VarString
                | ColumnType::String
                | ColumnType::Geometry
                | ColumnType::Vector
        )
}

/// How LOAD DATA wants to be told a column's values.
pub(crate) fn field_kind(column: &Column) -> FieldKind {
    match column.column_type {
        ColumnType::Bit => FieldKind::Bits,
        ColumnType::Json => FieldKind::Json,
        _ if is_binary(column) => FieldKind::Bytes,
        _ => FieldKind::Text,
    }
}

/// What a column's values are in JSON.
pub(super) fn json_form(column: &Column) -> JsonForm {
    match column.column_type {
        ColumnType::Json => JsonForm::Json,
        _ => JsonForm::of(&sql_type(column)),
    }
}

/// The type of a column's values, as far as files have it.
pub(super) fn sql_type(column: &Column) -> SqlType {
    let unsigned = column.flags.contains(ColumnFlags::UNSIGNED);
    let int = |width| SqlType::Int { width, unsigned, zerofill: false, display_width: None };
    let fsp = if column.decimals <= 6 { column.decimals } else { 6 };
    match column.column_type {
        ColumnType::Null => SqlType::Null,
        ColumnType::Tiny | ColumnType::Bool => int(IntWidth::Tiny),
        ColumnType::Short => int(IntWidth::Small),
        ColumnType::Int24 => int(IntWidth::Medium),
        ColumnType::Long => int(IntWidth::Int),
        ColumnType::LongLong => int(IntWidth::Big),
        ColumnType::Float => SqlType::Float { unsigned, zerofill: false, digits: None },
        ColumnType::Double => SqlType::DOUBLE,
        ColumnType::Decimal | ColumnType::NewDecimal => {
            // The length counts a point and a sign, too.
            let others = u32::from(column.decimals > 0) + u32::from(!unsigned);
            let precision = column.length.saturating_sub(others).clamp(1, 65) as u8;
            SqlType::decimal(precision.max(column.decimals.min(30)), column.decimals.min(30))
        }
        ColumnType::Year => SqlType::Year,
        ColumnType::Bit => SqlType::Bit { width: 64 },
        ColumnType::Date | ColumnType::NewDate => SqlType::Date,
        ColumnType::Time | ColumnType::Time2 => SqlType::Time { fsp },
        ColumnType::DateTime | ColumnType::DateTime2 => SqlType::DateTime { fsp },
        ColumnType::Timestamp | ColumnType::Timestamp2 => SqlType::Timestamp { fsp },
        ColumnType::Json => SqlType::Json,
        _ if is_binary(column) => SqlType::longtext(CollationId::BINARY),
        _ => SqlType::longtext(CollationId::UTF8MB4_0900_AI_CI),
    }
}

/// A value of such a type; `None` if the server's is none.
pub(super) fn value(value: OwnedValue, sql_type: &SqlType) -> Option<Value> {
    Some(match (value, sql_type) {
        (OwnedValue::Null, _) => Value::Null,
        (OwnedValue::Int(number), SqlType::Year) => Value::UInt(u64::try_from(number).ok()?),
        (OwnedValue::Int(number), _) => Value::Int(number),
        (OwnedValue::UInt(number), _) => Value::UInt(number),
        (OwnedValue::Float(number), _) => Value::Double(number.into()),
        (OwnedValue::Double(number), _) => Value::Double(number),
        (OwnedValue::DateTime { year, month, day, .. }, SqlType::Date) => {
            Value::Date(Date::from_parts(year, month, day)?)
        }
        (OwnedValue::DateTime { year, month, day, hour, minute, second, micros }, _) => {
            Value::DateTime(DateTime::from_parts(Date::from_parts(year, month, day)?, hour, minute, second, micros)?)
        }
        (OwnedValue::Time { negative, hours, minute, second, micros }, _) => {
            Value::Time(Time::from_parts(negative, hours, minute.into(), second.into(), micros)?)
        }
        (OwnedValue::Bytes(bytes), SqlType::Decimal { .. }) => Value::Decimal(Decimal::parse_bytes(&bytes).value),
        (OwnedValue::Bytes(bytes), SqlType::Bit { .. }) => Value::UInt(bits(&bytes)?),
        (OwnedValue::Bytes(bytes), SqlType::Json) => Value::Json(Document::from_stored(String::from_utf8(bytes).ok()?)),
        (OwnedValue::Bytes(bytes), sql_type) if sql_type.is_binary_string() => Value::Bytes(bytes),
        (OwnedValue::Bytes(bytes), _) => Value::String(String::from_utf8(bytes).ok()?),
    })
}

/// The number of a BIT value's bytes.
pub(super) fn bits(bytes: &[u8]) -> Option<u64> {
    let mut number = [0; 8];
    number.get_mut(8usize.checked_sub(bytes.len())?..)?.copy_from_slice(bytes);
    Some(u64::from_be_bytes(number))
}
