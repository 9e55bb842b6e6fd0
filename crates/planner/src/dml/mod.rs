//! Statements that change rows: INSERT, REPLACE, UPDATE, DELETE, and the rows of LOAD DATA.
//!
//! A statement is bound once into a plan (see [`plan`]) and then run row by row in the caller's transaction. It may block on a lock. So
//! the caller runs it on a thread that may block, or lets the transaction report [`StoreError::WouldBlock`] and starts the statement
//! again on another thread.
//!
//! Reading order: [`plan`], [`rules`], [`ways`], [`target`], `view`, `trigger`, [`insert`], [`find`], [`change`], `segment_rows`,
//! `by_selection`, [`foreign_key`], [`query`].

pub mod bind;
mod binder;
mod by_selection;
pub mod change;
mod convert;
mod delete_targets;
mod fill;
pub mod find;
pub mod foreign_key;
mod generated;
mod inline;
pub mod insert;
pub mod load;
mod packed;
pub mod plan;
pub mod query;
mod references;
pub mod rules;
mod segment_rows;
mod selection;
mod source_columns;
pub mod target;
mod trigger;
mod view;
pub mod ways;
#[cfg(test)]
mod ways_tests;

pub use binder::{ChangeLocks, DmlBinder};
use by_selection::{execute_delete, execute_update};
pub use insert::{Inserter, fill_table};
use insert::{execute_insert, insert_values_once};
pub use load::{LoadedRow, RowLoader};
pub use plan::{DeletePlan, DmlPlan, InsertPlan, QueryChangePlan, Returned, UpdatePlan};
use query::execute_by_query;
use references::Child;
pub use rules::{RulesCache, StatementRules, TableRules};
use target::Target;
pub use ways::{RowEvent, WayOptions, Ways};

use squall_catalog::Authorized;
use squall_executor::env::{LentTransaction, SharedTransaction, StatementEnv};
use squall_executor::runtime::QueryRuntime;
use squall_registry::Registry;
use squall_row_store::{LockMode, LockRequest, LockWait, StoreError, StoreResult, Transaction, TransactionOptions};
use squall_types::{SqlError, SqlResult, Value};
use std::sync::Arc;

/// Settings of a session that data changes depend on.
#[derive(Clone, Copy, Debug)]
pub struct DmlOptions {
    /// CLIENT_FOUND_ROWS: rows matched count as affected.
    pub found_rows: bool,
    /// `foreign_key_checks`.
    pub foreign_key_checks: bool,
    /// `auto_increment_increment`.
    pub auto_increment_increment: u64,
    /// `auto_increment_offset`.
    pub auto_increment_offset: u64,
    /// `insert_id`: the first AUTO_INCREMENT value that the statement gives, wherever the table's counter is; 0 for the counter's.
    pub insert_id: u64,
    /// How to act on locks of other transactions.
    pub lock_wait: LockWait,
    /// The session, if the statement is a transaction of its own: many rows may go around that.
    pub bulk_session: Option<u64>,
}

impl Default for DmlOptions {
    fn default() -> Self {
        DmlOptions {
            found_rows: false,
            foreign_key_checks: true,
            auto_increment_increment: 1,
            auto_increment_offset: 1,
            insert_id: 0,
            lock_wait: LockWait::default(),
            bulk_session: None,
        }
    }
}

/// The context of a data change.
pub struct DmlContext<'a> {
    /// The statement.
    pub env: &'a Arc<StatementEnv>,
    /// Where queries inside the statement run.
    pub runtime: &'a Arc<QueryRuntime>,
    /// The transaction.
    pub transaction: &'a mut Transaction,
    /// The statement's parameters.
    pub parameters: &'a [Value],
    /// The session's settings.
    pub options: DmlOptions,
    /// Rules of other tables that foreign keys lead to.
    pub rules: &'a RulesCache,
    /// Functions that those rules use.
    pub registry: &'a Registry,
    /// Rules that are newer than those of the statement's plan.
    pub newer_rules: StatementRules,
}

impl DmlContext<'_> {
    /// Foreign keys that refer to a table, and are to be checked; `None` if there are none.
    pub(crate) fn children(&mut self, target: &Target) -> SqlResult<Option<Arc<[Child]>>> {
        if !self.options.foreign_key_checks {
            return Ok(None);
        }
        let children = &self.rules_of(target)?.referenced_by;
        Ok((!children.is_empty()).then(|| children.clone()))
    }

    /// The ways in which rows of a table may be changed: every statement asks here before it leaves the slow one.
    pub(crate) fn ways(&mut self, target: &Target, event: RowEvent<'_>, one_by_one: bool) -> SqlResult<Ways> {
        let calls_programs = self.env.context.programs.are_called();
        let options = WayOptions { calls_programs, one_by_one, ..WayOptions::from(&self.options) };
        Ok(self.rules_of(target)?.ways(event, &target.way_options(event, options)))
    }

    /// The rules of a table by the statement's catalog. A cached plan may have those of an earlier one.
    fn rules_of<'t>(&'t mut self, target: &'t Target) -> SqlResult<&'t Arc<TableRules>> {
        let catalog = &self.env.catalog;
        if target.rules.are_of(catalog) {
            return Ok(&target.rules);
        }
        let (all, registry) = (self.rules, self.registry);
        self.newer_rules.get(target.def().id, || all.get(registry, catalog, &target.database, target.def()))
    }
}

