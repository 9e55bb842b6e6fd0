//! Accounts: records of the store, read as one immutable snapshot.

use crate::access_maps::AccessMaps;
use crate::account_codec;
use crate::failed_logins::FailedLogins;
use crate::hourly_use::HourlyUses;
use arc_swap::ArcSwap;
use squall_catalog::{AccessMap, AccountDef, AccountKey, Accounts, ActiveGrants, DYNAMIC_PRIVILEGES, Privileges};
use squall_row_store::{CommitTicket, SystemChange, SystemRecords};
use squall_types::{ErrorCode, SqlError, SqlResult};
use std::sync::Arc;
use tokio::sync::{Mutex, OwnedMutexGuard};

/// The kind of records that hold accounts.
const SPACE: &str = "account";

/// The snapshot of all accounts, and the way to the next one.
#[derive(Debug)]
pub struct AccountStore {
    current: Arc<ArcSwap<Accounts>>,
    change: Arc<Mutex<()>>,
    /// Held while other accounts are made known.
    settings: Arc<parking_lot::Mutex<Settings>>,
    /// What accounts with hourly limits have used.
    pub hourly_uses: HourlyUses,
    /// Wrong passwords in a row.
    pub failed_logins: FailedLogins,
    access_maps: AccessMaps,
}

/// The settings of variables for all accounts.
#[derive(Debug, Default)]
struct Settings {
    mandatory_roles: Arc<[AccountKey]>,
    partial_revokes: bool,
}

/// Accounts on their way to be changed: no other session changes any meanwhile.
#[derive(Debug)]
pub struct AccountChange {
    /// The new accounts; at first a copy of the current ones.
    pub accounts: Accounts,
    current: Arc<ArcSwap<Accounts>>,
    settings: Arc<parking_lot::Mutex<Settings>>,
    _changing: OwnedMutexGuard<()>,
}

/// Changed accounts that are known to all once they are durable, also if the caller does not wait for that.
struct Publication {
    accounts: Option<Accounts>,
    current: Arc<ArcSwap<Accounts>>,
    settings: Arc<parking_lot::Mutex<Settings>>,
    ticket: CommitTicket,
    _changing: OwnedMutexGuard<()>,
}

impl Drop for Publication {
    fn drop(&mut self) {
        if let (Ok(()), Some(accounts)) = (self.ticket.wait(), self.accounts.take()) {
            publish(&self.current, &self.settings.lock(), accounts);
        }
    }
}

fn publish(current: &ArcSwap<Accounts>, settings: &Settings, accounts: Accounts) {
    let version = current.load().version + 1;
    let (mandatory_roles, partial_revokes) = (settings.mandatory_roles.clone(), settings.partial_revokes);
    current.store(Arc::new(Accounts { version, mandatory_roles, partial_revokes, ..accounts }));
}

impl AccountStore {
    /// Reads all accounts.
    pub fn load(store: &dyn SystemRecords) -> SqlResult<AccountStore> {
        let mut accounts = Accounts { version: 1, ..Default::default() };
        for (_, record) in store.system_records(SPACE)? {
            let account =
                account_codec::decode(&record).ok_or_else(|| SqlError::internal("an account's record is damaged"))?;
            accounts.accounts.insert(account.key(), Arc::new(account));
        }
        let current = Arc::new(ArcSwap::from_pointee(accounts));
        Ok(AccountStore {
            current,
            change: Arc::default(),
            settings: Arc::default(),
            hourly_uses: HourlyUses::default(),
            failed_logins: FailedLogins::default(),
            access_maps: AccessMaps::default(),
        })
    }

    /// Takes over what `mandatory_roles` and `partial_revokes` say. Every session knows at its next statement.
    pub fn set_variables(&self, mandatory_roles: &str, partial_revokes: bool) {
        // A list that cannot be read has been refused before it came here.
        let mandatory_roles: Arc<[AccountKey]> = AccountKey::list(mandatory_roles).unwrap_or_default().into();
        let mut settings = self.settings.lock();
        if settings.mandatory_roles != mandatory_roles || settings.partial_revokes != partial_revokes {
            *settings = Settings { mandatory_roles, partial_revokes };
            publish(&self.current, &settings, (**self.current.load()).clone());
        }
    }

    /// The accounts now.
    pub fn load_full(&self) -> Arc<Accounts> {
        self.current.load_full()
    }

    /// As [`AccountStore::load_full`], by a cheaper guard.
    pub fn load_now(&self) -> arc_swap::Guard<Arc<Accounts>> {
        self.current.load()
    }

    /// The privileges of an account with these of its grants active, as [`AccessMap::new`] would make them of these accounts.
    pub fn access(&self, accounts: &Accounts, account: &AccountKey, active: &ActiveGrants) -> Arc<AccessMap> {
        self.access_maps.of(accounts, account, active)
    }

