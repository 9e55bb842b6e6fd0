//! JSON as values of a column's type: the way back of the values that answers have. Byte strings are base64, integers beyond 2⁵³ and
//! decimals may be strings.

use crate::json::Json;
use crate::numbers::number_value;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use squall_types::{SqlType, Value};

/// What a column's type asks for that a value is not.
pub type Refused = &'static str;

const BASE64: Refused = "a string in base64 is needed";
const NUMBER: Refused = "a number is needed";
const TEXT: Refused = "a string is needed";
const NO_JSON: Refused = "the column has no JSON: arrays and objects cannot be its values";

/// A value to be stored in a column, of its JSON text. Whether it fits the column is for the statement to say; JSON is the text of itself.
///
/// # Errors
/// For what has no meaning in a column of this type.
pub fn stored_value(sql_type: &SqlType, json: &str) -> Result<Value, Refused> {
    match json.as_bytes().first() {
        Some(b'n') => Ok(Value::Null),
        _ if *sql_type == SqlType::Json => Ok(Value::from(json)),
        Some(b't' | b'f') if sql_type.is_binary_string() => Err(BASE64),
        Some(b't') => Ok(Value::Int(1)),
        Some(b'f') => Ok(Value::Int(0)),
        Some(b'"') => {
            let text = serde_json::from_str::<String>(json).map_err(|_| TEXT)?;
            stored_text(sql_type, text)
        }
        Some(b'{' | b'[') => Err(NO_JSON),
        _ if sql_type.is_binary_string() => Err(BASE64),
        _ => number_value(json).ok_or(NUMBER),
    }
}

fn stored_text(sql_type: &SqlType, text: String) -> Result<Value, Refused> {
    match sql_type {
        _ if sql_type.is_binary_string() => bytes(&text),
        // Its bytes would be the bits.
        SqlType::Bit { .. } => number(&text),
        // Others are told by the statement, as they are for strings of SQL.
        SqlType::Int { .. } | SqlType::Decimal { .. } => Ok(number(&text).unwrap_or(Value::String(text))),
        _ => Ok(Value::String(text)),
    }
}

/// A value that a column's are compared with. It has the column's type, so that no text is taken for the number that it begins with.
///
/// # Errors
/// For a value of another type.
pub fn compared_value(sql_type: &SqlType, json: &Json) -> Result<Value, Refused> {
    match sql_type {
        SqlType::Json => {
            let mut text = String::new();
            json.push_text(&mut text);
            Ok(Value::String(text))
        }
        SqlType::Null => match json {
            Json::Number(text) => number_value(text).ok_or(NUMBER),
            Json::Text(text) => Ok(Value::from(text.as_str())),
            Json::Bool(value) => Ok(Value::Int(i64::from(*value))),
            _ => Err(TEXT),
        },
        SqlType::Int { .. }
        | SqlType::Decimal { .. }
        | SqlType::Float { .. }
        | SqlType::Double { .. }
        | SqlType::Bit { .. }
        | SqlType::Year => match json {
            Json::Number(text) => number_value(text).ok_or(NUMBER),
            Json::Text(text) => number(text),
            Json::Bool(value) => Ok(Value::Int(i64::from(*value))),
            _ => Err(NUMBER),
        },
        _ => match json {
            Json::Text(text) if sql_type.is_binary_string() => bytes(text),
            Json::Text(text) => Ok(Value::from(text.as_str())),
            _ if sql_type.is_binary_string() => Err(BASE64),
            _ => Err(TEXT),
        },
    }
}

/// A number of JSON that is written as a string.
fn number(text: &str) -> Result<Value, Refused> {
    // It is stricter than what reads numbers of SQL.
    match text.parse::<serde_json::Number>() {
        Ok(_) => number_value(text).ok_or(NUMBER),
        Err(_) => Err(NUMBER),
    }
}

fn bytes(text: &str) -> Result<Value, Refused> {
    STANDARD.decode(text).map(Value::Bytes).map_err(|_| BASE64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use squall_types::{CollationId, Decimal};

    #[test]
    fn values_are_stored_by_the_type_of_their_column() {
        let text = SqlType::longtext(CollationId::UTF8MB4_BIN);
        let blob = SqlType::longtext(CollationId::BINARY);
        let bit = SqlType::Bit { width: 64 };
        for (sql_type, json, expected) in [
            (&text, "null", Ok(Value::Null)),
            (&text, "\"null\"", Ok(Value::from("null"))),
            (&text, "1.50", Ok(Value::Decimal(Decimal::parse("1.50").value))),
            (&text, "{}", Err(NO_JSON)),
            (&blob, "\"AP8=\"", Ok(Value::Bytes(vec![0, 255]))),
            (&blob, "\"?\"", Err(BASE64)),
            (&blob, "5", Err(BASE64)),
            (&SqlType::BIGINT, "\"9007199254740993\"", Ok(Value::Int(9_007_199_254_740_993))),
            (&SqlType::BIGINT, "\"12abc\"", Ok(Value::from("12abc"))),
            (&SqlType::BIGINT, "true", Ok(Value::Int(1))),
            (&bit, "\"18446744073709551615\"", Ok(Value::UInt(u64::MAX))),
            (&bit, "\"a\"", Err(NUMBER)),
            (&SqlType::Json, "\"a\"", Ok(Value::from("\"a\""))),
            (&SqlType::Json, "null", Ok(Value::Null)),
            (&SqlType::Json, "[1]", Ok(Value::from("[1]"))),
        ] {
            assert_eq!(stored_value(sql_type, json), expected, "{sql_type:?} {json}");
        }
    }

    #[test]
    fn values_are_compared_by_the_type_of_their_column() {
        let text = SqlType::longtext(CollationId::UTF8MB4_BIN);
        let value = |sql_type: &SqlType, json: &str| compared_value(sql_type, &Json::parse(json, 100).expect("JSON"));
        assert_eq!(value(&SqlType::BIGINT, "\"5\""), Ok(Value::Int(5)));
        for bad in ["\"\"", "\"5a\"", "\" 5\"", "\"+5\"", "\"05\"", "\"inf\"", "[]", "null"] {
            assert_eq!(value(&SqlType::BIGINT, bad), Err(NUMBER), "{bad}");
        }
        assert_eq!(value(&text, "\"5\""), Ok(Value::from("5")));
        assert_eq!(value(&text, "5"), Err(TEXT));
        assert_eq!(value(&SqlType::Date, "20260101"), Err(TEXT));
        assert_eq!(value(&SqlType::Json, "{\"a\":[1]}"), Ok(Value::from("{\"a\":[1]}")));
    }
}
