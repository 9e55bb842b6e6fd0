//! The HTTP server beside its connections: settings, places for requests, counters.

use crate::page_sessions::PageSessions;
use crate::problem::Problem;
use crate::rates::Rates;
use crate::settings::HttpSettings;
use crate::signing::SigningKey;
use hyper::StatusCode;
use parking_lot::RwLock;
use squall_session::{Database, WeakDatabase};
use squall_types::{ErrorCode, SqlError, SqlResult};
use std::collections::BTreeSet;
use std::fmt::Debug;
use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::Duration;
use tokio::sync::Notify;
use tokio::time::timeout;

/// How long a request waits for a place among those that run.
const PLACE_TIMEOUT: Duration = Duration::from_secs(10);

/// The account that an API token proves.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TokenAccount {
    /// User of the account.
    pub user: String,
    /// Host of the account.
    pub host: String,
    /// The account's digest ([`digest_of_account`](crate::secrets::digest_of_account)): with another one the token means nothing.
    pub verifier: Vec<u8>,
    /// Its requests may change nothing.
    pub read_only: bool,
    /// The only databases that its requests reach, if there is such a limit.
    pub schemas: Option<BTreeSet<String>>,
}

/// Knows API tokens.
pub trait TokenSource: Debug + Send + Sync {
    /// What a token means; `None` for one that is not valid now. Takes as long as a look-up by key.
    ///
    /// # Errors
    /// When it cannot be looked up.
    fn find(&self, token: &str) -> SqlResult<Option<TokenAccount>>;
}

/// What all connections share.
#[derive(Debug)]
pub struct HttpServer {
    database: WeakDatabase,
    /// Knows API tokens.
    pub tokens: Arc<dyn TokenSource>,
    settings: RwLock<Arc<HttpSettings>>,
    places: Arc<Places>,
    /// Logins of pages.
    pub page_sessions: PageSessions,
    /// Signs URLs.
    pub(crate) signing: SigningKey,
    /// Requests, by account.
    pub(crate) request_rates: Rates<(String, String)>,
    /// Passwords that were wrong, by the client's network.
    pub(crate) wrong_passwords: Rates<Option<IpAddr>>,
    /// Requests that were answered, whatever the answer.
    pub requests: AtomicU64,
    /// Those with a status of 400 or more.
    pub failures: AtomicU64,
    /// Those that came too often: of their account, or after too many wrong passwords.
    pub rate_limited: AtomicU64,
}

impl HttpServer {
    /// A server of a database.
    pub fn new(database: WeakDatabase, tokens: Arc<dyn TokenSource>) -> HttpServer {
        HttpServer {
            database,
            tokens,
            settings: RwLock::default(),
            places: Arc::default(),
            page_sessions: PageSessions::default(),
            signing: SigningKey::default(),
            request_rates: Rates::default(),
            wrong_passwords: Rates::default(),
            rate_limited: AtomicU64::new(0),
            requests: AtomicU64::new(0),
            failures: AtomicU64::new(0),
        }
    }

    /// The settings as they are now.
    pub fn settings(&self) -> Arc<HttpSettings> {
        self.settings.read().clone()
    }

    /// Other settings, for requests from now on.
    pub fn set(&self, settings: HttpSettings) {
        self.places.set_max(settings.requests_max);
        *self.settings.write() = Arc::new(settings);
    }

    /// The database.
    ///
    /// # Errors
    /// 503 when it is being closed.
    pub fn database(&self) -> Result<Database, Problem> {
        let closed = || Problem::of_error(&SqlError::new(ErrorCode::ServerShutdown, &[]));
        self.database.upgrade().ok_or_else(closed)
    }

    /// A place among the requests that run.
    ///
    /// # Errors
    /// 503 when there is none for a long time.
    pub(crate) async fn place(&self) -> Result<RequestPlace, Problem> {
        match timeout(PLACE_TIMEOUT, Places::take(&self.places)).await {
            Ok(place) => Ok(place),
            Err(_late) => {
                let detail = "too many requests run (json_server_max_threads)";
                Err(Problem::new(StatusCode::SERVICE_UNAVAILABLE, detail))
            }
        }
    }

    /// Requests that run now.
    pub fn running(&self) -> usize {
        self.places.used.load(Ordering::Relaxed)
    }
}

/// A number of requests that may run at once, which may change.
#[derive(Debug, Default)]
struct Places {
    max: AtomicUsize,
    used: AtomicUsize,
    freed: Notify,
}

impl Places {
    fn set_max(&self, max: usize) {
        let before = self.max.swap(max, Ordering::AcqRel);
        for _ in before..max {
            self.freed.notify_one();
        }
        self.freed.notify_waiters();
    }

    async fn take(places: &Arc<Places>) -> RequestPlace {
        loop {
            let freed = places.freed.notified();
            let max = places.max.load(Ordering::Acquire);
            let more = |used| (used < max).then_some(used + 1);
            if places.used.fetch_update(Ordering::AcqRel, Ordering::Acquire, more).is_ok() {
                return RequestPlace(places.clone());
            }
            freed.await;
        }
    }
}

/// A request's place; given back when dropped.
#[derive(Debug)]
pub(crate) struct RequestPlace(Arc<Places>);

impl Drop for RequestPlace {
    fn drop(&mut self) {
        self.0.used.fetch_sub(1, Ordering::AcqRel);
        self.0.freed.notify_one();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn places_are_given_back_and_may_become_more() {
        let places = Arc::new(Places::default());
        places.set_max(1);
        let first = Places::take(&places).await;
        let waits =
            |places: Arc<Places>| async move { timeout(Duration::from_millis(20), Places::take(&places)).await };
        assert!(waits(places.clone()).await.is_err());
        places.set_max(2);
        let second = waits(places.clone()).await.expect("a place");
        drop((first, second));
        places.set_max(0);
        assert!(waits(places.clone()).await.is_err());
        assert_eq!(places.used.load(Ordering::Relaxed), 0);
    }
}
