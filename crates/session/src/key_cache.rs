//! CACHE INDEX and LOAD INDEX. No storage engine has a key cache, and the answers say so for each table.

use crate::authorization::SecurityContext;
use crate::result::{Outcome, ResultSet};
use squall_catalog::{TableDef, TableEntry};
use squall_definitions::execute::no_such_table;
use squall_definitions::partition_change::truncated_storages;
use squall_parser::ast::{CachedTable, Ident};
use squall_types::{ErrorCode, SqlError, SqlResult, Value};
use std::sync::Arc;

/// CACHE INDEX.
pub(crate) fn cache_index(security: &SecurityContext<'_>, tables: &[CachedTable], cache: &Ident) -> SqlResult<Outcome> {
    if !security.shared.globals.key_caches.has(cache) {
        return Err(SqlError::new(ErrorCode::UnknownKeyCache, &[&cache.as_str()]));
    }
    key_cache_answer(security, tables, "assign_to_keycache")
}

/// LOAD INDEX INTO CACHE.
pub(crate) fn load_index(security: &SecurityContext<'_>, tables: &[CachedTable]) -> SqlResult<Outcome> {
    key_cache_answer(security, tables, "preload_keys")
}

fn key_cache_answer(security: &SecurityContext<'_>, tables: &[CachedTable], operation: &str) -> SqlResult<Outcome> {
    let mut result = ResultSet::of_texts(&["Table", "Op", "Msg_type", "Msg_text"]);
    for table in tables {
        let (database, name) = security.qualify(&table.name)?;
        let shown = format!("{database}.{name}");
        let mut row = |kind: &str, text: &str| {
            result.rows.push([&shown, operation, kind, text].map(Value::from).into());
        };
        match table_with_keys(security, table) {
            Ok(definition) => {
                if let Some(partitions) = &table.partitions {
                    truncated_storages(&definition, partitions)?;
                }
                row("note", &format!("The storage engine for the table doesn't support {operation}"));
            }
            Err(error) => {
                row("Error", &error.message);
                row("status", "Operation failed");
            }
        }
    }
    Ok(Outcome::Rows(result))
}

fn table_with_keys(security: &SecurityContext<'_>, table: &CachedTable) -> SqlResult<Arc<TableDef>> {
    if let Some(temporary) = security.temporary_table_named(&table.name) {
        return Ok(temporary);
    }
    let name = security.qualify(&table.name)?;
    match security.shared.catalog.load().entry(&name.0, &name.1) {
        Some(TableEntry::Table(definition)) => Ok(Arc::clone(definition)),
        Some(TableEntry::View(_)) => Err(SqlError::new(ErrorCode::WrongObject, &[&name.0, &name.1, &"BASE TABLE"])),
        None => Err(no_such_table(&name)),
    }
}
