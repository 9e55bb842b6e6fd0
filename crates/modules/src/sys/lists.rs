//! `sys.list_add` and `sys.list_drop`: change comma-separated lists such as `sql_mode`.

use super::DATABASE;
use squall_functions::library::support::{Args, Def, result};
use squall_types::{ErrorCode, SqlError, SqlResult, Value};

/// The family.
pub const FUNCTIONS: &[Def] = &[
    Def::new("LIST_ADD", (2, 2), result::utf8mb4_text, list_add).takes_null().in_database(DATABASE),
    Def::new("LIST_DROP", (2, 2), result::utf8mb4_text, list_drop).takes_null().in_database(DATABASE),
];

/// The list with an item more, also if it has that item already.
fn list_add(args: &Args<'_>) -> SqlResult<Value> {
    let item = item(args, "list_add", "in_add_value")?;
    match args.text_or_null(0) {
        Some(list) if !list.is_empty() => Ok(Value::String(format!("{list},{item}"))),
        _ => Ok(Value::String(item)),
    }
}

/// The list without an item, however often and with whatever blanks around it it has it.
fn list_drop(args: &Args<'_>) -> SqlResult<Value> {
    let item = item(args, "list_drop", "in_drop_value")?;
    let Some(list) = args.text_or_null(0) else { return Ok(Value::Null) };
    let item = item.trim();
    let kept: Vec<&str> = list.split(',').map(str::trim).filter(|kept| *kept != item).collect();
    Ok(Value::String(kept.join(",")))
}

fn item(args: &Args<'_>, function: &str, parameter: &str) -> SqlResult<String> {
    match args.text_or_null(1) {
        Some(item) => Ok(item.into_owned()),
        None => {
            let message = format!("Function sys.{function}: {parameter} input variable should not be NULL");
            // The state that the function of MySQL's sys schema signals.
            Err(SqlError { sqlstate: *b"02200", ..SqlError::with_message(ErrorCode::InvalidUseOfNull, message) })
        }
    }
}
