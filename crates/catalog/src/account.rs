//! Accounts, roles and what is granted to them, as one immutable snapshot.

use crate::privilege::Privileges;
use squall_types::{ErrorCode, SqlError};
use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;
use std::sync::Arc;

/// Names an account: `'user'@'host'`.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct AccountKey {
    /// User part.
    pub user: String,
    /// Host part.
    pub host: String,
}

impl AccountKey {
    /// Of both parts.
    pub fn new(user: impl Into<String>, host: impl Into<String>) -> Self {
        Self { user: user.into(), host: host.into() }
    }

    /// The names of a list such as `` `a`@`%`, b, 'c'@localhost ``, each once. `None` when one of them has no user.
    pub fn list(text: &str) -> Option<Vec<AccountKey>> {
        let mut keys: Vec<AccountKey> = Vec::new();
        if text.trim().is_empty() {
            return Some(keys);
        }
        for item in split_outside_quotes(text, ',') {
            let mut parts = split_outside_quotes(item, '@').into_iter();
            let user = parts.next().map(unquoted).filter(|user| !user.is_empty())?;
            let host = parts.next().map(unquoted).filter(|host| !host.is_empty());
            let key = AccountKey { user, host: host.map_or_else(|| "%".to_string(), |host| host.to_lowercase()) };
            if !keys.contains(&key) {
                keys.push(key);
            }
        }
        Some(keys)
    }
}

/// The parts of a text between separators that are in no quotes.
fn split_outside_quotes(text: &str, separator: char) -> Vec<&str> {
    let (mut parts, mut from, mut quote) = (Vec::new(), 0, None);
    for (at, character) in text.char_indices() {
        match quote {
            Some(open) if open == character => quote = None,
            Some(_) => {}
            None if matches!(character, '`' | '\'' | '"') => quote = Some(character),
            None if character == separator => {
                parts.push(&text[from..at]);
                from = at + separator.len_utf8();
            }
            None => {}
        }
    }
    parts.push(&text[from..]);
    parts
}

/// A name without the quotes around it.
fn unquoted(name: &str) -> String {
    let name = name.trim();
    for quote in ['`', '\'', '"'] {
        let inner = name.strip_prefix(quote).and_then(|rest| rest.strip_suffix(quote));
        if let Some(inner) = inner {
            return inner.replace(&format!("{quote}{quote}"), &quote.to_string());
        }
    }
    name.to_string()
}

/// How much of the server an account may use; 0 is no limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct ResourceLimits {
    /// MAX_QUERIES_PER_HOUR: statements, of all kinds.
    pub queries_per_hour: u64,
    /// MAX_UPDATES_PER_HOUR: statements that change rows or definitions.
    pub updates_per_hour: u64,
    /// MAX_CONNECTIONS_PER_HOUR.
    pub connections_per_hour: u64,
    /// MAX_USER_CONNECTIONS: at the same time. It stands in the place of the variable `max_user_connections`.
    pub user_connections: u64,
}

impl ResourceLimits {
    /// The limits with the options that set them, in the order of SHOW CREATE USER and of the columns of `mysql.user`.
    pub fn by_option(&self) -> [(&'static str, u64); 4] {
        [
            ("MAX_QUERIES_PER_HOUR", self.queries_per_hour),
            ("MAX_UPDATES_PER_HOUR", self.updates_per_hour),
            ("MAX_CONNECTIONS_PER_HOUR", self.connections_per_hour),
            ("MAX_USER_CONNECTIONS", self.user_connections),
        ]
    }

    /// Whether anything is counted by the hour.
    pub fn are_hourly(&self) -> bool {
        self.queries_per_hour != 0 || self.updates_per_hour != 0 || self.connections_per_hour != 0
    }
}

/// What REQUIRE asks of an account's connections.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub enum TlsRequirement {
    /// NONE: they need not be encrypted.
    #[default]
    None,
    /// SSL: they are encrypted.
    Encrypted,
    /// X509: the client has a certificate that the server's authority signed.
    Certificate,
    /// SUBJECT, ISSUER and CIPHER, as far as they are given.
    Specified {
        /// The certificate's subject in OpenSSL's one-line form, such as `/C=SE/CN=client`.
        subject: Option<String>,
        /// The name of the authority that signed it, in the same form.
        issuer: Option<String>,
        /// The connection's cipher suite.
        cipher: Option<String>,
    },
}

