//! Tables whose rows are made when they are read: information_schema, performance_schema and those of modules.

use crate::context::StatementContext;
use squall_types::{SqlError, SqlResult, SqlType, Value};
use std::borrow::Cow;
use std::fmt::Debug;
use std::sync::Arc;

/// A column of a virtual table.
#[derive(Clone, Debug, PartialEq)]
pub struct VirtualColumn {
    /// Its name.
    pub name: Cow<'static, str>,
    /// Its type.
    pub sql_type: SqlType,
    /// Whether NULL can come out.
    pub nullable: bool,
}

/// What a scan wants.
#[derive(Clone, Copy, Debug)]
pub struct VirtualScan<'a> {
    /// The statement: whose privileges and settings count.
    pub context: &'a Arc<StatementContext>,
    /// Conditions `column = text` that the rows have to meet, by column ordinal. A table uses them to skip work; the
    /// caller filters in any case, so they may be ignored.
    pub equals: &'a [(usize, Value)],
}

impl VirtualScan<'_> {
    /// The text that a column has to equal, if any.
    pub fn equal_text(&self, ordinal: usize) -> Option<&str> {
        self.equals.iter().find_map(|(at, value)| match value {
            Value::String(text) if *at == ordinal => Some(text.as_str()),
            _ => None,
        })
    }
}

/// A table without storage.
pub trait VirtualTable: Debug + Send + Sync {
    /// Its database, lower case.
    fn database(&self) -> &str;
    /// Its name as shown; found whatever the case.
    fn name(&self) -> &str;
    /// Its columns.
    fn columns(&self) -> &[VirtualColumn];
    /// Its rows at this moment; each has a value per column, held as the column's type says.
    fn rows(&self, scan: &VirtualScan<'_>) -> SqlResult<Vec<Vec<Value>>>;
    /// Carries a change out, at once and outside of any transaction; called for a table that [takes
    /// changes](VirtualTable::takes_changes), after privileges were checked.
    ///
    /// # Errors
    /// When the change is not allowed.
    fn change(&self, _change: VirtualChange<'_>, _context: &StatementContext) -> SqlResult<()> {
        Err(SqlError::internal("a table that takes no changes"))
    }
    /// Whether INSERT, UPDATE and DELETE of it mean anything.
    fn takes_changes(&self) -> bool {
        false
    }
}

/// A change of a virtual table.
#[derive(Clone, Copy, Debug)]
pub enum VirtualChange<'a> {
    /// Rows are to be inserted.
    Insert,
    /// A row gets new values.
    Update {
        /// Its values now.
        old: &'a [Value],
        /// Its values after that, of the columns' types.
        new: &'a [Value],
    },
    /// A row is to be deleted.
    Delete {
        /// Its values now.
        old: &'a [Value],
    },
}
