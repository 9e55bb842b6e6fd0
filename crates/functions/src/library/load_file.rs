//! LOAD_FILE.

use super::support::{Args, Def, result};
use squall_types::{SqlResult, Value};

/// The family.
pub const FUNCTIONS: &[Def] = &[Def::new("LOAD_FILE", (1, 1), result::bytes, load_file).waiting()];

/// A file of the server as bytes; NULL where it is missing, too long for `max_allowed_packet` or not for the caller.
fn load_file(args: &Args<'_>) -> SqlResult<Value> {
    let Some(nested) = &args.context.nested else { return Ok(Value::Null) };
    let Ok(path) = nested.server_file(&args.text(0)) else { return Ok(Value::Null) };
    let Ok(found) = std::fs::metadata(&path) else { return Ok(Value::Null) };
    if !found.is_file() || !args.fits(found.len())? {
        return Ok(Value::Null);
    }
    Ok(std::fs::read(&path).map_or(Value::Null, Value::Bytes))
}
