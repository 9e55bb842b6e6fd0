//! The body of `POST /1.0/sql`.

use crate::json_text::{JsonText, push_name};
use crate::problem::Problem;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use hyper::StatusCode;
use serde::Deserializer;
use serde::de::{DeserializeSeed, Error, IgnoredAny, MapAccess, SeqAccess, Visitor};
use squall_row_json::numbers::{NUMBER, number_behind, number_value};
use squall_row_json::visit_numbers;
use squall_types::{ErrorCode, SqlError, Value};
use std::fmt::{self, Formatter};
use std::time::Duration;

/// The longest time that a client may ask for.
const TIMEOUT_MAX: Duration = Duration::from_secs(24 * 3600);
/// The member of an object that stands for bytes.
const BINARY: &str = "$binary";
/// Most parameters, as of prepared statements.
const PARAMS_MAX: usize = 65_535;

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
    /// Reads a body. It is never a tree in memory: a short text can stand for very many values.
    ///
    /// # Errors
    /// 400.
    pub fn parse(body: &[u8]) -> Result<SqlRequest, Problem> {
        let mut reading = Reading::default();
        let mut json = serde_json::Deserializer::from_slice(body);
        let read = json.deserialize_map(Members(&mut reading)).and_then(|()| json.end());
        if let Err(error) = read {
            let broken = || Problem::bad_request(format!("the body is not a JSON object: {error}"));
            return Err(reading.problem.unwrap_or_else(broken));
        }
        match reading.has_sql {
            true => Ok(reading.request),
            false => Err(Problem::bad_request("the member 'sql' is missing")),
        }
    }
}

/// What has been read of a body.
#[derive(Default)]
struct Reading {
    request: SqlRequest,
    has_sql: bool,
    /// What is wrong, if it is not the JSON.
    problem: Option<Problem>,
}

/// Reads the members of the body.
struct Members<'r>(&'r mut Reading);

impl<'de> Visitor<'de> for Members<'_> {
    type Value = ();

    fn expecting(&self, formatter: &mut Formatter<'_>) -> fmt::Result {
        formatter.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<(), A::Error> {
        let Members(reading) = self;
        while let Some(name) = members.next_key::<String>()? {
            let read = match name.as_str() {
                "params" => {
                    let (params, is_list) = members.next_value_seed(ParamsSeed(&mut reading.problem))?;
                    reading.request.params = params;
                    is_list.then_some(())
                }
                _ => take_member(reading, &name, members.next_value_seed(ScalarSeed)?),
            };
            if read.is_none() {
                let is_known =
                    matches!(name.as_str(), "sql" | "params" | "database" | "read_only" | "max_rows" | "timeout_ms");
                let detail = match is_known {
                    true => format!("the member '{name}' has a value of a wrong type"),
                    false => format!("there is no member '{name}'"),
                };
                reading.problem = Some(Problem::bad_request(detail));
                return Err(A::Error::custom("a wrong member"));
            }
        }
        Ok(())
    }
}

/// Takes a member that is not `params`; `None` for one that there is not, or of a wrong type.
fn take_member(reading: &mut Reading, name: &str, value: Scalar) -> Option<()> {
    let request = &mut reading.request;
    match (name, value) {
        ("sql", Scalar::Text(text)) => (request.sql, reading.has_sql) = (text, true),
        ("database", Scalar::Text(text)) => request.database = text,
        ("read_only", Scalar::Bool(is_so)) => request.read_only = is_so,
        ("max_rows", Scalar::Number(number)) => request.rows_max = Some(number.parse().ok()?),
        ("timeout_ms", Scalar::Number(number)) => {
            let millis = number.parse().ok().filter(|millis| *millis > 0)?;
            request.timeout = Some(Duration::from_millis(millis).min(TIMEOUT_MAX));
        }
        ("database" | "read_only" | "max_rows" | "timeout_ms", Scalar::Null) => {}
        _ => return None,
    }
    Some(())
}

/// A value of JSON, of which lists and objects are not kept.
enum Scalar {
    Null,
    Bool(bool),
    /// As it is written.
    Number(String),
    Text(String),
    Other,
}

struct ScalarSeed;

impl<'de> DeserializeSeed<'de> for ScalarSeed {
    type Value = Scalar;

    fn deserialize<D: Deserializer<'de>>(self, json: D) -> Result<Scalar, D::Error> {
        json.deserialize_any(self)
    }
}

impl ScalarSeed {
    fn number(self, text: &str) -> Scalar {
        Scalar::Number(text.to_owned())
    }
}

impl<'de> Visitor<'de> for ScalarSeed {
    type Value = Scalar;

    fn expecting(&self, formatter: &mut Formatter<'_>) -> fmt::Result {
        formatter.write_str("a value")
    }

    fn visit_unit<E: Error>(self) -> Result<Scalar, E> {
        Ok(Scalar::Null)
    }

    fn visit_bool<E: Error>(self, value: bool) -> Result<Scalar, E> {
        Ok(Scalar::Bool(value))
    }

    visit_numbers!();

    fn visit_str<E: Error>(self, text: &str) -> Result<Scalar, E> {
        Ok(Scalar::Text(text.to_owned()))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Scalar, A::Error> {
        while items.next_element::<IgnoredAny>()?.is_some() {}
        Ok(Scalar::Other)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<Scalar, A::Error> {
        while let Some(name) = members.next_key::<String>()? {
            if name == NUMBER {
                return number_behind(&mut members).map(Scalar::Number);
            }
            members.next_value::<IgnoredAny>()?;
        }
        Ok(Scalar::Other)
    }
}

/// Reads the parameters, and whether they are a list or null.
struct ParamsSeed<'p>(&'p mut Option<Problem>);

impl<'de> DeserializeSeed<'de> for ParamsSeed<'_> {
    type Value = (Vec<Value>, bool);

