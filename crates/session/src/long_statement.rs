//! Statements of many bytes: reading and binding them, and letting go of their trees, takes so long that it is done on the
//! query pool. A connection's thread is shared with other connections.

use crate::client_text::ClientText;
use crate::database::Shared;
use crate::query::SessionTables;
use crate::session::{Request, Session, StatementRun};
use bytes::Bytes;
use squall_catalog::Catalog;
use squall_executor::runtime::ReservedMemory;
use squall_parser::ast::Statement;
use squall_parser::{Digest, ParseError, Parsed, parse_bytes, parse_shared};
use squall_planner::Binder;
use squall_types::{SqlResult, Value};
use std::ops::Deref;
use std::sync::Arc;
use tokio::runtime::Handle;

/// Longest statement that a connection's own thread reads.
const BYTES_MAX: usize = 64 << 10;

/// A statement of a long text.
#[derive(Debug)]
pub(crate) struct LongStatement {
    text: Bytes,
    start: usize,
    parsed: Parsed,
    digest: Arc<Digest>,
    pool: Handle,
    /// The session's share of the memory pool for it.
    #[expect(dead_code, reason = "given back when the statement goes")]
    reserved: ReservedMemory,
}

impl Drop for LongStatement {
    fn drop(&mut self) {
        let statement = std::mem::replace(&mut self.parsed.statement, Statement::UnlockTables);
        self.pool.spawn_blocking(move || drop(statement));
    }
}

impl LongStatement {
    fn sql(&self) -> &[u8] {
        &self.text[self.start..self.start + self.parsed.end]
    }

    /// Its tree.
    pub fn statement(&self) -> &Statement {
        &self.parsed.statement
    }

    /// Its digest, which was made where it was parsed.
    pub fn digest(&self) -> &Arc<Digest> {
        &self.digest
    }
}

/// A statement of a text, parsed.
#[derive(Debug)]
pub(crate) enum ReadStatement {
    /// On the connection's own thread.
    Short(Parsed),
    /// On the pool, where it is also dropped.
    Long(Arc<LongStatement>),
}

impl ReadStatement {
    pub fn long(&self) -> Option<&Arc<LongStatement>> {
        match self {
            Self::Short(_) => None,
            Self::Long(statement) => Some(statement),
        }
    }
}

impl Deref for ReadStatement {
    type Target = Parsed;

    fn deref(&self) -> &Parsed {
        match self {
            Self::Short(parsed) => parsed,
            Self::Long(statement) => &statement.parsed,
        }
    }
}

/// A text with statements.
pub(crate) struct Text<'t> {
    bytes: &'t [u8],
    /// The same for other threads, if it is long.
    shared: Option<Bytes>,
}

impl<'t> Text<'t> {
    /// A text that is copied, if it is long.
    pub fn new(bytes: &'t [u8]) -> Self {
        Self { bytes, shared: (bytes.len() > BYTES_MAX).then(|| Bytes::copy_from_slice(bytes)) }
    }

    /// A text that others may keep.
    pub fn shared(bytes: &'t Bytes) -> Self {
        Self { bytes, shared: (bytes.len() > BYTES_MAX).then(|| bytes.clone()) }
    }

    /// All of it.
    pub fn bytes(&self) -> &'t [u8] {
        self.bytes
    }
}

impl Session {
    /// Parses the statement of a text that begins at `start`.
    pub(crate) async fn read_statement(
        &self,
        text: &Text<'_>,
        start: usize,
    ) -> SqlResult<Result<ReadStatement, ParseError>> {
        let options = self.parse_options();
        let rest = &text.bytes[start..];
        let Some(shared) = text.shared.as_ref().filter(|_| rest.len() > BYTES_MAX && !ends_soon(rest)) else {
            return Ok(parse_bytes(rest, &options).map(ReadStatement::Short));
        };
        let (shared, memory) = (shared.clone(), self.process.memory.clone());
        self.blocking(move |database| {
            let parsed = match parse_shared(&shared, start, &options) {
                Ok(parsed) => parsed,
                Err(error) => return Ok(Err(error)),
            };
            if parsed.end <= BYTES_MAX {
                return Ok(Ok(ReadStatement::Short(parsed)));
            }
            let reserved = database.runtime.reserve_for_statement(&memory, parsed.memory)?;
            let digest = Arc::new(squall_parser::digest(&shared[start..start + parsed.end], &options));
            let pool = database.runtime.pool().clone();
            let long = LongStatement { text: shared, start, parsed, digest, pool, reserved };
            Ok(Ok(ReadStatement::Long(Arc::new(long))))
        })
        .await
    }

    /// A client's text as UTF-8.
    pub(crate) async fn read_client_text<'t>(&self, bytes: &'t [u8]) -> SqlResult<ClientText<'t>> {
        if let Some(text) = self.read_short_client_text(bytes) {
            return Ok(text);
        }
        let (bytes, charset, options): (Arc<[u8]>, _, _) = (bytes.into(), self.client_charset(), self.parse_options());
        self.blocking(move |_| Ok(ClientText::new(&bytes, charset, &options).into_owned())).await
    }

    /// The same, where it takes no time worth mentioning.
    pub(crate) fn read_short_client_text<'t>(&self, bytes: &'t [u8]) -> Option<ClientText<'t>> {
        let is_short = bytes.len() <= BYTES_MAX || self.settings.client_is_utf8;
        is_short.then(|| ClientText::new(bytes, self.client_charset(), &self.parse_options()))
    }

    /// Binds on the pool what is a long statement's; `None` if the request's statement is not long.
    pub(crate) async fn bind_long<T: Send + 'static>(
        &self,
        run: &StatementRun<'_>,
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
                keeps_parameters: false,
                insert_values: None,
                row_keys_of_views: false,
                change_locks: Default::default(),
            };
            bind(&binder, &long.parsed.statement, shared)
        })
        .await
        .map(Some)
    }
}

impl<'a> Request<'a> {
    /// The statement as one that other threads can have, if it is long and the one that was sent.
    pub(crate) fn long_statement(&self) -> Option<&'a Arc<LongStatement>> {
        self.long.filter(|long| std::ptr::eq(&long.parsed.statement, self.statement))
    }
}

/// Whether the first statement of a long text ends within what is read here, as far as a glance tells: texts of thousands
/// of short statements are not sent to the pool thousands of times.
fn ends_soon(text: &[u8]) -> bool {
    let text = &text[..text.len().min(BYTES_MAX)];
    let mut at = 0;
    while let Some(&byte) = text.get(at) {
        at = match byte {
            b';' => return true,
            b'\'' | b'"' | b'`' => match memchr::memchr(byte, &text[at + 1..]) {
                Some(length) if !text[at + 1..at + 1 + length].contains(&b'\\') => at + length + 2,
                _ => return false,
            },
            b'/' | b'-' | b'#' if text[at..].starts_with(b"/*") || text[at..].starts_with(b"--") || byte == b'#' => {
                return false;
            }
            _ => at + 1,
        };
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ends_are_found_outside_of_strings_only() {
        for text in ["DO 1;", "SELECT ';', \"a\", `b`;", "SELECT 1 - 1 / 1;"] {
            assert!(ends_soon(text.as_bytes()), "{text}");
        }
        for text in
            ["DO 1", "SELECT ';'", "SELECT '\\';';", "SELECT 1 -- ;", "SELECT 1 /* ; */", "SELECT 1 # ;", "SELECT 'a;"]
        {
            assert!(!ends_soon(text.as_bytes()), "{text}");
        }
    }
}
