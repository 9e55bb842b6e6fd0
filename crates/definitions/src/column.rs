//! Makes a [`ColumnDef`] of a column of the syntax tree.

use crate::constant;
use crate::context::DdlContext;
use crate::data_type::{TypeRules, resolve_type};
use crate::names::check_column_name;
use squall_catalog::{ColumnDef, ColumnDefault, ColumnId, GeneratedKind};
use squall_parser::ast::{CURRENT_TIMESTAMP_NAMES, ColumnDefinition, DataType, DefaultValue, Expr, Literal};
use squall_spatial::srs::spatial_reference_system;
use squall_types::{CollationId, ErrorCode, GeometryType, Level, SqlError, SqlResult, SqlType, StringKind, Value};

/// Longest comment of a column, in characters.
const COMMENT_CHARACTERS_MAX: usize = 1024;

/// Makes the column; its id is the caller's to give.
pub fn resolve_column(
    definition: &ColumnDefinition,
    collation: CollationId,
    context: &DdlContext<'_>,
) -> SqlResult<ColumnDef> {
    let name = definition.name.as_str();
    check_column_name(name)?;
    if definition.compressed {
        let note = SqlError::unsupported("COMPRESSED columns; COMPRESSION of the table compresses all of them");
        context.statement.diagnostics.push(Level::Note, note);
    }
    let rules = TypeRules { collation, sql_mode: context.sql_mode() };
    let sql_type = with_srid(resolve_type(&definition.data_type, name, rules)?, definition.srid)?;
    let serial = matches!(definition.data_type, DataType::Serial);
    let auto_increment = definition.auto_increment || serial;
    if auto_increment && !can_count(&sql_type) {
        return Err(SqlError::new(ErrorCode::WrongFieldSpec, &[&name]));
    }
    if definition.primary_key && definition.nullable == Some(true) {
        return Err(SqlError::new(ErrorCode::PrimaryCantHaveNull, &[]));
    }
    let nullable = definition.nullable.unwrap_or(true) && !definition.primary_key && !auto_increment;
    let on_update_now = match &definition.on_update {
        None => false,
        Some(expr) => match current_timestamp_digits(expr) {
            Some(digits) if timestamp_digits(&sql_type) == Some(digits) => true,
            _ => return Err(SqlError::new(ErrorCode::InvalidOnUpdate, &[&name])),
        },
    };
    let default = match &definition.default {
        None => ColumnDefault::None,
        Some(_) if auto_increment || definition.generated.is_some() => {
            return Err(SqlError::new(ErrorCode::InvalidDefault, &[&name]));
        }
        Some(expr) => resolve_default(expr, name, &sql_type, nullable, context)?,
    };
    let generated = match &definition.generated {
        None => None,
        Some(generated) => {
            constant::check_generated(&generated.expr, name, context.registry)?;
            let expression = constant::expression_text(&generated.expr)?;
            Some(GeneratedKind { expression, stored: generated.stored, key_part: None })
        }
    };
    Ok(ColumnDef {
        id: ColumnId(0),
        name: name.to_string(),
        sql_type,
        nullable,
        default,
        on_update_now,
        auto_increment,
        generated,
        invisible: definition.visible == Some(false),
        comment: comment(definition.comment.as_deref(), name, context)?,
        value_for_older_rows: Value::Null,
    })
}

/// A spatial type with the SRID that its column has to hold to.
fn with_srid(sql_type: SqlType, srid: Option<u32>) -> SqlResult<SqlType> {
    match (sql_type.geometry_type(), srid) {
        (_, None) => Ok(sql_type),
        (None, Some(_)) => Err(SqlError::new(ErrorCode::WrongUsage, &[&"SRID", &"non-geometry column"])),
        (Some(geometry), Some(srid)) => {
            spatial_reference_system(srid)?;
            Ok(SqlType::of_geometry(GeometryType { srid: Some(srid), ..geometry }))
        }
    }
}

fn comment(text: Option<&str>, name: &str, context: &DdlContext<'_>) -> SqlResult<String> {
    let text = text.unwrap_or_default();
    if text.chars().count() <= COMMENT_CHARACTERS_MAX {
        return Ok(text.to_string());
    }
    let error = SqlError::new(ErrorCode::TooLongFieldComment, &[&name, &COMMENT_CHARACTERS_MAX]);
    if context.sql_mode().is_strict() {
        return Err(error);
    }
    context.statement.diagnostics.warn(error);
    Ok(text.chars().take(COMMENT_CHARACTERS_MAX).collect())
}

