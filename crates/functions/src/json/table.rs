//! JSON_TABLE: the rows of a document.

use super::scalar::{column_value, type_word};
use crate::documents::tree_charge;
use squall_statement_context::StatementContext;
use squall_types::json::stored::for_each_at;
use squall_types::json::{Json, JsonPath};
use squall_types::{ErrorCode, SqlError, SqlResult, SqlType, Value};

/// What stands where a value is missing or cannot be stored.
#[derive(Clone, Debug, PartialEq)]
pub enum Response {
    /// NULL.
    Null,
    /// An error.
    Error,
    /// This document.
    Default(Json),
}

/// A JSON_TABLE as it was written.
#[derive(Clone, Debug, PartialEq)]
pub struct JsonTable {
    /// Leads to the values that become rows.
    pub path: JsonPath,
    /// COLUMNS.
    pub columns: Vec<TableColumn>,
    /// How many columns there are, those of NESTED PATHs included.
    pub width: usize,
}

/// A column, or a group of them.
#[derive(Clone, Debug, PartialEq)]
pub enum TableColumn {
    /// FOR ORDINALITY: which row of its path this is, from 1.
    Ordinality {
        /// Which of the table's columns it is.
        slot: usize,
    },
    /// `name type PATH '…'`.
    Path {
        /// Which of the table's columns it is.
        slot: usize,
        /// Its name.
        name: String,
        /// Its type; never TIMESTAMP, whose local times are a DATETIME's.
        sql_type: SqlType,
        /// Where the value is, from the row's own on.
        path: JsonPath,
        /// ON EMPTY.
        on_empty: Response,
        /// ON ERROR.
        on_error: Response,
    },
    /// `name type EXISTS PATH '…'`.
    Exists {
        /// Which of the table's columns it is.
        slot: usize,
        /// Its name.
        name: String,
        /// Its type.
        sql_type: SqlType,
        /// Where a value may be.
        path: JsonPath,
    },
    /// NESTED PATH: a row for each value there.
    Nested {
        /// Where they are.
        path: JsonPath,
        /// Their columns.
        columns: Vec<TableColumn>,
    },
}

impl JsonTable {
    /// Calls `emit` with the values of each row of a document in its stored form, in order.
    ///
    /// # Errors
    /// What `emit` and columns `ON ERROR` fail with, and 1041 if there is no memory for the tree of a row.
    pub fn rows(
        &self,
        document: &str,
        context: &StatementContext,
        emit: &mut dyn FnMut(&[Value]) -> SqlResult<()>,
    ) -> SqlResult<()> {
        let mut row = vec![Value::Null; self.width];
        // What an ellipsis has led to is known, so that each value is there once.
        let _seen = if self.path.has_ellipsis() { tree_charge(document, context)? } else { None };
        // A row at a time has a tree, not the document.
        let mut ordinal = 0;
        for_each_at(document, &self.path, &mut |value| {
            let _charge = tree_charge(value, context)?;
            let value = Json::parse_stored(value).map_err(|error| error.for_argument(1, "json_table"))?;
            ordinal += 1;
            expand(&self.columns, (ordinal, &value), &mut row, context, emit)
        })
    }
}

/// The rows of values that one path has found; columns of paths around it are already in `row`.
fn expand_all(
    columns: &[TableColumn],
    found: &[&Json],
    row: &mut [Value],
    context: &StatementContext,
    emit: &mut dyn FnMut(&[Value]) -> SqlResult<()>,
) -> SqlResult<()> {
    (1..).zip(found).try_for_each(|(ordinal, value)| expand(columns, (ordinal, value), row, context, emit))
}

/// The rows of one of them.
fn expand(
    columns: &[TableColumn],
    (ordinal, value): (u64, &Json),
    row: &mut [Value],
    context: &StatementContext,
    emit: &mut dyn FnMut(&[Value]) -> SqlResult<()>,
) -> SqlResult<()> {
    context.kill.check()?;
    for column in columns {
        fill(column, value, ordinal, row, context)?;
    }
    // Paths side by side take turns: while one has rows, the columns of the others are NULL.
    let mut any = false;
    for column in columns {
        let TableColumn::Nested { path, columns: inner } = column else { continue };
        let nested = path.find_all(value);
        if !nested.is_empty() {
            any = true;
            expand_all(inner, &nested, row, context, emit)?;
            clear(inner, row);
        }
    }
    if any { Ok(()) } else { emit(row) }
}

fn clear(columns: &[TableColumn], row: &mut [Value]) {
    for column in columns {
        match column {
            TableColumn::Ordinality { slot } | TableColumn::Path { slot, .. } | TableColumn::Exists { slot, .. } => {
                put(row, *slot, Value::Null)
            }
            TableColumn::Nested { columns, .. } => clear(columns, row),
        }
    }
}

