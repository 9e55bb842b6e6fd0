//! Privileges of accounts that have been made already, so that a session that begins need not add its account's grants up again.

use parking_lot::Mutex;
use squall_catalog::{AccessMap, AccountKey, Accounts, ActiveGrants};
use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

/// Most that are kept; then it begins anew.
const KEPT_MAX: usize = 1024;

/// Privileges by account and by what of its grants is active. One that is found is the same as one that would be made now
/// ([`AccessMap::holds`]); so nothing has to be told of changes, and none is seen late.
#[derive(Debug, Default)]
pub(crate) struct AccessMaps(Mutex<HashMap<(AccountKey, ActiveGrants), Arc<AccessMap>>>);

impl AccessMaps {
    /// The privileges of an account in these accounts.
    pub fn of(&self, accounts: &Accounts, account: &AccountKey, active: &ActiveGrants) -> Arc<AccessMap> {
        let key = (account.clone(), granted(accounts, account, active));
        let known = self.0.lock().get(&key).cloned();
        if let Some(known) = known.filter(|known| known.holds(accounts)) {
            return known;
        }
        let made = Arc::new(AccessMap::new(accounts, account, active));
        let mut kept = self.0.lock();
        if kept.len() >= KEPT_MAX && !kept.contains_key(&key) {
            kept.clear();
        }
        kept.insert(key, made.clone());
        made
    }
}

/// The grants without roles that bring nothing, because they are not granted any more, or not there. Whether they are depends on accounts that the
/// privileges are not made of.
fn granted(accounts: &Accounts, account: &AccountKey, active: &ActiveGrants) -> ActiveGrants {
    let definition = accounts.get(account);
    let is_granted = |role: &&AccountKey| definition.is_some_and(|definition| accounts.is_granted(role, definition));
    let roles: BTreeSet<AccountKey> = active.roles.iter().filter(is_granted).cloned().collect();
    ActiveGrants { roles, databases: active.databases.clone() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use squall_catalog::{AccountDef, Privileges};

    fn changed(accounts: &Accounts, key: &AccountKey, change: impl FnOnce(&mut AccountDef)) -> Accounts {
        let mut next = Accounts { version: accounts.version + 1, ..accounts.clone() };
        let mut account = AccountDef::clone(accounts.get(key).expect("an account"));
        change(&mut account);
        next.accounts.insert(key.clone(), Arc::new(account));
        next
    }

    #[test]
    fn privileges_are_made_once_and_never_old() {
        let (maps, mut accounts) = (AccessMaps::default(), Accounts { version: 1, ..Accounts::default() });
        let (user, role) = (AccountKey::new("u", "%"), AccountKey::new("r", "%"));
        for (key, global) in [(&user, Privileges::NONE), (&role, Privileges::PROCESS)] {
            let definition =
                AccountDef { user: key.user.clone(), host: key.host.clone(), global, ..Default::default() };
            accounts.accounts.insert(key.clone(), Arc::new(definition));
        }
        let with_role = ActiveGrants::from(BTreeSet::from([role.clone()]));
        let global = |accounts: &Accounts, active: &ActiveGrants| maps.of(accounts, &user, active).global;
        let first = maps.of(&accounts, &user, &ActiveGrants::default());
        // Another account's change is none of this one's.
        let accounts = changed(&accounts, &role, |role| role.global = Privileges::SELECT);
        assert!(Arc::ptr_eq(&first, &maps.of(&accounts, &user, &ActiveGrants::default())));
        // A role that is active but not granted.
        assert_eq!(global(&accounts, &with_role), Privileges::NONE);
        let accounts = changed(&accounts, &user, |user| {
            user.roles.insert(role.clone(), false);
        });
        assert_eq!(global(&accounts, &with_role), Privileges::SELECT);
        assert_eq!(global(&accounts, &ActiveGrants::default()), Privileges::NONE);
        let accounts = changed(&accounts, &role, |role| role.global = Privileges::PROCESS);
        assert_eq!(global(&accounts, &with_role), Privileges::PROCESS);
        let accounts = changed(&accounts, &user, |user| user.roles.clear());
        assert_eq!(global(&accounts, &with_role), Privileges::NONE);
        // A role that is there for everybody, once it is there.
        let mandatory_roles = Arc::from([role.clone()]);
        let mut accounts = Accounts { version: accounts.version + 1, mandatory_roles, ..accounts };
        let definition = accounts.accounts.remove(&role).expect("the role");
        assert_eq!(global(&accounts, &with_role), Privileges::NONE);
        accounts.accounts.insert(role.clone(), definition);
        assert_eq!(global(&accounts, &with_role), Privileges::PROCESS);
        accounts.accounts.remove(&user);
        assert_eq!(global(&accounts, &with_role), Privileges::NONE);
    }

    #[test]
    fn a_limit_to_databases_is_not_mixed_with_others() {
        let (maps, user) = (AccessMaps::default(), AccountKey::new("u", "%"));
        let mut accounts = Accounts::default();
        let definition =
            AccountDef { user: "u".into(), host: "%".into(), global: Privileges::SELECT, ..Default::default() };
        accounts.accounts.insert(user.clone(), Arc::new(definition));
        let limited = |name: &str| {
            let databases = Some(BTreeSet::from([name.to_owned()]));
            maps.of(&accounts, &user, &ActiveGrants { databases, ..ActiveGrants::default() })
        };
        let (one, all) = (limited("one"), maps.of(&accounts, &user, &ActiveGrants::default()));
        assert!(one.sees_database("one") && !one.sees_database("two") && one.is_limited());
        assert!(limited("two").sees_database("two") && !limited("two").sees_database("one"));
        assert!(all.sees_database("two") && !all.is_limited());
    }

    #[test]
    fn they_are_bounded() {
        let (maps, accounts) = (AccessMaps::default(), Accounts::default());
        for number in 0..2 * KEPT_MAX {
            maps.of(&accounts, &AccountKey::new(format!("u{number}"), "%"), &ActiveGrants::default());
        }
        assert!(maps.0.lock().len() <= KEPT_MAX);
    }
}
