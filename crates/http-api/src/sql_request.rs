//! The body of `POST /1.0/sql`.

use crate::problem::Problem;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Map, Value as Json};
use squall_types::{Decimal, Value};
use std::time::Duration;

/// The longest time that a client may ask for.
const TIMEOUT_MAX: Duration = Duration::from_secs(24 * 3600);
/// The member of an object that stands for bytes.
const BINARY: &str = "$binary";

/// What is asked for.
#[derive(Debug, Default)]
pub struct SqlRequest {
    /// One statement or several.
    pub sql: String,
    /// A value for each `?`.
    pub params: Vec<Value>,
    /// The default database; empty for none.
    pub database: String,
    /// Most rows of each result; others are left out.
    pub rows_max: Option<u64>,
    /// How long everything may take.
    pub timeout: Option<Duration>,
    /// Nothing may be changed.
    pub read_only: bool,
}

impl SqlRequest {
    /// Reads a body.
    ///
    /// # Errors
    /// 400.
    pub fn parse(body: &[u8]) -> Result<SqlRequest, Problem> {
        let members: Map<String, Json> = serde_json::from_slice(body)
            .map_err(|error| Problem::bad_request(format!("the body is not a JSON object: {error}")))?;
        let mut request = SqlRequest::default();
        let mut has_sql = false;
        for (name, value) in members {
            match (name.as_str(), value) {
                ("sql", Json::String(text)) => (request.sql, has_sql) = (text, true),
                ("params", Json::Array(values)) => {
                    request.params = values.into_iter().map(parameter).collect::<Result<_, _>>()?;
                }
                ("database", Json::String(text)) => request.database = text,
                ("read_only", Json::Bool(is_so)) => request.read_only = is_so,
                ("max_rows", value) if value.is_u64() => request.rows_max = value.as_u64(),
                ("timeout_ms", value) if value.as_u64().is_some_and(|millis| millis > 0) => {
                    let timeout = Duration::from_millis(value.as_u64().unwrap_or(u64::MAX));
                    request.timeout = Some(timeout.min(TIMEOUT_MAX));
                }
                ("params" | "database" | "read_only" | "max_rows" | "timeout_ms", Json::Null) => {}
                ("sql" | "params" | "database" | "read_only" | "max_rows" | "timeout_ms", _) => {
                    return Err(Problem::bad_request(format!("the member '{name}' has a value of a wrong type")));
                }
                _ => return Err(Problem::bad_request(format!("there is no member '{name}'"))),
            }
        }
        match has_sql {
            true => Ok(request),
            false => Err(Problem::bad_request("the member 'sql' is missing")),
        }
    }
}

/// A parameter as a value of SQL.
///
/// # Errors
/// 400.
pub fn parameter(json: Json) -> Result<Value, Problem> {
    Ok(match json {
        Json::Null => Value::Null,
        Json::Bool(value) => Value::Int(i64::from(value)),
        Json::Number(number) => number_value(&number.to_string()),
        Json::String(text) => Value::String(text),
        Json::Object(members) if members.len() == 1 && members.contains_key(BINARY) => {
            let bytes = members.get(BINARY).and_then(Json::as_str).and_then(|text| STANDARD.decode(text).ok());
            Value::Bytes(bytes.ok_or_else(|| Problem::bad_request("$binary is not a string in base64"))?)
        }
        json => Value::String(json.to_string()),
    })
}

/// A number as SQL reads it: an integer, a DECIMAL with a point, a DOUBLE with an exponent or with more digits than a DECIMAL has.
fn number_value(text: &str) -> Value {
    if let Ok(value) = text.parse::<i64>() {
        return Value::Int(value);
    }
    if let Ok(value) = text.parse::<u64>() {
        return Value::UInt(value);
    }
    let decimal = Decimal::parse(text);
    if !text.contains(['e', 'E']) && !decimal.overflow && !decimal.rounded {
        return Value::Decimal(decimal.value);
    }
    // Past the greatest DOUBLE it is that one, as in SQL's own texts of numbers.
    Value::Double(text.parse::<f64>().unwrap_or(0.0).clamp(f64::MIN, f64::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bodies_are_read() {
        let body =
            br#"{"sql":"SELECT ?","params":[null,true,-1,18446744073709551615,1.50,1e3,"a",{"$binary":"AP8="},[1]],
            "database":"d","max_rows":5,"timeout_ms":10,"read_only":true}"#;
        let request = SqlRequest::parse(body).expect("a request");
        let decimal = Value::Decimal(Decimal::parse("1.50").value);
        let values = vec![
            Value::Null,
            Value::Int(1),
            Value::Int(-1),
            Value::UInt(u64::MAX),
            decimal,
            Value::Double(1000.0),
            Value::from("a"),
            Value::Bytes(vec![0, 255]),
            Value::from("[1]"),
        ];
        assert_eq!(request.params, values);
        assert_eq!((request.rows_max, request.timeout), (Some(5), Some(Duration::from_millis(10))));
        assert!(request.read_only && request.database == "d");
    }

    #[test]
    fn other_bodies_are_refused() {
        let deep = format!("{{\"sql\":{}", "[".repeat(100_000));
        for body in [
            "",
            "[]",
            "{}",
            "{\"sql\":1}",
            "{\"sql\":\"\",\"x\":1}",
            "{\"sql\":\"\",\"max_rows\":-1}",
            "{\"sql\":\"\",\"timeout_ms\":0}",
            "{\"sql\":\"\",\"params\":[{\"$binary\":\"?\"}]}",
            deep.as_str(),
        ] {
            assert_eq!(SqlRequest::parse(body.as_bytes()).expect_err(body).status.as_u16(), 400);
        }
    }
}