/// How long too many wrong passwords lock an account.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum PasswordLockTime {
    /// 0: not at all.
    #[default]
    Off,
    /// So many days, of 24 hours each; at most 32,767.
    Days(u64),
    /// UNBOUNDED: until ACCOUNT UNLOCK or the server's next start.
    Unbounded,
}

/// Why a login is refused whatever its password is: there were too many wrong ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LoginBlock {
    /// For how many days the account is locked, and how many are left, the one that has begun included; `None` is for good.
    pub days: Option<(u64, u64)>,
    /// How many wrong passwords there were.
    pub failures: u64,
}

/// A password that an account has, or had.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EarlierPassword {
    /// When it was set, microseconds since 1970 UTC.
    pub set_micros: i64,
    /// Its verifier, of the account's plugin.
    pub verifier: Vec<u8>,
}

/// A user or a role.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct AccountDef {
    /// User part.
    pub user: String,
    /// Host part.
    pub host: String,
    /// `caching_sha2_password`, `mysql_native_password`, …
    pub plugin: String,
    /// `authentication_string`: the stored verifier; empty for no password.
    pub authentication: Vec<u8>,
    /// The verifier before, kept by RETAIN CURRENT PASSWORD.
    pub second_authentication: Vec<u8>,
    /// ACCOUNT LOCK.
    pub locked: bool,
    /// PASSWORD EXPIRE.
    pub password_expired: bool,
    /// PASSWORD EXPIRE INTERVAL n DAY, 0 for NEVER; `None` for DEFAULT.
    pub password_lifetime_days: Option<u64>,
    /// PASSWORD HISTORY; `None` for DEFAULT (`password_history`).
    pub password_history: Option<u64>,
    /// PASSWORD REUSE INTERVAL; `None` for DEFAULT (`password_reuse_interval`).
    pub password_reuse_days: Option<u64>,
    /// PASSWORD REQUIRE CURRENT (true) or OPTIONAL; `None` for DEFAULT (`password_require_current`).
    pub password_require_current: Option<bool>,
    /// When the password was set, microseconds since 1970 UTC.
    pub password_changed_micros: i64,
    /// The passwords that may not come back yet, the present one included, newest first.
    pub earlier_passwords: Vec<EarlierPassword>,
    /// FAILED_LOGIN_ATTEMPTS: so many wrong passwords in a row lock the account; 0 is off.
    pub failed_login_attempts: u64,
    /// PASSWORD_LOCK_TIME: for how long.
    pub password_lock_time: PasswordLockTime,
    /// REQUIRE: how its clients have to be encrypted.
    pub tls: TlsRequirement,
    /// How much of the server it may use.
    pub limits: ResourceLimits,
    /// COMMENT or ATTRIBUTE as a JSON text.
    pub attribute: Option<String>,
    /// Whether it was made by CREATE ROLE.
    pub is_role: bool,
    /// Static privileges on `*.*`.
    pub global: Privileges,
    /// Dynamic privileges, with whether they may be granted on.
    pub dynamic: BTreeMap<String, bool>,
    /// By database name or pattern.
    pub databases: BTreeMap<String, Privileges>,
    /// Privileges on `*.*` that do not hold for a database: partial revokes.
    pub restrictions: Restrictions,
    /// By database and table.
    pub tables: BTreeMap<(String, String), TableGrant>,
    /// By database, whether it is a function, and name in lower case.
    pub routines: BTreeMap<(String, bool, String), Privileges>,
    /// Roles granted, with whether they may be granted on.
    pub roles: BTreeMap<AccountKey, bool>,
    /// Roles that are active from the start.
    pub default_roles: BTreeSet<AccountKey>,
}

