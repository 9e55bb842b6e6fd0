//! Expressions inside definitions: literals as values, texts to keep, the columns they name.

use squall_catalog::{ColumnDef, ColumnDefault};
use squall_functions::build::literal_type;
use squall_functions::operators::convert::convert_value;
use squall_parser::ParseOptions;
use squall_parser::ast::{Expr, Literal, TemporalKind, UnaryOp};
use squall_planner::bind::ARRAY_CAST;
use squall_planner::bind::parse_error;
use squall_planner::dml::target::implicit_default;
use squall_registry::Registry;
use squall_statement_context::StatementContext;
use squall_types::collation::Charset;
use squall_types::convert::{ConversionContext, store_value};
use squall_types::temporal::TimeZone;
use squall_types::{CollationId, Date, DateTime, Decimal, ErrorCode, Level, SqlError, SqlResult, SqlType, Value};

/// The value of a literal, possibly with a sign.
pub fn literal_value(expr: &Expr) -> Option<Value> {
    match expr {
        Expr::Literal(literal) => plain_literal(literal),
        Expr::Unary { op: UnaryOp::Plus, operand } => literal_value(operand),
        Expr::Unary { op: UnaryOp::Minus, operand } => match literal_value(operand)? {
            Value::Int(number) => number.checked_neg().map(Value::Int),
            Value::UInt(number) if number == i64::MIN.unsigned_abs() => Some(Value::Int(i64::MIN)),
            Value::UInt(number) => Some(Value::Decimal(Decimal::from_i128(-i128::from(number), 0))),
            Value::Double(number) => Some(Value::Double(-number)),
            Value::Decimal(number) => Some(Value::Decimal(number.negate())),
            _ => None,
        },
        _ => None,
    }
}

/// Bytes of a character set that a literal says.
fn introduced(charset: &str, bytes: &[u8]) -> Option<Value> {
    if charset == "binary" {
        return Some(Value::Bytes(bytes.to_vec()));
    }
    let decoded = Charset::from_name(charset)?.decode_padded(bytes);
    Some(Value::String(decoded.invalid_at.is_none().then(|| decoded.text.into_owned())?))
}

/// Whether a literal says its character set.
pub fn has_introducer(expr: &Expr) -> bool {
    match expr {
        Expr::Literal(Literal::String(text)) => text.introducer.is_some(),
        Expr::Literal(Literal::Hex { introducer, .. } | Literal::Bit { introducer, .. }) => introducer.is_some(),
        _ => false,
    }
}

fn plain_literal(literal: &Literal) -> Option<Value> {
    Some(match literal {
        Literal::Null => Value::Null,
        Literal::Boolean(value) => Value::from(*value),
        Literal::Integer(digits) => match (digits.parse::<i64>(), digits.parse::<u64>()) {
            (Ok(number), _) => Value::Int(number),
            (_, Ok(number)) => Value::UInt(number),
            _ => Value::Decimal(Decimal::parse(digits).value),
        },
        Literal::Decimal(digits) => Value::Decimal(Decimal::parse(digits).value),
        Literal::Float(digits) => Value::Double(digits.parse().ok().filter(|number: &f64| number.is_finite())?),
        Literal::String(text) => match text.introducer.as_deref() {
            Some(charset) => introduced(charset, text.value.as_bytes())?,
            // What is no text is bytes, as in a query.
            None => match std::str::from_utf8(text.value.as_bytes()) {
                Ok(text) => Value::String(text.to_string()),
                Err(_) => Value::Bytes(text.value.as_bytes().to_vec()),
            },
        },
        Literal::Hex { introducer, value } | Literal::Bit { introducer, value } => match introducer {
            Some(charset) => introduced(charset, value.as_bytes())?,
            None => Value::Bytes(value.as_bytes().to_vec()),
        },
        Literal::Temporal { kind, text } => {
            let text = Value::String(text.to_string());
            let to = match kind {
                TemporalKind::Date => SqlType::Date,
                TemporalKind::Time => SqlType::Time { fsp: 6 },
                TemporalKind::Timestamp => SqlType::DateTime { fsp: 6 },
            };
            let context = StatementContext::default();
            let from = literal_type(&text, CollationId::UTF8MB4_0900_AI_CI).sql_type;
            convert_value(&text, &from, &to, &context).ok().filter(|value| !value.is_null())?
        }
    })
}

