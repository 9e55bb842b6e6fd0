//! The partitioning expression or columns.

use crate::constant::{columns_of, expression_text};
use squall_catalog::name::eq_ignore_case;
use squall_catalog::{ColumnId, PartitionScheme, TableDef};
use squall_parser::ast::{self, BinaryOp, Expr, Ident, UnaryOp};
use squall_planner::partition::own_exprs;
use squall_types::{ErrorCode, SqlError, SqlResult, SqlType, StringKind};
use std::sync::Arc;

/// Most columns of KEY, RANGE COLUMNS and LIST COLUMNS.
const COLUMNS_MAX: usize = 16;

/// The functions that MySQL allows.
const FUNCTIONS: &[&str] = &[
    "ABS",
    "CEIL",
    "CEILING",
    "DATEDIFF",
    "DAY",
    "DAYOFMONTH",
    "DAYOFWEEK",
    "DAYOFYEAR",
    "EXTRACT",
    "FLOOR",
    "HOUR",
    "MICROSECOND",
    "MINUTE",
    "MOD",
    "MONTH",
    "QUARTER",
    "SECOND",
    "TIME_TO_SEC",
    "TO_DAYS",
    "TO_SECONDS",
    "UNIX_TIMESTAMP",
    "WEEKDAY",
    "YEAR",
    "YEARWEEK",
];

/// Resolves PARTITION BY or SUBPARTITION BY.
pub fn resolve_scheme(table: &TableDef, scheme: &ast::PartitionScheme) -> SqlResult<PartitionScheme> {
    Ok(match scheme {
        ast::PartitionScheme::Hash { linear, expr } => {
            PartitionScheme::Hash { linear: *linear, expression: resolve_expression(table, expr)? }
        }
        ast::PartitionScheme::Range(expr) => PartitionScheme::Range(resolve_expression(table, expr)?),
        ast::PartitionScheme::List(expr) => PartitionScheme::List(resolve_expression(table, expr)?),
        ast::PartitionScheme::RangeColumns(names) => {
            PartitionScheme::RangeColumns(resolve_columns(table, names, is_allowed_in_columns)?)
        }
        ast::PartitionScheme::ListColumns(names) => {
            PartitionScheme::ListColumns(resolve_columns(table, names, is_allowed_in_columns)?)
        }
        ast::PartitionScheme::Key { linear, algorithm, columns } => {
            let algorithm = match algorithm {
                None => None,
                Some(number @ (1 | 2)) => Some(*number as u8),
                Some(_) => return Err(SqlError::new(ErrorCode::Parse, &[&"", &1])),
            };
            let is_given = !columns.is_empty();
            let columns = match is_given {
                true => resolve_columns(table, columns, |_| true)?,
                false => columns_of_key(table)?,
            };
            PartitionScheme::Key { linear: *linear, algorithm, columns, is_given }
        }
    })
}

/// The columns of the primary key or, without one, of the first unique key.
fn columns_of_key(table: &TableDef) -> SqlResult<Vec<ColumnId>> {
    let key = table.primary_key().or_else(|| table.indexes.iter().find(|index| index.unique));
    match key {
        Some(key) => Ok(key.parts.iter().map(|part| part.column).collect()),
        None => Err(SqlError::new(ErrorCode::FieldNotFoundInPartitionList, &[])),
    }
}

fn resolve_columns(table: &TableDef, names: &[Ident], is_allowed: fn(&SqlType) -> bool) -> SqlResult<Vec<ColumnId>> {
    if names.len() > COLUMNS_MAX {
        return Err(SqlError::new(ErrorCode::TooManyPartitionFields, &[&"list of partition fields"]));
    }
    let mut columns = Vec::with_capacity(names.len());
    for (at, name) in names.iter().enumerate() {
        if names[..at].iter().any(|other| eq_ignore_case(other, name)) {
            return Err(SqlError::new(ErrorCode::DuplicatePartitionField, &[&name.as_str()]));
        }
        let found = table.column(name).ok_or_else(|| SqlError::new(ErrorCode::FieldNotFoundInPartitionList, &[]))?;
        let column = found.1;
        if is_long(&column.sql_type) {
            return Err(SqlError::new(ErrorCode::BlobInPartitionFunction, &[]));
        }
        if column.sql_type.is_vector() || !is_allowed(&column.sql_type) {
            return Err(SqlError::new(ErrorCode::PartitionFieldType, &[&column.name]));
        }
        columns.push(column.id);
    }
    Ok(columns)
}

fn is_long(sql_type: &SqlType) -> bool {
    matches!(sql_type, SqlType::String { kind: StringKind::Text(_), .. } | SqlType::Json)
}

/// Integers, dates without a time zone, and short texts.
fn is_allowed_in_columns(sql_type: &SqlType) -> bool {
    match sql_type {
        SqlType::Int { .. } | SqlType::Date | SqlType::DateTime { .. } | SqlType::Time { .. } => true,
        SqlType::String { kind, .. } => !matches!(kind, StringKind::Text(_)),
        _ => false,
    }
}

