//! Texts of protocols other than MySQL's: several statements, with values for the `?` of all of them.

use crate::api::TextRequest;
use crate::plans::long_statement::Text;
use crate::plans::statements::Statements;
use crate::plans::{AtOnce, Found, Route, Unanswered};
use crate::result::writer::ResultWriter;
use crate::session::{Request, Session, SessionState, keeps_diagnostics};
use squall_types::{ErrorCode, SqlError, SqlResult, Value};
use std::io;

impl Session {
    /// Runs the statements of a text in UTF-8 one after the other, until one fails.
    pub(crate) async fn run_text_request(
        &mut self,
        text: TextRequest<'_>,
        writer: &mut dyn ResultWriter,
    ) -> io::Result<()> {
        let TextRequest { command, sql, values } = text;
        // One statement that was run before, by this session or another, is not read again.
        match self.answer_with_values(sql, &values, writer) {
            AtOnce::Answered => {
                self.tell_conditions(writer);
                return writer.flush().await;
            }
            AtOnce::Left(Unanswered(Some(Found { statement: Some(statement), route, .. })))
                if matches!(route, Route::PointChange(_)) =>
            {
                self.begin_command(command, sql);
                let request = Request { route: Some(&route), ..Request::of_prepared(&statement, &values) };
                if self.run(request, false, writer).await? {
                    self.tell_conditions(writer);
                }
                return self.end_command(writer).await;
            }
            AtOnce::Left(_) => {}
        }
        let (whole, mut values) = (Text::shared(sql), values.into_iter());
        let mut statements = Statements::of(&whole);
        while self.run_next(command, &mut statements, &mut values, writer).await? {
            if writer.needs_flush() {
                writer.flush().await?;
            }
        }
        self.end_command(writer).await
    }

    /// Runs the next statement; tells whether another one is to be run.
    async fn run_next(
        &mut self,
        command: &'static str,
        statements: &mut Statements<'_, '_>,
        values: &mut std::vec::IntoIter<Value>,
        writer: &mut dyn ResultWriter,
    ) -> io::Result<bool> {
        let statement = match self.next_statement(statements).await {
            Ok(Some(statement)) => statement,
            Ok(None) => return Ok(false),
            Err(unread) => {
                self.refuse_unread(command, &unread, statements.rest(), writer);
                return Ok(false);
            }
        };
        self.begin_command(command, statement.text);
        let own = match own_values(values, statement.parsed.placeholders as usize, statement.is_last()) {
            Ok(own) => own,
            Err(error) => {
                self.finish_with_error(&error, None);
                writer.error(&error);
                return Ok(false);
            }
        };
        if !self.run_with_values(Request::of_text(&statement), &own, !statement.is_last(), writer).await? {
            return Ok(false);
        }
        if !keeps_diagnostics(&statement.parsed.statement) {
            self.tell_conditions(writer);
        }
        Ok(!statement.is_last())
    }
}

impl SessionState {
    /// Tells of the warnings and notes of the statement before, if it has any.
    fn tell_conditions(&self, writer: &mut dyn ResultWriter) {
        if self.diagnostics.total() > 0 {
            writer.conditions(self.diagnostics.rows());
        }
    }
}

/// The values of a statement with so many `?`; the last statement takes all that are left.
///
/// # Errors
/// 1210 for too few or too many.
fn own_values(values: &mut std::vec::IntoIter<Value>, count: usize, is_last: bool) -> SqlResult<Vec<Value>> {
    if values.len() < count || (is_last && values.len() > count) {
        return Err(SqlError::new(ErrorCode::WrongArguments, &[&"EXECUTE"]));
    }
    Ok(values.take(count).collect())
}
