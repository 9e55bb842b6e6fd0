//! Runs a list of statements in one text, to its end or to the first failure, as a whole or not at all.

use crate::collector::LastError;
use crate::plans::long_statement::Text;
use crate::plans::statements::Statements;
use crate::session::{Request, Session};
use bytes::Bytes;
use squall_parser::ast::Statement;
use squall_server_state::variables::{Values, ids};
use squall_statement_context::StatementContext;
use squall_types::{ErrorCode, Level, ModuleError, SqlError, SqlResult, Value};

/// What errors about arguments call it.
pub(crate) const SUBJECT: &str = "EXECUTE";
/// As much of a statement as is told with its error.
const SHOWN_CHARACTERS_MAX: usize = 80;
/// The savepoint of a list within a transaction. No identifier can name it.
const SAVEPOINT: &str = "\u{0}execute";
/// The condition that says which statement of a list has failed.
pub const FAILED_STATEMENT: ModuleError = ModuleError::new(50_101, b"HY000", "Statement %s of EXECUTE failed: %s");

/// How a list has ended.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ListEnd {
    /// Statements that have succeeded.
    pub statements: u64,
    /// Rows that they have changed.
    pub affected_rows: u64,
    /// What ended the list before its end.
    pub failed: Option<FailedStatement>,
}

/// A statement of a list that has failed.
#[derive(Clone, Debug, PartialEq)]
pub struct FailedStatement {
    /// Its place in the list, from 1.
    pub ordinal: u64,
    /// Its first characters, secrets masked.
    pub text: String,
    /// Its error.
    pub error: SqlError,
}

impl ListEnd {
    /// Ends a statement that has run the list: gives the error of the failed statement, after a note with its number.
    ///
    /// # Errors
    /// The error of the failed statement.
    pub(crate) fn into_result(self, context: &StatementContext) -> SqlResult<ListEnd> {
        let Some(failed) = self.failed else { return Ok(self) };
        let note = SqlError::of_module(&FAILED_STATEMENT, &[&failed.ordinal, &failed.text]);
        context.diagnostics.push(Level::Note, note);
        Err(failed.error)
    }
}

impl Session {
    /// Runs a list as one: within the transaction that is open or, if none is, in one of its own. What ends that transaction (COMMIT,
    /// ROLLBACK, a definition) ends the unit; statements behind it commit by themselves, or as the list says. Whatever the list has begun
    /// is committed at its end, and rolled back when a statement fails. A list that goes back to a savepoint from before it is in the same transaction
    /// still; it can then be taken back only with all of that.
    pub(crate) async fn run_list_as_one(&mut self, list: &Bytes, parameters: &[Value], is_child: bool) -> ListEnd {
        let savepoint = format!("{SAVEPOINT} {}", self.nesting.execute_depth);
        let around = self.transaction.open_id();
        let mut savepoints = Vec::new();
        match around {
            Some(_) => savepoints = self.mark_savepoint(&savepoint),
            None => self.open_explicit_transaction(),
        }
        let mut end = ListEnd::default();
        end.failed = self.run_list(list, parameters, is_child, &mut end).await.err();
        let is_within = around.is_some() && self.transaction.open_id() == around;
        let is_marked = is_within && self.has_savepoint(&savepoint);
        let ended = match (&end.failed, is_within) {
            (Some(_), _) if is_marked => self.take_back_to(&savepoint, savepoints),
            (Some(_), _) => {
                self.rollback().await;
                Ok(())
            }
            (None, true) => {
                self.forget_savepoint(&savepoint);
                Ok(())
            }
            (None, false) => self.commit().await,
        };
        if let Err(error) = ended
            && end.failed.is_none()
        {
            end.failed = Some(FailedStatement { ordinal: end.statements, text: "COMMIT".to_string(), error });
        }
        end
    }

    /// Runs statement after statement.
    async fn run_list(
        &mut self,
        list: &Bytes,
        parameters: &[Value],
        is_child: bool,
        end: &mut ListEnd,
    ) -> Result<(), FailedStatement> {
        let whole = Text::shared(list);
        let statements_max = Values(&self.shared.globals.load_values()).number(ids::EXECUTE_MAX_STATEMENTS);
        let (mut statements, mut values) = (Statements::of(&whole), parameters);
        loop {
            statements.skip_spaces();
            let ordinal = end.statements + 1;
            let failed = |session: &Session, text: &[u8], error| FailedStatement {
                ordinal,
                text: session.shown_beginning(text),
                error,
            };
            let read = self.next_statement(&mut statements).await;
            let read = read.map_err(|unread| failed(self, statements.rest(), unread.into()))?;
            let Some(statement) = read else { return Ok(()) };
            if matches!(statement.parsed.statement, Statement::Empty) {
                continue;
            }
            let result = match values.split_at_checked(statement.parsed.placeholders as usize) {
                _ if ordinal > statements_max => Err(too_many(statements_max)),
                None => Err(SqlError::new(ErrorCode::WrongArguments, &[&SUBJECT])),
                Some((own, rest)) => {
                    values = rest;
                    self.run_of_list(Request::of_text(&statement), own, is_child).await
                }
            };
            end.affected_rows += result.map_err(|error| failed(self, statement.text, error))?;
            end.statements += 1;
        }
    }

    /// Runs one statement of a list; gives the rows that it has changed.
    async fn run_of_list(&mut self, request: Request<'_>, parameters: &[Value], is_child: bool) -> SqlResult<u64> {
        if is_child {
            self.show_command("Execute", request.sql);
        }
        let mut writer = LastError::default();
        // However the account sends its statements, each of them counts for its limits.
        self.command.is_counted = !self.is_in_program();
        // Nothing is sent, so nothing can be refused.
        let ran = Box::pin(self.run_with_values(request, parameters, false, &mut writer)).await;
        let ran = ran.map_err(SqlError::internal)?;
        match writer.error {
            Some(error) if !ran => Err(error),
            _ => Ok(writer.affected_rows),
        }
    }

    /// The beginning of a statement without secrets.
    fn shown_beginning(&self, text: &[u8]) -> String {
        let mut masked = Vec::new();
        let bytes_max = 4 * SHOWN_CHARACTERS_MAX + 1024;
        squall_logs::text::push_statement(&mut masked, text, &self.parse_options(), bytes_max, false);
        String::from_utf8_lossy(&masked).trim_start().chars().take(SHOWN_CHARACTERS_MAX).collect()
    }
}

fn too_many(most: u64) -> SqlError {
    let what = format!("{SUBJECT}: the text has more than {most} statements (execute_max_statements)");
    SqlError::new(ErrorCode::WrongArguments, &[&what])
}
