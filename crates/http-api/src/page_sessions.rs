//! Logins of pages: a cookie that scripts cannot read, and a token that other pages cannot read.

use crate::secrets::{digest, is_same, new_secret};
use parking_lot::Mutex;
use squall_front_end::Account;
use std::collections::HashMap;
use std::time::{Duration, Instant};

/// How long a login lives after its last request.
pub const IDLE_MAX: Duration = Duration::from_secs(8 * 3600);
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
    /// The account's verifier at the login: another password ends it.
    verifier: Vec<u8>,
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
        account.user == self.user && account.host == self.host && account.authentication == self.verifier
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
        let session = PageSession {
            user: account.user.clone(),
            host: account.host.clone(),
            csrf,
            verifier: account.authentication.clone(),
            used: Instant::now(),
        };
        let mut sessions = self.0.lock();
        if sessions.len() >= SESSIONS_MAX {
            sessions.retain(|_, session| session.used.elapsed() < IDLE_MAX);
        }
        if sessions.len() >= SESSIONS_MAX
            && let Some(oldest) = sessions.iter().min_by_key(|(_, session)| session.used).map(|(key, _)| *key)
        {
            sessions.remove(&oldest);
        }
        sessions.insert(digest(&cookie), session.clone());
        Ok((cookie, session))
    }

    /// The login of a cookie, which is used again.
    pub fn find(&self, cookie: &str) -> Option<PageSession> {
        let mut sessions = self.0.lock();
        let key = digest(cookie);
        if sessions.get(&key)?.used.elapsed() >= IDLE_MAX {
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