/// Global privileges that do not hold for a database, by its name.
pub type Restrictions = BTreeMap<String, Privileges>;

/// The restrictions of two sets of global privileges together: the privileges that neither has for the database.
pub fn common_restrictions(left: (Privileges, &Restrictions), right: (Privileges, &Restrictions)) -> Restrictions {
    let all = left.0.union(right.0);
    let of = |(global, restrictions): (Privileges, &Restrictions), database: &str| {
        global.without(restrictions.get(database).copied().unwrap_or_default())
    };
    let names = left.1.keys().chain(right.1.keys());
    let restricted = names.map(|name| (name.clone(), all.without(of(left, name).union(of(right, name)))));
    restricted.filter(|(_, privileges)| !privileges.is_empty()).collect()
}

/// Grants on one table.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct TableGrant {
    /// On the whole table.
    pub table: Privileges,
    /// On columns, by name in lower case.
    pub columns: BTreeMap<String, Privileges>,
}

impl AccountDef {
    /// Its name.
    pub fn key(&self) -> AccountKey {
        AccountKey { user: self.user.clone(), host: self.host.clone() }
    }

    /// Whether its password has expired: by PASSWORD EXPIRE, or because it is older than it may become, which is
    /// `default_password_lifetime` days where the account does not say (0 for ever).
    pub fn has_expired_password(&self, default_lifetime_days: u64, now_micros: i64) -> bool {
        const MICROS_A_DAY: i64 = 24 * 60 * 60 * 1_000_000;
        let days = self.password_lifetime_days.unwrap_or(default_lifetime_days);
        let age = now_micros.saturating_sub(self.password_changed_micros);
        self.password_expired || (days != 0 && age / MICROS_A_DAY >= days.cast_signed())
    }

    /// Whether wrong passwords lock it.
    pub fn counts_failed_logins(&self) -> bool {
        self.failed_login_attempts != 0 && self.password_lock_time != PasswordLockTime::Off
    }
}

/// All accounts at one version.
#[derive(Clone, Debug, Default)]
pub struct Accounts {
    /// Counts every published change.
    pub version: u64,
    /// By name.
    pub accounts: BTreeMap<AccountKey, Arc<AccountDef>>,
    /// Roles that every account has been granted (`mandatory_roles`), whether they are there or not.
    pub mandatory_roles: Arc<[AccountKey]>,
    /// `partial_revokes`: privileges on `*.*` can be taken back for a database, and names of databases in grants are no
    /// patterns.
    pub partial_revokes: bool,
}

impl Accounts {
    /// The account of exactly that name.
    pub fn get(&self, key: &AccountKey) -> Option<&Arc<AccountDef>> {
        self.accounts.get(key)
    }

    /// Whether anything is revoked partially.
    pub fn has_restrictions(&self) -> bool {
        self.accounts.values().any(|account| !account.restrictions.is_empty())
    }

    /// Whether a role is mandatory: all accounts have it.
    pub fn is_mandatory(&self, role: &AccountKey) -> bool {
        self.mandatory_roles.contains(role) && self.accounts.contains_key(role)
    }

    /// Whether an account has been granted a role, or the role is mandatory.
    pub fn is_granted(&self, role: &AccountKey, account: &AccountDef) -> bool {
        account.roles.contains_key(role) || (self.is_mandatory(role) && *role != account.key())
    }

    /// The roles of an account: those granted to it, and the mandatory ones.
    pub fn granted_roles(&self, account: &AccountDef) -> BTreeSet<AccountKey> {
        let everybodys = self.mandatory_roles.iter().filter(|role| self.is_granted(role, account));
        account.roles.keys().chain(everybodys).cloned().collect()
    }

    /// Some roles, and the roles granted to them, directly or through others.
    pub fn with_their_roles(&self, roles: impl IntoIterator<Item = AccountKey>) -> BTreeSet<AccountKey> {
        let (mut pending, mut seen) = (Vec::from_iter(roles), BTreeSet::new());
        while let Some(key) = pending.pop() {
            if seen.insert(key.clone()) {
                pending.extend(self.get(&key).into_iter().flat_map(|role| role.roles.keys().cloned()));
            }
        }
        seen
    }