/// The text of an expression whose value is an integer that the row alone decides.
fn resolve_expression(table: &TableDef, expr: &Expr) -> SqlResult<String> {
    check_parts(table, expr)?;
    let mut columns = Vec::new();
    columns_of(expr, &mut columns);
    if columns.is_empty() {
        return Err(SqlError::new(ErrorCode::WrongExprInPartitionFunction, &[]));
    }
    for name in &columns {
        let Some((_, column)) = table.column(name) else {
            return Err(SqlError::new(ErrorCode::BadField, &[name, &"partition function"]));
        };
        if is_long(&column.sql_type) {
            return Err(SqlError::new(ErrorCode::BlobInPartitionFunction, &[]));
        }
    }
    let text = lower_words(&expression_text(expr)?);
    let bound = own_exprs(&Arc::new(table.clone())).bind(&text)?;
    match bound.sql_type() {
        SqlType::Int { .. } | SqlType::Year => Ok(text),
        _ if matches!(expr, Expr::Column(_)) => Err(SqlError::new(ErrorCode::PartitionFieldType, &[&columns[0]])),
        _ => Err(SqlError::new(ErrorCode::PartitionFunctionType, &[&"PARTITION"])),
    }
}

/// Functions as MySQL prints them: all that is in no quotes is in small letters.
fn lower_words(text: &str) -> String {
    let parts = text.split('`').enumerate();
    let parts = parts.map(|(at, part)| if at % 2 == 0 { part.to_lowercase() } else { part.to_string() });
    parts.collect::<Vec<_>>().join("`")
}

/// Only what MySQL allows: columns, integers, arithmetic and some functions (1564, 1486).
fn check_parts(table: &TableDef, expr: &Expr) -> SqlResult<()> {
    let mut refused: Option<ErrorCode> = None;
    expr.visit(&mut |part| {
        let code = match part {
            Expr::Column(_) | Expr::Literal(_) | Expr::Extract { .. } => None,
            Expr::Unary { op: UnaryOp::Plus | UnaryOp::Minus, .. } => None,
            Expr::Binary {
                op:
                    BinaryOp::Add
                    | BinaryOp::Subtract
                    | BinaryOp::Multiply
                    | BinaryOp::IntegerDivide
                    | BinaryOp::Modulo,
                ..
            } => None,
            Expr::Function(call) => {
                let is_allowed = FUNCTIONS.iter().any(|name| call.name.as_str().eq_ignore_ascii_case(name));
                match is_allowed {
                    false => Some(ErrorCode::PartitionFunctionNotAllowed),
                    true if depends_on_zone(table, call) || !has_its_moment(table, call) => {
                        Some(ErrorCode::WrongExprInPartitionFunction)
                    }
                    true => None,
                }
            }
            _ => Some(ErrorCode::PartitionFunctionNotAllowed),
        };
        if refused.is_none() {
            refused = code;
        }
    });
    refused.map_or(Ok(()), |code| Err(SqlError::new(code, &[])))
}

/// Whether a function of dates or times has a column of them: texts and numbers may be none, or be read otherwise by another sql_mode.
fn has_its_moment(table: &TableDef, call: &ast::FunctionCall) -> bool {
    const OF_DATES: [&str; 13] = [
        "DATEDIFF",
        "DAY",
        "DAYOFMONTH",
        "DAYOFWEEK",
        "DAYOFYEAR",
        "MONTH",
        "QUARTER",
        "TO_DAYS",
        "TO_SECONDS",
        "WEEKDAY",
        "YEAR",
        "YEARWEEK",
        "WEEK",
    ];
    const OF_TIMES: [&str; 5] = ["HOUR", "MICROSECOND", "MINUTE", "SECOND", "TIME_TO_SEC"];
    let is_one_of = |names: &[&str]| names.iter().any(|name| call.name.as_str().eq_ignore_ascii_case(name));
    let has = |is_wanted: fn(&SqlType) -> bool| {
        call.arguments.iter().any(|argument| match argument {
            Expr::Column(name) => table.column(&name.column).is_none_or(|(_, column)| is_wanted(&column.sql_type)),
            _ => false,
        })
    };
    if is_one_of(&OF_DATES) {
        return has(|sql_type| matches!(sql_type, SqlType::Date | SqlType::DateTime { .. }));
    }
    !is_one_of(&OF_TIMES) || has(|sql_type| matches!(sql_type, SqlType::Time { .. } | SqlType::DateTime { .. }))
}

/// Whether a function's value for a row is another one in another time zone: of a TIMESTAMP all but UNIX_TIMESTAMP, and that of all else.
fn depends_on_zone(table: &TableDef, call: &ast::FunctionCall) -> bool {
    let takes_zone = call.name.as_str().eq_ignore_ascii_case("UNIX_TIMESTAMP");
    call.arguments.iter().any(|argument| {
        let Expr::Column(name) = argument else { return takes_zone };
        let Some((_, column)) = table.column(&name.column) else { return false };
        let is_timestamp = matches!(column.sql_type, SqlType::Timestamp { .. });
        is_timestamp != takes_zone
    })
}
