//! The session's grants, and questions about them that name no object.

use crate::authorization::SecurityContext;
use crate::database::Shared;
use crate::session::{Session, SessionState};
use squall_catalog::{AccessMap, AccountKey, Accounts, ActiveGrants, Need, Privileges};
use squall_server_state::variables::{Values, ids};
use squall_types::{ErrorCode, SqlError, SqlResult};
use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::Ordering;

impl Session {
    /// Reads the session's grants again if its account has changed, or one of its roles.
    pub(crate) fn refresh_access(&mut self) {
        let accounts = self.shared.accounts.load_now();
        if accounts.version == self.identity.accounts_seen {
            return;
        }
        self.identity.accounts_seen = accounts.version;
        self.take_hourly_use(&accounts);
        // Those of others are no reason to make plans again.
        if !self.identity.access.holds(&accounts) {
            self.forget_roles_taken_away(&accounts);
            self.identity.access =
                self.shared.accounts.access(&accounts, &self.identity.account, &self.identity.active_grants);
            let account = accounts.get(&self.identity.account);
            self.identity.password_expired = account.is_some_and(|account| self.shared.has_expired_password(account));
        }
    }

    /// Its account may have other limits than before. Those of an account that was dropped still hold for its sessions.
    fn take_hourly_use(&mut self, accounts: &Accounts) {
        if let Some(account) = accounts.get(&self.identity.account) {
            self.identity.hourly_use = self.shared.accounts.hourly_uses.of(account);
        }
    }

    /// Forgets the grants, because active roles changed.
    pub(crate) fn rebuild_access(&mut self) {
        let accounts = self.shared.accounts.load_now();
        self.identity.accounts_seen = accounts.version;
        self.take_hourly_use(&accounts);
        self.identity.access =
            self.shared.accounts.access(&accounts, &self.identity.account, &self.identity.active_grants);
        let account = accounts.get(&self.identity.account);
        self.identity.password_expired = account.is_some_and(|account| self.shared.has_expired_password(account));
        self.settings_version.renew();
        self.offer_nested_statements();
    }

    /// From now on only grants on these databases count, and none by which rights outlive the session
    /// ([`AccessMap::new`](squall_catalog::AccessMap::new)). Programs with definers do what these may.
    pub(crate) fn limit_grants(&mut self, databases: BTreeSet<String>) {
        Arc::make_mut(&mut self.identity.active_grants).databases = Some(databases);
        self.rebuild_access();
    }

    /// What the account has beyond the databases that the session is limited to.
    pub(crate) fn unlimited_access(&self) -> AccessMap {
        let grants = ActiveGrants { databases: None, ..(*self.identity.active_grants).clone() };
        AccessMap::new(&self.shared.accounts.load_now(), &self.identity.account, &grants)
    }

    /// 1040 at the place beyond `max_connections`, 1227 at the administrative interface, 3032 while the server is offline, unless the
    /// privilege for it is there.
    pub(crate) fn check_may_connect(&self) -> SqlResult<()> {
        self.check_is_online()?;
        if self.identity.info.beyond_limit && !self.identity.access.has_dynamic("CONNECTION_ADMIN") {
            self.shared.processes.refused_connections.fetch_add(1, Ordering::Relaxed);
            return Err(SqlError::new(ErrorCode::TooManyConnections, &[]));
        }
        if self.identity.info.administrative {
            require_server(
                &self.security(),
                Privileges::NONE,
                &["SERVICE_CONNECTION_ADMIN"],
                "SERVICE_CONNECTION_ADMIN",
            )?;
        }
        Ok(())
    }

    /// 1290 when the server is read-only for this session; 1792 in a read-only transaction.
    pub(crate) fn check_writable(&self) -> SqlResult<()> {
        self.check_transaction_writable()?;
        self.check_server_writable()
    }

    /// 1792 in a read-only transaction.
    pub(crate) fn check_transaction_writable(&self) -> SqlResult<()> {
        match self.is_read_only_now() {
            true => Err(SqlError::new(ErrorCode::ReadOnlyTransaction, &[])),
            false => Ok(()),
        }
    }

    /// 1290 when the server is read-only for this session. TEMPORARY tables are no part of what is.
    pub(crate) fn check_server_writable(&self) -> SqlResult<()> {
        check_writable_for(&self.shared, &self.identity.access)
    }
}

/// The same for an account with these grants.
///
/// # Errors
/// 1290 while `read_only` or `super_read_only` keeps it from changes.
pub(crate) fn check_writable_for(shared: &Shared, access: &AccessMap) -> SqlResult<()> {
    let globals = shared.globals.load_values();
    let values = Values(&globals);
    if values.on(ids::SUPER_READ_ONLY) {
        return Err(SqlError::new(ErrorCode::OptionPreventsStatement, &[&"--super-read-only"]));
    }
    if values.on(ids::READ_ONLY) && !access.has_dynamic("CONNECTION_ADMIN") {
        return Err(SqlError::new(ErrorCode::OptionPreventsStatement, &[&"--read-only"]));
    }
    Ok(())
}

impl SessionState {
    /// A role that is not granted any more is not active any more, also when it is granted again.
    fn forget_roles_taken_away(&mut self, accounts: &Accounts) {
        let account = accounts.get(&self.identity.account);
        let is_granted = |role: &AccountKey| account.is_some_and(|account| accounts.is_granted(role, account));
        if !self.identity.active_grants.roles.iter().all(is_granted) {
            Arc::make_mut(&mut self.identity.active_grants).roles.retain(is_granted);
        }
    }
}

/// 1227 unless one of several static privileges on the server or of the dynamic ones is there.
pub(crate) fn require_server(
    security: &SecurityContext<'_>,
    any: Privileges,
    dynamic: &'static [&'static str],
    names: &'static str,
) -> SqlResult<()> {
    security.check_needs(&[Need::server(any, dynamic, names)])
}
