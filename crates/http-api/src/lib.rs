//! HTTP: statements, documents, status and a page for browsers, on the accounts and limits of the server.
//!
//! A request goes down this list once:
//! - [`protocol`]: HTTP among the protocols of the front end; `connection`: a client from its first byte to its last, by `hyper`;
//!   `write_timeout`: a stream that fails when its client does not read; `caller`: the connection as its requests see it;
//! - `service`: from the head of a request to what answers it; [`origin`]: names of the server, and pages that may ask;
//! - `exchange`: the request on its way; [`credentials`], [`page_sessions`], [`secrets`], [`signing`], `rates`, `running`: its session; [`body`] and [`query`]: its input;
//! - `sql` ([`sql_request`]), `db` (tables as resources, and routines), `session_path`, `metrics`, `health`, `openapi`, `legacy` (those of Drizzle), [`console`]: the paths;
//! - [`writer`], [`forms`], [`sink`], [`answer`], [`problem`]: results on their way to the client;
//! - [`server`] and [`settings`]: what all connections share.
//!
//! `docs/guide/http-api.md` has the requests and answers, `docs/decisions/0065-http-api.md` the reasons.
//!
//! Knows: the interface of sessions for protocols. Must not know: how statements run, variables, modules.

pub mod answer;
pub mod body;
mod caller;
mod connection;
pub mod console;
pub mod credentials;
mod db;
mod exchange;
pub mod forms;
mod health;
mod json_text;
mod legacy;
mod metrics;
mod openapi;
pub mod origin;
pub mod page_sessions;
pub mod problem;
pub mod protocol;
pub mod query;
mod rates;
mod running;
pub mod secrets;
pub mod server;
mod service;
mod session_path;
pub mod settings;
pub mod signing;
pub mod sink;
mod sql;
pub mod sql_request;
mod write_timeout;
pub mod writer;

pub use protocol::HttpProtocol;
pub use running::PRIVILEGE;
pub use server::{HttpServer, TokenAccount, TokenSource};
pub use settings::{AuthMethods, HttpSettings, TlsRule};
