//! Authorizes plans in tests that do not test privileges.

use squall_catalog::{
    AccessMap, AccountDef, AccountKey, Accounts, ActiveGrants, Authorized, NoServerTables, Privileges, Subject, Touches,
};
use std::sync::Arc;

/// Lets a plan be run as by an account that may do everything.
pub fn authorized<T: Touches>(plan: T) -> Authorized<T> {
    let account = AccountKey::new("root", "localhost");
    let root = AccountDef {
        user: account.user.clone(),
        host: account.host.clone(),
        global: Privileges::ALL_GLOBAL,
        ..AccountDef::default()
    };
    // Views have it as their definer.
    let mut accounts = Accounts::default();
    accounts.accounts.insert(account.clone(), Arc::new(root));
    let access = AccessMap::new(&accounts, &account, &ActiveGrants::default());
    let subject = Subject {
        account: &account,
        client_host: "localhost",
        access: &access,
        accounts: &accounts,
        all_roles: false,
        server_tables: &NoServerTables,
        locked: None,
    };
    match subject.authorize(plan) {
        Ok(plan) => plan,
        Err(error) => panic!("root may not: {error}"),
    }
}
