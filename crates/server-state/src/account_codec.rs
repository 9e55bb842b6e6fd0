//! An account as bytes: a version, then every field in turn. Numbers are little-endian; a length precedes each text and list.

use squall_catalog::{
    AccountDef, AccountKey, EarlierPassword, PasswordLockTime, Privileges, ResourceLimits, TableGrant, TlsRequirement,
};
use std::collections::{BTreeMap, BTreeSet};

/// Version of the layout.
const FORMAT: u8 = 1;
/// The same with restrictions at its end. Only accounts that have some are written so.
const FORMAT_WITH_RESTRICTIONS: u8 = 2;
/// The same with rules for logins and passwords behind the restrictions. Only accounts that have some are written so.
const FORMAT_WITH_LOGIN_RULES: u8 = 3;

/// Tags of [`TlsRequirement`]. The flag before the limits says whether it is [`TlsRequirement::Encrypted`].
const TLS_PLAIN: u64 = 0;
const TLS_CERTIFICATE: u64 = 1;
const TLS_SPECIFIED: u64 = 2;

/// Tags of [`PasswordLockTime`]; a number of days is its number.
const LOCK_OFF: u64 = 0;
const LOCK_UNBOUNDED: u64 = u64::MAX;

struct Writer(Vec<u8>);

impl Writer {
    fn number(&mut self, value: u64) {
        self.0.extend_from_slice(&value.to_le_bytes());
    }

    fn flag(&mut self, value: bool) {
        self.0.push(u8::from(value));
    }

    fn bytes(&mut self, bytes: &[u8]) {
        self.number(bytes.len() as u64);
        self.0.extend_from_slice(bytes);
    }

    fn text(&mut self, text: &str) {
        self.bytes(text.as_bytes());
    }

    fn optional(&mut self, value: Option<u64>) {
        self.flag(value.is_some());
        self.number(value.unwrap_or(0));
    }

    fn optional_text(&mut self, text: Option<&String>) {
        self.flag(text.is_some());
        self.text(text.map_or("", String::as_str));
    }

    fn list<T>(&mut self, items: impl ExactSizeIterator<Item = T>, mut write: impl FnMut(&mut Self, T)) {
        self.number(items.len() as u64);
        for item in items {
            write(self, item);
        }
    }
}

struct Reader<'a>(&'a [u8]);

impl<'a> Reader<'a> {
    fn take(&mut self, count: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(count)?;
        self.0 = rest;
        Some(taken)
    }

    fn number(&mut self) -> Option<u64> {
        Some(u64::from_le_bytes(self.take(8)?.try_into().ok()?))
    }

    fn flag(&mut self) -> Option<bool> {
        Some(*self.take(1)?.first()? != 0)
    }

    fn bytes(&mut self) -> Option<Vec<u8>> {
        let length = usize::try_from(self.number()?).ok()?;
        Some(self.take(length)?.to_vec())
    }

    fn text(&mut self) -> Option<String> {
        String::from_utf8(self.bytes()?).ok()
    }

    fn optional(&mut self) -> Option<Option<u64>> {
        let given = self.flag()?;
        let value = self.number()?;
        Some(given.then_some(value))
    }

    fn optional_text(&mut self) -> Option<Option<String>> {
        let given = self.flag()?;
        let text = self.text()?;
        Some(given.then_some(text))
    }

    fn privileges(&mut self) -> Option<Privileges> {
        self.number().map(Privileges)
    }

    fn key(&mut self) -> Option<AccountKey> {
        Some(AccountKey { user: self.text()?, host: self.text()? })
    }

    fn map<K: Ord, V>(&mut self, mut read: impl FnMut(&mut Self) -> Option<(K, V)>) -> Option<BTreeMap<K, V>> {
        let count = self.number()?;
        let mut map = BTreeMap::new();
        for _ in 0..count {
            let (key, value) = read(self)?;
            map.insert(key, value);
        }
        Some(map)
    }
}

