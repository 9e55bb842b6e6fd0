//! Values out of documents as values of SQL types.

use crate::operators::coerce;
use squall_statement_context::StatementContext;
use squall_types::convert::context::{ConversionContext, Severity};
use squall_types::convert::store_value;
use squall_types::json::Json;
use squall_types::{CollationId, ErrorCode, SqlError, SqlResult, SqlType, Value};

/// What messages call a type that a document's value was to become.
pub fn type_word(sql_type: &SqlType) -> &'static str {
    match sql_type {
        SqlType::Decimal { .. } => "DECIMAL",
        SqlType::Float { .. } | SqlType::Double { .. } => "DOUBLE",
        SqlType::Date => "DATE",
        SqlType::Time { .. } => "TIME",
        SqlType::DateTime { .. } | SqlType::Timestamp { .. } => "DATETIME",
        SqlType::Year => "YEAR",
        SqlType::String { .. } | SqlType::Enum { .. } | SqlType::Set { .. } => "CHAR",
        SqlType::Json => "JSON",
        SqlType::Hex { .. } => "HEX",
        SqlType::Uuid => "UUID",
        SqlType::Int { .. } | SqlType::Bit { .. } | SqlType::Null => "INTEGER",
    }
}

/// A scalar as a column of the type would hold it. Whatever strict mode would not store is an error; an array or object
/// is 3156.
pub fn column_value(value: &Json, sql_type: &SqlType, name: &str, context: &StatementContext) -> SqlResult<Value> {
    let text = SqlType::longtext(CollationId::UTF8MB4_BIN);
    let (value, source) = match value {
        Json::Null => return Ok(Value::Null),
        Json::Array(_) | Json::Object(_) => {
            return Err(SqlError::new(ErrorCode::InvalidJsonValueForCast, &[&type_word(sql_type), &name, &1]));
        }
        // As text a boolean is its word, and a number has the digits that the document shows.
        scalar if sql_type.is_string() => (Value::String(scalar.unquoted()), text),
        Json::Bool(truth) => (Value::Int(i64::from(*truth)), SqlType::BIGINT),
        Json::Int(number) => (Value::Int(*number), SqlType::BIGINT),
        Json::UInt(number) => (Value::UInt(*number), SqlType::BIGINT_UNSIGNED),
        Json::Double(number) => (Value::Double(*number), SqlType::DOUBLE),
        Json::Decimal(number) => (Value::Decimal(**number), SqlType::decimal(65, number.scale())),
        Json::String(string) => (Value::String(string.clone()), text),
        Json::Date(date) => (Value::Date(*date), SqlType::Date),
        Json::Time(time) => (Value::Time(*time), SqlType::Time { fsp: 6 }),
        Json::DateTime(moment) => (Value::DateTime(*moment), SqlType::DateTime { fsp: 6 }),
        Json::Opaque(..) => (Value::String(value.unquoted()), text),
    };
    let conversion = ConversionContext {
        mode: context.settings.sql_mode,
        time_zone: &context.settings.time_zone,
        current_date: coerce::now(context).date(),
        table: "",
        column: name,
        row: 1,
    };
    let stored = store_value(value, &source, sql_type, &conversion);
    match stored.condition {
        Some(condition) if condition.severity != Severity::Note => Err(condition.error),
        _ => Ok(stored.value),
    }
}
