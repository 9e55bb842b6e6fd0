//! Passwords of accounts: IDENTIFIED BY and its kin, SET PASSWORD, and which passwords may be set (PASSWORD HISTORY, REUSE INTERVAL and REQUIRE
//! CURRENT).

use crate::result::{Outcome, ResultSet};
use crate::session::Session;
use squall_catalog::{AccountDef, AccountKey, EarlierPassword, Need, Privileges};
use squall_parser::ast::{AccountName, AccountOption, Authentication, Credential, SetPassword, UserSpecification};
use squall_server_state::accounts::{failed, hash_password};
use squall_server_state::now_micros;
use squall_server_state::variables::{Values, ids};
use squall_types::{ErrorCode, SqlError, SqlResult, Value};
use std::sync::Arc;

const MICROS_A_DAY: i64 = 24 * 60 * 60 * 1_000_000;

/// How many earlier passwords an account may have. Each is checked at the next change, which takes milliseconds by design, while other accounts
/// cannot be changed.
const EARLIER_PASSWORDS_MAX: usize = 1_000;

/// Which of an account's passwords may not be set again.
#[derive(Clone, Copy)]
struct ReusePolicy {
    /// So many of the last, the present one included.
    history: u64,
    /// Those of so many days.
    days: u64,
}

impl ReusePolicy {
    /// Whether one is still refused that was set before `newer` others.
    fn covers(self, newer: usize, password: &EarlierPassword, now_micros: i64) -> bool {
        let age = now_micros.saturating_sub(password.set_micros);
        (newer as u64) < self.history || age / MICROS_A_DAY < self.days.cast_signed()
    }
}

/// Takes the options for passwords to come into the account.
pub(super) fn apply_password_rules(account: &mut AccountDef, options: &[AccountOption]) {
    for option in options {
        match option {
            AccountOption::PasswordHistory(count) => account.password_history = *count,
            AccountOption::PasswordReuseInterval(days) => account.password_reuse_days = *days,
            AccountOption::PasswordRequireCurrent(required) => account.password_require_current = *required,
            _ => {}
        }
    }
}

fn is_native(account: &AccountDef) -> bool {
    account.plugin == squall_passwords::MYSQL_NATIVE_PASSWORD
}

/// Whether a verifier of one of the two plugins is that of a password.
fn is_password_of(verifier: &str, is_native: bool, password: &str) -> bool {
    match is_native {
        true => squall_passwords::native_auth_string(password.as_bytes()).eq_ignore_ascii_case(verifier),
        false => squall_passwords::sha2_check(verifier, password.as_bytes()),
    }
}

/// RANDOM PASSWORD tells what it has made.
pub(super) fn generated_passwords(passwords: Vec<(AccountKey, String)>) -> Outcome {
    if passwords.is_empty() {
        return Outcome::done();
    }
    let mut result = ResultSet::of_texts(&["user", "host", "generated password"]);
    result.columns.push(crate::result::number_column("auth_factor"));
    for (key, password) in passwords {
        let texts = [key.user, key.host, password];
        let mut row: Vec<Value> = texts.into_iter().map(Value::String).collect();
        row.push(Value::Int(1));
        result.rows.push(row);
    }
    Outcome::Rows(result)
}

