//! Makes the catalog's constraints of CHECK and FOREIGN KEY of the syntax tree.

use crate::constant;
use crate::context::DdlContext;
use crate::execute::QualifiedName;
use crate::index::add_generated_index;
use crate::names::check_identifier;
use squall_catalog::name::eq_ignore_case;
use squall_catalog::{ColumnId, ConstraintCheck, ForeignKey, IndexDef, ReferencedColumns, ReferentialAction, TableDef};
use squall_parser::ast::{
    self, CheckConstraint, Ident, IndexDefinition, IndexKind, IndexOptions, KeyPart, KeyPartSource, ReferenceAction,
};
use squall_registry::Registry;
use squall_types::{ErrorCode, SqlError, SqlResult, SqlType};

/// Adds a CHECK constraint; without a name it becomes `table_chk_1` and so on.
pub fn add_check(table: &mut TableDef, check: &CheckConstraint, registry: &Registry) -> SqlResult<()> {
    let name = match &check.name {
        Some(name) => {
            check_identifier(name)?;
            name.to_string()
        }
        None => generated_name(&table.name, "chk", table.checks.iter().map(|check| check.name.as_str())),
    };
    if table.checks.iter().any(|other| eq_ignore_case(&other.name, &name)) {
        return Err(SqlError::new(ErrorCode::CheckConstraintDuplicateName, &[&name]));
    }
    constant::check_condition(&check.expr, &name, registry)?;
    let mut columns = Vec::new();
    constant::columns_of(&check.expr, &mut columns);
    for column in &columns {
        if table.column(column).is_none() {
            return Err(SqlError::new(ErrorCode::CheckConstraintRefersUnknownColumn, &[&name, &column]));
        }
    }
    table.checks.push(ConstraintCheck {
        name,
        expression: constant::expression_text(&check.expr)?,
        enforced: check.enforced.unwrap_or(true),
    });
    Ok(())
}

/// `table_kind_n` with the n after the greatest in use.
fn generated_name<'a>(table: &str, kind: &str, names: impl Iterator<Item = &'a str>) -> String {
    let start = format!("{table}_{kind}_");
    let greatest = names.filter_map(|name| name.strip_prefix(&start)?.parse::<u64>().ok()).max();
    format!("{start}{}", greatest.unwrap_or(0) + 1)
}

/// Adds a FOREIGN KEY and, unless one exists, the key on its columns that MySQL makes with it.
pub fn add_foreign_key(table: &mut TableDef, key: &ast::ForeignKey, context: &DdlContext<'_>) -> SqlResult<()> {
    let name = match &key.constraint {
        Some(name) => {
            check_identifier(name)?;
            name.to_string()
        }
        None => generated_name(&table.name, "ibfk", table.foreign_keys.iter().map(|key| key.name.as_str())),
    };
    if table.foreign_keys.iter().any(|other| eq_ignore_case(&other.name, &name)) {
        return Err(SqlError::new(ErrorCode::DuplicateForeignKeyName, &[&name]));
    }
    let references = &key.references;
    if references.columns.len() != key.columns.len() {
        let what = "Key reference and table reference don't match";
        return Err(SqlError::new(ErrorCode::WrongForeignKeyDef, &[&name, &what]));
    }
    let mut columns = Vec::with_capacity(key.columns.len());
    for column in &key.columns {
        let (_, column) =
            table.column(column).ok_or_else(|| SqlError::new(ErrorCode::KeyColumnDoesNotExist, &[&column.as_str()]))?;
        columns.push(column.id);
    }
    let (parent_database, parent_table_name) = parent_name(references, context.database);
    let mut foreign_key = ForeignKey {
        name,
        columns,
        parent_database,
        parent_table: parent_table_name,
        parent_columns: ReferencedColumns::Names(references.columns.iter().map(|column| column.to_string()).collect()),
        on_delete: action(references.on_delete)?,
        on_update: action(references.on_update)?,
    };
    check_nullable(table, &foreign_key)?;
    if let Some(parent) = parent_table(table, &foreign_key, context)? {
        let ids = check_parent(table, &foreign_key, parent, context.foreign_key_checks)?;
        foreign_key.parent_columns = ReferencedColumns::Ids(ids);
    }
    add_supporting_index(table, key, &foreign_key, context)?;
    table.foreign_keys.push(foreign_key);
    Ok(())
}

/// What is set to NULL can be NULL (1830).
pub fn check_nullable(table: &TableDef, key: &ForeignKey) -> SqlResult<()> {
    if ![key.on_delete, key.on_update].contains(&ReferentialAction::SetNull) {
        return Ok(());
    }
    let not_null = table.columns.iter().find(|column| key.columns.contains(&column.id) && !column.nullable);
    let Some(column) = not_null else { return Ok(()) };
    Err(SqlError::new(ErrorCode::ForeignKeyColumnNotNull, &[&column.name, &key.name]))
}

/// Database and name of the table that a foreign key of a table in a database refers to.
pub fn parent_name(references: &ast::References, database: &str) -> QualifiedName {
    let schema = references.table.schema.as_ref().map_or(database, |schema| schema.as_str());
    (schema.to_string(), references.table.name.to_string())
}

