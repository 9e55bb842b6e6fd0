//! GRANT and REVOKE of privileges.

use super::restrict;
use crate::authorization::SecurityContext;
use crate::result::Outcome;
use crate::session::Session;
use squall_catalog::{AccessMap, AccountDef, AccountKey, PrivilegeLevel, Privileges, RoutineKind, TableEntry};
use squall_parser::ast::{Grant, GrantLevel, GrantTarget, GrantTargetKind, Privilege, Revoke, UserSpecification};
use squall_registry::Registry;
use squall_server_state::accounts::failed;
use squall_system_tables::{PERFORMANCE, virtual_database};
use squall_types::{ErrorCode, SqlError, SqlResult};
use std::sync::Arc;

/// The object of a grant, with names resolved.
#[derive(Clone, Debug, PartialEq)]
enum Place {
    Global,
    Database(String),
    Table(String, String),
    Routine { database: String, is_function: bool, name: String },
}

/// The privileges of one statement.
#[derive(Clone, Debug, Default)]
struct Wanted {
    on_place: Privileges,
    on_columns: Vec<(String, Privileges)>,
    dynamic: Vec<String>,
    all: bool,
}

impl Place {
    fn level(&self) -> PrivilegeLevel {
        match self {
            Place::Global => PrivilegeLevel::Global,
            Place::Database(_) => PrivilegeLevel::Database,
            Place::Table(..) => PrivilegeLevel::Table,
            Place::Routine { .. } => PrivilegeLevel::Routine,
        }
    }
}

impl Session {
    pub(super) async fn grant(&mut self, grant: &Grant) -> SqlResult<Outcome> {
        match grant {
            Grant::Privileges { privileges, on, to, tls, grant_option, limits, as_user } => {
                if !tls.is_empty() || !limits.is_empty() || as_user.is_some() {
                    return Err(SqlError::unsupported("REQUIRE, WITH limits and AS in GRANT"));
                }
                self.grant_privileges(privileges, on, to, *grant_option).await
            }
            Grant::Proxy { .. } => Err(SqlError::unsupported("GRANT PROXY")),
            Grant::Roles { roles, to, admin_option } => self.grant_roles(roles, to, *admin_option).await,
        }
    }

    pub(super) async fn revoke(&mut self, revoke: &Revoke) -> SqlResult<Outcome> {
        match revoke {
            Revoke::Privileges { if_exists, privileges, on, from, ignore_unknown_user } => {
                let place = place(&self.security(), on)?;
                let wanted = wanted(privileges, &place, &self.shared.registry)?;
                check_virtual_place(&self.security(), &place, &wanted)?;
                check_may_grant(&self.security(), &place, &wanted)?;
                let keys = from.iter().map(|name| self.security().account_key(name)).collect::<SqlResult<Vec<_>>>()?;
                let lenient = *if_exists;
                let partial = self.shared.accounts.load_now().partial_revokes;
                let (revoker, access) = (self.identity.account.clone(), self.identity.access.clone());
                self.edit_accounts(&keys, *ignore_unknown_user, |account| {
                    if place == Place::Global {
                        restrict::check_global_revoke(&revoker, &access, account, wanted.on_place)?;
                    }
                    let result = revoke_from(account, &place, &wanted, partial);
                    if lenient { Ok(()) } else { result }
                })
                .await
            }
            Revoke::All { from, ignore_unknown_user, .. } => {
                let keys = from.iter().map(|name| self.security().account_key(name)).collect::<SqlResult<Vec<_>>>()?;
                self.edit_accounts(&keys, *ignore_unknown_user, |account| {
                    account.global = Privileges::NONE;
                    account.dynamic.clear();
                    account.databases.clear();
                    account.restrictions.clear();
                    account.tables.clear();
                    account.routines.clear();
                    Ok(())
                })
                .await
            }
            Revoke::Proxy { .. } => Err(SqlError::unsupported("REVOKE PROXY")),
            Revoke::Roles { roles, from, ignore_unknown_user, .. } => {
                self.revoke_roles(roles, from, *ignore_unknown_user).await
            }
        }
    }

    /// Changes accounts that have to exist, all or none.
    pub(super) async fn edit_accounts(
        &mut self,
        keys: &[AccountKey],
        ignore_unknown: bool,
        edit: impl Fn(&mut AccountDef) -> SqlResult<()>,
    ) -> SqlResult<Outcome> {
        let mut change = self.begin_accounts().await;
        for key in keys {
            match change.accounts.accounts.get_mut(key) {
                Some(account) => edit(Arc::make_mut(account))?,
                None if ignore_unknown => {}
                None => {
                    return Err(SqlError::new(
                        ErrorCode::UnknownAuthorizationId,
                        &[&key.user.replace('`', "``"), &key.host.replace('`', "``")],
                    ));
                }
            }
        }
        self.commit_accounts(change).await?;
        Ok(Outcome::done())
    }

