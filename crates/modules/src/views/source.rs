//! The input of a view: the tables of performance_schema, now or in one snapshot of the history.

use squall_history_store::{Condition, Reader, TableRows};
use squall_registry::VirtualScan;
use squall_session::Database;
use squall_statement_context::StatementContext;
use squall_types::{SqlResult, Value};
use std::cell::Cell;
use std::sync::Arc;

/// The schema of tables that are named without one.
const SCHEMA: &str = "performance_schema";

/// Where tables come from.
pub(crate) enum Tables<'a> {
    /// From the server as it is, as the reader may see it.
    Now { database: &'a Database, context: &'a Arc<StatementContext> },
    /// From a snapshot.
    Then(&'a mut Reader),
    /// One table's rows, of any time; others are empty.
    Given { table: &'a str, columns: &'a [String], rows: &'a [Vec<Value>] },
}

impl Tables<'_> {
    /// A table of performance_schema; without rows if there is no such table.
    ///
    /// # Errors
    /// When the reader may not read it, or it cannot be read.
    pub fn get(&mut self, name: &'static str, columns: &'static [&'static str]) -> SqlResult<Rows> {
        self.get_of(SCHEMA, name, columns)
    }

    /// A table of another schema, which histories do not have.
    ///
    /// # Errors
    /// As above.
    pub fn get_of(&mut self, schema: &str, name: &'static str, columns: &'static [&'static str]) -> SqlResult<Rows> {
        let rows = match self {
            Tables::Then(_) if schema != SCHEMA => Arc::default(),
            Tables::Then(reader) => reader.table(name, columns)?,
            Tables::Given { table, .. } if *table != name => Arc::default(),
            Tables::Given { columns: given, rows, .. } => Arc::new(read_given(given, rows, columns)),
            Tables::Now { database, context } => Arc::new(read_now(database, context, schema, name, columns)?),
        };
        Ok(Rows::new(rows, columns))
    }
}

impl Tables<'_> {
    /// The rows of a table of performance_schema that meet a condition, which looks at nothing but some columns. Of a history only those columns are
    /// read where it holds for no row, and only where they have changed.
    ///
    /// # Errors
    /// As above.
    pub fn get_where(
        &mut self,
        name: &'static str,
        columns: &'static [&'static str],
        tested: &'static [&'static str],
        holds: fn(&Row<'_>) -> bool,
    ) -> SqlResult<Rows> {
        let holding = |rows: &Arc<TableRows>| {
            let rows = Rows::new(rows.clone(), columns);
            rows.iter().filter(holds).map(|row| row.at as u32).collect()
        };
        match self {
            Tables::Then(reader) => {
                let condition = Condition { columns: tested, holding: &holding };
                Ok(Rows::new(reader.table_where(name, columns, condition)?, columns))
            }
            _ => {
                let all = self.get(name, columns)?;
                let some = (*all.rows).clone().some(holding(&all.rows));
                Ok(Rows::new(Arc::new(some), columns))
            }
        }
    }
}

fn read_now(
    database: &Database,
    context: &Arc<StatementContext>,
    schema: &str,
    name: &str,
    columns: &[&str],
) -> SqlResult<TableRows> {
    let Some(table) = database.registry().virtual_table(schema, name) else { return Ok(TableRows::default()) };
    database.check_may_select(context, schema, name)?;
    let rows = table.rows(&VirtualScan::all(context))?;
    let names: Vec<String> = table.columns().iter().map(|column| column.name.to_string()).collect();
    Ok(read_given(&names, &rows, columns))
}

fn read_given(given: &[String], rows: &[Vec<Value>], columns: &[&str]) -> TableRows {
    let column = |wanted: &&str| {
        let ordinal = given.iter().position(|column| column.eq_ignore_ascii_case(wanted))?;
        let values: Vec<Value> = rows.iter().map(|row| row.get(ordinal).cloned().unwrap_or_default()).collect();
        Some(values.into())
    };
    TableRows::new(rows.len(), columns.iter().map(column).collect())
}

/// The rows of a table, with the columns that were asked for.
#[derive(Clone)]
pub(crate) struct Rows {
    rows: Arc<TableRows>,
    columns: &'static [&'static str],
    found: [Cell<Option<(*const u8, usize)>>; FOUND],
}

/// Names whose ordinals are remembered, by where they lie: views ask for the same few of each row.
const FOUND: usize = 16;

impl Rows {
    fn new(rows: Arc<TableRows>, columns: &'static [&'static str]) -> Rows {
        Rows { rows, columns, found: Default::default() }
    }

    fn ordinal(&self, column: &'static str) -> Option<usize> {
        let place = &self.found[column.as_ptr() as usize / 8 % FOUND];
        // Two names at one place differ in length.
        if let Some((known, ordinal)) = place.get()
            && known == column.as_ptr()
            && self.columns[ordinal].len() == column.len()
        {
            return Some(ordinal);
        }
        let ordinal = self.columns.iter().position(|name| *name == column)?;
        place.set(Some((column.as_ptr(), ordinal)));
        Some(ordinal)
    }

    /// One row after the other.
    pub fn iter(&self) -> impl Iterator<Item = Row<'_>> {
        (0..self.rows.rows).map(|at| Row { table: self, at })
    }
}

/// One row.
#[derive(Clone, Copy)]
pub(crate) struct Row<'r> {
    table: &'r Rows,
    at: usize,
}

impl<'r> Row<'r> {
    /// A column's value; NULL for one that the table does not have.
    pub fn value(&self, column: &'static str) -> &'r Value {
        let ordinal = self.table.ordinal(column);
        debug_assert!(ordinal.is_some(), "{column} was not asked for");
        ordinal.map_or(&Value::Null, |ordinal| self.table.rows.value(self.at, ordinal))
    }

    /// The same, to keep.
    pub fn get(&self, column: &'static str) -> Value {
        self.value(column).clone()
    }

    /// A text; empty for NULL.
    pub fn text(&self, column: &'static str) -> &'r str {
        match self.value(column) {
            Value::String(text) => text,
            _ => "",
        }
    }

    /// A number that is not below zero; 0 for NULL.
    pub fn number(&self, column: &'static str) -> u64 {
        match self.value(column) {
            Value::UInt(number) => *number,
            Value::Int(number) => u64::try_from(*number).unwrap_or(0),
            _ => 0,
        }
    }

    /// Whether it is NULL.
    pub fn is_null(&self, column: &'static str) -> bool {
        self.value(column).is_null()
    }
}
