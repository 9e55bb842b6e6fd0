//! Statements that are run in somebody's name by others, who commit what they have changed.

use crate::api::ResultWriter;
use crate::kept_plan::{ChangePlan, KeptPlan};
use crate::query::change::runs_inline;
use crate::session::Session;
use squall_row_store::Transaction;
use squall_types::SqlResult;
use std::pin::pin;
use std::task::{Context, Waker};

/// What happens before a change of rows goes where it may wait.
pub(crate) enum BeforePool {
    /// This is called.
    Announce(Box<dyn Fn() -> SqlResult<()> + Send + Sync>),
    /// It does not go: whoever runs it gives it up.
    GiveUp,
}

/// What has become of a statement that was to be brief.
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
    /// Whether its commits may wait a little for those of others: see [`TransactionOptions::is_patient`].
    ///
    /// [`TransactionOptions::is_patient`]: squall_row_store::TransactionOptions::is_patient
    pub fn set_patient(&mut self, on: bool) {
        self.is_patient = on;
    }

    /// Whether statements leave their transactions to whoever runs them, who [takes](Session::take_deferred) each and commits it, and
    /// does not tell of the statement before that is done.
    pub fn defer_commits(&mut self, on: bool) {
        self.deferred = on.then(parking_lot::Mutex::default);
    }

    /// The transaction of the last statement, if it has changed anything.
    pub fn take_deferred(&mut self) -> Option<Transaction> {
        self.deferred.as_ref()?.lock().take()
    }

    /// The change of rows by a known plan that [`query_at_once`](crate::api::Connection::query_at_once) has found a text to be and not answered, if
    /// its commit is left to others.
    fn known_change(&self) -> Option<&ChangePlan> {
        match &self.known_text {
            Some((_, KeptPlan::Change(change), _)) if self.deferred.is_some() => Some(change),
            _ => None,
        }
    }

    /// Runs the statements of a text that [`query_at_once`](crate::api::Connection::query_at_once) has not answered, as
    /// [`Session::run_text`] does, but calls `announce` before anything is done that may take long, or that stays whatever becomes of the
    /// statement's transaction. What is left out are changes of single rows by a known plan, unless they have to wait for a lock.
    pub async fn run_announced(
        &mut self,
        sql: &[u8],
        announce: impl Fn() -> SqlResult<()> + Send + Sync + 'static,
        writer: &mut dyn ResultWriter,
    ) -> std::io::Result<()> {
        if self.known_change().is_some() {
            self.before_pool = Some(BeforePool::Announce(Box::new(announce)));
        } else if let Err(error) = announce() {
            self.known_text = None;
            self.finish_with_error(&error, None);
            writer.error(&error);
            return Ok(());
        }
        let result = self.run_text(sql, writer).await;
        self.before_pool = None;
        result
    }

    /// Answers a look-up of one row or a constant by a known plan, or changes single rows by one where commits are
    /// [left to others](Session::defer_commits), as long as nothing has to be waited for: what takes less time than another thread does
    /// to be woken.
    pub fn run_briefly(&mut self, sql: &[u8], writer: &mut dyn ResultWriter) -> Brief {
        let reads_one_row = |plan: &KeptPlan| matches!(plan, KeptPlan::Select(select) if select.point.reads_one_row());
        if self.answer_text(sql, reads_one_row, writer) {
            return Brief::Answered;
        }
        if !self.known_change().is_some_and(|change| runs_inline(&change.plan, &self.shared.catalog.load())) {
            self.known_text = None;
            return Brief::Unknown;
        }
        self.before_pool = Some(BeforePool::GiveUp);
        // Whoever holds what it waits for, a lock of a row or of a table, may be the one who runs it.
        let is_answered = pin!(self.run_text(sql, writer)).poll(&mut Context::from_waker(Waker::noop())).is_ready();
        self.before_pool = None;
        if is_answered { Brief::Answered } else { Brief::GivenUp }
    }
}
