//! Transactions of a session: the open one, commits at the ends of statements, savepoints, and the statements for transactions.

use crate::result::Outcome;
use crate::result::writer::SessionChange;
use crate::session::{Session, SessionState};
use crate::state::settings::{Completion as CompletionType, TransactionTracking};
use crate::state::transaction::{OpenTransaction, store_level};
use squall_catalog::name::eq_ignore_case;
use squall_instrumentation::process::ShownSavepoints;
use squall_parser::ast::{
    AccessMode, Completion, IsolationLevel as AstLevel, Statement, Transaction as AstTransaction,
    TransactionCharacteristics, VariableScope,
};
use squall_row_store::{IsolationLevel, LockWait, ReadView, Savepoint, Transaction, TransactionOptions};
use squall_server_state::variables::isolation_words;
use squall_types::{ErrorCode, SqlError, SqlResult, Value};
use std::time::Duration;

impl Session {
    fn transaction_options(&mut self, autocommit: bool) -> TransactionOptions {
        let next = std::mem::take(&mut self.transaction.next);
        TransactionOptions {
            isolation: next.isolation.map_or(self.settings.isolation, store_level),
            read_only: next.access.map_or(self.settings.read_only, |access| access == AccessMode::ReadOnly),
            autocommit,
            snapshot_isolation: self.settings.snapshot_isolation,
            durability: self.shared.durability(),
            allows_commit_delay: self.command.target.as_ref().is_some_and(|target| target.allows_delay()),
            table_lock_wait: Duration::from_secs(self.settings.table_lock_wait_seconds),
        }
    }

    /// Makes sure that the statement has a transaction: the open one; or, with `autocommit = 0`, a new one that stays open; or one of
    /// the statement's own.
    pub(crate) fn begin_statement_transaction(&mut self) {
        let wait = self.lock_wait();
        if self.transaction.open.is_none() {
            if self.settings.autocommit {
                if self.transaction.statement.is_none() {
                    let options = self.transaction_options(true);
                    let transaction = self.begin_transaction(options);
                    self.transaction.statement = Some(transaction);
                }
            } else {
                self.open_transaction(None, false);
            }
        }
        // Parts of a statement read in the statement's view.
        if self.nesting.inside.is_none()
            && let Some(transaction) = self.transaction.current()
        {
            transaction.begin_statement(wait);
        }
    }

    /// A plain read begins: in a transaction, unless it sees what is committed now.
    pub(crate) fn begin_read(&mut self) {
        if !self.reads_committed_now() {
            self.begin_statement_transaction();
        }
    }

    /// Takes the snapshot of a plain read. Each statement takes it once, when its route begins to read.
    pub(crate) fn view(&mut self) -> ReadView {
        self.begin_read();
        match self.transaction.current() {
            Some(transaction) => transaction.read_view(),
            None => self.shared.store.read_view(),
        }
    }

    fn open_transaction(&mut self, access: Option<AccessMode>, explicit: bool) {
        let mut options = self.transaction_options(false);
        if let Some(access) = access {
            options.read_only = access == AccessMode::ReadOnly;
        }
        let (read_only, isolation) = (options.read_only, options.isolation);
        let transaction = self.begin_transaction(options);
        let (transaction, savepoints) = (Some(transaction), Vec::new());
        let open = OpenTransaction { transaction, explicit, read_only, isolation, savepoints, shown: None };
        self.transaction.open = Some(open);
        self.track_transaction(access);
    }

    /// As BEGIN does.
    pub(crate) fn open_explicit_transaction(&mut self) {
        self.open_transaction(None, true);
    }

    /// A branch's transaction has left the session, prepared, or rolled back.
    pub(crate) fn branch_has_ended(&mut self, prepared: bool) {
        self.track_transaction(None);
        match prepared {
            true => squall_instrumentation::process::count(&self.process.status.handler_prepare),
            false => self.instruments().count_rollback(),
        }
    }

    fn begin_transaction(&self, options: TransactionOptions) -> Transaction {
        let mut transaction = self.shared.store.begin_with(options, Some(self.process.id));
        transaction.charge_to(&self.process.memory);
        self.instruments().count_begin(&transaction);
        transaction
    }

