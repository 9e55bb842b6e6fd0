//! The table of the messages that the session's scripts have written.

use super::DATABASE;
use squall_javascript::functions::Shared;
use squall_registry::{VirtualColumn, VirtualScan, VirtualTable};
use squall_types::{CollationId, SqlResult, SqlType, Value};
use std::sync::Arc;

/// Lines of `console.log`, those of the session that reads the table.
#[derive(Debug)]
pub(super) struct OutputTable {
    columns: [VirtualColumn; 2],
    shared: Arc<Shared>,
}

impl OutputTable {
    pub fn new(shared: &Arc<Shared>) -> OutputTable {
        let column = |name: &'static str, sql_type| VirtualColumn {
            name: name.into(),
            sql_type,
            nullable: false,
            invisible: false,
        };
        let text = SqlType::longtext(CollationId::UTF8MB4_0900_AI_CI);
        OutputTable {
            columns: [column("LINE", SqlType::BIGINT_UNSIGNED), column("MESSAGE", text)],
            shared: shared.clone(),
        }
    }
}

impl VirtualTable for OutputTable {
    fn database(&self) -> &str {
        DATABASE
    }

    fn name(&self) -> &str {
        "javascript_output"
    }

    fn columns(&self) -> &[VirtualColumn] {
        &self.columns
    }

    fn rows(&self, scan: &VirtualScan<'_>) -> SqlResult<Vec<Vec<Value>>> {
        let lines = self.shared.logs.lines(scan.context);
        Ok(lines.into_iter().map(|(number, line)| vec![Value::UInt(number), Value::String(line)]).collect())
    }
}