    async fn grant_privileges(
        &mut self,
        privileges: &[Privilege],
        on: &GrantTarget,
        to: &[UserSpecification],
        grant_option: bool,
    ) -> SqlResult<Outcome> {
        let place = place(&self.security(), on)?;
        let wanted = wanted(privileges, &place, &self.shared.registry)?;
        check_virtual_place(&self.security(), &place, &wanted)?;
        check_may_grant(&self.security(), &place, &wanted)?;
        check_place(&self.security(), &place, &wanted)?;
        let mut keys = Vec::with_capacity(to.len());
        for user in to {
            if !user.authentication.is_empty() {
                // Accounts are made by CREATE USER alone.
                return Err(SqlError::with_message(ErrorCode::SyntaxError, ErrorCode::SyntaxError.template()));
            }
            keys.push(self.security().account_key(&user.name)?);
        }
        let accounts = self.shared.accounts.load_full();
        if keys.iter().any(|key| accounts.get(key).is_none()) {
            return Err(SqlError::new(ErrorCode::CannotCreateUserWithGrant, &[]));
        }
        let makes_system_accounts = wanted.dynamic.iter().any(|name| name == "SYSTEM_USER");
        if let Some(role) = keys.iter().find(|key| makes_system_accounts && accounts.is_mandatory(key)) {
            let error = ErrorCode::SystemPrivilegeForMandatoryRole;
            return Err(SqlError::new(error, &[&role.user, &role.host, &"SYSTEM_USER"]));
        }
        let access = self.identity.access.clone();
        self.edit_accounts(&keys, false, |account| {
            grant_to(account, &place, &wanted, grant_option, &access);
            Ok(())
        })
        .await
    }
}

fn place(security: &SecurityContext<'_>, on: &GrantTarget) -> SqlResult<Place> {
    let current = || match security.default_database {
        Some(database) => Ok(database.to_string()),
        None => Err(SqlError::new(ErrorCode::NoDatabase, &[])),
    };
    Ok(match (&on.level, on.kind) {
        (GrantLevel::Global, _) => Place::Global,
        (GrantLevel::CurrentDatabase, _) => Place::Database(current()?),
        (GrantLevel::Database(name), _) => Place::Database(name.to_string()),
        (GrantLevel::Object(name), GrantTargetKind::Table) => {
            let (database, table) = security.qualify(name)?;
            Place::Table(database, table)
        }
        (GrantLevel::Object(name), kind) => {
            let (database, name) = security.qualify(name)?;
            let is_function = kind == GrantTargetKind::Function;
            Place::Routine { database, is_function, name: name.to_lowercase() }
        }
    })
}

/// A table has to exist unless CREATE is among what is granted (1146); a column has to exist (1054).
fn check_place(security: &SecurityContext<'_>, place: &Place, wanted: &Wanted) -> SqlResult<()> {
    match place {
        Place::Table(database, table) => {
            let catalog = security.shared.catalog.load();
            let entry = catalog.entry(database, table);
            let virtual_table = security.shared.registry.virtual_table(database, table);
            let is_known = |column: &str| match (entry, virtual_table) {
                (Some(TableEntry::Table(definition)), _) => definition.column(column).is_some(),
                (Some(TableEntry::View(view)), _) => view.columns.iter().any(|name| name.eq_ignore_ascii_case(column)),
                (None, Some(table)) => table.columns().iter().any(|known| known.name.eq_ignore_ascii_case(column)),
                (None, None) => false,
            };
            let will_be = wanted.on_place.contains(Privileges::CREATE) && wanted.on_columns.is_empty();
            if entry.is_none() && virtual_table.is_none() && !will_be {
                return Err(SqlError::new(ErrorCode::NoSuchTable, &[database, table]));
            }
            match wanted.on_columns.iter().find(|(column, _)| !is_known(column)) {
                Some((column, _)) => Err(SqlError::new(ErrorCode::BadField, &[column, table])),
                None => Ok(()),
            }
        }
        Place::Routine { database, is_function: false, name }
            if security.shared.procedures.find(database, name).is_some() =>
        {
            Ok(())
        }
        Place::Routine { database, is_function, name } => {
            let kind = if *is_function { RoutineKind::Function } else { RoutineKind::Procedure };
            match security.shared.catalog.load().routine(database, kind, name) {
                Some(_) => Ok(()),
                None => Err(SqlError::new(ErrorCode::SpDoesNotExist, &[&kind.word(), name])),
            }
        }
        _ => Ok(()),
    }
}