fn action(action: Option<ReferenceAction>) -> SqlResult<ReferentialAction> {
    Ok(match action {
        None | Some(ReferenceAction::NoAction) => ReferentialAction::NoAction,
        Some(ReferenceAction::Restrict) => ReferentialAction::Restrict,
        Some(ReferenceAction::Cascade) => ReferentialAction::Cascade,
        Some(ReferenceAction::SetNull) => ReferentialAction::SetNull,
        Some(ReferenceAction::SetDefault) => return Err(SqlError::new(ErrorCode::CannotAddForeign, &[])),
    })
}

/// The table that a key refers to. It has to be there (1824) unless `foreign_key_checks` is off.
fn parent_table<'a>(
    table: &'a TableDef,
    key: &ForeignKey,
    context: &DdlContext<'a>,
) -> SqlResult<Option<&'a TableDef>> {
    if key.refers_to(context.database, &table.name) {
        return Ok(Some(table));
    }
    match context.catalog.parent_of(key) {
        Some(parent) => Ok(Some(parent)),
        None if !context.foreign_key_checks => Ok(None),
        None => Err(SqlError::new(ErrorCode::CannotOpenParent, &[&key.parent_table])),
    }
}

/// Checks that a table has the referenced columns (3734) of a foreign key, with the same types (3780), as all columns of a unique
/// key (6125). Gives the ids of the columns.
pub fn check_parent(
    table: &TableDef,
    key: &ForeignKey,
    parent: &TableDef,
    same_charsets: bool,
) -> SqlResult<Vec<ColumnId>> {
    if parent.partitioning.is_some() {
        return Err(SqlError::new(ErrorCode::ForeignKeyOnPartitioned, &[]));
    }
    let Some(ordinals) = key.parent_columns.ordinals(parent) else {
        let names = key.parent_columns.names(None);
        let missing = names.into_iter().find(|name| parent.column(name).is_none()).unwrap_or_default();
        return Err(SqlError::new(ErrorCode::ForeignKeyMissingColumn, &[&missing, &key.name, &key.parent_table]));
    };
    check_types(table, key, parent, same_charsets)?;
    let ids: Vec<ColumnId> = ordinals.into_iter().map(|ordinal| parent.columns[ordinal].id).collect();
    if !has_unique_key_of(parent, &ids) {
        return Err(SqlError::new(ErrorCode::ForeignKeyMissingUniqueKey, &[&key.name, &key.parent_table]));
    }
    Ok(ids)
}

/// Checks that the columns at both ends of a foreign key have the same types (3780).
pub fn check_types(table: &TableDef, key: &ForeignKey, parent: &TableDef, same_charsets: bool) -> SqlResult<()> {
    let (Some(columns), Some(referenced)) = (key.ordinals(table), key.parent_columns.ordinals(parent)) else {
        return Ok(());
    };
    for (at, referenced) in columns.into_iter().zip(referenced) {
        let (child, parent) = (&table.columns[at], &parent.columns[referenced]);
        if !comparable(&child.sql_type, &parent.sql_type, same_charsets) {
            return Err(SqlError::new(
                ErrorCode::ForeignKeyIncompatibleColumns,
                &[&child.name, &parent.name, &key.name],
            ));
        }
    }
    Ok(())
}

/// Whether a unique key has exactly these columns, whole and in this order.
pub fn has_unique_key_of(table: &TableDef, columns: &[ColumnId]) -> bool {
    table.indexes.iter().any(|index| {
        index.unique
            && !index.is_hashed()
            && index.parts.len() == columns.len()
            && index.parts.iter().zip(columns).all(|(part, id)| part.column == *id && part.prefix.is_none())
    })
}

fn comparable(left: &SqlType, right: &SqlType, same_charsets: bool) -> bool {
    match (left, right) {
        (SqlType::Int { width, unsigned, .. }, SqlType::Int { width: other, unsigned: other_unsigned, .. }) => {
            width == other && unsigned == other_unsigned
        }
        (SqlType::String { collation, .. }, SqlType::String { collation: other, .. }) => {
            !same_charsets || collation == other
        }
        _ => std::mem::discriminant(left) == std::mem::discriminant(right),
    }
}

fn add_supporting_index(
    table: &mut TableDef,
    written: &ast::ForeignKey,
    key: &ForeignKey,
    context: &DdlContext<'_>,
) -> SqlResult<()> {
    // One that has just these columns and was generated itself is replaced, so that the newest foreign key names it.
    let stays = |index: &&IndexDef| !index.generated || index.parts.len() > key.columns.len();
    if table.indexes.iter().filter(stays).any(|index| index.begins_with(&key.columns)) {
        return Ok(());
    }
    let part = |name: &Ident| KeyPart {
        source: KeyPartSource::Column { name: name.clone(), length: None },
        descending: false,
    };
    let definition = IndexDefinition {
        kind: IndexKind::Plain,
        constraint: None,
        name: written.index_name.clone().or_else(|| written.constraint.clone()),
        if_not_exists: false,
        parts: written.columns.iter().map(part).collect(),
        options: IndexOptions::default(),
    };
    add_generated_index(table, &definition, context)
}

/// Whether some key begins with these columns, whole.
pub fn has_index_on(table: &TableDef, columns: &[ColumnId]) -> bool {
    table.indexes.iter().any(|index| index.begins_with(columns))
}
