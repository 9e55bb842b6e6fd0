//! CREATE and DROP API TOKEN.

use super::{AccountName, Ident, IntervalUnit};

/// `CREATE API TOKEN FOR account [EXPIRE INTERVAL n unit] [READ ONLY] [SCHEMAS (name, …)] [COMMENT '…']`.
#[derive(Clone, Debug, PartialEq)]
pub struct CreateApiToken {
    /// Whose requests it proves.
    pub account: AccountName,
    /// How long it lives; for good without it.
    pub expire: Option<(u64, IntervalUnit)>,
    /// Its requests may change nothing.
    pub read_only: bool,
    /// The only databases that its requests reach; all that the account may use without it.
    pub schemas: Option<Vec<Ident>>,
    /// What it is for.
    pub comment: Option<Box<str>>,
}
