//! Rows that functions of a statement add to tables. They wait until the statement has succeeded.

use arrow::array::ArrayRef;
use arrow::datatypes::Schema;
use arrow::record_batch::RecordBatch;
use datafusion::catalog::TableProvider;
use datafusion::datasource::MemTable;
use datafusion::execution::memory_pool::MemoryReservation;
use parking_lot::Mutex;
use squall_catalog::TableDef;
use squall_functions::arrow_map::{ValueArrayBuilder, field_for};
use squall_registry::{Coercibility, ExprType};
use squall_statement_context::AppendColumn;
use squall_types::{SqlError, SqlResult, Value};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Rows of a batch.
const BATCH_ROWS: usize = 8192;

/// The rows that wait.
#[derive(Debug, Default)]
pub(crate) struct Appends {
    /// The tables that were asked for; few, as a statement names each of them.
    tables: Mutex<Vec<AppendedRows>>,
    /// Whether there are any, so that other statements need not look.
    any: AtomicBool,
}

/// The rows of one table.
#[derive(Debug)]
pub(crate) struct AppendedRows {
    pub database: String,
    pub table: String,
    pub columns: Arc<[AppendColumn]>,
    schema: Arc<Schema>,
    builders: Vec<ValueArrayBuilder>,
    /// Rows in the builders.
    rows: usize,
    batches: Vec<RecordBatch>,
    /// The rows' reservation in the pool of query memory.
    memory: MemoryReservation,
}

impl Appends {
    /// The columns of a table; `find` gives its definition, and what holds the memory of its rows.
    pub fn columns(
        &self,
        database: &str,
        table: &str,
        find: impl FnOnce() -> SqlResult<Option<(Arc<TableDef>, MemoryReservation)>>,
    ) -> SqlResult<Option<Arc<[AppendColumn]>>> {
        let mut tables = self.tables.lock();
        if let Some(known) = tables.iter().find(|known| known.is(database, table)) {
            return Ok(Some(known.columns.clone()));
        }
        let Some((definition, memory)) = find()? else { return Ok(None) };
        let rows = AppendedRows::new(database, table, &definition, memory);
        let columns = rows.columns.clone();
        tables.push(rows);
        self.any.store(true, Ordering::Release);
        Ok(Some(columns))
    }

    /// Adds a row to a table whose columns are known.
    pub fn push(&self, database: &str, table: &str, row: &[Value]) -> SqlResult<()> {
        let mut tables = self.tables.lock();
        match tables.iter_mut().find(|known| known.is(database, table)) {
            Some(rows) => rows.push(row),
            None => Err(SqlError::internal("a row for a table whose columns were not asked for")),
        }
    }

    /// Takes everything out.
    pub fn take(&self) -> Vec<AppendedRows> {
        if !self.any.swap(false, Ordering::AcqRel) {
            return Vec::new();
        }
        let mut tables = std::mem::take(&mut *self.tables.lock());
        tables.retain(|table| table.rows > 0 || !table.batches.is_empty());
        tables
    }
}

impl AppendedRows {
    fn new(database: &str, table: &str, definition: &TableDef, memory: MemoryReservation) -> AppendedRows {
        let taken = definition.columns.iter().filter(|column| column.generated.is_none() && !column.invisible);
        let columns: Vec<AppendColumn> = taken
            .map(|column| AppendColumn {
                name: column.name.to_string(),
                sql_type: column.sql_type.clone(),
                nullable: column.nullable,
            })
            .collect();
        let fields: Vec<_> = columns
            .iter()
            .map(|column| {
                let sql_type = column.sql_type.clone();
                field_for(&column.name, &ExprType { sql_type, nullable: true, coercibility: Coercibility::Implicit })
            })
            .collect();
        AppendedRows {
            database: database.to_string(),
            table: table.to_string(),
            schema: Arc::new(Schema::new(fields)),
            builders: columns.iter().map(|column| ValueArrayBuilder::new(&column.sql_type, 0)).collect(),
            columns: columns.into(),
            rows: 0,
            batches: Vec::new(),
            memory,
        }
    }

    fn is(&self, database: &str, table: &str) -> bool {
        self.table == table && self.database == database
    }

    fn push(&mut self, row: &[Value]) -> SqlResult<()> {
        if row.len() != self.builders.len() {
            return Err(SqlError::internal("a row with another number of values than its table"));
        }
        for (builder, value) in self.builders.iter_mut().zip(row) {
            builder.append(value)?;
        }
        self.rows += 1;
        if self.rows == BATCH_ROWS { self.end_batch() } else { Ok(()) }
    }

    fn end_batch(&mut self) -> SqlResult<()> {
        if self.rows == 0 {
            return Ok(());
        }
        self.rows = 0;
        let arrays: Vec<ArrayRef> = self.builders.iter_mut().map(ValueArrayBuilder::finish).collect();
        let batch = RecordBatch::try_new(self.schema.clone(), arrays).map_err(SqlError::internal)?;
        self.memory.try_grow(batch.get_array_memory_size()).map_err(squall_functions::expr::sql_error_from)?;
        self.batches.push(batch);
        Ok(())
    }

    /// The rows as a table, and what their memory is held by.
    pub fn into_table(mut self) -> SqlResult<(Arc<dyn TableProvider>, MemoryReservation)> {
        self.end_batch()?;
        let table = MemTable::try_new(self.schema, vec![self.batches]).map_err(SqlError::internal)?;
        Ok((Arc::new(table), self.memory))
    }
}
