//! The privileges that statements about accounts need.

use crate::authorization::{SecurityContext, undeclared};
use squall_catalog::{AccountKey, Accounts, Need, Object, Privileges};
use squall_instrumentation::process::Process;
use squall_parser::ast::{
    AccountName, CreateUser, Grant, GrantLevel, GrantTarget, GrantTargetKind, Revoke, RoleSet, SetDefaultRole,
    SetPassword, Statement,
};
use squall_types::SqlResult;
use std::collections::BTreeSet;

/// CREATE USER, or what has it beside other things.
fn create_user() -> Need {
    Need::server(Privileges::CREATE_USER, &[], "CREATE USER")
}

/// What CREATE, ALTER, DROP and RENAME of accounts and roles need, and GRANT and REVOKE of them. The grantor must have the granted
/// privileges. `accounts::grant` checks it when it knows them.
pub(crate) fn needs_of_account_statement(
    security: &SecurityContext<'_>,
    statement: &Statement,
) -> SqlResult<Vec<Need>> {
    match statement {
        Statement::CreateUser(create) if create.alter => needs_of_alter_user(security, create),
        Statement::CreateUser(create) => {
            let mut needs = vec![create_user()];
            // An account that takes the place of another one.
            if create.or_replace {
                needs.extend(changed(security, create.users.iter().map(|user| &user.name))?);
            }
            // An account that begins with roles has been granted them.
            if let Some(RoleSet::Roles(roles)) = &create.default_role {
                needs.extend(needs_of_roles(security, roles)?);
            }
            Ok(needs)
        }
        Statement::DropUser(drop) => and_changed(security, create_user(), &drop.names),
        Statement::RenameUser(renames) => {
            let mut needs = vec![create_user()];
            needs.extend(changed(security, renames.iter().map(|(from, _)| from))?);
            Ok(needs)
        }
        Statement::CreateRole(create) => {
            let any = Privileges::CREATE_ROLE.union(Privileges::CREATE_USER);
            let need = Need::server(any, &[], "CREATE ROLE or CREATE USER");
            match create.or_replace {
                true => and_changed(security, need, &create.names),
                false => Ok(vec![need]),
            }
        }
        Statement::DropRole(drop) => {
            let any = Privileges::DROP_ROLE.union(Privileges::CREATE_USER);
            and_changed(security, Need::server(any, &[], "DROP ROLE or CREATE USER"), &drop.names)
        }
        Statement::Grant(grant) => match &**grant {
            Grant::Privileges { on, to, .. } => {
                let mut needs = needs_of_place(security, on)?;
                needs.extend(changed(security, to.iter().map(|user| &user.name))?);
                Ok(needs)
            }
            Grant::Roles { roles, to, .. } => {
                let mut needs = needs_of_roles(security, roles)?;
                needs.extend(changed(security, to)?);
                Ok(needs)
            }
            // Refused for all accounts.
            Grant::Proxy { .. } => Ok(Vec::new()),
        },
        Statement::Revoke(revoke) => match &**revoke {
            Revoke::Privileges { on, from, .. } => {
                let mut needs = needs_of_place(security, on)?;
                needs.extend(changed(security, from)?);
                Ok(needs)
            }
            Revoke::All { from, .. } => and_changed(security, create_user(), from),
            Revoke::Roles { roles, from, .. } => {
                let mut needs = needs_of_roles(security, roles)?;
                needs.extend(changed(security, from)?);
                Ok(needs)
            }
            Revoke::Proxy { .. } => Ok(Vec::new()),
        },
        _ => Err(undeclared()),
    }
}

/// Who grants what an object has needs GRANT OPTION on it.
fn needs_of_place(security: &SecurityContext<'_>, on: &GrantTarget) -> SqlResult<Vec<Need>> {
    let (GrantLevel::Object(name), GrantTargetKind::Table) = (&on.level, on.kind) else { return Ok(Vec::new()) };
    let (database, table) = security.qualify(name)?;
    let object = Object::Table(database.into(), table.into());
    Ok(vec![Need::new(object, Privileges::GRANT_OPTION, "GRANT")])
}

/// Whether an account is the session's own, to be changed without a privilege. Not so if the session is limited to databases: with a new
/// password it could log in without the limit.
fn is_own(security: &SecurityContext<'_>, key: &AccountKey) -> bool {
    *key == *security.account && !security.access.is_limited()
}