/// A constant as a column holds it; anything lost on the way is an error, as it is for DEFAULT.
pub fn convert_to_column(value: Value, to: &SqlType, name: &str, statement: &StatementContext) -> SqlResult<Value> {
    let invalid = || SqlError::new(ErrorCode::InvalidDefault, &[&name]);
    // Hexadecimal digits are a number where a number is asked for.
    let value = match value {
        Value::Bytes(bytes) if to.is_numeric() && bytes.len() <= 8 => {
            Value::UInt(bytes.iter().fold(0, |number, byte| number << 8 | u64::from(*byte)))
        }
        other => other,
    };
    let from = literal_type(&value, CollationId::UTF8MB4_0900_AI_CI).sql_type;
    let conversion = ConversionContext {
        mode: statement.settings.sql_mode,
        time_zone: &statement.settings.time_zone,
        current_date: statement
            .settings
            .time_zone
            .from_unix_micros(statement.now_micros)
            .map_or(Date::ZERO, |now| now.date()),
        table: "",
        column: name,
        row: 1,
    };
    // A default of a TIMESTAMP is local time, as the statement that uses it says it.
    let target = match to {
        SqlType::Timestamp { fsp } => &SqlType::DateTime { fsp: *fsp },
        other => other,
    };
    let mut warnings = Vec::new();
    let stored = store_value(value, &from, target, &conversion).resolve(true, &mut warnings).map_err(|_| invalid())?;
    if stored.is_null() || warnings.iter().any(|warning| warning.level != Level::Note) {
        return Err(invalid());
    }
    Ok(stored)
}

/// The value of an added column in older rows.
pub fn value_for_older_rows(column: &ColumnDef, statement: &StatementContext) -> SqlResult<Value> {
    Ok(match &column.default {
        ColumnDefault::Literal(value) => value.clone(),
        ColumnDefault::Now => Value::DateTime(now_for_column(&column.sql_type, statement)),
        ColumnDefault::None | ColumnDefault::Expression(_) if column.nullable => Value::Null,
        ColumnDefault::None | ColumnDefault::Expression(_) => implicit_default(&column.sql_type)?,
    })
}

/// The statement's time as a DATETIME (local) or TIMESTAMP (UTC, as stores hold it).
fn now_for_column(sql_type: &SqlType, statement: &StatementContext) -> DateTime {
    let (zone, fsp) = match sql_type {
        SqlType::Timestamp { fsp } => (&TimeZone::utc(), *fsp),
        SqlType::DateTime { fsp } => (&*statement.settings.time_zone, *fsp),
        _ => (&TimeZone::utc(), 0),
    };
    let unit = 10i64.pow(u32::from(6 - fsp.min(6)));
    let micros = statement.now_micros - statement.now_micros.rem_euclid(unit);
    zone.from_unix_micros(micros).unwrap_or(DateTime::ZERO)
}

/// The text of an expression, as definitions keep it.
///
/// # Errors
/// If the text cannot be read again: it has more parentheses than the statement, which may have been as deep as any.
pub fn expression_text(expr: &Expr) -> SqlResult<String> {
    let text = expr.to_string();
    squall_parser::parse_expr(&text, &ParseOptions::default()).map_err(parse_error)?;
    Ok(text)
}

/// Columns that an expression names, each once.
pub fn columns_of(expr: &Expr, found: &mut Vec<String>) {
    expr.visit(&mut |expr| {
        if let Expr::Column(name) = expr
            && !found.iter().any(|other| other.eq_ignore_ascii_case(&name.column))
        {
            found.push(name.column.to_string());
        }
    });
}

/// As [`columns_of`] for a text that a definition keeps.
pub fn columns_of_text(text: &str, found: &mut Vec<String>) {
    // The text was printed from a tree, so it parses.
    if let Ok(expr) = squall_parser::parse_expr(text, &ParseOptions::default()) {
        columns_of(&expr, found);
    }
}

/// The expressions that DEFAULT (…) may not have (3770).
pub fn check_default(expr: &Expr, name: &str, registry: &Registry) -> SqlResult<()> {
    let what = forbidden(expr).or_else(|| waiting_call(expr)).or_else(|| unreliable_call(expr, registry));
    match what {
        Some(what) => Err(SqlError::new(ErrorCode::DefaultValueGenerated, &[&name, &what])),
        None => Ok(()),
    }
}

/// The expressions that a generated column may not have (3763, 3102).
pub fn check_generated(expr: &Expr, name: &str, registry: &Registry) -> SqlResult<()> {
    check_no_array_cast(expr)?;
    match disallowed(expr, registry) {
        Some(what) => Err(SqlError::new(ErrorCode::GeneratedColumnFunctionNotAllowed, &[&name, &what])),
        None => Ok(()),
    }
}

