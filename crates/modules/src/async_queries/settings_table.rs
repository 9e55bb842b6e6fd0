//! `async.settings`: the variable `async_thread_count` as the row of a table.

use super::{NAME, Shared, THREAD_COUNT, set_thread_count};
use squall_registry::{VirtualChange, VirtualColumn, VirtualScan, VirtualTable};
use squall_statement_context::StatementContext;
use squall_types::{CollationId, SqlError, SqlResult, SqlType, Value};
use std::sync::Arc;

/// The one setting.
const VARIABLE: &str = "thread_count";

/// The table.
#[derive(Debug)]
pub(super) struct SettingsTable {
    shared: Arc<Shared>,
    columns: [VirtualColumn; 2],
}

impl SettingsTable {
    pub fn new(shared: Arc<Shared>) -> Self {
        let sql_type = SqlType::varchar(64, CollationId::UTF8MB4_0900_AI_CI);
        let columns = [("variable", false), ("value", true)];
        let columns = columns.map(|(name, nullable)| VirtualColumn {
            name: name.into(),
            sql_type: sql_type.clone(),
            nullable,
            invisible: false,
        });
        Self { shared, columns }
    }
}

impl VirtualTable for SettingsTable {
    fn database(&self) -> &str {
        NAME
    }

    fn name(&self) -> &str {
        "settings"
    }

    fn columns(&self) -> &[VirtualColumn] {
        &self.columns
    }

    fn rows(&self, _scan: &VirtualScan<'_>) -> SqlResult<Vec<Vec<Value>>> {
        let count = self.shared.number(&self.shared.database()?, THREAD_COUNT);
        Ok(vec![vec![Value::from(VARIABLE), Value::String(count.to_string())]])
    }

    fn change(&self, change: VirtualChange<'_>, context: &StatementContext) -> SqlResult<()> {
        let refused = |message: &str| Err(SqlError::signal(*b"99999", message));
        match change {
            VirtualChange::Insert => refused("You may not insert rows in this table"),
            VirtualChange::Delete { .. } => refused("You may not delete rows in this table"),
            VirtualChange::Update { old, new } => {
                if old.first() != new.first() {
                    return refused("Only the thread_count variable is supported at this time");
                }
                let count = match new.get(1) {
                    Some(Value::String(text)) => text.trim().parse().ok(),
                    _ => None,
                };
                set_thread_count(&self.shared, count, context)
            }
        }
    }

    fn takes_changes(&self) -> bool {
        true
    }
}
