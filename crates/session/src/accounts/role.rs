//! Roles: CREATE ROLE, GRANT and REVOKE of roles, SET ROLE, SET DEFAULT ROLE.

use crate::accounts::grant::unknown_accounts;
use crate::authorization::SecurityContext;
use crate::result::Outcome;
use crate::session::Session;
use squall_catalog::{AccountDef, AccountKey, Accounts};
use squall_parser::ast::{AccountName, CreateRole, RoleSet, SetDefaultRole};
use squall_server_state::variables::{Values, ids};
use squall_statement_context::StatementContext;
use squall_types::{ErrorCode, SqlError, SqlResult};
use std::collections::BTreeSet;
use std::sync::Arc;

pub(super) fn not_granted(role: &AccountKey, account: &AccountKey) -> SqlError {
    SqlError::new(ErrorCode::RoleNotGranted, &[&role.user, &role.host, &account.user, &account.host])
}

/// A role that is to be granted and is not there.
pub(super) fn unknown_role(role: &AccountKey) -> SqlError {
    SqlError::new(ErrorCode::UnknownAuthorizationId, &[&role.user, &role.host])
}

/// A mandatory role cannot be revoked from one account.
pub(super) fn mandatory(role: &AccountKey) -> SqlError {
    SqlError::new(ErrorCode::MandatoryRole, &[&role.user, &role.host])
}

impl Session {
    /// Roles that are active when a session begins.
    pub(crate) fn activate_default_roles(&mut self) {
        let accounts = self.shared.accounts.load_full();
        let all = Values(&self.shared.globals.load_values()).on(ids::ACTIVATE_ALL_ROLES_ON_LOGIN);
        let roles = accounts.get(&self.identity.account).map(|account| accounts.roles_at_first(account, all));
        self.activate_roles(roles.unwrap_or_default());
    }

    /// Makes other roles active. A limit of the session stays.
    fn activate_roles(&mut self, roles: BTreeSet<AccountKey>) {
        Arc::make_mut(&mut self.identity.active_grants).roles = roles;
        self.rebuild_access();
    }

    pub(super) async fn create_roles(
        &mut self,
        statement: &CreateRole,
        context: &StatementContext,
    ) -> SqlResult<Outcome> {
        if statement.admin.is_some() {
            return Err(SqlError::unsupported("WITH ADMIN"));
        }
        let keys =
            statement.names.iter().map(|name| self.security().account_key(name)).collect::<SqlResult<Vec<_>>>()?;
        let error_of = |existing: &[AccountKey]| unknown_accounts("CREATE ROLE", existing);
        let mut change = self.begin_accounts().await;
        let accounts = &mut change.accounts;
        let existing: Vec<AccountKey> = keys.iter().filter(|key| accounts.get(key).is_some()).cloned().collect();
        if !existing.is_empty() && !statement.if_not_exists && !statement.or_replace {
            return Err(error_of(&existing));
        }
        self.check_not_definers("CREATE ROLE", keys.iter().filter(|key| !existing.contains(key)), context)?;
        let replace = statement.or_replace;
        for key in keys.into_iter().filter(|key| replace || !existing.contains(key)) {
            let role = AccountDef {
                user: key.user.clone(),
                host: key.host.clone(),
                plugin: "caching_sha2_password".to_string(),
                locked: true,
                password_expired: true,
                is_role: true,
                ..Default::default()
            };
            accounts.accounts.insert(key, Arc::new(role));
        }
        self.commit_accounts(change).await?;
        Ok(Outcome::done())
    }

    pub(super) async fn grant_roles(
        &mut self,
        roles: &[AccountName],
        to: &[AccountName],
        admin_option: bool,
    ) -> SqlResult<Outcome> {
        let (roles, to) = (keys_of(&self.security(), roles)?, keys_of(&self.security(), to)?);
        let accounts = self.shared.accounts.load_full();
        for role in &roles {
            if accounts.get(role).is_none() {
                return Err(unknown_role(role));
            }
            for account in &to {
                if reaches(&accounts, role, account) {
                    return Err(SqlError::new(
                        ErrorCode::RoleGrantedToItself,
                        &[&account.user, &account.host, &role.user, &role.host],
                    ));
                }
            }
        }
        self.edit_accounts(&to, false, |account| {
            for role in &roles {
                let admin = account.roles.entry(role.clone()).or_default();
                *admin |= admin_option;
            }
            Ok(())
        })
        .await
    }

