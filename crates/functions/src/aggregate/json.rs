//! JSON_ARRAYAGG, JSON_OBJECTAGG.

use super::codec::{decode_value, encode_value};
use crate::operators::coerce;
use crate::operators::json_compare::to_json;
use squall_registry::{AggregateKernel, ValueAccumulator};
use squall_statement_context::StatementContext;
use squall_types::json::DEPTH_MAX;
use squall_types::json::Document;
use squall_types::{ErrorCode, SqlError, SqlResult, SqlType, Value};
use std::collections::BTreeMap;
use std::sync::Arc;

/// The kernel of JSON_ARRAYAGG.
#[derive(Debug)]
pub struct JsonArrayKernel {
    /// The type of the values.
    pub value_type: SqlType,
}

impl AggregateKernel for JsonArrayKernel {
    fn keeps_order(&self) -> bool {
        true
    }

    fn accumulator(&self, _context: Arc<StatementContext>) -> Box<dyn ValueAccumulator> {
        Box::new(JsonArray { value_type: self.value_type.clone(), text: String::new() })
    }
}

#[derive(Debug)]
struct JsonArray {
    value_type: SqlType,
    /// The elements so far, joined as they are printed.
    text: String,
}

/// A value inside of a document, as it is stored.
fn element(value: &Value, sql_type: &SqlType) -> SqlResult<String> {
    let document = to_json(value, sql_type);
    match document.nesting() {
        // It becomes one level deeper.
        levels if levels < DEPTH_MAX => Ok(document.to_stored()),
        _ => Err(SqlError::new(ErrorCode::JsonDocumentTooDeep, &[])),
    }
}

impl JsonArray {
    fn push(&mut self, element: &str) {
        if !self.text.is_empty() {
            self.text.push_str(", ");
        }
        self.text.push_str(element);
    }
}

impl ValueAccumulator for JsonArray {
    fn update(&mut self, arguments: &[Value]) -> SqlResult<()> {
        let Some(value) = arguments.first() else { return Ok(()) };
        self.push(&element(value, &self.value_type)?);
        Ok(())
    }

    fn evaluate(&mut self) -> SqlResult<Value> {
        // No element prints as nothing, so no text is no row.
        if self.text.is_empty() {
            return Ok(Value::Null);
        }
        Ok(Value::Json(Document::from_stored(format!("[{}]", self.text))))
    }

    fn state(&mut self) -> SqlResult<Vec<u8>> {
        Ok(std::mem::take(&mut self.text).into_bytes())
    }

    fn merge(&mut self, state: &[u8]) -> SqlResult<()> {
        let text = std::str::from_utf8(state).map_err(|error| SqlError::internal(error.to_string()))?;
        if !text.is_empty() {
            self.push(text);
        }
        Ok(())
    }

    fn size(&self) -> usize {
        size_of::<Self>() + self.text.capacity()
    }
}

/// The kernel of JSON_OBJECTAGG.
#[derive(Debug)]
pub struct JsonObjectKernel {
    /// The type of the keys.
    pub key_type: SqlType,
    /// The type of the values.
    pub value_type: SqlType,
}

impl AggregateKernel for JsonObjectKernel {
    fn keeps_order(&self) -> bool {
        true
    }

    fn accumulator(&self, _context: Arc<StatementContext>) -> Box<dyn ValueAccumulator> {
        Box::new(JsonObject {
            key_type: self.key_type.clone(),
            value_type: self.value_type.clone(),
            entries: BTreeMap::new(),
            bytes: 0,
            any: false,
        })
    }
}

#[derive(Debug)]
struct JsonObject {
    key_type: SqlType,
    value_type: SqlType,
    /// Keys in the order of normalised documents, by length and then bytes; a later value of a key replaces an earlier.
    entries: BTreeMap<(usize, String), String>,
    bytes: usize,
    any: bool,
}

impl JsonObject {
    fn insert(&mut self, key: String, value: String) {
        /// What a map holds beside a key and its value.
        const ENTRY_BYTES: usize = 64;
        self.any = true;
        let (key_bytes, value_bytes) = (key.len(), value.len());
        self.bytes += match self.entries.insert((key.len(), key), value) {
            Some(before) => {
                self.bytes -= before.len();
                value_bytes
            }
            None => key_bytes + value_bytes + ENTRY_BYTES,
        };
    }
}

impl ValueAccumulator for JsonObject {
    fn update(&mut self, arguments: &[Value]) -> SqlResult<()> {
        let [key, value] = arguments else { return Ok(()) };
        let Some(key) = coerce::to_text(key, &self.key_type) else {
            return Err(SqlError::new(ErrorCode::JsonDocumentNullKey, &[]));
        };
        let value = element(value, &self.value_type)?;
        self.insert(key.into_owned(), value);
        Ok(())
    }

    fn evaluate(&mut self) -> SqlResult<Value> {
        if !self.any {
            return Ok(Value::Null);
        }
        let mut text = String::from("{");
        for (at, ((_, key), value)) in self.entries.iter().enumerate() {
            text.push_str(if at > 0 { ", " } else { "" });
            text.push_str(&squall_types::json::quote(key));
            text.push_str(": ");
            text.push_str(value);
        }
        text.push('}');
        Ok(Value::Json(Document::from_stored(text)))
    }

    fn state(&mut self) -> SqlResult<Vec<u8>> {
        let mut state = Vec::new();
        self.bytes = 0;
        for ((_, key), value) in std::mem::take(&mut self.entries) {
            encode_value(&Value::String(key), &mut state);
            encode_value(&Value::String(value), &mut state);
        }
        Ok(state)
    }

    fn merge(&mut self, mut state: &[u8]) -> SqlResult<()> {
        while !state.is_empty() {
            let (key, value) = (decode_value(&mut state)?, decode_value(&mut state)?);
            if let (Value::String(key), Value::String(value)) = (key, value) {
                self.insert(key, value);
            }
        }
        Ok(())
    }

    fn size(&self) -> usize {
        size_of::<Self>() + self.bytes
    }
}
