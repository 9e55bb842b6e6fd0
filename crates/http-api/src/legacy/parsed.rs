//! JSON of requests.

use super::{Object, status};
use crate::answer::Answer;
use crate::json_text::JsonText;
use hyper::StatusCode;
use serde::Deserializer;
use serde::de::{DeserializeSeed, Error as _, IgnoredAny, MapAccess, Visitor};
use squall_types::SqlError;
use std::collections::HashMap;
use std::fmt::{self, Formatter};

/// Most members of a document: a table has so many columns.
const MEMBERS_MAX: usize = 4096;

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

/// A document: names of its members, and their values as JSON text. Of members with one name the last counts.
#[derive(Debug, Default)]
pub(super) struct Document {
    members: Vec<(String, String)>,
}

impl Document {
    /// The members in their order.
    pub fn members(&self) -> impl Iterator<Item = (&str, &str)> {
        self.members.iter().map(|(name, json)| (name.as_str(), json.as_str()))
    }

    /// The value of a member.
    pub fn get(&self, name: &str) -> Option<&str> {
        self.members().find(|(member, _)| *member == name).map(|(_, json)| json)
    }

    /// The text of a member that is a string.
    pub fn text(&self, name: &str) -> Option<String> {
        self.get(name).and_then(|json| serde_json::from_str(json).ok())
    }
}

/// Reads an object of documents, or one, which is `top`.
struct Reader {
    top: bool,
}

impl<'de> DeserializeSeed<'de> for Reader {
    type Value = Option<Document>;

    fn deserialize<D: Deserializer<'de>>(self, json: D) -> Result<Self::Value, D::Error> {
        json.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for Reader {
    type Value = Option<Document>;

    fn expecting(&self, formatter: &mut Formatter<'_>) -> fmt::Result {
        formatter.write_str(if self.top { "an object with an object 'query'" } else { "an object" })
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<Self::Value, A::Error> {
        if self.top {
            let mut query = None;
            while let Some(name) = members.next_key::<String>()? {
                match name == "query" {
                    true => query = members.next_value_seed(Reader { top: false })?,
                    false => drop(members.next_value::<IgnoredAny>()?),
                }
            }
            return Ok(query);
        }
        let (mut document, mut places) = (Document::default(), HashMap::new());
        while let Some(name) = members.next_key::<String>()? {
            let mut json = Vec::new();
            members.next_value_seed(JsonText(&mut json))?;
            let json = String::from_utf8(json).map_err(A::Error::custom)?;
            let place = *places.entry(name.clone()).or_insert(document.members.len());
            match document.members.get_mut(place) {
                Some(member) => member.1 = json,
                None if place == MEMBERS_MAX => return Err(A::Error::custom("Too many columns")),
                None => document.members.push((name, json)),
            }
        }
        Ok(Some(document))
    }
}

/// Reads JSON; what is wrong is told with line and column.
fn read(text: &[u8], top: bool) -> Result<Option<Document>, Refusal> {
    let mut json = serde_json::Deserializer::from_slice(text);
    let read = Reader { top }.deserialize(&mut json).and_then(|read| json.end().map(|()| read));
    read.map_err(|error| {
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
pub(super) fn query_of_body(body: &[u8]) -> Result<Document, Refusal> {
    read(body, true)?.ok_or_else(|| Refusal::Json("the body has to have an object 'query'".to_owned()))
}

/// The parameter `query` of a URL, if there is one.
pub(super) fn query_of_url(text: Option<&str>) -> Result<Document, Refusal> {
    let read = text.filter(|text| !text.is_empty()).map(|text| read(text.as_bytes(), false)).transpose()?;
    Ok(read.flatten().unwrap_or_default())
}

/// The key of a document: a number or a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Key {
    Number(i64),
    Text(String),
}

impl Key {
    /// A key of JSON; `""`, 0 and null are none.
    pub fn of_json(json: &str) -> Result<Option<Key>, Refusal> {
        let wrong = || Refusal::Json("_id has to be an integer or a string".to_owned());
        if json == "null" {
            return Ok(None);
        }
        if json.starts_with('"') {
            return serde_json::from_str::<String>(json).map(|text| Key::of_text(&text)).map_err(|_| wrong());
        }
        let number: i64 = json.parse().map_err(|_| wrong())?;
        Ok((number != 0).then_some(Key::Number(number)))
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
        assert!(message("{\"query\":[]}").contains("object"));
        assert!(message("{\"other\":{}}").contains("'query'"));
    }

    #[test]
    fn documents_are_texts_and_have_a_limit() {
        let query =
            query_of_body(br#"{"x":[1],"query":{"_id":1,"a":{"b":[1, 2.50]},"c":"d","a":null}}"#).expect("a document");
        let members: Vec<_> = query.members().collect();
        assert_eq!(members, [("_id", "1"), ("a", "null"), ("c", "\"d\"")]);
        assert_eq!((query.text("c").as_deref(), query.text("a")), (Some("d"), None));
        let of = |count: usize| {
            let members: Vec<String> = (0..count).map(|number| format!("\"c{number}\":0")).collect();
            query_of_body(format!("{{\"query\":{{{}}}}}", members.join(",")).as_bytes())
        };
        assert!(of(MEMBERS_MAX).is_ok() && of(MEMBERS_MAX + 1).is_err());
    }

    #[test]
    fn keys_are_integers_or_texts() {
        let none = ["null", "0", "\"\"", "\"0\""].map(|json| Key::of_json(json).expect("no key"));
        assert_eq!(none, [const { None }; 4]);
        assert_eq!(Key::of_json("-5").expect("a key"), Some(Key::Number(-5)));
        assert_eq!(Key::of_json("\"a\\u0041\"").expect("a key"), Some(Key::Text("aA".to_owned())));
        for json in ["1.5", "1e3", "[1]", "{}", "true", "9223372036854775808"] {
            assert!(Key::of_json(json).is_err(), "{json}");
        }
    }
}
