//! Statements that a worker runs for an account. The worker may commit their changes.

use crate::plans::{AtOnce, Unanswered};
use crate::result::writer::ResultWriter;
use crate::session::{Session, SessionState};
use crate::state::commit_target::BeforePool;
pub use crate::state::commit_target::CommitTarget;
use squall_instrumentation::process::SessionStatus;
use squall_parser::ast::{Statement, StatementKind};
use squall_row_store::Transaction;
use squall_types::SqlResult;
use std::pin::pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, Waker};

/// The result of a statement that was expected to be brief.
#[must_use = "a session whose statement was given up is of no more use"]
#[expect(clippy::large_enum_variant, reason = "there is one for each statement, and it is not kept")]
pub enum Brief {
    /// It has been answered, maybe by an error. The changes are the caller's to commit.
    Answered(Option<Transaction>),
    /// It is not known to be brief; nothing was done.
    Unknown,
    /// It would have had to wait, and was left in the middle. The session must be dropped, which takes back what the statement has done.
    GivenUp,
}

impl Session {
    /// Runs the statements of a text that [`query_at_once`](crate::api::Connection::query_at_once) has not answered, as
    /// [`Session::run_text`] does, but calls `announce` before work that may take long, or that a rollback of the statement's
    /// transaction would not undo. What is left out are changes of single rows by a known plan whose commit is left to the caller,
    /// unless they have to wait for a lock. Gives the transaction that is left to the caller, and an error when the client is gone.
    pub async fn run_announced(
        &mut self,
        sql: &[u8],
        unanswered: Unanswered,
        target: CommitTarget,
        announce: impl Fn() -> SqlResult<()> + Send + Sync + 'static,
        writer: &mut dyn ResultWriter,
    ) -> (Option<Transaction>, std::io::Result<()>) {
        let target = if target.is_caller() && changes_only_rows(sql, &unanswered) {
            let is_done = AtomicBool::new(false);
            target.with_before_pool(BeforePool::Announce { announce: Box::new(announce), is_done })
        } else {
            if let Err(error) = announce() {
                self.finish_with_error(&error, None);
                writer.error(&error);
                return (None, Ok(()));
            }
            target
        };
        self.run_with_target(sql, unanswered, target, writer).await
    }

    /// Answers a text by a known route that is brief, as long as nothing has to be waited for: what takes less
    /// time than another thread does to be woken. Changes are left to the caller.
    pub fn run_briefly(&mut self, sql: &[u8], writer: &mut dyn ResultWriter) -> Brief {
        self.command.leaves_state = false;
        let foreign_key_checks = self.settings.foreign_key_checks;
        let unanswered = match self.answer_text(sql, |route| route.is_brief(foreign_key_checks), writer) {
            AtOnce::Answered => return Brief::Answered(None),
            AtOnce::Left(unanswered) => unanswered,
        };
        let is_brief = changes_only_rows(sql, &unanswered)
            && unanswered.route().is_some_and(|route| route.is_brief(foreign_key_checks));
        if !is_brief {
            return Brief::Unknown;
        }
        let target = CommitTarget::caller(false).with_before_pool(BeforePool::GiveUp);
        let process = self.process.clone();
        let before = Counts::of(&process.status, &unanswered);
        let run = self.run_with_target(sql, unanswered, target, writer);
        // The holder of what it waits for, a lock of a row or of a table, may be the one that runs it.
        match pin!(run).poll(&mut Context::from_waker(Waker::noop())) {
            Poll::Ready((transaction, _client_gone)) => Brief::Answered(transaction),
            Poll::Pending => {
                before.restore(&process.status);
                Brief::GivenUp
            }
        }
    }

    /// Whether the session, once it is [rewound](Session::rewind), is as it was before the last text that a worker has run.
    pub fn has_left_nothing(&self) -> bool {
        !self.command.leaves_state
    }

    async fn run_with_target(
        &mut self,
        sql: &[u8],
        unanswered: Unanswered,
        target: CommitTarget,
        writer: &mut dyn ResultWriter,
    ) -> (Option<Transaction>, std::io::Result<()>) {
        self.command.leaves_state = false;
        self.command.target = Some(Box::new(target));
        let ran = self.run_unanswered(sql, unanswered, writer).await;
        let target = self.command.target.take();
        (target.and_then(|target| target.take()), ran)
    }
}

impl SessionState {
    /// A statement of a worker begins: notes whether it leaves anything in the session but what rewinding takes back.
    pub(crate) fn note_state_left(&mut self, statement: &Statement, text: &[u8]) {
        let reads_or_changes_rows = matches!(
            statement,
            Statement::Query(_) | Statement::Insert(_) | Statement::Update(_) | Statement::Delete(_)
        );
        self.command.leaves_state |= !reads_or_changes_rows || may_set_variables(text);
    }
}

/// The counters of a session that the beginning of a statement changes.
struct Counts {
    questions: u64,
    queries: u64,
    of_kind: Option<(StatementKind, u64)>,
}

impl Counts {
    fn of(status: &SessionStatus, unanswered: &Unanswered) -> Counts {
        let statement = unanswered.0.as_ref().and_then(|found| found.statement.as_ref());
        let kind = statement.map(|prepared| prepared.statement.traits().kind);
        Counts {
            questions: status.questions.load(Ordering::Relaxed),
            queries: status.queries.load(Ordering::Relaxed),
            of_kind: kind.map(|kind| (kind, status.statements.of(kind))),
        }
    }

    /// The statement was given up: who runs it counts it.
    fn restore(&self, status: &SessionStatus) {
        status.questions.store(self.questions, Ordering::Relaxed);
        status.queries.store(self.queries, Ordering::Relaxed);
        if let Some((kind, count)) = self.of_kind {
            status.statements.set(kind, count);
        }
    }
}

/// Whether a statement is a change of single rows by a known plan, and nothing else.
fn changes_only_rows(sql: &[u8], unanswered: &Unanswered) -> bool {
    unanswered.change().is_some() && !may_set_variables(sql)
}

/// Whether a statement may assign to a variable of the session.
fn may_set_variables(text: &[u8]) -> bool {
    text.contains(&b'@')
}