    /// Commits what is open; without anything open it does nothing.
    pub(crate) async fn commit(&mut self) -> SqlResult<()> {
        if let Some(branch) = &self.xa {
            return Err(SqlError::new(ErrorCode::XaerRmfail, &[&branch.state()]));
        }
        let Some(open) = self.transaction.open.take() else { return Ok(()) };
        squall_instrumentation::process::count(&self.process.status.handler_commit);
        self.track_transaction(None);
        match open.transaction {
            Some(transaction) => self.commit_counted(transaction).await,
            None => Ok(()),
        }
    }

    /// Rolls back what is open.
    pub(crate) async fn rollback(&mut self) {
        if let Some(open) = self.transaction.open.take() {
            squall_instrumentation::process::count(&self.process.status.handler_rollback);
            self.track_transaction(None);
            self.discard(open.transaction).await;
            self.instruments().count_rollback();
        }
    }

    /// Rolls back the changes of a failed statement; see [`TransactionState::statement_failed`].
    pub(crate) async fn statement_failed(&mut self) {
        if self.nesting.inside.is_some() {
            // Whether its transaction stays is the business of the statement around.
            return self.transaction.undo_statement();
        }
        let failed = self.transaction.statement_failed();
        self.discard(failed).await;
        if !self.transaction.is_open() {
            self.instruments().count_rollback();
        }
    }

    /// Rolls back the open transaction, without waiting for the end.
    pub(crate) fn give_up_transaction(&mut self) {
        if let Some(transaction) = self.transaction.end() {
            self.instruments().count_rollback();
            self.begin_to_discard(transaction);
        }
    }

    async fn discard(&self, transaction: Option<Transaction>) {
        if let Some(task) = transaction.and_then(|transaction| self.begin_to_discard(transaction)) {
            // A panic there is reported by its thread, and there is nothing to do about it here.
            let _joined = task.await;
        }
    }

    /// Rolls a transaction back: here, or on the query pool if it has changed or locked much.
    fn begin_to_discard(&self, transaction: Transaction) -> Option<tokio::task::JoinHandle<()>> {
        transaction.is_large().then(|| self.shared.runtime.pool().spawn_blocking(move || drop(transaction)))
    }

    /// The end of a successful statement: under autocommit its transaction is committed.
    pub(crate) async fn end_statement(&mut self, statement: &Statement) -> SqlResult<()> {
        if matches!(statement, Statement::Query(_)) {
            self.transaction.query_has_ended();
        }
        self.commit_statement().await
    }

    /// Commits the transaction that a statement has of its own.
    pub(crate) async fn commit_statement(&mut self) -> SqlResult<()> {
        self.transaction.undo = None;
        match self.transaction.statement.take() {
            Some(transaction) => self.commit_counted(transaction).await,
            None => Ok(()),
        }
    }

    /// The first step of DDL and similar statements.
    pub(crate) async fn implicit_commit(&mut self) -> SqlResult<()> {
        self.commit().await
    }

    /// Statements about transactions.
    pub(crate) async fn run_transaction(&mut self, statement: &AstTransaction) -> SqlResult<Outcome> {
        match statement {
            AstTransaction::Begin { consistent_snapshot, access } => {
                self.commit().await?;
                self.held_locks.tables = None;
                self.open_transaction(*access, true);
                if *consistent_snapshot && let Some(transaction) = self.transaction.current() {
                    transaction.take_snapshot();
                }
                Ok(Outcome::done())
            }
            AstTransaction::Commit(completion) => {
                let again = self.chained();
                self.commit().await?;
                self.complete(*completion, again)
            }
            AstTransaction::Rollback(completion) => {
                let again = self.chained();
                self.rollback().await;
                self.complete(*completion, again)
            }
            AstTransaction::Savepoint(name) => {
                squall_definitions::names::check_identifier(name)?;
                self.set_savepoint(name)
            }
            AstTransaction::RollbackTo(name) => self.rollback_to(name),
            AstTransaction::ReleaseSavepoint(name) => self.release_savepoint(name),
            // Beside these, as a branch is no session's for long.
            AstTransaction::Xa(_) => Err(SqlError::internal("XA among the statements about one's own transaction")),
        }
    }

