//! The settings of the HTTP server, as its module reads them from variables.

use std::time::Duration;

/// Which connections have to be encrypted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum TlsRule {
    /// None can be.
    Off,
    /// Those of other machines.
    #[default]
    RequiredIfRemote,
    /// All.
    Required,
}

/// The ways in which a client may prove its account.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct AuthMethods {
    /// User and password with each request.
    pub basic: bool,
    /// An API token with each request.
    pub bearer: bool,
    /// The cookie of `POST /1.0/session`.
    pub session: bool,
}

/// The settings; read anew for every request.
#[derive(Clone, Debug, Default)]
pub struct HttpSettings {
    /// `json_server_tls`.
    pub tls: TlsRule,
    /// `json_server_auth`.
    pub auth: AuthMethods,
    /// `json_server_anonymous_account`: user and host of the account of requests without credentials.
    pub anonymous_account: Option<(String, String)>,
    /// `json_server_max_threads`: requests that run at once; others wait.
    pub requests_max: usize,
    /// `json_server_max_requests_per_second`: of one account; 0 for no limit.
    pub requests_per_second_max: u64,
    /// `json_server_max_wrong_passwords`: of one address in a minute; 0 for no limit.
    pub wrong_passwords_max: u64,
    /// `blob_sign_max_seconds`: how long a signed URL may be used; 0 for not at all.
    pub sign_seconds_max: u64,
    /// `json_server_max_body`: most bytes of a request's body.
    pub body_bytes_max: usize,
    /// `json_server_cors_origins`: origins of pages that may ask, beside the server's own.
    pub cors_origins: Vec<String>,
    /// `json_server_hosts` and the name of this machine: the names in lower case that clients may call the server by, beside addresses
    /// and `localhost`.
    pub hosts: Vec<String>,
    /// `json_server_console`: whether there is a page at `/`.
    pub console: bool,
    /// `json_server_schema`: the database of documents whose request names none.
    pub schema: String,
    /// `json_server_table`: the same for their table.
    pub table: String,
    /// `json_server_allow_drop_table`: whether DELETE without `_id` drops the table.
    pub allow_drop_table: bool,
    /// `json_server_add_columns`: whether a key of a document that has no column gets one.
    pub add_columns: bool,
    /// `json_server_legacy_status`: the paths of Drizzle's JSON server answer 200 whatever happens.
    pub legacy_status: bool,
    /// `json_server_idle_timeout`: how long a client may take for the head of a request, from the answer before.
    pub idle_timeout: Duration,
}
