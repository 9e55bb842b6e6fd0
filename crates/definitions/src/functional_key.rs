//! Functional key parts: `KEY ((expr))`. Each is a hidden generated column, made with its key and dropped with it
//! (<https://dev.mysql.com/doc/refman/8.4/en/create-index.html#create-index-functional-key-parts>).

use crate::constant;
use crate::context::DdlContext;
use squall_catalog::name::eq_ignore_case;
use squall_catalog::{ColumnDef, ColumnDefault, ColumnId, FunctionalPart, GeneratedKind, TableDef};
use squall_functions::expr::BoundExpr;
use squall_parser::ast::{Expr, IndexKind};
use squall_planner::bind::{OwnExprs, element_type};
use squall_registry::{Registry, Volatility};
use squall_types::{ErrorCode, SqlError, SqlResult, SqlType, StringKind, Value};
use std::sync::Arc;

/// Longest text that a key part's expression may give, in characters: beyond it MySQL makes it a TEXT.
const TEXT_CHARACTERS_MAX: u32 = 16_383;

/// The hidden column of a functional key part, added behind a table's others.
pub fn add_hidden_column(
    table: &mut TableDef,
    expr: &Expr,
    (index, part): (&str, usize),
    kind: IndexKind,
    context: &DdlContext<'_>,
) -> SqlResult<ColumnId> {
    if kind == IndexKind::Primary {
        return Err(SqlError::new(ErrorCode::FunctionalIndexPrimaryKey, &[]));
    }
    let (expr, key_part) = match expr {
        Expr::Cast(cast) if cast.array => (&cast.operand, FunctionalPart::Elements(element_type(&cast.target)?)),
        expr => (expr, FunctionalPart::Value(context.statement.settings.collation)),
    };
    check_expr(table, expr, &key_part, index, context.registry)?;
    let expression = constant::expression_text(expr)?;
    add_column(table, GeneratedKind { expression, stored: true, key_part: Some(key_part) }, (index, part), context)
}

/// The hidden column of a spatial key: the cells that a geometry lies in.
pub fn add_cells_column(
    table: &mut TableDef,
    geometry: &ColumnDef,
    index: &str,
    context: &DdlContext<'_>,
) -> SqlResult<ColumnId> {
    let expression = format!("SPATIAL_KEY_CELLS(`{}`)", geometry.name.replace('`', "``"));
    let key_part = Some(FunctionalPart::Cells(geometry.id));
    add_column(table, GeneratedKind { expression, stored: true, key_part }, (index, 0), context)
}

fn add_column(
    table: &mut TableDef,
    generated: GeneratedKind,
    (index, part): (&str, usize),
    context: &DdlContext<'_>,
) -> SqlResult<ColumnId> {
    let bound = bind(table, &generated, context).map_err(|error| match error.is(ErrorCode::SpDoesNotExist) {
        // A stored function, or none at all.
        true => SqlError::new(ErrorCode::FunctionalIndexFunctionNotAllowed, &[&index]),
        false => error,
    })?;
    let sql_type = key_type(&bound, &generated)?;
    let id = ColumnId(table.next_column_id);
    table.next_column_id += 1;
    let name = hidden_name(table, index, part);
    table.columns.push(ColumnDef {
        id,
        name,
        sql_type,
        nullable: true,
        default: ColumnDefault::None,
        on_update_now: false,
        auto_increment: false,
        generated: Some(generated),
        invisible: true,
        comment: String::new(),
        value_for_older_rows: Value::Null,
    });
    Ok(id)
}

