//! information_schema's tables of roles: the reader's roles, and the grants of its active ones.

use super::{ColumnSpec, Source, TableSpec, s, text, yes_no};
use crate::grant_tables::words;
use crate::spec::long_text;
use squall_catalog::{AccountDef, AccountKey, Accounts, Privileges};
use squall_registry::VirtualScan;
use squall_types::{SqlResult, Value};
use std::collections::BTreeSet;
use std::sync::Arc;

const DATABASE: &str = "information_schema";

const GRANTED: &[ColumnSpec] = &[
    text("USER", 97).or_null(),
    text("HOST", 256).or_null(),
    text("GRANTEE", 97).or_null(),
    text("GRANTEE_HOST", 256).or_null(),
    text("ROLE_NAME", 255).or_null(),
    text("ROLE_HOST", 256).or_null(),
    text("IS_GRANTABLE", 3),
    text("IS_DEFAULT", 3).or_null(),
    text("IS_MANDATORY", 3),
];

pub(crate) const TABLES: &[TableSpec] = &[
    TableSpec { database: DATABASE, name: "APPLICABLE_ROLES", columns: GRANTED, rows: applicable },
    TableSpec { database: DATABASE, name: "ADMINISTRABLE_ROLE_AUTHORIZATIONS", columns: GRANTED, rows: administrable },
    TableSpec {
        database: DATABASE,
        name: "ENABLED_ROLES",
        columns: &[
            text("ROLE_NAME", 255).or_null(),
            text("ROLE_HOST", 255).or_null(),
            text("IS_DEFAULT", 3).or_null(),
            text("IS_MANDATORY", 3),
        ],
        rows: enabled,
    },
    TableSpec {
        database: DATABASE,
        name: "ROLE_TABLE_GRANTS",
        columns: &[
            text("GRANTOR", 97).or_null(),
            text("GRANTOR_HOST", 256).or_null(),
            text("GRANTEE", 32),
            text("GRANTEE_HOST", 255),
            text("TABLE_CATALOG", 3),
            text("TABLE_SCHEMA", 64),
            text("TABLE_NAME", 64),
            text("PRIVILEGE_TYPE", 160),
            text("IS_GRANTABLE", 3),
        ],
        rows: table_grants,
    },
    TableSpec {
        database: DATABASE,
        name: "ROLE_COLUMN_GRANTS",
        columns: &[
            text("GRANTOR", 97).or_null(),
            text("GRANTOR_HOST", 256).or_null(),
            text("GRANTEE", 32),
            text("GRANTEE_HOST", 255),
            text("TABLE_CATALOG", 3),
            text("TABLE_SCHEMA", 64),
            text("TABLE_NAME", 64),
            text("COLUMN_NAME", 64),
            text("PRIVILEGE_TYPE", 32),
            text("IS_GRANTABLE", 3),
        ],
        rows: column_grants,
    },
    TableSpec {
        database: DATABASE,
        name: "ROLE_ROUTINE_GRANTS",
        columns: &[
            text("GRANTOR", 97).or_null(),
            text("GRANTOR_HOST", 256).or_null(),
            text("GRANTEE", 32),
            text("GRANTEE_HOST", 255),
            text("SPECIFIC_CATALOG", 3),
            text("SPECIFIC_SCHEMA", 64),
            text("SPECIFIC_NAME", 64),
            text("ROUTINE_CATALOG", 3),
            text("ROUTINE_SCHEMA", 64),
            text("ROUTINE_NAME", 64),
            text("PRIVILEGE_TYPE", 32),
            text("IS_GRANTABLE", 3),
        ],
        rows: routine_grants,
    },
    TableSpec {
        database: DATABASE,
        name: "USER_ATTRIBUTES",
        columns: &[text("USER", 32), text("HOST", 255), long_text("ATTRIBUTE").or_null()],
        rows: user_attributes,
    },
];

/// The account that reads, as grants count for it.
fn reader(source: &Source<'_>) -> AccountKey {
    let (user, host) = source.context.current_user.rsplit_once('@').unwrap_or((&source.context.current_user, ""));
    AccountKey::new(user, host)
}

/// One role that an account has been granted.
struct Granted {
    to: AccountKey,
    role: AccountKey,
    with_admin: bool,
}

/// The roles that were granted to the reader, directly or through other roles.
fn granted(accounts: &Accounts, reader: &AccountKey) -> Vec<Granted> {
    let (mut pending, mut seen, mut all) = (vec![reader.clone()], BTreeSet::new(), Vec::new());
    while let Some(to) = pending.pop() {
        if !seen.insert(to.clone()) {
            continue;
        }
        let Some(account) = accounts.get(&to) else { continue };
        let roles =
            if to == *reader { accounts.granted_roles(account) } else { account.roles.keys().cloned().collect() };
        for role in roles {
            let with_admin = account.roles.get(&role).copied().unwrap_or(false);
            pending.push(role.clone());
            all.push(Granted { to: to.clone(), role, with_admin });
        }
    }
    all.sort_by(|left, right| (&left.role, &left.to).cmp(&(&right.role, &right.to)));
    all
}

