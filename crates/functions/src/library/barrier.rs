//! Drizzle's barriers, at which sessions of an account wait for each other.

use super::support::{Args, Def, result};
use super::user_lock::{name, wait};
use squall_statement_context::{BARRIERS_MAX, Created, Waited, off_pool};
use squall_types::ModuleError;
use squall_types::{SqlError, SqlResult, Value};

/// There is no barrier of this name.
pub const UNKNOWN_BARRIER: ModuleError = ModuleError::new(50_443, b"HY000", "There is no barrier '%s'");
/// A session waits at its own barrier.
pub const OWN_BARRIER: ModuleError =
    ModuleError::new(50_444, b"HY000", "The session that has made the barrier '%s' cannot wait at it");
/// A session makes more barriers than it may have.
pub const TOO_MANY_BARRIERS: ModuleError = ModuleError::new(50_445, b"HY000", "A session can have %s barriers at once");

/// The family.
pub const FUNCTIONS: &[Def] = &[
    Def::new("CREATE_BARRIER", (1, 2), result::nullable_int, create_barrier).takes_null().external(),
    Def::new("RELEASE_BARRIER", (1, 1), result::nullable_int, release_barrier).takes_null().external(),
    Def::new("SIGNAL", (1, 1), result::nullable_int, signal).takes_null().external(),
    Def::new("WAIT", (1, 3), result::nullable_int, wait_at).takes_null().external(),
    Def::new("WAIT_UNTIL", (2, 3), result::nullable_int, wait_until).takes_null().external(),
];

/// The user, whose barriers no other user can see.
fn user<'a>(args: &Args<'a>) -> &'a str {
    args.context.user.rsplit_once('@').map_or(&*args.context.user, |(user, _)| user)
}

/// A number that is no less than zero; error 1210 for others and for NULL.
fn count(args: &Args<'_>, at: usize) -> SqlResult<u64> {
    let number = if args.value(at).is_null() { -1 } else { args.integer(at)? };
    u64::try_from(number).map_err(|_| args.wrong_arguments())
}

/// `CREATE_BARRIER(name [, limit])`: 1 when it is made, 0 if it is there.
fn create_barrier(args: &Args<'_>) -> SqlResult<Value> {
    let limit = if args.len() > 1 { count(args, 1)? } else { 0 };
    let (name, context) = (name(args, 0)?, args.context);
    match context.user_locks.barriers.create(user(args), &name, limit, context.connection_id, &context.kill) {
        Created::Yes => Ok(Value::Int(1)),
        Created::Exists => Ok(Value::Int(0)),
        Created::TooMany => Err(SqlError::of_module(&TOO_MANY_BARRIERS, &[&BARRIERS_MAX])),
        Created::Killed => context.kill.check().map(|()| Value::Null),
    }
}

/// `RELEASE_BARRIER(name)`: 1 when it is gone, 0 if it is another session's.
fn release_barrier(args: &Args<'_>) -> SqlResult<Value> {
    let name = name(args, 0)?;
    let released = args.context.user_locks.barriers.release(user(args), &name, args.context.connection_id);
    released.map(Value::from).ok_or_else(|| unknown(&name))
}

/// `SIGNAL(name)`: 1 when those that wait go on.
fn signal(args: &Args<'_>) -> SqlResult<Value> {
    let name = name(args, 0)?;
    match args.context.user_locks.barriers.signal(user(args), &name) {
        true => Ok(Value::Int(1)),
        false => Err(unknown(&name)),
    }
}

/// `WAIT(name [, generation [, seconds]])`: 1 when the barrier has opened, 0 if it has not in time. It has if its generation is beyond the
/// given one.
fn wait_at(args: &Args<'_>) -> SqlResult<Value> {
    let generation = if args.value(1).is_null() { None } else { Some(count(args, 1)?) };
    let (name, seconds, context) = (name(args, 0)?, wait(args, 2)?, args.context);
    let barriers = &context.user_locks.barriers;
    let waited =
        off_pool(|| barriers.wait((user(args), &name), context.connection_id, generation, seconds, &context.kill))?;
    answer(args, &name, waited)
}

/// `WAIT_UNTIL(name, waiters [, seconds])`: 1 when so many wait, or when the barrier has opened, 0 if neither was in time.
fn wait_until(args: &Args<'_>) -> SqlResult<Value> {
    let (name, waiters, seconds, context) = (name(args, 0)?, count(args, 1)?, wait(args, 2)?, args.context);
    let barriers = &context.user_locks.barriers;
    let waited = off_pool(|| barriers.wait_until((user(args), &name), waiters, seconds, &context.kill))?;
    answer(args, &name, waited)
}

fn answer(args: &Args<'_>, name: &str, waited: Waited) -> SqlResult<Value> {
    match waited {
        Waited::Yes => Ok(Value::Int(1)),
        Waited::TimedOut => Ok(Value::Int(0)),
        Waited::Killed => args.context.kill.check().map(|()| Value::Null),
        Waited::Unknown => Err(unknown(name)),
        Waited::Own => Err(SqlError::of_module(&OWN_BARRIER, &[&name])),
    }
}

fn unknown(name: &str) -> SqlError {
    SqlError::of_module(&UNKNOWN_BARRIER, &[&name])
}
