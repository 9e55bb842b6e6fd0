//! Which account a client may use: what every protocol asks for, in the same words.
//!
//! A protocol has its client prove that it is an account: by an exchange of its own, or by [`Login::check_password`] if it gets
//! the password as it is. The rest, an [`Applicant`] says.

use std::collections::HashMap;
use std::net::IpAddr;

use parking_lot::Mutex;
use squall_passwords::{
    CACHING_SHA2_PASSWORD, MYSQL_NATIVE_PASSWORD, Nonce, SHA2_PASSWORD_BYTES_MAX, Sha2CacheEntry, native_auth_string,
    sha2_check,
};
use squall_types::{ErrorCode, SqlError, SqlResult};

use crate::context::{Account, FrontEndSettings};
use crate::password_checks::PasswordChecks;

/// How many accounts the cache may hold before it starts anew.
const CACHE_ENTRIES_MAX: usize = 10_000;

/// A hash that is checked in place of an account that does not exist, so that the time taken tells nothing.
const NOBODY: &[u8] = b"$A$005$01234567890123456789...........................................";

/// Checks passwords, for all connections of a front end.
///
/// Passwords that have been confirmed since the start are remembered, so that the next check is quick. The key is the stored authentication
/// string, whose salt makes it unique: a changed password needs no invalidation.
#[derive(Debug, Default)]
pub struct Login {
    confirmed: Mutex<HashMap<Vec<u8>, Sha2CacheEntry>>,
    checks: PasswordChecks,
}

impl Login {
    /// The plugin that a client is asked for; one that is nobody is asked as if it had an account.
    pub fn plugin(account: Option<&Account>) -> &str {
        account.map_or(CACHING_SHA2_PASSWORD, |account| account.plugin.as_str())
    }

    /// The authentication string that a `caching_sha2_password` client is checked with; nobody's where there is no account.
    pub fn sha2_string(account: Option<&Account>) -> &[u8] {
        account.map_or(NOBODY, |account| &account.authentication)
    }

    /// Whether a scramble is that of a password which has been confirmed for this authentication string.
    pub fn is_confirmed(&self, auth_string: &[u8], scramble: &[u8], nonce: &Nonce) -> bool {
        let entry = self.confirmed.lock().get(auth_string).cloned();
        entry.is_some_and(|entry| entry.check(scramble, nonce))
    }

    /// Checks the password that `read` gives, of a `caching_sha2_password` account or of nobody, when it is this address's turn. `read`
    /// may take long, too; `None` from it is a wrong password.
    ///
    /// # Errors
    /// When the check itself failed.
    pub async fn check_sha2(
        &self,
        account: Option<&Account>,
        address: Option<IpAddr>,
        read: impl FnOnce() -> Option<Vec<u8>> + Send + 'static,
    ) -> SqlResult<bool> {
        let stored = Self::sha2_string(account).to_vec();
        let checked = self.checks.run(address, move || {
            let text = std::str::from_utf8(&stored).ok()?;
            let password = read().filter(|password| sha2_check(text, password))?;
            Some((Sha2CacheEntry::new(&password), stored))
        });
        match (checked.await?, account) {
            (Some((entry, stored)), Some(_)) => {
                self.confirm(stored, entry);
                Ok(true)
            }
            _ => Ok(false),
        }
    }

    /// Whether a password that came as it is (over TLS or a Unix socket, one hopes) is the account's. Takes as long for nobody.
    ///
    /// # Errors
    /// 1524 for an account whose plugin is not known.
    pub async fn check_password(
        &self,
        account: Option<&Account>,
        password: &[u8],
        address: Option<IpAddr>,
    ) -> SqlResult<bool> {
        let plugin = Self::plugin(account);
        let stored = Self::sha2_string(account);
        if stored.is_empty() || password.is_empty() {
            return Ok(stored.is_empty() && password.is_empty());
        }
        match plugin {
            CACHING_SHA2_PASSWORD => {
                if password.len() > SHA2_PASSWORD_BYTES_MAX {
                    return Ok(false);
                }
                let entry = self.confirmed.lock().get(stored).cloned();
                if entry.is_some_and(|entry| entry.is_of(password)) {
                    return Ok(true);
                }
                let password = password.to_vec();
                self.check_sha2(account, address, move || Some(password)).await
            }
            MYSQL_NATIVE_PASSWORD => Ok(native_auth_string(password).as_bytes() == stored),
            other => Err(SqlError::new(ErrorCode::PluginNotLoaded, &[&other])),
        }
    }

