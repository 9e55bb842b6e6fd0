//! The state of a session for the logs.

use squall_logs::Client;
use squall_types::Value;

/// Memory that a session keeps for its next entry, bytes.
pub(crate) const BUFFER_BYTES_KEPT: usize = 64 << 10;

/// A session's part in the logs.
#[derive(Debug, Default)]
pub(crate) struct SessionLog {
    pub client: Client,
    /// Statements that were logged.
    pub query_id: u64,
    /// The statement's text as it is logged.
    pub text: Vec<u8>,
    /// An entry on its way to its file.
    pub buffer: Vec<u8>,
}

impl SessionLog {
    pub(crate) fn new(client: Client) -> SessionLog {
        SessionLog { client, ..Default::default() }
    }
}

/// A statement's text and where its values go.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Logged<'a> {
    pub sql: &'a [u8],
    /// Of a prepared statement: where its `?` stand, and its values.
    pub executed: Option<(&'a [usize], &'a [Value])>,
}

impl Logged<'_> {
    /// The command of the protocol.
    pub fn command(&self) -> &'static str {
        if self.executed.is_some() { "Execute" } else { "Query" }
    }
}
