//! CREATE TABLE: makes a [`TableDef`] of the statement.

use crate::column::resolve_column;
use crate::constraint::{add_check, add_foreign_key};
use crate::context::DdlContext;
use crate::expressions::check_expressions;
use crate::index::{add_index, check_auto_increment, resolve_index_kinds, sort_indexes};
use crate::names::check_table_name;
use crate::partition::{check_partitions, resolve_partitioning};
use crate::table_option::{apply_options, table_collation};
use squall_catalog::{ColumnDef, ColumnId, TableDef};
use squall_parser::ast::{
    self, ColumnDefinition, CreateTable, DataType, IndexDefinition, IndexKind, IndexOptions, KeyPart, KeyPartSource,
    TableConstraint,
};
use squall_row_store::TableFeature;
use squall_types::{ErrorCode, SqlError, SqlResult, SqlType, StringKind};

/// Most columns of a table.
const COLUMNS_MAX: usize = 4096;
/// Most bytes of a row, long values not counted.
const ROW_BYTES_MAX: u64 = 65_535;

/// Makes the table; ids of table and store are the caller's to give. `selected` are the columns of AS SELECT: those
/// that the statement does not define itself come after the ones it does.
pub fn resolve_table(statement: &CreateTable, selected: &[ColumnDef], context: &DdlContext<'_>) -> SqlResult<TableDef> {
    check_table_name(&statement.name.name)?;
    let collation = table_collation(&statement.options, context.database_collation)?;
    let mut table = TableDef::empty(&statement.name.name, collation, statement.temporary, context.statement.now_micros);
    for definition in &statement.columns {
        let column = resolve_column(definition, collation, context)?;
        add_column(&mut table, column)?;
    }
    for column in selected {
        if table.column(&column.name).is_none() {
            add_column(&mut table, column.clone())?;
        }
    }
    if table.columns.is_empty() {
        return Err(SqlError::new(ErrorCode::TableMustHaveColumns, &[]));
    }
    apply_options(&mut table, &statement.options, context)?;
    add_column_keys(&mut table, &statement.columns, context)?;
    add_table_constraints(&mut table, &statement.constraints, context)?;
    for definition in &statement.columns {
        add_column_constraints(&mut table, definition, context)?;
    }
    sort_indexes(&mut table);
    resolve_index_kinds(&mut table, context)?;
    check_table(&table, context)?;
    if let Some(partitioning) = &statement.partitioning {
        resolve_partitioning(&mut table, partitioning, context)?;
    }
    Ok(table)
}

/// The checks of every table.
pub fn check_table(table: &TableDef, context: &DdlContext<'_>) -> SqlResult<()> {
    if table.columns.len() > COLUMNS_MAX {
        return Err(SqlError::new(ErrorCode::TooManyFields, &[]));
    }
    if table.columns.iter().all(|column| column.invisible) {
        return Err(SqlError::new(ErrorCode::InvisibleColumnsOnly, &[]));
    }
    check_auto_increment(table)?;
    if !table.foreign_keys.is_empty() && context.engine_traits(table)?.refuses(TableFeature::ForeignKeys) {
        return Err(SqlError::unsupported(format_args!("FOREIGN KEY of an ENGINE={} table", table.engine.as_str())));
    }
    if table.temporary && !table.foreign_keys.is_empty() {
        return Err(SqlError::new(ErrorCode::CannotAddForeign, &[]));
    }
    if row_bytes(table) > ROW_BYTES_MAX {
        return Err(SqlError::new(ErrorCode::TooBigRowSize, &[&ROW_BYTES_MAX]));
    }
    check_expressions(table, context)?;
    check_partitions(table, context)
}

/// Appends a column with a new id (1060).
pub fn add_column(table: &mut TableDef, mut column: ColumnDef) -> SqlResult<()> {
    if table.column(&column.name).is_some() {
        return Err(SqlError::new(ErrorCode::DuplicateFieldName, &[&column.name]));
    }
    column.id = ColumnId(table.next_column_id);
    table.next_column_id += 1;
    table.columns.push(column);
    Ok(())
}

/// PRIMARY KEY and UNIQUE of columns.
pub fn add_column_keys(table: &mut TableDef, columns: &[ColumnDefinition], context: &DdlContext<'_>) -> SqlResult<()> {
    for column in columns {
        let serial = matches!(column.data_type, DataType::Serial);
        let kinds = [(column.primary_key, IndexKind::Primary), (column.unique || serial, IndexKind::Unique)];
        for (_, kind) in kinds.into_iter().filter(|(wanted, _)| *wanted) {
            add_index(table, &key_of_column(column, kind), context)?;
        }
    }
    Ok(())
}

fn key_of_column(column: &ColumnDefinition, kind: IndexKind) -> IndexDefinition {
    let source = KeyPartSource::Column { name: column.name.clone(), length: None };
    IndexDefinition {
        kind,
        constraint: None,
        name: None,
        if_not_exists: false,
        parts: vec![KeyPart { source, descending: false }],
        options: IndexOptions::default(),
    }
}

fn add_table_constraints(
    table: &mut TableDef,
    constraints: &[TableConstraint],
    context: &DdlContext<'_>,
) -> SqlResult<()> {
    // Named keys first: a name made up for another one must not take theirs.
    let named = |constraint: &TableConstraint| match constraint {
        TableConstraint::Index(index) => {
            index.name.is_some() || index.constraint.is_some() || index.kind == IndexKind::Primary
        }
        _ => false,
    };
    for constraint in constraints.iter().filter(|constraint| named(constraint)) {
        add_constraint(table, constraint, context)?;
    }
    for constraint in constraints.iter().filter(|constraint| !named(constraint)) {
        add_constraint(table, constraint, context)?;
    }
    Ok(())
}

/// Adds a key or constraint.
pub fn add_constraint(table: &mut TableDef, constraint: &TableConstraint, context: &DdlContext<'_>) -> SqlResult<()> {
    match constraint {
        TableConstraint::Index(index) => add_index(table, index, context),
        TableConstraint::Check(check) => add_check(table, check, context.registry),
        TableConstraint::ForeignKey(key) => add_foreign_key(table, key, context),
    }
}

/// CHECK and REFERENCES of a column. MySQL 8.4 parses REFERENCES of a column and forgets it; here, as in MariaDB and
/// MySQL 9, it makes the constraint that was asked for.
pub fn add_column_constraints(
    table: &mut TableDef,
    column: &ColumnDefinition,
    context: &DdlContext<'_>,
) -> SqlResult<()> {
    for check in &column.checks {
        add_check(table, check, context.registry)?;
    }
    if let Some(references) = &column.references {
        let key = ast::ForeignKey {
            constraint: None,
            index_name: None,
            if_not_exists: false,
            columns: vec![column.name.clone()],
            references: references.clone(),
        };
        add_foreign_key(table, &key, context)?;
    }
    Ok(())
}

fn row_bytes(table: &TableDef) -> u64 {
    table
        .columns
        .iter()
        .map(|column| match &column.sql_type {
            SqlType::String { kind: StringKind::Text(_) | StringKind::Geometry(_) | StringKind::Vector, .. }
            | SqlType::Json => 12,
            SqlType::String { length, collation, .. } => {
                let bytes = u64::from(*length) * u64::from(collation.charset().bytes_per_character_max());
                bytes + if bytes > 255 { 2 } else { 1 }
            }
            SqlType::Int { width, .. } => u64::from(width.bits() / 8),
            SqlType::Decimal { precision, .. } => u64::from(*precision).div_ceil(2),
            _ => 8,
        })
        .sum()
}