    /// The roles that are active when an account begins something: its default ones, or with `all` all that it has.
    pub fn roles_at_first(&self, account: &AccountDef, all: bool) -> BTreeSet<AccountKey> {
        if all { self.granted_roles(account) } else { account.default_roles.clone() }
    }

    /// 1045 of an account that is connected. Whether it has a password tells whether the client has used one.
    pub fn access_denied(&self, key: &AccountKey) -> SqlError {
        let has_password = self.get(key).is_some_and(|account| !account.authentication.is_empty());
        SqlError::new(ErrorCode::AccessDenied, &[&key.user, &key.host, if has_password { &"YES" } else { &"NO" }])
    }

    /// The account that a client is: the most specific host that matches, then a named user before the anonymous one.
    /// `None` as address is a Unix socket or this process.
    pub fn find(&self, user: &str, address: Option<IpAddr>) -> Option<&Arc<AccountDef>> {
        self.accounts
            .values()
            .filter(|account| !account.is_role || !account.authentication.is_empty())
            .filter(|account| account.user == user || account.user.is_empty())
            .filter(|account| host_matches(&account.host, address))
            .min_by_key(|account| (host_rank(&account.host), account.user.is_empty()))
    }
}

/// Order in which hosts are tried: literal ones, then patterns with the longest fixed start, `%`, the empty host.
fn host_rank(host: &str) -> (u8, usize) {
    if host.is_empty() {
        return (3, 0);
    }
    match host.find(['%', '_']) {
        None if host.contains('/') => (1, 0),
        None => (0, 0),
        Some(0) if host == "%" => (2, usize::MAX),
        Some(at) => (2, usize::MAX - 1 - at),
    }
}

/// Whether a client from `address` matches a host pattern.
pub fn host_matches(pattern: &str, address: Option<IpAddr>) -> bool {
    if pattern.is_empty() || pattern == "%" {
        return true;
    }
    let Some(address) = address else {
        return like(pattern.as_bytes(), b"localhost", true);
    };
    let address = address.to_canonical();
    if address.is_loopback() && like(pattern.as_bytes(), b"localhost", true) {
        return true;
    }
    if let Some((network, mask)) = pattern.split_once('/') {
        return network_contains(network, mask, address);
    }
    like(pattern.as_bytes(), address.to_string().as_bytes(), true)
}

fn network_contains(network: &str, mask: &str, address: IpAddr) -> bool {
    match (network.parse::<IpAddr>(), address) {
        (Ok(IpAddr::V4(network)), IpAddr::V4(address)) => {
            let bits = match mask.parse::<u32>() {
                Ok(0) => 0,
                Ok(length @ 1..=32) => u32::MAX << (32 - length),
                Ok(_) => return false,
                Err(_) => match mask.parse::<std::net::Ipv4Addr>() {
                    Ok(mask) => mask.to_bits(),
                    Err(_) => return false,
                },
            };
            address.to_bits() & bits == network.to_bits() & bits
        }
        (Ok(IpAddr::V6(network)), IpAddr::V6(address)) => match mask.parse::<u32>() {
            Ok(0) => true,
            Ok(length @ 1..=128) => {
                let bits = u128::MAX << (128 - length);
                address.to_bits() & bits == network.to_bits() & bits
            }
            _ => false,
        },
        _ => false,
    }
}

