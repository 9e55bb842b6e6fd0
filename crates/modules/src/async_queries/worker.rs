//! Runs a queued query on a worker's thread.

use super::recording::{Bound, Recorder};
use super::{RESULT_BYTES_MAX, Shared, TOTAL_BYTES_MAX, captured};
use squall_catalog::AccountKey;
use squall_jobs::{Handler, RunningJob};
use squall_session::api::{Backend, Connection};
use squall_session::procedure::run_on_this_thread;
use squall_session::{Database, Session};
use squall_types::{ErrorCode, SqlError, SqlResult};
use std::cell::RefCell;
use std::sync::{Arc, Weak};

/// Statements that leave nothing in their session that [`Session::rewind`] does not take back.
const LEAVE_NOTHING: [&str; 7] = ["SELECT", "INSERT", "UPDATE", "DELETE", "REPLACE", "WITH", "VALUES"];

/// A session, with what it was opened for.
struct KeptSession {
    /// The bytes of [`captured`].
    origin: Vec<u8>,
    account: AccountKey,
    session: Session,
}

thread_local! {
    /// The session of this thread's last query: most queries are followed by others of the same session.
    static KEPT: RefCell<Option<KeptSession>> = const { RefCell::new(None) };
}

/// Opens a session like the one that a query was queued in, and keeps what the query answers.
#[derive(Debug)]
pub(super) struct QueryHandler(Weak<Shared>);

impl QueryHandler {
    pub fn new(shared: Weak<Shared>) -> Self {
        Self(shared)
    }
}

impl Handler for QueryHandler {
    fn run(&self, job: &RunningJob) -> SqlResult<()> {
        let shared = self.0.upgrade().ok_or_else(|| SqlError::new(ErrorCode::ServerShutdown, &[]))?;
        let database = shared.database()?;
        let (sql, origin) = captured::split(&job.payload)?;
        let mut kept = session_for(&database, origin)?;
        let (backend, id) = (database.downgrade(), kept.session.id());
        job.on_cancel(Box::new(move || {
            if let Some(database) = backend.upgrade() {
                database.client_gone(id);
            }
        }));
        let add = |part| job.add_output(part);
        // What it has changed is committed with the job's end. One worker alone does one after the other, each with what those before
        // have changed.
        let defers = leaves_nothing(&sql) && shared.kind()?.worker_limit() > 1;
        kept.session.set_patient(defers || !job.is_awaited());
        kept.session.defer_commits(defers);
        let mut recorder = Recorder::new(bound(&shared, &database, job), &add);
        if !kept.session.query_at_once(sql.as_bytes(), &mut recorder) {
            // An error inside is that of the recorder, which says it itself.
            let run = kept.session.run_announced(sql.as_bytes(), job.announcer(), &mut recorder);
            let _client_gone = run_on_this_thread(run)?;
        }
        if let Some(transaction) = kept.session.take_deferred() {
            job.leave_transaction(transaction);
        }
        let result = recorder.finish(kept.session.warnings());
        if leaves_nothing(&sql) && !kept.session.is_killed() {
            kept.session.rewind();
            KEPT.replace(Some(kept));
        }
        result
    }

    fn idle(&self) {
        drop(KEPT.take());
    }
}

/// How much a query may answer: alone it must not be more than all together may be, with what else is kept of it.
fn bound(shared: &Shared, database: &Database, job: &RunningJob) -> Bound {
    let (own, total) = (shared.number(database, RESULT_BYTES_MAX), shared.number(database, TOTAL_BYTES_MAX));
    let left = total.saturating_sub(job.payload.len() as u64);
    match own <= left {
        true => Bound { variable: RESULT_BYTES_MAX, value: own, bytes_max: own },
        false => Bound { variable: TOTAL_BYTES_MAX, value: total, bytes_max: left },
    }
}

/// The session that this thread has kept, if it was opened for the same, or a new one.
fn session_for(database: &Database, origin: &[u8]) -> SqlResult<KeptSession> {
    if let Some(kept) = KEPT.take()
        && kept.origin == origin
        && !kept.session.is_killed()
        && database.has_account(&kept.account)
    {
        return Ok(kept);
    }
    let image = captured::decode(origin, database.registry())?;
    let account = image.account.clone();
    if !database.has_account(&account) {
        return Err(no_such_user(&account));
    }
    let mut session = image.open(database, Arc::new(|| {}))?;
    session.set_multi_statements(false);
    Ok(KeptSession { origin: origin.to_vec(), account, session })
}

/// Whether the session after a text is as it was before, once it is rewound.
fn leaves_nothing(sql: &str) -> bool {
    let word = sql.trim_start_matches(|first: char| first.is_ascii_whitespace() || first == '(');
    let length = word.find(|letter: char| !letter.is_ascii_alphabetic()).unwrap_or(word.len());
    !sql.contains('@') && LEAVE_NOTHING.iter().any(|known| known.eq_ignore_ascii_case(&word[..length]))
}

/// ER_NO_SUCH_USER.
fn no_such_user(account: &AccountKey) -> SqlError {
    let message = format!("The user specified as a definer ('{}'@'{}') does not exist", account.user, account.host);
    SqlError { code: 1449, sqlstate: *b"HY000", message }
}