/// Carries a data change out.
///
/// # Errors
/// Those of the rows; the transaction is as it was before the statement then.
pub fn execute(context: &mut DmlContext<'_>, plan: Authorized<&DmlPlan>) -> StoreResult<DmlResult> {
    if let Some(insert) = plan.optional_part(DmlPlan::insert) {
        return execute_insert(context, insert);
    }
    if let Some(change) = plan.optional_part(DmlPlan::by_query) {
        return execute_by_query(context, change);
    }
    match plan.get() {
        DmlPlan::Update(plan) => execute_update(context, plan),
        DmlPlan::Delete(plan) => execute_delete(context, plan),
        DmlPlan::Insert(_) | DmlPlan::ByQuery(_) => Err(SqlError::internal("a change without its plan").into()),
    }
}

/// The same with a plan that is not needed again: the literals of its rows are not copied.
///
/// # Errors
/// Those of [`execute`].
pub fn execute_once(context: &mut DmlContext<'_>, plan: Authorized<DmlPlan>) -> StoreResult<DmlResult> {
    if plan.query().is_some() {
        return execute(context, plan.as_ref());
    }
    match plan.into_inner() {
        DmlPlan::Insert(plan) => insert_values_once(context, *plan),
        DmlPlan::Update(plan) => execute_update(context, &plan),
        DmlPlan::Delete(plan) => execute_delete(context, &plan),
        DmlPlan::ByQuery(_) => Err(SqlError::internal("a change without its query").into()),
    }
}

impl DmlContext<'_> {
    /// The lock of rows that are to be changed.
    pub fn write_lock(&self) -> LockRequest {
        LockRequest { mode: LockMode::Exclusive, wait: self.options.lock_wait }
    }

    /// Runs `body` so that either all of its changes stand or none. A statement that was killed meanwhile changes nothing, because
    /// the value of an interrupted function (`SLEEP`) must not be stored.
    pub fn atomically<T>(&mut self, body: impl FnOnce(&mut Self) -> StoreResult<T>) -> StoreResult<T> {
        let savepoint = self.transaction.savepoint();
        let result = body(self).and_then(|done| {
            self.env.context.kill.check()?;
            Ok(done)
        });
        if result.is_err() && !self.transaction.is_aborted() {
            self.transaction.rollback_to(savepoint);
        }
        result
    }
}

/// The transaction while others have it.
pub struct Lent {
    shared: SharedTransaction,
    lent: LentTransaction,
}

impl DmlContext<'_> {
    /// Lends the transaction; until it is [taken back](DmlContext::take_back) there is one that does nothing in its place.
    fn lend(&mut self) -> Lent {
        let idle = self.env.store.begin_with(TransactionOptions::autocommit(), None);
        let (shared, lent) = SharedTransaction::lend(std::mem::replace(self.transaction, idle));
        Lent { shared, lent }
    }

    /// Takes the transaction back when all its borrowers are done.
    fn take_back(&mut self, Lent { shared, lent }: Lent) -> SqlResult<()> {
        drop(shared);
        *self.transaction = futures::executor::block_on(lent.returned())?;
        Ok(())
    }

    /// Evaluates expressions. The stored programs that they call have the transaction meanwhile, if there are any.
    pub fn evaluate<T>(&mut self, evaluate: impl FnOnce(&Self) -> SqlResult<T>) -> SqlResult<T> {
        if !self.env.context.programs.are_called() {
            return evaluate(self);
        }
        let lent = self.lend();
        lent.shared.lend_to_programs(&self.env.context);
        let value = evaluate(self);
        self.take_back(lent)?;
        value
    }
}

impl DmlContext<'_> {
    /// Changes one row. If IGNORE turns its error into a warning, rolls back its changes, also of other rows, and gives `None`.
    pub fn one_row<T>(
        &mut self,
        ignore: bool,
        change: impl FnOnce(&mut Self) -> StoreResult<T>,
    ) -> StoreResult<Option<T>> {
        if !ignore {
            return change(self).map(Some);
        }
        let savepoint = self.transaction.savepoint();
        match change(self) {
            Err(error) if ignorable(&error) && !self.transaction.is_aborted() => {
                self.transaction.rollback_to(savepoint);
                self.env.context.diagnostics.warn(error.into());
                Ok(None)
            }
            done => done.map(Some),
        }
    }
}

/// The result of a data change.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct DmlResult {
    /// For the OK packet.
    pub affected_rows: u64,
    /// The first AUTO_INCREMENT value that was generated and stored: the new LAST_INSERT_ID().
    pub generated_id: Option<u64>,
    /// The AUTO_INCREMENT value of the last row if any was stored, generated or not: the OK packet's when nothing was generated.
    pub explicit_id: Option<u64>,
    /// `Records: 3  Duplicates: 0  Warnings: 0` and the like, without the count of warnings, which the caller appends
    /// when the statement is over; empty for none.
    pub info: String,
    /// Rows of RETURNING.
    pub returned: Vec<Vec<Value>>,
}

impl DmlResult {
    /// The finished info text.
    pub fn info_text(&self, warnings: u64) -> String {
        if self.info.is_empty() { String::new() } else { format!("{}  Warnings: {warnings}", self.info) }
    }
}

/// Turns a duplicate key into a warning or keeps it an error.
pub(crate) fn ignorable(error: &StoreError) -> bool {
    use squall_types::ErrorCode as Code;
    match error {
        StoreError::Duplicate(_) => true,
        StoreError::Sql(error) => [
            Code::CheckConstraintViolated,
            Code::NoReferencedRow,
            Code::NoReferencedRow2,
            Code::RowIsReferenced,
            Code::RowIsReferenced2,
            Code::BadNull,
            Code::ViewCheckFailed,
            Code::NoPartitionForValue,
            Code::RowDoesNotMatchGivenPartitionSet,
        ]
        .iter()
        .any(|code| error.is(*code)),
        StoreError::WouldBlock => false,
    }
}