/// Whether a type takes AUTO_INCREMENT.
fn can_count(sql_type: &SqlType) -> bool {
    matches!(sql_type, SqlType::Int { .. } | SqlType::Float { .. } | SqlType::Double { .. })
}

/// The digits of a DATETIME or TIMESTAMP: only these take CURRENT_TIMESTAMP.
fn timestamp_digits(sql_type: &SqlType) -> Option<u8> {
    match sql_type {
        SqlType::DateTime { fsp } | SqlType::Timestamp { fsp } => Some(*fsp),
        _ => None,
    }
}

/// The digits of `CURRENT_TIMESTAMP[(n)]` and its synonyms.
pub fn current_timestamp_digits(expr: &Expr) -> Option<u8> {
    let Expr::Function(call) = expr else { return None };
    if call.schema.is_some() || !CURRENT_TIMESTAMP_NAMES.iter().any(|name| call.name.is(name)) {
        return None;
    }
    match call.arguments.as_slice() {
        [] => Some(0),
        [Expr::Literal(Literal::Integer(digits))] => digits.parse().ok().filter(|digits| *digits <= 6),
        _ => None,
    }
}

/// DEFAULT of a column whose type is known.
pub fn resolve_default(
    default: &DefaultValue,
    name: &str,
    sql_type: &SqlType,
    nullable: bool,
    context: &DdlContext<'_>,
) -> SqlResult<ColumnDefault> {
    let expr = &default.value;
    let invalid = || SqlError::new(ErrorCode::InvalidDefault, &[&name]);
    if let Some(digits) = current_timestamp_digits(expr) {
        return match timestamp_digits(sql_type) {
            Some(own) if own == digits => Ok(ColumnDefault::Now),
            Some(_) => Err(invalid()),
            None => Ok(ColumnDefault::Expression(constant::expression_text(expr)?)),
        };
    }
    if is_null(expr) && !default.is_expression {
        return if nullable { Ok(ColumnDefault::Literal(Value::Null)) } else { Err(invalid()) };
    }
    if default.is_expression {
        constant::check_default(expr, name, context.registry)?;
        return Ok(ColumnDefault::Expression(constant::expression_text(expr)?));
    }
    if holds_blob(sql_type) {
        // A literal with an introducer is how dumps write an expression default of a TEXT column.
        if has_introducer(expr) {
            return Ok(ColumnDefault::Expression(constant::expression_text(expr)?));
        }
        let error = SqlError::new(ErrorCode::BlobCantHaveDefault, &[&name]);
        let is_empty = matches!(expr, Expr::Literal(Literal::String(text)) if text.value.as_bytes().is_empty());
        if context.sql_mode().is_strict() || !is_empty {
            return Err(error);
        }
        context.statement.diagnostics.warn(error);
        return Ok(ColumnDefault::None);
    }
    let mut value = constant::literal_value(expr).ok_or_else(invalid)?;
    // A number is no place of an element here, but its text.
    if let SqlType::Enum { members, .. } | SqlType::Set { members, .. } = sql_type
        && let Some(text) = number_text(&value)
    {
        if !members.contains(&text) {
            return Err(invalid());
        }
        value = Value::String(text);
    }
    constant::convert_to_column(value, sql_type, name, context.statement)
        .map(ColumnDefault::Literal)
        .map_err(|_| invalid())
}

/// The text of a number, also of one in a text.
fn number_text(value: &Value) -> Option<String> {
    match value {
        Value::Int(number) => Some(number.to_string()),
        Value::UInt(number) => Some(number.to_string()),
        Value::Double(number) => Some(number.to_string()),
        Value::Decimal(number) => Some(number.to_string()),
        Value::String(text) if !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit()) => Some(text.clone()),
        _ => None,
    }
}

fn is_null(expr: &Expr) -> bool {
    matches!(expr, Expr::Literal(Literal::Null))
}

fn has_introducer(expr: &Expr) -> bool {
    matches!(expr, Expr::Literal(Literal::String(text)) if text.introducer.is_some())
}

/// Whether a type is one of TEXT, BLOB and JSON, whose columns have no literal as their default.
pub fn holds_blob(sql_type: &SqlType) -> bool {
    matches!(
        sql_type,
        SqlType::Json
            | SqlType::String { kind: StringKind::Text(_) | StringKind::Geometry(_) | StringKind::Vector, .. }
    )
}