fn put(row: &mut [Value], slot: usize, value: Value) {
    if let Some(place) = row.get_mut(slot) {
        *place = value;
    }
}

fn fill(
    column: &TableColumn,
    value: &Json,
    ordinal: u64,
    row: &mut [Value],
    context: &StatementContext,
) -> SqlResult<()> {
    match column {
        TableColumn::Ordinality { slot } => put(row, *slot, Value::UInt(ordinal)),
        TableColumn::Path { slot, name, sql_type, path, on_empty, on_error } => {
            let found = path.find_all(value);
            put(row, *slot, path_value(&found, name, sql_type, on_empty, on_error, context)?);
        }
        TableColumn::Exists { slot, name, sql_type, path } => {
            let exists = Json::Int(i64::from(path.find(value).is_some()));
            put(row, *slot, stored(&exists, name, sql_type, context)?);
        }
        TableColumn::Nested { columns, .. } => clear(columns, row),
    }
    Ok(())
}

fn path_value(
    found: &[&Json],
    name: &str,
    sql_type: &SqlType,
    on_empty: &Response,
    on_error: &Response,
    context: &StatementContext,
) -> SqlResult<Value> {
    let result = match found {
        [] => match on_empty {
            Response::Null => Ok(Value::Null),
            Response::Error => return Err(SqlError::new(ErrorCode::MissingJsonTableValue, &[&name])),
            Response::Default(value) => stored(value, name, sql_type, context),
        },
        [value] => stored(value, name, sql_type, context),
        many => {
            let values = many.iter().map(|value| (*value).clone()).collect();
            stored(&Json::Array(values), name, sql_type, context)
        }
    };
    match (result, on_error) {
        (Ok(value), _) => Ok(value),
        (Err(error), Response::Error) => Err(error),
        (Err(_), Response::Null) => Ok(Value::Null),
        (Err(_), Response::Default(value)) => stored(value, name, sql_type, context),
    }
}

/// A value as its column holds it.
pub fn stored(value: &Json, name: &str, sql_type: &SqlType, context: &StatementContext) -> SqlResult<Value> {
    if *sql_type == SqlType::Json {
        return Ok(value.to_value());
    }
    match value {
        Json::Null => return Ok(Value::Null),
        Json::Array(_) | Json::Object(_) => {
            return Err(SqlError::new(ErrorCode::WrongJsonTableValue, &[&name]));
        }
        _ => {}
    }
    column_value(value, sql_type, name, context).map_err(|error| match error.known() {
        // What a column of a table would say, a JSON_TABLE says in its own words.
        Some(ErrorCode::DataOutOfRange | ErrorCode::DataTruncated | ErrorCode::IllegalValueForType) => {
            SqlError::new(ErrorCode::JsonTableValueOutOfRange, &[&name])
        }
        Some(ErrorCode::TruncatedWrongValueForField | ErrorCode::TruncatedWrongValue) => {
            SqlError::new(ErrorCode::InvalidJsonValueForCast, &[&type_word(sql_type), &name, &1])
        }
        _ => error,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn path(text: &str) -> JsonPath {
        JsonPath::parse(text).unwrap()
    }

    fn column(slot: usize, at: &str, sql_type: SqlType) -> TableColumn {
        let (on_empty, on_error) = (Response::Null, Response::Null);
        TableColumn::Path { slot, name: format!("c{slot}"), sql_type, path: path(at), on_empty, on_error }
    }

    fn rows(table: &JsonTable, document: &str) -> Vec<String> {
        let context = StatementContext::default();
        let mut rows = Vec::new();
        let emit = &mut |row: &[Value]| {
            let text: Vec<String> = row.iter().map(|value| format!("{value:?}")).collect();
            rows.push(text.join(" "));
            Ok(())
        };
        table.rows(&squall_types::json::normalize(document).unwrap(), &context, emit).unwrap();
        rows
    }

    #[test]
    fn nested_paths_take_turns_and_keep_their_parent() {
        let columns = vec![
            TableColumn::Ordinality { slot: 0 },
            column(1, "$.a", SqlType::INT),
            TableColumn::Nested { path: path("$.b[*]"), columns: vec![column(2, "$", SqlType::INT)] },
            TableColumn::Nested { path: path("$.c[*]"), columns: vec![column(3, "$", SqlType::INT)] },
        ];
        let table = JsonTable { path: path("$[*]"), columns, width: 4 };
        assert_eq!(
            rows(&table, r#"[{"a": 1, "b": [11, 12], "c": [21]}, {"a": 2}, {"b": [], "c": [31]}]"#),
            [
                "UInt(1) Int(1) Int(11) Null",
                "UInt(1) Int(1) Int(12) Null",
                "UInt(1) Int(1) Null Int(21)",
                "UInt(2) Int(2) Null Null",
                "UInt(3) Null Null Int(31)",
            ]
        );
        assert!(rows(&table, "[]").is_empty());
    }
}
