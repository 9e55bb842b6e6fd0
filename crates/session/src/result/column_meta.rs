//! Descriptions of a result's columns for clients.

use crate::result::writer::{ColumnFlags, ColumnMeta};
use squall_catalog::{ColumnDefault, TableDef};
use squall_planner::OutputColumn;
use std::sync::Arc;

/// The column definitions of a bound result.
pub(crate) fn columns(outputs: &[OutputColumn]) -> Vec<ColumnMeta> {
    outputs.iter().map(column).collect()
}

fn column(output: &OutputColumn) -> ColumnMeta {
    let empty: Arc<str> = Arc::from("");
    let sql_type = output.announced.as_ref().unwrap_or(&output.expr_type.sql_type).clone();
    let mut flags = ColumnFlags { not_null: !output.expr_type.nullable, ..Default::default() };
    let Some(origin) = &output.origin else {
        return ColumnMeta {
            database: empty.clone(),
            table: empty.clone(),
            org_table: empty.clone(),
            name: output.name.clone(),
            org_name: empty,
            sql_type,
            flags,
        };
    };
    if let Some((table, ordinal)) = &origin.base {
        flags = table_flags(table, *ordinal);
        flags.not_null = !output.expr_type.nullable;
    }
    ColumnMeta {
        database: origin.database.clone(),
        table: origin.table.clone(),
        org_table: origin.org_table.clone(),
        name: output.name.clone(),
        org_name: origin.org_name.clone(),
        sql_type,
        flags,
    }
}

fn table_flags(table: &TableDef, ordinal: usize) -> ColumnFlags {
    let Some(column) = table.columns.get(ordinal) else { return ColumnFlags::default() };
    let mut flags = ColumnFlags {
        not_null: !column.nullable,
        auto_increment: column.auto_increment,
        no_default_value: !column.nullable && column.default == ColumnDefault::None && !column.auto_increment,
        on_update_now: column.on_update_now,
        ..Default::default()
    };
    for index in &table.indexes {
        flags.part_key |= index.parts.iter().any(|part| part.column == column.id);
        if index.primary {
            flags.primary_key |= index.parts.iter().any(|part| part.column == column.id);
        } else if index.parts.first().is_some_and(|part| part.column == column.id) {
            let alone = index.unique && index.parts.len() == 1;
            flags.unique_key |= alone;
            flags.multiple_key |= !alone;
        }
    }
    flags
}
