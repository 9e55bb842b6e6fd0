//! Logins of pages: a cookie that scripts cannot read, and a token that other pages cannot read.

use crate::secrets::{digest, digest_of_account, is_same, is_same_digest, new_secret};
use parking_lot::Mutex;
use squall_front_end::Account;
use std::collections::HashMap;
use std::time::{Duration, Instant};

/// How long a login lives after its last request.
pub const IDLE_MAX: Duration = Duration::from_secs(8 * 3600);
/// How long a login lives, whatever its requests.
pub const AGE_MAX: Duration = Duration::from_secs(7 * 24 * 3600);
/// Logins of one account at once; its own longest idle one makes room.
const ACCOUNT_SESSIONS_MAX: usize = 20;
/// Logins at once; the one that has been idle for the longest time makes room.
const SESSIONS_MAX: usize = 10_000;

/// Logins, by the digests of their cookies. They end with the server.
#[derive(Debug, Default)]
pub struct PageSessions(Mutex<HashMap<[u8; 32], PageSession>>);

/// A login.
#[derive(Clone)]
pub struct PageSession {
    /// User of the account that has logged in.
    pub user: String,
    /// Host of the account.
    pub host: String,
    /// What has to come in the header X-CSRF-Token.
    pub csrf: String,
    /// The account's digest at the login: another password ends it.
    verifier: [u8; 32],
    begun: Instant,
    used: Instant,
}

impl std::fmt::Debug for PageSession {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("PageSession").field("user", &self.user).field("host", &self.host).finish_non_exhaustive()
    }
}

impl PageSession {
    /// Whether the account is still as it was at the login.
    pub fn is_of(&self, account: &Account) -> bool {
        account.user == self.user
            && account.host == self.host
            && is_same_digest(&digest_of_account(account), &self.verifier)
    }

    fn is_over(&self) -> bool {
        self.used.elapsed() >= IDLE_MAX || self.begun.elapsed() >= AGE_MAX
    }

    /// Whether the header is the one that the page was given.
    pub fn has_token(&self, csrf: Option<&str>) -> bool {
        csrf.is_some_and(|csrf| is_same(csrf, &self.csrf))
    }
}

impl PageSessions {
    /// Begins a login: its cookie, and what the page has to know.
    ///
    /// # Errors
    /// When the system has no random bytes.
    pub fn begin(&self, account: &Account) -> Result<(String, PageSession), getrandom::Error> {
        let (cookie, csrf) = (new_secret()?, new_secret()?);
        let now = Instant::now();
        let session = PageSession {
            user: account.user.clone(),
            host: account.host.clone(),
            csrf,
            verifier: digest_of_account(account),
            begun: now,
            used: now,
        };
        let mut sessions = self.0.lock();
        sessions.retain(|_, session| !session.is_over());
        // Many logins of one account end none of another's.
        let is_own = |known: &PageSession| known.user == session.user && known.host == session.host;
        if sessions.values().filter(|known| is_own(known)).count() >= ACCOUNT_SESSIONS_MAX {
            remove_oldest(&mut sessions, is_own);
        }
        if sessions.len() >= SESSIONS_MAX {
            remove_oldest(&mut sessions, |_| true);
        }
        sessions.insert(digest(&cookie), session.clone());
        Ok((cookie, session))
    }

    /// The login of a cookie, which is used again.
    pub fn find(&self, cookie: &str) -> Option<PageSession> {
        let mut sessions = self.0.lock();
        let key = digest(cookie);
        if sessions.get(&key)?.is_over() {
            sessions.remove(&key);
            return None;
        }
        let session = sessions.get_mut(&key)?;
        session.used = Instant::now();
        Some(session.clone())
    }

    /// Ends a login.
    pub fn end(&self, cookie: &str) {
        self.0.lock().remove(&digest(cookie));
    }
}

/// Removes the login that has been idle for the longest time.
fn remove_oldest(sessions: &mut HashMap<[u8; 32], PageSession>, is_meant: impl Fn(&PageSession) -> bool) {
    let meant = sessions.iter().filter(|(_, session)| is_meant(session));
    if let Some(oldest) = meant.min_by_key(|(_, session)| session.used).map(|(key, _)| *key) {
        sessions.remove(&oldest);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn account(user: &str) -> Account {
        Account {
            user: user.to_owned(),
            host: "%".to_owned(),
            plugin: String::new(),
            authentication: b"first".to_vec(),
            second_authentication: b"second".to_vec(),
            password_changed_micros: 1,
            locked: false,
            password_expired: false,
            tls: squall_session::api::TlsRequirement::None,
        }
    }

    #[test]
    fn an_account_has_few_logins_and_ends_only_its_own() {
        let sessions = PageSessions::default();
        let (other, _) = sessions.begin(&account("other")).expect("a login");
        let (first, _) = sessions.begin(&account("web")).expect("a login");
        let cookies: Vec<_> =
            (0..ACCOUNT_SESSIONS_MAX).map(|_| sessions.begin(&account("web")).expect("a login").0).collect();
        assert!(sessions.find(&first).is_none());
        assert!(cookies.iter().chain([&other]).all(|cookie| sessions.find(cookie).is_some()));
    }

    #[test]
    fn any_other_password_ends_a_login() {
        let (_, login) = PageSessions::default().begin(&account("web")).expect("a login");
        assert!(login.is_of(&account("web")));
        let of = account("web");
        assert!(!login.is_of(&Account { authentication: b"other".to_vec(), ..of.clone() }));
        assert!(!login.is_of(&Account { second_authentication: Vec::new(), ..of.clone() }));
        assert!(!login.is_of(&Account { password_changed_micros: 2, ..of }));
    }
}
