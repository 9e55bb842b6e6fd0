//! The interface between what speaks to clients (a protocol, the shell, an embedding program) and a session.
//!
//! A protocol drives [`Connection`]s, which it gets from a [`Backend`] ([`log_in`], if its clients send their passwords as they are); results
//! come through its [`ResultWriter`].

mod login;

pub use crate::plans::{AtOnce, Unanswered};
pub use crate::result::description::{ColumnDescription, ParameterDescription, RoutineDescription, TableDescription};
pub use crate::result::followed_table::{FollowedTable, TableChange};
pub use crate::result::writer::{
    ColumnFlags, ColumnMeta, ConnectionInfo, LocalFuture, NetTimeouts, OkInfo, ResultWriter, SessionChange, StatusInfo,
};
use bytes::Bytes;
pub use login::{Credentials, log_in, log_in_confirmed};
pub use squall_accounting::{GrowingCharge, SessionMemory};
pub use squall_catalog::account::host_matches;
pub use squall_front_end::{Account, FrontEndContext, FrontEndSettings, Listeners, TlsRequirement};
pub use squall_instrumentation::{KillCallback, SocketUse, TlsUse};
pub use squall_row_store::{OnChanges, RowChangeKind};
pub use squall_types::RowWriter;
use squall_types::SqlError;
use std::collections::BTreeSet;
use std::sync::Arc;

/// The answer to COM_STMT_PREPARE.
#[derive(Clone, Debug, PartialEq)]
pub struct PreparedInfo {
    /// Statement id.
    pub id: u32,
    /// Number of `?`, at most 65535.
    pub parameters: u16,
    /// Columns of its result set, empty if it has none.
    pub columns: Vec<ColumnMeta>,
    /// Warnings of preparing.
    pub warnings: u16,
}

/// Statements that are not of MySQL's protocol.
#[derive(Debug)]
pub struct TextRequest<'a> {
    /// How the process list names the command, such as `Http`.
    pub command: &'static str,
    /// One statement or several, in UTF-8.
    pub sql: &'a Bytes,
    /// A value for each `?` of them, in order (1210 for more or fewer). They are values, never parts of a statement's text.
    pub values: Vec<squall_types::Value>,
}

