//! Runs a queued query on a worker's thread, or a short one on the thread that queues it.

use super::recording::{Bound, Recorder};
use super::{RESULT_BYTES_MAX, Shared, TOTAL_BYTES_MAX};
use crate::captured;
use squall_jobs::{DoneJob, Handler, RunningJob};
use squall_session::Database;
use squall_session::api::{AtOnce, Connection, FrontEndContext};
use squall_session::deferred::{Brief, CommitTarget};
use squall_session::procedure::run_on_this_thread;
use squall_types::clock::now_micros;
use squall_types::{ErrorCode, SqlError, SqlResult};
use std::cell::RefCell;
use std::sync::Weak;

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
        let mut lent = shared.sessions.find_or_open(&database, origin)?;
        let session = lent.session();
        let (backend, id) = (database.downgrade(), session.id());
        job.on_cancel(Box::new(move || {
            if let Some(database) = backend.upgrade() {
                database.client_gone(id);
            }
        }));
        let add = |part| job.add_output(part);
        // What it has changed is committed with the job's end. One worker alone does one after the other, each with what those before
        // have changed.
        let target = match shared.kind()?.worker_limit() > 1 {
            true => CommitTarget::caller(!job.is_awaited()),
            false => CommitTarget::session(!job.is_awaited()),
        };
        let mut recorder = Recorder::new(bound(&shared, &database, job.payload.len()), &add);
        if let AtOnce::Left(unanswered) = session.query_at_once(sql.as_bytes(), &mut recorder) {
            let run = session.run_announced(sql.as_bytes(), unanswered, target, job.announcer(), &mut recorder);
            // An error is that of the recorder, which says it itself.
            if let (Some(transaction), _client_gone) = run_on_this_thread(run)? {
                job.leave_transaction(transaction);
            }
        }
        let result = recorder.finish(session.warnings());
        if session.has_left_nothing() {
            // Its next query may be that of another job.
            job.on_cancel(Box::new(|| {}));
            shared.sessions.keep(lent);
        }
        result
    }

    fn idle(&self) -> bool {
        self.0.upgrade().is_none_or(|shared| shared.sessions.tidy())
    }
}

/// Runs a query that is to be queued, if it is brief and a worker would begin with it now. Its client is answered when it is done,
/// and nothing of it is there before it is committed. `None` if it does not qualify: nothing was done, or the changes were rolled
/// back.
///
/// Only a session that a worker has kept is used: the first query of an origin is for a worker, which finds its route.
pub(super) fn run_at_once(shared: &Shared, database: &Database, sql: &str, payload: &[u8]) -> Option<DoneJob> {
    if !shared.kind().is_ok_and(|kind| kind.is_free()) {
        return None;
    }
    let (_, origin) = captured::split(payload).ok()?;
    let mut lent = shared.sessions.find(database, origin)?;
    let session = lent.session();
    let started_micros = now_micros();
    let output = RefCell::default();
    let add = |part| {
        let output: &RefCell<Vec<Vec<u8>>> = &output;
        output.borrow_mut().push(part);
        Ok(())
    };
    let mut recorder = Recorder::new(bound(shared, database, payload.len()), &add);
    let changes = match session.run_briefly(sql.as_bytes(), &mut recorder) {
        Brief::Answered(changes) => changes,
        Brief::Unknown => {
            shared.sessions.keep(lent);
            return None;
        }
        Brief::GivenUp => return None,
    };
    let error = recorder.finish(session.warnings()).err();
    shared.sessions.keep(lent);
    Some(DoneJob { started_micros, error, output: output.into_inner(), changes })
}

/// How much a query may answer: alone it must not be more than all together may be, with what else is kept of it.
fn bound(shared: &Shared, database: &Database, payload_bytes: usize) -> Bound {
    let (own, total) = (shared.number(database, RESULT_BYTES_MAX), shared.number(database, TOTAL_BYTES_MAX));
    let left = total.saturating_sub(payload_bytes as u64);
    match own <= left {
        true => Bound { variable: RESULT_BYTES_MAX, value: own, bytes_max: own },
        false => Bound { variable: TOTAL_BYTES_MAX, value: total, bytes_max: left },
    }
}
