//! Rows of a SHOW statement as a table.

use super::select_all::select_all_where;
use crate::result::ResultSet;
use datafusion::catalog::TableProvider;
use squall_executor::access::VirtualTableProvider;
use squall_parser::ast::{Expr, Ident, ObjectName, Query};
use squall_registry::{VirtualColumn, VirtualScan, VirtualTable};
use squall_types::{SqlResult, Value};
use std::sync::Arc;

/// Rows of a SHOW statement as a table, for its WHERE.
#[derive(Debug)]
pub(crate) struct RowsTable {
    columns: Vec<VirtualColumn>,
    rows: Vec<Vec<Value>>,
}

impl RowsTable {
    /// A database that no identifier can name.
    pub const DATABASE: &'static str = squall_system_tables::ROWS_OF_STATEMENT;
    /// The table in it.
    pub const NAME: &'static str = "rows";

    /// `SELECT *` of the table in [`RowsTable::DATABASE`], whatever it is.
    pub fn select_all(condition: Option<Expr>) -> Query {
        let name = ObjectName { schema: Some(Ident::new(Self::DATABASE)), name: Ident::new(Self::NAME) };
        select_all_where(name, condition)
    }

    /// A result as a table.
    pub fn provider(result: ResultSet) -> Arc<dyn TableProvider> {
        let columns = result
            .columns
            .iter()
            .map(|column| VirtualColumn {
                name: column.name.to_string().into(),
                sql_type: column.sql_type.clone(),
                nullable: true,
                invisible: false,
            })
            .collect();
        Arc::new(VirtualTableProvider::new(Arc::new(RowsTable { columns, rows: result.rows })))
    }
}

impl VirtualTable for RowsTable {
    fn database(&self) -> &str {
        Self::DATABASE
    }

    fn name(&self) -> &str {
        Self::NAME
    }

    fn columns(&self) -> &[VirtualColumn] {
        &self.columns
    }

    fn rows(&self, _scan: &VirtualScan<'_>) -> SqlResult<Vec<Vec<Value>>> {
        Ok(self.rows.clone())
    }
}
