//! Arguments that are JSON documents.

use squall_accounting::Charge;
use squall_statement_context::StatementContext;
use squall_types::json::{self, Json};
use squall_types::{ErrorCode, SqlError, SqlResult, SqlType, Value};
use std::borrow::Cow;

/// The charge for the tree of a document with this text: nothing if it is small.
///
/// # Errors
/// 1041, if there is no memory left for it.
pub fn tree_charge(text: &str, context: &StatementContext) -> SqlResult<Option<Charge>> {
    let bytes = json::tree_bytes(text);
    if bytes == 0 {
        return Ok(None);
    }
    let mut charge = context.memory.charge();
    charge.resize(bytes)?;
    Ok(Some(charge))
}

/// The text of what may be a document.
pub fn document_text(value: &Value) -> Option<&str> {
    match value {
        Value::Json(document) => Some(document.stored()),
        Value::String(text) => Some(text),
        _ => None,
    }
}

/// An argument of a JSON function, counted from 0, as a document: JSON as it is, text read as a document (error 3141 if
/// it is none), bytes refused (3144), and other types too (3146).
pub fn document_of(value: &Value, sql_type: &SqlType, at: usize, function: &str) -> SqlResult<Json> {
    let document = match value {
        Value::Json(document) => document.to_json(),
        Value::String(text) if sql_type.is_string() => Json::parse(text),
        Value::Null => Ok(Json::Null),
        other => return Err(no_document(other, at, function)),
    };
    document.map_err(|error| error.for_argument(at + 1, function))
}

/// The same as the document's stored form.
pub fn stored_of<'a>(value: &'a Value, sql_type: &SqlType, at: usize, function: &str) -> SqlResult<Cow<'a, str>> {
    match value {
        Value::Json(document) => Ok(Cow::Borrowed(document.stored())),
        Value::String(text) if sql_type.is_string() => {
            json::normalize(text).map(Cow::Owned).map_err(|error| error.for_argument(at + 1, function))
        }
        Value::Null => Ok(Cow::Borrowed("null")),
        other => Err(no_document(other, at, function)),
    }
}

/// Why a value is no document.
fn no_document(value: &Value, at: usize, function: &str) -> SqlError {
    match value {
        Value::Bytes(_) => SqlError::new(ErrorCode::InvalidJsonCharset, &[&"binary"]),
        _ => SqlError::new(ErrorCode::InvalidTypeForJson, &[&(at + 1), &function]),
    }
}
