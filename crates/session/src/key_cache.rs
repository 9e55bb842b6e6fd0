//! CACHE INDEX and LOAD INDEX. No storage engine has a key cache; what they answer says so for each table.

use crate::result::{Outcome, ResultSet};
use crate::session::Session;
use squall_catalog::{TableDef, TableEntry};
use squall_definitions::execute::no_such_table;
use squall_definitions::partition_change::truncated_storages;
use squall_parser::ast::{CachedTable, Ident};
use squall_types::{ErrorCode, SqlError, SqlResult, Value};
use std::sync::Arc;

/// The key cache that every server has.
const DEFAULT_CACHE: &str = "default";

impl Session {
    /// CACHE INDEX.
    pub(crate) fn cache_index(&self, tables: &[CachedTable], cache: &Ident) -> SqlResult<Outcome> {
        if !cache.is(DEFAULT_CACHE) {
            return Err(SqlError::new(ErrorCode::UnknownKeyCache, &[&cache.as_str()]));
        }
        self.key_cache_answer(tables, "assign_to_keycache")
    }

    /// LOAD INDEX INTO CACHE.
    pub(crate) fn load_index(&self, tables: &[CachedTable]) -> SqlResult<Outcome> {
        self.key_cache_answer(tables, "preload_keys")
    }

    fn key_cache_answer(&self, tables: &[CachedTable], operation: &str) -> SqlResult<Outcome> {
        let mut result = ResultSet::of_texts(&["Table", "Op", "Msg_type", "Msg_text"]);
        for table in tables {
            let (database, name) = self.qualify(&table.name)?;
            let shown = format!("{database}.{name}");
            let mut row = |kind: &str, text: &str| {
                result.rows.push([&shown, operation, kind, text].map(Value::from).into());
            };
            match self.table_with_keys(table) {
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

    fn table_with_keys(&self, table: &CachedTable) -> SqlResult<Arc<TableDef>> {
        if let Some(temporary) = self.temporary_table_named(&table.name) {
            return Ok(temporary);
        }
        let name = self.qualify(&table.name)?;
        match self.shared.catalog.load().entry(&name.0, &name.1) {
            Some(TableEntry::Table(definition)) => Ok(Arc::clone(definition)),
            Some(TableEntry::View(_)) => Err(SqlError::new(ErrorCode::WrongObject, &[&name.0, &name.1, &"BASE TABLE"])),
            None => Err(no_such_table(&name)),
        }
    }
}