/// Of a database of virtual tables nothing is granted that cannot be done: 1044 for the database, 1142 for changes of a table that takes none.
fn check_virtual_place(security: &SecurityContext<'_>, place: &Place, wanted: &Wanted) -> SqlResult<()> {
    let (Place::Database(name) | Place::Table(name, _) | Place::Routine { database: name, .. }) = place else {
        return Ok(());
    };
    let Some(database) = virtual_database(name) else { return Ok(()) };
    let rows = Privileges::INSERT.union(Privileges::UPDATE).union(Privileges::DELETE);
    let any = rows.union(Privileges::SELECT).union(Privileges::CREATE).union(Privileges::DROP);
    let columns = wanted.on_columns.iter().fold(Privileges::NONE, |sum, (_, privileges)| sum.union(*privileges));
    let asked = wanted.on_place.union(columns).without(Privileges::GRANT_OPTION);
    let any = if let Place::Database(_) = place { any.union(Privileges::LOCK_TABLES) } else { any };
    if database != PERFORMANCE || !any.contains(asked) {
        return Err(security.database_denied(database));
    }
    match place {
        Place::Table(_, table) if asked.intersects(rows) && !takes_changes(security, database, table) => {
            Err(security.table_denied(&format!("{}, GRANT", asked.names().join(", ")), table))
        }
        _ => Ok(()),
    }
}

fn takes_changes(security: &SecurityContext<'_>, database: &str, table: &str) -> bool {
    security.shared.registry.virtual_table(database, table).is_some_and(|table| table.takes_changes())
}

/// An account grants only what it has with GRANT OPTION.
fn check_may_grant(security: &SecurityContext<'_>, place: &Place, wanted: &Wanted) -> SqlResult<()> {
    let own = match place {
        Place::Global => security.access.global,
        Place::Database(database) => security.access.on_databases_like(database),
        Place::Table(database, table) => security.access.on_table(database, table),
        Place::Routine { database, is_function, name } => security.access.on_routine(database, *is_function, name),
    };
    let on_column = |column: &str| match place {
        Place::Table(database, table) => security.access.on_column(database, table, column),
        _ => own,
    };
    if own.contains(Privileges::GRANT_OPTION)
        && own.contains(wanted.on_place.without(Privileges::GRANT_OPTION))
        && wanted.on_columns.iter().all(|(column, privileges)| on_column(column).contains(*privileges))
        && wanted.dynamic.iter().all(|name| security.access.may_grant_dynamic(name))
    {
        return Ok(());
    }
    let (user, host) = (&security.account.user, &security.account.host);
    Err(match place {
        Place::Global => security.shared.accounts.load_now().access_denied(security.account),
        Place::Database(database) => SqlError::new(ErrorCode::DbAccessDenied, &[user, host, database]),
        Place::Table(_, table) => security.table_denied("GRANT", table),
        Place::Routine { name, .. } => {
            SqlError::new(ErrorCode::ProcAccessDenied, &[&"grant", user, &security.client_host(), name])
        }
    })
}

pub(crate) fn unknown_accounts(operation: &str, keys: &[AccountKey]) -> SqlError {
    failed(operation, keys)
}