/// Calls that a front end makes; the socket server drives one of these per connection.
///
/// Every call that runs a statement reports through the writer, errors included; the returned `io::Error` means only
/// that the client is gone.
pub trait Connection: Send {
    /// COM_QUERY: one text, possibly of several statements.
    fn query<'a>(
        &'a mut self,
        sql: &'a Bytes,
        unanswered: Unanswered,
        writer: &'a mut dyn ResultWriter,
    ) -> LocalFuture<'a, std::io::Result<()>>;
    /// A text of another protocol than MySQL's. Each statement's warnings and notes follow its result ([`ResultWriter::conditions`]).
    fn run_text<'a>(
        &'a mut self,
        text: TextRequest<'a>,
        writer: &'a mut dyn ResultWriter,
    ) -> LocalFuture<'a, std::io::Result<()>>;
    /// What the session's memory is charged to, for results that are kept.
    fn memory(&self) -> Arc<SessionMemory>;
    /// A table or view, as the account sees it.
    ///
    /// # Errors
    /// 1142 if the account has no privilege on it, whether it exists or not; 1049, 1146, 1356.
    fn describe_table(&mut self, database: &str, table: &str) -> Result<TableDescription, SqlError>;
    /// Follows a base table: its committed changes from now on, or from a position on that was followed before. `None` if changes since then
    /// are not known any more. `on_changes` is called, from any thread, when there may be something new.
    ///
    /// # Errors
    /// 1142 if the account has no privilege on it; 1146 for everything but a base table.
    fn follow_table(
        &mut self,
        database: &str,
        table: &str,
        from: Option<u64>,
        on_changes: OnChanges,
    ) -> Result<Option<FollowedTable>, SqlError>;
    /// A stored procedure or function.
    ///
    /// # Errors
    /// 1370 if the account may not call it, whether it exists or not; 1305.
    fn describe_routine(
        &mut self,
        database: &str,
        name: &str,
        is_function: bool,
    ) -> Result<RoutineDescription, SqlError>;
    /// From now on its statements may change nothing, as in a READ ONLY transaction that they cannot leave (1792).
    fn set_read_only(&mut self);
    /// From now on its statements reach only these databases, with the privileges that its account has on them, and none of the server's
    /// (1044, 1142, 1227). They define no programs and grant nothing, and the account itself is out of their reach.
    fn limit_to_databases(&mut self, databases: BTreeSet<String>);
    /// Whether the account has a privilege on the whole server: PROCESS, SUPER, or one of the dynamic ones.
    fn has_privilege(&self, name: &str) -> bool;
    /// The same whatever databases the session is limited to.
    fn account_has_privilege(&self, name: &str) -> bool;
    /// Answers a text whose route is known and waits for nothing. Otherwise nothing has been written, and [`Connection::query`] follows with
    /// the same text and what was found out.
    fn query_at_once(&mut self, sql: &[u8], writer: &mut dyn ResultWriter) -> AtOnce;
    /// The same for COM_STMT_EXECUTE without a cursor; otherwise [`Connection::execute`] follows.
    fn execute_at_once(&mut self, id: u32, parameters: &[squall_types::Value], writer: &mut dyn ResultWriter)
    -> AtOnce;
    /// COM_STMT_PREPARE.
    fn prepare<'a>(&'a mut self, sql: &'a [u8]) -> LocalFuture<'a, Result<PreparedInfo, SqlError>>;
    /// COM_STMT_EXECUTE. `parameters` are typed by the client; with `cursor` rows wait for [`Connection::fetch`].
    fn execute<'a>(
        &'a mut self,
        id: u32,
        parameters: Vec<squall_types::Value>,
        cursor: bool,
        unanswered: Unanswered,
        writer: &'a mut dyn ResultWriter,
    ) -> LocalFuture<'a, std::io::Result<()>>;
    /// COM_STMT_FETCH: the next `rows` rows of an open cursor (no column definitions), then `end_result_set`.
    fn fetch<'a>(
        &'a mut self,
        id: u32,
        rows: u32,
        writer: &'a mut dyn ResultWriter,
    ) -> LocalFuture<'a, std::io::Result<()>>;
    /// Columns of a prepared statement's result, for writers that must know them before `fetch`.
    fn prepared_columns(&self, id: u32) -> Option<Arc<[ColumnMeta]>>;
    /// COM_STMT_CLOSE; unknown ids are ignored, as MySQL does.
    fn close_statement(&mut self, id: u32);
    /// COM_STMT_SEND_LONG_DATA: a piece of a parameter's value has come.
    fn count_long_data(&mut self);
    /// COM_STMT_RESET: closes the cursor.
    fn reset_statement(&mut self, id: u32) -> Result<(), SqlError>;
    /// COM_INIT_DB.
    fn use_database(&mut self, name: &str) -> Result<(), SqlError>;
    /// COM_FIELD_LIST: columns of a table whose names match the wildcard.
    fn field_list(&mut self, table: &str, wildcard: &str) -> Result<Vec<ColumnMeta>, SqlError>;
    /// COM_STATISTICS' line.
    fn statistics(&self) -> String;
    /// COM_SET_OPTION: multi-statements on or off.
    fn set_multi_statements(&mut self, on: bool);
    /// COM_PROCESS_KILL.
    fn kill(&mut self, connection_id: u64) -> Result<(), SqlError>;
    /// COM_SHUTDOWN: the server stops, when the answer has been sent.
    fn shut_down(&mut self) -> Result<(), SqlError>;
    /// COM_RESET_CONNECTION: as if newly connected.
    fn reset(&mut self);
    /// The state for OK packets that the front end makes itself (PING, INIT_DB …). Clears the reported changes.
    fn status(&mut self) -> StatusInfo;
    /// `CONNECTION_ID()`.
    fn connection_id(&self) -> u64;
    /// `wait_timeout` (or `interactive_timeout`) in seconds.
    fn idle_timeout_seconds(&self) -> u64;
    /// How long to look for the next command before the loop sleeps; zero: not at all.
    fn busy_poll(&self) -> std::time::Duration;
    /// How long to wait for the client in the middle of something.
    fn net_timeouts(&self) -> NetTimeouts;
    /// `max_allowed_packet`, bytes.
    fn max_allowed_packet(&self) -> usize;
    /// `character_set_results`' collation id, `None` for NULL (no conversion).
    fn results_collation(&self) -> Option<u16>;
    /// Whether the client's library has heard of MySQL 9's type VECTOR.
    fn knows_vectors(&self) -> bool {
        true
    }
    /// `character_set_client`'s collation id, in which text parameters come.
    fn client_collation(&self) -> u16;
    /// Whether KILL CONNECTION hit this connection.
    fn is_killed(&self) -> bool;
    /// A command that the front end answers by itself (`Ping`, `Quit` …), for the general log.
    fn note_command(&mut self, name: &'static str);
}

/// Settings that the handshake of MySQL's protocol needs beside those of every protocol; read again for every connection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HandshakeSettings {
    /// `version`.
    pub version: String,
    /// `collation_server`, by id.
    pub collation: u16,
    /// `protocol_compression_algorithms`.
    pub compression: CompressionAlgorithms,
}

/// How new connections may be compressed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CompressionAlgorithms {
    /// By zlib.
    pub zlib: bool,
    /// By Zstandard.
    pub zstd: bool,
    /// Not at all.
    pub uncompressed: bool,
}

/// The interface of a database for protocols, outside of any session.
pub trait Backend: FrontEndContext {
    /// The settings of a handshake as they are now.
    fn handshake_settings(&self) -> HandshakeSettings;
    /// A number that no connection has had since the start.
    fn next_connection_id(&self) -> u64;
    /// A session for an authenticated account. The front end has checked password, lock and TLS; the session checks the
    /// default database. COM_CHANGE_USER drops the old session first and gives the same id again.
    fn connect(
        &self,
        connection_id: u64,
        account: &Account,
        info: ConnectionInfo,
        on_kill: KillCallback,
    ) -> Result<Box<dyn Connection>, SqlError>;
    /// The account of this name and host, if there is one. Only clients whose address is one of its host ([`host_matches`]) may be it.
    fn account_named(&self, _user: &str, _host: &str) -> Option<Account> {
        None
    }
    /// A client could not log in; for the logs.
    fn login_refused(&self, connection_id: u64, info: &ConnectionInfo, error: &SqlError);
    /// A front end serves the database from now on: modules may open listeners, now and later.
    fn front_end_started(&self, _listeners: &Listeners) {}
}
