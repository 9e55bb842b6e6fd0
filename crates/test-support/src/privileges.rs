//! Plans of tests that are about something else than privileges.

use squall_catalog::{AccessMap, AccountKey, Accounts, Authorized, NoServerTables, Privileges, Subject, Touches};

/// Lets a plan be run as by an account that may do everything.
pub fn authorized<T: Touches>(plan: T) -> Authorized<T> {
    let account = AccountKey::new("root", "localhost");
    let mut access = AccessMap::default();
    access.global = Privileges::ALL_GLOBAL;
    let accounts = Accounts::default();
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
