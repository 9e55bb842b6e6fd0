//! GET_LOCK and its family, and Drizzle's functions that take several locks at once or wait for other sessions.

use super::support::{Args, Def, MANY, result};
use squall_statement_context::{Acquired, Seen, off_pool};
use squall_types::ModuleError;
use squall_types::{ErrorCode, SqlError, SqlResult, Value};
use std::collections::BTreeSet;
use std::time::Duration;

/// A session waits until another one takes a lock that it has itself.
pub const OWN_LOCK: ModuleError = ModuleError::new(
    50_442,
    b"HY000",
    "A session cannot wait for another one to take the lock '%s', which it has itself",
);

/// The family.
pub const FUNCTIONS: &[Def] = &[
    Def::new("GET_LOCK", (2, 2), result::nullable_int, get_lock).takes_null().waiting(),
    Def::new("RELEASE_LOCK", (1, 1), result::nullable_int, |args| {
        let released = args.context.user_locks.release(&name(args, 0)?, args.context.connection_id);
        Ok(released.map_or(Value::Null, Value::from))
    })
    .takes_null()
    .volatile(),
    Def::new("RELEASE_ALL_LOCKS", (0, 0), result::nullable_unsigned, |args| {
        Ok(Value::UInt(args.context.user_locks.release_all(args.context.connection_id)))
    })
    .volatile(),
    Def::new("IS_FREE_LOCK", (1, 1), result::nullable_int, |args| {
        Ok(Value::from(args.context.user_locks.holder(&name(args, 0)?).is_none()))
    })
    .takes_null()
    .volatile(),
    Def::new("IS_USED_LOCK", (1, 1), result::nullable_unsigned, |args| {
        Ok(args.context.user_locks.holder(&name(args, 0)?).map_or(Value::Null, Value::UInt))
    })
    .takes_null()
    .volatile(),
    Def::new("GET_LOCKS", (1, MANY), result::nullable_int, get_locks).takes_null().external(),
    Def::new("RELEASE_LOCKS", (0, MANY), result::nullable_unsigned, release_locks).takes_null().external(),
    Def::new("WAIT_FOR_LOCK", (1, 2), result::nullable_unsigned, wait_for_lock).takes_null().external(),
    Def::new("RELEASE_LOCK_AND_WAIT", (1, 2), result::nullable_int, release_lock_and_wait).takes_null().external(),
];

/// A name without case; error 3057 for none and for one of over 64 characters.
pub(super) fn name(args: &Args<'_>, at: usize) -> SqlResult<String> {
    const CHARACTERS_MAX: usize = 64;
    let name = args.text(at);
    if name.is_empty() || name.chars().count() > CHARACTERS_MAX {
        let shown = args.text_or_null(at).map_or("NULL".to_string(), |name| name.into_owned());
        return Err(SqlError::new(ErrorCode::WrongUserLockName, &[&shown]));
    }
    Ok(name.to_lowercase())
}

/// The seconds to wait; without end if they are negative or not given.
pub(super) fn wait(args: &Args<'_>, at: usize) -> SqlResult<Option<Duration>> {
    let seconds = if args.len() > at { args.f64(at)? } else { -1.0 };
    Ok((seconds >= 0.0).then(|| Duration::try_from_secs_f64(seconds).unwrap_or(Duration::MAX)))
}

fn get_lock(args: &Args<'_>) -> SqlResult<Value> {
    let name = name(args, 0)?;
    let wait = wait(args, 1)?;
    let (locks, id) = (&args.context.user_locks, args.context.connection_id);
    match off_pool(|| locks.acquire(&name, id, wait, &args.context.kill))? {
        Acquired::Yes => Ok(Value::Int(1)),
        Acquired::TimedOut => Ok(Value::Int(0)),
        Acquired::Killed => Ok(Value::Null),
        Acquired::Deadlock => Err(SqlError::new(ErrorCode::UserLockDeadlock, &[])),
    }
}

/// The names, each once.
fn names(args: &Args<'_>) -> SqlResult<BTreeSet<String>> {
    (0..args.len()).map(|at| name(args, at)).collect()
}

/// 1 when the session has got all of the locks; 0, and none of them, when another session has one.
fn get_locks(args: &Args<'_>) -> SqlResult<Value> {
    let context = args.context;
    match context.user_locks.acquire_all(&names(args)?, context.connection_id, &context.kill) {
        Acquired::Yes => Ok(Value::Int(1)),
        Acquired::Killed => context.kill.check().map(|()| Value::Null),
        Acquired::TimedOut | Acquired::Deadlock => Ok(Value::Int(0)),
    }
}

/// How many of these locks the session has given back, each once; without names all that it has, as often as it has taken them.
fn release_locks(args: &Args<'_>) -> SqlResult<Value> {
    let (locks, id) = (&args.context.user_locks, args.context.connection_id);
    if args.is_empty() {
        return Ok(Value::UInt(locks.release_all(id)));
    }
    let names = names(args)?;
    Ok(Value::UInt(names.iter().filter(|name| locks.release(name, id) == Some(true)).count() as u64))
}

/// The session that has the lock, as soon as another one than this has it; 0 if none had it in time.
fn wait_for_lock(args: &Args<'_>) -> SqlResult<Value> {
    let (name, wait, context) = (name(args, 0)?, wait(args, 1)?, args.context);
    let seen = off_pool(|| context.user_locks.wait_for_holder(&name, context.connection_id, wait, &context.kill))?;
    match seen {
        Seen::Taken(holder) => Ok(Value::UInt(holder)),
        Seen::TimedOut => Ok(Value::UInt(0)),
        Seen::Own => Err(SqlError::of_module(&OWN_LOCK, &[&name])),
        Seen::Killed | Seen::NotOwn | Seen::Free => context.kill.check().map(|()| Value::Null),
    }
}

/// 1 when the lock was given back and another session has taken it; 0 if none did in time, and for a lock of another session; NULL for one that
/// nobody has.
fn release_lock_and_wait(args: &Args<'_>) -> SqlResult<Value> {
    let (name, wait, context) = (name(args, 0)?, wait(args, 1)?, args.context);
    let seen = off_pool(|| context.user_locks.release_and_wait(&name, context.connection_id, wait, &context.kill))?;
    match seen {
        Seen::Taken(_) => Ok(Value::Int(1)),
        Seen::TimedOut | Seen::NotOwn | Seen::Own => Ok(Value::Int(0)),
        Seen::Free => Ok(Value::Null),
        Seen::Killed => context.kill.check().map(|()| Value::Null),
    }
}
