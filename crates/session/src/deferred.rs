//! Statements that a worker runs for an account. The worker commits their changes.

use crate::plans::{AtOnce, ChangePlan, Route, Unanswered};
use crate::result::writer::ResultWriter;
use crate::session::Session;
use crate::state::before_pool::BeforePool;
use squall_row_store::Transaction;
use squall_types::SqlResult;
use std::pin::pin;
use std::sync::atomic::AtomicBool;
use std::task::{Context, Waker};

/// The result of a statement that was expected to be brief.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use = "a session whose statement was given up is of no more use"]
pub enum Brief {
    /// It has been answered, maybe by an error.
    Answered,
    /// It is not known to be brief; nothing was done.
    Unknown,
    /// It would have had to wait, and was left in the middle. The session must be dropped, which takes back what the statement has done.
    GivenUp,
}

impl Session {
    /// Whether its commits may wait a little for those of others: see [`TransactionOptions::allows_commit_delay`].
    ///
    /// [`TransactionOptions::allows_commit_delay`]: squall_row_store::TransactionOptions::allows_commit_delay
    pub fn allow_commit_delay(&mut self, on: bool) {
        self.allows_commit_delay = on;
    }

    /// Whether statements leave their transactions to their caller, which [takes](Session::take_deferred) each and commits it, and
    /// does not tell of the statement before that is done.
    pub fn defer_commits(&mut self, on: bool) {
        self.deferred = on.then(parking_lot::Mutex::default);
    }

    /// The transaction of the last statement, if it has changed anything.
    pub fn take_deferred(&mut self) -> Option<Transaction> {
        self.deferred.as_ref()?.lock().take()
    }

    /// Runs the statements of a text that [`query_at_once`](crate::api::Connection::query_at_once) has not answered, as
    /// [`Session::run_text`] does, but calls `announce` before work that may take long, or that a rollback of the statement's
    /// transaction would not undo. What is left out are changes of single rows by a known plan whose commit is [left to
    /// others](Session::defer_commits), unless they have to wait for a lock.
    pub async fn run_announced(
        &mut self,
        sql: &[u8],
        unanswered: Unanswered,
        announce: impl Fn() -> SqlResult<()> + Send + Sync + 'static,
        writer: &mut dyn ResultWriter,
    ) -> std::io::Result<()> {
        if self.deferred.is_some() && unanswered.change().is_some() {
            let before_pool = BeforePool::Announce { announce: Box::new(announce), is_done: AtomicBool::new(false) };
            return self.run_unanswered(sql, unanswered, Some(&before_pool), writer).await;
        }
        if let Err(error) = announce() {
            self.finish_with_error(&error, None);
            writer.error(&error);
            return Ok(());
        }
        self.run_unanswered(sql, unanswered, None, writer).await
    }

    /// Answers a look-up of one row or a constant by a known plan, or changes single rows by one where commits are
    /// [left to others](Session::defer_commits), as long as nothing has to be waited for: what takes less time than another thread does
    /// to be woken.
    pub fn run_briefly(&mut self, sql: &[u8], writer: &mut dyn ResultWriter) -> Brief {
        let reads_one_row = |route: &Route| matches!(route, Route::PointLookup(plan) if plan.point.reads_one_row());
        let unanswered = match self.answer_text(sql, reads_one_row, writer) {
            AtOnce::Answered => return Brief::Answered,
            AtOnce::Left(unanswered) => unanswered,
        };
        let checks = self.settings.foreign_key_checks;
        let runs_here = |change: &ChangePlan| change.plan.runs_inline(checks);
        if self.deferred.is_none() || !unanswered.change().is_some_and(runs_here) {
            return Brief::Unknown;
        }
        let run = self.run_unanswered(sql, unanswered, Some(&BeforePool::GiveUp), writer);
        // The holder of what it waits for, a lock of a row or of a table, may be the one that runs it.
        let is_answered = pin!(run).poll(&mut Context::from_waker(Waker::noop())).is_ready();
        if is_answered { Brief::Answered } else { Brief::GivenUp }
    }
}
