//! Descriptions of tables, their columns and their values.

use crate::source::Source;
use squall_registry::{VirtualColumn, VirtualScan};
use squall_statement_context::StatementContext;
use squall_types::{CollationId, IntWidth, SqlResult, SqlType, StringKind, TextSize, Value};

/// Makes the rows of a table.
pub(crate) type MakeRows = fn(&Source<'_>, &VirtualScan<'_>) -> SqlResult<Vec<Vec<Value>>>;

/// Makes the rows of a table that is declared above.
pub type RowsOf = Box<dyn Fn(&Source<'_>, &VirtualScan<'_>) -> SqlResult<Vec<Vec<Value>>> + Send + Sync>;

/// A table as it is declared in a [short form](described): name, columns, rows.
pub(crate) type DescribedTable = (&'static str, &'static str, MakeRows);

/// A table as it is declared.
pub struct TableSpec {
    /// Its database.
    pub database: &'static str,
    /// Its name.
    pub name: &'static str,
    /// Its columns.
    pub columns: &'static [ColumnSpec],
    /// Makes its rows; [`no_rows`] where `register_table` is given a function that does.
    pub rows: MakeRows,
}

/// A column as it is declared.
pub struct ColumnSpec {
    pub(crate) name: &'static str,
    kind: ColumnKind,
    nullable: bool,
}

/// The few types that the tables need.
#[derive(Clone, Copy)]
pub(crate) enum ColumnKind {
    Text(u32),
    LongText,
    MediumText,
    Int,
    UInt,
    SmallUInt,
    Time,
    Hundredths,
    Moment,
    Duration,
    Int32,
    Blob,
    Double,
    Bool,
    Enum(&'static [&'static str]),
    Json,
}

/// NOT NULL text.
pub const fn text(name: &'static str, length: u32) -> ColumnSpec {
    ColumnSpec { name, kind: ColumnKind::Text(length), nullable: false }
}

/// NOT NULL long text.
pub const fn long_text(name: &'static str) -> ColumnSpec {
    ColumnSpec { name, kind: ColumnKind::LongText, nullable: false }
}

/// NOT NULL MEDIUMTEXT.
pub const fn medium_text(name: &'static str) -> ColumnSpec {
    ColumnSpec { name, kind: ColumnKind::MediumText, nullable: false }
}

/// NOT NULL BIGINT.
pub const fn int(name: &'static str) -> ColumnSpec {
    ColumnSpec { name, kind: ColumnKind::Int, nullable: false }
}

/// NOT NULL BIGINT UNSIGNED.
pub const fn uint(name: &'static str) -> ColumnSpec {
    ColumnSpec { name, kind: ColumnKind::UInt, nullable: false }
}

/// NOT NULL INT UNSIGNED.
pub const fn small_uint(name: &'static str) -> ColumnSpec {
    ColumnSpec { name, kind: ColumnKind::SmallUInt, nullable: false }
}

/// NOT NULL TIMESTAMP.
pub const fn time(name: &'static str) -> ColumnSpec {
    ColumnSpec { name, kind: ColumnKind::Time, nullable: false }
}

/// NOT NULL TIMESTAMP(2).
pub const fn hundredths(name: &'static str) -> ColumnSpec {
    ColumnSpec { name, kind: ColumnKind::Hundredths, nullable: false }
}

/// NOT NULL TIMESTAMP(6).
pub const fn moment(name: &'static str) -> ColumnSpec {
    ColumnSpec { name, kind: ColumnKind::Moment, nullable: false }
}

/// NOT NULL TIME(6).
pub const fn duration(name: &'static str) -> ColumnSpec {
    ColumnSpec { name, kind: ColumnKind::Duration, nullable: false }
}

/// NOT NULL BOOLEAN.
pub const fn flag(name: &'static str) -> ColumnSpec {
    ColumnSpec { name, kind: ColumnKind::Bool, nullable: false }
}

/// NOT NULL INT.
pub const fn int32(name: &'static str) -> ColumnSpec {
    ColumnSpec { name, kind: ColumnKind::Int32, nullable: false }
}

