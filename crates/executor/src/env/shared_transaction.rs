//! A transaction that a query borrows from its session.

use parking_lot::{Mutex, MutexGuard};
use squall_row_store::Transaction;
use squall_statement_context::StatementContext;
use squall_types::{SqlError, SqlResult};
use std::sync::{Arc, Weak};
use tokio::sync::oneshot;

/// A session's transaction while a query's operators lock rows in it, on any thread. It goes back when the last clone is dropped.
#[derive(Clone)]
pub struct SharedTransaction(Arc<Loan>);

/// The same for a stored program of the statement, which does not hold it up.
#[derive(Clone)]
pub struct WeakTransaction(Weak<Loan>);

/// Where the session waits for its transaction.
pub struct LentTransaction(oneshot::Receiver<Transaction>);

struct Loan {
    /// There until the loan ends.
    transaction: Option<Mutex<Transaction>>,
    lender: Option<oneshot::Sender<Transaction>>,
}

impl SharedTransaction {
    /// Lends a transaction.
    pub fn lend(transaction: Transaction) -> (SharedTransaction, LentTransaction) {
        let (lender, lent) = oneshot::channel();
        let loan = Loan { transaction: Some(Mutex::new(transaction)), lender: Some(lender) };
        (SharedTransaction(Arc::new(loan)), LentTransaction(lent))
    }

    /// Lets the stored programs of a statement have it, one call at a time.
    pub fn lend_to_programs(&self, context: &StatementContext) {
        if let Some(runner) = context.programs.runner() {
            runner.lend(Box::new(WeakTransaction(Arc::downgrade(&self.0))));
        }
    }

    /// The transaction, for one operator at a time.
    pub fn lock(&self) -> SqlResult<MutexGuard<'_, Transaction>> {
        let transaction = self.0.transaction.as_ref();
        transaction
            .map(Mutex::lock)
            .ok_or_else(|| SqlError::internal("a transaction that has gone back to its session"))
    }
}

impl WeakTransaction {
    /// The transaction, unless it has gone back.
    pub fn upgrade(&self) -> Option<SharedTransaction> {
        self.0.upgrade().map(SharedTransaction)
    }
}

impl LentTransaction {
    /// Waits until all operators have dropped the transaction.
    pub async fn returned(self) -> SqlResult<Transaction> {
        self.0.await.map_err(|_| SqlError::internal("a query lost its transaction"))
    }
}

impl Drop for Loan {
    fn drop(&mut self) {
        if let (Some(transaction), Some(lender)) = (self.transaction.take(), self.lender.take()) {
            // A session that has ended waits no longer: its transaction is rolled back here.
            drop(lender.send(transaction.into_inner()));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::SharedTransaction;
    use squall_row_store::{IsolationLevel, RowStore, StoreOptions};

    #[test]
    fn it_goes_back_with_the_last_clone() -> Result<(), Box<dyn std::error::Error>> {
        let directory = tempfile::tempdir()?;
        let store = RowStore::open(directory.path(), StoreOptions::default())?;
        let (shared, mut lent) = SharedTransaction::lend(store.begin(IsolationLevel::RepeatableRead, false));
        let clone = shared.clone();
        drop(shared);
        assert!(lent.0.try_recv().is_err());
        drop(clone.lock()?);
        drop(clone);
        assert!(lent.0.try_recv().is_ok());
        Ok(())
    }
}
