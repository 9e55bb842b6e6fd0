//! A copy of a session's settings, to make a similar session.

use crate::result::writer::ConnectionInfo;
use squall_catalog::{AccountKey, ActiveGrants};
use squall_statement_context::UserVariables;
use squall_system_variables::ValueTable;
use std::sync::Arc;

/// The settings of a session: enough to make another like it.
#[derive(Clone, Debug)]
pub struct SessionImage {
    /// Its account. One that is gone has no privileges.
    pub account: AccountKey,
    /// Which grants count beside those of the account, and where.
    pub active_grants: Arc<ActiveGrants>,
    /// The account that connected, and from where.
    pub info: ConnectionInfo,
    /// The default database.
    pub database: Option<Arc<str>>,
    /// Values of the session's system variables.
    pub variables: ValueTable,
    /// `@variables`: shared by all holders of this value.
    pub user_variables: Arc<UserVariables>,
}