    /// The same of the accounts now.
    pub fn access_now(&self, account: &AccountKey, active: &ActiveGrants) -> Arc<AccessMap> {
        self.access(&self.load_now(), account, active)
    }

    /// Forgets what an account has used and how often it failed, because it is about to be made or to go.
    pub fn forget_uses(&self, key: &AccountKey) {
        self.hourly_uses.forget(key);
        self.failed_logins.forget(key);
    }

    /// Begins a change, after those of others.
    pub async fn begin_change(&self) -> AccountChange {
        self.change_with(self.change.clone().lock_owned().await)
    }

    /// [`AccountStore::begin_change`] on a thread that may wait.
    pub fn begin_change_blocking(&self) -> AccountChange {
        self.change_with(self.change.clone().blocking_lock_owned())
    }

    fn change_with(&self, changing: OwnedMutexGuard<()>) -> AccountChange {
        AccountChange {
            accounts: (*self.load_full()).clone(),
            current: self.current.clone(),
            settings: self.settings.clone(),
            _changing: changing,
        }
    }

    /// At the first start, makes `root`.
    pub fn bootstrap(
        &self,
        store: &dyn SystemRecords,
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
        let changing = self.change.clone().try_lock_owned().map_err(SqlError::internal)?;
        let mut change = self.change_with(changing);
        for host in hosts {
            let key = AccountKey::new("root", host);
            let root = AccountDef {
                user: key.user.clone(),
                host: key.host.clone(),
                plugin: "caching_sha2_password".to_string(),
                authentication: match password {
                    Some(password) => {
                        hash_password(password).ok_or_else(|| failed("CREATE USER", std::slice::from_ref(&key)))?
                    }
                    None => Vec::new(),
                },
                password_changed_micros: now_micros,
                global: Privileges::ALL_GLOBAL.union(Privileges::GRANT_OPTION),
                dynamic: DYNAMIC_PRIVILEGES.iter().map(|name| (name.to_string(), true)).collect(),
                ..Default::default()
            };
            change.accounts.accounts.insert(key, Arc::new(root));
        }
        change.write(store)?.ticket.wait()
    }
}

impl AccountChange {
    /// Makes the new accounts durable, then publishes them.
    ///
    /// # Errors
    /// If they cannot be written; then they do not change.
    pub async fn commit(self, store: &dyn SystemRecords) -> SqlResult<()> {
        let publication = self.write(store)?;
        publication.ticket.clone().await
    }

    /// The same for accounts that change together with something else, which `commit` makes durable with their records.
    ///
    /// # Errors
    /// Errors of `commit`; then the accounts do not change.
    pub fn commit_with(self, commit: impl FnOnce(Vec<SystemChange>) -> SqlResult<()>) -> SqlResult<()> {
        commit(self.records())?;
        publish(&self.current, &self.settings.lock(), self.accounts);
        Ok(())
    }

    /// The records that change for the new accounts.
    fn records(&self) -> Vec<SystemChange> {
        let before = self.current.load_full();
        let mut records = Vec::new();
        for (key, account) in &self.accounts.accounts {
            if !before.accounts.get(key).is_some_and(|same| Arc::ptr_eq(same, account)) {
                records.push(SystemChange {
                    space: SPACE,
                    key: record_key(key),
                    value: Some(account_codec::encode(account)),
                });
            }
        }
        for key in before.accounts.keys().filter(|key| !self.accounts.accounts.contains_key(key)) {
            records.push(SystemChange { space: SPACE, key: record_key(key), value: None });
        }
        records
    }

    fn write(self, store: &dyn SystemRecords) -> SqlResult<Publication> {
        let records = self.records();
        let (ticket, accounts) = match records.is_empty() {
            true => (CommitTicket::ready(Ok(())), None),
            false => (store.commit_system_async(&records)?, Some(self.accounts)),
        };
        let AccountChange { current, settings, _changing, .. } = self;
        Ok(Publication { accounts, current, settings, ticket, _changing })
    }
}

fn record_key(key: &AccountKey) -> Vec<u8> {
    let mut record = key.user.clone().into_bytes();
    record.push(0);
    record.extend_from_slice(key.host.as_bytes());
    record
}

/// The verifier of a password by `caching_sha2_password`; `None` for one that is too long. Thousands of hashes: not for an
/// event loop.
pub fn hash_password(password: &str) -> Option<Vec<u8>> {
    let salt = crate::random::bytes::<20>();
    squall_passwords::sha2_auth_string(password.as_bytes(), &salt).map(String::into_bytes)
}

/// `'user'@'host'` as messages quote it.
pub fn quoted(key: &AccountKey) -> String {
    format!("'{}'@'{}'", key.user, key.host)
}

/// "Operation … failed for …" with every account that it failed for.
pub fn failed(operation: &str, keys: &[AccountKey]) -> SqlError {
    let list: Vec<String> = keys.iter().map(quoted).collect();
    SqlError::new(ErrorCode::CannotUser, &[&operation, &list.join(",")])
}
