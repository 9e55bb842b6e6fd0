//! Binds the expressions of a definition before it is published. Otherwise a table could exist that accepts no row.

use crate::constant;
use crate::context::DdlContext;
use squall_catalog::name::eq_ignore_case;
use squall_catalog::{ColumnDef, ColumnDefault, TableDef};
use squall_functions::expr::BoundExpr;
use squall_parser::ParseOptions;
use squall_parser::ast::Expr;
use squall_planner::bind::OwnExprs;
use squall_registry::Registry;
use squall_types::{ErrorCode, SqlError, SqlResult, SqlType};
use std::sync::Arc;

/// Binds defaults, generated columns and checks.
///
/// # Errors
/// Errors of binding; 3771 and 3107 for later columns, 3770, 3763 and 3814 for missing functions, 3768, 3109 and 3818 for an AUTO_INCREMENT column, 3812 for a check
/// that is not a condition.
pub fn check_expressions(table: &TableDef, context: &DdlContext<'_>) -> SqlResult<()> {
    let has_default = |default: &ColumnDefault| matches!(default, ColumnDefault::Expression(_));
    let has_expression = table.columns.iter().any(|column| column.generated.is_some() || has_default(&column.default));
    if !has_expression && table.checks.is_empty() {
        return Ok(());
    }
    let definition = Arc::new(table.clone());
    let own = || OwnExprs::new(context.registry, context.database, &definition);
    for (at, column) in table.columns.iter().enumerate() {
        if let ColumnDefault::Expression(text) = &column.default {
            if names_later(table, text, at, |later| later.generated.is_some() || has_default(&later.default)) {
                return Err(SqlError::new(ErrorCode::DefaultNonPrior, &[&column.name]));
            }
            refuse_counting(table, text, ErrorCode::DefaultRefersAutoIncrement, &column.name)?;
            refuse_vectors(table, text, "DEFAULT EXPRESSION")?;
            let code = ErrorCode::DefaultValueGenerated;
            own().bind(text).map_err(|error| unknown_function(error, text, (code, &column.name), context.registry))?;
        }
        if let Some(generated) = &column.generated {
            let (code, text) = (ErrorCode::GeneratedColumnFunctionNotAllowed, &generated.expression);
            refuse_vectors(table, text, "GENERATED COLUMN")?;
            if !column.is_hidden() {
                if names_later(table, text, at, |later| later.generated.is_some()) {
                    return Err(SqlError::new(ErrorCode::GeneratedColumnNonPrior, &[]));
                }
                refuse_counting(table, text, ErrorCode::GeneratedColumnRefersAutoIncrement, &column.name)?;
            }
            own()
                .bind_generated(generated)
                .map_err(|error| unknown_function(error, text, (code, &column.name), context.registry))?;
        }
    }
    for check in &table.checks {
        let (code, text) = (ErrorCode::CheckConstraintFunctionNotAllowed, &check.expression);
        refuse_counting(table, text, ErrorCode::CheckConstraintRefersAutoIncrement, &check.name)?;
        refuse_vectors(table, text, "CHECK CONSTRAINT")?;
        let bound =
            own().bind(text).map_err(|error| unknown_function(error, text, (code, &check.name), context.registry))?;
        if !is_boolean(&bound) {
            return Err(SqlError::new(ErrorCode::NonBooleanCheckConstraint, &[&check.name]));
        }
    }
    Ok(())
}

/// Whether the expression of the column at a place names itself or a later column of a kind: its value is not there yet.
fn names_later(table: &TableDef, text: &str, at: usize, is_of_kind: impl Fn(&ColumnDef) -> bool) -> bool {
    let mut names = Vec::new();
    constant::columns_of_text(text, &mut names);
    let mut later = table.columns.iter().skip(at).filter(|column| is_of_kind(column));
    later.any(|column| names.iter().any(|name| eq_ignore_case(name, &column.name)))
}

/// The expression of `whose` names no AUTO_INCREMENT column: its value is not there when a row's expressions are evaluated.
fn refuse_counting(table: &TableDef, text: &str, code: ErrorCode, whose: &str) -> SqlResult<()> {
    let Some(counting) = table.columns.iter().find(|column| column.auto_increment) else { return Ok(()) };
    let mut columns = Vec::new();
    constant::columns_of_text(text, &mut columns);
    match columns.iter().any(|column| eq_ignore_case(column, &counting.name)) {
        true => Err(SqlError::new(code, &[&whose])),
        false => Ok(()),
    }
}

/// The expression names no column of vectors, as MySQL has it (3064).
fn refuse_vectors(table: &TableDef, text: &str, place: &str) -> SqlResult<()> {
    if !table.columns.iter().any(|column| column.sql_type.is_vector()) {
        return Ok(());
    }
    let mut columns = Vec::new();
    constant::columns_of_text(text, &mut columns);
    let is_vector = |name: &String| table.column(name).is_some_and(|(_, column)| column.sql_type.is_vector());
    match columns.iter().find(|name| is_vector(name)) {
        Some(name) => Err(SqlError::new(ErrorCode::IncorrectType, &[name, &place])),
        None => Ok(()),
    }
}

/// As MySQL words it for the definition of `whose`: the function as it is written.
fn unknown_function(error: SqlError, text: &str, whose: (ErrorCode, &str), registry: &Registry) -> SqlError {
    let (code, name) = whose;
    let expr = match squall_parser::parse_expr(text, &ParseOptions::default()) {
        Ok(expr) if error.is(ErrorCode::SpDoesNotExist) => expr,
        _ => return error,
    };
    let mut found = None;
    expr.visit(&mut |expr| {
        if let Expr::Function(call) = expr
            && registry.scalar(&call.name).is_none()
        {
            found.get_or_insert_with(|| format!("`{}`", call.name.as_str()));
        }
    });
    match found {
        Some(function) => SqlError::new(code, &[&name, &function]),
        None => error,
    }
}

/// Whether an expression is a condition by itself, as MySQL asks of a check: no number, not even a column of them.
fn is_boolean(expr: &BoundExpr) -> bool {
    let made = matches!(expr, BoundExpr::Call(_) | BoundExpr::Literal(..));
    expr.is_condition() || made && expr.sql_type() == SqlType::BOOL
}
