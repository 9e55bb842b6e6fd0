//! Texts of protocols other than MySQL's: several statements, with values for the `?` of all of them.

use crate::api::TextRequest;
use crate::plans::long_statement::Text;
use crate::result::writer::ResultWriter;
use crate::session::{Request, Session, keeps_diagnostics, parse_error};
use bytes::Bytes;
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
        let (mut start, mut values) = (0, values.into_iter());
        loop {
            // Statements before may have changed how the text is read.
            let next = self.run_next(command, sql, start, &mut values, writer).await?;
            match next {
                Some(next) => start = next,
                None => return self.end_command(writer).await,
            }
            if writer.needs_flush() {
                writer.flush().await?;
            }
        }
    }

    /// Runs the statement that begins at `start`: where the next begins, if it comes to that.
    async fn run_next(
        &mut self,
        command: &'static str,
        sql: &Bytes,
        start: usize,
        values: &mut std::vec::IntoIter<Value>,
        writer: &mut dyn ResultWriter,
    ) -> io::Result<Option<usize>> {
        let whole = Text::shared(sql);
        let text = &sql[start..];
        let parsed = match self.read_statement(&whole, start).await {
            Ok(Ok(parsed)) => parsed,
            Ok(Err(error)) => {
                let error = parse_error(error);
                self.begin_command(command, text);
                self.log_unparsed(text);
                self.count_unparsed(text);
                return Ok(self.refuse(&error, writer));
            }
            Err(error) => return Ok(self.refuse(&error, writer)),
        };
        let statement_text = &text[..parsed.end];
        self.begin_command(command, statement_text);
        let own = match own_values(values, parsed.placeholders as usize, parsed.rest.is_none()) {
            Ok(own) => own,
            Err(error) => return Ok(self.refuse(&error, writer)),
        };
        let request = Request {
            placeholders: parsed.placeholders,
            long: parsed.long(),
            ..Request::without_parameters(&parsed.statement, statement_text)
        };
        let keeps = keeps_diagnostics(&parsed.statement);
        if !self.run_with_values(request, &own, parsed.rest.is_some(), writer).await? {
            return Ok(None);
        }
        if !keeps && self.diagnostics.total() > 0 {
            writer.conditions(self.diagnostics.rows());
        }
        Ok(parsed.rest.map(|rest| start + rest))
    }

    fn refuse(&mut self, error: &SqlError, writer: &mut dyn ResultWriter) -> Option<usize> {
        self.finish_with_error(error, None);
        writer.error(error);
        None
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
