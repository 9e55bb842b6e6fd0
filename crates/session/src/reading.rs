//! Decodes, parses and binds texts of clients; long texts on the query pool.

use crate::client_text::ClientText;
use crate::database::Shared;
use crate::plans::long_statement::{BYTES_MAX, LongStatement, ParsedStatement, Text};
use crate::plans::statements::{Statements, TextStatement, Unread, syntax_error_near};
use crate::query::SessionTables;
use crate::session::{Bindable, Request, Session, SessionState, parse_error};
use squall_catalog::Catalog;
use squall_parser::ast::Statement;
use squall_parser::{ParseError, parse_bytes};
use squall_planner::{Binder, KeptParameters};
use squall_types::{SqlResult, Value};
use std::sync::Arc;

impl Session {
    /// Reads the next statement of a text; `None` at its end.
    pub(crate) async fn next_statement<'t>(
        &self,
        statements: &mut Statements<'_, 't>,
    ) -> Result<Option<TextStatement<'t>>, Unread> {
        let Some(start) = statements.next_start() else { return Ok(None) };
        let read = self.parse_statement(statements.whole(), start).await.map_err(Unread::Failed)?;
        let parsed = read.map_err(|error| Unread::Unparsed(parse_error(error)))?;
        Ok(Some(statements.advance(parsed)))
    }

    /// Reads a text that has to be one statement.
    ///
    /// # Errors
    /// 1064 for any other text.
    pub(crate) async fn only_statement<'t>(&self, text: &Text<'t>) -> SqlResult<TextStatement<'t>> {
        let mut statements = Statements::of(text);
        let statement = self.next_statement(&mut statements).await?;
        let statement = statement.ok_or_else(|| syntax_error_near(text.bytes(), 0))?;
        if statement.is_last() { Ok(statement) } else { Err(statement.unexpected_next()) }
    }

    /// Parses the statement of a text that begins at `start`.
    async fn parse_statement(&self, text: &Text<'_>, start: usize) -> SqlResult<Result<ParsedStatement, ParseError>> {
        let options = self.parse_options();
        let Some(shared) = text.long_from(start) else {
            return Ok(parse_bytes(&text.bytes()[start..], &options).map(ParsedStatement::Short));
        };
        let (shared, memory) = (shared.clone(), self.process.memory.clone());
        self.blocking(move |state| ParsedStatement::parse((shared, start), &options, &state.runtime, &memory)).await
    }

    /// A client's text as UTF-8.
    pub(crate) async fn read_client_text<'t>(&self, bytes: &'t [u8]) -> SqlResult<ClientText<'t>> {
        if let Some(text) = self.read_short_client_text(bytes) {
            return Ok(text);
        }
        let (bytes, charset, options): (Arc<[u8]>, _, _) = (bytes.into(), self.client_charset(), self.parse_options());
        self.blocking(move |_| Ok(ClientText::new(&bytes, charset, &options).into_owned())).await
    }

    /// Binds on the pool what is a long statement's; `None` if the request's statement is not long.
    pub(crate) async fn bind_long<T: Send + 'static>(
        &self,
        run: &Bindable<'_>,
        catalog: &Arc<Catalog>,
        bind: impl FnOnce(&Binder<'_>, &Statement, &Shared) -> SqlResult<T> + Send + 'static,
    ) -> SqlResult<Option<T>> {
        let Some(long) = run.request.long_statement().cloned() else { return Ok(None) };
        let tables = SessionTables::new(self, &run.context, None);
        let (catalog, context) = (catalog.clone(), run.context.clone());
        let (database, parameters): (_, Vec<Value>) =
            (self.default_database().cloned(), run.request.parameters.to_vec());
        self.blocking(move |shared| {
            let binder = Binder {
                catalog: &catalog,
                default_database: database.as_deref(),
                registry: &shared.registry,
                context: &context,
                tables: &tables,
                params: &parameters,
                text: long.sql(),
                kept_parameters: KeptParameters::None,
                insert_values: None,
                source_subqueries: &[],
                row_keys_of_views: false,
                change_locks: Default::default(),
            };
            bind(&binder, long.statement(), shared)
        })
        .await
        .map(Some)
    }
}

impl SessionState {
    /// The same, where it takes no time worth mentioning.
    pub(crate) fn read_short_client_text<'t>(&self, bytes: &'t [u8]) -> Option<ClientText<'t>> {
        let is_short = bytes.len() <= BYTES_MAX || self.settings.client_is_utf8;
        is_short.then(|| ClientText::new(bytes, self.client_charset(), &self.parse_options()))
    }
}

impl<'a> Request<'a> {
    /// The statement as one that other threads can have, if it is long and the one that was sent.
    pub(crate) fn long_statement(&self) -> Option<&'a Arc<LongStatement>> {
        self.long.filter(|long| std::ptr::eq(long.statement(), self.statement))
    }
}
