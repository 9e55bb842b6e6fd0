//! CREATE, ALTER and DROP HTTP ENDPOINT.

use super::{AccountName, Ident};
use std::fmt;

/// What CREATE and ALTER HTTP ENDPOINT say of an endpoint.
#[derive(Clone, Debug, PartialEq)]
pub struct HttpEndpoint {
    /// Its name.
    pub name: Ident,
    /// Always there in CREATE.
    pub url: Option<Box<str>>,
    /// `HEADER 'N: v'`, in their order.
    pub headers: Vec<Box<str>>,
    /// `DROP HEADER 'N'`; only ALTER has them.
    pub dropped_headers: Vec<Box<str>>,
    /// `SECRET '…'`, or `DROP SECRET`, which only ALTER has.
    pub secret: Option<SecretClause>,
    /// `FOR …`.
    pub users: Option<EndpointUsers>,
}

/// A secret that is set or dropped.
#[derive(Clone, PartialEq)]
pub enum SecretClause {
    /// `SECRET '…'`.
    Set(Box<str>),
    /// `DROP SECRET`.
    Drop,
}

impl fmt::Debug for SecretClause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            SecretClause::Set(_) => "Set(<secret>)",
            SecretClause::Drop => "Drop",
        })
    }
}

/// Who may use an endpoint, beside those who manage all of them.
#[derive(Clone, Debug, PartialEq)]
pub enum EndpointUsers {
    /// `FOR PUBLIC`: all accounts.
    Public,
    /// `FOR NONE`.
    None,
    /// `FOR account, …`: accounts and roles.
    Accounts(Vec<AccountName>),
}