    fn complete(&mut self, completion: Completion, again: Option<TransactionCharacteristics>) -> SqlResult<Outcome> {
        let chain = completion.chain.unwrap_or(self.settings.completion == CompletionType::Chain);
        let release = completion.release.unwrap_or(self.settings.completion == CompletionType::Release);
        if chain && release {
            return Err(SqlError::new(ErrorCode::WrongUsage, &[&"AND CHAIN", &"RELEASE"]));
        }
        if chain {
            if let Some(again) = again {
                self.transaction.next = again;
            }
            self.open_transaction(None, true);
        }
        self.command.ends_connection |= release;
        Ok(Outcome::done())
    }

    fn set_savepoint(&mut self, name: &str) -> SqlResult<Outcome> {
        if self.transaction.open.is_none() {
            // Under autocommit there is nothing that a savepoint could be in: MySQL accepts it all the same.
            if self.settings.autocommit {
                return Ok(Outcome::done());
            }
            self.open_transaction(None, false);
        }
        if let Some(open) = &mut self.transaction.open
            && let Some(transaction) = &mut open.transaction
        {
            open.savepoints.retain(|(other, _)| !eq_ignore_case(other, name));
            let savepoint = transaction.savepoint();
            open.savepoints.push((name.to_string(), savepoint));
            self.process.transactions.change(|event| event.savepoints += 1);
        }
        self.show_savepoints();
        Ok(Outcome::done())
    }

    /// Has `data_dictionary.user_defined_savepoints` show the savepoints that there are now, until the transaction ends.
    fn show_savepoints(&mut self) {
        let process = self.process.clone();
        let Some(open) = &mut self.transaction.open else { return };
        let shown = open.shown.get_or_insert_with(|| ShownSavepoints::of(&process));
        shown.set(open.savepoints.iter().map(|(name, _)| name.clone()).filter(|name| !name.contains('\0')).collect());
    }

    /// Makes a savepoint of the open transaction, if there is one; gives the others that it has.
    pub(crate) fn mark_savepoint(&mut self, name: &str) -> Vec<(String, Savepoint)> {
        let others = self.transaction.open.as_ref().map_or_else(Vec::new, |open| open.savepoints.clone());
        // There is no error within a transaction.
        let _marked = self.set_savepoint(name);
        others
    }

    /// Rolls back all changes after a savepoint. Then it has the savepoints again that it had when this one was [made](Session::mark_savepoint).
    ///
    /// # Errors
    /// 1305 if there is none.
    pub(crate) fn take_back_to(&mut self, name: &str, others: Vec<(String, Savepoint)>) -> SqlResult<()> {
        self.rollback_to(name)?;
        if let Some(open) = &mut self.transaction.open {
            open.savepoints = others;
        }
        self.show_savepoints();
        Ok(())
    }

    /// Forgets a savepoint, and none of those behind it.
    pub(crate) fn forget_savepoint(&mut self, name: &str) {
        if let Some(open) = &mut self.transaction.open {
            open.savepoints.retain(|(other, _)| other != name);
        }
        self.show_savepoints();
    }

    fn rollback_to(&mut self, name: &str) -> SqlResult<Outcome> {
        let at = self.find_savepoint(name)?;
        if let Some(open) = &mut self.transaction.open
            && let Some(transaction) = &mut open.transaction
        {
            transaction.rollback_to(open.savepoints[at].1);
            open.savepoints.truncate(at + 1);
            self.process.transactions.change(|event| event.rollbacks_to_savepoint += 1);
        }
        self.show_savepoints();
        Ok(Outcome::done())
    }

    fn release_savepoint(&mut self, name: &str) -> SqlResult<Outcome> {
        let at = self.find_savepoint(name)?;
        if let Some(open) = &mut self.transaction.open {
            open.savepoints.truncate(at);
            self.process.transactions.change(|event| event.savepoints_released += 1);
        }
        self.show_savepoints();
        Ok(Outcome::done())
    }

