//! The interface between a front end and its server.

use std::net::IpAddr;

use squall_catalog::{LoginBlock, TlsRequirement};

/// An account as authentication needs it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Account {
    /// User part of the account.
    pub user: String,
    /// Host part of the account.
    pub host: String,
    /// `caching_sha2_password`, `mysql_native_password`, …
    pub plugin: String,
    /// `authentication_string`: the stored verifier; empty for no password.
    pub authentication: Vec<u8>,
    /// The verifier of the password before, which RETAIN CURRENT PASSWORD keeps valid; empty for none.
    pub second_authentication: Vec<u8>,
    /// When the password was set, microseconds since 1970 UTC.
    pub password_changed_micros: i64,
    /// ACCOUNT LOCK.
    pub locked: bool,
    /// Whether the password has expired, by PASSWORD EXPIRE or by its age.
    pub password_expired: bool,
    /// REQUIRE.
    pub tls: TlsRequirement,
}

impl Account {
    /// The verifiers of which a password has to match one: the first, and the second if there is one.
    pub fn verifiers(&self) -> impl Iterator<Item = &[u8]> {
        let second = Some(&*self.second_authentication).filter(|second| !second.is_empty());
        std::iter::once(&*self.authentication).chain(second)
    }
}

/// Settings that hold for every protocol; read again for every connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FrontEndSettings {
    /// `max_connections`.
    pub max_connections: usize,
    /// `connect_timeout`: how long a client may take to log in.
    pub connect_timeout_seconds: u64,
    /// `net_write_timeout`: how long a client may refuse to read.
    pub net_write_timeout_seconds: u64,
    /// `require_secure_transport`: refuse TCP without TLS.
    pub require_secure_transport: bool,
}

/// A server, as its front end sees it: settings, accounts, and who wants to know what becomes of connections. It is called on event
/// loops, so nothing here waits.
pub trait FrontEndContext: Send + Sync {
    /// The settings as they are now.
    fn front_end_settings(&self) -> FrontEndSettings;
    /// The account that `user` from `address` is; `None` if there is none.
    fn account(&self, user: &str, address: Option<IpAddr>) -> Option<Account>;
    /// A client has given the right or a wrong password of an account. Returns why it is refused all the same, if too many were wrong
    /// (FAILED_LOGIN_ATTEMPTS).
    fn count_login(&self, _account: &Account, _is_right: bool) -> Option<LoginBlock> {
        None
    }
    /// The client of a connection is gone while a statement of it runs: the statement has to stop, and the connection.
    fn client_gone(&self, connection_id: u64);
    /// A connection that ended without the client's good-bye (`Aborted_clients`).
    fn connection_aborted(&self, connection_id: u64);
    /// A connection that ended before it had a session (`Aborted_connects`).
    fn connect_failed(&self);
    /// A connection that was refused before it could say anything, because there were too many
    /// (`Connection_errors_max_connections`).
    fn connection_refused(&self);
    /// A connection that goes on on another event loop (`Connections_moved`).
    fn connection_moved(&self);
}