    fn deserialize<D: Deserializer<'de>>(self, json: D) -> Result<Self::Value, D::Error> {
        json.deserialize_any(self)
    }
}

impl ParamsSeed<'_> {
    /// It is no list.
    fn number(self, _text: &str) -> (Vec<Value>, bool) {
        (Vec::new(), false)
    }
}

impl<'de> Visitor<'de> for ParamsSeed<'_> {
    type Value = (Vec<Value>, bool);

    fn expecting(&self, formatter: &mut Formatter<'_>) -> fmt::Result {
        formatter.write_str("a list")
    }

    fn visit_unit<E: Error>(self) -> Result<Self::Value, E> {
        Ok((Vec::new(), true))
    }

    fn visit_bool<E: Error>(self, _value: bool) -> Result<Self::Value, E> {
        Ok((Vec::new(), false))
    }

    visit_numbers!();

    fn visit_str<E: Error>(self, _text: &str) -> Result<Self::Value, E> {
        Ok((Vec::new(), false))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<Self::Value, A::Error> {
        while members.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
        Ok((Vec::new(), false))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Self::Value, A::Error> {
        let ParamsSeed(problem) = self;
        let mut params = Vec::new();
        while let Some(param) = items.next_element_seed(ParamSeed(problem))? {
            if params.len() >= PARAMS_MAX {
                let error = SqlError::new(ErrorCode::PsManyParameters, &[]);
                *problem = Some(Problem { status: StatusCode::BAD_REQUEST, ..Problem::of_error(&error) });
                return Err(A::Error::custom("too many parameters"));
            }
            params.push(param);
        }
        Ok((params, true))
    }
}

/// Reads a parameter as a value of SQL; lists and objects are their JSON text.
struct ParamSeed<'p>(&'p mut Option<Problem>);

impl<'de> DeserializeSeed<'de> for ParamSeed<'_> {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, json: D) -> Result<Value, D::Error> {
        json.deserialize_any(self)
    }
}

impl ParamSeed<'_> {
    fn number(self, text: &str) -> Value {
        // It comes of a DOUBLE or an integer.
        number_value(text).unwrap_or_default()
    }
}

impl<'de> Visitor<'de> for ParamSeed<'_> {
    type Value = Value;

    fn expecting(&self, formatter: &mut Formatter<'_>) -> fmt::Result {
        formatter.write_str("a value")
    }

    fn visit_unit<E: Error>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E: Error>(self, value: bool) -> Result<Value, E> {
        Ok(Value::Int(i64::from(value)))
    }

    visit_numbers!();

    fn visit_str<E: Error>(self, text: &str) -> Result<Value, E> {
        Ok(Value::String(text.to_owned()))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, items: A) -> Result<Value, A::Error> {
        let mut out = Vec::new();
        JsonText(&mut out).visit_seq(items)?;
        Ok(Value::String(String::from_utf8_lossy(&out).into_owned()))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<Value, A::Error> {
        let (mut out, mut count, mut has_bytes) = (b"{".to_vec(), 0, false);
        let mut value_at = 0;
        while let Some(name) = members.next_key::<String>()? {
            if name == NUMBER && count == 0 {
                let number = number_behind(&mut members)?;
                return number_value(&number).ok_or_else(|| A::Error::custom("a number beyond DOUBLE"));
            }
            push_name(&name, &mut out);
            (value_at, has_bytes) = (out.len(), name == BINARY);
            count += 1;
            members.next_value_seed(JsonText(&mut out))?;
        }
        if count == 1 && has_bytes {
            let text = serde_json::from_slice::<String>(&out[value_at..]).ok();
            let Some(bytes) = text.and_then(|text| STANDARD.decode(text).ok()) else {
                *self.0 = Some(Problem::bad_request("$binary is not a string in base64"));
                return Err(A::Error::custom("no base64"));
            };
            return Ok(Value::Bytes(bytes));
        }
        out.push(b'}');
        Ok(Value::String(String::from_utf8_lossy(&out).into_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use squall_types::Decimal;

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
    fn parameters_have_a_limit_and_are_no_trees() {
        let of = |count: usize| {
            SqlRequest::parse(format!("{{\"sql\":\"\",\"params\":[{}0]}}", "0,".repeat(count)).as_bytes())
        };
        assert_eq!(of(65_534).expect("a request").params.len(), 65_535);
        let problem = of(65_535).expect_err("too many");
        assert_eq!((problem.status.as_u16(), problem.sql.map(|(code, _)| code)), (400, Some(1390)));
        let body =
            br#"{"sql":"","params":[{"a":[1, 2.50,{"b":null,"c":[]}], "d\n":true}, [[],"x"], {"$binary":"","x":{}}]}"#;
        let texts = [r#"{"a":[1,2.50,{"b":null,"c":[]}],"d\n":true}"#, r#"[[],"x"]"#, r#"{"$binary":"","x":{}}"#];
        assert_eq!(SqlRequest::parse(body).expect("a request").params, texts.map(Value::from));
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
            "{\"sql\":\"\",\"params\":[{\"$binary\":[]}]}",
            "{\"sql\":\"\",\"params\":{}}",
            "{\"sql\":\"\",\"params\":[{\"$serde_json::private::Number\":\"x\"}]}",
            "{\"sql\":\"\"} x",
            deep.as_str(),
        ] {
            assert_eq!(SqlRequest::parse(body.as_bytes()).expect_err(body).status.as_u16(), 400);
        }
    }
}
