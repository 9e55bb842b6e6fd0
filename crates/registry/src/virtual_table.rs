//! Tables whose rows are made when they are read: information_schema, performance_schema and those of modules.

use squall_statement_context::StatementContext;
use squall_types::{ModuleError, SqlError, SqlResult, SqlType, Value};
use std::borrow::Cow;
use std::fmt::Debug;
use std::ops::{Bound, RangeInclusive};
use std::sync::Arc;

/// A query that would read all rows of a table without end.
pub const ENDLESS_TABLE: ModuleError = ModuleError::new(
    50_446,
    b"HY000",
    "The rows of the table '%s' have no end: a query that reads it needs LIMIT, without ORDER BY, DISTINCT, groups and windows",
);

/// A column of a virtual table.
#[derive(Clone, Debug, PartialEq)]
pub struct VirtualColumn {
    /// Its name.
    pub name: Cow<'static, str>,
    /// Its type.
    pub sql_type: SqlType,
    /// Whether NULL can come out.
    pub nullable: bool,
    /// Whether it has to be named: `*` leaves it out.
    pub invisible: bool,
}

/// The range of a column that a scan wants: a value between two others.
#[derive(Clone, Debug, PartialEq)]
pub struct ColumnRange {
    /// Ordinal of the column.
    pub column: usize,
    /// From here on; of the column's type.
    pub low: Bound<Value>,
    /// Up to here.
    pub high: Bound<Value>,
}

/// Rows that are made part by part, while others are on their way to the client.
pub type RowParts = Box<dyn Iterator<Item = SqlResult<Vec<Vec<Value>>>> + Send>;

/// The request of a scan.
#[derive(Clone, Copy, Debug)]
pub struct VirtualScan<'a> {
    /// The statement: whose privileges and settings count.
    pub context: &'a Arc<StatementContext>,
    /// Conditions `column = text` that the rows have to meet, by column ordinal. A table uses them to skip work; the
    /// caller filters in any case, so they may be ignored.
    pub equals: &'a [(usize, Value)],
    /// The same for conditions that compare a column with a value.
    pub ranges: &'a [ColumnRange],
    /// The columns whose values are looked at, by ordinal; any value will do for others. `None`: all.
    pub wanted: Option<&'a [usize]>,
    /// [Ordered](VirtualTable::order) parts are wanted from the end.
    pub backward: bool,
}

impl<'a> VirtualScan<'a> {
    /// A scan of everything.
    pub fn all(context: &'a Arc<StatementContext>) -> VirtualScan<'a> {
        VirtualScan { context, equals: &[], ranges: &[], wanted: None, backward: false }
    }
}

impl VirtualScan<'_> {
    /// Whether a column has to be greater than a value.
    pub fn excludes(&self, ordinal: usize, value: &Value) -> bool {
        self.ranges.iter().any(|range| range.column == ordinal && range.low == Bound::Excluded(value.clone()))
    }

    /// The numbers that a column of whole numbers, none of them negative, has to be one of.
    pub fn numbers(&self, ordinal: usize) -> RangeInclusive<u64> {
        let number = |value: &Value| match value {
            Value::Int(number) => u64::try_from(*number).ok(),
            Value::UInt(number) => Some(*number),
            _ => None,
        };
        let (mut low, mut high) = (0, u64::MAX);
        for range in self.ranges.iter().filter(|range| range.column == ordinal) {
            // The caller filters: one more at either end does no harm.
            if let Bound::Included(value) | Bound::Excluded(value) = &range.low {
                low = low.max(number(value).unwrap_or(0));
            }
            if let Bound::Included(value) | Bound::Excluded(value) = &range.high {
                high = high.min(number(value).unwrap_or(u64::MAX));
            }
        }
        low..=high
    }

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
    /// Its name as shown; found in any letter case.
    fn name(&self) -> &str;
    /// Its columns.
    fn columns(&self) -> &[VirtualColumn];
    /// Its rows now; each has a value per column, held as the column's type says. Not called for a table whose rows come in
    /// [parts](VirtualTable::has_parts).
    ///
    /// # Errors
    /// When the rows cannot be read.
    fn rows(&self, _scan: &VirtualScan<'_>) -> SqlResult<Vec<Vec<Value>>> {
        Err(SqlError::internal("a table whose rows come in parts"))
    }
    /// All its rows, in parts or not.
    ///
    /// # Errors
    /// When the rows cannot be read.
    fn all_rows(&self, scan: &VirtualScan<'_>) -> SqlResult<Vec<Vec<Value>>> {
        if self.is_endless() {
            return Err(SqlError::internal("all rows of a table without end"));
        }
        if !self.has_parts() {
            return self.rows(scan);
        }
        let mut rows = Vec::new();
        for part in self.parts(scan)? {
            rows.append(&mut part?);
        }
        Ok(rows)
    }
    /// Whether its rows are to be asked for in [parts](VirtualTable::parts).
    fn has_parts(&self) -> bool {
        false
    }
    /// Whether its parts have no end: a query that reads it needs a LIMIT.
    fn is_endless(&self) -> bool {
        false
    }
    /// Its rows in parts, each of which is made when it is asked for. Rows have to be between the first and the last time
    /// that the conditions allow, if the table looks at them at all.
    ///
    /// # Errors
    /// When the rows cannot be read.
    fn parts(&self, scan: &VirtualScan<'_>) -> SqlResult<RowParts> {
        Ok(Box::new(std::iter::once(self.rows(scan))))
    }
    /// The column in whose ascending order parts come, if there is one.
    fn order(&self) -> Option<usize> {
        None
    }
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
