//! The settings of conversions, and their reports.

use crate::temporal::{DateRules, TimeZone};
use crate::{Date, ErrorCode, Level, SqlError, SqlMode, SqlResult, Value, Warning};
use std::fmt::Display;

/// Settings of the session and the place that messages name.
#[derive(Clone, Copy, Debug)]
pub struct ConversionContext<'a> {
    /// `sql_mode`.
    pub mode: SqlMode,
    /// `time_zone`.
    pub time_zone: &'a TimeZone,
    /// Today, for times that become datetimes.
    pub current_date: Date,
    /// Name of its table, for the messages that have it; empty where there is none.
    pub table: &'a str,
    /// Name of the column.
    pub column: &'a str,
    /// Number of the row in the statement, from 1.
    pub row: u64,
}

impl ConversionContext<'_> {
    /// The rules for dates.
    pub fn date_rules(&self) -> DateRules {
        DateRules::from(self.mode)
    }

    /// The column with its table, if there is one.
    pub(super) fn qualified_column(&self) -> String {
        if self.table.is_empty() { self.column.to_string() } else { format!("{}.{}", self.table, self.column) }
    }

    /// An error whose message names column and row.
    pub(super) fn error(&self, code: ErrorCode) -> SqlError {
        SqlError::new(code, &[&self.column, &self.row])
    }

    /// "Incorrect integer value: 'x' for column 'c' at row 1" (1366).
    pub(super) fn incorrect_for_field(&self, kind: &str, value: &dyn Display) -> SqlError {
        SqlError::new(ErrorCode::TruncatedWrongValueForField, &[&kind, value, &self.column, &self.row])
    }

    /// "Incorrect date value: 'x' for column 'c' at row 1" (1292); likewise of UUIDs.
    pub(super) fn incorrect_value(&self, kind: &str, value: &dyn Display) -> SqlError {
        let message = format!("Incorrect {kind} value: '{value}' for column '{}' at row {}", self.column, self.row);
        SqlError::with_message(ErrorCode::IncorrectWrongValue, message)
    }
}

/// When a condition is an error.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Severity {
    /// Never: a note.
    Note,
    /// In strict mode; a warning otherwise.
    Strict,
    /// In every mode.
    Always,
}

/// The error of a stored value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Condition {
    /// When it is an error.
    pub severity: Severity,
    /// As an error.
    pub error: SqlError,
    /// As a warning or note, which for dates and long strings has another code.
    pub warning: SqlError,
}

/// A value converted for a column.
#[derive(Clone, Debug, PartialEq)]
pub struct Stored {
    /// The value; with a condition, the value to store if the condition is not an error.
    pub value: Value,
    /// The error.
    pub condition: Option<Box<Condition>>,
}

impl Stored {
    /// A value with nothing wrong.
    pub(super) fn plain(value: Value) -> Stored {
        Stored { value, condition: None }
    }

    /// A value that is an error in strict mode, with one message for error and warning.
    pub(super) fn strict(value: Value, error: SqlError) -> Stored {
        Stored::with(value, Severity::Strict, error.clone(), error)
    }

    /// A value with a note.
    pub(super) fn note(value: Value, note: SqlError) -> Stored {
        Stored::with(value, Severity::Note, note.clone(), note)
    }

    pub(super) fn with(value: Value, severity: Severity, error: SqlError, warning: SqlError) -> Stored {
        Stored { value, condition: Some(Box::new(Condition { severity, error, warning })) }
    }

    /// The value, or the error where the condition is one; otherwise the condition is added to the warnings. `strict`
    /// is false outside strict mode and with IGNORE.
    pub fn resolve(self, strict: bool, warnings: &mut Vec<Warning>) -> SqlResult<Value> {
        let Some(condition) = self.condition else { return Ok(self.value) };
        match condition.severity {
            Severity::Always => return Err(condition.error),
            Severity::Strict if strict => return Err(condition.error),
            Severity::Strict => warnings.push(Warning { level: Level::Warning, error: condition.warning }),
            Severity::Note => warnings.push(Warning { level: Level::Note, error: condition.warning }),
        }
        Ok(self.value)
    }
}