/// The record of an account.
pub fn encode(account: &AccountDef) -> Vec<u8> {
    let format = match (has_login_rules(account), account.restrictions.is_empty()) {
        (true, _) => FORMAT_WITH_LOGIN_RULES,
        (false, false) => FORMAT_WITH_RESTRICTIONS,
        (false, true) => FORMAT,
    };
    let mut out = Writer(vec![format]);
    out.text(&account.user);
    out.text(&account.host);
    out.text(&account.plugin);
    out.bytes(&account.authentication);
    out.bytes(&account.second_authentication);
    out.flag(account.locked);
    out.flag(account.password_expired);
    out.optional(account.password_lifetime_days);
    out.optional(account.password_history);
    out.optional(account.password_reuse_days);
    out.optional(account.password_require_current.map(u64::from));
    out.number(account.password_changed_micros as u64);
    out.flag(account.tls == TlsRequirement::Encrypted);
    for (_, limit) in account.limits.by_option() {
        out.number(limit);
    }
    out.flag(account.attribute.is_some());
    out.text(account.attribute.as_deref().unwrap_or_default());
    out.flag(account.is_role);
    out.number(account.global.0);
    out.list(account.dynamic.iter(), |out, (name, grantable)| {
        out.text(name);
        out.flag(*grantable);
    });
    out.list(account.databases.iter(), |out, (name, privileges)| {
        out.text(name);
        out.number(privileges.0);
    });
    out.list(account.tables.iter(), |out, ((database, table), grant)| {
        out.text(database);
        out.text(table);
        out.number(grant.table.0);
        out.list(grant.columns.iter(), |out, (column, privileges)| {
            out.text(column);
            out.number(privileges.0);
        });
    });
    out.list(account.routines.iter(), |out, ((database, is_function, name), privileges)| {
        out.text(database);
        out.flag(*is_function);
        out.text(name);
        out.number(privileges.0);
    });
    out.list(account.roles.iter(), |out, (role, admin)| {
        out.text(&role.user);
        out.text(&role.host);
        out.flag(*admin);
    });
    out.list(account.default_roles.iter(), |out, role| {
        out.text(&role.user);
        out.text(&role.host);
    });
    if format >= FORMAT_WITH_RESTRICTIONS {
        out.list(account.restrictions.iter(), |out, (database, privileges)| {
            out.text(database);
            out.number(privileges.0);
        });
    }
    if format == FORMAT_WITH_LOGIN_RULES {
        write_login_rules(&mut out, account);
    }
    out.0
}

fn has_login_rules(account: &AccountDef) -> bool {
    matches!(account.tls, TlsRequirement::Certificate | TlsRequirement::Specified { .. })
        || !account.earlier_passwords.is_empty()
        || account.failed_login_attempts != 0
        || account.password_lock_time != PasswordLockTime::Off
}

fn write_login_rules(out: &mut Writer, account: &AccountDef) {
    match &account.tls {
        TlsRequirement::None | TlsRequirement::Encrypted => out.number(TLS_PLAIN),
        TlsRequirement::Certificate => out.number(TLS_CERTIFICATE),
        TlsRequirement::Specified { subject, issuer, cipher } => {
            out.number(TLS_SPECIFIED);
            [subject, issuer, cipher].into_iter().for_each(|text| out.optional_text(text.as_ref()));
        }
    }
    out.number(account.failed_login_attempts);
    out.number(match account.password_lock_time {
        PasswordLockTime::Off => LOCK_OFF,
        PasswordLockTime::Days(days) => days,
        PasswordLockTime::Unbounded => LOCK_UNBOUNDED,
    });
    out.list(account.earlier_passwords.iter(), |out, password| {
        out.number(password.set_micros.cast_unsigned());
        out.bytes(&password.verifier);
    });
}

fn read_login_rules(from: &mut Reader<'_>, account: &mut AccountDef) -> Option<()> {
    match from.number()? {
        TLS_PLAIN => {}
        TLS_CERTIFICATE => account.tls = TlsRequirement::Certificate,
        TLS_SPECIFIED => {
            let (subject, issuer, cipher) = (from.optional_text()?, from.optional_text()?, from.optional_text()?);
            account.tls = TlsRequirement::Specified { subject, issuer, cipher };
        }
        _ => return None,
    }
    account.failed_login_attempts = from.number()?;
    account.password_lock_time = match from.number()? {
        LOCK_OFF => PasswordLockTime::Off,
        LOCK_UNBOUNDED => PasswordLockTime::Unbounded,
        days => PasswordLockTime::Days(days),
    };
    for _ in 0..from.number()? {
        let set_micros = from.number()?.cast_signed();
        account.earlier_passwords.push(EarlierPassword { set_micros, verifier: from.bytes()? });
    }
    Some(())
}

