//! Logins: decides which account a client may use, for all protocols.
//!
//! A protocol lets its client prove its account: by its own exchange, or by [`Login::check_password`] if it gets the password itself.
//! An [`Applicant`] has the other properties of the client.

use std::collections::HashMap;
use std::net::IpAddr;

use parking_lot::Mutex;
use squall_catalog::{LoginBlock, TlsRequirement};
use squall_instrumentation::TlsUse;
use squall_passwords::{
    CACHING_SHA2_PASSWORD, MYSQL_NATIVE_PASSWORD, Nonce, SHA2_PASSWORD_BYTES_MAX, Sha2CacheEntry, native_auth_string,
    sha2_check,
};
use squall_types::{ErrorCode, SqlError, SqlResult};

use crate::context::{Account, FrontEndContext, FrontEndSettings};
use crate::password_checks::PasswordChecks;

/// How many accounts the cache may hold before it starts again.
const CACHE_ENTRIES_MAX: usize = 10_000;

/// A hash that is checked in place of an account that does not exist, so that the time taken tells nothing.
const UNKNOWN_ACCOUNT_HASH: &[u8] = b"$A$005$01234567890123456789...........................................";

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
    /// The plugin that a client is asked for, also for an unknown account, so that the answer does not reveal its existence.
    pub fn plugin(account: Option<&Account>) -> &str {
        account.map_or(CACHING_SHA2_PASSWORD, |account| account.plugin.as_str())
    }

    /// Whether the account has a password; also without an account, so that the answer does not reveal its existence.
    pub fn has_password(account: Option<&Account>) -> bool {
        account.is_none_or(|account| !account.authentication.is_empty())
    }

    /// Whether a scramble is that of a password of the account which has been confirmed before.
    pub fn is_confirmed(&self, account: Option<&Account>, scramble: &[u8], nonce: &Nonce) -> bool {
        self.any_confirmed(account, |entry| entry.check(scramble, nonce))
    }

    fn any_confirmed(&self, account: Option<&Account>, is_it: impl Fn(&Sha2CacheEntry) -> bool) -> bool {
        let entry = |verifier: &[u8]| self.confirmed.lock().get(verifier).cloned();
        account.is_some_and(|account| account.verifiers().filter_map(entry).any(|entry| is_it(&entry)))
    }

    /// Checks the password that `read` gives, of a `caching_sha2_password` account or of one that does not exist, when it is this address's turn. `read`
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
        let stored: Vec<Vec<u8>> = match account {
            Some(account) => account.verifiers().map(<[u8]>::to_vec).collect(),
            None => vec![UNKNOWN_ACCOUNT_HASH.to_vec()],
        };
        let checked = self.checks.run(address, move || {
            let password = read()?;
            let is_its =
                |verifier: &Vec<u8>| std::str::from_utf8(verifier).is_ok_and(|text| sha2_check(text, &password));
            let verifier = stored.into_iter().find(is_its)?;
            Some((Sha2CacheEntry::new(&password), verifier))
        });
        match (checked.await?, account) {
            (Some((entry, stored)), Some(_)) => {
                self.confirm(stored, entry);
                Ok(true)
            }
            _ => Ok(false),
        }
    }

    /// Whether a password in clear text (over TLS or a Unix socket) is the account's. Takes as long without an account.
    ///
    /// # Errors
    /// 1524 for an account whose plugin is not known.
    pub async fn check_password(
        &self,
        account: Option<&Account>,
        password: &[u8],
        address: Option<IpAddr>,
    ) -> SqlResult<bool> {
        if !Self::has_password(account) || password.is_empty() {
            return Ok(!Self::has_password(account) && password.is_empty());
        }
        match Self::plugin(account) {
            CACHING_SHA2_PASSWORD => {
                if password.len() > SHA2_PASSWORD_BYTES_MAX {
                    return Ok(false);
                }
                if self.any_confirmed(account, |entry| entry.is_of(password)) {
                    return Ok(true);
                }
                let password = password.to_vec();
                self.check_sha2(account, address, move || Some(password)).await
            }
            MYSQL_NATIVE_PASSWORD => {
                let sent = native_auth_string(password);
                let is_its = |verifier: &[u8]| sent.as_bytes().eq_ignore_ascii_case(verifier);
                Ok(account.is_some_and(|account| account.verifiers().any(is_its)))
            }
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
    /// How it is encrypted, if it came by TLS.
    pub tls: Option<&'a TlsUse>,
    /// Whether its messages are private: it came by TLS or a Unix socket.
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

    /// Decides after the client's proof that it is an account: it is let in as that one if the proof is right and the account's other demands
    /// are met.
    ///
    /// # Errors
    /// 3955 after too many wrong passwords, also for the right one; 1045 and 1873 for a wrong one or an unknown account; those of
    /// [`Applicant::check_demands`].
    pub fn admit<C: FrontEndContext + ?Sized>(
        &self,
        context: &C,
        account: Option<Account>,
        is_right: bool,
        using_password: bool,
    ) -> SqlResult<Account> {
        let block = account.as_ref().and_then(|account| context.count_login(account, is_right));
        if let Some(block) = block {
            return Err(self.blocked(&block));
        }
        let account = account.filter(|_| is_right).ok_or_else(|| self.denied(using_password))?;
        self.check_demands(&account, using_password)?;
        Ok(account)
    }

    fn blocked(&self, block: &LoginBlock) -> SqlError {
        let (days, left) = match block.days {
            Some((days, left)) => (days.to_string(), left.to_string()),
            None => ("unlimited".to_owned(), "unlimited".to_owned()),
        };
        SqlError::new(ErrorCode::AccountBlockedByPasswordLock, &[&self.user, &self.host, &days, &left, &block.failures])
    }

    /// The demands of an account, after the client has proved that it is that one.
    ///
    /// # Errors
    /// 3118 for ACCOUNT LOCK, 1045 for REQUIRE, 1862 for a password that has expired.
    pub fn check_demands(&self, account: &Account, using_password: bool) -> SqlResult<()> {
        if account.locked {
            return Err(SqlError::new(ErrorCode::AccountLocked, &[&self.user, &self.host]));
        }
        if !self.is_encrypted_as(&account.tls) {
            return Err(self.denied(using_password));
        }
        if account.password_expired && !self.can_change_password {
            return Err(SqlError::new(ErrorCode::MustChangePasswordLogin, &[]));
        }
        Ok(())
    }

    /// A socket of this machine cannot be listened to, but `REQUIRE SSL` means TLS all the same.
    fn is_encrypted_as(&self, requirement: &TlsRequirement) -> bool {
        if *requirement == TlsRequirement::None {
            return true;
        }
        let Some(tls) = self.tls else { return false };
        match requirement {
            TlsRequirement::None | TlsRequirement::Encrypted => true,
            TlsRequirement::Certificate => tls.client.is_some(),
            TlsRequirement::Specified { subject, issuer, cipher } => {
                let client = tls.client.as_ref();
                let is = |wanted: &Option<String>, had: Option<&String>| wanted.is_none() || wanted.as_ref() == had;
                is(subject, client.map(|client| &client.subject))
                    && is(issuer, client.map(|client| &client.issuer))
                    && is(cipher, Some(&tls.cipher))
            }
        }
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
            second_authentication: Vec::new(),
            password_changed_micros: 0,
            locked: false,
            password_expired: false,
            tls: TlsRequirement::None,
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
        // Of two passwords each is right.
        let native = account(MYSQL_NATIVE_PASSWORD, native_auth_string(b"new").to_ascii_lowercase());
        let native = Account { second_authentication: native_auth_string(b"pw").into_bytes(), ..native };
        let new = sha2_auth_string(b"new", &[8; SHA2_SALT_BYTES]).expect("a short password");
        let both = Account { second_authentication: sha2.into_bytes(), ..account(CACHING_SHA2_PASSWORD, new) };
        for account in [native, both] {
            for (password, is_right) in
                [(&b"new"[..], true), (b"pw", true), (b"new", true), (b"other", false), (b"", false)]
            {
                assert_eq!(login.check_password(Some(&account), password, None).await.expect("a check"), is_right);
            }
        }
        let without = account(CACHING_SHA2_PASSWORD, String::new());
        assert!(login.check_password(Some(&without), b"", None).await.expect("a check"));
        assert!(!login.check_password(Some(&without), b"pw", None).await.expect("a check"));
        assert!(!login.check_password(None, b"pw", None).await.expect("a check"));
        assert!(!login.check_password(None, b"", None).await.expect("a check"));
        let other = account("sha256_password", "x".to_owned());
        assert_eq!(login.check_password(Some(&other), b"pw", None).await.expect_err("no such plugin").code, 1524);
    }
}
