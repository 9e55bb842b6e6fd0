//! Values of JSON as text, without a tree of them in memory: a short text can stand for very many values.

use serde::Deserializer;
use serde::de::{DeserializeSeed, Error, MapAccess, SeqAccess, Visitor};
use squall_file_formats::text::push_json_string;
use squall_row_json::numbers::{NUMBER, number_behind};
use squall_row_json::visit_numbers;
use std::fmt::{self, Formatter};

/// Appends a member's name.
pub(crate) fn push_name(name: &str, out: &mut Vec<u8>) {
    if out.last() != Some(&b'{') {
        out.push(b',');
    }
    push_json_string(name, out);
    out.push(b':');
}

/// Appends the text of a value without white space.
pub(crate) struct JsonText<'o>(pub &'o mut Vec<u8>);

impl<'de> DeserializeSeed<'de> for JsonText<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, json: D) -> Result<(), D::Error> {
        json.deserialize_any(self)
    }
}

impl JsonText<'_> {
    fn number(self, text: &str) {
        self.0.extend_from_slice(text.as_bytes());
    }
}

impl<'de> Visitor<'de> for JsonText<'_> {
    type Value = ();

    fn expecting(&self, formatter: &mut Formatter<'_>) -> fmt::Result {
        formatter.write_str("a value")
    }

    fn visit_unit<E: Error>(self) -> Result<(), E> {
        self.0.extend_from_slice(b"null");
        Ok(())
    }

    fn visit_bool<E: Error>(self, value: bool) -> Result<(), E> {
        self.0.extend_from_slice(if value { b"true" } else { b"false" });
        Ok(())
    }

    visit_numbers!();

    fn visit_str<E: Error>(self, text: &str) -> Result<(), E> {
        push_json_string(text, self.0);
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<(), A::Error> {
        let JsonText(out) = self;
        out.push(b'[');
        let start = out.len();
        loop {
            let end = out.len();
            if end > start {
                out.push(b',');
            }
            if items.next_element_seed(JsonText(out))?.is_none() {
                out.truncate(end);
                break;
            }
        }
        out.push(b']');
        Ok(())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<(), A::Error> {
        let JsonText(out) = self;
        let start = out.len();
        out.push(b'{');
        while let Some(name) = members.next_key::<String>()? {
            if name == NUMBER && out.len() == start + 1 {
                let number = number_behind(&mut members)?;
                out.truncate(start);
                out.extend_from_slice(number.as_bytes());
                return Ok(());
            }
            push_name(&name, out);
            members.next_value_seed(JsonText(out))?;
        }
        out.push(b'}');
        Ok(())
    }
}