impl Session {
    /// Takes IDENTIFIED … into the account. `operation` is the statement, for errors.
    pub(super) async fn apply_authentication(
        &self,
        account: &mut AccountDef,
        user: &UserSpecification,
        operation: &'static str,
        passwords: &mut Vec<(AccountKey, String)>,
    ) -> SqlResult<()> {
        if user.authentication.len() > 1 {
            return Err(SqlError::unsupported("more than one authentication factor"));
        }
        if user.discard_old_password {
            account.second_authentication.clear();
        }
        let Some(authentication) = user.authentication.first() else { return Ok(()) };
        if let Some(plugin) = &authentication.plugin {
            let known = ["caching_sha2_password", "mysql_native_password"];
            let Some(known) = known.iter().find(|known| known.eq_ignore_ascii_case(plugin)) else {
                return Err(SqlError::new(ErrorCode::PluginNotLoaded, &[plugin]));
            };
            if account.plugin != *known {
                if authentication.retain_current {
                    let (user, host) = (&account.user, &account.host);
                    return Err(SqlError::new(ErrorCode::PasswordCannotBeRetainedOnPluginChange, &[user, host]));
                }
                account.authentication.clear();
                account.second_authentication.clear();
                // Another plugin's verifiers say nothing to this one.
                account.earlier_passwords.clear();
            }
            account.plugin = known.to_string();
        }
        self.check_current_password(account, authentication, operation).await?;
        let before = account.authentication.clone();
        match &authentication.credential {
            None => {}
            Some(Credential::Password(password)) => self.set_verifier(account, password, operation).await?,
            Some(Credential::Random) => {
                let password = self.random_password();
                self.set_verifier(account, &password, operation).await?;
                passwords.push((account.key(), password));
            }
            Some(Credential::Hash(hash)) => account.authentication = hash.as_bytes().to_vec(),
        }
        if authentication.credential.is_some() {
            account.password_changed_micros = now_micros();
            account.password_expired = false;
            self.remember_password(account);
            let (user, host, is_empty) = (&account.user, &account.host, account.authentication.is_empty());
            if authentication.retain_current && operation != "CREATE USER" {
                if before.is_empty() {
                    return Err(SqlError::new(ErrorCode::SecondPasswordCannotBeEmpty, &[user, host]));
                }
                if is_empty {
                    return Err(SqlError::new(ErrorCode::CurrentPasswordCannotBeRetained, &[user, host]));
                }
                account.second_authentication = before;
            } else if is_empty {
                account.second_authentication.clear();
            }
        }
        Ok(())
    }

    /// REPLACE 'current password'. Those who may change other accounts need not name it.
    async fn check_current_password(
        &self,
        account: &AccountDef,
        authentication: &Authentication,
        operation: &'static str,
    ) -> SqlResult<()> {
        let is_own = account.key() == self.identity.account;
        let Some(current) = authentication.replace.clone() else {
            let is_changed = authentication.credential.is_some() && operation != "CREATE USER";
            let is_missing = is_changed && is_own && !account.authentication.is_empty();
            return match is_missing && self.must_name_current_password(account) {
                true => Err(SqlError::new(ErrorCode::MissingCurrentPassword, &[])),
                false => Ok(()),
            };
        };
        if !is_own {
            return Err(SqlError::new(ErrorCode::CurrentPasswordNotRequired, &[]));
        }
        if account.authentication.is_empty() && current.is_empty() {
            return Ok(());
        }
        let verifier = String::from_utf8_lossy(&account.authentication).into_owned();
        let is_native = is_native(account);
        let right = self.blocking(move |_| Ok(is_password_of(&verifier, is_native, &current)));
        if right.await? {
            return Ok(());
        }
        Err(SqlError::new(ErrorCode::IncorrectCurrentPassword, &[]))
    }

    /// Whether an account's owner has to name the present password for a new one.
    fn must_name_current_password(&self, account: &AccountDef) -> bool {
        let security = self.security();
        let may_change_others =
            [Need::server(Privileges::CREATE_USER, &[], "CREATE USER"), Need::database("mysql", Privileges::UPDATE)];
        let by_default = || Values(&self.shared.globals.load_values()).on(ids::PASSWORD_REQUIRE_CURRENT);
        account.password_require_current.unwrap_or_else(by_default)
            && !may_change_others.iter().any(|need| security.check_needs(std::slice::from_ref(need)).is_ok())
    }

    fn reuse_policy(&self, account: &AccountDef) -> ReusePolicy {
        let values = self.shared.globals.load_values();
        let values = Values(&values);
        ReusePolicy {
            history: account.password_history.unwrap_or_else(|| values.number(ids::PASSWORD_HISTORY)),
            days: account.password_reuse_days.unwrap_or_else(|| values.number(ids::PASSWORD_REUSE_INTERVAL)),
        }
    }