/// Nothing is needed for a password of one's own.
fn needs_of_alter_user(security: &SecurityContext<'_>, alter: &CreateUser) -> SqlResult<Vec<Need>> {
    let only_own_password = alter.users.iter().all(|user| {
        security.account_key(&user.name).is_ok_and(|key| is_own(security, &key))
            && user.authentication.iter().all(|authentication| authentication.plugin.is_none())
            && (!user.authentication.is_empty() || user.discard_old_password)
    }) && alter.account.is_empty()
        && alter.tls.is_empty()
        && alter.limits.is_empty()
        && alter.default_role.is_none()
        && alter.comment.is_none()
        && alter.attribute.is_none();
    if only_own_password {
        return Ok(Vec::new());
    }
    let mut needs = vec![create_user()];
    needs.extend(changed(security, alter.users.iter().map(|user| &user.name))?);
    Ok(needs)
}

pub(crate) fn needs_of_password(security: &SecurityContext<'_>, statement: &SetPassword) -> SqlResult<Vec<Need>> {
    match &statement.user {
        Some(name) if !is_own(security, &security.account_key(name)?) => {
            and_changed(security, create_user(), std::slice::from_ref(name))
        }
        None if !is_own(security, security.account) => Ok(vec![create_user()]),
        _ => Ok(Vec::new()),
    }
}

pub(crate) fn needs_of_default_role(
    security: &SecurityContext<'_>,
    statement: &SetDefaultRole,
) -> SqlResult<Vec<Need>> {
    let keys = statement.users.iter().map(|name| security.account_key(name)).collect::<SqlResult<Vec<_>>>()?;
    if keys.iter().all(|key| is_own(security, key)) {
        return Ok(Vec::new());
    }
    and_changed(security, Need::server(Privileges::CREATE_USER, &["ROLE_ADMIN"], "CREATE USER"), &statement.users)
}

/// Granting and revoking a role needs the role WITH ADMIN OPTION, or ROLE_ADMIN. Only system accounts may grant or revoke roles
/// that make their holder a system account.
fn needs_of_roles(security: &SecurityContext<'_>, roles: &[AccountName]) -> SqlResult<Vec<Need>> {
    let keys = roles.iter().map(|name| security.account_key(name)).collect::<SqlResult<Vec<_>>>()?;
    let accounts = security.shared.accounts.load_now();
    // What a limited session gave to others would be free of the limit.
    let own = accounts.get(security.account).filter(|_| !security.access.is_limited());
    let is_admin = |role: &AccountKey| own.is_some_and(|own| own.roles.get(role) == Some(&true));
    let mut needs = Vec::new();
    if !keys.iter().all(is_admin) {
        needs.push(Need::server(Privileges::NONE, &["ROLE_ADMIN"], "WITH ADMIN, ROLE_ADMIN, SUPER"));
    }
    needs.extend(system_user_need(security, &keys));
    Ok(needs)
}

fn and_changed(security: &SecurityContext<'_>, need: Need, names: &[AccountName]) -> SqlResult<Vec<Need>> {
    Ok(std::iter::once(need).chain(changed(security, names)?).collect())
}

/// What changing these accounts needs beside the statement's own privilege.
fn changed<'n>(
    security: &SecurityContext<'_>,
    names: impl IntoIterator<Item = &'n AccountName>,
) -> SqlResult<Option<Need>> {
    let keys = names.into_iter().map(|name| security.account_key(name)).collect::<SqlResult<Vec<_>>>()?;
    Ok(system_user_need(security, &keys))
}

/// SYSTEM_USER, if one of several accounts is a system account and not the session's own.
pub(crate) fn system_user_need(security: &SecurityContext<'_>, keys: &[AccountKey]) -> Option<Need> {
    let accounts = security.shared.accounts.load_now();
    let is_other_system = |key: &AccountKey| *key != *security.account && is_system_account(&accounts, key);
    let others = keys.iter().any(is_other_system) && !security.access.is_system_user();
    // Not what SUPER stands for.
    others.then(|| Need::server(Privileges::NONE, &[], "SYSTEM_USER"))
}

/// Whether another user's connection may be ended, beside the privilege for it: a system account's by system accounts.
pub(crate) fn check_may_end(security: &SecurityContext<'_>, process: &Process) -> SqlResult<()> {
    let accounts = security.shared.accounts.load_now();
    let named = accounts.accounts.keys().filter(|key| key.user == process.user).cloned();
    let keys: Vec<AccountKey> = named.collect();
    security.check_needs(system_user_need(security, &keys).as_slice())
}

/// Whether an account has SYSTEM_USER, by itself or by a role that it may set, mandatory roles too.
pub(crate) fn is_system_account(accounts: &Accounts, key: &AccountKey) -> bool {
    let (mut pending, mut seen) = (vec![key], BTreeSet::new());
    pending.extend(accounts.mandatory_roles.iter());
    while let Some(key) = pending.pop() {
        let Some(account) = accounts.get(key).filter(|_| seen.insert(key)) else { continue };
        if account.dynamic.contains_key("SYSTEM_USER") {
            return true;
        }
        pending.extend(account.roles.keys());
    }
    false
}
