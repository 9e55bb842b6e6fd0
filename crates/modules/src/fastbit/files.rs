//! `fb_unlink`, `fb_file_get_contents`, `fb_debug`.

use super::DATABASE;
use super::place::{DEBUG_VARIABLE, dialect, nested};
use squall_catalog::NameKey;
use squall_fastbit::result_file;
use squall_functions::library::support::{Args, Def, result};
use squall_types::{SqlResult, SqlType, Value};

/// The family.
pub const FUNCTIONS: &[Def] = &[
    Def::new("FB_UNLINK", (1, 1), result::nullable_bigint, unlink).waiting().in_database(DATABASE),
    Def::new("FB_FILE_GET_CONTENTS", (1, 2), result::utf8mb4_text, contents).waiting().in_database(DATABASE),
    Def::new("FB_DEBUG", (1, 1), result::nullable_bigint, debug).volatile().in_database(DATABASE),
];

/// The ending of result files.
const ENDING: &str = ".fcsv";
/// What `fb_file_get_contents` is asked for a list with.
const LIST_TARGET: &str = "::inlist";

fn unlink(args: &Args<'_>) -> SqlResult<Value> {
    let name = args.text(0);
    if !name.ends_with(ENDING) {
        return Ok(Value::Int(-2));
    }
    let file = nested(args.context)?.server_file(&name)?;
    Ok(Value::Int(if std::fs::remove_file(file).is_ok() { 0 } else { -1 }))
}

/// A file as it is, or the rows in it as an INSERT or a list; NULL if it is missing or empty.
fn contents(args: &Args<'_>) -> SqlResult<Value> {
    let file = nested(args.context)?.server_file(&args.text(0))?;
    let Ok(found) = std::fs::metadata(&file) else { return Ok(Value::Null) };
    if !found.is_file() || !args.fits(found.len())? {
        return Ok(Value::Null);
    }
    let Ok(bytes) = std::fs::read(&file) else { return Ok(Value::Null) };
    if bytes.is_empty() {
        return Ok(Value::Null);
    }
    let content = String::from_utf8(bytes).unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into());
    let content = match &*args.text(1) {
        "" => Some(content),
        LIST_TARGET => result_file::in_list(&content, dialect(args.context)),
        target => result_file::insert_statement(&content, target, dialect(args.context)),
    };
    Ok(content.map_or(Value::Null, |content| args.string(content)))
}

/// Sets how much the session's FastBit functions tell: from 1 on, the SQL that they run is a note.
fn debug(args: &Args<'_>) -> SqlResult<Value> {
    let level = args.i64(0)?;
    if level < 0 {
        return Ok(Value::Null);
    }
    let variable = (Value::Int(level), SqlType::BIGINT);
    args.context.user_variables.assign(NameKey::new(DEBUG_VARIABLE), variable.0, variable.1)?;
    Ok(Value::Int(level))
}
