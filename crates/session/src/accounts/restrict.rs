//! Partial revokes: privileges on `*.*` that do not hold for a database.

use squall_catalog::{AccessMap, AccountDef, AccountKey, Privileges, Restrictions};
use squall_types::{ErrorCode, SqlError, SqlResult};

/// Privileges are granted on `*.*`, by an account with restrictions of its own: these go with them, except for databases
/// where the account has had the privilege before. Others are lifted.
pub(super) fn for_global_grant(account: &mut AccountDef, granted: Privileges, grantors: &Restrictions) {
    let before = account.restrictions.clone();
    forget(account, granted);
    for (database, restricted) in grantors {
        let on_database = account.databases.get(database).copied().unwrap_or_default();
        let restricted_before = before.get(database).copied().unwrap_or_default();
        let had = account.global.without(restricted_before).union(on_database);
        let granted = Privileges(granted.0 & restricted.0).without(had);
        restrict(account, database, granted);
    }
}

/// Privileges are granted on a database. Removes the restrictions of the privileges that were restricted there.
///
/// Returns the others.
pub(super) fn lift(account: &mut AccountDef, database: &str, granted: Privileges) -> Privileges {
    let Some(restricted) = account.restrictions.get_mut(database) else { return granted };
    let rest = granted.without(*restricted);
    *restricted = restricted.without(granted);
    account.restrictions.retain(|_, privileges| !privileges.is_empty());
    rest
}

/// Privileges are revoked on a database: those that are not granted there, but on `*.*`, are restricted.
///
/// Returns whether there are any.
pub(super) fn add(account: &mut AccountDef, database: &str, revoked: Privileges) -> bool {
    let on_database = account.databases.get(database).copied().unwrap_or_default();
    let restrictable = Privileges(revoked.0 & Privileges::ALL_DATABASE.0 & account.global.0).without(on_database);
    restrict(account, database, restrictable);
    !restrictable.is_empty()
}

/// Privileges on `*.*` are gone, and what restricted them.
pub(super) fn forget(account: &mut AccountDef, revoked: Privileges) {
    account.restrictions.retain(|_, privileges| {
        *privileges = privileges.without(revoked);
        !privileges.is_empty()
    });
}

fn restrict(account: &mut AccountDef, database: &str, privileges: Privileges) {
    if !privileges.is_empty() {
        let restricted = account.restrictions.entry(database.to_string()).or_default();
        *restricted = restricted.union(privileges);
    }
}

/// An account that is restricted on a database cannot revoke on `*.*` what another account has there (3879).
pub(super) fn check_global_revoke(
    revoker: &AccountKey,
    access: &AccessMap,
    account: &AccountDef,
    revoked: Privileges,
) -> SqlResult<()> {
    for (database, restricted) in &access.restrictions {
        let on_database = account.databases.get(database).copied().unwrap_or_default();
        let had = account.global.union(on_database);
        let concerned = Privileges(restricted.0 & revoked.0 & had.0);
        let own = account.restrictions.get(database).copied().unwrap_or_default();
        if !concerned.is_empty() && concerned != Privileges(own.0 & revoked.0) {
            let error = ErrorCode::AuthIdDbAccessDenied;
            return Err(SqlError::new(error, &[&revoker.user, &revoker.host, database]));
        }
    }
    Ok(())
}
