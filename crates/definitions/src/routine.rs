//! CREATE, ALTER and DROP of stored procedures and functions.

use crate::edit::change_catalog;
use squall_catalog::{AccountDef, AccountKey, Privileges, RoutineDef, RoutineKind};
use squall_server_state::ServerState;
use squall_server_state::accounts::AccountChange;
use squall_types::{ErrorCode, SqlError, SqlResult};
use std::sync::Arc;

/// The privileges that the creator of a routine gets on it.
pub const OF_CREATOR: Privileges = Privileges::EXECUTE.union(Privileges::ALTER_ROUTINE);

/// How to act if a routine or trigger of the name exists already.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IfThere {
    /// 1304, 1359.
    Fail,
    /// Leave it.
    Keep,
    /// OR REPLACE.
    Replace,
}

/// Creates a routine. With `creator`, that account gets EXECUTE and ALTER ROUTINE on it, in the same commit. Tells whether it was made:
/// `false` where one was kept.
///
/// # Errors
/// 1049 for a database that is not there, 1304 for a routine that is.
pub fn create_routine(
    state: &ServerState,
    database: &str,
    routine: RoutineDef,
    if_there: IfThere,
    creator: Option<&AccountKey>,
    mut accounts: AccountChange,
) -> SqlResult<bool> {
    if let Some(creator) = creator {
        let key = grant_key(database, routine.kind, &routine.name);
        change_account(&mut accounts, creator, |account| {
            let grant = account.routines.entry(key).or_default();
            *grant = grant.union(OF_CREATOR);
        });
    }
    let mut is_made = false;
    accounts
        .commit_with(|records| {
            change_catalog(state, |catalog| {
                if catalog.database(database).is_none() {
                    return Err(SqlError::new(ErrorCode::BadDatabase, &[&database]));
                }
                if catalog.routine(database, routine.kind, &routine.name).is_some() && if_there != IfThere::Replace {
                    return Err(SqlError::new(ErrorCode::SpAlreadyExists, &[&routine.kind.word(), &routine.name]));
                }
                is_made = true;
                catalog.change_system(records);
                catalog.put_routine(database, routine)
            })
        })
        .or_else(|error| match if_there {
            IfThere::Keep if error.is(ErrorCode::SpAlreadyExists) => Ok(()),
            _ => Err(error),
        })?;
    Ok(is_made)
}

/// Gives a routine what `change` makes of its definition.
///
/// # Errors
/// 1305 if there is none.
pub fn alter_routine(
    state: &ServerState,
    (database, kind, name): (&str, RoutineKind, &str),
    change: impl FnOnce(&mut RoutineDef),
) -> SqlResult<()> {
    change_catalog(state, |catalog| {
        let known = catalog.routine(database, kind, name).ok_or_else(|| no_such_routine(database, kind, name))?;
        let mut routine = (**known).clone();
        change(&mut routine);
        catalog.put_routine(database, routine)
    })
}

/// Drops a routine, and what accounts were granted on it, in one commit; tells whether there was one.
///
/// # Errors
/// When it cannot be written.
pub fn drop_routine(
    state: &ServerState,
    (database, kind, name): (&str, RoutineKind, &str),
    mut accounts: AccountChange,
) -> SqlResult<bool> {
    let granted = grant_key(database, kind, name);
    let holders: Vec<AccountKey> = accounts
        .accounts
        .accounts
        .iter()
        .filter(|(_, account)| account.routines.contains_key(&granted))
        .map(|(key, _)| key.clone())
        .collect();
    for holder in &holders {
        change_account(&mut accounts, holder, |account| {
            account.routines.remove(&granted);
        });
    }
    if state.catalog.load().routine(database, kind, name).is_none() {
        return Ok(false);
    }
    let mut was_there = false;
    accounts.commit_with(|records| {
        change_catalog(state, |catalog| {
            was_there = catalog.drop_routine(database, &(kind, name.to_lowercase()));
            catalog.change_system(records);
            Ok(())
        })
    })?;
    Ok(was_there)
}

/// 1305.
pub fn no_such_routine(database: &str, kind: RoutineKind, name: &str) -> SqlError {
    SqlError::new(ErrorCode::SpDoesNotExist, &[&kind.word(), &format_args!("{database}.{name}")])
}

/// What accounts have their grants on a routine by.
fn grant_key(database: &str, kind: RoutineKind, name: &str) -> (String, bool, String) {
    (database.to_string(), kind.is_function(), name.to_lowercase())
}

fn change_account(accounts: &mut AccountChange, key: &AccountKey, change: impl FnOnce(&mut AccountDef)) {
    if let Some(account) = accounts.accounts.accounts.get_mut(key) {
        change(Arc::make_mut(account));
    }
}
