//! Texts of protocols other than MySQL's: several statements, with values for the `?` of all of them.

use crate::api::TextRequest;
use crate::plans::long_statement::Text;
use crate::plans::statements::Statements;
use crate::result::writer::ResultWriter;
use crate::session::{Request, Session, keeps_diagnostics};
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
        let whole = Text::shared(sql);
        let (mut statements, mut values) = (Statements::of(&whole), values.into_iter());
        loop {
            let statement = match self.next_statement(&mut statements).await {
                Ok(Some(statement)) => statement,
                Ok(None) => return self.end_command(writer).await,
                Err(unread) => return self.refuse_unread(command, &unread, statements.rest(), writer).await,
            };
            self.begin_command(command, statement.text);
            let own = match own_values(&mut values, statement.parsed.placeholders as usize, statement.is_last()) {
                Ok(own) => own,
                Err(error) => {
                    self.finish_with_error(&error, None);
                    writer.error(&error);
                    return self.end_command(writer).await;
                }
            };
            let keeps = keeps_diagnostics(&statement.parsed.statement);
            let request = Request::of_text(&statement);
            let succeeded = self.run_with_values(request, &own, !statement.is_last(), writer).await?;
            if succeeded && !keeps && self.diagnostics.total() > 0 {
                writer.conditions(self.diagnostics.rows());
            }
            if !succeeded || statement.is_last() {
                return self.end_command(writer).await;
            }
            if writer.needs_flush() {
                writer.flush().await?;
            }
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