    /// SET [SESSION|GLOBAL] TRANSACTION: without scope it holds for the next transaction only.
    pub(crate) async fn set_transaction(
        &mut self,
        scope: Option<VariableScope>,
        characteristics: TransactionCharacteristics,
        sql: &[u8],
    ) -> SqlResult<Outcome> {
        let Some(scope) = scope else {
            if self.transaction.is_open() {
                return Err(SqlError::new(ErrorCode::CantChangeTxCharacteristics, &[]));
            }
            let next = &mut self.transaction.next;
            next.isolation = characteristics.isolation.or(next.isolation);
            next.access = characteristics.access.or(next.access);
            return Ok(Outcome::done());
        };
        let mut items = Vec::new();
        if let Some(level) = characteristics.isolation {
            items.push(("transaction_isolation", Value::from(isolation_words(store_level(level)))));
        }
        if let Some(access) = characteristics.access {
            items.push(("transaction_read_only", Value::from(access == AccessMode::ReadOnly)));
        }
        self.set_variables(scope, &items, sql).await?;
        Ok(Outcome::done())
    }

    /// `autocommit` was changed: turning it on commits what is open.
    pub(crate) async fn autocommit_changed(&mut self, before: bool) -> SqlResult<()> {
        if !before && self.settings.autocommit {
            return self.commit().await;
        }
        Ok(())
    }
}

impl SessionState {
    /// `innodb_lock_wait_timeout`.
    pub(crate) fn lock_wait(&self) -> LockWait {
        LockWait::Timeout(Duration::from_secs(self.settings.lock_wait_seconds))
    }

    /// Whether a statement may change nothing: its transaction is READ ONLY, the open one or the one that it would begin.
    pub(crate) fn is_read_only_now(&self) -> bool {
        self.nesting.is_within_read_only
            || match &self.transaction.open {
                Some(open) => open.read_only,
                None => self
                    .transaction
                    .next
                    .access
                    .map_or(self.settings.read_only, |access| access == AccessMode::ReadOnly),
            }
    }

    /// Whether a plain read may do without a transaction: it sees what is committed now.
    pub(crate) fn reads_committed_now(&self) -> bool {
        self.settings.autocommit && self.transaction.open.is_none()
    }

    /// The isolation level of the open transaction, or else of the next.
    pub(crate) fn isolation_now(&self) -> IsolationLevel {
        let next = || self.transaction.next.isolation.map_or(self.settings.isolation, store_level);
        self.transaction.open.as_ref().map_or_else(next, |open| open.isolation)
    }

    /// Isolation and access of the open transaction, for AND CHAIN.
    fn chained(&self) -> Option<TransactionCharacteristics> {
        let open = self.transaction.open.as_ref()?;
        Some(TransactionCharacteristics {
            isolation: Some(match open.isolation {
                IsolationLevel::ReadUncommitted => AstLevel::ReadUncommitted,
                IsolationLevel::ReadCommitted => AstLevel::ReadCommitted,
                IsolationLevel::RepeatableRead => AstLevel::RepeatableRead,
                IsolationLevel::Serializable => AstLevel::Serializable,
            }),
            access: Some(if open.read_only { AccessMode::ReadOnly } else { AccessMode::ReadWrite }),
        })
    }

    /// Whether the open transaction has a savepoint.
    pub(crate) fn has_savepoint(&self, name: &str) -> bool {
        self.find_savepoint(name).is_ok()
    }

    fn find_savepoint(&self, name: &str) -> SqlResult<usize> {
        self.transaction
            .open
            .as_ref()
            .and_then(|open| open.savepoints.iter().position(|(other, _)| eq_ignore_case(other, name)))
            .ok_or_else(|| SqlError::new(ErrorCode::SpDoesNotExist, &[&"SAVEPOINT", &name]))
    }

    fn track_transaction(&mut self, access: Option<AccessMode>) {
        if self.settings.track_transaction == TransactionTracking::Off {
            return;
        }
        let open = self.transaction.open.as_ref();
        if self.settings.track_transaction == TransactionTracking::Characteristics {
            let text = match (open, access) {
                (Some(_), Some(AccessMode::ReadOnly)) => "START TRANSACTION READ ONLY;",
                (Some(_), Some(AccessMode::ReadWrite)) => "START TRANSACTION READ WRITE;",
                (Some(_), None) => "START TRANSACTION;",
                (None, _) => "",
            };
            self.command.changes.push(SessionChange::TransactionCharacteristics(text.to_string()));
        }
        let letter = match open {
            Some(open) if open.explicit => 'T',
            Some(_) => 'I',
            None => '_',
        };
        self.command.changes.push(SessionChange::TransactionState(format!("{letter}_______")));
    }
}