    /// The verifiers of passwords that the account may not have now.
    fn refused_passwords(&self, account: &AccountDef) -> Vec<String> {
        let (policy, now) = (self.reuse_policy(account), now_micros());
        let earlier = account.earlier_passwords.iter().enumerate();
        let refused = earlier.filter(|(newer, password)| policy.covers(*newer, password, now));
        refused.map(|(_, password)| String::from_utf8_lossy(&password.verifier).into_owned()).collect()
    }

    /// Keeps the new password among those that may not come back, and forgets those that may. An empty one may always come back.
    fn remember_password(&self, account: &mut AccountDef) {
        let (policy, now) = (self.reuse_policy(account), now_micros());
        if !account.authentication.is_empty() {
            let verifier = account.authentication.clone();
            account.earlier_passwords.insert(0, EarlierPassword { set_micros: now, verifier });
        }
        let mut newer = 0;
        account.earlier_passwords.retain(|password| {
            newer += 1;
            policy.covers(newer - 1, password, now)
        });
        account.earlier_passwords.truncate(EARLIER_PASSWORDS_MAX);
    }

    /// Gives an account a password. The hash is made on the query pool.
    async fn set_verifier(&self, account: &mut AccountDef, password: &str, operation: &'static str) -> SqlResult<()> {
        let (key, is_native) = (account.key(), is_native(account));
        let (kill, password) = (self.process.kill.clone(), password.to_owned());
        let refused = if password.is_empty() { Vec::new() } else { self.refused_passwords(account) };
        let verifier = self.blocking(move |_| {
            for verifier in &refused {
                kill.check()?;
                if is_password_of(verifier, is_native, &password) {
                    return Err(SqlError::new(ErrorCode::CredentialsContradictHistory, &[&key.user, &key.host]));
                }
            }
            kill.check()?;
            match is_native {
                true => Ok(squall_passwords::native_auth_string(password.as_bytes()).into_bytes()),
                false => hash_password(&password).ok_or_else(|| failed(operation, &[key])),
            }
        });
        account.authentication = verifier.await?;
        Ok(())
    }

    fn random_password(&self) -> String {
        const ALPHABET: &[u8] = b"ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz23456789!#%&()*+,-./:;<=>?@[]^_{|}~";
        let length = Values(&self.shared.globals.load_values()).number(ids::GENERATED_RANDOM_PASSWORD_LENGTH);
        (0..length)
            .map(|_| {
                // 16 bits over 85 letters: the bias is below a thousandth.
                let number = usize::from(u16::from_le_bytes(squall_server_state::random::bytes()));
                char::from(ALPHABET[number % ALPHABET.len()])
            })
            .collect()
    }

    /// SET PASSWORD.
    pub(crate) async fn set_password(&mut self, statement: &SetPassword) -> SqlResult<Outcome> {
        let key = match &statement.user {
            None => self.identity.account.clone(),
            Some(name) => self.security().account_key(name)?,
        };
        let mut change = self.begin_accounts().await;
        let account = change.accounts.get(&key).ok_or_else(|| SqlError::new(ErrorCode::PasswordNoMatch, &[]))?;
        let mut account = (**account).clone();
        let user = UserSpecification {
            name: AccountName::CurrentUser,
            authentication: vec![Authentication {
                plugin: None,
                credential: Some(statement.password.clone()),
                replace: statement.replace.clone(),
                retain_current: statement.retain_current,
            }],
            discard_old_password: false,
        };
        let mut passwords = Vec::new();
        self.apply_authentication(&mut account, &user, "SET PASSWORD", &mut passwords).await?;
        change.accounts.accounts.insert(key, Arc::new(account));
        self.commit_accounts(change).await?;
        Ok(generated_passwords(passwords))
    }
}