/// `CAST(… AS type ARRAY)` is in keys only (1235).
fn check_no_array_cast(expr: &Expr) -> SqlResult<()> {
    let mut found = false;
    expr.visit(&mut |expr| found |= matches!(expr, Expr::Cast(cast) if cast.array));
    if found { Err(SqlError::unsupported(ARRAY_CAST)) } else { Ok(()) }
}

/// The expressions that a CHECK may not have (3814, 3815).
pub fn check_condition(expr: &Expr, name: &str, registry: &Registry) -> SqlResult<()> {
    check_no_array_cast(expr)?;
    match disallowed(expr, registry) {
        Some(what) => Err(SqlError::new(ErrorCode::CheckConstraintFunctionNotAllowed, &[&name, &what])),
        None => Ok(()),
    }
}

/// The first part that an expression may not have if its value must depend on the row alone.
pub fn disallowed(expr: &Expr, registry: &Registry) -> Option<String> {
    forbidden(expr).or_else(|| volatile_call(expr)).or_else(|| unreliable_call(expr, registry))
}

/// A function that takes time, holds locks or reads files, which no default may.
fn waiting_call(expr: &Expr) -> Option<String> {
    const WAITING: &[&str] = &[
        "BENCHMARK",
        "GET_LOCK",
        "IS_FREE_LOCK",
        "IS_USED_LOCK",
        "LOAD_FILE",
        "RELEASE_ALL_LOCKS",
        "RELEASE_LOCK",
        "SLEEP",
    ];
    let mut found = None;
    expr.visit(&mut |expr| {
        if let Expr::Function(call) = expr
            && WAITING.iter().any(|name| call.name.is(name))
        {
            found.get_or_insert_with(|| call.name.to_ascii_lowercase());
        }
    });
    found
}

/// A function that may be gone when a row is written, or that acts outside of the server.
fn unreliable_call(expr: &Expr, registry: &Registry) -> Option<String> {
    let is_unreliable = |name: &str| match registry.declared_scalar(name) {
        Some(declared) => !declared.is_for_definitions(),
        None => registry.scalar(name).is_some(),
    };
    let mut found = None;
    expr.visit(&mut |expr| {
        if let Expr::Function(call) = expr
            && is_unreliable(&call.name)
        {
            found.get_or_insert_with(|| call.name.to_ascii_lowercase());
        }
    });
    found
}

/// Subqueries, variables, parameters and aggregates are in no definition.
fn forbidden(expr: &Expr) -> Option<String> {
    let mut found = None;
    expr.visit(&mut |expr| {
        let what = match expr {
            Expr::Subquery(_) | Expr::Exists(_) | Expr::InSubquery { .. } | Expr::Quantified { .. } => "subquery",
            Expr::UserVariable(_) | Expr::Assign { .. } => "user variable",
            Expr::SystemVariable(_) => "system variable",
            Expr::Placeholder(_) => "parameter",
            Expr::Aggregate(_) => "aggregate function",
            Expr::Window(_) => "window function",
            _ => return,
        };
        found.get_or_insert_with(|| what.to_string());
    });
    found
}

/// Functions whose value changes from call to call.
fn volatile_call(expr: &Expr) -> Option<String> {
    const VOLATILE: &[&str] = &[
        "RAND",
        "UUID",
        "UUID_SHORT",
        "SLEEP",
        "NOW",
        "CURRENT_TIMESTAMP",
        "SYSDATE",
        "CURDATE",
        "CURTIME",
        "CURRENT_DATE",
        "CURRENT_TIME",
        "LOCALTIME",
        "LOCALTIMESTAMP",
        "UTC_DATE",
        "UTC_TIME",
        "UTC_TIMESTAMP",
        "UNIX_TIMESTAMP",
        "CONNECTION_ID",
        "USER",
        "CURRENT_USER",
        "SESSION_USER",
        "SYSTEM_USER",
        "DATABASE",
        "SCHEMA",
        "VERSION",
        "LAST_INSERT_ID",
        "FOUND_ROWS",
        "ROW_COUNT",
        "GET_LOCK",
        "RELEASE_LOCK",
        "LOAD_FILE",
        "BENCHMARK",
    ];
    let mut found = None;
    expr.visit(&mut |expr| match expr {
        Expr::Function(call) if VOLATILE.iter().any(|name| call.name.is(name)) => {
            found.get_or_insert_with(|| call.name.to_ascii_lowercase());
        }
        Expr::Sequence { .. } => {
            found.get_or_insert_with(|| "nextval".to_owned());
        }
        _ => {}
    });
    found
}
