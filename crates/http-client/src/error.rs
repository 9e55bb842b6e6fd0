//! The reasons why a request fails.

use std::fmt;

/// Why a request has failed. Texts never hold credentials, queries of URLs or resolved addresses.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum HttpError {
    /// The URL or a part of the request means nothing.
    Invalid(String),
    /// A rule refuses the scheme or the destination; says which.
    Blocked(String),
    /// Resolving, connecting, TLS, time, size, redirects.
    Transfer(String),
    /// Whoever asked has no memory for the answer; they know why.
    Refused,
}

impl HttpError {
    /// A failure on the way.
    pub fn transfer(what: impl fmt::Display) -> HttpError {
        HttpError::Transfer(what.to_string())
    }
}

impl fmt::Display for HttpError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            HttpError::Invalid(text) | HttpError::Blocked(text) | HttpError::Transfer(text) => f.write_str(text),
            HttpError::Refused => f.write_str("no memory for the answer"),
        }
    }
}

impl std::error::Error for HttpError {}
