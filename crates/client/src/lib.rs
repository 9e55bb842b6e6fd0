//! A blocking MySQL client: the shell and the server's tests use it.
//!
//! It works on one thread and keeps nothing it was not asked to keep: rows are read one by one. [`Client::connect`],
//! then [`Client::query`] and [`Client::next_result`], or [`Client::prepare`] and [`Client::execute`].

mod connect;
mod error;
mod statement;
mod tls;

pub use connect::results::{Column, OkResult, QueryResult, Row};
pub use connect::{Client, ConnectOptions, Target, TlsMode};
pub use error::{ClientError, LoadError, ServerError};
pub use statement::{BinaryRow, OwnedValue, PreparedStatement};
pub use tls::ClientCertificate;
