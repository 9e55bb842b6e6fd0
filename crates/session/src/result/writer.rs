//! The interface of a session to its client: a front end implements it.
//!
//! A front end implements [`ResultWriter`]; a session calls it. The writer lives on the connection's thread, so rows of other threads
//! reach it through a bounded channel: a slow reader delays only its own query.

use squall_front_end::Peer;
use squall_instrumentation::{SocketUse, TlsUse};
use squall_types::{ErrorCode, RowWriter, SqlError, SqlType, Warning};
use std::net::IpAddr;
use std::sync::Arc;

pub use squall_front_end::LocalFuture;

/// Describes one column of a result set.
#[derive(Clone, Debug, PartialEq)]
pub struct ColumnMeta {
    /// Database of the underlying table, empty for expressions.
    pub database: Arc<str>,
    /// Alias of the table.
    pub table: Arc<str>,
    /// Name of the table.
    pub org_table: Arc<str>,
    /// Name or alias of the column.
    pub name: Arc<str>,
    /// Name of the column in its table.
    pub org_name: Arc<str>,
    /// Type, with length and collation.
    pub sql_type: SqlType,
    /// MySQL's column flags.
    pub flags: ColumnFlags,
}

/// Properties of a column for its flags. The encoder derives the flags that follow from the type.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct ColumnFlags {
    /// NOT NULL.
    pub not_null: bool,
    /// Part of the primary key.
    pub primary_key: bool,
    /// The whole of a unique key.
    pub unique_key: bool,
    /// First part of a key that is not unique.
    pub multiple_key: bool,
    /// Any part of any key.
    pub part_key: bool,
    /// AUTO_INCREMENT.
    pub auto_increment: bool,
    /// NOT NULL without a default.
    pub no_default_value: bool,
    /// ON UPDATE CURRENT_TIMESTAMP.
    pub on_update_now: bool,
}

/// The end of a statement without a result set.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OkInfo {
    /// Rows changed (found, with CLIENT_FOUND_ROWS).
    pub affected_rows: u64,
    /// First AUTO_INCREMENT value made by the statement, or 0.
    pub last_insert_id: u64,
    /// Text such as `Rows matched: 1  Changed: 1`.
    pub info: String,
    /// Whether the number of warnings follows that text, as in MySQL. The session adds it.
    pub tells_warnings: bool,
}

/// The session's state that goes with every OK and EOF packet.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StatusInfo {
    /// In a transaction.
    pub in_transaction: bool,
    /// In a READ ONLY transaction.
    pub in_read_only_transaction: bool,
    /// `autocommit`.
    pub autocommit: bool,
    /// Another result of the same statement or text follows.
    pub more_results: bool,
    /// NO_BACKSLASH_ESCAPES is on.
    pub no_backslash_escapes: bool,
    /// A cursor is open and its rows come by COM_STMT_FETCH.
    pub cursor_exists: bool,
    /// The last row of a cursor was sent.
    pub last_row_sent: bool,
    /// The result set holds the values of OUT parameters.
    pub out_parameters: bool,
    /// The default database was dropped.
    pub database_dropped: bool,
    /// The statement used no index / no good index; MySQL tells clients.
    pub no_index_used: bool,
    /// Warnings in the diagnostics area, at most 65535.
    pub warnings: u16,
    /// The reports of session tracking, in order.
    pub changes: Vec<SessionChange>,
}

/// One entry of session state tracking.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SessionChange {
    /// A tracked system variable was set: name and value.
    SystemVariable(String, String),
    /// The default database changed.
    Schema(String),
    /// Some state changed (`session_track_state_change`).
    StateChange,
    /// `session_track_transaction_info` characteristics text.
    TransactionCharacteristics(String),
    /// `session_track_transaction_info` state text, eight characters.
    TransactionState(String),
}

