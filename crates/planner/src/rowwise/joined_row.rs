//! The rows that the loops are at.

use super::covering::EntryRow;
use super::from::PlanTable;
use squall_column_tables::from_utc;
use squall_functions::expr::RowSource;
use squall_row_store::Row;
use squall_statement_context::StatementContext;
use squall_types::{SqlError, SqlResult, SqlType, Value};
use std::sync::Arc;

/// NULL, for what no row has.
pub(super) const MISSING: Value = Value::Null;

/// A row of a table.
#[derive(Clone, Debug)]
pub(super) enum FoundRow {
    /// As it is stored.
    Stored(Row),
    /// Those of its columns that are read, from an index.
    Entry(Arc<EntryRow>),
}

/// The rows that the loops are at, one of each table; a missing one is all NULL.
pub(super) struct JoinedRow<'a> {
    pub(super) tables: &'a [PlanTable],
    pub(super) rows: &'a [Option<FoundRow>],
    /// Of the group that the rows stand for; their columns are behind those of the tables.
    pub(super) aggregates: &'a [Value],
    pub(super) parameters: &'a [Value],
    pub(super) context: &'a StatementContext,
}

impl RowSource for JoinedRow<'_> {
    fn column(&self, ordinal: usize) -> SqlResult<Value> {
        let found = self.tables.iter().zip(self.rows).rev().find(|(table, _)| table.first <= ordinal);
        let Some((table, row)) = found else {
            return Err(SqlError::internal(format_args!("no table has column {ordinal}")));
        };
        let ordinal = ordinal - table.first;
        if ordinal >= table.width() {
            return Ok(self.aggregates.get(ordinal - table.width()).cloned().unwrap_or_default());
        }
        let Some(row) = row else { return Ok(Value::Null) };
        let value = match row {
            FoundRow::Stored(row) => row.view(&table.table).get_value(ordinal)?,
            FoundRow::Entry(entry) => return entry.column(ordinal).cloned(),
        };
        let is_timestamp = matches!(table.table.def().columns[ordinal].sql_type, SqlType::Timestamp { .. });
        Ok(match value {
            Value::DateTime(moment) if is_timestamp => {
                Value::DateTime(from_utc(&self.context.settings.time_zone, moment))
            }
            value => value,
        })
    }

    fn parameter(&self, index: u32) -> SqlResult<Value> {
        let value = self.parameters.get(index as usize).cloned();
        value.ok_or_else(|| SqlError::internal(format_args!("parameter {index} was not given")))
    }
}