/// NOT NULL MEDIUMBLOB.
pub const fn blob(name: &'static str) -> ColumnSpec {
    ColumnSpec { name, kind: ColumnKind::Blob, nullable: false }
}

/// NOT NULL DOUBLE.
pub const fn double(name: &'static str) -> ColumnSpec {
    ColumnSpec { name, kind: ColumnKind::Double, nullable: false }
}

/// NOT NULL ENUM.
pub const fn choice(name: &'static str, words: &'static [&'static str]) -> ColumnSpec {
    ColumnSpec { name, kind: ColumnKind::Enum(words), nullable: false }
}

/// NOT NULL JSON.
pub const fn json(name: &'static str) -> ColumnSpec {
    ColumnSpec { name, kind: ColumnKind::Json, nullable: false }
}

impl ColumnKind {
    pub(crate) fn sql_type(self) -> SqlType {
        let collation = CollationId::UTF8MB3_GENERAL_CI;
        match self {
            ColumnKind::Text(length) => SqlType::varchar(length, collation),
            ColumnKind::LongText => {
                SqlType::String { kind: StringKind::Text(TextSize::Long), length: u32::MAX, collation }
            }
            ColumnKind::MediumText => {
                SqlType::String { kind: StringKind::Text(TextSize::Medium), length: (1 << 24) - 1, collation }
            }
            ColumnKind::Int => SqlType::BIGINT,
            ColumnKind::UInt => SqlType::BIGINT_UNSIGNED,
            ColumnKind::SmallUInt => {
                SqlType::Int { width: IntWidth::Int, unsigned: true, zerofill: false, display_width: None }
            }
            ColumnKind::Time => SqlType::DateTime { fsp: 0 },
            ColumnKind::Hundredths => SqlType::Timestamp { fsp: 2 },
            ColumnKind::Moment => SqlType::Timestamp { fsp: 6 },
            ColumnKind::Duration => SqlType::Time { fsp: 6 },
            ColumnKind::Int32 => SqlType::INT,
            ColumnKind::Bool => SqlType::BOOL,
            ColumnKind::Double => SqlType::DOUBLE,
            ColumnKind::Blob => SqlType::String {
                kind: StringKind::Text(TextSize::Medium),
                length: (1 << 24) - 1,
                collation: CollationId::BINARY,
            },
            // Shown as the words themselves; a VARCHAR keeps comparisons those of text.
            ColumnKind::Enum(words) => {
                let longest = words.iter().map(|word| word.len()).max().unwrap_or(1);
                SqlType::varchar(longest as u32, collation)
            }
            ColumnKind::Json => SqlType::Json,
        }
    }
}

impl ColumnSpec {
    /// NULL can come out.
    pub const fn or_null(mut self) -> Self {
        self.nullable = true;
        self
    }

    pub(crate) fn column(&self) -> VirtualColumn {
        let sql_type = self.kind.sql_type();
        VirtualColumn { name: self.name.into(), sql_type, nullable: self.nullable, invisible: false }
    }
}

/// A text value.
pub fn s(text: impl Into<String>) -> Value {
    Value::String(text.into())
}

/// An unsigned value.
pub fn u(number: u64) -> Value {
    Value::UInt(number)
}

/// A text or NULL.
pub fn s_or_null(text: Option<impl Into<String>>) -> Value {
    text.map_or(Value::Null, |text| Value::String(text.into()))
}

/// `YES` or `NO`.
pub fn yes_no(yes: bool) -> Value {
    Value::from(if yes { "YES" } else { "NO" })
}

/// Tables without rows.
pub fn no_rows(_source: &Source<'_>, _scan: &VirtualScan<'_>) -> SqlResult<Vec<Vec<Value>>> {
    Ok(Vec::new())
}

/// Microseconds since 1970 as the session's local time.
pub fn local_time(context: &StatementContext, micros: i64) -> Value {
    let zone = &context.settings.time_zone;
    zone.from_unix_micros(micros - micros.rem_euclid(1_000_000)).map_or(Value::Null, Value::DateTime)
}

/// The same with its microseconds.
pub fn local_micros(context: &StatementContext, micros: i64) -> Value {
    context.settings.time_zone.from_unix_micros(micros).map_or(Value::Null, Value::DateTime)
}
