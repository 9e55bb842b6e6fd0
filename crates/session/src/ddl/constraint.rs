//! CHECK and FOREIGN KEY constraints as written, made into the catalog's.

use super::DdlContext;
use super::index::add_index;
use super::names::check_identifier;
use crate::constant;
use squall_catalog::name::eq_ignore_case;
use squall_catalog::{ColumnId, ConstraintCheck, ForeignKey, ReferentialAction, TableDef, TableEntry};
use squall_parser::ast::{
    self, CheckConstraint, Ident, IndexDefinition, IndexKind, IndexOptions, KeyPart, KeyPartSource, ReferenceAction,
};
use squall_types::{ErrorCode, SqlError, SqlResult, SqlType};

/// Adds a CHECK constraint; without a name it becomes `table_chk_1` and so on.
pub fn add_check(table: &mut TableDef, check: &CheckConstraint) -> SqlResult<()> {
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
    constant::check_condition(&check.expr, &name)?;
    let mut columns = Vec::new();
    constant::columns_of(&check.expr, &mut columns);
    for column in &columns {
        if table.column(column).is_none() {
            let message = format!("Check constraint '{name}' refers to non-existing column '{column}'.");
            return Err(SqlError { code: 3820, sqlstate: *b"HY000", message });
        }
    }
    table.checks.push(ConstraintCheck {
        name,
        expression: constant::expression_text(&check.expr),
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
        let message = format!("Duplicate foreign key constraint name '{name}'");
        return Err(SqlError { code: 1826, sqlstate: *b"HY000", message });
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
    let on_delete = action(references.on_delete)?;
    let on_update = action(references.on_update)?;
    if on_delete == ReferentialAction::SetNull || on_update == ReferentialAction::SetNull {
        let not_null = table.columns.iter().find(|column| columns.contains(&column.id) && !column.nullable);
        if let Some(column) = not_null {
            let message = format!(
                "Column '{}' cannot be NOT NULL: needed in a foreign key constraint '{name}' SET NULL",
                column.name
            );
            return Err(SqlError { code: 1830, sqlstate: *b"HY000", message });
        }
    }
    let parent_database = references.table.schema.as_ref().map_or(context.database, |schema| schema.as_str());
    let foreign_key = ForeignKey {
        name,
        columns,
        parent_database: parent_database.to_string(),
        parent_table: references.table.name.to_string(),
        parent_columns: references.columns.iter().map(|column| column.to_string()).collect(),
        on_delete,
        on_update,
    };
    check_parent(table, &foreign_key, context)?;
    add_supporting_index(table, key, &foreign_key, context)?;
    table.foreign_keys.push(foreign_key);
    Ok(())
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

/// The parent has to exist, with columns of the same types that some unique key begins with.
fn check_parent(table: &TableDef, key: &ForeignKey, context: &DdlContext<'_>) -> SqlResult<()> {
    let itself = key.parent_database == context.database && key.parent_table == table.name;
    let entry = context.catalog.entry(&key.parent_database, &key.parent_table);
    let parent = match entry {
        _ if itself => table,
        Some(TableEntry::Table(parent)) => parent,
        _ if !context.foreign_key_checks => return Ok(()),
        _ => {
            let message = format!("Failed to open the referenced table '{}'", key.parent_table);
            return Err(SqlError { code: 1824, sqlstate: *b"HY000", message });
        }
    };
    let mut parent_ids = Vec::with_capacity(key.parent_columns.len());
    for (name, child) in key.parent_columns.iter().zip(&key.columns) {
        let Some((_, column)) = parent.column(name) else {
            let message = format!(
                "Failed to add the foreign key constraint. Missing column '{name}' for constraint '{}' in the \
                 referenced table '{}'",
                key.name, key.parent_table
            );
            return Err(SqlError { code: 3734, sqlstate: *b"HY000", message });
        };
        parent_ids.push(column.id);
        let Some(at) = table.ordinal(*child) else { continue };
        if !comparable(&table.columns[at].sql_type, &column.sql_type) {
            let message = format!(
                "Referencing column '{}' and referenced column '{name}' in foreign key constraint '{}' are incompatible.",
                table.columns[at].name, key.name
            );
            return Err(SqlError { code: 3780, sqlstate: *b"HY000", message });
        }
    }
    let unique = parent.indexes.iter().any(|index| {
        index.unique
            && index.parts.len() == parent_ids.len()
            && index.parts.iter().zip(&parent_ids).all(|(part, id)| part.column == *id && part.prefix.is_none())
    });
    if !unique {
        let message = format!(
            "Failed to add the foreign key constraint. Missing unique key for constraint '{}' in the referenced table '{}'",
            key.name, key.parent_table
        );
        return Err(SqlError { code: 6125, sqlstate: *b"HY000", message });
    }
    Ok(())
}

fn comparable(left: &SqlType, right: &SqlType) -> bool {
    match (left, right) {
        (SqlType::Int { width, unsigned, .. }, SqlType::Int { width: other, unsigned: other_unsigned, .. }) => {
            width == other && unsigned == other_unsigned
        }
        (SqlType::String { collation, .. }, SqlType::String { collation: other, .. }) => collation == other,
        _ => std::mem::discriminant(left) == std::mem::discriminant(right),
    }
}

fn add_supporting_index(
    table: &mut TableDef,
    written: &ast::ForeignKey,
    key: &ForeignKey,
    context: &DdlContext<'_>,
) -> SqlResult<()> {
    if has_index_on(table, &key.columns) {
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
    add_index(table, &definition, context)
}

/// Whether some key begins with these columns.
pub fn has_index_on(table: &TableDef, columns: &[ColumnId]) -> bool {
    table.indexes.iter().filter(|index| !index.is_columnar()).any(|index| {
        index.parts.len() >= columns.len() && columns.iter().zip(&index.parts).all(|(id, part)| part.column == *id)
    })
}