/// What an expression may not be or hold (3754, 3758, 3762, 3800).
fn check_expr(
    table: &TableDef,
    expr: &Expr,
    key_part: &FunctionalPart,
    index: &str,
    registry: &Registry,
) -> SqlResult<()> {
    match expr {
        Expr::Column(name) if matches!(key_part, FunctionalPart::Value(_)) => {
            return Err(match table.column(&name.column) {
                Some(_) => SqlError::new(ErrorCode::FunctionalIndexOnField, &[]),
                None => unknown_column(&name.column),
            });
        }
        Expr::Row(values) if values.len() > 1 => {
            return Err(SqlError::new(ErrorCode::FunctionalIndexRowValue, &[&index]));
        }
        _ => {}
    }
    if constant::disallowed(expr, registry).is_some() {
        return Err(SqlError::new(ErrorCode::FunctionalIndexFunctionNotAllowed, &[&index]));
    }
    let mut names = Vec::new();
    constant::columns_of(expr, &mut names);
    for name in names {
        let Some((_, column)) = table.column(&name) else { return Err(unknown_column(&name)) };
        if column.auto_increment {
            return Err(SqlError::new(ErrorCode::FunctionalIndexRefAutoIncrement, &[&index]));
        }
    }
    Ok(())
}

fn unknown_column(name: &str) -> SqlError {
    SqlError::new(ErrorCode::BadField, &[&name, &"functional index"])
}

fn bind(table: &TableDef, generated: &GeneratedKind, context: &DdlContext<'_>) -> SqlResult<BoundExpr> {
    let def = Arc::new(table.clone());
    OwnExprs::new(context.registry, context.database, &def).bind_generated(generated)
}

/// The type of a hidden column: that of its expression, if a key can have it (3753, 3757), or JSON for an array (3146).
fn key_type(bound: &BoundExpr, generated: &GeneratedKind) -> SqlResult<SqlType> {
    let is_array = matches!(generated.key_part, Some(FunctionalPart::Elements(_) | FunctionalPart::Cells(_)));
    match bound.sql_type() {
        SqlType::Json if is_array => Ok(SqlType::Json),
        _ if is_array => Err(SqlError::new(ErrorCode::InvalidTypeForJson, &[&1, &"cast_as_array"])),
        SqlType::Json | SqlType::String { kind: StringKind::Geometry(_), .. } => {
            Err(SqlError::new(ErrorCode::FunctionalIndexOnJsonOrGeometry, &[]))
        }
        SqlType::String { kind: StringKind::Text(_) | StringKind::Vector, .. } => {
            Err(SqlError::new(ErrorCode::FunctionalIndexOnLob, &[]))
        }
        SqlType::String { length, .. } if length > TEXT_CHARACTERS_MAX => {
            Err(SqlError::new(ErrorCode::FunctionalIndexOnLob, &[]))
        }
        SqlType::Null => Err(SqlError::unsupported("functional key parts that are always NULL")),
        _ if bound.volatility() == Volatility::Volatile => {
            Err(SqlError::unsupported("functional key parts whose value changes from call to call"))
        }
        sql_type => Ok(sql_type),
    }
}

/// A name that no other column has: that of the key, the part's place in it, and a number.
fn hidden_name(table: &TableDef, index: &str, part: usize) -> String {
    let mut number = 0u64;
    loop {
        let name = format!("!hidden!{index}!{part}!{number}");
        if table.columns.iter().all(|column| !eq_ignore_case(&column.name, &name)) {
            return name;
        }
        number += 1;
    }
}

/// Takes the hidden columns away that no key needs any more, puts the others behind the columns that have names, and gives
/// them the types that their expressions have now. Tells which have got another type, with the one before.
pub fn resolve_hidden_columns(table: &mut TableDef, context: &DdlContext<'_>) -> SqlResult<Vec<(ColumnId, SqlType)>> {
    if !table.columns.iter().any(ColumnDef::is_hidden) {
        return Ok(Vec::new());
    }
    let used: Vec<ColumnId> = table.indexes.iter().flat_map(|index| &index.parts).map(|part| part.column).collect();
    table.columns.retain(|column| !column.is_hidden() || used.contains(&column.id));
    table.columns.sort_by_key(ColumnDef::is_hidden);
    let mut changed = Vec::new();
    for at in table.named_columns().len()..table.columns.len() {
        let column = &table.columns[at];
        let Some(generated) = &column.generated else { continue };
        let sql_type = key_type(&bind(table, generated, context)?, generated)?;
        if sql_type != column.sql_type {
            let column = &mut table.columns[at];
            changed.push((column.id, std::mem::replace(&mut column.sql_type, sql_type)));
        }
    }
    Ok(changed)
}
