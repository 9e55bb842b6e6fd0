//! Diagnostics of a statement.

/// The client that sends statements.
#[derive(Clone, Debug, Default)]
pub struct Client {
    /// `CONNECTION_ID()`.
    pub id: u64,
    /// That of the session whose EXECUTE it works for.
    pub parent: Option<u64>,
    /// User as the client gave it.
    pub user: String,
    /// User of the account that matched.
    pub account_user: String,
    /// `localhost` or an address.
    pub host: String,
    /// The address; empty for a Unix socket and for this process itself.
    pub address: String,
    /// When it connected, microseconds since 1970.
    pub since_micros: i64,
    /// `account[user] @ host [address]`, as MySQL's logs and tables show who it was; see [`Client::described`].
    pub user_host: String,
}

impl Client {
    /// With [`Client::user_host`] made from the rest.
    pub fn described(mut self) -> Client {
        self.user_host = format!("{}[{}] @ {} [{}]", self.account_user, self.user, self.host, self.address);
        self
    }
}

/// A statement or another command, as far as it has come.
#[derive(Clone, Copy, Debug)]
pub struct Entry<'a> {
    /// The client that sent it.
    pub client: &'a Client,
    /// Number of the statement in its session.
    pub query_id: u64,
    /// `Query`, `Execute`, `Connect` …
    pub command: &'a str,
    /// The default database.
    pub database: Option<&'a str>,
    /// Its text, cut and without secrets.
    pub text: &'a [u8],
    /// When it began, microseconds since 1970.
    pub start_micros: i64,
    /// When this is written, microseconds since 1970.
    pub now_micros: i64,
    /// What it did; `None` while it has not ended.
    pub work: Option<Work>,
}

impl Entry<'_> {
    /// How long it took so far, microseconds.
    pub fn micros(&self) -> u64 {
        u64::try_from(self.now_micros - self.start_micros).unwrap_or(0)
    }

    /// How long its session has been there, microseconds.
    pub fn session_micros(&self) -> u64 {
        u64::try_from(self.now_micros - self.client.since_micros).unwrap_or(0)
    }
}

/// What a statement did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Work {
    /// Rows read from tables.
    pub rows_examined: u64,
    /// Rows of its result.
    pub rows_sent: u64,
    /// Rows changed.
    pub rows_affected: u64,
    /// Microseconds that it waited for row locks.
    pub lock_micros: u64,
    /// Temporary tables; Squall's plans make none.
    pub tmp_tables: u64,
    /// Warnings, notes and errors.
    pub warnings: u64,
    /// The number of its error, or 0.
    pub error: u16,
    /// `LAST_INSERT_ID()` after it.
    pub last_insert_id: u64,
}