/// Where a statement's results go.
///
/// The order of calls is: any number of complete results, each either `begin_result_set`, rows, `end_result_set`, or
/// `ok`; an `error` ends everything. `status.more_results` says whether another result follows.
pub trait ResultWriter: RowWriter {
    /// Another `character_set_results` than when the command began, for what follows.
    fn set_results_collation(&mut self, _collation: Option<u16>) {}
    /// Column definitions; rows follow.
    fn begin_result_set(&mut self, columns: &[ColumnMeta]);
    /// As [`ResultWriter::begin_result_set`] for columns that come again and again: a writer may remember how they are
    /// written.
    fn begin_kept_result_set(&mut self, columns: &Arc<[ColumnMeta]>) {
        self.begin_result_set(columns);
    }
    /// All rows were given.
    fn end_result_set(&mut self, status: &StatusInfo);
    /// A statement without rows has succeeded.
    fn ok(&mut self, ok: &OkInfo, status: &StatusInfo);
    /// Warnings and notes of the statement whose result has just ended; only for texts by
    /// [`Connection::run_text`](crate::api::Connection::run_text), and only if there are any.
    fn conditions(&mut self, _conditions: &[Warning]) {}
    /// The statement failed (perhaps after some rows).
    fn error(&mut self, error: &SqlError);
    /// Whether no more rows of this result set are wanted, so that its query may stop as if they had all come.
    fn is_satisfied(&self) -> bool {
        false
    }
    /// Whether [`ResultWriter::flush`] should be awaited before more rows or the next statement: enough is buffered, or
    /// others have waited long enough for this thread. Never, for a writer that keeps everything.
    fn needs_flush(&self) -> bool {
        false
    }
    /// Sends what is buffered, and lets other connections run if the time slice has ended. An error means that the
    /// client is gone: stop the statement.
    fn flush(&mut self) -> LocalFuture<'_, std::io::Result<()>> {
        Box::pin(async { Ok(()) })
    }
    /// `LOAD DATA LOCAL`: asks the client for a file and gives its contents as they come. A writer without a client
    /// refuses with 3948.
    fn local_infile<'a>(&'a mut self, _name: &'a str) -> LocalFuture<'a, Result<(), SqlError>> {
        Box::pin(async { Err(SqlError::new(ErrorCode::LocalInfileDisabled, &[])) })
    }
    /// The next piece of the file that `local_infile` asked for; `None` at its end. After an error the statement must
    /// still read to the end, as the protocol wants.
    fn local_infile_chunk(&mut self) -> LocalFuture<'_, Result<Option<Vec<u8>>, SqlError>> {
        Box::pin(async { Ok(None) })
    }
}

/// The client that connects, and from where.
#[derive(Clone, Debug, Default)]
pub struct ConnectionInfo {
    /// User name as sent.
    pub user: String,
    /// Peer: `None` for a Unix socket and for in-process use.
    pub address: Option<IpAddr>,
    /// Peer's port; 0 where there is none, or where it is not known any more.
    pub port: u16,
    /// Default database asked for; empty for none.
    pub database: String,
    /// Collation id of the handshake.
    pub collation: u16,
    /// CLIENT_FOUND_ROWS.
    pub found_rows: bool,
    /// CLIENT_INTERACTIVE: `interactive_timeout` instead of `wait_timeout`.
    pub interactive: bool,
    /// CLIENT_MULTI_STATEMENTS.
    pub multi_statements: bool,
    /// CLIENT_LOCAL_FILES.
    pub local_files: bool,
    /// CLIENT_IGNORE_SPACE.
    pub ignore_space: bool,
    /// How the connection is encrypted, if it is.
    pub tls: Option<Arc<TlsUse>>,
    /// Connection attributes.
    pub attributes: Vec<(String, String)>,
    /// COM_CHANGE_USER: the client has had another session before.
    pub changes_user: bool,
    /// There are `max_connections` others: only accounts with CONNECTION_ADMIN get in.
    pub beyond_limit: bool,
    /// It came by the administrative interface, which has its own privilege.
    pub administrative: bool,
    /// The session whose EXECUTE it works for.
    pub parent: Option<u64>,
    /// The counters of its socket; `None` without one.
    pub socket: Option<Arc<SocketUse>>,
}

impl ConnectionInfo {
    /// A client of a front end, with what no other protocol than MySQL's lets it choose as it is for other sessions by default.
    pub fn new(user: String, peer: &Peer) -> ConnectionInfo {
        let address = peer.address;
        ConnectionInfo {
            user,
            address: address.map(|address| address.ip().to_canonical()),
            port: address.map_or(0, |address| address.port()),
            administrative: peer.administrative,
            ..ConnectionInfo::default()
        }
    }
}

/// How long a client may hold a connection up in the middle of a packet or a result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NetTimeouts {
    /// `net_read_timeout`, seconds: until more of a packet or of a file comes.
    pub read_seconds: u64,
    /// `net_write_timeout`, seconds: until the client takes more of a result.
    pub write_seconds: u64,
}
