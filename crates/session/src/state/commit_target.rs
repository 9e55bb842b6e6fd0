//! Who commits the changes of a command's statements.

use parking_lot::Mutex;
use squall_row_store::Transaction;
use squall_types::SqlResult;
use std::sync::atomic::{AtomicBool, Ordering};

/// What becomes of the transactions of a command.
#[derive(Default)]
pub struct CommitTarget {
    allows_delay: bool,
    /// The transaction that is left to the caller.
    deferred: Option<Mutex<Option<Transaction>>>,
    before_pool: BeforePool,
}

/// The action before a change of rows goes to the query pool, where it may wait.
#[derive(Default)]
pub(crate) enum BeforePool {
    /// None.
    #[default]
    Nothing,
    /// This is called, the first time.
    Announce { announce: Box<dyn Fn() -> SqlResult<()> + Send + Sync>, is_done: AtomicBool },
    /// It does not go: the session that runs it gives it up.
    GiveUp,
}

impl CommitTarget {
    /// The session commits; its commits may wait a little for those of others if `allows_delay`, see
    /// [`TransactionOptions::allows_commit_delay`](squall_row_store::TransactionOptions::allows_commit_delay).
    pub fn session(allows_delay: bool) -> CommitTarget {
        CommitTarget { allows_delay, ..CommitTarget::default() }
    }

    /// A statement that reads or changes rows leaves its transaction to the caller, who [takes](CommitTarget::take) and commits it, and
    /// does not tell of the statement before that is done. The session commits those of all other statements.
    pub fn caller(allows_delay: bool) -> CommitTarget {
        CommitTarget { allows_delay, deferred: Some(Mutex::default()), before_pool: BeforePool::Nothing }
    }

    /// The transaction of the last statement, if it has changed anything.
    pub fn take(&self) -> Option<Transaction> {
        self.deferred.as_ref()?.lock().take()
    }

    /// Whether transactions may be left to the caller.
    pub(crate) fn is_caller(&self) -> bool {
        self.deferred.is_some()
    }

    /// Whether commits of the session may be delayed.
    pub(crate) fn allows_delay(&self) -> bool {
        self.allows_delay
    }

    /// The same target with something to do before a change goes to the query pool.
    pub(crate) fn with_before_pool(self, before_pool: BeforePool) -> CommitTarget {
        CommitTarget { before_pool, ..self }
    }

    /// Leaves a transaction to the caller; gives the one back that is the session's to commit.
    pub(crate) fn leave(&self, transaction: Transaction) -> Option<Transaction> {
        match &self.deferred {
            Some(deferred) => deferred.lock().replace(transaction),
            None => Some(transaction),
        }
    }

    /// A change goes to the query pool.
    pub(crate) async fn before_pool(&self) -> SqlResult<()> {
        match &self.before_pool {
            BeforePool::Nothing => Ok(()),
            BeforePool::Announce { is_done, .. } if is_done.swap(true, Ordering::Relaxed) => Ok(()),
            BeforePool::Announce { announce, .. } => announce(),
            BeforePool::GiveUp => std::future::pending().await,
        }
    }
}

impl std::fmt::Debug for CommitTarget {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("CommitTarget")
            .field("allows_delay", &self.allows_delay)
            .field("is_caller", &self.is_caller())
            .field("before_pool", &self.before_pool)
            .finish()
    }
}

impl std::fmt::Debug for BeforePool {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            BeforePool::Nothing => "Nothing",
            BeforePool::Announce { .. } => "Announce",
            BeforePool::GiveUp => "GiveUp",
        })
    }
}
