//! JSON of requests.

use super::{Object, status};
use crate::answer::Answer;
use hyper::StatusCode;
use serde_json::{Map, Value as Json};
use squall_types::SqlError;

/// Why a request about documents is refused before a statement runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Refusal {
    /// It is no JSON, or has not the form that is asked for: message.
    Json(String),
    /// Something is missing: message.
    Http(String),
}

impl From<SqlError> for Refusal {
    fn from(error: SqlError) -> Refusal {
        Refusal::Json(error.message)
    }
}

impl Refusal {
    pub fn answer(&self, has_legacy_status: bool) -> Answer {
        let object = |error_type: &str, message: &str| {
            Object::new().text("error_type", error_type).text("error_message", message)
        };
        match self {
            Refusal::Json(message) => {
                object("json error", message).answer(status(StatusCode::BAD_REQUEST, has_legacy_status))
            }
            // Also the original answers these with 404.
            Refusal::Http(message) => object("http error", message).answer(StatusCode::NOT_FOUND),
        }
    }
}

/// Reads JSON; what is wrong is told with line and column.
fn parse(text: &[u8]) -> Result<Json, Refusal> {
    serde_json::from_slice(text).map_err(|error| {
        let begins = text.iter().find(|byte| !byte.is_ascii_whitespace());
        let may_begin = |byte: &u8| matches!(byte, b'{' | b'[' | b'"' | b'-' | b'0'..=b'9' | b't' | b'f');
        let message = match begins {
            Some(byte) if may_begin(byte) => {
                let text = error.to_string();
                let what = text.rsplit_once(" at line ").map_or(text.as_str(), |(what, _)| what);
                format!("* Line {}, Column {}\n  {what}.\n", error.line().max(1), error.column().max(1))
            }
            _ => "* Line 1, Column 1\n  Syntax error: value, object or array expected.\n".to_owned(),
        };
        Refusal::Json(message)
    })
}

/// The object `query` of a body.
pub(super) fn query_of_body(body: &[u8]) -> Result<Map<String, Json>, Refusal> {
    match parse(body)? {
        Json::Object(mut members) => match members.remove("query") {
            Some(Json::Object(query)) => Ok(query),
            _ => Err(Refusal::Json("the body has to have an object 'query'".to_owned())),
        },
        _ => Err(Refusal::Json("the body has to be an object".to_owned())),
    }
}

/// The parameter `query` of a URL, if there is one.
pub(super) fn query_of_url(text: Option<&str>) -> Result<Map<String, Json>, Refusal> {
    match text.filter(|text| !text.is_empty()).map(|text| parse(text.as_bytes())).transpose()? {
        None => Ok(Map::new()),
        Some(Json::Object(members)) => Ok(members),
        Some(_) => Err(Refusal::Json("the parameter 'query' has to be an object".to_owned())),
    }
}

/// The key of a document: a number or a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Key {
    Number(i64),
    Text(String),
}

impl Key {
    /// A key of JSON; `""`, 0 and null are none.
    pub fn of_json(json: &Json) -> Result<Option<Key>, Refusal> {
        match json {
            Json::Null => Ok(None),
            Json::String(text) => Ok(Key::of_text(text)),
            Json::Number(number) => match number.as_i64() {
                Some(0) => Ok(None),
                Some(number) => Ok(Some(Key::Number(number))),
                None => Err(Refusal::Json("_id has to be an integer or a string".to_owned())),
            },
            _ => Err(Refusal::Json("_id has to be an integer or a string".to_owned())),
        }
    }

    /// A key of a URL.
    pub fn of_text(text: &str) -> Option<Key> {
        match text {
            "" | "0" => None,
            _ => Some(Key::Text(text.to_owned())),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_json_is_told_with_its_place() {
        let message = |text: &str| match query_of_body(text.as_bytes()) {
            Err(Refusal::Json(message)) => message,
            other => panic!("{other:?}"),
        };
        let expected = "* Line 1, Column 1\n  Syntax error: value, object or array expected.\n";
        assert_eq!((message("").as_str(), message("nonsense").as_str()), (expected, expected));
        assert_eq!(message("{\"query\":\n{\"_id\":1}"), "* Line 2, Column 9\n  EOF while parsing an object.\n");
        assert!(message("[]").contains("object"));
    }
}
