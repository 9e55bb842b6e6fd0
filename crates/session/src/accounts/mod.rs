//! Accounts: kept as records of the store, read as one immutable snapshot.
//!
//! Reading order: [`codec`], this file, [`user`], [`grant`], [`show`].

mod codec;
mod grant;
mod role;
mod show;
mod user;

use arc_swap::ArcSwap;
use parking_lot::Mutex;
use squall_catalog::{AccountDef, AccountKey, Accounts, DYNAMIC_PRIVILEGES, Privileges};
use squall_row_store::{RowStore, SystemChange};
use squall_types::{SqlError, SqlResult};
use std::sync::Arc;

/// The kind of records that hold accounts.
const SPACE: &str = "account";

/// The snapshot of all accounts, and the way to the next one.
#[derive(Debug)]
pub struct AccountStore {
    current: ArcSwap<Accounts>,
    change: Mutex<()>,
}

impl AccountStore {
    /// Reads all accounts.
    pub fn load(store: &RowStore) -> SqlResult<AccountStore> {
        let mut accounts = Accounts { version: 1, ..Default::default() };
        for (_, record) in store.system_records(SPACE)? {
            let account = codec::decode(&record).ok_or_else(|| SqlError::internal("an account's record is damaged"))?;
            accounts.accounts.insert(account.key(), Arc::new(account));
        }
        Ok(AccountStore { current: ArcSwap::from_pointee(accounts), change: Mutex::new(()) })
    }

    /// The accounts now.
    pub fn load_full(&self) -> Arc<Accounts> {
        self.current.load_full()
    }

    /// As [`AccountStore::load_full`], by a cheaper guard.
    pub fn load_now(&self) -> arc_swap::Guard<Arc<Accounts>> {
        self.current.load()
    }

    /// Makes the next snapshot: `change` edits a copy, and what it changed is made durable before it is published.
    pub fn change<T>(&self, store: &RowStore, change: impl FnOnce(&mut Accounts) -> SqlResult<T>) -> SqlResult<T> {
        let _changing = self.change.lock();
        let before = self.load_full();
        let mut after = (*before).clone();
        let result = change(&mut after)?;
        let mut records = Vec::new();
        for (key, account) in &after.accounts {
            if !before.accounts.get(key).is_some_and(|same| Arc::ptr_eq(same, account)) {
                records.push(SystemChange { space: SPACE, key: record_key(key), value: Some(codec::encode(account)) });
            }
        }
        for key in before.accounts.keys().filter(|key| !after.accounts.contains_key(key)) {
            records.push(SystemChange { space: SPACE, key: record_key(key), value: None });
        }
        if !records.is_empty() {
            store.commit_system(&records)?;
            after.version += 1;
            self.current.store(Arc::new(after));
        }
        Ok(result)
    }

    /// At the first start, makes `root`.
    pub fn bootstrap(
        &self,
        store: &RowStore,
        password: Option<&str>,
        from_anywhere: bool,
        now_micros: i64,
    ) -> SqlResult<()> {
        if !self.load_full().accounts.is_empty() {
            return Ok(());
        }
        let mut hosts = vec!["localhost"];
        if from_anywhere && password.is_some() {
            hosts.push("%");
        }
        self.change(store, |accounts| {
            for host in hosts {
                let root = AccountDef {
                    user: "root".to_string(),
                    host: host.to_string(),
                    plugin: "caching_sha2_password".to_string(),
                    authentication: password.map(hash_password).unwrap_or_default(),
                    password_changed_micros: now_micros,
                    global: Privileges::ALL_GLOBAL.union(Privileges::GRANT_OPTION),
                    dynamic: DYNAMIC_PRIVILEGES.iter().map(|name| (name.to_string(), true)).collect(),
                    ..Default::default()
                };
                accounts.accounts.insert(root.key(), Arc::new(root));
            }
            Ok(())
        })
    }
}

fn record_key(key: &AccountKey) -> Vec<u8> {
    let mut record = key.user.clone().into_bytes();
    record.push(0);
    record.extend_from_slice(key.host.as_bytes());
    record
}

/// The verifier of a password by `caching_sha2_password`.
pub fn hash_password(password: &str) -> Vec<u8> {
    if password.is_empty() {
        return Vec::new();
    }
    let salt = crate::random::bytes::<20>();
    squall_wire::auth::sha2_auth_string(password.as_bytes(), &salt).into_bytes()
}

/// `'user'@'host'` as messages quote it.
pub fn quoted(key: &AccountKey) -> String {
    format!("'{}'@'{}'", key.user, key.host)
}
