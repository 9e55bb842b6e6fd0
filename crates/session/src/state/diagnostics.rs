//! The diagnostics area: the conditions of the last statement, for SHOW WARNINGS and GET DIAGNOSTICS.

use crate::result::{ResultSet, text_column, typed_column};
use squall_statement_context::{Diagnostics, StatementContext};
use squall_types::{CollationId, IntWidth, Level, SqlError, SqlType, Value, Warning};

/// Errors, warnings and notes of the statement before.
#[derive(Clone, Debug, Default)]
pub struct DiagnosticsArea {
    rows: Vec<Warning>,
    /// How many there were, kept or not.
    total: u64,
    errors: u64,
}

impl DiagnosticsArea {
    /// Takes a statement's conditions over; without `notes` those are left out.
    pub fn replace(&mut self, context: &StatementContext, error: Option<&SqlError>, notes: bool) {
        if error.is_none() && self.rows.is_empty() && self.total == 0 && context.diagnostics.count() == 0 {
            return;
        }
        self.total = context.diagnostics.count();
        self.rows = context.diagnostics.take();
        if !notes {
            let before = self.rows.len();
            self.rows.retain(|row| row.level != Level::Note);
            self.total -= (before - self.rows.len()) as u64;
        }
        if let Some(error) = error {
            self.rows.push(Warning { level: Level::Error, error: error.clone() });
            self.total += 1;
        }
        self.errors = self.rows.iter().filter(|row| row.level == Level::Error).count() as u64;
    }

    /// Makes a statement's conditions those of the statement that it was a part of. Its error is not among them: who runs the
    /// statement has been told of it, and handles it or ends with it.
    pub fn copy_to(&self, outer: &Diagnostics) {
        outer.take();
        for row in self.rows.iter().filter(|row| row.level != Level::Error) {
            outer.push(row.level, row.error.clone());
        }
    }

    /// A statement has succeeded without any.
    pub fn clear(&mut self) {
        if self.total != 0 {
            *self = DiagnosticsArea::default();
        }
    }

    /// An error of a statement that did not come to run.
    pub fn only(&mut self, error: &SqlError) {
        self.rows = vec![Warning { level: Level::Error, error: error.clone() }];
        self.total = 1;
        self.errors = 1;
    }

    /// One more.
    pub fn push(&mut self, level: Level, error: SqlError) {
        self.rows.push(Warning { level, error });
        self.total += 1;
        self.errors += u64::from(level == Level::Error);
    }

    /// Those that were kept.
    pub fn rows(&self) -> &[Warning] {
        &self.rows
    }

    /// Conditions in all.
    pub fn total(&self) -> u64 {
        self.total
    }

    /// Errors among them.
    pub fn errors(&self) -> u64 {
        self.errors
    }

    /// The error that ended the statement.
    pub fn last_error(&self) -> Option<&SqlError> {
        if self.errors == 0 {
            return None;
        }
        self.rows.iter().rev().find(|row| row.level == Level::Error).map(|row| &row.error)
    }

    /// SHOW WARNINGS, or SHOW ERRORS.
    pub fn show(&self, errors_only: bool, offset: usize, limit: usize) -> ResultSet {
        let code = SqlType::Int { width: IntWidth::Int, unsigned: true, zerofill: false, display_width: None };
        let mut result = ResultSet::new(vec![
            typed_column("Level", SqlType::varchar(7, CollationId::UTF8MB4_0900_AI_CI), true),
            typed_column("Code", code, true),
            text_column("Message", 512),
        ]);
        let rows = self.rows.iter().filter(|row| !errors_only || row.level == Level::Error);
        for row in rows.skip(offset).take(limit) {
            let level = match row.level {
                Level::Note => "Note",
                Level::Warning => "Warning",
                Level::Error => "Error",
            };
            let code = Value::UInt(u64::from(row.error.code));
            result.rows.push(vec![Value::from(level), code, Value::String(row.error.message.clone())]);
        }
        result
    }
}
