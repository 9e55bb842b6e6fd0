//! The definition of a view: its names, its columns, and a function that makes the rows of one time.

use super::form::{self, Form};
use super::source::Tables;
use squall_registry::VirtualColumn;
use squall_types::{CollationId, SqlResult, SqlType, StringKind, TextSize, Value};

const COLLATION: CollationId = CollationId::UTF8MB4_0900_AI_CI;
/// The longest time or size with its unit.
const WITH_UNIT_CHARACTERS: u32 = 17;
/// The longest path.
const PATH_CHARACTERS: u32 = 512;

/// Under which names a view is there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Names {
    /// `name` with units, `x$name` without.
    Both,
    /// Only `name`: there is nothing with a unit in it.
    Plain,
    /// Only `x$name`: others are made of it.
    Raw,
}

/// One view.
pub(crate) struct View {
    /// Its name, without `x$`.
    pub name: &'static str,
    pub names: Names,
    pub columns: &'static [Column],
    /// Its rows in raw units, in its order.
    pub rows: fn(&mut Tables<'_>) -> SqlResult<Vec<Vec<Value>>>,
    /// Whether it reads only what histories have, too.
    pub over_time: bool,
}

impl std::fmt::Debug for View {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("View").field("name", &self.name).finish_non_exhaustive()
    }
}

impl View {
    /// The names that it is there under, with whether values get units.
    pub fn variants(&self) -> impl Iterator<Item = (String, bool)> {
        let plain = (self.names != Names::Raw).then(|| (self.name.to_string(), true));
        let raw = (self.names != Names::Plain).then(|| (format!("x${}", self.name), false));
        plain.into_iter().chain(raw)
    }
}

/// What a column means, and so how it is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Text(u32),
    LongText,
    /// A statement: cut in the middle where it is shown with units.
    Statement,
    /// A path: begins with a variable where it is shown with units and in that variable's directory.
    File,
    /// A count.
    Count,
    /// A number that can be below zero.
    Number,
    /// Picoseconds.
    Time,
    /// Bytes.
    Bytes,
    /// A number with this many digits behind the point.
    Ratio(u8),
    /// A moment.
    When,
}

/// A column of a view.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Column {
    pub name: &'static str,
    pub kind: Kind,
    /// Whether histories do without it: the original's views have columns of an older `sys`.
    pub is_new: bool,
}

macro_rules! columns_of {
    ($($function:ident $kind:expr;)*) => {
        $(pub(crate) const fn $function(name: &'static str) -> Column {
            Column { name, kind: $kind, is_new: false }
        })*
    };
}

columns_of! {
    name Kind::Text(64);
    host Kind::Text(255);
    event Kind::Text(128);
    file Kind::File;
    long Kind::LongText;
    statement Kind::Statement;
    count Kind::Count;
    number Kind::Number;
    time Kind::Time;
    bytes Kind::Bytes;
    when Kind::When;
}

/// A number with digits behind the point.
pub(crate) const fn ratio(name: &'static str, digits: u8) -> Column {
    Column { name, kind: Kind::Ratio(digits), is_new: false }
}

impl Column {
    /// That histories do without.
    pub(crate) const fn new_in_8(mut self) -> Column {
        self.is_new = true;
        self
    }

    /// The column as a table has it, with units or without.
    pub fn declared(&self, with_units: bool) -> VirtualColumn {
        let long_text =
            SqlType::String { kind: StringKind::Text(TextSize::Long), length: u32::MAX, collation: COLLATION };
        let sql_type = match self.kind {
            Kind::Text(length) => SqlType::varchar(length, COLLATION),
            Kind::File => SqlType::varchar(PATH_CHARACTERS, COLLATION),
            Kind::LongText | Kind::Statement => long_text,
            Kind::Time | Kind::Bytes if with_units => SqlType::varchar(WITH_UNIT_CHARACTERS, COLLATION),
            Kind::Count | Kind::Time | Kind::Bytes => SqlType::BIGINT_UNSIGNED,
            Kind::Number => SqlType::BIGINT,
            Kind::Ratio(scale) => SqlType::Decimal { precision: 30, scale, unsigned: false, zerofill: false },
            Kind::When => SqlType::DateTime { fsp: 6 },
        };
        VirtualColumn { name: self.name.into(), sql_type, nullable: true, invisible: false }
    }

    /// A raw value as it is shown with units.
    pub fn shown(&self, value: Value, form: &Form) -> Value {
        let style = form.style;
        match (self.kind, &value) {
            (Kind::Time, Value::UInt(picos)) => Value::String(form::time(*picos as f64, style)),
            (Kind::Bytes, Value::UInt(bytes)) => Value::String(form::bytes(*bytes as f64, style)),
            (Kind::Bytes, Value::Int(bytes)) => Value::String(form::bytes(*bytes as f64, style)),
            (Kind::Statement, Value::String(text)) => Value::String(form::statement(text, form.statement_characters)),
            (Kind::File, Value::String(path)) => Value::String(form::path(path, &form.directories)),
            _ => value,
        }
    }
}
