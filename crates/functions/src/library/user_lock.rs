//! GET_LOCK and its family.

use super::support::{Args, Def, result};
use squall_statement_context::{Acquired, off_pool};
use squall_types::{ErrorCode, SqlError, SqlResult, Value};
use std::time::Duration;

/// The family.
pub const FUNCTIONS: &[Def] = &[
    Def::new("GET_LOCK", (2, 2), result::nullable_int, get_lock).takes_null().waiting(),
    Def::new("RELEASE_LOCK", (1, 1), result::nullable_int, |args| {
        let released = args.context.user_locks.release(&name(args)?, args.context.connection_id);
        Ok(released.map_or(Value::Null, Value::from))
    })
    .takes_null()
    .volatile(),
    Def::new("RELEASE_ALL_LOCKS", (0, 0), result::nullable_unsigned, |args| {
        Ok(Value::UInt(args.context.user_locks.release_all(args.context.connection_id)))
    })
    .volatile(),
    Def::new("IS_FREE_LOCK", (1, 1), result::nullable_int, |args| {
        Ok(Value::from(args.context.user_locks.holder(&name(args)?).is_none()))
    })
    .takes_null()
    .volatile(),
    Def::new("IS_USED_LOCK", (1, 1), result::nullable_unsigned, |args| {
        Ok(args.context.user_locks.holder(&name(args)?).map_or(Value::Null, Value::UInt))
    })
    .takes_null()
    .volatile(),
];

/// The name without case; error 3057 for none and for one of over 64 characters.
fn name(args: &Args<'_>) -> SqlResult<String> {
    const CHARACTERS_MAX: usize = 64;
    let name = args.text(0);
    if name.is_empty() || name.chars().count() > CHARACTERS_MAX {
        let shown = args.text_or_null(0).map_or("NULL".to_string(), |name| name.into_owned());
        return Err(SqlError::new(ErrorCode::WrongUserLockName, &[&shown]));
    }
    Ok(name.to_lowercase())
}

fn get_lock(args: &Args<'_>) -> SqlResult<Value> {
    let name = name(args)?;
    let seconds = args.f64(1)?;
    // A negative time is one without end.
    let wait = (seconds >= 0.0).then(|| Duration::try_from_secs_f64(seconds).unwrap_or(Duration::MAX));
    let (locks, id) = (&args.context.user_locks, args.context.connection_id);
    match off_pool(|| locks.acquire(&name, id, wait, &args.context.kill)) {
        Acquired::Yes => Ok(Value::Int(1)),
        Acquired::TimedOut => Ok(Value::Int(0)),
        Acquired::Killed => Ok(Value::Null),
        Acquired::Deadlock => Err(SqlError::new(ErrorCode::UserLockDeadlock, &[])),
    }
}
