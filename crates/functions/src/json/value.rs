//! JSON_VALUE.

use super::scalar::{column_value, type_word};
use crate::arrow_map::ValueArrayBuilder;
use crate::documents::{stored_of, tree_charge};
use arrow::array::{Array, ArrayRef, AsArray};
use squall_registry::ScalarKernel;
use squall_statement_context::StatementContext;
use squall_types::json::stored::part_at;
use squall_types::json::{Json, JsonPath};
use squall_types::{ErrorCode, Level, SqlError, SqlResult, SqlType, Value};

/// What stands where a value is missing or cannot be had.
#[derive(Clone, Debug, PartialEq)]
pub enum ValueResponse {
    /// NULL.
    Null,
    /// An error.
    Error,
    /// This value, of the type that is returned.
    Default(Value),
}

/// `JSON_VALUE(document, path RETURNING type … ON EMPTY … ON ERROR)`.
#[derive(Debug)]
pub struct JsonValueKernel {
    /// The document's type.
    pub from: SqlType,
    /// Where the value is.
    pub path: JsonPath,
    /// RETURNING.
    pub returning: SqlType,
    /// ON EMPTY.
    pub on_empty: ValueResponse,
    /// ON ERROR.
    pub on_error: ValueResponse,
}

impl ScalarKernel for JsonValueKernel {
    fn eval(&self, arguments: &[Value], context: &StatementContext) -> SqlResult<Value> {
        let Some(value) = arguments.first().filter(|value| !value.is_null()) else { return Ok(Value::Null) };
        let document = match stored_of(value, &self.from, 0, "json_value") {
            Err(error) if error.code == ErrorCode::InvalidJsonTextInParam.number() => {
                if self.on_error != ValueResponse::Error {
                    context.diagnostics.push(Level::Warning, error.clone());
                }
                return respond(&self.on_error, || error);
            }
            document => document?,
        };
        self.of_stored(&document, context)
    }

    fn has_eval_arrays(&self) -> bool {
        self.from == SqlType::Json
    }

    fn eval_arrays(&self, arguments: &[ArrayRef], context: &StatementContext) -> Option<SqlResult<ArrayRef>> {
        let documents = arguments.first()?.as_string_view_opt()?;
        let mut results = ValueArrayBuilder::new(&self.returning, documents.len());
        for document in documents {
            let value = document.map_or(Ok(Value::Null), |document| self.of_stored(document, context));
            if let Err(error) = value.and_then(|value| results.append(&value)) {
                return Some(Err(error));
            }
        }
        Some(Ok(results.finish()))
    }
}

fn respond(response: &ValueResponse, error: impl FnOnce() -> SqlError) -> SqlResult<Value> {
    match response {
        ValueResponse::Null => Ok(Value::Null),
        ValueResponse::Error => Err(error()),
        ValueResponse::Default(value) => Ok(value.clone()),
    }
}

impl JsonValueKernel {
    /// Of a document in its stored form, of which only what leads to the value is read.
    fn of_stored(&self, document: &str, context: &StatementContext) -> SqlResult<Value> {
        let Some(place) = part_at(document, &self.path) else { return self.of_found(&[], context) };
        let _charge = tree_charge(place, context)?;
        let tree = Json::parse_stored(place).map_err(|error| error.for_argument(1, "json_value"))?;
        if self.path.has_wildcard() {
            return self.of_found(&self.path.find_all(&tree), context);
        }
        self.of_found(&[&tree], context)
    }

    fn of_found(&self, found: &[&Json], context: &StatementContext) -> SqlResult<Value> {
        let failure = match found {
            [] => return respond(&self.on_empty, || SqlError::new(ErrorCode::MissingJsonValue, &[&"json_value"])),
            [one] => match self.converted(one, context) {
                Ok(value) => return Ok(value),
                Err(error) => error,
            },
            _ => SqlError::new(ErrorCode::MultipleJsonValues, &[&"json_value"]),
        };
        respond(&self.on_error, || failure)
    }

    fn converted(&self, value: &Json, context: &StatementContext) -> SqlResult<Value> {
        if self.returning == SqlType::Json {
            return Ok(value.to_value());
        }
        let word = type_word(&self.returning);
        let text;
        let value = match value {
            // As a text an array or object is what it looks like.
            Json::Array(_) | Json::Object(_) if self.returning.is_string() => {
                text = Json::String(value.unquoted());
                &text
            }
            value => value,
        };
        column_value(value, &self.returning, "json_value", context).map_err(|error| match error.known() {
            Some(ErrorCode::DataOutOfRange | ErrorCode::IllegalValueForType) => {
                SqlError::new(ErrorCode::NumericJsonValueOutOfRange, &[&word, &"json_value", &1])
            }
            Some(
                ErrorCode::DataTruncated | ErrorCode::TruncatedWrongValueForField | ErrorCode::TruncatedWrongValue,
            ) => SqlError::new(ErrorCode::InvalidJsonValueForCast, &[&word, &"json_value", &1]),
            _ => error,
        })
    }
}
