//! Which of an account's grants count in a session.

use crate::account::AccountKey;
use std::collections::BTreeSet;

/// Which grants count in a session beside those of its account, and where.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct ActiveGrants {
    /// Roles whose grants count, too.
    pub roles: BTreeSet<AccountKey>,
    /// The databases that the session is limited to, if it is: no grant counts outside of them, none of the server as a whole, and none by
    /// which rights would outlive the session. See [`AccessMap::new`](crate::AccessMap::new).
    pub databases: Option<BTreeSet<String>>,
}

impl ActiveGrants {
    /// Whether the session is limited to some databases.
    pub fn is_limited(&self) -> bool {
        self.databases.is_some()
    }
}

impl From<BTreeSet<AccountKey>> for ActiveGrants {
    fn from(roles: BTreeSet<AccountKey>) -> ActiveGrants {
        ActiveGrants { roles, databases: None }
    }
}