/// Whether a role is active from the start of the reader's sessions.
fn is_default(accounts: &Accounts, reader: &AccountKey, role: &AccountKey) -> Value {
    yes_no(accounts.get(reader).is_some_and(|account| account.default_roles.contains(role)))
}

fn granted_rows(source: &Source<'_>, wanted: impl Fn(&Granted) -> bool) -> SqlResult<Vec<Vec<Value>>> {
    let (accounts, reader) = (source.state.accounts.load_full(), reader(source));
    let row = |granted: &Granted| {
        vec![
            s(&reader.user),
            s(&reader.host),
            s(&granted.to.user),
            s(&granted.to.host),
            s(&granted.role.user),
            s(&granted.role.host),
            yes_no(granted.with_admin),
            is_default(&accounts, &reader, &granted.role),
            yes_no(accounts.is_mandatory(&granted.role)),
        ]
    };
    Ok(granted(&accounts, &reader).iter().filter(|granted| wanted(granted)).map(row).collect())
}

fn applicable(source: &Source<'_>, _: &VirtualScan<'_>) -> SqlResult<Vec<Vec<Value>>> {
    granted_rows(source, |_| true)
}

fn administrable(source: &Source<'_>, _: &VirtualScan<'_>) -> SqlResult<Vec<Vec<Value>>> {
    granted_rows(source, |granted| granted.with_admin)
}

/// The active roles, with the roles granted to them. None for a reader that is limited to databases: they may be granted others.
fn active_roles(source: &Source<'_>, accounts: &Accounts) -> Vec<Arc<AccountDef>> {
    let reader = reader(source);
    let Some(account) = accounts.get(&reader).filter(|_| !source.access.is_limited()) else { return Vec::new() };
    let still = source.context.active_grants.roles.iter().filter(|role| accounts.is_granted(role, account)).cloned();
    accounts.with_their_roles(still).iter().filter_map(|role| accounts.get(role).cloned()).collect()
}

fn enabled(source: &Source<'_>, _: &VirtualScan<'_>) -> SqlResult<Vec<Vec<Value>>> {
    let (accounts, reader) = (source.state.accounts.load_full(), reader(source));
    let row = |role: &Arc<AccountDef>| {
        let key = role.key();
        let (default, mandatory) = (is_default(&accounts, &reader, &key), yes_no(accounts.is_mandatory(&key)));
        vec![s(&key.user), s(&key.host), default, mandatory]
    };
    Ok(active_roles(source, &accounts).iter().map(row).collect())
}

/// The account that granted a role is not kept: the first four columns of grants to a role.
fn grant_of(role: &AccountDef) -> [Value; 4] {
    [Value::Null, Value::Null, s(&role.user), s(&role.host)]
}

fn can_grant(privileges: Privileges) -> Value {
    yes_no(privileges.contains(Privileges::GRANT_OPTION))
}

fn table_grants(source: &Source<'_>, _: &VirtualScan<'_>) -> SqlResult<Vec<Vec<Value>>> {
    let mut rows = Vec::new();
    for role in active_roles(source, &source.state.accounts.load_full()) {
        for ((database, table), grant) in role.tables.iter().filter(|(_, grant)| !grant.table.is_empty()) {
            let place = [
                s("def"),
                s(database),
                s(table),
                words(grant.table.without(Privileges::GRANT_OPTION)),
                can_grant(grant.table),
            ];
            rows.push(grant_of(&role).into_iter().chain(place).collect());
        }
    }
    Ok(rows)
}

fn column_grants(source: &Source<'_>, _: &VirtualScan<'_>) -> SqlResult<Vec<Vec<Value>>> {
    let mut rows = Vec::new();
    for role in active_roles(source, &source.state.accounts.load_full()) {
        for ((database, table), grant) in &role.tables {
            for (column, privileges) in &grant.columns {
                let place = [s("def"), s(database), s(table), s(column), words(*privileges), can_grant(grant.table)];
                rows.push(grant_of(&role).into_iter().chain(place).collect());
            }
        }
    }
    Ok(rows)
}

fn routine_grants(source: &Source<'_>, _: &VirtualScan<'_>) -> SqlResult<Vec<Vec<Value>>> {
    let mut rows = Vec::new();
    for role in active_roles(source, &source.state.accounts.load_full()) {
        for ((database, _, routine), privileges) in &role.routines {
            let name = [s("def"), s(database), s(routine)];
            let twice = name.clone().into_iter().chain(name);
            let row = grant_of(&role).into_iter().chain(twice);
            rows.push(row.chain([words(*privileges), can_grant(*privileges)]).collect());
        }
    }
    Ok(rows)
}

fn user_attributes(source: &Source<'_>, _: &VirtualScan<'_>) -> SqlResult<Vec<Vec<Value>>> {
    let row = |account: &Arc<AccountDef>| {
        vec![s(&account.user), s(&account.host), account.attribute.as_deref().map_or(Value::Null, s)]
    };
    Ok(crate::server::visible_accounts(source).iter().map(row).collect())
}