/// The account of a record.
pub fn decode(record: &[u8]) -> Option<AccountDef> {
    let mut from = Reader(record);
    let [format @ FORMAT..=FORMAT_WITH_LOGIN_RULES] = *from.take(1)? else { return None };
    let mut account = AccountDef {
        user: from.text()?,
        host: from.text()?,
        plugin: from.text()?,
        authentication: from.bytes()?,
        second_authentication: from.bytes()?,
        locked: from.flag()?,
        password_expired: from.flag()?,
        password_lifetime_days: from.optional()?,
        password_history: from.optional()?,
        password_reuse_days: from.optional()?,
        password_require_current: from.optional()?.map(|value| value != 0),
        password_changed_micros: from.number()? as i64,
        tls: if from.flag()? { TlsRequirement::Encrypted } else { TlsRequirement::None },
        limits: ResourceLimits {
            queries_per_hour: from.number()?,
            updates_per_hour: from.number()?,
            connections_per_hour: from.number()?,
            user_connections: from.number()?,
        },
        attribute: {
            let given = from.flag()?;
            let text = from.text()?;
            given.then_some(text)
        },
        is_role: from.flag()?,
        global: from.privileges()?,
        dynamic: from.map(|from| Some((from.text()?, from.flag()?)))?,
        databases: from.map(|from| Some((from.text()?, from.privileges()?)))?,
        tables: from.map(|from| {
            let name = (from.text()?, from.text()?);
            let table = from.privileges()?;
            let columns = from.map(|from| Some((from.text()?, from.privileges()?)))?;
            Some((name, TableGrant { table, columns }))
        })?,
        routines: from.map(|from| Some(((from.text()?, from.flag()?, from.text()?), from.privileges()?)))?,
        roles: from.map(|from| Some((from.key()?, from.flag()?)))?,
        default_roles: from.map(|from| Some((from.key()?, ())))?.into_keys().collect::<BTreeSet<_>>(),
        restrictions: match format {
            FORMAT => BTreeMap::new(),
            _ => from.map(|from| Some((from.text()?, from.privileges()?)))?,
        },
        ..AccountDef::default()
    };
    if format == FORMAT_WITH_LOGIN_RULES {
        read_login_rules(&mut from, &mut account)?;
    }
    from.0.is_empty().then_some(account)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_account_comes_back_and_a_damaged_one_does_not() {
        let mut account = AccountDef {
            user: "usér".into(),
            host: "%".into(),
            plugin: "caching_sha2_password".into(),
            authentication: vec![1, 2, 0, 255],
            attribute: Some("{}".into()),
            password_history: Some(0),
            global: Privileges::SELECT,
            limits: ResourceLimits {
                queries_per_hour: 1,
                updates_per_hour: 2,
                connections_per_hour: 3,
                user_connections: 4,
            },
            ..Default::default()
        };
        account.dynamic.insert("BACKUP_ADMIN".into(), true);
        account.databases.insert("a%".into(), Privileges::INSERT);
        let columns = BTreeMap::from([("c".to_string(), Privileges::UPDATE)]);
        account.tables.insert(("d".into(), "t".into()), TableGrant { table: Privileges::DELETE, columns });
        account.roles.insert(AccountKey::new("r", "%"), false);
        account.default_roles.insert(AccountKey::new("r", "%"));
        let restricted =
            AccountDef { restrictions: BTreeMap::from([("e".into(), Privileges::SELECT)]), ..account.clone() };
        let (subject, issuer) = (Some("/CN=client".to_owned()), Some(String::new()));
        let ruled = AccountDef {
            tls: TlsRequirement::Specified { subject, issuer, cipher: None },
            failed_login_attempts: 3,
            password_lock_time: PasswordLockTime::Unbounded,
            earlier_passwords: vec![EarlierPassword { set_micros: -1, verifier: vec![0, 1] }],
            ..account.clone()
        };
        let with_certificate = AccountDef { tls: TlsRequirement::Certificate, ..restricted.clone() };
        let cases = [
            (account, FORMAT),
            (restricted, FORMAT_WITH_RESTRICTIONS),
            (ruled, FORMAT_WITH_LOGIN_RULES),
            (with_certificate, FORMAT_WITH_LOGIN_RULES),
        ];
        for (account, format) in cases {
            let record = encode(&account);
            assert_eq!(record[0], format);
            assert_eq!(decode(&record), Some(account));
            for end in 0..record.len() {
                assert_eq!(decode(&record[..end]), None, "cut at {end}");
            }
        }
    }
}
