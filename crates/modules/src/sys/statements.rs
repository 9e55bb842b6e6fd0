//! What the procedures share: texts for statements, and answers of statements.

use squall_session::result::ResultSet;
use squall_session::{Failure, ProcedureCall};
use squall_types::{SqlError, Value};

/// A text as a literal, whatever the sql_mode.
pub(super) fn literal(text: &str) -> String {
    let digits: String = text.bytes().map(|byte| format!("{byte:02x}")).collect();
    format!("CONVERT(X'{digits}' USING utf8mb4)")
}

/// A text; empty for anything else.
pub(super) fn text(value: Option<&Value>) -> String {
    match value {
        Some(Value::String(text)) => text.clone(),
        _ => String::new(),
    }
}

/// A number; 0 for anything else.
pub(super) fn number(value: Option<&Value>) -> u64 {
    match value {
        Some(Value::UInt(number)) => *number,
        Some(Value::Int(number)) => u64::try_from(*number).unwrap_or(0),
        _ => 0,
    }
}

/// A name as an identifier in backquotes.
pub(super) fn quoted(name: &str) -> String {
    format!("`{}`", name.replace('`', "``"))
}

/// Rows of a query, each value as text.
pub(super) async fn texts(call: &mut ProcedureCall<'_>, sql: &str) -> Result<Vec<Vec<String>>, SqlError> {
    let results = call.query(sql).await?;
    let text = |value: Value| match value {
        Value::String(text) => text,
        Value::Int(number) => number.to_string(),
        Value::UInt(number) => number.to_string(),
        _ => String::new(),
    };
    let rows = results.into_iter().flat_map(|result| result.rows);
    Ok(rows.map(|row| row.into_iter().map(text).collect()).collect())
}

/// The first value of a query, if it is a whole number.
pub(super) async fn first_number(call: &mut ProcedureCall<'_>, sql: &str) -> Result<Option<i64>, SqlError> {
    let found = call.query(sql).await?.into_iter().flat_map(|result| result.rows).flatten().next();
    Ok(match found {
        Some(Value::Int(number)) => Some(number),
        Some(Value::UInt(number)) => i64::try_from(number).ok(),
        _ => None,
    })
}

/// A result set of one value.
pub(super) async fn message(call: &mut ProcedureCall<'_>, column: &str, text: &str) -> Result<(), Failure> {
    let mut rows = ResultSet::of_texts(&[column]);
    rows.rows.push(vec![Value::from(text)]);
    call.send_rows(&rows).await
}