/// `%` and `_` patterns with `\` as escape, as grants use them.
pub fn like(pattern: &[u8], text: &[u8], ignore_case: bool) -> bool {
    let same = |left: u8, right: u8| left == right || (ignore_case && left.eq_ignore_ascii_case(&right));
    // Greedy matching with one point to come back to: the last `%`.
    let (mut p, mut t, mut star) = (0, 0, None);
    while t < text.len() {
        match pattern.get(p) {
            Some(b'%') => {
                star = Some((p, t));
                p += 1;
                continue;
            }
            Some(b'_') => {
                p += 1;
                t += 1;
                continue;
            }
            Some(b'\\') if p + 1 < pattern.len() && same(pattern[p + 1], text[t]) => {
                p += 2;
                t += 1;
                continue;
            }
            Some(byte) if *byte != b'\\' && same(*byte, text[t]) => {
                p += 1;
                t += 1;
                continue;
            }
            _ => {}
        }
        match star {
            Some((at, from)) => {
                star = Some((at, from + 1));
                p = at + 1;
                t = from + 1;
            }
            None => return false,
        }
    }
    pattern[p..].iter().all(|byte| *byte == b'%')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn passwords_expire_by_their_age() {
        const DAY: i64 = 24 * 60 * 60 * 1_000_000;
        let account = |lifetime: Option<u64>| AccountDef {
            password_changed_micros: 5 * DAY,
            password_lifetime_days: lifetime,
            ..AccountDef::default()
        };
        let expired = |lifetime, by_default, now| account(lifetime).has_expired_password(by_default, now);
        assert_eq!([7 * DAY - 1, 7 * DAY].map(|now| expired(Some(2), 0, now)), [false, true]);
        // What the account says wins, also never.
        assert_eq!([Some(9), Some(0), None].map(|lifetime| expired(lifetime, 2, 7 * DAY)), [false, false, true]);
        assert!(!expired(None, 0, i64::MAX) && !expired(Some(1), 0, i64::MIN));
        assert!(AccountDef { password_expired: true, ..account(None) }.has_expired_password(0, 0));
    }

    fn accounts(names: &[(&str, &str)]) -> Accounts {
        let mut accounts = Accounts::default();
        for (user, host) in names {
            let account = AccountDef { user: (*user).into(), host: (*host).into(), ..Default::default() };
            accounts.accounts.insert(account.key(), Arc::new(account));
        }
        accounts
    }

    #[test]
    fn the_most_specific_host_wins() {
        let accounts = accounts(&[("a", "%"), ("a", "10.0.0.0/8"), ("a", "localhost"), ("", "10.1.%"), ("b", "10.%")]);
        let host = |user: &str, address: Option<&str>| {
            let address = address.map(|text| text.parse().expect("an address"));
            accounts.find(user, address).map(|account| format!("{}@{}", account.user, account.host))
        };
        assert_eq!(host("a", None).as_deref(), Some("a@localhost"));
        assert_eq!(host("a", Some("127.0.0.1")).as_deref(), Some("a@localhost"));
        assert_eq!(host("a", Some("10.2.3.4")).as_deref(), Some("a@10.0.0.0/8"));
        assert_eq!(host("b", Some("10.1.3.4")).as_deref(), Some("@10.1.%"));
        assert_eq!(host("b", Some("10.2.3.4")).as_deref(), Some("b@10.%"));
        assert_eq!(host("b", Some("11.2.3.4")), None);
    }

    #[test]
    fn lists_of_roles() {
        let list =
            |text: &str| AccountKey::list(text).map(|keys| keys.into_iter().map(|key| (key.user, key.host)).collect());
        let keys = |keys: &[(&str, &str)]| -> Option<Vec<(String, String)>> {
            Some(keys.iter().map(|(user, host)| (user.to_string(), host.to_string())).collect())
        };
        assert_eq!(list(""), keys(&[]));
        assert_eq!(list(" r1, r1@% ,`r,2`@`LocalHost`"), keys(&[("r1", "%"), ("r,2", "localhost")]));
        assert_eq!(list("aa ; bb : r3, (r2)"), keys(&[("aa ; bb : r3", "%"), ("(r2)", "%")]));
        assert_eq!(list("foo,"), None);
        assert_eq!(list("``@`localhost`"), None);
    }

    #[test]
    fn patterns() {
        assert!(like(b"a%c", b"abbc", false));
        assert!(!like(b"a%c", b"abbd", false));
        assert!(like(br"my\_db", b"my_db", false));
        assert!(!like(br"my\_db", b"myxdb", false));
        assert!(like(b"my_db", b"myxdb", false));
        assert!(like(b"%", b"", false));
    }
}