    fn confirm(&self, auth_string: Vec<u8>, entry: Sha2CacheEntry) {
        let mut confirmed = self.confirmed.lock();
        if confirmed.len() >= CACHE_ENTRIES_MAX {
            confirmed.clear();
        }
        confirmed.insert(auth_string, entry);
    }
}

/// Who asks to be let in, and by which way.
#[derive(Debug, Clone, Copy)]
pub struct Applicant<'a> {
    /// User name as sent.
    pub user: &'a str,
    /// The host, as messages name it.
    pub host: &'a str,
    /// It came by TLS.
    pub is_encrypted: bool,
    /// Nobody can read what it sends: it came by TLS or a Unix socket.
    pub is_secure: bool,
    /// It can be asked for a new password.
    pub can_change_password: bool,
    /// It has had another session on this connection before.
    pub changes_user: bool,
}

impl Applicant<'_> {
    /// Checks the way that the client has taken, before anything else.
    ///
    /// # Errors
    /// 3159.
    pub fn check_transport(&self, settings: &FrontEndSettings) -> SqlResult<()> {
        match settings.require_secure_transport && !self.is_secure {
            true => Err(SqlError::new(ErrorCode::SecureTransportRequired, &[])),
            false => Ok(()),
        }
    }

    /// The refusal of a client that is not who it says: 1045, or 1873 for one that changes its user.
    pub fn denied(&self, using_password: bool) -> SqlError {
        let code = match self.changes_user {
            false => ErrorCode::AccessDenied,
            true => ErrorCode::AccessDeniedChangeUser,
        };
        let using_password = if using_password { "YES" } else { "NO" };
        SqlError::new(code, &[&self.user, &self.host, &using_password])
    }

    /// The demands of an account, after the client has proved that it is that one.
    ///
    /// # Errors
    /// 3118 for ACCOUNT LOCK, 1045 for REQUIRE SSL, 1862 for a password that has expired.
    pub fn check_demands(&self, account: &Account, using_password: bool) -> SqlResult<()> {
        if account.locked {
            return Err(SqlError::new(ErrorCode::AccountLocked, &[&self.user, &self.host]));
        }
        // A socket of this machine cannot be listened to, but `REQUIRE SSL` means TLS all the same.
        if account.require_tls && !self.is_encrypted {
            return Err(self.denied(using_password));
        }
        if account.password_expired && !self.can_change_password {
            return Err(SqlError::new(ErrorCode::MustChangePasswordLogin, &[]));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use squall_passwords::{SHA2_SALT_BYTES, sha2_auth_string};

    fn account(plugin: &str, authentication: String) -> Account {
        Account {
            user: "u".to_owned(),
            host: "%".to_owned(),
            plugin: plugin.to_owned(),
            authentication: authentication.into_bytes(),
            locked: false,
            password_expired: false,
            require_tls: false,
        }
    }

    #[tokio::test]
    async fn passwords_of_every_plugin_are_checked() {
        let login = Login::default();
        let sha2 = sha2_auth_string(b"pw", &[7; SHA2_SALT_BYTES]).expect("a short password");
        for account in
            [account(CACHING_SHA2_PASSWORD, sha2.clone()), account(MYSQL_NATIVE_PASSWORD, native_auth_string(b"pw"))]
        {
            // Twice: the second time goes the quick way.
            for _ in 0..2 {
                assert!(login.check_password(Some(&account), b"pw", None).await.expect("a check"));
                for wrong in [&b"pW"[..], b"", &[b'x'; 300]] {
                    assert!(!login.check_password(Some(&account), wrong, None).await.expect("a check"));
                }
            }
        }
        assert!(login.confirmed.lock().contains_key(sha2.as_bytes()));
        let without = account(CACHING_SHA2_PASSWORD, String::new());
        assert!(login.check_password(Some(&without), b"", None).await.expect("a check"));
        assert!(!login.check_password(Some(&without), b"pw", None).await.expect("a check"));
        assert!(!login.check_password(None, b"pw", None).await.expect("a check"));
        assert!(!login.check_password(None, b"", None).await.expect("a check"));
        let other = account("sha256_password", "x".to_owned());
        assert_eq!(login.check_password(Some(&other), b"pw", None).await.expect_err("no such plugin").code, 1524);
    }
}
