//! Long statements. Parsing them, binding them and dropping their trees takes long, so the query pool does it: a connection's thread
//! also serves other connections.

use bytes::Bytes;
use squall_accounting::SessionMemory;
use squall_executor::runtime::{QueryRuntime, ReservedMemory};
use squall_parser::ast::Statement;
use squall_parser::{Digest, ParseError, ParseOptions, Parsed, parse_shared};
use squall_types::SqlResult;
use std::ops::Deref;
use std::sync::Arc;
use tokio::runtime::Handle;

/// Longest statement that a connection's own thread reads.
pub(crate) const BYTES_MAX: usize = 64 << 10;

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
    /// Its text.
    pub fn sql(&self) -> &[u8] {
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
pub(crate) enum ParsedStatement {
    /// On the connection's own thread.
    Short(Parsed),
    /// On the pool, where it is also dropped.
    Long(Arc<LongStatement>),
}

impl ParsedStatement {
    /// Parses the statement of a text that begins at `start`, on a thread of the pool.
    ///
    /// # Errors
    /// 1041 if there is no memory for its tree; the inner result has the errors of the text.
    pub fn parse(
        (text, start): (Bytes, usize),
        options: &ParseOptions,
        runtime: &QueryRuntime,
        memory: &Arc<SessionMemory>,
    ) -> SqlResult<Result<ParsedStatement, ParseError>> {
        let parsed = match parse_shared(&text, start, options) {
            Ok(parsed) => parsed,
            Err(error) => return Ok(Err(error)),
        };
        if parsed.end <= BYTES_MAX {
            return Ok(Ok(ParsedStatement::Short(parsed)));
        }
        let reserved = runtime.reserve_for_statement(memory, parsed.memory)?;
        let digest = Arc::new(squall_parser::digest(&text[start..start + parsed.end], options));
        let long = LongStatement { text, start, parsed, digest, pool: runtime.pool().clone(), reserved };
        Ok(Ok(ParsedStatement::Long(Arc::new(long))))
    }

    pub fn long(&self) -> Option<&Arc<LongStatement>> {
        match self {
            Self::Short(_) => None,
            Self::Long(statement) => Some(statement),
        }
    }
}

impl Deref for ParsedStatement {
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

    /// The text for other threads, if the statement that begins at `start` is long, as far as a glance tells.
    pub fn long_from(&self, start: usize) -> Option<&Bytes> {
        let rest = &self.bytes[start..];
        self.shared.as_ref().filter(|_| rest.len() > BYTES_MAX && !ends_soon(rest))
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
