//! Sequences: tables of one row, which says what numbers come next.
//!
//! MariaDB's form: `SELECT * FROM s` shows the row, and the table's option `SEQUENCE=1` makes it a sequence.

use crate::ids::ColumnId;
use crate::table::{ColumnDef, ColumnDefault, TableDef};
use squall_types::{CollationId, IntWidth, SqlType, Value};

/// The option of a table that is a sequence, and its value.
const OPTION: (&str, &str) = ("SEQUENCE", "1");

const CYCLE_TYPE: SqlType =
    SqlType::Int { width: IntWidth::Tiny, unsigned: true, zerofill: false, display_width: None };

/// Columns of a sequence's table: name, type, comment.
const COLUMNS: [(&str, SqlType, &str); 8] = [
    ("next_not_cached_value", SqlType::BIGINT, ""),
    ("minimum_value", SqlType::BIGINT, ""),
    ("maximum_value", SqlType::BIGINT, ""),
    ("start_value", SqlType::BIGINT, "start value when sequences is created or value if RESTART is used"),
    ("increment", SqlType::BIGINT, "increment value"),
    ("cache_size", SqlType::BIGINT_UNSIGNED, ""),
    (
        "cycle_option",
        CYCLE_TYPE,
        "0 if no cycles are allowed, 1 if the sequence should begin a new cycle when maximum_value is passed",
    ),
    ("cycle_count", SqlType::BIGINT, "How many cycles have been done"),
];

/// The row of a sequence's table. Steps are never 0, and both bounds leave room for the value behind them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SequenceRow {
    /// The first value that no session has reserved; one step beyond a bound when there is none.
    pub next_not_cached: i64,
    /// MINVALUE.
    pub minimum: i64,
    /// MAXVALUE.
    pub maximum: i64,
    /// START WITH, and what RESTART without a number goes back to.
    pub start: i64,
    /// INCREMENT BY: from a value to the next, down if it is negative.
    pub increment: i64,
    /// CACHE: values that are reserved at a time; 0 and 1 are the same.
    pub cache: u64,
    /// CYCLE: it begins again when it has run out.
    pub cycle: bool,
    /// How often it has done so.
    pub cycle_count: i64,
}

impl SequenceRow {
    /// Whether its settings agree: MINVALUE below MAXVALUE, START between them, steps that are numbers of 64 bits.
    pub fn is_valid(&self) -> bool {
        // A step more than are reserved at a time.
        let steps = i128::from(self.increment) * (i128::from(self.cache.max(1)) + 1);
        self.increment != 0
            && self.minimum < self.maximum
            && self.minimum > i64::MIN
            && self.maximum < i64::MAX
            && (self.minimum..=self.maximum).contains(&self.start)
            && i64::try_from(steps).is_ok()
    }

    /// The values of its columns.
    pub fn values(&self) -> Vec<Value> {
        vec![
            Value::Int(self.next_not_cached),
            Value::Int(self.minimum),
            Value::Int(self.maximum),
            Value::Int(self.start),
            Value::Int(self.increment),
            Value::UInt(self.cache),
            Value::UInt(self.cycle.into()),
            Value::Int(self.cycle_count),
        ]
    }

    /// The row that has these values; `None` if they are no sequence's.
    pub fn of_values(values: &[Value]) -> Option<SequenceRow> {
        let int = |at: usize| match values.get(at) {
            Some(Value::Int(value)) => Some(*value),
            _ => None,
        };
        let unsigned = |at: usize| match values.get(at) {
            Some(Value::UInt(value)) => Some(*value),
            _ => None,
        };
        let row = SequenceRow {
            next_not_cached: int(0)?,
            minimum: int(1)?,
            maximum: int(2)?,
            start: int(3)?,
            increment: int(4)?,
            cache: unsigned(5)?,
            cycle: unsigned(6)? != 0,
            cycle_count: int(7)?,
        };
        row.is_valid().then_some(row)
    }
}

impl TableDef {
    /// The table of a new sequence.
    pub fn sequence(name: &str, collation: CollationId, now_micros: i64) -> TableDef {
        let mut table = TableDef::empty(name, collation, false, now_micros);
        for (name, sql_type, comment) in COLUMNS {
            table.columns.push(ColumnDef {
                id: ColumnId(table.next_column_id),
                name: name.to_string(),
                sql_type,
                nullable: false,
                default: ColumnDefault::None,
                on_update_now: false,
                auto_increment: false,
                generated: None,
                invisible: false,
                comment: comment.to_string(),
                value_for_older_rows: Value::Null,
            });
            table.next_column_id += 1;
        }
        table.options.push((OPTION.0.to_string(), OPTION.1.to_string()));
        table
    }

    /// Whether it has the columns of a sequence.
    pub fn has_columns_of_sequence(&self) -> bool {
        let is_same = |(column, (name, sql_type, _)): (&ColumnDef, &(&str, SqlType, &str))| {
            column.name == *name
                && column.sql_type == *sql_type
                && !column.nullable
                && column.default == ColumnDefault::None
                && column.generated.is_none()
        };
        self.columns.len() == COLUMNS.len() && self.columns.iter().zip(&COLUMNS).all(is_same)
    }

    /// Whether it is a sequence: only NEXTVAL, SETVAL and ALTER SEQUENCE change its row.
    pub fn is_sequence(&self) -> bool {
        self.options.iter().any(|(name, value)| (name.as_str(), value.as_str()) == OPTION)
    }
}
