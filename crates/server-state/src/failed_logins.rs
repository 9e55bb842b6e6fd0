//! Wrong passwords in a row, and the accounts that they have locked (FAILED_LOGIN_ATTEMPTS, PASSWORD_LOCK_TIME).
//!
//! As in MySQL, the counts are in memory alone: they begin again with the server, with FLUSH PRIVILEGES, with ACCOUNT UNLOCK, and when the account is
//! given one of the two options. A day is 24 hours here; MySQL counts midnights.

use parking_lot::Mutex;
use squall_catalog::{AccountDef, AccountKey, LoginBlock, PasswordLockTime};
use std::collections::HashMap;
use std::time::{Duration, Instant};

const DAY: Duration = Duration::from_secs(24 * 60 * 60);

/// The counts of all accounts that have failed logins.
#[derive(Debug, Default)]
pub struct FailedLogins(Mutex<HashMap<AccountKey, Failures>>);

#[derive(Debug, Default)]
struct Failures {
    in_a_row: u64,
    locked_since: Option<Instant>,
}

impl FailedLogins {
    /// Counts a login with a right or a wrong password. The account is locked if it returns something; a wrong password may have locked it just now.
    pub fn count(&self, account: &AccountDef, is_right: bool, now: Instant) -> Option<LoginBlock> {
        if !account.counts_failed_logins() {
            return None;
        }
        let mut all = self.0.lock();
        let key = account.key();
        if let Some(failures) = all.get(&key)
            && let Some(since) = failures.locked_since
        {
            let block = block(account, failures.in_a_row, now.saturating_duration_since(since));
            if block.is_some() {
                return block;
            }
            all.remove(&key);
        }
        if is_right {
            all.remove(&key);
            return None;
        }
        let failures = all.entry(key).or_default();
        failures.in_a_row += 1;
        if failures.in_a_row < account.failed_login_attempts {
            return None;
        }
        failures.locked_since = Some(now);
        block(account, failures.in_a_row, Duration::ZERO)
    }

    /// Forgets the failures of an account: it is unlocked, gets other rules, or goes.
    pub fn forget(&self, key: &AccountKey) {
        self.0.lock().remove(key);
    }

    /// FLUSH PRIVILEGES: all accounts begin at zero.
    pub fn reset(&self) {
        self.0.lock().clear();
    }
}

/// How an account is locked that has been for a time; `None` if that is over.
fn block(account: &AccountDef, failures: u64, passed: Duration) -> Option<LoginBlock> {
    let days = match account.password_lock_time {
        PasswordLockTime::Off => return None,
        PasswordLockTime::Unbounded => None,
        PasswordLockTime::Days(days) => {
            let left = days.checked_sub(passed.as_secs() / DAY.as_secs()).filter(|left| *left > 0)?;
            Some((days, left))
        }
    };
    Some(LoginBlock { days, failures })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn account(failed_login_attempts: u64, password_lock_time: PasswordLockTime) -> AccountDef {
        let (user, host) = ("u".to_owned(), "%".to_owned());
        AccountDef { user, host, failed_login_attempts, password_lock_time, ..AccountDef::default() }
    }

    #[test]
    fn wrong_passwords_in_a_row_lock_for_days() {
        let (logins, start) = (FailedLogins::default(), Instant::now());
        let account = account(2, PasswordLockTime::Days(3));
        // A right one between them begins anew.
        for is_right in [false, true, false] {
            assert_eq!(logins.count(&account, is_right, start), None);
        }
        let locked = |left| Some(LoginBlock { days: Some((3, left)), failures: 2 });
        assert_eq!(logins.count(&account, false, start), locked(3));
        assert_eq!(logins.count(&account, true, start), locked(3));
        assert_eq!(logins.count(&account, true, start + DAY), locked(2));
        assert_eq!(logins.count(&account, false, start + 3 * DAY - Duration::from_secs(1)), locked(1));
        // The wrong one after it is the first of the next row.
        assert_eq!(logins.count(&account, false, start + 3 * DAY), None);
        assert_eq!(logins.count(&account, true, start + 3 * DAY), None);
    }

    #[test]
    fn only_both_options_together_lock() {
        let (logins, now) = (FailedLogins::default(), Instant::now());
        for account in [account(0, PasswordLockTime::Days(1)), account(1, PasswordLockTime::Off)] {
            assert_eq!(logins.count(&account, false, now), None);
        }
        let for_good = account(1, PasswordLockTime::Unbounded);
        let locked = Some(LoginBlock { days: None, failures: 1 });
        assert_eq!(logins.count(&for_good, false, now), locked);
        assert_eq!(logins.count(&for_good, true, now + 100 * DAY), locked);
        logins.forget(&for_good.key());
        assert_eq!(logins.count(&for_good, true, now), None);
    }
}
