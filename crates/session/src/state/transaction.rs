//! The open transaction of a session.

use squall_instrumentation::process::ShownSavepoints;
use squall_parser::ast::{IsolationLevel as AstLevel, TransactionCharacteristics};
use squall_row_store::{IsolationLevel, Savepoint, Transaction};

/// The transaction that is open, if one is.
#[derive(Default)]
pub struct TransactionState {
    pub(crate) open: Option<OpenTransaction>,
    /// The transaction of a single statement under autocommit.
    pub(crate) statement: Option<Transaction>,
    /// SET TRANSACTION: of the next transaction only.
    pub(crate) next: TransactionCharacteristics,
    /// Where the open transaction is taken back to if the current statement fails, of one that is more than one change.
    pub(crate) undo: Option<Savepoint>,
    /// The one that was open has been rolled back by a deadlock: the next statement begins another.
    pub(crate) lost: bool,
}

pub(crate) struct OpenTransaction {
    /// Away while a statement runs with it on another thread.
    pub transaction: Option<Transaction>,
    /// Begun by BEGIN or START TRANSACTION, rather than by `autocommit = 0`.
    pub explicit: bool,
    pub read_only: bool,
    pub isolation: IsolationLevel,
    pub savepoints: Vec<(String, Savepoint)>,
    /// Their names as others see them, once there are some.
    pub shown: Option<ShownSavepoints>,
}

impl std::fmt::Debug for TransactionState {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("TransactionState").field("open", &self.open.is_some()).finish_non_exhaustive()
    }
}

impl TransactionState {
    /// Whether a transaction of several statements is open.
    pub fn is_open(&self) -> bool {
        self.open.is_some()
    }

    /// The number of the transaction that is open: another one has another number.
    pub fn open_id(&self) -> Option<u64> {
        self.open.as_ref()?.transaction.as_ref().map(Transaction::id)
    }

    /// A query was the next transaction, for which SET TRANSACTION may have said what it is like, unless one of several statements is open.
    pub fn query_has_ended(&mut self) {
        if self.open.is_none() {
            self.next = TransactionCharacteristics::default();
        }
    }

    /// The transaction that the current statement works in, if it has asked for one.
    pub fn current(&mut self) -> Option<&mut Transaction> {
        match &mut self.open {
            Some(open) => open.transaction.as_mut(),
            None => self.statement.as_mut(),
        }
    }

    /// Memory of the open transaction's writes, bytes.
    pub fn written_bytes(&self) -> usize {
        let open = self.open.as_ref().and_then(|open| open.transaction.as_ref());
        open.map_or(0, Transaction::written_bytes)
    }

    /// Takes the statement's transaction out, to move it to another thread.
    pub fn take(&mut self) -> Option<Transaction> {
        match &mut self.open {
            Some(open) => open.transaction.take(),
            None => self.statement.take(),
        }
    }

    /// Puts back what [`TransactionState::take`] took.
    pub fn put_back(&mut self, transaction: Transaction) {
        match &mut self.open {
            Some(open) => open.transaction = Some(transaction),
            None => self.statement = Some(transaction),
        }
    }

    /// From now on, the changes of the current statement are rolled back if it fails.
    pub fn make_undoable(&mut self) {
        if self.undo.is_none() && self.open.is_some() {
            self.undo = self.current().map(Transaction::savepoint);
        }
    }

    /// Rolls back the changes of a failed statement in the open transaction.
    pub fn undo_statement(&mut self) {
        if let Some(savepoint) = self.undo.take()
            && let Some(transaction) = self.current()
            && !transaction.is_aborted()
        {
            transaction.rollback_to(savepoint);
        }
    }

    /// Ends what is left of a statement that failed: one of its own is rolled back; an open one stays unless the store
    /// has rolled it back already (1213, 1020). Gives what is to be rolled back.
    #[must_use = "what it gives is rolled back where it is dropped"]
    pub fn statement_failed(&mut self) -> Option<Transaction> {
        self.undo_statement();
        if self.open.as_ref().is_some_and(|open| open.transaction.as_ref().is_none_or(Transaction::is_aborted)) {
            self.open = None;
            self.lost = true;
        }
        self.statement.take()
    }

    /// Ends whatever is open without a commit.
    pub(crate) fn end(&mut self) -> Option<Transaction> {
        let open = self.open.take().and_then(|open| open.transaction);
        self.statement.take().or(open)
    }
}

/// An isolation level as the store names it.
pub(crate) fn store_level(level: AstLevel) -> IsolationLevel {
    match level {
        AstLevel::ReadUncommitted => IsolationLevel::ReadUncommitted,
        AstLevel::ReadCommitted => IsolationLevel::ReadCommitted,
        AstLevel::RepeatableRead => IsolationLevel::RepeatableRead,
        AstLevel::Serializable => IsolationLevel::Serializable,
    }
}
