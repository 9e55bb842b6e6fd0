//! Functions that flatten documents to lines of `key=value`, extract a key's values at any depth, and add them up.
//!
//! Names and results are those of Swanhart's tools for JSON, whose routines were in the database `rapidjson`. A document is read once,
//! in its stored form. Sums of a key's values make no text in between.
//!
//! Reading order: [`lines`] (flatten, extract), [`tally`] (sums of lists and of keys), [`aggregates`] (of collections).

mod aggregates;
mod lines;
mod tally;

use squall_functions::library::support;
use squall_functions::library::support::Args;
use squall_registry::Registry;
use squall_session::Module;
use squall_statement_context::StatementContext;
use squall_types::json::JsonError;
use squall_types::{ErrorCode, SqlError, SqlResult, Value};
use std::borrow::Cow;
use std::sync::Arc;

/// The database that functions can be called in.
const DATABASE: &str = "rapidjson";

/// The module.
#[derive(Debug)]
pub struct JsonTools;

impl Module for JsonTools {
    fn name(&self) -> &str {
        DATABASE
    }

    fn description(&self) -> &str {
        "Aggregates of JSON documents, and lines of JSON."
    }

    fn databases(&self) -> &[&str] {
        &[DATABASE]
    }

    fn declare(&self, registry: &mut Registry) {
        for family in [lines::FUNCTIONS, tally::FUNCTIONS] {
            support::register(registry, family);
        }
        for aggregate in aggregates::all() {
            registry.register_aggregate(Arc::new(aggregate));
        }
    }
}

/// A document's text; `None` with a warning for bytes that are no text.
fn document<'a>(value: &'a Value, function: &str, context: &StatementContext) -> Option<Cow<'a, str>> {
    match value {
        Value::Json(document) => Some(document.text()),
        Value::String(text) => Some(Cow::Borrowed(text)),
        Value::Bytes(bytes) => match std::str::from_utf8(bytes) {
            Ok(text) => Some(Cow::Borrowed(text)),
            Err(error) => {
                let position = error.valid_up_to();
                malformed(JsonError::Syntax { message: "Invalid encoding in string.", position }, function, context);
                None
            }
        },
        _ => None,
    }
}

/// The document that a function's first argument is.
fn document_argument<'a>(args: &Args<'a>) -> Option<Cow<'a, str>> {
    match args.value(0) {
        Value::Json(_) | Value::String(_) | Value::Bytes(_) => {
            document(args.value(0), &args.name.to_lowercase(), args.context)
        }
        _ => args.text_or_null(0),
    }
}

/// A document that is none is NULL with a warning.
fn malformed(error: JsonError, function: &str, context: &StatementContext) {
    context.diagnostics.warn(error.for_argument(1, function));
}

/// Text of a function, unless it is too long to be sent: then NULL, as `support` says.
fn text(args: &Args<'_>, text: String) -> SqlResult<Value> {
    Ok(args.string(text))
}

/// "Truncated incorrect DECIMAL value" (1292).
fn no_number(text: &str) -> SqlError {
    SqlError::new(ErrorCode::TruncatedWrongValue, &[&"DECIMAL", &text])
}
