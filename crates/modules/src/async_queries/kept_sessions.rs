//! Sessions of ended queries, kept for others of the same origin.

use crate::captured::{self, SessionBytes};
use parking_lot::Mutex;
use squall_catalog::AccountKey;
use squall_session::api::Connection;
use squall_session::{Database, Session};
use squall_types::{ErrorCode, SqlError, SqlResult};
use std::fmt;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Most sessions that are kept; of more the one goes that was used least recently.
const KEPT_MAX: usize = 32;
/// How long one is kept that is not used.
const UNUSED_MAX: Duration = Duration::from_millis(100);

/// A session, with what it was opened for.
struct KeptSession {
    /// The bytes of [`captured`].
    origin: (u8, Vec<u8>),
    account: AccountKey,
    last_used: Instant,
    session: Session,
}

/// A session in use.
pub(super) struct LentSession {
    kept: KeptSession,
    count: LentCount,
}

/// One that is in use, counted until it is kept or gone.
struct LentCount(Arc<KeptSessions>);

/// Sessions of all threads that run queries.
#[derive(Default)]
pub(super) struct KeptSessions(Mutex<Places>);

#[derive(Default)]
struct Places {
    /// The last that was used last.
    unused: Vec<KeptSession>,
    /// How many are in use, and may come back.
    lent: usize,
    /// None is kept any more.
    is_closed: bool,
}

impl fmt::Debug for KeptSessions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("KeptSessions").finish_non_exhaustive()
    }
}

impl LentSession {
    pub fn session(&mut self) -> &mut Session {
        &mut self.kept.session
    }
}

impl Drop for LentCount {
    fn drop(&mut self) {
        self.0.0.lock().lent -= 1;
    }
}

impl KeptSessions {
    /// A session that was opened for the same, if there is one.
    pub fn find(self: &Arc<Self>, database: &Database, origin: SessionBytes<'_>) -> Option<LentSession> {
        let mut places = self.0.lock();
        let at = places.unused.iter().rposition(|kept| origin.is(&kept.origin))?;
        let kept = places.unused.remove(at);
        places.lent += 1;
        drop(places);
        let lent = LentSession { kept, count: LentCount(self.clone()) };
        (!lent.kept.session.is_killed() && database.has_account(&lent.kept.account)).then_some(lent)
    }

    /// A session that was opened for the same, or a new one.
    ///
    /// # Errors
    /// When it cannot be opened: the account is gone (1449), or the default database is.
    pub fn find_or_open(self: &Arc<Self>, database: &Database, origin: SessionBytes<'_>) -> SqlResult<LentSession> {
        if let Some(lent) = self.find(database, origin) {
            return Ok(lent);
        }
        let image = captured::decode(origin, database.registry())?;
        let account = image.account.clone();
        if !database.has_account(&account) {
            return Err(no_such_user(&account));
        }
        let mut session = image.open(database, Arc::new(|| {}))?;
        session.set_multi_statements(false);
        self.0.lock().lent += 1;
        let kept = KeptSession { origin: origin.to_owned(), account, last_used: Instant::now(), session };
        Ok(LentSession { kept, count: LentCount(self.clone()) })
    }

    /// Takes a session back whose last text [has left nothing](Session::has_left_nothing) in it.
    pub fn keep(&self, lent: LentSession) {
        let LentSession { mut kept, count } = lent;
        if kept.session.is_killed() {
            return;
        }
        kept.session.rewind();
        kept.last_used = Instant::now();
        let mut places = self.0.lock();
        let surplus = (places.unused.len() == KEPT_MAX).then(|| places.unused.remove(0));
        if !places.is_closed {
            places.unused.push(kept);
        }
        drop((places, surplus, count));
    }

    /// Drops sessions that were not used for a while. Tells whether no other is left.
    pub fn tidy(&self) -> bool {
        let mut places = self.0.lock();
        let fresh = places.unused.partition_point(|kept| kept.last_used.elapsed() >= UNUSED_MAX);
        let gone: Vec<KeptSession> = places.unused.drain(..fresh).collect();
        let is_empty = places.unused.is_empty() && places.lent == 0;
        drop((places, gone));
        is_empty
    }

    /// Drops all, and keeps none from now on.
    pub fn close(&self) {
        let mut places = self.0.lock();
        places.is_closed = true;
        let gone = std::mem::take(&mut places.unused);
        drop((places, gone));
    }
}

/// ER_NO_SUCH_USER.
fn no_such_user(account: &AccountKey) -> SqlError {
    SqlError::new(ErrorCode::NoSuchUser, &[&account.user, &account.host])
}
