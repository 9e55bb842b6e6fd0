//! A small document of JSON as a tree, whose members may not come twice.

use crate::numbers::{NUMBER, number_behind};
use crate::visit_numbers;
use serde::Deserializer;
use serde::de::{DeserializeSeed, Error, MapAccess, SeqAccess, Visitor};
use std::collections::HashSet;
use std::fmt::{self, Formatter};

/// A value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Json {
    /// `null`.
    Null,
    /// `true` or `false`.
    Bool(bool),
    /// A number as it is written.
    Number(String),
    /// A string.
    Text(String),
    /// An array.
    List(Vec<Json>),
    /// An object: its members in their order.
    Object(Vec<(String, Json)>),
}

impl Json {
    /// Reads a text of at most `bytes_max` bytes. The tree takes some thirty times as many.
    ///
    /// # Errors
    /// What is wrong, and where: also a text that is too long, 128 levels, and a member that comes twice.
    pub fn parse(text: &str, bytes_max: usize) -> Result<Json, String> {
        if text.len() > bytes_max {
            return Err(format!("it has more than {bytes_max} bytes"));
        }
        let mut json = serde_json::Deserializer::from_str(text);
        let read = Seed.deserialize(&mut json).and_then(|read| json.end().map(|()| read));
        read.map_err(|error| error.to_string())
    }

    /// Appends its text.
    pub fn push_text(&self, out: &mut String) {
        match self {
            Json::Null => out.push_str("null"),
            Json::Bool(value) => out.push_str(if *value { "true" } else { "false" }),
            Json::Number(text) => out.push_str(text),
            Json::Text(text) => push_string(text, out),
            Json::List(items) => {
                out.push('[');
                for (at, item) in items.iter().enumerate() {
                    out.push_str(if at == 0 { "" } else { "," });
                    item.push_text(out);
                }
                out.push(']');
            }
            Json::Object(members) => {
                out.push('{');
                for (at, (name, value)) in members.iter().enumerate() {
                    out.push_str(if at == 0 { "" } else { "," });
                    push_string(name, out);
                    out.push(':');
                    value.push_text(out);
                }
                out.push('}');
            }
        }
    }
}

fn push_string(text: &str, out: &mut String) {
    // A string always has a text.
    out.push_str(&serde_json::to_string(text).unwrap_or_default());
}

struct Seed;

impl Seed {
    fn number(self, text: &str) -> Json {
        Json::Number(text.to_owned())
    }
}

impl<'de> DeserializeSeed<'de> for Seed {
    type Value = Json;

    fn deserialize<D: Deserializer<'de>>(self, json: D) -> Result<Json, D::Error> {
        json.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Seed {
    type Value = Json;

    fn expecting(&self, formatter: &mut Formatter<'_>) -> fmt::Result {
        formatter.write_str("a value")
    }

    fn visit_unit<E: Error>(self) -> Result<Json, E> {
        Ok(Json::Null)
    }

    fn visit_bool<E: Error>(self, value: bool) -> Result<Json, E> {
        Ok(Json::Bool(value))
    }

    visit_numbers!();

    fn visit_str<E: Error>(self, text: &str) -> Result<Json, E> {
        Ok(Json::Text(text.to_owned()))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Json, A::Error> {
        let mut list = Vec::new();
        while let Some(item) = items.next_element_seed(Seed)? {
            list.push(item);
        }
        Ok(Json::List(list))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<Json, A::Error> {
        let (mut object, mut names) = (Vec::new(), HashSet::new());
        while let Some(name) = members.next_key::<String>()? {
            if name == NUMBER && object.is_empty() {
                return number_behind(&mut members).map(Json::Number);
            }
            if !names.insert(name.clone()) {
                return Err(A::Error::custom(format!("the member '{name}' comes twice")));
            }
            object.push((name, members.next_value_seed(Seed)?));
        }
        Ok(Json::Object(object))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn documents_are_read_and_written() {
        let text = r#"{"a":[1.50,-2e3,null,true,{"b":"\"\u0001"}],"c":123456789012345678901234567890}"#;
        let read = Json::parse(text, 1000).expect("a document");
        let mut written = String::new();
        read.push_text(&mut written);
        assert_eq!(written, text.replace("-2e3", "-2e+3").replace("-2e+3", &number_text("-2e3")));
        let deep = "[".repeat(200) + &"]".repeat(200);
        for (bad, what) in [
            (r#"{"a":1,"a":2}"#, "the member 'a' comes twice"),
            ("[1", "EOF"),
            ("[1] 2", "trailing"),
            (deep.as_str(), "recursion"),
        ] {
            assert!(Json::parse(bad, 1000).is_err_and(|error| error.contains(what)), "{bad}");
        }
        assert!(Json::parse("[1,2]", 4).is_err());
    }

    /// A number as the library writes it.
    fn number_text(text: &str) -> String {
        text.parse::<serde_json::Number>().expect("a number").to_string()
    }
}
