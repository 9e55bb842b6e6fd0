//! Drizzle's utility functions: of the session, of types, ASSERT and KILL.

use super::support::{Args, Def, result};
use crate::expr::truth_of;
use squall_registry::ScalarKernel;
use squall_statement_context::StatementContext;
use squall_types::ModuleError;
use squall_types::{IntWidth, SqlError, SqlResult, SqlType, StringKind, Value};

/// The name of ASSERT, whose calls the binder makes with an [`Assertion`].
pub const ASSERT: &str = "ASSERT";
/// The name of RESULT_TYPE, which the binder calls for anything but rows.
pub const RESULT_TYPE: &str = "RESULT_TYPE";
/// What RESULT_TYPE says of a row.
pub const ROW_RESULT: &str = "ROW";

/// The argument of ASSERT is not true.
pub const ASSERTION_FAILED: ModuleError = ModuleError::new(50_440, b"HY000", "Assertion '%s' failed%s.");
/// KILL() of the session itself.
pub const KILLS_ITSELF: ModuleError = ModuleError::new(50_441, b"HY000", "KILL() cannot end the session that calls it");

/// The family.
pub const FUNCTIONS: &[Def] = &[
    Def::new(ASSERT, (1, 1), result::int, |args| assert(args.value(0), &args.text(0))).takes_null().volatile(),
    Def::new("CATALOG", (0, 0), result::system_text, |_| Ok(Value::from("LOCAL"))),
    Def::new("GLOBAL_READ_LOCK", (0, 0), result::int, |args| {
        let session = args.context.nested.as_ref();
        Ok(Value::from(session.is_some_and(|session| session.holds_read_lock(args.context.connection_id))))
    })
    .stable(),
    Def::new("KILL", (1, 1), result::int, kill).external(),
    Def::new(RESULT_TYPE, (1, 1), result::system_text, |args| Ok(Value::from(result_type(args.ty(0))))).takes_null(),
    Def::new("TYPEOF", (1, 1), result::system_text, |args| Ok(type_name(args))).takes_null(),
];

/// ASSERT of a condition that is written so.
#[derive(Debug)]
pub struct Assertion(pub Box<str>);

impl ScalarKernel for Assertion {
    fn eval(&self, arguments: &[Value], _context: &StatementContext) -> SqlResult<Value> {
        assert(arguments.first().unwrap_or(&Value::Null), &self.0)
    }
}

/// 1 for what is true.
fn assert(condition: &Value, written: &str) -> SqlResult<Value> {
    let reason = match truth_of(condition)? {
        Some(true) => return Ok(Value::Int(1)),
        Some(false) => "",
        None => ", the result was NULL",
    };
    Err(SqlError::of_module(&ASSERTION_FAILED, &[&written, &reason]))
}

/// 1 when the session with this number has been told to end.
fn kill(args: &Args<'_>) -> SqlResult<Value> {
    // No session has a number that is negative or too large.
    let id = u64::try_from(args.integer(0)?).unwrap_or_default();
    if id == args.context.connection_id {
        return Err(SqlError::of_module(&KILLS_ITSELF, &[]));
    }
    match &args.context.nested {
        Some(session) => session.kill(id, args.context)?,
        None => return Err(SqlError::internal("KILL() outside of a session")),
    }
    Ok(Value::Int(1))
}

/// How MySQL computes with values of a type.
fn result_type(sql_type: &SqlType) -> &'static str {
    match sql_type {
        SqlType::Int { .. } | SqlType::Bit { .. } | SqlType::Year => "INTEGER",
        SqlType::Decimal { .. } => "DECIMAL",
        SqlType::Float { .. } | SqlType::Double { .. } => "REAL",
        _ => "STRING",
    }
}

/// `bigint unsigned`, or Drizzle's name with `drizzle_type_names`.
fn type_name(args: &Args<'_>) -> Value {
    let sql_type = args.ty(0);
    if args.context.settings.drizzle_type_names {
        return Value::from(drizzle_name(sql_type));
    }
    let name = sql_type.data_type_name();
    match sql_type.is_numeric() && !matches!(sql_type, SqlType::Bit { .. } | SqlType::Year) && sql_type.is_unsigned() {
        true => Value::String(format!("{name} unsigned")),
        false => Value::from(name),
    }
}

/// The nearest of Drizzle's types.
fn drizzle_name(sql_type: &SqlType) -> &'static str {
    match sql_type {
        SqlType::Null => "DRIZZLE_TYPE_NULL",
        SqlType::Int { width: IntWidth::Tiny, display_width: Some(1), .. } => "DRIZZLE_TYPE_BOOLEAN",
        SqlType::Int { width: IntWidth::Big, .. } | SqlType::Bit { .. } => "DRIZZLE_TYPE_LONGLONG",
        SqlType::Int { .. } | SqlType::Year => "DRIZZLE_TYPE_LONG",
        SqlType::Decimal { .. } => "DRIZZLE_TYPE_DECIMAL",
        SqlType::Float { .. } | SqlType::Double { .. } => "DRIZZLE_TYPE_DOUBLE",
        SqlType::Date => "DRIZZLE_TYPE_DATE",
        SqlType::Time { .. } => "DRIZZLE_TYPE_TIME",
        SqlType::DateTime { .. } => "DRIZZLE_TYPE_DATETIME",
        SqlType::Timestamp { fsp: 0 } => "DRIZZLE_TYPE_TIMESTAMP",
        SqlType::Timestamp { .. } => "DRIZZLE_TYPE_MICROTIME",
        SqlType::String { kind: StringKind::Char | StringKind::Varchar, .. } => "DRIZZLE_TYPE_VARCHAR",
        SqlType::Set { .. } | SqlType::Hex { .. } => "DRIZZLE_TYPE_VARCHAR",
        SqlType::Enum { .. } => "DRIZZLE_TYPE_ENUM",
        SqlType::Uuid => "DRIZZLE_TYPE_UUID",
        SqlType::String { .. } | SqlType::Json => "DRIZZLE_TYPE_BLOB",
    }
}