/// The privileges of a list at a level (1144, 1221, 3619).
fn wanted(privileges: &[Privilege], place: &Place, registry: &Registry) -> SqlResult<Wanted> {
    let level = place.level();
    let all = Privileges::all_at(level).union(Privileges::GRANT_OPTION);
    let mut wanted = Wanted::default();
    for privilege in privileges {
        if &*privilege.name == "ALL" || &*privilege.name == "ALL PRIVILEGES" {
            wanted.on_place = wanted.on_place.union(Privileges::all_at(level));
            wanted.all = true;
            if level == PrivilegeLevel::Global {
                wanted.dynamic.extend(registry.dynamic_privileges().map(str::to_string));
            }
            continue;
        }
        if &*privilege.name == "USAGE" {
            continue;
        }
        let Some(flag) = Privileges::named(&privilege.name) else {
            if !registry.dynamic_privileges().any(|name| name == &*privilege.name) {
                return Err(SqlError::with_message(ErrorCode::SyntaxError, ErrorCode::SyntaxError.template()));
            }
            if level != PrivilegeLevel::Global {
                return Err(SqlError::new(ErrorCode::IllegalPrivilegeLevel, &[&privilege.name]));
            }
            wanted.dynamic.push(privilege.name.to_string());
            continue;
        };
        if !privilege.columns.is_empty() {
            if level != PrivilegeLevel::Table || !Privileges::ALL_COLUMN.contains(flag) {
                return Err(SqlError::new(ErrorCode::WrongUsage, &[&"COLUMN GRANT", &"NON-COLUMN PRIVILEGES"]));
            }
            wanted.on_columns.extend(privilege.columns.iter().map(|column| (column.to_string(), flag)));
            continue;
        }
        if !all.contains(flag) {
            return Err(match level {
                PrivilegeLevel::Database => SqlError::new(ErrorCode::WrongUsage, &[&"DB GRANT", &"GLOBAL PRIVILEGES"]),
                _ => SqlError::new(ErrorCode::IllegalGrantForTable, &[]),
            });
        }
        wanted.on_place = wanted.on_place.union(flag);
    }
    Ok(wanted)
}

fn grant_to(account: &mut AccountDef, place: &Place, wanted: &Wanted, grant_option: bool, grantor: &AccessMap) {
    let mut privileges = wanted.on_place;
    if grant_option {
        privileges = privileges.union(Privileges::GRANT_OPTION);
    }
    match place {
        Place::Global => {
            restrict::for_global_grant(account, privileges, &grantor.restrictions);
            account.global = account.global.union(privileges);
            for name in &wanted.dynamic {
                let grantable = account.dynamic.entry(name.clone()).or_default();
                *grantable |= grant_option;
            }
        }
        Place::Database(database) => {
            let rest = restrict::lift(account, database, privileges);
            if !rest.is_empty() || privileges.is_empty() {
                let entry = account.databases.entry(database.clone()).or_default();
                *entry = entry.union(rest);
            }
        }
        Place::Table(database, table) => {
            let entry = account.tables.entry((database.clone(), table.clone())).or_default();
            entry.table = entry.table.union(privileges);
            for (column, privileges) in &wanted.on_columns {
                let column = entry.columns.entry(column.to_lowercase()).or_default();
                *column = column.union(*privileges);
            }
        }
        Place::Routine { database, is_function, name } => {
            let entry = account.routines.entry((database.clone(), *is_function, name.clone())).or_default();
            *entry = entry.union(privileges);
        }
    }
}

fn revoke_from(account: &mut AccountDef, place: &Place, wanted: &Wanted, partial: bool) -> SqlResult<()> {
    let (user, host) = (account.user.clone(), account.host.clone());
    let no_grant = || SqlError::new(ErrorCode::NonexistingGrant, &[&user, &host]);
    match place {
        Place::Global => {
            account.global = account.global.without(wanted.on_place);
            restrict::forget(account, wanted.on_place);
            account.dynamic.retain(|name, _| !wanted.dynamic.contains(name));
        }
        Place::Database(database) => {
            let restricted = partial && restrict::add(account, database, wanted.on_place);
            if restricted && !account.databases.contains_key(database) {
                return Ok(());
            }
            let entry = account.databases.get_mut(database).ok_or_else(no_grant)?;
            *entry = entry.without(wanted.on_place);
            if entry.is_empty() {
                account.databases.remove(database);
            }
        }
        Place::Table(database, table) => {
            let key = (database.clone(), table.clone());
            let entry = account
                .tables
                .get_mut(&key)
                .ok_or_else(|| SqlError::new(ErrorCode::NonexistingTableGrant, &[&user, &host, table]))?;
            entry.table = entry.table.without(wanted.on_place);
            for (column, privileges) in &wanted.on_columns {
                if let Some(column) = entry.columns.get_mut(&column.to_lowercase()) {
                    *column = column.without(*privileges);
                }
            }
            if wanted.all {
                entry.columns.clear();
            }
            entry.columns.retain(|_, privileges| !privileges.is_empty());
            if entry.table.is_empty() && entry.columns.is_empty() {
                account.tables.remove(&key);
            }
        }
        Place::Routine { database, is_function, name } => {
            let key = (database.clone(), *is_function, name.clone());
            let entry = account.routines.get_mut(&key).ok_or_else(no_grant)?;
            *entry = entry.without(wanted.on_place);
            if entry.is_empty() {
                account.routines.remove(&key);
            }
        }
    }
    Ok(())
}
