//! Information about the server, the session and the expression; SLEEP and BENCHMARK.

use super::support::{Args, Binding, Def, result};
use crate::expr::boolean_type;
use squall_registry::ExprType;
use squall_statement_context::off_pool;
use squall_types::{CollationId, ErrorCode, SqlError, SqlResult, SqlType, Value};
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

/// The family.
pub const FUNCTIONS: &[Def] = &[
    Def::new("DATABASE", (0, 0), result::system_text, |args| {
        Ok(args.context.settings.database.as_deref().map_or(Value::Null, Value::from))
    })
    .also(&["SCHEMA"])
    .stable(),
    Def::new("USER", (0, 0), result::system_text, |args| Ok(Value::from(&*args.context.user)))
        .also(&["SESSION_USER", "SYSTEM_USER"])
        .stable(),
    Def::new("CURRENT_USER", (0, 0), result::system_text, |args| Ok(Value::from(&*args.context.current_user))).stable(),
    Def::new("CURRENT_ROLE", (0, 0), result::system_text, |args| Ok(current_role(args))).stable(),
    Def::new("VERSION", (0, 0), result::system_text, |args| Ok(Value::from(&*args.context.version))).stable(),
    Def::new("CONNECTION_ID", (0, 0), unsigned, |args| Ok(Value::UInt(args.context.connection_id))).stable(),
    Def::new("FOUND_ROWS", (0, 0), unsigned, |args| Ok(Value::UInt(args.context.found_rows))).stable(),
    Def::new("ROW_COUNT", (0, 0), result::bigint, |args| Ok(Value::Int(args.context.row_count))).stable(),
    Def::new("LAST_INSERT_ID", (0, 1), unsigned, last_insert_id).takes_null().volatile(),
    Def::new("CHARSET", (1, 1), result::system_text, |args| Ok(Value::from(collation_of(args).charset().name())))
        .takes_null(),
    Def::new("COLLATION", (1, 1), result::system_text, |args| Ok(Value::from(collation_of(args).name()))).takes_null(),
    Def::new("COERCIBILITY", (1, 1), result::int, coercibility).takes_null(),
    Def::new("SLEEP", (1, 1), result::int, sleep).takes_null().waiting(),
    Def::new("BENCHMARK", (2, 2), result::nullable_int, |args| {
        // The argument was evaluated already; once is as good as often for its side effects.
        Ok(if args.value(0).is_null() || args.i64(0)? < 0 { Value::Null } else { Value::Int(0) })
    })
    .takes_null()
    .volatile(),
    Def::new("NAME_CONST", (2, 2), same_as_second, |args| Ok(args.value(1).clone())).takes_null(),
];

fn unsigned(binding: &Binding<'_>) -> SqlResult<ExprType> {
    let nullable = binding.any_nullable();
    Ok(ExprType::numeric(SqlType::BIGINT_UNSIGNED, nullable))
}

fn same_as_second(binding: &Binding<'_>) -> SqlResult<ExprType> {
    Ok(binding.arguments.get(1).map_or(boolean_type(true), |argument| argument.expr_type.clone()))
}

/// The roles that are active, quoted, or `NONE`.
fn current_role(args: &Args<'_>) -> Value {
    let quoted = |name: &str| format!("`{}`", name.replace('`', "``"));
    let roles = args.context.active_grants.roles.iter();
    let names: Vec<String> = roles.map(|role| format!("{}@{}", quoted(&role.user), quoted(&role.host))).collect();
    Value::String(if names.is_empty() { "NONE".to_string() } else { names.join(",") })
}

fn last_insert_id(args: &Args<'_>) -> SqlResult<Value> {
    if args.is_empty() {
        return Ok(Value::UInt(args.context.last_insert_id.load(Ordering::Relaxed)));
    }
    let id = args.integer(0)? as u64;
    args.context.last_insert_id.store(id, Ordering::Relaxed);
    args.context.insert_id_is_given.store(true, Ordering::Relaxed);
    Ok(if args.value(0).is_null() { Value::Null } else { Value::UInt(id) })
}

fn collation_of(args: &Args<'_>) -> CollationId {
    match args.ty(0) {
        SqlType::Null => CollationId::BINARY,
        ty => ty.collation().unwrap_or(CollationId::BINARY),
    }
}

fn coercibility(args: &Args<'_>) -> SqlResult<Value> {
    Ok(Value::Int(args.coercibilities.first().map_or(6, |coercibility| *coercibility as i64)))
}

/// SLEEP: 0 after the time, 1 when it was interrupted.
fn sleep(args: &Args<'_>) -> SqlResult<Value> {
    let seconds = args.f64(0)?;
    if args.value(0).is_null() || seconds < 0.0 {
        let error = SqlError::new(ErrorCode::WrongArguments, &[&"sleep."]);
        // In a query too.
        if args.context.settings.sql_mode.is_strict() {
            return Err(error);
        }
        args.warn(error)?;
        return Ok(Value::Int(0));
    }
    /// Time between two looks at whether the statement was killed.
    const STEP: Duration = Duration::from_millis(10);
    let Some(end) = Duration::try_from_secs_f64(seconds).ok().and_then(|time| Instant::now().checked_add(time)) else {
        return Err(SqlError::new(ErrorCode::WrongArguments, &[&"sleep"]));
    };
    off_pool(|| {
        loop {
            if args.context.kill.check().is_err() {
                return Ok(Value::Int(1));
            }
            let left = end.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Ok(Value::Int(0));
            }
            std::thread::sleep(left.min(STEP));
        }
    })?
}
