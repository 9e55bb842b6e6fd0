//! The account of a session, and its privileges.

use crate::result::writer::ConnectionInfo;
use squall_catalog::{AccessMap, AccountKey, ActiveGrants};
use squall_server_state::hourly_use::HourlyUse;
use std::sync::Arc;

/// An account that has logged in, with the grants that count.
#[derive(Debug)]
pub(crate) struct Authenticated {
    pub account: AccountKey,
    pub active_grants: Arc<ActiveGrants>,
}

/// The account of a session. A routine or view that runs as its definer replaces it for a while.
#[derive(Debug, Clone)]
pub(crate) struct Identity {
    /// The account that matched.
    pub account: AccountKey,
    /// `USER()`.
    pub user: Arc<str>,
    /// `CURRENT_USER()`.
    pub current_user: Arc<str>,
    /// What the client told at its login.
    pub info: ConnectionInfo,
    /// The privileges.
    pub access: Arc<AccessMap>,
    /// The version of all accounts that `access` is known to hold for.
    pub accounts_seen: u64,
    pub active_grants: Arc<ActiveGrants>,
    /// Who has logged in, while the session does things as a routine's definer.
    pub authenticated: Option<Arc<Authenticated>>,
    /// Whether only statements that set a new password may run (1820).
    pub password_expired: bool,
    /// What the account has used, if it has hourly limits.
    pub hourly_use: Option<Arc<HourlyUse>>,
}

impl Identity {
    /// The identity of a session of `account`, without privileges yet.
    pub fn new(account: AccountKey, info: ConnectionInfo, host: &str) -> Identity {
        Identity {
            user: format!("{}@{host}", info.user).into(),
            current_user: format!("{}@{}", account.user, account.host).into(),
            account,
            info,
            access: Arc::default(),
            accounts_seen: 0,
            active_grants: Arc::default(),
            authenticated: None,
            password_expired: false,
            hourly_use: None,
        }
    }

    /// Who has logged in, also inside of a routine that runs as its definer.
    pub fn authenticated(&self) -> Arc<Authenticated> {
        let own = || Authenticated { account: self.account.clone(), active_grants: self.active_grants.clone() };
        self.authenticated.clone().unwrap_or_else(|| Arc::new(own()))
    }
}