    pub(super) async fn revoke_roles(
        &mut self,
        roles: &[AccountName],
        from: &[AccountName],
        ignore_unknown: bool,
    ) -> SqlResult<Outcome> {
        let (roles, from) = (keys_of(&self.security(), roles)?, keys_of(&self.security(), from)?);
        let accounts = self.shared.accounts.load_full();
        if let Some(role) = roles.iter().find(|role| accounts.is_mandatory(role)) {
            return Err(mandatory(role));
        }
        self.edit_accounts(&from, ignore_unknown, |account| {
            for role in &roles {
                account.roles.remove(role);
                account.default_roles.remove(role);
            }
            Ok(())
        })
        .await
    }

    /// SET ROLE.
    pub(crate) fn set_role(&mut self, roles: &RoleSet) -> SqlResult<Outcome> {
        let accounts = self.shared.accounts.load_full();
        let Some(account) = accounts.get(&self.identity.account) else { return Ok(Outcome::done()) };
        let roles = default_roles_of(&self.security(), &accounts, account, roles)?;
        self.activate_roles(roles);
        self.track_state_change();
        Ok(Outcome::done())
    }

    /// SET DEFAULT ROLE.
    pub(crate) async fn set_default_role(&mut self, statement: &SetDefaultRole) -> SqlResult<Outcome> {
        let keys = keys_of(&self.security(), &statement.users)?;
        let mut change = self.begin_accounts().await;
        for key in keys {
            let account = change.accounts.get(&key);
            let account = account
                .ok_or_else(|| squall_server_state::accounts::failed("SET DEFAULT ROLE", std::slice::from_ref(&key)))?;
            let default_roles = default_roles_of(&self.security(), &change.accounts, account, &statement.roles)?;
            let account = AccountDef { default_roles, ..(**account).clone() };
            change.accounts.accounts.insert(key, Arc::new(account));
        }
        self.commit_accounts(change).await?;
        Ok(Outcome::done())
    }
}

pub(crate) fn keys_of(security: &SecurityContext<'_>, names: &[AccountName]) -> SqlResult<Vec<AccountKey>> {
    names.iter().map(|name| security.account_key(name)).collect()
}

/// The roles that CREATE USER … DEFAULT ROLE names.
pub(crate) fn role_keys(security: &SecurityContext<'_>, roles: &RoleSet) -> SqlResult<Vec<AccountKey>> {
    match roles {
        RoleSet::Roles(names) => keys_of(security, names),
        RoleSet::None => Ok(Vec::new()),
        _ => Err(SqlError::unsupported("this DEFAULT ROLE")),
    }
}

pub(crate) fn default_roles_of(
    security: &SecurityContext<'_>,
    accounts: &Accounts,
    account: &AccountDef,
    roles: &RoleSet,
) -> SqlResult<BTreeSet<AccountKey>> {
    let wanted = match roles {
        RoleSet::None => return Ok(BTreeSet::new()),
        RoleSet::All => return Ok(accounts.granted_roles(account)),
        RoleSet::Default => return Ok(account.default_roles.clone()),
        RoleSet::AllExcept(names) => {
            let except = keys_of(security, names)?;
            let granted = accounts.granted_roles(account);
            return Ok(granted.into_iter().filter(|role| !except.contains(role)).collect());
        }
        RoleSet::Roles(names) => keys_of(security, names)?,
    };
    match wanted.iter().find(|role| !accounts.is_granted(role, account)) {
        Some(role) => Err(not_granted(role, &account.key())),
        None => Ok(wanted.into_iter().collect()),
    }
}

/// Whether `from` is `to`, or has it granted over some number of steps.
fn reaches(accounts: &Accounts, from: &AccountKey, to: &AccountKey) -> bool {
    accounts.with_their_roles([from.clone()]).contains(to)
}
