//! Runs a queued query on a worker's thread.

use super::recording::Recorder;
use super::{RESULT_BYTES_MAX, Shared, captured};
use squall_jobs::{Handler, RunningJob};
use squall_session::api::{Backend, Connection};
use squall_session::procedure::run_on_this_thread;
use squall_types::{ErrorCode, SqlError, SqlResult};
use std::sync::{Arc, Weak};

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
        let query = captured::decode(&job.payload, database.registry())?;
        let account = query.image.account.clone();
        if !database.has_account(&account) {
            return Err(no_such_user(&account.user, &account.host));
        }
        let mut session = query.image.open(&database, Arc::new(|| {}))?;
        session.set_multi_statements(false);
        let (backend, id) = (database.downgrade(), session.id());
        job.on_cancel(Box::new(move || {
            if let Some(database) = backend.upgrade() {
                database.client_gone(id);
            }
        }));
        let add = |part| job.add_output(part);
        let mut recorder = Recorder::new(shared.number(&database, RESULT_BYTES_MAX), &add);
        // An error inside is that of the recorder, which says it itself.
        let _client_gone = run_on_this_thread(session.run_text(query.sql.as_bytes(), &mut recorder))?;
        recorder.finish(session.warnings())
    }
}

/// ER_NO_SUCH_USER.
fn no_such_user(user: &str, host: &str) -> SqlError {
    let message = format!("The user specified as a definer ('{user}'@'{host}') does not exist");
    SqlError { code: 1449, sqlstate: *b"HY000", message }
}
